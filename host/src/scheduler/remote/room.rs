//! Reactions of a portion when the host's memory is used up; see `crate::memory`.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use sateen_protocol::host::Notice;
use sateen_protocol::message::NoteKind;

use super::{Registry, Remote};
use crate::memory;
use crate::scheduler::job::{Job, ROOT};
use crate::scheduler::place::{Ancestry, Place};
use crate::scheduler::tasks::TaskId;

impl Remote {
    /// Whether a job of another host would probably find room here.
    pub(super) fn has_room_for_others(&self, registry: &Registry) -> bool {
        let Some(memory) = registry.room.memory() else { return true };
        let is_turned_away = self.crowding.turns_away();
        if is_turned_away {
            memory.look_again();
        }
        !is_turned_away && registry.room.is_left()
    }

    /// The task that ran `job` was evicted, or did not hear of a pause: the job is open again, and goes back to the host that
    /// it came from.
    pub(super) fn put_back(&self, registry: &Registry, job: &Arc<Job>, ancestry: Option<&Ancestry>) {
        if let Some(ancestry) = ancestry {
            self.note(job, ancestry, NoteKind::GivenBack, None);
        }
        if job.kind == ROOT {
            // It counts when it begins again.
            self.figures.roots.fetch_sub(1, Relaxed);
        }
        // The job is counted before it is open, because the worker that claims it subtracts it from the count.
        registry.count_open();
        if job.is_aborted() || !job.put_back() {
            registry.count_closed();
            registry.counters.aborted.fetch_add(1, Relaxed);
            return;
        }
        self.list_open(job);
        if job.place.as_ref().is_some_and(|place| place.held().is_some()) {
            // If it began here once more, it could be evicted again and again while its owner waits for it.
            if job.kind != ROOT {
                if !registry.is_paused() {
                    self.crowding.turn_away();
                }
                return self.hand_back(registry, job);
            }
            self.open.injected.push(job.clone());
        } else {
            self.open.returned.push(job.clone());
        }
        registry.tasks.wake(job.owner);
        registry.idle.wake_one();
        self.announce_exposed();
    }

    /// There was no room, and may be some now.
    fn look_for_room(&self, registry: &Registry) {
        self.announce_idle(registry);
        if registry.room.may_begin() {
            registry.idle.wake_all();
        }
        // Asks for real room: a job that may begin only because all instances stand still would be evicted soon, and the
        // others would still wait.
        if self.crowding.is_over(registry.room.is_left()) {
            self.hand_all_back(registry);
        }
    }

    /// Jobs of other hosts that wait for room go back to their owners, which may call them in place.
    fn hand_all_back(&self, registry: &Registry) {
        let mut roots = Vec::new();
        while let Some(job) = self.find_injected() {
            if job.kind == ROOT { roots.push(job) } else { self.hand_back(registry, &job) }
        }
        roots.into_iter().for_each(|root| self.open.injected.push(root));
    }

    /// An open job of another host goes back to its owner, unless it was claimed.
    fn hand_back(&self, registry: &Registry, job: &Job) {
        let Some(held) = job.place.as_ref().and_then(Place::held) else { return };
        if job.withdraw().is_none() {
            return;
        }
        registry.count_closed();
        self.unlist(job);
        // If an abort came first, its owner no longer wants it.
        if self.held.lock().remove(&held).is_some() {
            self.figures.held.fetch_sub(1, Relaxed);
            self.notify(Notice::HandedBack { held });
        } else {
            registry.counters.aborted.fetch_add(1, Relaxed);
        }
    }
}

impl memory::Run for Registry {
    fn wake(&self, task: TaskId) {
        self.tasks.wake(task);
        self.rouse();
    }

    fn look_for_room(&self) {
        if let Some(remote) = &self.grid {
            remote.look_for_room(self);
        }
    }
}
