//! What a portion does when the host's memory is used up; see `crate::memory`.

use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::time::Instant;

use sateen_protocol::message::NoteKind;

use super::{ROOT, Remote};
use crate::limits::{HANDED_BACK_AFTER, TURNED_AWAY_DOUBLINGS_MAX};
use crate::memory::HostMemory;
use crate::portion::Notice;
use crate::scheduler::job::Job;
use crate::scheduler::place::{Ancestry, Place};
use crate::scheduler::shared::Shared;

/// A time for which nothing is stolen because what was stolen found no room: its owner would wait for it in vain.
#[derive(Default)]
pub(super) struct TurnedAway {
    until: Option<Instant>,
    /// Times in a row.
    times: u32,
}

impl TurnedAway {
    fn begin(&mut self) {
        let pause = HANDED_BACK_AFTER.saturating_mul(1 << self.times.min(TURNED_AWAY_DOUBLINGS_MAX));
        self.until = Some(Instant::now() + pause);
        self.times += 1;
    }

    /// A stolen job found room until it had an outcome.
    pub fn end(&mut self) {
        self.times = 0;
    }

    fn is_on(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() < until)
    }
}

impl Shared {
    /// Whether another instance may begin.
    pub fn may_begin(&self) -> bool {
        self.memory().is_none_or(|memory| memory.may_begin(self.instance_bytes()))
    }

    /// Whether there is room for another instance.
    fn has_room(&self) -> bool {
        self.memory().is_none_or(|memory| memory.has_room_for(self.instance_bytes()))
    }

    /// Whether a job of another host would find room here, as far as can be told.
    pub fn has_room_for_others(&self, remote: &Remote) -> bool {
        let Some(memory) = self.memory() else { return true };
        let is_turned_away = remote.turned_away.lock().is_on();
        if is_turned_away {
            memory.look_again();
        }
        !is_turned_away && self.has_room()
    }

    /// The task that ran `job` was evicted: the job is open again, and goes back to the host that it came from.
    pub fn put_back(&self, job: &Arc<Job>, ancestry: Option<&Ancestry>) {
        let Some(remote) = &self.remote else { return };
        if let Some(ancestry) = ancestry {
            remote.note(job, ancestry, NoteKind::GivenBack, None);
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
        if job.place.as_ref().is_some_and(|place| place.held().is_some()) {
            // Begun here once more, it may be evicted again and again, while its owner waits for it.
            if job.kind != ROOT {
                remote.turned_away.lock().begin();
                return self.hand_back(remote, job);
            }
            remote.injected.push(job.clone());
        } else {
            remote.returned.push(job.clone());
        }
        self.wake(job.owner);
        self.idle.wake_one();
        self.announce_exposed();
    }

    /// There was no room, and may be some now.
    pub fn look_for_room(&self) {
        let Some(remote) = &self.remote else { return };
        self.announce_idle();
        if self.may_begin() {
            self.idle.wake_all();
        }
        // Not where one may begin because all stand still: it is evicted soon, and the others wait on.
        let has_room = self.has_room();
        let mut crowded_since = remote.crowded_since.lock();
        if has_room {
            *crowded_since = None;
        } else if crowded_since.get_or_insert_with(Instant::now).elapsed() >= HANDED_BACK_AFTER {
            *crowded_since = None;
            drop(crowded_since);
            self.hand_all_back(remote);
        }
    }

    /// Jobs of other hosts that wait for room go back to their owners, who may call them in place.
    fn hand_all_back(&self, remote: &Remote) {
        let mut roots = Vec::new();
        while let Some(job) = remote.find_injected() {
            if job.kind == ROOT { roots.push(job) } else { self.hand_back(remote, &job) }
        }
        roots.into_iter().for_each(|root| remote.injected.push(root));
    }

    /// An open job of another host goes back to its owner, unless somebody has claimed it.
    fn hand_back(&self, remote: &Remote, job: &Job) {
        let Some(held) = job.place.as_ref().and_then(Place::held) else { return };
        if job.withdraw().is_none() {
            return;
        }
        self.count_closed();
        remote.unlist(job);
        // Whether its owner still wanted it: an abort may have come first.
        if remote.held.lock().remove(&held).is_some() {
            remote.figures.held.fetch_sub(1, Relaxed);
            remote.notify(Notice::HandedBack { held });
        }
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
