//! Thieves that wait for a job of this host.

use std::collections::VecDeque;

use crate::limits::PARKED_STEALS_PER_THIEF_MAX;
use crate::{HostId, StealId, Time};

/// A request of a thief that waits.
#[derive(Debug)]
pub struct Parked {
    pub thief: HostId,
    pub steal: StealId,
    pub holding: u64,
    /// Maximum further jobs that the thief takes.
    pub more: u32,
    pub until: Time,
}

/// The requests that wait for a job of one run, the oldest first.
#[derive(Debug, Default)]
pub struct Victim {
    parked: VecDeque<Parked>,
    /// The number that was last reported to the runtime.
    told: usize,
    /// The number of times that the runtime was asked for a job and has not answered.
    asked: usize,
    /// The runtime has exposed a job since it was last asked.
    is_exposed: bool,
}

impl Victim {
    /// The number of requests that wait.
    pub fn len(&self) -> usize {
        self.parked.len()
    }

    /// Whether no request waits.
    pub fn is_empty(&self) -> bool {
        self.parked.is_empty()
    }

    /// Whether this request of a thief waits.
    pub fn has(&self, thief: HostId, steal: StealId) -> bool {
        self.of(thief).any(|parked| parked == steal)
    }

    /// The requests of a thief that wait.
    pub fn of(&self, thief: HostId) -> impl Iterator<Item = StealId> {
        self.parked.iter().filter(move |parked| parked.thief == thief).map(|parked| parked.steal)
    }

    /// Adds a request. If its thief has too many here, which happens to a victim that was stopped for long, removes and
    /// returns the oldest of them: the thief has given it up.
    pub fn park(&mut self, parked: Parked) -> Option<StealId> {
        let thief = parked.thief;
        self.parked.push_back(parked);
        if self.of(thief).count() <= PARKED_STEALS_PER_THIEF_MAX {
            return None;
        }
        let oldest = self.parked.iter().position(|parked| parked.thief == thief)?;
        self.parked.remove(oldest).map(|parked| parked.steal)
    }

    /// Whether to ask the runtime for a job: no more often than requests wait, as a job for which no request waits goes back.
    /// If so, it counts as asked.
    pub fn ask(&mut self) -> bool {
        let is_due = self.asked < self.parked.len();
        if is_due {
            self.asked += 1;
            self.is_exposed = false;
        }
        is_due
    }

    /// Maximum jobs beyond the first for the request for which the runtime was asked last.
    pub fn more(&self) -> usize {
        let last = self.asked.checked_sub(1).and_then(|last| self.parked.get(last));
        last.map_or(0, |parked| parked.more as usize)
    }

    /// The runtime has a job now; whether to [`ask`](Self::ask) for it. It may have given its answer before it exposed the
    /// job, and that answer may arrive after this: then it is asked again.
    pub fn note_exposed(&mut self) -> bool {
        let is_due = self.ask();
        self.is_exposed |= !is_due && self.asked > 0;
        is_due
    }

    /// The runtime has answered. Whether to ask once more, as it had no job and has exposed one since.
    pub fn note_answer(&mut self, has_job: bool) -> bool {
        self.asked = self.asked.saturating_sub(1);
        !has_job && self.is_exposed && self.ask()
    }

    /// Removes and returns the request that gets the next job.
    pub fn next(&mut self) -> Option<Parked> {
        self.parked.pop_front()
    }

    /// Removes and returns the requests that have waited long enough, or all if `all` is set.
    pub fn refuse(&mut self, all: bool, now: Time) -> Vec<(HostId, StealId)> {
        let mut refused = Vec::new();
        self.parked.retain(|parked| {
            let stays = !all && parked.until > now;
            if !stays {
                refused.push((parked.thief, parked.steal));
            }
            stays
        });
        refused
    }

    /// Removes the requests of a host that is gone.
    pub fn drop_thief(&mut self, thief: HostId) {
        self.parked.retain(|parked| parked.thief != thief);
    }

    /// When the first request will have waited long enough.
    pub fn next_refusal(&self) -> Option<Time> {
        self.parked.iter().map(|parked| parked.until).min()
    }

    /// The number of requests that wait, if another number was last reported to the runtime.
    pub fn take_news(&mut self) -> Option<usize> {
        let before = std::mem::replace(&mut self.told, self.parked.len());
        (self.told != before).then_some(self.told)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THIEF: HostId = HostId(20);
    const OTHER: HostId = HostId(21);

    fn parked(thief: HostId, steal: u64, until: u64) -> Parked {
        Parked { thief, steal: StealId(steal), holding: 0, more: 0, until: Time(until) }
    }

    #[test]
    fn thieves_are_served_in_turn_or_refused_in_time() {
        let mut victim = Victim::default();
        for (thief, steal, until) in [(THIEF, 1, 30), (OTHER, 2, 10), (THIEF, 3, 20), (OTHER, 4, 40)] {
            assert_eq!(victim.park(parked(thief, steal, until)), None);
        }
        assert!(victim.has(THIEF, StealId(3)) && !victim.has(OTHER, StealId(3)));
        assert_eq!(victim.next_refusal(), Some(Time(10)));
        assert_eq!(victim.refuse(false, Time(20)), [(OTHER, StealId(2)), (THIEF, StealId(3))]);
        assert_eq!(victim.next().map(|parked| parked.steal), Some(StealId(1)));
        assert_eq!(victim.refuse(true, Time(20)), [(OTHER, StealId(4))]);
        assert!(victim.is_empty() && victim.next_refusal().is_none());
    }

    #[test]
    fn the_oldest_request_of_a_thief_with_too_many_is_given_up() {
        let mut victim = Victim::default();
        victim.park(parked(OTHER, 0, 1));
        for steal in 1..=PARKED_STEALS_PER_THIEF_MAX as u64 {
            assert_eq!(victim.park(parked(THIEF, steal, 1)), None);
        }
        assert_eq!(victim.park(parked(THIEF, 99, 1)), Some(StealId(1)));
        assert_eq!(victim.len(), PARKED_STEALS_PER_THIEF_MAX + 1);
        victim.drop_thief(THIEF);
        assert_eq!(victim.of(OTHER).collect::<Vec<_>>(), [StealId(0)]);
        assert_eq!(victim.len(), 1);
    }

    #[test]
    fn the_runtime_is_asked_once_for_each_request_that_waits() {
        let mut victim = Victim::default();
        assert!(!victim.ask() && !victim.note_exposed(), "nobody waits");
        victim.park(parked(THIEF, 1, 1));
        assert!(victim.ask() && !victim.ask() && !victim.note_exposed());
        assert!(victim.note_answer(false), "a job was exposed since");
        assert!(!victim.note_answer(false), "none was exposed since");
        assert!(victim.note_exposed());
        victim.park(parked(OTHER, 2, 1));
        assert!(victim.ask() && !victim.note_exposed());
        victim.next();
        assert!(!victim.note_answer(true));
        assert!(!victim.ask(), "the second answer is under way");
        victim.next();
        assert!(!victim.note_answer(true) && !victim.note_exposed(), "nobody waits");
        // An answer that was not asked for, from a runtime that is gone, changes nothing.
        assert!(!victim.note_answer(false));
        victim.park(parked(THIEF, 3, 1));
        assert!(victim.ask() && !victim.ask());
    }

    #[test]
    fn the_runtime_is_notified_of_a_changed_number_once() {
        let mut victim = Victim::default();
        assert_eq!(victim.take_news(), None);
        victim.park(parked(THIEF, 1, 1));
        assert_eq!((victim.take_news(), victim.take_news()), (Some(1), None));
        victim.drop_thief(THIEF);
        assert_eq!((victim.take_news(), victim.take_news()), (Some(0), None));
    }
}
