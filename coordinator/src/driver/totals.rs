//! Sums over hosts and runs, for metrics and for the status.

use std::collections::HashMap;

use sateen_protocol::coordinator::HostView;
use sateen_protocol::{Counts, RunId, RunState, Time, counted_since};

use super::Driver;
use super::rate::Rate;
use crate::figures::Times;
use crate::metrics::{EndedByState, EndedWork, Totals};

/// Counts since the start.
#[derive(Debug, Default)]
pub struct SinceStart {
    ended: Ended,
    /// The counts, at the start, of the runs that were restored.
    restored: HashMap<RunId, Counts>,
    rate: Rate,
}

/// The outcome of runs that ended since the start.
#[derive(Debug, Default)]
struct Ended {
    counts: Counts,
    by_state: EndedByState<u64>,
    work: EndedByState<EndedWork>,
}

impl SinceStart {
    /// With these restored runs and their counts.
    pub fn new(restored: HashMap<RunId, Counts>) -> Self {
        Self { restored, ..Self::default() }
    }

    /// A run has ended.
    pub fn add_end(&mut self, state: RunState) {
        *self.ended.by_state.of(state) += 1;
    }

    /// Adds the counts since the start of a run that has ended like this, once they are final.
    pub fn add(&mut self, run: RunId, state: RunState, counts: &Counts, times: &Times) {
        let counts = self.of(run, counts);
        self.restored.remove(&run);
        self.ended.counts.add(&Counts { busy: 0, workers: 0, shared_bytes: 0, ..counts });
        if let Some(lost_s) = times.lost_work_s {
            let of_state = self.ended.work.of(state);
            of_state.work_s += times.work_s.max(0.0);
            of_state.lost_s += lost_s.clamp(0.0, times.work_s.max(0.0));
        }
    }

    /// The part of a run's counts that was counted since the start.
    pub fn of(&self, run: RunId, counts: &Counts) -> Counts {
        self.restored.get(&run).map_or(*counts, |before| counted_since(before, counts))
    }

    /// Jobs executed in runs that ended since the start.
    pub fn executed(&self) -> u64 {
        self.ended.counts.jobs.executed
    }

    /// Adds a sample: the jobs executed by all runs so far.
    pub fn sample(&mut self, now: Time, executed: u64) {
        self.rate.add(now, executed);
    }

    /// Adds what is known here to the totals: not runs that are under way.
    fn complete(&self, totals: Totals) -> Totals {
        Totals {
            counts: self.ended.counts,
            executed: self.ended.counts.jobs.executed,
            ended: self.ended.by_state,
            ended_work: self.ended.work,
            jobs_per_s: self.rate.per_s(),
            ..totals
        }
    }
}

impl Driver {
    /// All totals except those summed over hosts.
    pub(super) fn add_runs(&self, totals: Totals) -> Totals {
        let (unsaved, entries_dropped) = self.saver.backlog();
        let waiting = self.inbox.from_links.len();
        let mut totals = Totals {
            waiting,
            entries_dropped,
            unsaved,
            hosts_awaited: self.hosts.awaited().len(),
            checks_work_ns: self.machine.checks_work_ns(),
            ..self.since_start.complete(totals)
        };
        for view in self.machine.run_ids_over().filter_map(|run| self.machine.run_over(run)) {
            let counts = self.since_start.of(view.run, &view.counts());
            totals.counts.add(&Counts { busy: 0, workers: 0, shared_bytes: 0, ..counts });
        }
        let mut is_under_way = false;
        for view in self.machine.runs() {
            is_under_way |= matches!(view.state(), RunState::Running | RunState::Suspending);
            let (entries, bytes) = view.table();
            let counts = self.since_start.of(view.run, &view.counts());
            totals.counts.add(&counts);
            totals.table.0 += entries;
            totals.table.1 += bytes;
        }
        if !is_under_way {
            totals.jobs_per_s = Some(0.0);
        }
        totals
    }
}

/// Adds a host, whose workers that compute are known or not.
pub fn add_host(totals: &mut Totals, host: &HostView, busy: Option<u32>, is_silent: bool) {
    if host.connected {
        totals.workers = totals.workers.saturating_add(host.report.threads.into());
    }
    totals.busy = totals.busy.saturating_add(busy.unwrap_or_default().into());
    match (host.connected, host.paused.is_some(), busy) {
        (false, ..) => totals.hosts.away += 1,
        (_, true, _) => totals.hosts.paused += 1,
        (.., None) if is_silent => totals.hosts.silent += 1,
        (.., None) => totals.hosts.unknown += 1,
        (.., Some(0)) => totals.hosts.idle += 1,
        _ => totals.hosts.working += 1,
    }
}

#[cfg(test)]
mod tests {
    use sateen_protocol::Jobs;

    use super::*;

    #[test]
    fn counts_from_before_the_start_are_subtracted_once() {
        let executed = |executed| Counts { jobs: Jobs { executed, ..Jobs::default() }, ..Counts::default() };
        let (old, new) = (RunId(1), RunId(2));
        let mut since_start = SinceStart::new(HashMap::from([(old, executed(10))]));
        assert_eq!(since_start.of(old, &executed(17)).jobs.executed, 7);
        assert_eq!(since_start.of(new, &executed(17)).jobs.executed, 17);
        since_start.add_end(RunState::Done);
        let times = |lost_work_s| Times { work_s: 2.0, lost_work_s, ..Times::default() };
        since_start.add(old, RunState::Done, &executed(18), &times(Some(0.5)));
        since_start.add_end(RunState::Failed);
        since_start.add(new, RunState::Failed, &executed(3), &times(Some(-1.0)));
        since_start.add(new, RunState::Done, &executed(0), &times(None));
        assert_eq!(since_start.executed(), 11);
        assert_eq!(since_start.complete(Totals::default()).jobs_per_s, None);
        since_start.sample(Time(0), 11);
        since_start.sample(Time(2_000_000_000), 31);
        let totals = since_start.complete(Totals { workers: 5, ..Totals::default() });
        assert_eq!((totals.workers, totals.executed, totals.jobs_per_s), (5, 11, Some(10.0)));
        let of = |work: EndedWork| (work.work_s, work.lost_s);
        // Where it is not known what is lost, the work does not count either.
        assert_eq!((of(totals.ended_work.done), of(totals.ended_work.failed)), ((2.0, 0.5), (2.0, 0.0)));
        assert_eq!((totals.ended.done, totals.ended.failed, totals.ended.cancelled), (1, 1, 0));
    }
}
