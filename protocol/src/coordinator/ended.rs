//! Runs that are over: their counts, until these are final, and the time for which their hosts' messages count.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use crate::{RunId, Time};

use super::run::CoordinatorRun;
use super::standings::Standings;

/// Time after a run's end for which its hosts' messages count.
pub const LATE_MAX: Duration = Duration::from_secs(10);
/// Maximum finished runs about which messages count.
const LATE_RUNS_MAX: usize = 256;

/// A run that is over, and whose counts are not final.
pub struct Over {
    /// The rest of the run; everything except counts is being freed.
    pub coordinator_run: Box<CoordinatorRun>,
    /// The number of entries in its result table at the end, and their bytes.
    pub table: (usize, usize),
    /// Not all hosts have been notified that it is over.
    pub is_asking: bool,
    /// Some hosts went, or never answered.
    pub is_partial: bool,
}

impl Over {
    /// A run that has just ended. No host has been notified of that.
    pub fn new(coordinator_run: CoordinatorRun) -> Self {
        let table = coordinator_run.ledger.size();
        Self { coordinator_run: Box::new(coordinator_run), table, is_asking: true, is_partial: false }
    }

    /// Whether no host still has to send its last counts.
    pub fn is_settled(&self) -> bool {
        !self.is_asking && self.coordinator_run.awaited.is_empty()
    }
}

/// Runs that are over.
#[derive(Default)]
pub struct Ended {
    /// Those whose counts are not final.
    unsettled: BTreeMap<RunId, Over>,
    /// Those about which messages still count, and until when; the run that ended first is the first.
    late: VecDeque<(Time, RunId)>,
    /// Units of these and earlier runs that were checked, by the owners that had executed them.
    pub(super) standings: Standings,
}

impl Ended {
    // ---- counts that are not final ----

    /// The number of runs whose counts are not final.
    pub fn len(&self) -> usize {
        self.unsettled.len()
    }

    /// Their ids, in order.
    pub fn keys(&self) -> impl Iterator<Item = &RunId> {
        self.unsettled.keys()
    }

    /// These runs.
    pub fn values(&self) -> impl Iterator<Item = &Over> {
        self.unsettled.values()
    }

    /// The same, with their ids, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&RunId, &mut Over)> {
        self.unsettled.iter_mut()
    }

    /// Whether a run is over and its counts are not final.
    pub fn contains_key(&self, run: &RunId) -> bool {
        self.unsettled.contains_key(run)
    }

    /// A run that is over and whose counts are not final.
    pub fn get(&self, run: &RunId) -> Option<&Over> {
        self.unsettled.get(run)
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, run: &RunId) -> Option<&mut Over> {
        self.unsettled.get_mut(run)
    }

    /// A run is over.
    pub fn insert(&mut self, run: RunId, over: Over) {
        self.unsettled.insert(run, over);
    }

    /// A run's counts are final.
    pub fn remove(&mut self, run: &RunId) -> Option<Over> {
        self.unsettled.remove(run)
    }

    /// The runs that ended first, without which the others have at most `rows_max` rows of counts.
    pub fn beyond(&self, rows_max: usize) -> Vec<RunId> {
        let rows_of = |over: &Over| over.coordinator_run.tally.len();
        let mut rows: usize = self.unsettled.values().map(rows_of).sum();
        let mut found = Vec::new();
        for (_, run) in &self.late {
            if rows <= rows_max {
                break;
            }
            rows -= self.unsettled.get(run).map_or(0, rows_of);
            found.push(*run);
        }
        found
    }

    // ---- late messages ----

    /// A run is over now: messages from its hosts are accepted for a while.
    pub fn accept_late(&mut self, now: Time, run: RunId) {
        self.late.push_back((now + LATE_MAX, run));
    }

    /// When messages about the next run are no longer accepted.
    pub fn next_late(&self) -> Option<Time> {
        self.late.front().map(|(until, _)| *until)
    }

    /// The number of runs about which messages are no longer accepted from now on.
    pub fn late_len(&self, now: Time) -> usize {
        self.late.iter().filter(|(until, _)| now >= *until).count()
    }

    /// Takes a run about which messages are no longer accepted, because of its time or because there are too many.
    pub fn take_late(&mut self, now: Time) -> Option<RunId> {
        let (until, run) = self.late.front().copied()?;
        if now < until && self.late.len() <= LATE_RUNS_MAX {
            return None;
        }
        self.late.pop_front();
        Some(run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coordinator::tests::spec;
    use crate::{Counts, HostId, RunState, Table};

    fn over(rows: u64) -> Over {
        let mut coordinator_run =
            CoordinatorRun::new(Default::default(), spec(), RunState::Done, Table::new(1 << 20), Time(0));
        for host in 1..=rows {
            coordinator_run.tally.count(HostId(host), 1, Counts::default());
        }
        Over::new(coordinator_run)
    }

    #[test]
    fn the_first_to_end_are_beyond_a_bound() {
        let mut ended = Ended::default();
        for (run, rows) in [(3, 5), (1, 4), (2, 3)] {
            ended.insert(RunId(run), over(rows));
            ended.accept_late(Time(run), RunId(run));
        }
        for (most, runs) in [(12, vec![]), (11, vec![3]), (7, vec![3]), (6, vec![3, 1]), (0, vec![3, 1, 2])] {
            let runs: Vec<RunId> = runs.into_iter().map(RunId).collect();
            assert_eq!(ended.beyond(most), runs, "at most {most}");
        }
        assert!(ended.remove(&RunId(3)).is_some() && ended.remove(&RunId(3)).is_none());
        assert_eq!(ended.beyond(6), [RunId(3), RunId(1)], "its messages are accepted, and it has no rows");
        assert_eq!((ended.len(), ended.contains_key(&RunId(3))), (2, false));
    }

    #[test]
    fn late_messages_are_accepted_for_a_while_and_about_a_bounded_number_of_runs() {
        let mut ended = Ended::default();
        let late = LATE_RUNS_MAX as u64;
        (0..=late).for_each(|run| ended.accept_late(Time(run), RunId(run)));
        assert_eq!([ended.take_late(Time(0)), ended.take_late(Time(0))], [Some(RunId(0)), None]);
        let due = Time(1) + LATE_MAX;
        assert_eq!(
            (ended.next_late(), ended.late_len(Time(due.0 - 1)), ended.late_len(due)),
            (Some(due), 0, 1)
        );
        assert_eq!([ended.take_late(due), ended.take_late(due)], [Some(RunId(1)), None]);
        assert_eq!(ended.late_len(Time(u64::MAX)), LATE_RUNS_MAX - 1);
    }

    #[test]
    fn counts_are_settled_when_all_hosts_were_asked_and_have_answered() {
        let mut over = over(1);
        assert!(!over.is_settled());
        over.is_asking = false;
        over.coordinator_run.awaited.insert(HostId(1));
        assert!(!over.is_settled());
        over.coordinator_run.awaited.clear();
        assert!(over.is_settled());
    }
}
