//! Runs that use results of earlier runs, and whose own results are kept for later ones.

use std::collections::HashMap;

use sateen_protocol::coordinator::{Earlier, Submitter, may_be_kept};
use sateen_protocol::{Entry, RunEnd, RunId, RunSpec};

use crate::limits::{KEPT_RESULT_BYTES_MAX, UNSAVED_ENTRIES_MAX};
use crate::store::sql::{Inputs, Keeper, Kept};

/// Runs whose results are kept, and the results that wait to be saved.
#[derive(Debug, Default)]
pub struct Keepers {
    of_run: HashMap<RunId, (Keeper, RunSpec)>,
    unsaved: Vec<Kept>,
}

impl Keepers {
    /// The results of a run are kept from now on, if later runs may find them.
    pub fn add(&mut self, run: RunId, submitter: Submitter, spec: &RunSpec) {
        if spec.reuse {
            self.of_run.insert(run, (Keeper { submitter, app: spec.app }, spec.clone()));
        }
    }

    /// All results of a run have come.
    pub fn remove(&mut self, run: RunId) {
        self.of_run.remove(&run);
    }

    /// A run has these entries.
    pub fn note_entries(&mut self, run: RunId, entries: &[Entry]) {
        if let Some((keeper, spec)) = self.of_run.get(&run) {
            let (room, inputs) = (UNSAVED_ENTRIES_MAX.saturating_sub(self.unsaved.len()), Inputs::of(spec));
            let results = entries.iter().filter(|entry| may_be_kept(entry)).take(room);
            let kept =
                |entry: &Entry| Kept { keeper: *keeper, run, inputs: inputs.clone(), entry: entry.clone() };
            self.unsaved.extend(results.map(kept));
        }
    }

    /// A run has ended.
    pub fn note_end(&mut self, run: RunId, end: &RunEnd) {
        if let (Some((keeper, spec)), RunEnd::Finished(finished)) = (self.of_run.get(&run), end)
            && finished.outcome.bytes().len() <= KEPT_RESULT_BYTES_MAX
            && let Some(entry) = Earlier::of_root(spec, finished)
        {
            self.unsaved.push(Kept { keeper: *keeper, run, inputs: Inputs::of(spec), entry });
        }
    }

    /// The results to be saved now.
    pub fn take(&mut self) -> Vec<Kept> {
        std::mem::take(&mut self.unsaved)
    }
}
