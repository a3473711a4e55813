//! How a run takes turns with others; [`super::turns`] decides whose turn it is.

use crate::Time;
use crate::limits::{UNREADY_REST_MAX, UNREADY_REST_MIN, UNREADY_TURN_MAX};

/// Which hosts are asked to load a run at its next turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Asked {
    /// All: none of them has it.
    #[default]
    All,
    /// All, and those that could not load it forget that first.
    Again,
    /// Hosts that have not reported that they cannot.
    New,
}

/// How a run takes turns with others.
#[derive(Debug, Default)]
pub struct Turn {
    /// It is given to hosts; at most `RUNS_ACTIVE_MAX` runs are.
    is_active: bool,
    /// It was given to hosts at some time, possibly before the coordinator was restarted.
    was_active: bool,
    /// How often it gave its turn up.
    yields: u32,
    /// It gave its turn up, and gets no other before this time.
    rests_until: Option<Time>,
    asked: Asked,
    /// The number of the turn.
    number: u32,
    /// When this turn began.
    since: Time,
    /// All hosts may be unable now.
    is_in_doubt: bool,
    /// Hosts were asked to drop it after its last turn.
    is_dropped: bool,
}

impl Turn {
    /// A run from before a restart of the coordinator, which may have been given to hosts.
    pub fn restored(was_active: bool) -> Self {
        Self { was_active, ..Self::default() }
    }

    /// The turn of a run that all hosts have dropped, except those that could not be reached: it begins like a new one,
    /// and its turns are counted on.
    pub fn anew(&self) -> Self {
        Self { was_active: self.was_active, number: self.number, is_dropped: true, ..Self::default() }
    }

    /// Its turn begins now; returns which hosts are asked, and the number of the turn.
    pub fn begin(&mut self, now: Time) -> (Asked, u32) {
        self.is_active = true;
        self.was_active = true;
        self.is_dropped = false;
        self.number += 1;
        self.since = now;
        self.is_in_doubt = true;
        (self.asked, self.number)
    }

    /// It is suspended; returns whether it had the turn.
    pub fn end(&mut self) -> bool {
        std::mem::take(&mut self.is_active)
    }

    /// It gives its turn up, and rests for longer each time; returns until when.
    pub fn give_up(&mut self, now: Time) -> Time {
        let rest = UNREADY_REST_MIN.saturating_mul(1 << self.yields.min(16));
        let until = now + rest.min(UNREADY_REST_MAX);
        self.is_active = false;
        self.yields = self.yields.saturating_add(1);
        self.rests_until = Some(until);
        self.asked = Asked::New;
        until
    }

    /// It need not rest any longer; returns until when it would have rested.
    pub fn wake(&mut self) -> Option<Time> {
        self.rests_until.take()
    }

    /// It has rested: all hosts are asked again.
    pub fn try_again(&mut self) {
        self.rests_until = None;
        self.asked = Asked::Again;
    }

    /// A host has reported something, or is gone: all remaining hosts may be unable.
    pub fn doubt(&mut self) {
        self.is_in_doubt = true;
    }

    /// It was found out whether all hosts are unable.
    pub fn clear_doubt(&mut self) {
        self.is_in_doubt = false;
    }

    /// Whether all hosts may be unable now.
    pub fn is_in_doubt(&self) -> bool {
        self.is_in_doubt
    }

    /// Whether it is given to hosts.
    pub fn is_active(&self) -> bool {
        self.is_active
    }

    /// Whether it was given to hosts at some time.
    pub fn was_active(&self) -> bool {
        self.was_active
    }

    /// Whether hosts were asked to drop it, and it waits for its next turn.
    pub fn is_dropped(&self) -> bool {
        self.is_dropped
    }

    /// Whether it gave its turn up and has to rest.
    pub fn rests(&self) -> bool {
        self.rests_until.is_some()
    }

    /// Whether its rest is over, or it need not rest.
    pub fn has_rested(&self, now: Time) -> bool {
        self.rests_until.is_none_or(|until| now >= until)
    }

    /// Which hosts are asked.
    pub fn asked(&self) -> Asked {
        self.asked
    }

    /// How often it gave its turn up.
    pub fn yields(&self) -> u32 {
        self.yields
    }

    /// When this turn began.
    pub fn since(&self) -> Time {
        self.since
    }

    /// When it gives this turn up if no host has loaded it and others wait.
    pub fn patient_until(&self) -> Time {
        self.since + UNREADY_TURN_MAX
    }

    /// Which turn it is, counted from 1; 0 before the first.
    pub fn number(&self) -> u32 {
        self.number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_rests_for_longer_each_time_and_is_given_to_new_hosts_or_again_to_all() {
        let mut turn = Turn::default();
        assert_eq!((turn.was_active(), turn.begin(Time(5))), (false, (Asked::All, 1)));
        assert!(turn.is_active() && turn.was_active() && turn.is_in_doubt());
        assert_eq!((turn.since(), turn.patient_until()), (Time(5), Time(5) + UNREADY_TURN_MAX));
        let first = turn.give_up(Time(5));
        assert_eq!(first, Time(5) + UNREADY_REST_MIN);
        assert!(!turn.is_active() && turn.rests() && turn.has_rested(first) && !turn.has_rested(Time(5)));
        assert_eq!((turn.wake(), turn.wake(), turn.rests()), (Some(first), None, false));
        assert_eq!(turn.begin(first), (Asked::New, 2));
        let second = turn.give_up(first);
        assert_eq!(second, first + UNREADY_REST_MIN.saturating_mul(2).min(UNREADY_REST_MAX));
        turn.try_again();
        assert!(!turn.rests());
        assert_eq!((turn.begin(second), turn.yields()), ((Asked::Again, 3), 2));
        for _ in 0..40 {
            turn.give_up(second);
        }
        assert_eq!(turn.give_up(second), second + UNREADY_REST_MAX);
    }

    #[test]
    fn a_resumed_run_has_had_its_turns_and_begins_again() {
        let mut turn = Turn::restored(true);
        assert!(turn.was_active() && !turn.is_active() && !turn.end());
        turn.begin(Time(1));
        turn.clear_doubt();
        assert!(turn.end() && !turn.is_active() && !turn.is_in_doubt());
        turn.doubt();
        turn.give_up(Time(1));
        let mut anew = turn.anew();
        assert_eq!((anew.number(), anew.yields(), anew.rests()), (1, 0, false));
        assert!(anew.was_active() && !anew.is_in_doubt());
        assert_eq!(anew.begin(Time(9)), (Asked::All, 2));
    }
}
