//! Whether guests of a portion compute, and how many of its workers could do with a job.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::time::Instant;

use parking_lot::{Condvar, Mutex};
use sateen_protocol::limits::FINISHING_MAX;

use super::Remote;
use crate::portion::Notice;
use crate::scheduler::shared::Shared;

/// Whether guests compute, so that the heartbeat may sleep when none does.
#[derive(Default)]
pub(super) struct Beat {
    computing: AtomicUsize,
    sleeps: AtomicBool,
    lock: Mutex<()>,
    woken: Condvar,
}

impl Remote {
    pub fn begin_computing(&self) {
        self.drained.store(false, SeqCst);
        if self.beat.computing.fetch_add(1, SeqCst) == 0 && self.beat.sleeps.load(SeqCst) {
            self.wake_beat();
        }
    }

    /// True when nobody computes any more.
    pub fn end_computing(&self) -> bool {
        self.beat.computing.fetch_sub(1, SeqCst) == 1
    }

    /// Workers that compute.
    pub fn computing(&self) -> usize {
        self.beat.computing.load(SeqCst)
    }

    pub fn is_computing(&self) -> bool {
        self.beat.computing.load(SeqCst) > self.pause.waiting()
    }

    pub fn wake_beat(&self) {
        let _guard = self.beat.lock.lock();
        self.beat.woken.notify_all();
    }

    /// Whether guests have not come to rest, of a host that leaves.
    pub fn is_to_rest(&self) -> bool {
        self.is_draining() && !self.drained.load(SeqCst)
    }

    /// Sleeps until guests compute, or `is_over`.
    pub fn sleep_until_computing(&self, is_over: impl Fn() -> bool) {
        let mut guard = self.beat.lock.lock();
        self.beat.sleeps.store(true, SeqCst);
        while !self.is_computing() && !is_over() {
            self.beat.woken.wait(&mut guard);
        }
        self.beat.sleeps.store(false, SeqCst);
    }
}

impl Shared {
    pub fn drain(&self, remote: &Remote) {
        remote.drains_since.get_or_init(Instant::now);
        remote.draining.store(true, SeqCst);
        self.announce_idle();
        self.rouse();
        remote.wake_beat();
        self.look_for_rest(remote);
    }

    /// Whoever waits for others does not for ever.
    pub fn look_for_rest(&self, remote: &Remote) {
        if remote.is_to_rest() && !remote.is_computing() {
            self.announce_drained(remote);
        }
    }

    fn announce_drained(&self, remote: &Remote) {
        let Some(drains_for) = remote.drains_for() else { return };
        let has_waited = drains_for >= FINISHING_MAX || !self.is_unsaved();
        if has_waited && !self.is_ready() && !remote.drained.swap(true, SeqCst) {
            remote.notify(Notice::Drained);
        }
    }

    /// Around all that a worker does for guests.
    pub fn end_computing(&self, remote: &Remote) {
        if remote.end_computing() {
            self.announce_drained(remote);
        }
    }

    pub fn set_paused(&self, remote: &Remote, paused: bool) {
        remote.pause.set(paused);
        self.announce_idle();
        if paused {
            self.move_epoch();
        } else {
            remote.wake_beat();
            self.idle.wake_all();
        }
    }

    /// A worker begins or ends its rest.
    pub fn rest_begins(&self) {
        if let Some(remote) = &self.remote {
            remote.resting.fetch_add(1, SeqCst);
            self.announce_idle();
        }
    }

    pub fn rest_ends(&self) {
        if let Some(remote) = &self.remote {
            remote.resting.fetch_sub(1, SeqCst);
            self.announce_idle();
        }
    }

    /// Tells the driver how many workers could do with a job, if that has changed.
    pub fn announce_idle(&self) {
        let Some(remote) = &self.remote else { return };
        let mut announced = remote.announced.lock();
        let is_willing = !remote.is_draining()
            && !remote.pause.is_on()
            && !self.is_stopping()
            && self.instances.free() > self.reserve()
            && self.has_room_for_others(remote);
        let level = if is_willing { remote.resting.load(SeqCst) } else { 0 };
        if *announced != level {
            *announced = level;
            remote.notify(Notice::Idle(level));
        }
    }
}
