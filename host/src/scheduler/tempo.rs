//! The interval of heartbeats: every millisecond while a worker waits for a job of a guest or guests must be
//! notified, every fourth otherwise.
//!
//! A beat costs more than the work done in it: the clock's thread takes a core from a worker for a moment, which
//! on rented machines takes the hypervisor's time as well, and each guest leaves its code. If every core is at
//! work, a quarter of the beats saves two percent of a run.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use std::time::Duration;

use super::signals::Signals;

/// Length of a quick beat.
pub const BEAT: Duration = Duration::from_millis(1);
/// Time from one beat to the next when there is haste, in quick beats.
const QUICK: u64 = 1;
/// The same when there is no haste. A guest is notified within this time of anything that is not urgent.
pub const CALM: u64 = 4;
/// Beats become calm after this many beats without haste.
const CALM_AFTER: u32 = 8;

/// The beats of one run so far, and the guests that have them.
pub struct Tempo {
    /// The time so far, in quick beats.
    beats: AtomicU64,
    /// Whether guests must be notified soon.
    is_hasty: AtomicBool,
    pub signals: Signals,
}

impl Tempo {
    /// Before the first beat of a run with this number of workers.
    pub fn new(threads: usize) -> Self {
        Self { beats: AtomicU64::new(0), is_hasty: AtomicBool::new(false), signals: Signals::new(threads) }
    }

    /// The time so far, in quick beats.
    pub fn beats(&self) -> u64 {
        self.beats.load(Relaxed)
    }

    /// Adds this many quick beats.
    pub fn count(&self, beats: u64) {
        self.beats.fetch_add(beats, Relaxed);
    }

    /// Guests must be notified soon; returns whether this is new since the last beat.
    pub fn make_haste(&self) -> bool {
        !self.is_hasty.swap(true, SeqCst)
    }

    /// Whether there was haste since the last beat.
    pub fn take_haste(&self) -> bool {
        self.is_hasty.swap(false, SeqCst)
    }
}

/// The time from one beat to the next.
#[derive(Default)]
pub struct Rhythm {
    /// Beats without haste.
    calm: u32,
}

impl Rhythm {
    /// Quick beats until the next.
    pub fn next(&mut self, is_hasty: bool) -> u64 {
        self.calm = if is_hasty { 0 } else { self.calm.saturating_add(1) };
        if self.calm < CALM_AFTER { QUICK } else { CALM }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beats_are_quick_at_first_and_after_haste_and_then_calm() {
        let mut rhythm = Rhythm::default();
        for is_hasty in [false, true, true] {
            let first = [is_hasty].into_iter().chain(std::iter::repeat_n(false, CALM_AFTER as usize - 2));
            for is_hasty in first {
                assert_eq!(rhythm.next(is_hasty), QUICK);
            }
            // After haste there is one more: the hasty one does not count.
            if is_hasty {
                assert_eq!(rhythm.next(false), QUICK);
            }
            assert_eq!([rhythm.next(false), rhythm.next(false)], [CALM; 2]);
        }
    }
}
