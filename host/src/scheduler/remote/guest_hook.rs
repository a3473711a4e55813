//! The interface of guests to other hosts; it does nothing in a run on this host alone.

use std::sync::Arc;
use std::time::Duration;

use sateen_protocol::host::Notice;
use sateen_protocol::message::NoteKind;
use sateen_protocol::shared::ObjectId;
use sateen_protocol::{HeldId, JobTag};

use super::{Registry, Remote};
use crate::scheduler::deques::own_index;
use crate::scheduler::guest_grid::GuestGrid;
use crate::scheduler::job::Job;
use crate::scheduler::keys::Keys;
use crate::scheduler::objects::Object;
use crate::scheduler::place::Ancestry;

impl GuestGrid for Option<Remote> {
    fn record_every(&self) -> Option<Duration> {
        self.as_ref()?.recording.every
    }

    fn keeps_results(&self) -> bool {
        self.as_ref().is_some_and(|remote| remote.recording.keeps_all)
    }

    fn keys(&self) -> Option<&Arc<Keys>> {
        self.as_ref().map(|remote| &remote.keys)
    }

    fn looks_up(&self) -> bool {
        self.as_ref().is_some_and(|remote| remote.lookups.are_on())
    }

    fn is_lookup_possible(&self) -> bool {
        self.as_ref().is_some_and(Remote::is_lookup_possible)
    }

    fn may_find(&self, kind: usize, parameters: &[u8], objects: &[Arc<Object>]) -> bool {
        self.as_ref().is_some_and(|remote| remote.may_find(kind, parameters, objects))
    }

    fn look_up(registry: &Registry, job: Job) -> Arc<Job> {
        if let Some(remote) = &registry.grid {
            return remote.look_up(registry, job);
        }
        let job = Arc::new(job);
        registry.expose(job.clone());
        job
    }

    fn was_begun(&self, is_lost: bool, tag: impl FnOnce() -> JobTag) -> bool {
        self.as_ref().is_some_and(|remote| remote.was_begun(is_lost, tag))
    }

    fn was_given_back(&self, ancestry: &Ancestry) -> bool {
        self.as_ref().is_some_and(|remote| remote.was_given_back(ancestry))
    }

    fn note(&self, job: &Job, ancestry: &Ancestry, what: NoteKind, parameters: Option<&[u8]>) {
        if let Some(remote) = self {
            remote.note(job, ancestry, what, parameters);
        }
    }

    fn announce_begun(&self, held: HeldId) {
        if let Some(remote) = self {
            let worker = own_index().and_then(|worker| u32::try_from(worker).ok()).unwrap_or(0);
            remote.notices.notify_begun(Notice::Begun { held, worker, late_ns: 0 });
        }
    }

    fn refetch_objects(&self, held: HeldId, objects: &[ObjectId]) {
        if let Some(remote) = self {
            remote.refetch_objects(held, objects);
        }
    }

    fn drains_for(&self) -> Option<Duration> {
        self.as_ref()?.drains_for()
    }

    fn wait_for_pause(&self, is_over: impl Fn() -> bool) {
        if let Some(remote) = self {
            remote.pause.wait(is_over);
        }
    }
}
