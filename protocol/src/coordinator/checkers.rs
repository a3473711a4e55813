//! Which hosts check what. Each checker has a run of its own for it, of which no other host knows.

use std::collections::{BTreeMap, BTreeSet};

use crate::limits::CHECKS_PER_HOST_MAX;
use crate::{AssignmentId, Counts, HostId, JobKey, RunId, Time};

use super::check_runs::{Counted, count};
use super::claims::Owner;

/// A unit that a host computes again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Check {
    /// The coordinator's number.
    pub number: AssignmentId,
    /// The unit.
    pub unit: JobKey,
    /// When another owner may be asked as well.
    late_at: Time,
}

/// A host that checks units.
#[derive(Debug)]
pub struct Checker {
    /// The run in which it does so.
    pub check: RunId,
    /// The owner that answers for it.
    pub owner: Owner,
    /// Whether it has loaded the app.
    pub is_ready: bool,
    checks: Vec<Check>,
    /// How many it may have at a time.
    most: usize,
    /// It was given results of other jobs in this run, and keeps them.
    has_given: bool,
    /// What it has counted.
    pub counted: Counted,
    /// Its workers that compute to check units.
    pub busy: u32,
}

/// The hosts that check units of one run.
#[derive(Debug, Default)]
pub struct Checkers {
    all: BTreeMap<HostId, Checker>,
    /// Hosts that cannot take part.
    unable: BTreeSet<HostId>,
    /// Hosts that get one unit at a time.
    alone: BTreeSet<HostId>,
    /// The checks that are not late, by the time at which they will be.
    in_time: BTreeSet<(Time, HostId, AssignmentId)>,
    /// Checks that have become useless, of which their hosts are to be notified.
    useless: Vec<(HostId, RunId, AssignmentId)>,
    last: u64,
}

impl Checkers {
    // ---- getters ----

    /// A host that checks units.
    pub fn get(&self, host: HostId) -> Option<&Checker> {
        self.all.get(&host)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (HostId, &Checker)> {
        self.all.iter().map(|(host, checker)| (*host, checker))
    }

    /// The number of checks under way.
    pub fn checks_len(&self) -> usize {
        self.all.values().map(|checker| checker.checks.len()).sum()
    }

    /// Workers of a host that compute to check units.
    pub fn busy_of(&self, host: HostId) -> u32 {
        self.all.get(&host).map_or(0, |checker| checker.busy)
    }

    /// Whether a host can take part, as far as is known.
    pub fn is_able(&self, host: HostId) -> bool {
        !self.unable.contains(&host)
    }

    /// Whether a host may be given another unit now.
    pub fn has_room(&self, host: HostId) -> bool {
        self.all.get(&host).is_none_or(|checker| {
            checker.checks.is_empty() || !checker.has_given && checker.checks.len() < checker.most
        })
    }

    /// Whether a host has none under way.
    pub fn is_idle(&self, host: HostId) -> bool {
        self.all.get(&host).is_none_or(|checker| checker.checks.is_empty())
    }

    /// Whether a host keeps results in the run in which it checks that may be wrong, or others than the next unit is checked with.
    pub fn has_given(&self, host: HostId) -> bool {
        self.all.get(&host).is_some_and(|checker| checker.has_given)
    }

    /// The checks of a host that are under way.
    pub fn of(&self, host: HostId) -> &[Check] {
        self.all.get(&host).map_or(&[], |checker| &checker.checks)
    }

    /// When the next check is late.
    pub fn next_late(&self) -> Option<Time> {
        self.in_time.first().map(|(at, _, _)| *at)
    }

    // ---- hosts ----

    /// A host is to check units, in this run.
    pub fn add(&mut self, host: HostId, owner: Owner, check: RunId) {
        let most = if self.alone.contains(&host) { 1 } else { CHECKS_PER_HOST_MAX };
        let (is_ready, has_given, checks, counted, busy) = (false, false, Vec::new(), None, 0);
        let checker = Checker { check, owner, is_ready, checks, most, has_given, counted, busy };
        self.all.insert(host, checker);
    }

    /// A host is given results in the run in which it checks that no other unit may be checked with.
    pub fn set_given(&mut self, host: HostId) {
        self.all.get_mut(&host).into_iter().for_each(|checker| checker.has_given = true);
    }

    /// A host has loaded the app; returns its checks, which are to be sent.
    pub fn set_ready(&mut self, host: HostId) -> Vec<Check> {
        let Some(checker) = self.all.get_mut(&host) else { return Vec::new() };
        checker.is_ready = true;
        checker.checks.clone()
    }

    /// A host has counted this in a series; returns how much of its processor time is new, in nanoseconds.
    pub fn count(&mut self, host: HostId, series: u64, counts: &Counts) -> u64 {
        let Some(checker) = self.all.get_mut(&host) else { return 0 };
        checker.busy = counts.busy;
        count(&mut checker.counted, series, counts.work_ns)
    }

    /// A host is gone, or no longer checks anything; returns what it was, with its checks.
    pub fn remove(&mut self, host: HostId) -> Option<(Checker, Vec<Check>)> {
        let mut checker = self.all.remove(&host)?;
        let checks = std::mem::take(&mut checker.checks);
        for check in &checks {
            self.in_time.remove(&(check.late_at, host, check.number));
        }
        Some((checker, checks))
    }

    /// A host cannot take part.
    pub fn set_unable(&mut self, host: HostId) {
        self.unable.insert(host);
    }

    /// Hosts that could not take part may be asked again.
    pub fn forgive(&mut self) {
        self.unable.clear();
    }

    /// A host gets one unit at a time from now on.
    pub fn set_alone(&mut self, host: HostId) {
        self.alone.insert(host);
    }

    /// A host that could not take part may be able to when it comes again.
    pub fn forget(&mut self, host: HostId) {
        self.unable.remove(&host);
    }

    // ---- checks ----

    /// A host is given a unit; returns the number, and whether it can be sent at once.
    pub fn begin(&mut self, host: HostId, unit: JobKey, late_at: Time) -> Option<(Check, bool)> {
        self.last += 1;
        let check = Check { number: AssignmentId(self.last), unit, late_at };
        let checker = self.all.get_mut(&host)?;
        checker.checks.push(check);
        self.in_time.insert((late_at, host, check.number));
        Some((check, checker.is_ready))
    }

    /// A check has ended; returns it, if it was under way.
    pub fn end(&mut self, host: HostId, number: AssignmentId) -> Option<Check> {
        let checker = self.all.get_mut(&host)?;
        let place = checker.checks.iter().position(|check| check.number == number)?;
        let ended = checker.checks.remove(place);
        self.in_time.remove(&(ended.late_at, host, number));
        Some(ended)
    }

    /// Checks of a unit have become useless.
    pub fn withdraw(&mut self, unit: &JobKey) {
        for (host, checker) in &mut self.all {
            checker.checks.retain(|check| {
                let is_of_unit = check.unit == *unit;
                if is_of_unit {
                    self.in_time.remove(&(check.late_at, *host, check.number));
                    self.useless.push((*host, checker.check, check.number));
                }
                !is_of_unit
            });
        }
    }

    /// The checks that have become useless, each with its host and the run in which that checks.
    pub fn take_useless(&mut self) -> Vec<(HostId, RunId, AssignmentId)> {
        std::mem::take(&mut self.useless)
    }

    /// The checks that are late since the last call.
    pub fn take_late(&mut self, now: Time) -> Vec<(JobKey, Owner)> {
        let mut late = Vec::new();
        while let Some((_, host, number)) = self.in_time.first().copied().filter(|(at, _, _)| now >= *at) {
            self.in_time.pop_first();
            if let Some(checker) = self.all.get(&host)
                && let Some(check) = checker.checks.iter().find(|check| check.number == number)
            {
                late.push((check.unit, checker.owner));
            }
        }
        late
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PublicKey;

    const ONE: HostId = HostId(1);
    const UNIT: JobKey = JobKey([1; 32]);

    #[test]
    fn a_host_is_given_units_when_it_is_ready_and_while_it_has_room() {
        let mut checkers = Checkers::default();
        assert!(checkers.begin(ONE, UNIT, Time(5)).is_none() && checkers.has_room(ONE));
        checkers.set_alone(HostId(2));
        checkers.add(HostId(2), PublicKey([2; 32]), RunId(8));
        checkers.add(ONE, PublicKey([1; 32]), RunId(9));
        assert!(checkers.begin(HostId(2), UNIT, Time(u64::MAX)).is_some() && !checkers.has_room(HostId(2)));
        checkers.remove(HostId(2));
        let (first, is_sent) = checkers.begin(ONE, UNIT, Time(5)).expect("it is a checker");
        assert!(!is_sent && checkers.has_room(ONE));
        assert_eq!(checkers.set_ready(ONE), [first]);
        let (second, is_sent) = checkers.begin(ONE, UNIT, Time(7)).expect("it is a checker");
        assert!(is_sent);
        assert_eq!(checkers.next_late(), Some(Time(5)));
        assert_eq!(checkers.take_late(Time(6)), [(UNIT, PublicKey([1; 32]))]);
        assert_eq!((checkers.take_late(Time(6)), checkers.next_late()), (Vec::new(), Some(Time(7))));
        assert_eq!(checkers.end(ONE, second.number), Some(second));
        assert_eq!((checkers.end(ONE, second.number), checkers.checks_len()), (None, 1));
        let (checker, checks) = checkers.remove(ONE).expect("it is one");
        assert_eq!((checker.check, checks.len(), checkers.checks_len()), (RunId(9), 1, 0));
        assert_eq!(checks[0].number, first.number);
    }

    #[test]
    fn a_host_that_keeps_results_of_one_unit_is_given_no_other_meanwhile() {
        let mut checkers = Checkers::default();
        assert!(checkers.is_idle(ONE) && !checkers.has_given(ONE));
        checkers.add(ONE, PublicKey([1; 32]), RunId(9));
        checkers.set_given(ONE);
        assert!(checkers.has_room(ONE) && checkers.is_idle(ONE) && checkers.has_given(ONE));
        let (check, _) = checkers.begin(ONE, UNIT, Time(5)).expect("it is a checker");
        assert!(!checkers.has_room(ONE) && !checkers.is_idle(ONE));
        checkers.end(ONE, check.number);
        assert!(checkers.has_room(ONE) && checkers.has_given(ONE), "until it checks in another run");
        checkers.add(ONE, PublicKey([1; 32]), RunId(10));
        assert!(!checkers.has_given(ONE));
    }

    #[test]
    fn a_host_that_cannot_take_part_may_come_again() {
        let mut checkers = Checkers::default();
        checkers.set_unable(ONE);
        assert!(!checkers.is_able(ONE));
        checkers.forget(ONE);
        assert!(checkers.is_able(ONE));
    }
}
