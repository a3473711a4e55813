//! How long jobs of other hosts have found no room in this host's memory.

use std::time::Instant;

use parking_lot::Mutex;

use crate::limits::{HANDED_BACK_AFTER, TURNED_AWAY_DOUBLINGS_MAX};

/// Jobs of other hosts that find no room.
#[derive(Default)]
pub struct Crowding {
    /// The time since which they wait for memory.
    since: Mutex<Option<Instant>>,
    turned_away: Mutex<TurnedAway>,
}

/// A time without steals after a stolen job found no room: owners of further jobs would wait in vain.
#[derive(Default)]
struct TurnedAway {
    until: Option<Instant>,
    /// The number of jobs in a row that found no room.
    times: u32,
}

impl Crowding {
    /// Whether there has been no room for so long that waiting jobs go back; returns true once. `has_room` says whether
    /// there is room now.
    pub fn is_over(&self, has_room: bool) -> bool {
        let mut since = self.since.lock();
        if has_room {
            *since = None;
            return false;
        }
        let is_over = since.get_or_insert_with(Instant::now).elapsed() >= HANDED_BACK_AFTER;
        if is_over {
            *since = None;
        }
        is_over
    }

    /// A stolen job found no room.
    pub fn turn_away(&self) {
        let mut turned_away = self.turned_away.lock();
        let pause = HANDED_BACK_AFTER.saturating_mul(1 << turned_away.times.min(TURNED_AWAY_DOUBLINGS_MAX));
        turned_away.until = Some(Instant::now() + pause);
        turned_away.times += 1;
    }

    /// A stolen job found room until it had an outcome.
    pub fn forget_turned_away(&self) {
        self.turned_away.lock().times = 0;
    }

    /// Whether this host must not steal for now.
    pub fn turns_away(&self) -> bool {
        self.turned_away.lock().until.is_some_and(|until| Instant::now() < until)
    }
}
