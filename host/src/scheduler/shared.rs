//! What the workers of one run share.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{
    AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::Release, Ordering::SeqCst,
};
use std::task::Waker;
use std::time::{Duration, Instant};

use async_task::Runnable;
use crossbeam_deque::{Injector, Steal, Stealer};
use parking_lot::{Condvar, Mutex};
use sateen_protocol::message::NoteKind;

use super::figures::Counters;
use super::grain::Grains;
use super::idle::Idle;
use super::job::Job;
use super::objects::Objects;
use super::permits::Permits;
use super::priority::Priority;
use super::remote::Remote;
use super::tempo::Tempo;
use super::turns::TurnsOfRun;
use super::worker::{Task, is_worker_of, own_index, push_own, trim_own};
use crate::failure::{JobFailure, Stop};
use crate::guest::{LogLine, Profiler};
use crate::limits::{LimitExceeded, Limits};
use crate::memory::HostMemory;
use crate::module::App;
use crate::portion::Notice;

/// A task's number in its run; 0 is nobody.
pub type TaskId = u64;

/// Exposed jobs that lie in deques, for each worker and in all: beyond, coarse kinds stay latent.
const OPEN_JOBS: usize = 64;
const OPEN_JOBS_A_WORKER: usize = 4;

/// How a run ended.
#[derive(Debug, Clone)]
pub enum Ending {
    /// The root job's encoded outcome, and the length of its chain.
    Finished(Vec<u8>, Duration),
    /// The root job failed.
    Failed(JobFailure),
    Limit(LimitExceeded),
    Cancelled,
    /// This machine could not go on.
    Host(String),
}

/// What a guest is asked to expose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alarm {
    /// Its oldest latent job: somebody is hungry, or it is to be recorded.
    Oldest,
    /// All that is latent: this host leaves.
    All,
}

/// What a run is made of.
pub struct SharedParts {
    pub app: App,
    pub threads: usize,
    pub priority: Priority,
    pub limits: Limits,
    pub inputs: BTreeMap<String, Arc<[u8]>>,
    pub pristine: bool,
    /// Measures the program's work and span.
    pub profiler: Option<Profiler>,
    pub log: Arc<dyn Fn(LogLine) + Send + Sync>,
    /// For a portion of a run.
    pub remote: Option<Remote>,
    /// What this run's guests share with those of others, if it is bounded.
    pub memory: Option<HostMemory>,
    /// Its part in the turns of a host that computes with no more threads than it was given.
    pub turns: Option<TurnsOfRun>,
}

/// A task that waits.
struct Waiting {
    waker: Waker,
    /// See [`Shared::register_waiting`].
    is_unsaved: bool,
}

/// One run, as its workers see it.
pub struct Shared {
    pub app: App,
    pub counters: Counters,
    /// By kind: whether it was measured to be fine.
    pub fine_kinds: Vec<AtomicBool>,
    /// How long jobs take.
    pub grains: Grains,
    pub attempts: Permits,
    pub instances: Permits,
    pub idle: Idle,
    pub stealers: Vec<Stealer<Arc<Job>>>,
    pub started: Instant,
    pub objects: Objects,
    pub tempo: Tempo,
    /// What only a portion of a run has.
    pub remote: Option<Remote>,
    pub(super) parts: SharedParts,
    read_inputs: Mutex<Vec<String>>,
    /// Suspended tasks that can go on.
    ready: Injector<Runnable>,
    /// Of these, those whose guests wait for any of several jobs: the others make room for them.
    urgent: Injector<Runnable>,
    /// Jobs in deques that nobody has claimed.
    open_jobs: AtomicUsize,
    /// Tasks that exist.
    tasks: AtomicUsize,
    next_task: AtomicU64,
    waiting: Mutex<HashMap<TaskId, Waiting>>,
    /// What an instance takes of memory, in bytes, as far as is known.
    pub(super) instance_bytes: AtomicUsize,
    stopping: AtomicBool,
    ending: Mutex<Option<Ending>>,
    ended: Condvar,
}

impl Shared {
    pub fn new(mut parts: SharedParts, stealers: Vec<Stealer<Arc<Job>>>) -> Self {
        Self {
            remote: parts.remote.take(),
            app: parts.app.clone(),
            counters: Counters::default(),
            fine_kinds: parts.app.0.jobs.iter().map(|_| AtomicBool::new(false)).collect(),
            grains: Grains::new(parts.app.0.jobs.len()),
            attempts: Permits::new(parts.limits.attempts_max),
            instances: Permits::new(parts.limits.instances_max),
            idle: Idle::default(),
            stealers,
            parts,
            read_inputs: Mutex::default(),
            ready: Injector::new(),
            urgent: Injector::new(),
            open_jobs: AtomicUsize::new(0),
            tasks: AtomicUsize::new(0),
            next_task: AtomicU64::new(1),
            waiting: Mutex::default(),
            instance_bytes: AtomicUsize::new(0),
            stopping: AtomicBool::new(false),
            ending: Mutex::new(None),
            ended: Condvar::new(),
            started: Instant::now(),
            objects: Objects::new(),
            tempo: Tempo::default(),
        }
    }

    pub fn limits(&self) -> &Limits {
        &self.parts.limits
    }

    pub fn threads(&self) -> usize {
        self.parts.threads
    }

    pub fn job_name(&self, kind: usize) -> &str {
        match self.app.0.jobs.get(kind) {
            Some((name, _)) => name,
            None => self.remote.as_ref().map_or("", |remote| &remote.parts.function),
        }
    }

    /// The export that runs a job.
    pub fn export(&self, kind: usize) -> Option<wasmtime::ModuleExport> {
        match self.app.0.jobs.get(kind) {
            Some((_, export)) => Some(*export),
            None => self.remote.as_ref().map(|remote| remote.parts.root),
        }
    }

    pub fn log(&self, line: LogLine) {
        (self.parts.log)(line);
    }

    /// The input `name`, and a note that it was asked for.
    pub fn input(&self, name: &str) -> Option<Arc<[u8]>> {
        let bytes = self.parts.inputs.get(name)?.clone();
        let mut read = self.read_inputs.lock();
        if !read.iter().any(|known| known == name) {
            read.push(name.to_owned());
        }
        Some(bytes)
    }

    /// Inputs that no job has asked for.
    pub fn unread_inputs(&self) -> Vec<String> {
        let read = self.read_inputs.lock();
        self.parts.inputs.keys().filter(|name| !read.contains(name)).cloned().collect()
    }

    // ---- exposing and claiming ----

    /// Whether jobs are exposed at all: alone, a worker has nobody to expose for. In a portion there are
    /// other hosts.
    pub fn exposes(&self) -> bool {
        (self.parts.threads > 1 || self.remote.is_some()) && !self.parts.pristine
    }

    /// Whether a job may finish while another of the same spawner runs.
    pub fn hears(&self) -> bool {
        self.exposes() || self.parts.pristine
    }

    /// What measures the program's work and span, if that is wanted.
    pub fn profiler(&self) -> Option<&Profiler> {
        self.parts.profiler.as_ref()
    }

    pub fn is_pristine(&self) -> bool {
        self.parts.pristine
    }

    /// So many instances are kept for jobs of other hosts, which nobody here can call in place.
    pub fn reserve(&self) -> usize {
        match self.remote {
            Some(_) => (self.parts.threads + 2).min(self.limits().instances_max / 4),
            None => 0,
        }
    }

    /// Whether a kind's spawns are exposed before anything was measured.
    pub fn starts_coarse(&self, kind: usize) -> bool {
        self.parts.pristine || (self.exposes() && !self.fine_kinds[kind].load(Relaxed))
    }

    /// Whether some worker, here or elsewhere, has nothing to do and finds nothing.
    pub fn is_hungry(&self) -> bool {
        let thieves = self.remote.as_ref().map_or(0, Remote::thieves);
        let mut hungry = self.idle.hungry() + thieves;
        if hungry > thieves && (self.parts.threads == 1 || self.instances.free() <= self.reserve()) {
            hungry = thieves;
        }
        hungry > self.open_jobs.load(SeqCst)
    }

    /// What guests are asked to expose now.
    pub fn alarm(&self) -> Option<Alarm> {
        if self.is_draining() {
            return Some(Alarm::All);
        }
        self.is_hungry().then_some(Alarm::Oldest)
    }

    pub fn is_draining(&self) -> bool {
        self.remote.as_ref().is_some_and(Remote::is_draining)
    }

    /// Whether another exposed job is welcome.
    pub fn takes_more(&self) -> bool {
        let enough = OPEN_JOBS + OPEN_JOBS_A_WORKER * self.parts.threads;
        self.parts.pristine || (self.exposes() && self.open_jobs.load(Relaxed) < enough) || self.is_draining()
    }

    /// Makes a job visible to thieves. Called on a worker.
    pub fn expose(&self, job: Arc<Job>) {
        self.counters.exposed.fetch_add(1, Release);
        self.count_open();
        if let Some(remote) = &self.remote {
            remote.note_asked(&job);
            remote.list_open(&job);
        }
        push_own(job);
        self.idle.wake_one();
        self.announce_exposed();
    }

    /// Takes an exposed job back for its owner, if nobody has claimed it.
    pub fn reclaim(&self, job: &Arc<Job>) -> Option<Vec<u8>> {
        // In pristine mode every job runs in an instance of its own, as long as there are any.
        if self.parts.pristine && self.instances.are_left() {
            return None;
        }
        if self.ask_first(job) {
            return None;
        }
        let parameters = self.withdraw(job)?;
        trim_own();
        Some(parameters)
    }

    fn withdraw(&self, job: &Job) -> Option<Vec<u8>> {
        let parameters = job.withdraw()?;
        self.close(job);
        Some(parameters)
    }

    /// An open job was claimed.
    pub fn close(&self, job: &Job) {
        self.count_closed();
        if let Some(remote) = &self.remote {
            remote.unlist(job);
        }
    }

    /// Jobs that nobody has begun and anybody may.
    pub fn open_count(&self) -> usize {
        self.open_jobs.load(SeqCst)
    }

    pub fn count_open(&self) {
        self.open_jobs.fetch_add(1, SeqCst);
    }

    pub fn count_closed(&self) {
        self.open_jobs.fetch_sub(1, SeqCst);
        // Somebody may have counted on that job, and would be fed with the next beat only.
        if self.is_hungry() {
            self.hasten();
        }
    }

    /// Nobody will sync this job any more.
    pub fn abandon(&self, job: &Job) {
        loop {
            if self.withdraw(job).is_some() {
                self.counters.aborted.fetch_add(1, Relaxed);
                return;
            }
            if self.remote.as_ref().is_some_and(|remote| remote.give_up(job)) || job.is_gone() {
                return;
            }
            if job.is_taken() {
                self.wake(job.abort());
                // If it computes, it need not go on until the next beat.
                self.rouse();
                // This worker may go on with its guest for long; the other end need not wait for that.
                self.idle.wake_one();
                return;
            }
            // It went elsewhere or came back in between.
        }
    }

    /// Claims `job` for a new task.
    pub fn take(&self, job: &Arc<Job>) -> Option<Task> {
        let id = self.new_task_id();
        // Who may be evicted keeps them, to begin again.
        let parameters = if self.parts.memory.is_some() { job.take_copy(id) } else { job.take(id) }?;
        self.close(job);
        self.counters.taken.fetch_add(1, Relaxed);
        let repeats: Arc<AtomicBool> = Arc::default();
        let ancestry = match (&self.remote, &job.place) {
            (Some(remote), Some(place)) => {
                let ancestry = place.ancestry(|| remote.key(job.kind, &parameters, &job.objects));
                let worker = own_index().and_then(|worker| u32::try_from(worker).ok()).unwrap_or(0);
                let begun =
                    NoteKind::Begun { victim: None, redone: ancestry.redone && !ancestry.given_back, worker };
                remote.note(job, &ancestry, begun, Some(&parameters));
                repeats.store(remote.count_begun(job, &ancestry) && !ancestry.given_back, SeqCst);
                Some(Arc::new(ancestry))
            }
            _ => None,
        };
        Some(Task { id, is_urgent: Arc::default(), repeats, parameters, ancestry })
    }

    // ---- tasks ----

    pub fn new_task_id(&self) -> TaskId {
        self.next_task.fetch_add(1, Relaxed)
    }

    pub fn begin_task(&self) {
        self.tasks.fetch_add(1, SeqCst);
    }

    pub fn end_task(&self) {
        if self.tasks.fetch_sub(1, SeqCst) == 1 || self.is_stopping() {
            self.idle.wake_all();
        }
    }

    pub fn task_count(&self) -> usize {
        self.tasks.load(SeqCst)
    }

    pub fn has_tasks(&self) -> bool {
        self.task_count() > 0
    }

    /// A suspended task can go on, on whichever worker comes first.
    pub fn schedule(self: &Arc<Self>, runnable: Runnable, is_urgent: bool) {
        if is_urgent { &self.urgent } else { &self.ready }.push(runnable);
        if is_urgent {
            self.hasten();
        }
        // A worker that completes a job looks here next.
        if !is_worker_of(self) {
            self.idle.wake_one();
        }
    }

    pub fn next_ready(&self) -> Option<Runnable> {
        next_of(&self.urgent).or_else(|| next_of(&self.ready))
    }

    /// Whether a guest that computes should let another go on.
    pub fn is_urgent(&self) -> bool {
        !self.urgent.is_empty()
    }

    /// Whether a worker could do something now.
    pub fn is_work(&self) -> bool {
        if self.is_stopping() {
            return self.is_ready() || !self.has_tasks();
        }
        if self.is_paused() {
            return false;
        }
        self.is_ready()
            || (!self.is_draining()
                && ((self.open_jobs.load(SeqCst) > 0 && self.instances.free() > self.reserve())
                    || (self.remote.as_ref().is_some_and(Remote::is_injected) && self.instances.are_left()))
                && self.may_begin())
    }

    pub fn is_ready(&self) -> bool {
        !self.ready.is_empty() || !self.urgent.is_empty()
    }

    pub fn is_paused(&self) -> bool {
        self.remote.as_ref().is_some_and(|remote| remote.pause.is_on()) && !self.is_stopping()
    }

    /// `is_unsaved` if what it waits for comes from elsewhere, and its host should not leave before.
    pub fn register_waiting(&self, task: TaskId, waker: &Waker, is_unsaved: bool) {
        self.waiting.lock().insert(task, Waiting { waker: waker.clone(), is_unsaved });
    }

    pub fn forget_waiting(&self, task: TaskId) {
        self.waiting.lock().remove(&task);
    }

    /// Whether work would be lost if nobody waited for what comes from elsewhere.
    pub fn is_unsaved(&self) -> bool {
        self.waiting.lock().values().any(|waiting| waiting.is_unsaved)
    }

    /// Lets a waiting task look again.
    pub fn wake(&self, task: TaskId) {
        let waiting = self.waiting.lock().remove(&task);
        if let Some(waiting) = waiting {
            waiting.waker.wake();
        }
    }

    // ---- the end ----

    /// Ends the run, unless it has ended already.
    pub fn end(&self, ending: Ending) {
        let mut slot = self.ending.lock();
        if slot.is_none() {
            *slot = Some(ending);
        }
        drop(slot);
        self.stopping.store(true, SeqCst);
        let wakers: Vec<Waker> = self.waiting.lock().drain().map(|(_, waiting)| waiting.waker).collect();
        wakers.into_iter().for_each(Waker::wake);
        self.rouse();
        self.idle.wake_all();
        if let Some(remote) = &self.remote {
            remote.wake_beat();
        }
        self.ended.notify_all();
    }

    /// Ends the run because of a bug of this program.
    pub fn end_by_panic(&self) {
        let message = "a worker panicked; this is a bug in Sateen, please report it".to_owned();
        if let Some(remote) = &self.remote {
            remote.notify(Notice::Unable(message.clone()));
        }
        self.end(Ending::Host(message));
    }

    /// What an instance that stopped means for the run.
    pub fn end_by(&self, stop: Stop) {
        if let Some(remote) = &self.remote {
            // The run goes on elsewhere, or is ended by its driver.
            return match stop {
                Stop::Replica(JobFailure { job, message, backtrace }) => {
                    remote.notify(Notice::Failed(sateen_protocol::JobFailure { job, message, backtrace }));
                }
                Stop::Limit(limit) => remote.notify(Notice::Limit(limit.to_string())),
                Stop::Host(message) => remote.notify(Notice::Unable(message)),
                Stop::Failed(_) | Stop::Stopped | Stop::Aborted | Stop::Evicted => {}
            };
        }
        match stop {
            Stop::Failed(failure) | Stop::Replica(failure) => self.end(Ending::Failed(failure)),
            Stop::Limit(limit) => self.end(Ending::Limit(limit)),
            Stop::Host(message) => self.end(Ending::Host(message)),
            Stop::Stopped | Stop::Aborted | Stop::Evicted => {}
        }
    }

    pub fn is_stopping(&self) -> bool {
        self.stopping.load(SeqCst)
    }

    /// Waits for the end, at most for `patience`.
    pub fn wait(&self, patience: Duration) -> Option<Ending> {
        let mut slot = self.ending.lock();
        if slot.is_none() {
            self.ended.wait_for(&mut slot, patience);
        }
        slot.clone()
    }

    /// Notes that a job which `from` exposed runs on this worker.
    pub fn note_steal(&self, from: usize) {
        if own_index() != Some(from) {
            self.counters.stolen.fetch_add(1, Relaxed);
        }
    }
}

fn next_of(queue: &Injector<Runnable>) -> Option<Runnable> {
    loop {
        match queue.steal() {
            Steal::Success(runnable) => return Some(runnable),
            Steal::Empty => return None,
            Steal::Retry => {}
        }
    }
}
