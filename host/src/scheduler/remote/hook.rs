//! The interface of local scheduling to other hosts; it does nothing in a run on this host alone.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use sateen_protocol::Bytes;
use sateen_protocol::host::Notice;
use sateen_protocol::message::NoteKind;
use sateen_protocol::shared::NewBase;

use super::away::GivenUp;
use super::{Registry, Remote};
use crate::failure::{JobFailure, Stop};
use crate::scheduler::activity::{Activity, Doing};
use crate::scheduler::deques::own_index;
use crate::scheduler::figures::{Counters, GridCounts};
use crate::scheduler::job::{Job, Outcome};
use crate::scheduler::objects::{Closed, Object};
use crate::scheduler::place::Ancestry;
use crate::scheduler::registry::Grid;

impl Grid for Option<Remote> {
    fn has_hosts(&self) -> bool {
        self.is_some()
    }

    fn thieves(&self) -> usize {
        self.as_ref().map_or(0, Remote::thieves)
    }

    fn is_draining(&self) -> bool {
        self.as_ref().is_some_and(Remote::is_draining)
    }

    fn is_at_rest(&self) -> bool {
        self.as_ref().is_some_and(|remote| remote.is_draining() && !remote.is_to_rest())
    }

    fn is_paused(&self) -> bool {
        self.as_ref().is_some_and(|remote| remote.pause.is_on())
    }

    fn is_injected(&self) -> bool {
        self.as_ref().is_some_and(Remote::is_injected)
    }

    fn find_injected(&self) -> Option<Arc<Job>> {
        self.as_ref()?.find_injected()
    }

    fn find_returned(&self) -> Option<Arc<Job>> {
        self.as_ref()?.find_returned()
    }

    fn list_open(&self, job: &Arc<Job>) {
        if let Some(remote) = self {
            remote.note_asked(job);
            remote.list_open(job);
        }
    }

    fn announce_exposed(&self) {
        if let Some(remote) = self {
            remote.announce_exposed();
        }
    }

    fn unlist(&self, job: &Job) {
        if let Some(remote) = self {
            remote.unlist(job);
        }
    }

    fn ask_first(registry: &Registry, job: &Arc<Job>) -> bool {
        registry.grid.as_ref().is_some_and(|remote| remote.ask_first(registry, job))
    }

    fn give_up(&self, counters: &Counters, job: &Job) -> bool {
        let given_up = self.as_ref().and_then(|remote| remote.give_up(job));
        if given_up == Some(GivenUp::LookedUp) {
            counters.aborted.fetch_add(1, Relaxed);
        }
        given_up.is_some()
    }

    fn begin(&self, job: &Job, parameters: &[u8]) -> Option<(Ancestry, bool)> {
        let (remote, place) = (self.as_ref()?, job.place.as_ref()?);
        let ancestry = place.ancestry(|| remote.key(job.kind, parameters, &job.objects));
        let worker = own_index().and_then(|worker| u32::try_from(worker).ok()).unwrap_or(0);
        let begun = NoteKind::Begun { victim: None, redone: ancestry.redone && !ancestry.given_back, worker };
        remote.note(job, &ancestry, begun, Some(parameters));
        let repeats = remote.count_begun(job, &ancestry) && !ancestry.given_back;
        Some((ancestry, repeats))
    }

    fn note_end(&self, job: &Job, ancestry: &Ancestry, what: NoteKind) {
        if let Some(remote) = self {
            remote.note(job, ancestry, what, None);
        }
    }

    fn deliver(
        registry: &Registry,
        job: &Job,
        ancestry: Option<&Ancestry>,
        outcome: Outcome,
    ) -> Option<Outcome> {
        match &registry.grid {
            Some(remote) => remote.deliver(registry, job, ancestry, outcome),
            None => Some(outcome),
        }
    }

    fn flush(&self) {
        if let Some(remote) = self {
            remote.notices.flush();
        }
    }

    fn put_back(registry: &Registry, job: &Arc<Job>, ancestry: Option<&Ancestry>) {
        if let Some(remote) = &registry.grid {
            remote.put_back(registry, job, ancestry);
        }
    }

    fn activity(&self) -> Option<&Arc<Activity>> {
        self.as_ref().map(|remote| &remote.activity)
    }

    fn begin_doing(&self, doing: Doing) -> Option<Doing> {
        self.as_ref().map(|remote| remote.begin_doing(doing))
    }

    fn begin_computing(&self) {
        if let Some(remote) = self {
            remote.begin_computing();
        }
    }

    fn end_computing(registry: &Registry) {
        if let Some(remote) = &registry.grid {
            remote.end_computing(registry);
        }
    }

    fn note_rest(registry: &Registry) {
        if let Some(remote) = &registry.grid {
            remote.note_rest(registry);
        }
    }

    fn begin_sleep(registry: &Registry) {
        if let Some(remote) = &registry.grid {
            remote.begin_sleep(registry);
        }
    }

    fn end_sleep(registry: &Registry) {
        if let Some(remote) = &registry.grid {
            remote.end_sleep(registry);
        }
    }

    fn announce_idle(registry: &Registry) {
        if let Some(remote) = &registry.grid {
            remote.announce_idle(registry);
        }
    }

    fn look_again(&self) {
        if let Some(remote) = self {
            remote.pause.look_again();
        }
    }

    fn create_object(&self, object: &Object, initial: Bytes) {
        if let Some(remote) = self {
            remote.notify(Notice::Shared { object: object.id, place: object.place, initial });
        }
    }

    fn open_object(&self, object: &Object) {
        if let Some(remote) = self {
            remote.notify(Notice::Opened { object: object.id, place: object.place });
        }
    }

    fn update_object(&self, object: &Object, update: Bytes) -> bool {
        let Some(remote) = self else { return false };
        remote.notify(Notice::Updated { object: object.id, bytes: update });
        true
    }

    fn rebase_object(&self, object: &Object, new: NewBase) {
        if let Some(remote) = self {
            remote.notify(Notice::Based { object: object.id, new });
        }
    }

    fn closed_objects(&self) -> Option<Closed> {
        let notices = self.as_ref()?.notices.clone();
        Some(Box::new(move |object| notices.notify(Notice::Closed { object })))
    }

    fn report_progress(&self, done: u64, total: u64) {
        if let Some(remote) = self {
            remote.notify(Notice::Progress(done, total));
        }
    }

    fn counts(&self, open: usize) -> GridCounts {
        let Some(remote) = self else { return GridCounts { unbegun: open as u64, ..GridCounts::LOCAL } };
        let figures = &remote.figures;
        GridCounts {
            roots: figures.roots.load(Relaxed),
            held: figures.held.load(Relaxed),
            away: figures.away.load(Relaxed),
            reused: figures.reused.load(Relaxed),
            redone: figures.redone.load(Relaxed),
            unbegun: (open + remote.away_count()) as u64,
        }
    }

    /// The run continues elsewhere, or its driver ends it.
    fn hand_over(&self, stop: Stop) -> Option<Stop> {
        let Some(remote) = self else { return Some(stop) };
        match stop {
            Stop::Replica(JobFailure { job, message, backtrace }) => {
                remote.notify(Notice::Failed(sateen_protocol::JobFailure { job, message, backtrace }));
            }
            Stop::Limit(limit) => remote.notify(Notice::Limit(limit.to_string())),
            Stop::Host(message) => remote.notify(Notice::Unable(message)),
            Stop::Failed(_) | Stop::Stopped | Stop::Aborted | Stop::Evicted => {}
        }
        None
    }

    fn announce_unable(&self, why: &str) {
        if let Some(remote) = self {
            remote.notify(Notice::Unable(why.to_owned()));
        }
    }

    fn end(&self) {
        if let Some(remote) = self {
            remote.beat.wake();
        }
    }
}
