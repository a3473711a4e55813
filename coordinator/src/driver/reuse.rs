//! Runs that use results of earlier runs, and whose own results are kept for later ones.

use std::collections::HashMap;

use sateen_protocol::coordinator::{Earlier, Submitter, may_be_kept};
use sateen_protocol::{Entry, RunEnd, RunId, RunSpec};

use crate::limits::{KEPT_RESULT_BYTES_MAX, UNSAVED_ENTRIES_MAX};
use crate::store::sql::{Inputs, Keeper, Kept};

/// Runs whose results are kept, and the results that wait to be saved.
#[derive(Debug, Default)]
pub struct Keepers {
    of_run: HashMap<RunId, OfRun>,
    unsaved: Vec<Kept>,
}

/// A run whose results are kept.
#[derive(Debug)]
struct OfRun {
    run: RunId,
    keeper: Keeper,
    inputs: Inputs,
    spec: RunSpec,
}

impl OfRun {
    fn kept(&self, entry: Entry) -> Kept {
        Kept { keeper: self.keeper, run: self.run, inputs: self.inputs.clone(), entry }
    }
}

impl Keepers {
    /// The results of a run are kept from now on, if later runs may find them.
    pub fn add(&mut self, run: RunId, submitter: Submitter, spec: &RunSpec) {
        if spec.reuse {
            let (keeper, inputs) = (Keeper { submitter, app: spec.app }, Inputs::of(spec));
            self.of_run.insert(run, OfRun { run, keeper, inputs, spec: spec.clone() });
        }
    }

    /// All results of a run have come.
    pub fn remove(&mut self, run: RunId) {
        self.of_run.remove(&run);
    }

    /// A run has these entries.
    pub fn note_entries(&mut self, run: RunId, entries: &[Entry]) {
        if let Some(of_run) = self.of_run.get(&run) {
            let room = UNSAVED_ENTRIES_MAX.saturating_sub(self.unsaved.len());
            let results = entries.iter().filter(|entry| may_be_kept(entry)).take(room);
            self.unsaved.extend(results.map(|entry| of_run.kept(entry.clone())));
        }
    }

    /// A run has ended.
    pub fn note_end(&mut self, run: RunId, end: &RunEnd) {
        if let (Some(of_run), RunEnd::Finished(finished)) = (self.of_run.get(&run), end)
            && finished.outcome.bytes().len() <= KEPT_RESULT_BYTES_MAX
            && let Some(entry) = Earlier::of_root(&of_run.spec, finished)
        {
            self.unsaved.push(of_run.kept(entry));
        }
    }

    /// The results to be saved now.
    pub fn take(&mut self) -> Vec<Kept> {
        std::mem::take(&mut self.unsaved)
    }
}
