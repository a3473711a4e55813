//! Deferred work of the coordinator, a bounded part in each event. An event does one chore, so that none takes long;
//! where several are due, they take turns.

use crate::Time;
use crate::limits::PING;

use super::Coordinator;
use super::slices::Slices;

/// A kind of deferred work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Chore {
    /// Slices of work that was begun.
    Slices,
    /// Pinging hosts, and renewing circles.
    Pings,
    /// Giving up hosts that are silent, or whose link is down.
    Silence,
    /// Sending hosts news about others.
    News,
}

/// The progress of the coordinator's chores.
pub struct Chores {
    /// The chore that was done last.
    last: Chore,
    /// The time of the next ping.
    next_ping: Time,
    /// The number of the last ping.
    ping: u64,
    slices: Slices,
}

impl Chores {
    /// Hosts are pinged for the first time at `ping_at`.
    pub fn new(next_ping: Time) -> Self {
        Self { last: Chore::News, next_ping, ping: 0, slices: Slices::default() }
    }

    /// When hosts are pinged next.
    pub fn next_ping(&self) -> Time {
        self.next_ping
    }

    /// The number of the ping that is due, if one is.
    pub fn begin_ping(&mut self, now: Time) -> Option<u64> {
        if now < self.next_ping {
            return None;
        }
        self.next_ping = now + PING;
        self.ping += 1;
        Some(self.ping)
    }

    /// The slices under way.
    pub fn slices(&self) -> &Slices {
        &self.slices
    }

    /// The same, to be changed.
    pub fn slices_mut(&mut self) -> &mut Slices {
        &mut self.slices
    }
}

impl Chore {
    /// The chore whose turn is next.
    fn next(self) -> Self {
        match self {
            Self::Slices => Self::Pings,
            Self::Pings => Self::Silence,
            Self::Silence => Self::News,
            Self::News => Self::Slices,
        }
    }
}

impl Coordinator {
    /// Does the due chore whose turn it is; the others follow in events of their own.
    pub(super) fn do_a_chore(&mut self, now: Time) {
        let mut chore = self.chores.last.next();
        while !self.is_due(now, chore) {
            if chore == self.chores.last {
                return;
            }
            chore = chore.next();
        }
        self.chores.last = chore;
        match chore {
            Chore::Slices => self.do_next_slice(now),
            Chore::Pings => self.ping_all(now),
            Chore::Silence => self.give_up_silent(now),
            Chore::News => self.tell_news(now),
        }
        if chore != Chore::Silence && self.is_due(now, Chore::Silence) {
            self.silence.fall_behind();
        }
    }

    fn is_due(&self, now: Time, chore: Chore) -> bool {
        let due = match chore {
            Chore::Slices => self.chores.slices.next(),
            Chore::Pings => Some(self.chores.next_ping),
            Chore::Silence => self.silence.next_check().into_iter().chain(self.silence.next_down()).min(),
            Chore::News => self.newsroom.next(),
        };
        due.is_some_and(|due| now >= due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_chore_has_its_turn() {
        let mut chore = Chore::News;
        let turns: Vec<Chore> = std::iter::repeat_with(|| {
            chore = chore.next();
            chore
        })
        .take(5)
        .collect();
        assert_eq!(turns, [Chore::Slices, Chore::Pings, Chore::Silence, Chore::News, Chore::Slices]);
    }

    #[test]
    fn pings_are_numbered_and_at_a_distance() {
        let mut chores = Chores::new(Time(5));
        assert_eq!([chores.begin_ping(Time(4)), chores.begin_ping(Time(6))], [None, Some(1)]);
        assert_eq!(chores.next_ping(), Time(6) + PING);
        assert_eq!([chores.begin_ping(Time(7)), chores.begin_ping(Time(6) + PING)], [None, Some(2)]);
    }
}
