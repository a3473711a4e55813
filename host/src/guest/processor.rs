//! The processor time of a thread.
//!
//! Reading it takes a system call, which costs as much as a short job takes. So a reading is good for a moment, to which
//! the wall clock adds: a thread that was preempted has been away for longer than that.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// How long a reading is good.
const FRESH: Duration = Duration::from_micros(50);

thread_local! {
    /// The last reading of this thread.
    static LAST: Cell<Option<(Instant, Duration)>> = const { Cell::new(None) };
}

/// The processor time of this thread, and the time at which it was read.
pub fn read() -> (Instant, Duration) {
    let now = Instant::now();
    if let Some((at, processor)) = LAST.get()
        && now - at < FRESH
    {
        return (now, processor + (now - at));
    }
    let processor = ask();
    LAST.set(Some((now, processor)));
    (now, processor)
}

/// This thread has slept: the wall clock says nothing of its processor time.
pub fn forget() {
    LAST.set(None);
}

#[cfg(unix)]
fn ask() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let part = |value| u64::try_from(value).unwrap_or(0);
    Duration::from_secs(part(time.tv_sec)) + Duration::from_nanos(part(time.tv_nsec))
}

/// On other systems, wall-clock time.
#[cfg(not(unix))]
fn ask() -> Duration {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn readings_are_exact_but_for_moments() {
        let before = ask();
        let mut last = Duration::ZERO;
        let started = Instant::now();
        while started.elapsed() < Duration::from_millis(20) {
            (_, last) = read();
        }
        assert!(last >= before && last <= ask() + FRESH, "{last:?}");
        std::thread::sleep(2 * FRESH);
        assert!(read().1 <= ask(), "a sleep of more than a moment does not count");
        std::thread::sleep(FRESH / 10);
        forget();
        assert!(read().1 <= ask(), "nor does a shorter one that is known");
    }
}
