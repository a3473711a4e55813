//! Whether guests of a portion compute, and how many of its workers need a job.

use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use sateen_protocol::host::Notice;
use sateen_protocol::limits::FINISHING_MAX;

use super::{Registry, Remote};
use crate::scheduler::activity::Doing;
use crate::scheduler::deques::own_index;

impl Remote {
    pub(super) fn begin_computing(&self) {
        self.drain.go_on();
        self.beat.begin_computing();
    }

    pub(super) fn end_computing(&self, registry: &Registry) {
        if self.beat.end_computing() {
            self.announce_drained(registry);
        }
    }

    pub fn is_computing(&self) -> bool {
        self.beat.computing() > self.pause.waiting()
    }

    /// Sleeps until guests compute, or `is_over`.
    pub fn sleep_until_computing(&self, is_over: impl Fn() -> bool) {
        self.beat.sleep_until(|| self.is_computing() || is_over());
    }

    pub fn is_draining(&self) -> bool {
        self.drain.is_on()
    }

    /// Time since this host began to leave.
    pub fn drains_for(&self) -> Option<Duration> {
        self.drain.duration()
    }

    /// Whether this host leaves and its guests have not come to rest.
    pub fn is_to_rest(&self) -> bool {
        self.drain.is_under_way()
    }

    pub fn drain(&self, registry: &Registry) {
        self.drain.begin();
        self.pause.lift();
        self.announce_idle(registry);
        registry.rouse();
        self.beat.wake();
        self.look_for_rest(registry);
    }

    /// A wait for others is limited.
    pub fn look_for_rest(&self, registry: &Registry) {
        if self.is_to_rest() && !self.is_computing() {
            self.announce_drained(registry);
        }
    }

    fn announce_drained(&self, registry: &Registry) {
        let Some(drains_for) = self.drains_for() else { return };
        let has_waited = drains_for >= FINISHING_MAX || !registry.tasks.is_unsaved();
        if has_waited && !registry.tasks.is_ready() && self.drain.end() {
            self.notify(Notice::Drained);
        }
    }

    pub fn set_paused(&self, registry: &Registry, paused: bool) {
        self.pause.set(paused);
        self.announce_idle(registry);
        if paused {
            registry.ring();
        } else {
            self.beat.wake();
            registry.idle.wake_all();
        }
    }

    /// Sets this worker's activity; returns the previous one.
    pub fn begin_doing(&self, doing: Doing) -> Doing {
        self.activity.begin(own_index().unwrap_or(usize::MAX), doing)
    }

    /// Notes why this worker has nothing to do.
    pub(super) fn note_rest(&self, registry: &Registry) {
        self.begin_doing(if registry.is_paused() {
            Doing::Nothing
        } else if registry.tasks.count() > self.beat.computing() {
            Doing::Wait
        } else {
            Doing::Steal
        });
    }

    /// A worker begins its sleep,
    pub(super) fn begin_sleep(&self, registry: &Registry) {
        self.resting.begin();
        if self.thieves.may_have_spare.swap(false, SeqCst) {
            (self.thieves.reclaim)();
        }
        self.announce_idle(registry);
    }

    /// and ends it.
    pub(super) fn end_sleep(&self, registry: &Registry) {
        self.resting.end();
        if self.is_injected() {
            // The driver counts on it, and is woken once: when the job has begun.
            self.announce(registry, |notice| self.notices.notify_with_next(notice));
        } else {
            self.announce_idle(registry);
        }
    }

    /// Notifies the driver how many workers need a job, if that has changed.
    pub(super) fn announce_idle(&self, registry: &Registry) {
        self.announce(registry, |notice| self.notify(notice));
    }

    fn announce(&self, registry: &Registry, notify: impl FnOnce(Notice)) {
        let is_willing = || {
            !self.is_draining()
                && !self.pause.is_on()
                && !registry.is_stopping()
                && registry.instances.free() > registry.reserve()
                && self.has_room_for_others(registry)
        };
        self.resting.announce(is_willing, |level| notify(Notice::Idle(level)));
    }
}
