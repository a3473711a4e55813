//! One run as the workers of this host share it: what there is to do, who may do it, and how it ends. What it has to do
//! with other hosts is behind [`Grid`]; nothing here knows more of them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_task::Runnable;
use crossbeam_deque::Stealer;
use sateen_protocol::Bytes;
use sateen_protocol::message::NoteKind;
use sateen_protocol::shared::Writer;
use wasmtime::ModuleExport;

use super::activity::Doing;
use super::deques::{Deques, is_worker_of};
use super::ending::{End, Ending};
use super::figures::{Counters, GridCounts, Snapshot};
use super::grain::Grains;
use super::idle::Idle;
use super::inputs::Inputs;
use super::job::{Job, Outcome};
use super::objects::{Object, Objects};
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

/// The part of a run that goes beyond this host. In a run on this host alone nothing of this does anything, and every
/// question is answered with no, none or zero.
pub trait Grid: Sized + Send + Sync + 'static {
    // ---- other hosts, and what they want ----

    /// Whether other hosts take part.
    fn has_hosts(&self) -> bool;
    /// Workers of other hosts that wait for jobs of this one.
    fn thieves(&self) -> usize;
    /// Whether this host leaves: it begins nothing new, and guests expose all that is latent.
    fn is_draining(&self) -> bool;
    /// Whether guests are to stand still, and workers to take nothing new.
    fn is_paused(&self) -> bool;
    /// Whether there may be a job of another host that nobody has begun.
    fn is_injected(&self) -> bool;
    /// A job of another host that nobody has begun.
    fn find_injected(&self) -> Option<Arc<Job>>;
    /// An open job that came back from another host.
    fn find_returned(&self) -> Option<Arc<Job>>;

    // ---- jobs ----

    /// A job that a guest exposes is open, and no worker can find it yet.
    fn list_open(&self, job: &Arc<Job>);
    /// There is a job that a thief elsewhere can be given.
    fn announce_exposed(&self);
    /// An open job was claimed.
    fn unlist(&self, job: &Job);
    /// Claims the open job for a question to others, if they may know its result. False if not, or if somebody else has
    /// claimed it.
    fn ask_first(registry: &Registry<Self>, job: &Arc<Job>) -> bool;
    /// Nobody wants this job any more; true if it was elsewhere.
    fn give_up(&self, job: &Job) -> bool;
    /// A task begins with a job that was claimed: where that stands, and whether it repeats what was lost.
    fn begin(&self, job: &Job, parameters: &[u8]) -> Option<(Ancestry, bool)>;
    /// The task of a job has ended so.
    fn note_end(&self, job: &Job, ancestry: &Ancestry, what: NoteKind);
    /// The outcome of a task's job, unless that goes elsewhere.
    fn deliver(
        registry: &Registry<Self>,
        job: &Job,
        ancestry: Option<&Ancestry>,
        outcome: Outcome,
    ) -> Option<Outcome>;
    /// The task that ran `job` was evicted: the job is open again, or goes back to the host that it came from.
    fn put_back(registry: &Registry<Self>, job: &Arc<Job>, ancestry: Option<&Ancestry>);

    // ---- workers ----

    /// Notes the new activity of this worker; returns its previous one, if known.
    fn begin_doing(&self, doing: Doing) -> Option<Doing>;
    /// Before a worker claims anything to do for guests,
    fn begin_computing(&self);
    /// and when it has done it.
    fn end_computing(registry: &Registry<Self>);
    /// Notes why this worker has nothing to do.
    fn note_rest(registry: &Registry<Self>);
    /// A worker begins its sleep,
    fn begin_sleep(registry: &Registry<Self>);
    /// and ends it.
    fn end_sleep(registry: &Registry<Self>);
    /// The number of workers that need a job may have changed.
    fn announce_idle(registry: &Registry<Self>);
    /// Guests that stand still check whether they must still do so.
    fn look_again(&self);

    // ---- shared objects ----

    /// A job of this host has created an object.
    fn create_object(&self, object: &Object);
    /// A job of this host has a reference to an object that has no replica here.
    fn open_object(&self, object: &Object);
    /// A job of this host has updated an object; true if other hosts will get the update. Called while the replica
    /// is locked.
    fn update_object(&self, object: &Object, writer: Writer, seq: u64, update: Bytes) -> bool;

    // ---- the run ----

    /// The root's job has reported this progress: done and total.
    fn report_progress(&self, done: u64, total: u64);
    /// Counts of jobs that involve other hosts; `open` is the number of open jobs.
    fn counts(&self, open: impl FnOnce() -> usize) -> GridCounts;
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

/// How a run is run.
pub struct Settings {
    /// Workers.
    pub threads: usize,
    pub limits: Limits,
    /// Every job in an instance of its own.
    pub pristine: bool,
    /// Whether to measure the program's work and span.
    pub profiler: Option<Profiler>,
    pub log: Arc<dyn Fn(LogLine) + Send + Sync>,
    /// The entry point of a root that is scheduled like any other job, and its export.
    pub root: Option<(String, ModuleExport)>,
    /// The run's part in the turns of a host that computes with a fixed number of threads.
    pub turns: Option<TurnsOfRun>,
}

/// One run, as its workers see it.
pub struct Registry<G> {
    pub app: App,
    settings: Settings,
    inputs: Inputs,
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
            room: Room::new(memory, app.0.memory_bytes_min),
            idle: Idle::default(),
            deques: Deques::new(stealers),
            tasks: Tasks::new(),
            objects: Objects::new(),
            tempo: Tempo::default(),
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

    /// The input `name`, and a note that it was asked for.
    pub fn input(&self, name: &str) -> Option<Arc<[u8]>> {
        self.inputs.read(name)
    }

    /// Inputs that no job has asked for.
    pub fn unread_inputs(&self) -> Vec<String> {
        self.inputs.unread()
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

    // ---- what there is to do ----

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

    // ---- who looks up, and when ----

    /// Guests must be notified of a change: at once, if it is the first since the last beat. Further changes wait
    /// for the beats, which are quick now.
    pub fn hasten(&self) {
        if self.tempo.make_haste() {
            self.move_epoch();
        }
    }

    /// Makes every computing guest check for news as soon as possible, without waiting for the next beat.
    pub fn move_epoch(&self) {
        self.app.0.engine.inner.increment_epoch();
    }

    /// Guests that stand still, for a pause or until it is their turn, check whether they must still do so;
    /// computing guests check for news.
    pub fn rouse(&self) {
        self.move_epoch();
        self.grid.look_again();
        if let Some(turns) = &self.settings.turns {
            turns.look_again();
        }
    }

    /// Whether only workers with a turn compute.
    pub fn has_turns(&self) -> bool {
        self.settings.turns.is_some()
    }

    /// Called before this worker computes: waits for a turn, if there are turns, unless `is_over`. A host that
    /// leaves does not wait: its guests must come to rest soon.
    pub fn begin_turn(&self, is_over: impl Fn() -> bool) {
        let Some(turns) = &self.settings.turns else { return };
        let mut did = None;
        turns.begin(
            || did = self.grid.begin_doing(Doing::Others),
            || self.is_stopping() || self.is_draining() || is_over(),
        );
        if let Some(did) = did {
            self.grid.begin_doing(did);
        }
    }

    // ---- what is counted ----

    /// Number of workers that compute, as far as is known.
    pub fn busy(&self) -> usize {
        match &self.settings.turns {
            // Workers of a host that leaves need no turn.
            Some(turns) if !self.is_draining() => turns.held(),
            _ => self.threads().saturating_sub(self.idle.hungry()),
        }
    }

    pub fn report_progress(&self, done: u64, total: u64) {
        let done = done.min(total);
        self.counters.report_progress(done, total);
        self.grid.report_progress(done, total);
    }

    pub fn snapshot(&self) -> Snapshot {
        let counters = &self.counters;
        Snapshot {
            jobs: counters.jobs(|| self.grid.counts(|| self.deques.open_count())),
            busy: self.busy(),
            threads: self.threads(),
            progress: counters.progress(),
            work: counters.work(),
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
