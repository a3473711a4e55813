//! What a portion does when the host's memory is used up; see `crate::memory`.

use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::time::Instant;

use sateen_protocol::message::NoteKind;

use super::{ROOT, Remote};
use crate::limits::HANDED_BACK_AFTER;
use crate::memory::HostMemory;
use crate::portion::Notice;
use crate::scheduler::job::Job;
use crate::scheduler::place::{Ancestry, Place};
use crate::scheduler::shared::Shared;

impl Shared {
    /// Whether another instance may begin.
    pub fn has_room(&self) -> bool {
        self.memory().is_none_or(|memory| memory.has_room_for(self.instance_bytes()))
    }

    /// The task that ran `job` was evicted: the job is open again.
    pub fn put_back(&self, job: &Arc<Job>, ancestry: Option<&Ancestry>) {
        let Some(remote) = &self.remote else { return };
        if let Some(ancestry) = ancestry {
            remote.note(job, ancestry, NoteKind::Lost, None);
        }
        if job.kind == ROOT {
            // It counts when it is begun again.
            remote.figures.roots.fetch_sub(1, Relaxed);
        }
        // Counted before it is open: whoever claims it counts it out.
        self.count_open();
        if job.is_aborted() || !job.put_back() {
            self.count_closed();
            self.counters.aborted.fetch_add(1, Relaxed);
            return;
        }
        remote.list_open(job);
        let is_held = job.place.as_ref().is_some_and(|place| place.held().is_some());
        if is_held { &remote.injected } else { &remote.returned }.push(job.clone());
        self.wake(job.owner);
        self.idle.wake_one();
        self.announce_exposed();
    }

    /// Whether no worker runs anything.
    pub fn is_at_rest(&self) -> bool {
        self.idle.hungry() >= self.threads()
    }

    /// There was no room, and may be some now.
    pub fn look_for_room(&self) {
        let Some(remote) = &self.remote else { return };
        self.announce_idle();
        if self.has_room() {
            *remote.crowded_since.lock() = None;
            self.idle.wake_all();
            return;
        }
        let since = *remote.crowded_since.lock().get_or_insert_with(Instant::now);
        if since.elapsed() >= HANDED_BACK_AFTER {
            *remote.crowded_since.lock() = None;
            self.hand_back(remote);
        }
    }

    /// Jobs of other hosts that wait for room go back to their owners, who may call them in place.
    fn hand_back(&self, remote: &Remote) {
        let mut roots = Vec::new();
        while let Some(job) = remote.find_injected() {
            if job.kind == ROOT {
                roots.push(job);
                continue;
            }
            let Some(held) = job.place.as_ref().and_then(Place::held) else { continue };
            if job.withdraw().is_some() {
                self.count_closed();
                remote.unlist(&job);
                // Whether its owner still wanted it: an abort may have come first.
                if remote.held.lock().remove(&held).is_some() {
                    remote.figures.held.fetch_sub(1, Relaxed);
                    remote.notify(Notice::HandedBack { held });
                }
            }
        }
        roots.into_iter().for_each(|root| remote.injected.push(root));
    }

    pub fn memory(&self) -> Option<&HostMemory> {
        self.parts.memory.as_ref()
    }

    /// An instance has ended that had so much memory.
    pub fn note_size(&self, bytes: usize) {
        // The mean of the last few; a race loses one of them.
        let mean = self.instance_bytes.load(SeqCst);
        let next = if mean == 0 { bytes } else { mean - mean / 8 + bytes / 8 };
        self.instance_bytes.store(next, SeqCst);
    }

    /// What an instance will take of memory, as far as can be told.
    fn instance_bytes(&self) -> usize {
        self.instance_bytes.load(SeqCst).max(self.app.0.memory_bytes_min)
    }
}
