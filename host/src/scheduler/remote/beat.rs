//! The state of a portion's workers, for its heartbeat and its driver: whether they compute, sleep, or have come to
//! rest before their host leaves.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

/// Whether guests compute; if none does, the heartbeat may sleep.
#[derive(Default)]
pub struct Beat {
    computing: AtomicUsize,
    sleeps: AtomicBool,
    lock: Mutex<()>,
    woken: Condvar,
}

impl Beat {
    /// A worker computes.
    pub fn begin_computing(&self) {
        if self.computing.fetch_add(1, SeqCst) == 0 && self.sleeps.load(SeqCst) {
            self.wake();
        }
    }

    /// True if no worker computes any more.
    pub fn end_computing(&self) -> bool {
        self.computing.fetch_sub(1, SeqCst) == 1
    }

    /// Workers that compute.
    pub fn computing(&self) -> usize {
        self.computing.load(SeqCst)
    }

    pub fn wake(&self) {
        let _guard = self.lock.lock();
        self.woken.notify_all();
    }

    /// Sleeps until `is_due`.
    pub fn sleep_until(&self, is_due: impl Fn() -> bool) {
        let mut guard = self.lock.lock();
        self.sleeps.store(true, SeqCst);
        while !is_due() {
            self.woken.wait(&mut guard);
        }
        self.sleeps.store(false, SeqCst);
    }
}

/// Whether this host is about to leave, and whether its guests have come to rest.
#[derive(Default)]
pub struct Drain {
    is_on: AtomicBool,
    since: OnceLock<Instant>,
    is_done: AtomicBool,
}

impl Drain {
    pub fn begin(&self) {
        self.since.get_or_init(Instant::now);
        self.is_on.store(true, SeqCst);
    }

    pub fn is_on(&self) -> bool {
        self.is_on.load(SeqCst)
    }

    /// Time since this host began to leave.
    pub fn duration(&self) -> Option<Duration> {
        self.since.get().map(Instant::elapsed)
    }

    /// Notes that guests have come to rest. Returns whether this is new.
    pub fn end(&self) -> bool {
        !self.is_done.swap(true, SeqCst)
    }

    /// A guest may compute again.
    pub fn go_on(&self) {
        self.is_done.store(false, SeqCst);
    }

    /// Whether this host leaves and its guests have not come to rest.
    pub fn is_under_way(&self) -> bool {
        self.is_on() && !self.is_done.load(SeqCst)
    }
}

/// Workers that sleep, and the last announced number of workers that need a job.
#[derive(Default)]
pub struct Resting {
    workers: AtomicUsize,
    announced: Mutex<usize>,
}

impl Resting {
    /// A worker begins its sleep.
    pub fn begin(&self) {
        self.workers.fetch_add(1, SeqCst);
    }

    pub fn end(&self) {
        self.workers.fetch_sub(1, SeqCst);
    }

    /// Announces the number if it has changed: that of all sleeping workers, or 0 unless `is_willing`.
    pub fn announce(&self, is_willing: impl FnOnce() -> bool, announce: impl FnOnce(usize)) {
        let mut announced = self.announced.lock();
        let level = if is_willing() { self.workers.load(SeqCst) } else { 0 };
        if *announced != level {
            *announced = level;
            announce(level);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_announced_when_it_changes() {
        let resting = Resting::default();
        let announced = |is_willing: bool| {
            let mut said = None;
            resting.announce(|| is_willing, |level| said = Some(level));
            said
        };
        assert_eq!(announced(true), None);
        resting.begin();
        resting.begin();
        assert_eq!((announced(true), announced(true)), (Some(2), None));
        assert_eq!((announced(false), announced(false)), (Some(0), None));
        resting.end();
        assert_eq!(announced(true), Some(1));
    }

    #[test]
    fn a_drain_is_done_when_guests_rest_and_not_when_they_continue() {
        let drain = Drain::default();
        assert!(!drain.is_under_way() && drain.duration().is_none());
        drain.begin();
        assert!(drain.is_under_way() && drain.duration().is_some());
        assert!(drain.end() && !drain.end() && !drain.is_under_way());
        drain.go_on();
        assert!(drain.is_under_way() && drain.end());
    }
}
