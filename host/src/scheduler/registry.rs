//! One run, shared by the workers of this host: its open jobs and tasks, their limits, and its end. Everything that
//! involves other hosts is behind the trait [`Grid`].

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_task::Runnable;
use crossbeam_deque::Stealer;
use sateen_protocol::Bytes;
use sateen_protocol::message::NoteKind;
use sateen_protocol::shared::NewBase;
use wasmtime::ModuleExport;

use super::activity::{Activity, Doing};
use super::deques::{Deques, is_worker_of};
use super::ending::{End, Ending};
use super::figures::{Counters, GridCounts, JobCounts, Snapshot};
use super::grain::Grains;
use super::idle::Idle;
use super::inputs::Inputs;
use super::job::{Job, Outcome};
use super::objects::{Closed, Object, Objects};
use super::permits::Permits;
use super::place::Ancestry;
use super::room::Room;
use super::tasks::Tasks;
use super::tempo::Tempo;
use super::turns::TurnsOfRun;
use crate::failure::Stop;
use crate::guest::{LogLine, Profiler};
use crate::limits::Limits;
use crate::memory::HostMemory;
use crate::module::App;

/// The part of a run that involves other hosts. In a run on this host alone, these methods do nothing and return false,
/// none or zero.
pub trait Grid: Sized + Send + Sync + 'static {
    // ---- other hosts ----

    /// Whether other hosts take part.
    fn has_hosts(&self) -> bool;
    /// Workers of other hosts that wait for jobs of this one.
    fn thieves(&self) -> usize;
    /// Whether this host leaves: it begins no new jobs, and guests expose all latent jobs.
    fn is_draining(&self) -> bool;
    /// Whether this host leaves, and its guests have come to rest.
    fn is_at_rest(&self) -> bool;
    /// Whether guests must stand still and workers must take no new jobs.
    fn is_paused(&self) -> bool;
    /// Whether there may be a job of another host that has not begun.
    fn is_injected(&self) -> bool;
    /// A job of another host that has not begun.
    fn find_injected(&self) -> Option<Arc<Job>>;
    /// An open job that came back from another host.
    fn find_returned(&self) -> Option<Arc<Job>>;

    // ---- jobs ----

    /// Called when a guest exposes a job: the job is open, and no worker can find it yet.
    fn list_open(&self, job: &Arc<Job>);
    /// Announces a job that can be given to a thief elsewhere.
    fn announce_exposed(&self);
    /// Called when an open job was claimed.
    fn unlist(&self, job: &Job);
    /// Claims the open job for a lookup, if other hosts may know its result. Returns false if they do not, or if the
    /// job was already claimed.
    fn ask_first(registry: &Registry<Self>, job: &Arc<Job>) -> bool;
    /// The job is no longer wanted. Returns true if it was elsewhere.
    fn give_up(&self, counters: &Counters, job: &Job) -> bool;
    /// A task begins with a claimed job. Returns the job's place in the run, and whether the task repeats lost work.
    fn begin(&self, job: &Job, parameters: &[u8]) -> Option<(Ancestry, bool)>;
    /// Notes how the task of a job has ended.
    fn note_end(&self, job: &Job, ancestry: &Ancestry, what: NoteKind);
    /// Delivers the outcome of a task's job. Returns it if it does not go elsewhere.
    fn deliver(
        registry: &Registry<Self>,
        job: &Job,
        ancestry: Option<&Ancestry>,
        outcome: Outcome,
    ) -> Option<Outcome>;
    /// Sends the outcomes of other hosts' jobs that wait for the worker's next notice.
    fn flush(&self);
    /// The task that ran `job` was evicted: the job is open again, or goes back to the host that it came from.
    fn put_back(registry: &Registry<Self>, job: &Arc<Job>, ancestry: Option<&Ancestry>);

    // ---- workers ----

    /// The workers' clocks, if others look at them.
    fn activity(&self) -> Option<&Arc<Activity>>;
    /// Notes the new activity of this worker; returns its previous one, if known.
    fn begin_doing(&self, doing: Doing) -> Option<Doing>;
    /// Called before a worker claims work for guests.
    fn begin_computing(&self);
    /// Called when the worker has done that work.
    fn end_computing(registry: &Registry<Self>);
    /// Notes why this worker has no work.
    fn note_rest(registry: &Registry<Self>);
    /// Called when a worker begins to sleep.
    fn begin_sleep(registry: &Registry<Self>);
    /// Called when a worker wakes.
    fn end_sleep(registry: &Registry<Self>);
    /// The number of workers that need a job may have changed.
    fn announce_idle(registry: &Registry<Self>);
    /// Guests that stand still check whether they must still do so.
    fn look_again(&self);

    // ---- shared objects ----

    /// A job of this host has created an object.
    fn create_object(&self, object: &Object, initial: Bytes);
    /// A job of this host has a reference to an object that has no place here yet.
    fn open_object(&self, object: &Object);
    /// A job of this host has updated an object. Returns true if a state machine will get the update. Called while the
    /// view is locked.
    fn update_object(&self, object: &Object, update: Bytes) -> bool;
    /// A guest of this host has made a new base. Called while the view is locked.
    fn rebase_object(&self, object: &Object, new: NewBase);
    /// What to call with each object of which the last reference here is gone, with nothing locked but the list of objects.
    fn closed_objects(&self) -> Option<Closed>;

    // ---- the run ----

    /// The root's job has reported this progress: done and total.
    fn report_progress(&self, done: u64, total: u64);
    /// Counts of jobs that involve other hosts; `open` is the number of open jobs.
    fn counts(&self, open: usize) -> GridCounts;
    /// Handles the effect of a stopped instance on the run, unless others must decide about it.
    fn hand_over(&self, stop: Stop) -> Option<Stop>;
    /// This host cannot continue the run.
    fn announce_unable(&self, why: &str);
    /// The run has ended.
    fn end(&self);
}

/// The parameters of a run.
pub struct RegistryParts {
    pub app: App,
    pub settings: Settings,
    pub inputs: BTreeMap<String, Arc<[u8]>>,
    /// The memory that this run's guests share with those of other runs, if it is limited.
    pub memory: Option<HostMemory>,
}

/// The settings of a run.
pub struct Settings {
    /// The number of workers.
    pub threads: usize,
    pub limits: Limits,
    /// Whether every job runs in an instance of its own, and none is called in place.
    pub pristine: bool,
    /// Whether short jobs of one parent may share an instance.
    pub may_share_instances: bool,
    /// Whether to measure the program's work and span.
    pub profiler: Option<Profiler>,
    pub log: Arc<dyn Fn(LogLine) + Send + Sync>,
    /// The entry point of a root that is scheduled like any other job, and its export.
    pub root: Option<(String, ModuleExport)>,
    /// The run's part in the turns of a host that computes with a fixed number of threads.
    pub turns: Option<TurnsOfRun>,
}

/// A run, shared by its workers.
pub struct Registry<G> {
    pub app: App,
    pub settings: Settings,
    pub inputs: Inputs,
    pub counters: Counters,
    /// How long jobs take.
    pub grains: Grains,
    /// Calls of guests' attempts that have not returned.
    pub attempts: Permits,
    pub instances: Permits,
    pub room: Room,
    pub idle: Idle,
    pub(super) deques: Deques,
    pub tasks: Tasks,
    pub objects: Objects,
    pub tempo: Tempo,
    end: End,
    /// The part that only a portion of a run has.
    pub grid: G,
}

impl<G: Grid> Registry<G> {
    pub fn new(parts: RegistryParts, grid: G, stealers: Vec<Stealer<Arc<Job>>>) -> Self {
        let RegistryParts { app, settings, inputs, memory } = parts;
        Self {
            inputs: Inputs::new(inputs),
            counters: Counters::new(),
            grains: Grains::new(app.0.jobs.len()),
            attempts: Permits::new(settings.limits.attempts_max),
            instances: Permits::new(settings.limits.instances_max),
            objects: Objects::new(grid.closed_objects(), memory.clone()),
            room: Room::new(memory, app.0.memory_bytes_min),
            idle: Idle::default(),
            deques: Deques::new(stealers),
            tasks: Tasks::new(),
            tempo: Tempo::new(settings.threads),
            end: End::default(),
            app,
            settings,
            grid,
        }
    }

    pub fn limits(&self) -> &Limits {
        &self.settings.limits
    }

    pub fn threads(&self) -> usize {
        self.settings.threads
    }

    pub fn job_name(&self, kind: usize) -> &str {
        match self.app.0.jobs.get(kind) {
            Some((name, _)) => name,
            None => self.settings.root.as_ref().map_or("", |(name, _)| name),
        }
    }

    /// The export that runs a job.
    pub fn export(&self, kind: usize) -> Option<ModuleExport> {
        match self.app.0.jobs.get(kind) {
            Some((_, export)) => Some(*export),
            None => self.settings.root.as_ref().map(|(_, export)| *export),
        }
    }

    pub fn log(&self, line: LogLine) {
        (self.settings.log)(line);
    }

    /// Measures the program's work and span, if requested.
    pub fn profiler(&self) -> Option<&Profiler> {
        self.settings.profiler.as_ref()
    }

    pub fn is_pristine(&self) -> bool {
        self.settings.pristine
    }

    pub fn is_draining(&self) -> bool {
        self.grid.is_draining()
    }

    pub fn is_paused(&self) -> bool {
        self.grid.is_paused() && !self.is_stopping()
    }

    // ---- work ----

    /// Whether there is work for a worker now.
    pub fn is_work(&self) -> bool {
        if self.is_stopping() {
            return self.tasks.is_ready() || !self.tasks.are_left();
        }
        if self.is_paused() {
            return false;
        }
        self.tasks.is_ready()
            || (!self.is_draining()
                && ((self.deques.open_count() > 0 && self.instances.free() > self.reserve())
                    || (self.grid.is_injected() && self.instances.are_left()))
                && self.room.may_begin())
    }

    /// A suspended task is ready; the first free worker takes it.
    pub fn schedule(self: &Arc<Self>, runnable: Runnable, is_urgent: bool) {
        self.tasks.push(runnable, is_urgent);
        if is_urgent {
            self.hasten();
        }
        // A worker that completes a job looks here next.
        if !is_worker_of(self) {
            self.idle.wake_one();
        }
    }

    pub fn end_task(&self) {
        if self.tasks.end() || self.is_stopping() {
            self.idle.wake_all();
        }
    }

    // ---- when guests check for news ----

    /// Guests that stand still, for a pause or until it is their turn, check whether they must still do so;
    /// computing guests check for news.
    pub fn rouse(&self) {
        self.ring();
        self.grid.look_again();
        if let Some(turns) = &self.settings.turns {
            turns.look_again();
        }
    }

    // ---- counts ----

    /// Number of workers that compute, as far as is known.
    pub fn busy(&self) -> usize {
        match &self.settings.turns {
            // Workers of a host that leaves need no turn.
            Some(turns) if !self.is_draining() => turns.held(),
            _ => self.threads().saturating_sub(self.idle.hungry()),
        }
    }

    /// Processor time of guests so far.
    pub fn work(&self) -> Duration {
        self.counters.work() + self.tempo.signals.unreported_work()
    }

    /// A job that had an instance of its own has ended, on this host or on another.
    pub fn note_work(&self, job: &Job, work: Duration) {
        self.grains.note(job.kind, job.depth, work);
        self.counters.forecast.note(job.depth, 1, work);
    }

    pub fn report_progress(&self, done: u64, total: u64) {
        let done = done.min(total);
        self.counters.report_progress(done, total);
        self.grid.report_progress(done, total);
    }

    fn jobs(&self) -> JobCounts {
        let open = self.deques.open_count();
        let is_over = self.is_stopping() || self.grid.is_at_rest();
        self.counters.jobs(is_over.then_some(open as u64), || self.grid.counts(open))
    }

    pub fn snapshot(&self) -> Snapshot {
        let counters = &self.counters;
        Snapshot {
            jobs: self.jobs(),
            busy: self.busy(),
            threads: self.threads(),
            progress: counters.progress(),
            work: self.work(),
            redone_work: counters.redone_work(),
            instances: self.tasks.count(),
            objects: self.objects.figures(),
            elapsed: counters.elapsed(),
        }
    }

    // ---- the end ----

    /// Ends the run, unless it has ended already.
    pub fn end(&self, ending: Ending) {
        self.end.begin(ending);
        self.tasks.wake_all();
        self.rouse();
        self.idle.wake_all();
        self.grid.end();
        self.end.announce();
    }

    /// Ends the run because of a bug in this program.
    pub fn end_by_panic(&self) {
        let message = "a worker panicked; this is a bug in Sateen, please report it".to_owned();
        self.grid.announce_unable(&message);
        self.end(Ending::Host(message));
    }

    /// Handles the effect of a stopped instance on the run.
    pub fn end_by(&self, stop: Stop) {
        match self.grid.hand_over(stop) {
            Some(Stop::Failed(failure) | Stop::Replica(failure)) => self.end(Ending::Failed(failure)),
            Some(Stop::Limit(limit)) => self.end(Ending::Limit(limit)),
            Some(Stop::Host(message)) => self.end(Ending::Host(message)),
            Some(Stop::Stopped | Stop::Aborted | Stop::Evicted) | None => {}
        }
    }

    pub fn is_stopping(&self) -> bool {
        self.end.has_come()
    }

    /// Waits for the end, at most for `patience`.
    pub fn wait(&self, patience: Duration) -> Option<Ending> {
        self.end.wait(patience)
    }
}
