//! Sums over hosts and runs, for metrics and for the status.

use std::collections::HashMap;

use sateen_protocol::coordinator::HostView;
use sateen_protocol::{Counts, RunId, RunState, counted_since};

use super::Driver;
use crate::metrics::{EndedByState, Totals};

/// What runs had counted that were there when the coordinator was started.
pub type Restored = HashMap<RunId, Counts>;

/// What runs gave that ended since the start.
#[derive(Debug, Default)]
pub struct Ended {
    counts: Counts,
    by_state: EndedByState,
    lost_work_s: f64,
}

impl Ended {
    /// A run has ended.
    pub fn add_end(&mut self, state: RunState) {
        match state {
            RunState::Done => self.by_state.done += 1,
            RunState::Cancelled => self.by_state.cancelled += 1,
            _ => self.by_state.failed += 1,
        }
    }

    /// Adds what was counted since the start of a run that has ended, once that is final.
    pub fn add(&mut self, counts: Counts, lost_work_s: Option<f64>) {
        self.counts.add(&Counts { busy: 0, workers: 0, shared_bytes: 0, ..counts });
        self.lost_work_s += lost_work_s.unwrap_or(0.0).max(0.0);
    }
}

impl Ended {
    /// Jobs that they ran.
    pub fn executed(&self) -> u64 {
        self.counts.jobs.executed
    }
}

impl Driver {
    /// What was counted of a run since the start.
    pub(super) fn since_start(&self, run: RunId, counts: &Counts) -> Counts {
        self.restored.get(&run).map_or(*counts, |before| counted_since(before, counts))
    }

    /// All but what is of each host.
    pub(super) fn add_runs(&self, totals: Totals) -> Totals {
        let (unsaved, entries_dropped) = self.saver.backlog();
        let mut totals = Totals {
            counts: self.ended.counts,
            executed: self.ended.counts.jobs.executed,
            lost_work_s: self.ended.lost_work_s,
            ended: self.ended.by_state,
            waiting: self.from_links.len(),
            entries_dropped,
            unsaved,
            jobs_per_s: self.rate.per_s(),
            ..totals
        };
        for view in self.machine.run_ids_over().filter_map(|run| self.machine.run_over(run)) {
            let counts = self.since_start(view.run, &view.counts());
            totals.counts.add(&Counts { busy: 0, workers: 0, shared_bytes: 0, ..counts });
        }
        for view in self.machine.runs() {
            let (entries, bytes) = view.table();
            let counts = self.since_start(view.run, &view.counts());
            totals.counts.add(&counts);
            totals.table.0 += entries;
            totals.table.1 += bytes;
        }
        totals
    }
}

/// Adds a host.
pub fn add_host(totals: &mut Totals, host: &HostView) {
    totals.workers = totals.workers.saturating_add(host.report.threads.into());
    totals.busy = totals.busy.saturating_add(u64::from(host.counts.busy));
    match (host.connected, host.paused.is_some(), host.counts.busy) {
        (false, ..) => totals.hosts.away += 1,
        (_, true, _) => totals.hosts.paused += 1,
        (_, _, 0) => totals.hosts.idle += 1,
        _ => totals.hosts.working += 1,
    }
}
