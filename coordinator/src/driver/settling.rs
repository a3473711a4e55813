//! Runs that are over, until their figures are saved: first hosts have to send their last counts, then the figures have to
//! be computed.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use sateen_protocol::coordinator::Account;
use sateen_protocol::{Counts, RunEnd, RunId, RunState};

use super::Driver;
use super::saver::Change;
use super::scan::add_told;
use super::speed::Pace;
use crate::figures::{Counted, Figures, LateFigures, RunFailure, Untold, end, host_of_run, of_account};
use crate::locked;

/// A run that is over, and whose counts are not final.
#[derive(Debug)]
pub struct Settling {
    /// The state that pages show.
    pub state: RunState,
    pub end: Arc<RunEnd>,
    pub failure: Option<RunFailure>,
    /// What hosts that were away at the end have counted and not reported.
    pub untold: Untold,
}

/// A run that is over, and whose counts are final.
#[derive(Debug)]
pub struct Settled {
    /// The state that pages show.
    pub state: RunState,
    /// Without what each host did.
    pub sums: Figures,
    /// All figures. Computed at first use, since a large grid has many rows.
    pub figures: Arc<LateFigures>,
}

/// Runs that are over, until their figures are saved.
#[derive(Debug, Default)]
pub struct Over {
    /// Runs for which hosts have not sent their last counts.
    settling: HashMap<RunId, Settling>,
    /// All other runs.
    settled: HashMap<RunId, Settled>,
}

impl Over {
    /// All runs.
    pub fn run_ids(&self) -> impl Iterator<Item = RunId> {
        self.settling.keys().chain(self.settled.keys()).copied()
    }

    /// Runs whose counts are not final.
    pub fn settling_ids(&self) -> impl Iterator<Item = RunId> {
        self.settling.keys().copied()
    }

    /// A run whose counts are not final.
    pub fn settling(&self, run: RunId) -> Option<&Settling> {
        self.settling.get(&run)
    }

    /// A run whose counts are final, and whose figures are not saved.
    pub fn settled(&self, run: RunId) -> Option<&Settled> {
        self.settled.get(&run)
    }

    /// The figures of the run are saved.
    pub fn saved(&mut self, run: RunId) {
        self.settled.remove(&run);
    }
}

impl Driver {
    /// A run is over. Its figures follow when hosts have sent their last counts.
    pub(super) fn end(&mut self, run: RunId, end: RunEnd) {
        self.saver.keepers.note_end(run, &end);
        // A run that is submitted when this one is over finds its results.
        self.saver.flush_kept();
        let end = self.store.results.admit(self.submitters.take(run), end);
        let (state, failure) = end::judge(&end);
        let how = end::sentence(state, failure.as_ref());
        let untold = self.untold(run);
        self.chronicles.end(run, &how);
        self.since_start.add_end(state);
        tracing::info!(run = run.0, state = state.word(), "run over");
        let end = Arc::new(end);
        self.over.settling.insert(run, Settling { state, end: Arc::clone(&end), failure, untold });
        self.saver.forget_standing(run);
        self.saver.save(Change::End { run, state, end });
    }

    fn untold(&self, run: RunId) -> Untold {
        let chronicle = self.chronicles.get(run);
        chronicle.map_or(Untold::Nothing, |chronicle| locked(&chronicle).untold(self.hosts.awaited()))
    }

    /// A run's counts are final. The store's thread computes each host's figures, as it needs them first.
    pub(super) fn settle(&mut self, run: RunId, counts: Counts, account: Account) {
        let Some(Settling { state, end, failure, untold }) = self.over.settling.remove(&run) else { return };
        self.saver.keepers.remove(run);
        let is_complete = account.is_complete && untold == Untold::Nothing;
        let counted = if is_complete { Counted::Final } else { Counted::Partial };
        let sums = Figures { counted, ..of_account(&account, &counts, Vec::new()) };
        let sums = end::close(sums, (counts.workers, untold), &end, failure);
        self.since_start.add(run, state, &counts, &sums.times);
        let (profiles, chronicles) = (self.hosts.profiles().clone(), Arc::clone(&self.chronicles));
        let of_all = sums.clone();
        let work_out = move || {
            let names = profiles.names();
            let rows = account.by_host.iter().map(|(host, counts)| (*host, names.is_there(*host), *counts));
            let paces = rows.clone().filter_map(|(host, is_there, counts)| Pace::of(host, is_there, &counts));
            profiles.learn(std::iter::once(paces.collect()));
            let by_host = rows.map(|(host, is_there, counts)| {
                let counts = Counts { busy: 0, ..counts };
                host_of_run(host, &names.of(host).unwrap_or_default(), is_there, &counts)
            });
            let mut figures = Figures { by_host: by_host.collect(), ..of_all };
            if let Some(chronicle) = chronicles.get(run) {
                locked(&chronicle).complete(&mut figures);
            }
            let mut told = HashMap::new();
            add_told(&chronicles, run, &mut told);
            profiles.add_run(&figures.by_host, &told);
            figures
        };
        let figures: Arc<LateFigures> = Arc::new(LazyLock::new(Box::new(work_out)));
        self.over.settled.insert(run, Settled { state, sums, figures: Arc::clone(&figures) });
        self.saver.save(Change::Figures { run, figures });
    }
}
