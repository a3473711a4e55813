//! How jobs go to other hosts and come from them, and how their results do.

use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, Release, SeqCst};
use std::time::Duration;

use crossbeam_deque::Injector;
use sateen_protocol::{
    Again, Finished, JobKey, JobNumber, JobSpec, Lineage, Mention, Outcome as Sent, ROOT_KIND, RunSpec,
};

use super::{ROOT, Remote};
use crate::failure::JobFailure;
use crate::portion::Notice;
use crate::scheduler::job::{Job, Outcome};
use crate::scheduler::keys::LazyKey;
use crate::scheduler::objects::Object;
use crate::scheduler::place::{Ancestry, Parent, Place};
use crate::scheduler::shared::Shared;

/// Results of less than so many times what recording them costs are not recorded.
const RECORDED_WORK_A_COST: u32 = 100;

/// What portions do, called from their driver's thread.
impl Shared {
    pub fn inject(&self, remote: &Remote, held: JobNumber, spec: JobSpec) {
        let kind = if spec.kind == ROOT_KIND { ROOT } else { spec.kind as usize };
        if kind != ROOT && kind >= self.app.0.jobs.len() {
            let result = Err(JobFailure {
                job: format!("kind {kind}"),
                message: "the app has no such job; whoever sent it has another app".to_owned(),
                backtrace: Vec::new(),
            });
            let outcome = Outcome { result, span: Duration::ZERO, work: Duration::ZERO, objects: Vec::new() };
            return remote.notify(Notice::Finished { held, finished: given(outcome).0 });
        }
        let was_begun = spec.was_begun();
        let parent = Parent::Elsewhere { held, key: spec.key, lineage: spec.lineage };
        let place = Place::new(parent, spec.depth, spec.redone, spec.lookup_below);
        place.is_lost.store(was_begun, SeqCst);
        place.given_back.store(spec.given_back, SeqCst);
        let mut job = Job::new(kind, spec.parameters, 0, Duration::ZERO);
        job.depth = spec.depth;
        job.place = Some(place);
        for Mention { object: name, creation } in spec.objects {
            if let Some(object) = self.find_object(creation) {
                object.set_name(name);
                job.objects.push(object);
            }
        }
        self.objects.forget_expected();
        let job = Arc::new(job);
        remote.held.lock().insert(held, job.clone());
        remote.figures.held.fetch_add(1, Relaxed);
        self.open(remote, &job, &remote.injected);
    }

    /// Makes a job that is open, visible to all. Called from anywhere.
    fn open(&self, remote: &Remote, job: &Arc<Job>, queue: &Injector<Arc<Job>>) {
        self.count_open();
        remote.list_open(job);
        queue.push(job.clone());
        self.idle.wake_one();
        self.announce_exposed();
    }

    /// Tells the driver that a thief elsewhere can be given something.
    pub fn announce_exposed(&self) {
        if let Some(remote) = self.remote.as_ref().filter(|remote| remote.thieves() > 0) {
            remote.notify(Notice::Exposed);
        }
    }

    pub fn offer(&self, remote: &Remote) -> Option<(JobNumber, JobSpec)> {
        loop {
            let (_, job) = remote.open.lock().pop_first()?;
            let Some(place) = &job.place else { continue };
            if self.ask_first(&job) {
                continue;
            }
            let (number, parameters) = {
                let mut away = remote.away.lock();
                if !job.lend() {
                    continue;
                }
                let number = place.number_anew();
                away.insert(number, job.clone());
                (number, job.parameters())
            };
            self.count_closed();
            return Some((number, remote.spec(&job, place, parameters)));
        }
    }

    /// Sends a job that a redone task has exposed to be looked up.
    pub fn look_up(&self, remote: &Remote, job: Job) -> Arc<Job> {
        self.counters.exposed.fetch_add(1, Release);
        let job = Arc::new(job.looked_up());
        if let Some(place) = &job.place {
            let number = place.number_anew();
            remote.away.lock().insert(number, job.clone());
            let spec = remote.spec(&job, place, job.parameters());
            remote.notify(Notice::Lookup { number, spec });
        }
        job
    }

    /// Sends an open redone job to be looked up before anybody begins it, if something may have come to be known of
    /// it since it became open: its thief was away for a moment, say, and runs it still.
    pub fn ask_first(&self, job: &Arc<Job>) -> bool {
        let (Some(remote), Some(place)) = (&self.remote, &job.place) else { return false };
        let may_ask = place.redone.load(SeqCst)
            && remote.looks_up()
            && place.held().is_none()
            && !self.is_draining()
            && job.is_open();
        if !may_ask || !remote.is_known_since(job, place) || !remote.is_lookup_possible() {
            return false;
        }
        let (number, parameters) = {
            let mut away = remote.away.lock();
            if !job.look_up() {
                return false;
            }
            let number = place.number_anew();
            away.insert(number, job.clone());
            (number, job.parameters())
        };
        self.close(job);
        let spec = remote.spec(job, place, parameters);
        remote.notify(Notice::Lookup { number, spec });
        true
    }

    pub fn want(&self, remote: &Remote, thieves: usize) {
        let before = remote.thieves.swap(thieves, SeqCst);
        if thieves > before && self.is_hungry() {
            self.move_epoch();
        }
        // What was exposed before anybody wanted it was not announced.
        if thieves > 0 && !remote.open.lock().is_empty() {
            remote.notify(Notice::Exposed);
        }
    }

    pub fn complete_away(&self, remote: &Remote, number: JobNumber, finished: Finished) {
        let outcome = received(finished);
        let mut away = remote.away.lock();
        let Some(job) = away.remove(&number) else { return };
        let was_looked_up = job.is_looked_up();
        self.grains.note(job.kind, job.depth, outcome.work);
        if !job.settle(outcome) {
            return;
        }
        drop(away);
        let figure = if was_looked_up { &remote.figures.reused } else { &remote.figures.away };
        figure.fetch_add(1, Relaxed);
        self.wake_owner(&job);
    }

    pub fn requeue(&self, remote: &Remote, number: JobNumber, again: Again) {
        let mut away = remote.away.lock();
        let Some(job) = away.remove(&number) else { return };
        if let Some(place) = &job.place {
            place.redone.fetch_or(again.redone, SeqCst);
            place.given_back.store(again.given_back, SeqCst);
            if again.redone && !job.is_looked_up() {
                place.is_lost.store(true, SeqCst);
            }
            place.lookup_below.store(again.lookup_below, SeqCst);
        }
        remote.note_asked(&job);
        // Counted before it is open: whoever claims it counts it out.
        self.count_open();
        if !job.reopen() {
            self.count_closed();
            return;
        }
        drop(away);
        remote.list_open(&job);
        remote.returned.push(job.clone());
        self.wake_owner(&job);
        self.idle.wake_one();
        self.announce_exposed();
    }

    /// Lets the owner of a job look again, from a thread that is no worker's.
    fn wake_owner(&self, job: &Job) {
        self.wake(job.owner);
    }

    pub fn abort_held(&self, remote: &Remote, held: JobNumber) {
        let job = remote.held.lock().remove(&held);
        if let Some(job) = job {
            self.abandon(&job);
        }
    }

    /// The outcome of a task goes to whoever waits for it, and is recorded.
    pub fn deliver(&self, job: &Job, ancestry: Option<&Ancestry>, outcome: Outcome) {
        if let Some(remote) = &self.remote {
            if let Some(held) = job.place.as_ref().and_then(Place::held) {
                return self.finish_held(remote, held, outcome);
            }
            // Its key is known, and its parameters are the driver's already.
            if let Some(ancestry) = ancestry.filter(|_| self.is_worth_recording(outcome.work, Duration::ZERO))
            {
                remote.record(&outcome, || (ancestry.key, ancestry.lineage.clone(), ancestry.depth));
            }
        }
        job.complete(outcome);
        self.wake(job.owner);
    }

    /// The outcome of another host's job goes there, if anybody wants it still.
    fn finish_held(&self, remote: &Remote, held: JobNumber, outcome: Outcome) {
        if remote.held.lock().remove(&held).is_none() {
            return;
        }
        remote.turned_away.lock().end();
        let (finished, objects) = given(outcome);
        remote.notify(Notice::Finished { held, finished });
        // Whoever has the result fetches them when it opens them.
        self.objects.keep(objects);
    }

    /// Whether the result of so much work is recorded, which takes about `cost`.
    pub fn is_worth_recording(&self, work: Duration, cost: Duration) -> bool {
        let every = self.remote.as_ref().and_then(|remote| remote.parts.record_every);
        let least = cost * RECORDED_WORK_A_COST;
        every.is_some_and(|every| work >= RunSpec::recorded_work_min(every).max(least))
    }

    /// A job that its owner has called in place has come to its end, and is worth recording.
    pub fn record_in_place(&self, job: &Job, key: &LazyKey, outcome: &Outcome) {
        if let (Some(remote), Some(place)) = (&self.remote, &job.place) {
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
            self.notify_recorded(Notice::Recorded { key, depth, lineage, finished: sent(outcome) });
        }
    }

    /// All there is to know of a job that nobody has begun.
    fn spec(&self, job: &Job, place: &Place, parameters: Vec<u8>) -> JobSpec {
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

/// A copy of an outcome as it travels.
fn sent(outcome: &Outcome) -> Finished {
    given(Outcome { objects: Vec::new(), ..outcome.clone() }).0
}

/// An outcome as it travels, and the objects that its result mentions.
fn given(outcome: Outcome) -> (Finished, Vec<Arc<Object>>) {
    let ns = |duration: Duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
    let finished = Finished {
        outcome: match outcome.result {
            Ok(result) => Sent::Done(result),
            // Strings and lists of them always encode.
            Err(failure) => Sent::Failed(postcard::to_allocvec(&failure).unwrap_or_default()),
        },
        work_ns: ns(outcome.work),
        span_ns: ns(outcome.span),
    };
    (finished, outcome.objects)
}

/// An outcome that has travelled. What another host sends never panics here.
fn received(finished: Finished) -> Outcome {
    let result = match finished.outcome {
        Sent::Done(result) => Ok(result),
        Sent::Failed(bytes) => Err(postcard::from_bytes(&bytes).unwrap_or_else(|error| JobFailure {
            job: "unknown".to_owned(),
            message: format!("how it failed on another host cannot be read: {error}"),
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
