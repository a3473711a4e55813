//! Exchange of jobs and results with other hosts.

use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, Release, SeqCst};
use std::time::Duration;

use crossbeam_deque::Injector;
use sateen_protocol::host::Notice;
use sateen_protocol::limits::NEWS_KEPT_MAX;
use sateen_protocol::shared::ObjectId;
use sateen_protocol::{
    Again, Bytes, Finished, HeldId, JobKey, JobSpec, Lineage, Mention, Outcome as Sent, ROOT_KIND, RunSpec,
    RuntimeJobId,
};

use super::{Registry, Remote};
use crate::failure::JobFailure;
use crate::scheduler::job::{Job, Outcome, ROOT};
use crate::scheduler::keys::LazyKey;
use crate::scheduler::objects::Object;
use crate::scheduler::place::{Ancestry, Parent, Place};

/// A result is recorded only if its work is at least this many times the cost of recording it.
const RECORDED_WORK_A_COST: u32 = 100;

/// Methods of portions, called from their driver's thread.
impl Remote {
    /// Takes in a job of another host; `was_begun` is that of `RunCommand::Inject`.
    pub fn inject(&self, registry: &Registry, held: HeldId, spec: JobSpec, was_begun: bool) {
        let kind = if spec.kind == ROOT_KIND { ROOT } else { spec.kind as usize };
        if kind != ROOT && kind >= registry.app.0.jobs.len() {
            let result = Err(JobFailure {
                job: format!("kind {kind}"),
                message: "this host's app has no such job; the host that sent the job has another app"
                    .to_owned(),
                backtrace: Vec::new(),
            });
            let outcome = Outcome { result, span: Duration::ZERO, work: Duration::ZERO, objects: Vec::new() };
            return self.notify(Notice::Finished { held, finished: given(outcome).0 });
        }
        let parent = Parent::Elsewhere { held, key: spec.key, lineage: spec.lineage };
        let place = Place::new(parent, spec.depth, spec.redone, spec.lookup_below);
        place.is_lost.store(was_begun, SeqCst);
        place.given_back.store(spec.given_back, SeqCst);
        let mut job = Job::new(kind, spec.parameters, 0, Duration::ZERO);
        job.depth = spec.depth;
        job.place = Some(place);
        for Mention { object: name, creation } in spec.objects {
            if let Some(object) = registry.find_object(creation) {
                object.set_name(name);
                job.objects.push(object);
            }
        }
        if kind != ROOT && job.objects.is_empty() && self.key(kind, &job.parameters(), &[]) != spec.key {
            return self.notify(Notice::Misnamed { held });
        }
        let job = Arc::new(job);
        self.held.lock().insert(held, job.clone());
        self.figures.held.fetch_add(1, Relaxed);
        self.open(registry, &job, &self.open.injected);
    }

    /// Makes an open job visible to all. Called from any thread.
    fn open(&self, registry: &Registry, job: &Arc<Job>, queue: &Injector<Arc<Job>>) {
        registry.count_open();
        self.list_open(job);
        queue.push(job.clone());
        registry.idle.wake_one();
        self.announce_exposed();
    }

    /// Notifies the driver that there is a job for a thief elsewhere.
    pub(super) fn announce_exposed(&self) {
        if self.thieves() > 0 {
            self.notify(Notice::Exposed);
        }
    }

    /// Looks up a job that a redone task has exposed.
    pub fn look_up(&self, registry: &Registry, job: Job) -> Arc<Job> {
        registry.counters.exposed.fetch_add(1, Release);
        let job = Arc::new(job.looked_up());
        if let Some(place) = &job.place {
            let number = place.number_anew();
            self.away.lock().insert(number, job.clone());
            let spec = self.spec(&job, place, job.parameters());
            self.notify(Notice::Lookup { number, spec });
        }
        job
    }

    /// Looks up an open redone job before it begins, if a result may have become known since it became open: for
    /// example, its thief was away for a moment, and still runs it.
    pub(super) fn ask_first(&self, registry: &Registry, job: &Arc<Job>) -> bool {
        let Some(place) = &job.place else { return false };
        let may_ask = place.redone.load(SeqCst)
            && self.lookups.are_on()
            && place.held().is_none()
            && !self.is_draining()
            && job.is_open();
        if !may_ask || !self.is_known_since(job, place) || !self.is_lookup_possible() {
            return false;
        }
        let Some((number, parameters)) = self.send_away(job, place, Job::look_up) else { return false };
        registry.close(job);
        let spec = self.spec(job, place, parameters);
        self.notify(Notice::Lookup { number, spec });
        // If it was given up before that, the driver ignored it.
        if job.is_gone() {
            self.notify(Notice::Abandoned { number });
        }
        true
    }

    /// Numbers an open job that others are to have or to look up, if it `leaves` its state of being open; returns its number and
    /// its parameters.
    pub(super) fn send_away(
        &self,
        job: &Arc<Job>,
        place: &Place,
        leaves: impl FnOnce(&Job) -> bool,
    ) -> Option<(RuntimeJobId, Bytes)> {
        let mut away = self.away.lock();
        if !leaves(job) {
            return None;
        }
        let number = place.number_anew();
        away.insert(number, job.clone());
        Some((number, job.parameters()))
    }

    pub fn want(&self, registry: &Registry, thieves: usize) {
        let before = self.thieves.waiting.swap(thieves, SeqCst);
        if thieves > before {
            registry.deques.demand.note_thief_waits();
        }
        if thieves > before && registry.is_anybody_starving() {
            registry.ring();
        }
        // Jobs exposed before a thief wanted them were not announced.
        if thieves > 0 && !self.open.listed.lock().is_empty() {
            self.notify(Notice::Exposed);
        }
    }

    /// A job that is elsewhere has an outcome; `is_found_again` if it was looked up and a job above it had been begun
    /// before and had come as far as this one.
    pub fn complete_away(
        &self,
        registry: &Registry,
        number: RuntimeJobId,
        finished: Finished,
        is_found_again: bool,
    ) {
        let outcome = received(finished);
        let mut away = self.away.lock();
        let Some(job) = away.remove(number) else { return };
        let was_looked_up = job.is_looked_up();
        registry.note_work(&job, outcome.work);
        if !job.settle(outcome, is_found_again) {
            return;
        }
        drop(away);
        let figure = if was_looked_up { &self.figures.reused } else { &self.figures.away };
        figure.fetch_add(1, Relaxed);
        registry.tasks.wake(job.owner);
    }

    pub fn requeue(&self, registry: &Registry, number: RuntimeJobId, again: Again) {
        let mut away = self.away.lock();
        let Some(job) = away.remove(number) else {
            // It was given up meanwhile, and no other host has it: it was not run elsewhere.
            if away.take_back_given_up(number) {
                self.figures.away.fetch_sub(1, Relaxed);
                registry.counters.aborted.fetch_add(1, Relaxed);
            }
            return;
        };
        if let Some(place) = &job.place {
            place.come_back(again, job.is_looked_up());
        }
        self.note_asked(&job);
        // The job is counted before it is open, because the worker that claims it subtracts it from the count.
        registry.count_open();
        if !job.reopen() {
            registry.count_closed();
            return;
        }
        drop(away);
        self.list_open(&job);
        self.open.returned.push(job.clone());
        registry.tasks.wake(job.owner);
        registry.idle.wake_one();
        self.announce_exposed();
    }

    pub fn abort_held(&self, registry: &Registry, held: HeldId) {
        let job = self.held.lock().remove(&held);
        if let Some(job) = job {
            registry.abandon(&job);
        }
    }

    /// The outcome of a task goes to the host that its job came from, or is recorded and returned.
    pub(super) fn deliver(
        &self,
        registry: &Registry,
        job: &Job,
        ancestry: Option<&Ancestry>,
        outcome: Outcome,
    ) -> Option<Outcome> {
        if let Some(held) = job.place.as_ref().and_then(Place::held) {
            self.finish_held(registry, held, outcome);
            return None;
        }
        // Its key is known, and the driver already has its parameters.
        if let Some(ancestry) = ancestry.filter(|_| self.is_worth_recording(outcome.work, Duration::ZERO)) {
            self.record(&outcome, || (ancestry.key, ancestry.lineage.clone(), ancestry.depth));
        }
        Some(outcome)
    }

    /// The outcome of another host's job goes there, if it is still wanted. It goes with the worker's next notice, or when the
    /// worker says that there is none (`Grid::flush`).
    fn finish_held(&self, registry: &Registry, held: HeldId, outcome: Outcome) {
        if self.held.lock().remove(&held).is_none() {
            return;
        }
        self.crowding.forget_turned_away();
        let is_one_of_many = outcome.work < NEWS_KEPT_MAX && self.is_injected();
        let (finished, objects) = given(outcome);
        let notice = Notice::Finished { held, finished };
        if is_one_of_many {
            self.notices.notify_with_others(notice);
        } else {
            self.notices.notify_with_next(notice);
        }
        // The receiver of the result fetches the objects when it opens them.
        registry.objects.keep(objects);
    }

    /// A result of an open job may have become known since it became open.
    fn is_known_since(&self, job: &Job, place: &Place) -> bool {
        self.lookups.is_known_since(place, || {
            let (key, _) = place.identity(|| self.key(job.kind, &job.parameters(), &job.objects));
            key.tag()
        })
    }

    fn is_worth_recording(&self, work: Duration, cost: Duration) -> bool {
        let least = cost * RECORDED_WORK_A_COST;
        self.recording.every.is_some_and(|every| work >= RunSpec::recorded_work_min(every).max(least))
    }

    /// A guard waits: fetch other hosts' replicas of these objects.
    pub fn refetch_objects(&self, held: HeldId, objects: &[ObjectId]) {
        objects.iter().for_each(|object| self.notify(Notice::Refetch { object: *object, held }));
    }
}

impl Registry {
    /// Whether a result of this much work is recorded, which takes about `cost`.
    pub fn is_worth_recording(&self, work: Duration, cost: Duration) -> bool {
        self.grid.as_ref().is_some_and(|remote| remote.is_worth_recording(work, cost))
    }

    /// A job that its owner has called in place has finished, and is worth recording.
    pub fn record_in_place(&self, job: &Job, key: &LazyKey, outcome: &Outcome) {
        if let (Some(remote), Some(place)) = (&self.grid, &job.place) {
            remote.record(outcome, || {
                let (key, lineage) = place.identity(|| key.get());
                (key, lineage, place.depth)
            });
        }
    }
}

impl Remote {
    fn record(&self, outcome: &Outcome, identity: impl FnOnce() -> (JobKey, Lineage, u32)) {
        // An object may be gone when its mention is found in a table.
        if outcome.objects.is_empty() {
            let (key, lineage, depth) = identity();
            self.notices.notify_recorded(Notice::Recorded { key, depth, lineage, finished: sent(outcome) });
        }
    }

    /// Everything about a job that has not begun.
    pub(super) fn spec(&self, job: &Job, place: &Place, parameters: Bytes) -> JobSpec {
        let (key, lineage) = place.identity(|| self.key(job.kind, &parameters, &job.objects));
        JobSpec {
            key,
            kind: if job.kind == ROOT { ROOT_KIND } else { job.kind as u32 },
            parameters,
            depth: place.depth,
            lineage,
            redone: place.redone.load(SeqCst),
            given_back: place.given_back.load(SeqCst),
            lookup_below: place.lookup_below.load(SeqCst),
            objects: (job.objects.iter())
                .map(|object| Mention { object: object.name(), creation: object.id })
                .collect(),
        }
    }
}

/// A copy of an outcome as it is sent.
fn sent(outcome: &Outcome) -> Finished {
    given(Outcome { objects: Vec::new(), ..outcome.clone() }).0
}

/// An outcome as it is sent, and the objects that its result mentions.
fn given(outcome: Outcome) -> (Finished, Vec<Arc<Object>>) {
    let ns = |duration: Duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
    let finished = Finished {
        outcome: match outcome.result {
            Ok(result) => Sent::Done(result),
            // Strings and lists of strings can always be encoded.
            Err(failure) => Sent::Failed(postcard::to_allocvec(&failure).unwrap_or_default().into()),
        },
        work_ns: ns(outcome.work),
        span_ns: ns(outcome.span),
    };
    (finished, outcome.objects)
}

/// An outcome that was received. Data from another host never causes a panic here.
fn received(finished: Finished) -> Outcome {
    let result = match finished.outcome {
        Sent::Done(result) => Ok(result),
        Sent::Failed(bytes) => Err(postcard::from_bytes(&bytes).unwrap_or_else(|error| JobFailure {
            job: "unknown".to_owned(),
            message: format!("its error on another host cannot be decoded: {error}"),
            backtrace: Vec::new(),
        })),
    };
    Outcome {
        result,
        span: Duration::from_nanos(finished.span_ns),
        work: Duration::from_nanos(finished.work_ns),
        objects: Vec::new(),
    }
}
