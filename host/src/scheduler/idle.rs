//! Workers that find nothing: how they sleep, and how they are woken without being missed.
//!
//! A sleeper announces itself, then looks once more, then sleeps. Whoever brings work makes it
//! visible, then looks for sleepers. All four steps are sequentially consistent, so one of the two
//! always sees the other; the lock makes 'then sleeps' one step with the last look.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use parking_lot::{Condvar, Mutex};

/// Where idle workers sleep.
#[derive(Default)]
pub struct Idle {
    /// Workers that look for work and have none.
    hungry: AtomicUsize,
    sleepers: AtomicUsize,
    lock: Mutex<()>,
    woken: Condvar,
}

impl Idle {
    pub fn hungry(&self) -> usize {
        self.hungry.load(SeqCst)
    }

    pub fn begin(&self) {
        self.hungry.fetch_add(1, SeqCst);
    }

    pub fn end(&self) {
        self.hungry.fetch_sub(1, SeqCst);
    }

    /// Sleeps until woken, unless `is_work` says that there is something to do.
    pub fn sleep(&self, is_work: impl Fn() -> bool) {
        let mut guard = self.lock.lock();
        self.sleepers.fetch_add(1, SeqCst);
        if !is_work() {
            self.woken.wait(&mut guard);
        }
        self.sleepers.fetch_sub(1, SeqCst);
    }

    /// Wakes one sleeper, after work for one became visible.
    pub fn wake_one(&self) {
        if self.sleepers.load(SeqCst) > 0 {
            let _guard = self.lock.lock();
            self.woken.notify_one();
        }
    }

    /// Wakes all sleepers.
    pub fn wake_all(&self) {
        let _guard = self.lock.lock();
        self.woken.notify_all();
    }
}
