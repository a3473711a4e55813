//! A pause: guests stop at their heartbeat, and their threads sleep.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

use parking_lot::{Condvar, Mutex};

/// Whether there is a pause, and the condition on which guests wait for its end.
#[derive(Default)]
pub struct Pause {
    on: AtomicBool,
    /// Whether it has no effect any more.
    lifted: AtomicBool,
    waiting: AtomicUsize,
    lock: Mutex<()>,
    changed: Condvar,
}

impl Pause {
    pub fn is_on(&self) -> bool {
        self.on.load(SeqCst) && !self.lifted.load(SeqCst)
    }

    /// From now on, guests compute: the host hands over their jobs, and they must come to rest.
    pub fn lift(&self) {
        self.lifted.store(true, SeqCst);
        self.look_again();
    }

    pub fn set(&self, on: bool) {
        self.on.store(on, SeqCst);
        self.look_again();
    }

    /// Makes waiting guests check whether they must still wait.
    pub fn look_again(&self) {
        let _guard = self.lock.lock();
        self.changed.notify_all();
    }

    /// The number of guests that wait.
    pub fn waiting(&self) -> usize {
        self.waiting.load(SeqCst)
    }

    /// Sleeps until the pause ends, or `is_over`.
    pub fn wait(&self, is_over: impl Fn() -> bool) {
        let mut guard = self.lock.lock();
        self.waiting.fetch_add(1, SeqCst);
        while self.is_on() && !is_over() {
            self.changed.wait(&mut guard);
        }
        self.waiting.fetch_sub(1, SeqCst);
    }
}
