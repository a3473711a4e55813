//! A clock that leaves out the time for which this process was stopped. Rust's clock leaves out the time for which the
//! machine slept on most systems, but not that after a SIGSTOP: workers would seem to have computed all the while.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::guest::processor;

/// A process that has not ticked for this long, in microseconds, may have been stopped.
const GAP_US_MIN: u64 = 1_000_000;
/// A process that was stopped used less than one eighth of a processor in that time. If it used more, it ran, and only the
/// thread that ticks had to wait.
const USED_PARTS: u64 = 8;
/// A tick that follows another sooner than this, in microseconds, does nothing: reading the processor time takes a system
/// call.
const TICK_US: u64 = 50_000;

/// Microseconds since its start.
pub struct Awake {
    started: Instant,
    /// When it last ticked, stops included.
    ticked_us: AtomicU64,
    stopped_us: AtomicU64,
    /// The process's processor time at the last tick.
    processor: Mutex<Duration>,
}

impl Awake {
    pub fn start() -> Self {
        Self {
            started: Instant::now(),
            ticked_us: AtomicU64::new(0),
            stopped_us: AtomicU64::new(0),
            processor: Mutex::new(processor::of_process()),
        }
    }

    /// Microseconds since the start for which the process was not stopped.
    pub fn now(&self) -> u64 {
        self.at(self.elapsed_us(), GAP_US_MIN, processor::of_process)
    }

    /// Must be called several times a second while workers compute.
    pub fn tick(&self) {
        self.at(self.elapsed_us(), TICK_US, processor::of_process);
    }

    fn elapsed_us(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// Ticks if the last tick was at least `after_us` ago.
    fn at(&self, elapsed_us: u64, after_us: u64, used: impl FnOnce() -> Duration) -> u64 {
        let since_tick = || elapsed_us.saturating_sub(self.ticked_us.load(SeqCst));
        if since_tick() >= after_us {
            let mut before = self.processor.lock();
            // Another thread may have been faster.
            let gap_us = since_tick();
            if gap_us >= after_us {
                let now = used();
                let used_us = u64::try_from(now.saturating_sub(*before).as_micros()).unwrap_or(u64::MAX);
                if gap_us >= GAP_US_MIN && used_us <= gap_us / USED_PARTS {
                    self.stopped_us.fetch_add(gap_us - used_us, SeqCst);
                }
                *before = now;
                self.ticked_us.store(elapsed_us, SeqCst);
            }
        }
        elapsed_us.saturating_sub(self.stopped_us.load(SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000;

    #[test]
    fn the_time_of_a_stop_is_left_out() {
        let clock = Awake::start();
        *clock.processor.lock() = Duration::ZERO;
        let used_ms = Duration::from_millis;
        assert_eq!(clock.at(S / 2, TICK_US, || used_ms(500)), S / 2);
        // A thread that ticks had to wait, while others computed.
        assert_eq!(clock.at(3 * S, TICK_US, || used_ms(2_000)), 3 * S);
        assert_eq!(clock.at(3 * S + S / 2, GAP_US_MIN, || unreachable!()), 3 * S + S / 2);
        // It was stopped for eight seconds, half a second after the last tick.
        assert_eq!(clock.at(12 * S, GAP_US_MIN, || used_ms(2_500)), 3 * S + S / 2);
        assert_eq!(clock.at(12 * S, GAP_US_MIN, || unreachable!()), 3 * S + S / 2);
        assert_eq!(clock.at(13 * S, TICK_US, || used_ms(3_500)), 4 * S + S / 2);
        // A short gap is none.
        assert_eq!(clock.at(13 * S + S / 2, TICK_US, || used_ms(3_500)), 5 * S);
    }
}
