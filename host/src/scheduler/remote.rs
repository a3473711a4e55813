//! What a portion of a run has beyond a whole run: jobs that go to other hosts and come from them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::time::Duration;

use crossbeam_deque::{Injector, Steal};
use parking_lot::{Condvar, Mutex, RwLock};
use sateen_protocol::limits::NOTED_PARAMETERS_BYTES_MAX;
use sateen_protocol::message::{JobNote, NoteKind};
use sateen_protocol::{
    Finished, JobKey, JobNumber, JobSpec, JobTag, KeyMaker, Mention, Outcome as Sent, ROOT_KIND,
};
use wasmtime::ModuleExport;

use super::activity::Activity;
use super::job::{Job, Outcome};
use super::objects::Object;
use super::place::{Ancestry, Parent, Place};
use super::shared::Shared;
use crate::failure::JobFailure;
use crate::portion::Notice;

/// The kind of a portion's root job, when it runs on this host.
pub const ROOT: usize = usize::MAX;
/// Results that took less are not worth saving.
const RECORDED_WORK_MIN: Duration = Duration::from_millis(5);
/// Jobs whose lookup is not answered; beyond, redone jobs are not looked up.
const LOOKUPS_MAX: usize = 4096;
/// After so many redone jobs in a row of which nothing is known, no more are looked up: they cost some
/// microseconds each.
const MISSES_MAX: usize = 100_000;

/// What a [`Remote`] is made of.
pub struct RemoteParts {
    pub function: String,
    pub root: ModuleExport,
    pub root_key: KeyMaker,
    /// By kind.
    pub keys: Vec<KeyMaker>,
    /// By kind, of jobs whose parameters mention shared objects: these are the run's own.
    pub keys_within_run: Vec<KeyMaker>,
    /// What tells the run from others.
    pub run_name: Vec<u8>,
    pub record_every: Option<Duration>,
    pub notify: Arc<dyn Fn(Notice) + Send + Sync>,
}

/// The part of [`Shared`] that only portions have.
pub struct Remote {
    pub parts: RemoteParts,
    is_closed: AtomicBool,
    /// Jobs of other hosts that have no outcome.
    held: Mutex<HashMap<JobNumber, Arc<Job>>>,
    /// Lent and looked-up jobs. Their state changes only under this lock.
    away: Mutex<HashMap<JobNumber, Arc<Job>>>,
    /// Open jobs, by depth and age. An entry may be stale.
    open: Mutex<BTreeMap<(u32, u64), Arc<Job>>>,
    /// Jobs of other hosts to be begun, and jobs that came back.
    injected: Injector<Arc<Job>>,
    returned: Injector<Arc<Job>>,
    thieves: AtomicUsize,
    /// A lookup may find something.
    looks_up: AtomicBool,
    /// What: these jobs, or something below them. `None`: anything.
    sought: RwLock<Option<HashSet<JobTag>>>,
    /// Jobs since the last one that was sought.
    misses: AtomicUsize,
    draining: AtomicBool,
    drained: AtomicBool,
    pub pause: super::pause::Pause,
    /// Workers that sleep, and the level that was announced.
    resting: AtomicUsize,
    announced: Mutex<usize>,
    beat: Beat,
    pub figures: RemoteFigures,
    pub activity: Activity,
}

/// Counters that only portions have.
#[derive(Default)]
pub struct RemoteFigures {
    /// Jobs of other hosts that came here, the root among them.
    pub held: AtomicU64,
    /// Roots that were begun.
    pub roots: AtomicU64,
    /// Jobs of this host that were run by another.
    pub away: AtomicU64,
    pub reused: AtomicU64,
    pub redone: AtomicU64,
}

/// Whether guests compute, so that the heartbeat may sleep when none does.
#[derive(Default)]
struct Beat {
    computing: AtomicUsize,
    sleeps: AtomicBool,
    lock: Mutex<()>,
    woken: Condvar,
}

impl Remote {
    pub fn new(parts: RemoteParts, threads: usize) -> Self {
        Self {
            parts,
            activity: Activity::new(threads),
            is_closed: AtomicBool::new(false),
            held: Mutex::default(),
            away: Mutex::default(),
            open: Mutex::default(),
            injected: Injector::new(),
            returned: Injector::new(),
            thieves: AtomicUsize::new(0),
            looks_up: AtomicBool::new(true),
            sought: RwLock::new(None),
            misses: AtomicUsize::new(0),
            draining: AtomicBool::new(false),
            drained: AtomicBool::new(false),
            pause: super::pause::Pause::default(),
            resting: AtomicUsize::new(0),
            announced: Mutex::new(0),
            beat: Beat::default(),
            figures: RemoteFigures::default(),
        }
    }

    pub fn notify(&self, notice: Notice) {
        if !self.is_closed.load(SeqCst) {
            (self.parts.notify)(notice);
        }
    }

    /// Whoever stops a portion does not want to hear what becomes of its jobs.
    pub fn close(&self) {
        self.is_closed.store(true, SeqCst);
    }

    /// The key of a job of this kind, whose parameters mention these objects.
    pub fn key(&self, kind: usize, parameters: &[u8], objects: &[Arc<Object>]) -> JobKey {
        if objects.is_empty() {
            return self.parts.keys.get(kind).unwrap_or(&self.parts.root_key).key(parameters);
        }
        let keys = self.parts.keys_within_run.get(kind).unwrap_or(&self.parts.root_key);
        keys.key(&with_names(parameters, objects))
    }

    pub fn thieves(&self) -> usize {
        self.thieves.load(SeqCst)
    }

    /// What lookups may find beside what they might before; nothing at all if that is empty.
    pub fn set_lookups(&self, jobs: &[JobTag]) {
        let mut sought = self.sought.write();
        let known = sought.get_or_insert_default();
        if jobs.is_empty() {
            known.clear();
        }
        known.extend(jobs);
        self.misses.store(0, Relaxed);
        self.looks_up.store(!jobs.is_empty(), SeqCst);
    }

    /// Whether to ask for a redone job: a question costs ten times as much as to look here. When nothing
    /// was found for long, something in the tree is not as it was, and nothing will be.
    pub fn may_find(&self, key: &JobKey) -> bool {
        let is_sought = self.sought.read().as_ref().is_none_or(|sought| sought.contains(&key.tag()));
        if is_sought {
            self.misses.store(0, Relaxed);
        } else if self.misses.fetch_add(1, Relaxed) >= MISSES_MAX {
            self.looks_up.store(false, SeqCst);
        }
        is_sought
    }

    pub fn looks_up(&self) -> bool {
        self.looks_up.load(SeqCst)
    }

    pub fn is_draining(&self) -> bool {
        self.draining.load(SeqCst)
    }

    /// A job begins in an instance of its own.
    pub fn count_begun(&self, job: &Job, place: &Place) {
        if place.redone.load(SeqCst) {
            self.figures.redone.fetch_add(1, Relaxed);
        }
        if job.kind == ROOT {
            self.figures.roots.fetch_add(1, Relaxed);
        }
    }

    /// Something happened to a job with an instance of its own, for the tree. Of other hosts' jobs, the machine
    /// takes notes.
    pub fn note(&self, job: &Job, ancestry: &Ancestry, what: NoteKind, parameters: Option<&[u8]>) {
        if job.place.as_ref().is_none_or(|place| place.held().is_some()) {
            return;
        }
        self.activity.note(|| JobNote {
            job: ancestry.key.tag(),
            parent: ancestry.lineage.0.last().copied(),
            kind: job.kind as u32,
            depth: ancestry.depth,
            what,
            ago_ms: 0,
            parameters: parameters
                .filter(|parameters| parameters.len() <= NOTED_PARAMETERS_BYTES_MAX)
                .map(<[u8]>::to_vec),
            shares: !job.objects.is_empty(),
        });
    }

    // ---- open jobs ----

    pub fn list_open(&self, job: &Arc<Job>) {
        let Some(place) = &job.place else { return };
        // A job of another host runs here. Lent on, it could come back to a host that waits for it: after a
        // crash, hosts would adopt it from one another in a circle.
        if place.held().is_some() {
            return;
        }
        let at = (place.depth, place.sequence);
        self.open.lock().insert(at, job.clone());
        // Claimed while it was on its way into the list: nobody else takes it out.
        if !job.is_open() {
            self.open.lock().remove(&at);
        }
    }

    pub fn unlist(&self, job: &Job) {
        if let Some(place) = &job.place {
            self.open.lock().remove(&(place.depth, place.sequence));
        }
    }

    pub fn is_injected(&self) -> bool {
        !self.injected.is_empty()
    }

    /// A job that came back.
    pub fn find_returned(&self) -> Option<Arc<Job>> {
        next_open(&self.returned)
    }

    /// A job of another host that nobody has begun.
    pub fn find_injected(&self) -> Option<Arc<Job>> {
        next_open(&self.injected)
    }

    // ---- jobs that are elsewhere ----

    pub fn is_lookup_possible(&self) -> bool {
        self.away.lock().len() < LOOKUPS_MAX
    }

    /// Nobody wants this job any more; true if it was elsewhere.
    pub fn give_up(&self, job: &Job) -> bool {
        let Some(place) = &job.place else { return false };
        let mut away = self.away.lock();
        let was_looked_up = job.is_looked_up();
        let number = place.number();
        if !job.give_up() {
            return false;
        }
        away.remove(&number);
        drop(away);
        if !was_looked_up {
            self.figures.away.fetch_add(1, Relaxed);
        }
        self.notify(Notice::Abandoned { number });
        true
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
            lookup_below: place.lookup_below.load(SeqCst),
            objects: (job.objects.iter())
                .map(|object| Mention { object: object.name(), creation: object.id })
                .collect(),
        }
    }

    // ---- the heartbeat's sleep ----

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

/// `parameters` with the objects' names in place of their ids, which are random and stand for nothing else.
fn with_names(parameters: &[u8], objects: &[Arc<Object>]) -> Vec<u8> {
    let mut named = parameters.to_owned();
    let renamed: HashMap<[u8; 16], [u8; 16]> =
        objects.iter().map(|object| (object.id.0, object.name().0)).filter(|(id, name)| id != name).collect();
    let mut at = 0;
    while !renamed.is_empty()
        && let Some(window) = named[at..].first_chunk()
    {
        match renamed.get(window) {
            Some(name) => {
                named[at..at + 16].copy_from_slice(name);
                at += 16;
            }
            None => at += 1,
        }
    }
    named
}

fn next_open(queue: &Injector<Arc<Job>>) -> Option<Arc<Job>> {
    loop {
        match queue.steal() {
            Steal::Success(job) if job.is_open() => return Some(job),
            Steal::Success(_) | Steal::Retry => {}
            Steal::Empty => return None,
        }
    }
}

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
            return remote.notify(Notice::Finished { held, finished: sent(&outcome) });
        }
        let parent = Parent::Elsewhere { held, key: spec.key, lineage: spec.lineage };
        let mut job = Job::new(kind, spec.parameters, 0, Duration::ZERO);
        job.depth = spec.depth;
        job.place = Some(Place::new(parent, spec.depth, spec.redone, spec.lookup_below));
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
        self.counters.exposed.fetch_add(1, Relaxed);
        let job = Arc::new(job.looked_up());
        if let Some(place) = &job.place {
            let number = place.number_anew();
            remote.away.lock().insert(number, job.clone());
            let spec = remote.spec(&job, place, job.parameters());
            remote.notify(Notice::Lookup { number, spec });
        }
        job
    }

    pub fn want(&self, remote: &Remote, thieves: usize) {
        let before = remote.thieves.swap(thieves, SeqCst);
        if thieves > before && self.is_hungry() {
            self.app.0.engine.inner.increment_epoch();
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

    pub fn requeue(&self, remote: &Remote, number: JobNumber, redone: bool, lookup_below: u32) {
        let mut away = remote.away.lock();
        let Some(job) = away.remove(&number) else { return };
        if let Some(place) = &job.place {
            place.redone.fetch_or(redone, SeqCst);
            place.lookup_below.store(lookup_below, SeqCst);
        }
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

    pub fn drain(&self, remote: &Remote) {
        remote.draining.store(true, SeqCst);
        self.announce_idle();
        self.app.0.engine.inner.increment_epoch();
        if !remote.is_computing() {
            self.announce_drained(remote);
        }
    }

    fn announce_drained(&self, remote: &Remote) {
        if remote.is_draining() && !self.is_ready() && !remote.drained.swap(true, SeqCst) {
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
            self.app.0.engine.inner.increment_epoch();
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
            && self.instances.free() > self.reserve();
        let level = if is_willing { remote.resting.load(SeqCst) } else { 0 };
        if *announced != level {
            *announced = level;
            remote.notify(Notice::Idle(level));
        }
    }

    /// The outcome of a task goes to whoever waits for it, and is recorded.
    pub fn deliver(&self, job: &Job, ancestry: Option<&Ancestry>, outcome: Outcome) {
        if let Some(remote) = &self.remote {
            if let Some(held) = job.place.as_ref().and_then(Place::held) {
                if remote.finish_held(held, &outcome) {
                    // Whoever has the result fetches them when it opens them.
                    self.objects.keep(outcome.objects);
                }
                return;
            }
            if let Some(ancestry) = ancestry.filter(|_| remote.parts.record_every.is_some()) {
                remote.record(&outcome, || (ancestry.key, ancestry.lineage.clone(), ancestry.depth));
            }
        }
        job.complete(outcome);
        self.wake(job.owner);
    }

    /// A job that its owner has called in place gave `result`.
    pub fn record_in_place(&self, job: &Job, parameters: &[u8], outcome: &Outcome) {
        if let (Some(remote), Some(place)) = (&self.remote, &job.place)
            && remote.parts.record_every.is_some()
        {
            remote.record(outcome, || {
                let (key, lineage) = place.identity(|| remote.key(job.kind, parameters, &job.objects));
                (key, lineage, place.depth)
            });
        }
    }
}

impl Remote {
    /// False if nobody wants it any more.
    fn finish_held(&self, held: JobNumber, outcome: &Outcome) -> bool {
        let is_held = self.held.lock().remove(&held).is_some();
        if is_held {
            self.notify(Notice::Finished { held, finished: sent(outcome) });
        }
        is_held
    }

    fn record(&self, outcome: &Outcome, identity: impl FnOnce() -> (JobKey, sateen_protocol::Lineage, u32)) {
        // An object may be gone when its mention is found in a table.
        if outcome.work >= RECORDED_WORK_MIN && outcome.objects.is_empty() {
            let (key, lineage, depth) = identity();
            self.notify(Notice::Recorded { key, depth, lineage, finished: sent(outcome) });
        }
    }
}

/// An outcome as it travels.
fn sent(outcome: &Outcome) -> Finished {
    let ns = |duration: Duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
    Finished {
        outcome: match &outcome.result {
            Ok(result) => Sent::Done(result.clone()),
            // Strings and lists of them always encode.
            Err(failure) => Sent::Failed(postcard::to_allocvec(failure).unwrap_or_default()),
        },
        work_ns: ns(outcome.work),
        span_ns: ns(outcome.span),
    }
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
