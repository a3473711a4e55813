//! Hosts that have not said yet what they do: they were given a run or its root job just now, or are back after a restart of the
//! coordinator.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::time::Duration;

use sateen_protocol::limits::{COUNTS, RUNS_ACTIVE_MAX};
use sateen_protocol::{HostId, RunId, Time};

/// Hosts report at once when they begin, before they have done anything, and again after this time.
const FIRST_REPORTS: Duration = COUNTS.checked_div(2).expect("two is not zero");
/// A host that has not reported for this long has nothing to report, or does not answer.
const UNHEARD_MAX: Duration = COUNTS.saturating_mul(4);
/// Maximum entries; the first hosts in the order of their ids are forgotten.
const ENTRIES_MAX: usize = 8192 * RUNS_ACTIVE_MAX;

/// Since when they have not.
#[derive(Debug, Default)]
pub struct Unheard {
    back: BTreeMap<HostId, Time>,
    begun: BTreeMap<(HostId, RunId), Time>,
}

impl Unheard {
    /// A host is back after a restart of the coordinator.
    pub fn returned(&mut self, host: HostId, now: Time) {
        self.back.insert(host, now);
    }

    /// A host takes part in a run from now on.
    pub fn begins(&mut self, host: HostId, run: RunId, now: Time) {
        self.begun.insert((host, run), now);
        while self.begun.len() > ENTRIES_MAX {
            self.begun.pop_first();
        }
    }

    /// A host reports how many workers compute for a run.
    pub fn reported(&mut self, host: HostId, run: RunId, busy: u32, now: Time) {
        self.back.remove(&host);
        if self.begun.get(&(host, run)).is_some_and(|begun| busy > 0 || now >= *begun + FIRST_REPORTS) {
            self.begun.remove(&(host, run));
        }
    }

    /// A host has gone.
    pub fn gone(&mut self, host: HostId) {
        self.back.remove(&host);
        let runs: Vec<_> = self.begun.range(of(host)).map(|(key, _)| *key).collect();
        for key in runs {
            self.begun.remove(&key);
        }
    }

    /// Whether a host is back and has reported nothing yet.
    pub fn is_back(&self, host: HostId, now: Time) -> bool {
        is_recent(self.back.get(&host), now)
    }

    /// Of this run, or of all, those that a host was given and has not reported of.
    pub fn runs(&self, host: HostId, run: Option<RunId>, now: Time) -> impl Iterator<Item = RunId> {
        let begun = self.begun.range(run.map_or(of(host), |run| (host, run)..=(host, run)));
        begun.filter(move |(_, since)| is_recent(Some(since), now)).map(|((_, run), _)| *run)
    }
}

fn of(host: HostId) -> RangeInclusive<(HostId, RunId)> {
    (host, RunId(0))..=(host, RunId(u64::MAX))
}

fn is_recent(since: Option<&Time>, now: Time) -> bool {
    since.is_some_and(|since| now < *since + UNHEARD_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_host_does_is_not_known_until_it_has_reported_that_it_does_something_or_nothing() {
        let (one, two, run) = (HostId(1), HostId(2), RunId(1));
        let start = Time(0);
        let mut unheard = Unheard::default();
        for host in [one, two] {
            unheard.begins(host, run, start);
        }
        // Its first report is from before it did anything.
        unheard.reported(one, run, 0, start);
        let runs = |unheard: &Unheard, host, run| unheard.runs(host, run, start).collect::<Vec<_>>();
        assert_eq!([Some(run), None].map(|run| runs(&unheard, one, run)), [[run], [run]]);
        assert_eq!(runs(&unheard, one, Some(RunId(2))), [], "of another run nothing is missing");
        assert_eq!(unheard.runs(one, None, start + UNHEARD_MAX).count(), 0, "it does not report");
        unheard.reported(one, run, 0, start + COUNTS);
        unheard.reported(two, run, 1, start);
        assert_eq!([one, two].map(|host| runs(&unheard, host, None)), [[], []]);
        unheard.begins(one, run, start);
        unheard.gone(one);
        assert_eq!(runs(&unheard, one, None), []);
    }

    #[test]
    fn what_a_host_that_is_back_does_is_not_known_until_it_has_reported() {
        let (one, start) = (HostId(1), Time(0));
        let mut unheard = Unheard::default();
        unheard.returned(one, start);
        assert!(unheard.is_back(one, start));
        assert!(!unheard.is_back(one, start + UNHEARD_MAX), "it has no run to report of");
        unheard.reported(one, RunId(1), 0, start);
        assert!(!unheard.is_back(one, start));
        unheard.returned(one, start);
        unheard.gone(one);
        assert!(!unheard.is_back(one, start));
    }
}
