//! The runs in which hosts check units of other runs, and the time that this takes.
//!
//! A host reports what it did in such a run as in any other, the last of it a moment after it heard that the run is over.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::limits::ENDED_CHECK_RUNS_MAX;
use crate::{HostId, RunId};

/// What a host has counted in its last series: the series, and processor time in nanoseconds.
pub type Counted = Option<(u64, u64)>;

/// Adds a count to those before; returns the processor time that is new, in nanoseconds.
pub fn count(counted: &mut Counted, series: u64, work_ns: u64) -> u64 {
    let before_ns = counted.filter(|(known, _)| *known == series).map_or(0, |(_, ns)| ns);
    *counted = Some((series, work_ns.max(before_ns)));
    work_ns.saturating_sub(before_ns)
}

/// A run in which a host has checked units.
#[derive(Debug)]
struct Ended {
    check: RunId,
    run: RunId,
    host: HostId,
    counted: Counted,
}

/// The runs in which hosts check units.
#[derive(Debug, Default)]
pub struct CheckRuns {
    /// Each with the run whose units they are, and the host.
    of: BTreeMap<RunId, (RunId, HostId)>,
    /// The same, by host.
    by_host: BTreeSet<(HostId, RunId)>,
    /// The last ones that are over, of which counts may come.
    ended: VecDeque<Ended>,
    /// Processor time of all of them since the start, in nanoseconds.
    work_ns: u64,
}

impl CheckRuns {
    /// The run that is checked in this one, and the host that does so.
    pub fn get(&self, check: &RunId) -> Option<(RunId, HostId)> {
        self.of.get(check).copied()
    }

    /// The runs in which a host checks units, each with the run that they are of.
    pub fn of(&self, host: HostId) -> impl Iterator<Item = (RunId, RunId)> {
        let of_host = self.by_host.range((host, RunId(0))..=(host, RunId(u64::MAX)));
        of_host.filter_map(|(_, check)| Some((*check, self.get(check)?.0)))
    }

    /// Processor time of all checks since the start, in nanoseconds.
    pub fn work_ns(&self) -> u64 {
        self.work_ns
    }

    /// A host begins to check units of a run.
    pub fn begin(&mut self, check: RunId, of: (RunId, HostId)) {
        self.by_host.insert((of.1, check));
        self.of.insert(check, of);
    }

    /// A host no longer does so, and has counted this.
    pub fn end(&mut self, check: RunId, counted: Counted) {
        let Some((run, host)) = self.of.remove(&check) else { return };
        self.by_host.remove(&(host, check));
        if self.ended.len() >= ENDED_CHECK_RUNS_MAX {
            self.ended.pop_front();
        }
        self.ended.push_back(Ended { check, run, host, counted });
    }

    /// Checks took this much more processor time.
    pub fn add_work(&mut self, more_ns: u64) {
        self.work_ns = self.work_ns.saturating_add(more_ns);
    }

    /// A host reports what it counted in a run that is over; returns the run whose units it checked, and the processor time that
    /// is new, in nanoseconds. `None` if it did not do so.
    pub fn count_late(
        &mut self,
        host: HostId,
        check: RunId,
        series: u64,
        work_ns: u64,
    ) -> Option<(RunId, u64)> {
        let is_it = |ended: &&mut Ended| ended.check == check && ended.host == host;
        let ended = self.ended.iter_mut().rev().find(is_it)?;
        let more_ns = count(&mut ended.counted, series, work_ns);
        self.work_ns = self.work_ns.saturating_add(more_ns);
        Some((ended.run, more_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: HostId = HostId(1);

    #[test]
    fn what_is_counted_late_is_added_once() {
        let (run, check) = (RunId(1), RunId(9));
        let mut checks = CheckRuns::default();
        checks.begin(check, (run, ONE));
        assert_eq!(checks.of(ONE).collect::<Vec<_>>(), [(check, run)]);
        let mut counted = None;
        assert_eq!(
            [count(&mut counted, 7, 5), count(&mut counted, 7, 8), count(&mut counted, 7, 6)],
            [5, 3, 0]
        );
        assert_eq!(checks.count_late(ONE, check, 7, 9), None, "it is not over");
        checks.end(check, counted);
        assert_eq!((checks.get(&check), checks.of(ONE).count()), (None, 0));
        assert_eq!(checks.count_late(HostId(2), check, 7, 9), None, "it is not this host's");
        for more_ns in [2, 0] {
            assert_eq!(checks.count_late(ONE, check, 7, 10), Some((run, more_ns)));
        }
        assert_eq!((checks.count_late(ONE, check, 8, 4), checks.work_ns()), (Some((run, 4)), 6));
    }

    #[test]
    fn only_the_last_ones_are_kept() {
        let mut checks = CheckRuns::default();
        for check in 0..=ENDED_CHECK_RUNS_MAX as u64 {
            checks.begin(RunId(100 + check), (RunId(1), ONE));
            checks.end(RunId(100 + check), None);
        }
        assert_eq!(checks.count_late(ONE, RunId(100), 1, 1), None);
        assert_eq!(checks.count_late(ONE, RunId(101), 1, 1), Some((RunId(1), 1)));
    }
}
