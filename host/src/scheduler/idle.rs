//! Workers that find no work: how they sleep, and how they are woken.
//!
//! # No wake-up is lost
//!
//! A worker that falls asleep takes three steps, all of them under the lock:
//!
//! - S1: it adds itself to `sleepers`;
//! - S2: it looks for work once more (`is_work`);
//! - S3: if there is none, it waits on `woken`, which releases the lock.
//!
//! A thread that adds work takes three steps as well:
//!
//! - W1: it makes the work visible to `is_work`;
//! - W2: it reads `sleepers`;
//! - W3: unless that is zero, it takes the lock and notifies one sleeper.
//!
//! *Claim.* If a worker falls asleep in S3 although W1 has happened or happens, some sleeper is notified after W1.
//!
//! *Proof.* S1, S2, W1 and W2 are sequentially consistent, so they have one order that all threads agree on. In it, W2 comes
//! before S1 or after it.
//!
//! - W2 before S1: then W1, W2, S1, S2 is the order. S2 comes after W1 and sees the work, so the worker does not
//!   sleep.
//! - S1 before W2: then W2 reads at least one, and W3 takes the lock. The worker holds the lock from before S1 until it waits
//!   or has seen the work. If it waits, W3 happens while it waits, since the lock is free only then. So `woken` has at least
//!   one waiting worker, and the notification reaches one of them. ∎
//!
//! The worker that is notified may be another one than the last to fall asleep. It looks for work itself and takes it, so
//! one notification for each piece of work is enough. If a third worker has taken the work meanwhile, the one that was woken
//! finds nothing and falls asleep again in the same three steps.
//!
//! # What the proof requires of other code
//!
//! - Everything that `is_work` reads is written before W1 ends, with sequential consistency: the counts of open jobs, of free
//!   instances and of tasks, the queues, which are crossbeam's injectors, and the flags for a pause and for the run's end.
//! - Code that makes `is_work` true for several workers at once (the end of a pause or of the run) calls
//!   [`Idle::wake_all`], which takes the lock whether it sees sleepers or not.
//!
//! A worker is *hungry* from [`Idle::begin`] to [`Idle::end`], asleep or not. Guests are asked to expose jobs while there
//! are more hungry workers than open jobs, so a worker is counted before it looks for work: a guest that polls in between
//! exposes a job too many, never one too few.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use parking_lot::{Condvar, Mutex};

/// Where idle workers sleep.
#[derive(Default)]
pub struct Idle {
    /// Number of workers that look for work and have none.
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

    /// Wakes one sleeper, after work for one worker became visible.
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
