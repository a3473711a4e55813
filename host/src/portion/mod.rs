//! A host's portion of a run that is spread over many hosts.
//!
//! A [`Portion`] runs jobs that its driver injects, lends the driver jobs for thieves elsewhere, and takes
//! their outcomes. It does not use the network; the driver does. Many portions may exist at once. Each should
//! have an engine of its own, so that it need not share instances.

#[cfg(unix)]
mod brake;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

pub use crate::scheduler::TakeNotices;
pub use sateen_protocol::host::{Notice, RunCommand};
use sateen_protocol::limits::RECORD_EVERY_MS;
use sateen_protocol::message::LogLine;
use sateen_protocol::{JobSpec, RuntimeJobId};

use crate::failure::RunError;
use crate::memory::HostMemory;
use crate::module::App;
use crate::scheduler::{
    Ending, Keys, Metronome, Priority, Recorded, Registry, RegistryParts, Remote, RemoteParts, Settings,
    Snapshot, Threads, Turns,
};

/// The heartbeat sleeps after this many beats in which no guest computed.
const BEATS_BEFORE_SLEEP: u32 = 8;

/// How to take part in a run.
pub struct PortionOptions {
    /// The entry point of the run's root job.
    pub function: String,
    /// The run's inputs, by name.
    pub inputs: BTreeMap<String, Arc<[u8]>>,
    /// Part of the keys of its jobs: everything except parameters on which their results depend, for example
    /// the inputs.
    pub salt: Vec<u8>,
    /// Distinguishes the run from others: part of the keys of jobs that use shared objects.
    pub run_name: Vec<u8>,
    /// Workers; at least one.
    pub threads: usize,
    /// The workers' priority over the machine's other threads.
    pub priority: Priority,
    /// How often a computing guest exposes a job in order to record its result. `None`: nothing is recorded,
    /// and a crash loses all work.
    pub record_every: Option<Duration>,
    /// Later runs may find its results, so all that are worth it are recorded, and not only those that a crash would lose.
    pub keeps_results: bool,
    /// The memory that its guests share with those of other portions; without it, only the run's limits hold.
    pub memory: Option<HostMemory>,
    /// Turns, if several portions share a host's threads; without them, all of a portion's workers may compute
    /// at once.
    pub turns: Option<Turns>,
    /// Whether short jobs of one parent may share an instance, as when it calls them. If results are compared with those of
    /// other hosts, an app that keeps state in statics would seem to be a host that lies.
    pub may_share_instances: bool,
    /// Takes notices, in their order. Called on workers' threads and on threads that call this portion's methods. It must
    /// return at once, never block, and never call the portion.
    pub notify: TakeNotices,
    /// Called on the thread of a worker that has nothing to do, if a job was [spared](Portion::spare): it is wanted back,
    /// unless a thief has it. The same holds as for `notify`.
    pub reclaim: Arc<dyn Fn() + Send + Sync>,
}

impl Default for PortionOptions {
    /// `main` without inputs, on all cores, with the default interval of recording.
    fn default() -> Self {
        Self {
            function: "main".to_owned(),
            inputs: BTreeMap::new(),
            salt: Vec::new(),
            run_name: Vec::new(),
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            priority: Priority::Normal,
            record_every: Some(Duration::from_millis(RECORD_EVERY_MS.into())),
            keeps_results: false,
            memory: None,
            turns: None,
            may_share_instances: true,
            notify: Arc::new(|_| {}),
            reclaim: Arc::new(|| {}),
        }
    }
}

/// This host's portion of a run. It has no root of its own and no end: it lives until it is stopped or dropped.
/// Without work it costs nothing. All methods may be called from any thread and return at once, except
/// [`stop`](Self::stop).
pub struct Portion {
    registry: Arc<Registry>,
    threads: Threads,
}

impl Portion {
    /// Starts the workers of a portion. The app's limits hold, except those on a run's time, which its driver
    /// enforces.
    ///
    /// # Errors
    /// If there is no such entry point, or threads cannot be started.
    pub fn start(app: &App, options: PortionOptions) -> Result<Self, RunError> {
        let root = app.main(&options.function)?;
        let notify = options.notify.clone();
        let salt_within_run = [options.salt.as_slice(), b" in ", &options.run_name].concat();
        let parts = RemoteParts {
            keys: Arc::new(Keys {
                root: app.main_keys(&options.function, &options.salt),
                by_kind: app.0.jobs.iter().map(|(name, _)| app.job_keys(name, &options.salt)).collect(),
                within_run: app.0.jobs.iter().map(|(name, _)| app.job_keys(name, &salt_within_run)).collect(),
                run_name: options.run_name,
            }),
            recording: Recorded { every: options.record_every, keeps_all: options.keeps_results },
            notify: options.notify,
            reclaim: options.reclaim,
        };
        let remote = Remote::new(parts, options.threads);
        let settings = Settings {
            threads: options.threads,
            limits: app.0.engine.limits.clone(),
            pristine: false,
            may_share_instances: options.may_share_instances,
            profiler: None,
            log: Arc::new(move |line| {
                let line = LogLine { job: line.tag, function: line.job, text: line.text };
                notify(&mut std::iter::once(Notice::Log(line)));
            }),
            root: Some((options.function, root)),
            turns: options.turns.as_ref().map(Turns::join),
        };
        let parts =
            RegistryParts { app: app.clone(), settings, inputs: options.inputs, memory: options.memory };
        let threads = Threads::new(parts, options.priority, Some(remote))?;
        let mut portion = Self { registry: threads.registry.clone(), threads };
        if let Some(memory) = portion.registry.room.memory() {
            memory.add_run(&portion.registry);
        }
        portion.threads.start(beat)?;
        Ok(portion)
    }

    fn with<T>(&self, act: impl FnOnce(&Registry, &Remote) -> T) -> Option<T> {
        self.registry.grid.as_ref().map(|remote| act(&self.registry, remote))
    }

    /// Does what its driver's state machine wants.
    pub fn handle(&self, command: RunCommand) {
        let registry = &*self.registry;
        let Some(remote) = registry.grid.as_ref() else { return };
        match command {
            RunCommand::Inject { held, spec, was_begun } => remote.inject(registry, held, spec, was_begun),
            RunCommand::Replica { object, place, change } => registry.change_object(object, place, change),
            RunCommand::Want { thieves } => remote.want(registry, thieves),
            RunCommand::Offer { more } => {
                remote.send_lent(remote.offer(registry, more), |jobs| remote.notify(Notice::Offered(jobs)));
            }
            RunCommand::Complete { number, finished, is_found_again } => {
                remote.complete_away(registry, number, finished, is_found_again);
            }
            RunCommand::Requeue { number, again } => remote.requeue(registry, number, again),
            RunCommand::Lookups { jobs } => remote.lookups.set(&jobs),
            RunCommand::Abort { held } => remote.abort_held(registry, held),
            RunCommand::Drain => remote.drain(registry),
        }
    }

    /// Gives up an open job, if there is one, and at most `more` that are like it; [`RunCommand::Offer`] does so with a notice
    /// as the answer.
    pub fn offer(&self, more: usize) -> Vec<(RuntimeJobId, JobSpec)> {
        self.with(|registry, remote| remote.offer(registry, more)).unwrap_or_default()
    }

    /// Gives up at most `most` open jobs for the next thieves, if more jobs are open than there are workers, and passes them
    /// to `send`. A redone job is not given up: before a thief comes, its result may be found. A job comes back by
    /// [`RunCommand::Requeue`], like one that was offered.
    pub fn spare(&self, most: usize, send: impl FnOnce(Vec<(RuntimeJobId, JobSpec)>)) {
        self.with(|registry, remote| remote.send_lent(remote.spare(registry, most), send));
    }

    /// Workers take no new jobs and guests stop at their next heartbeat, without using the processor, until the
    /// pause ends.
    pub fn pause(&self, paused: bool) {
        self.with(|registry, remote| remote.set_paused(registry, paused));
    }

    /// The current state of the portion. Sums over all hosts are the run's figures.
    pub fn counts(&self) -> Snapshot {
        self.registry.snapshot()
    }

    /// Details of the portion for people, since the last call.
    pub fn activity(&self) -> Option<Notice> {
        activity(&self.registry)
    }

    /// Its state, for other threads.
    #[cfg(target_os = "linux")]
    pub(crate) fn observer(&self) -> Observer {
        Observer(self.registry.clone())
    }

    /// Ends everything at once; no more notices are sent. Returns when no thread is left, with the final state of
    /// the portion and its last [`activity`](Self::activity).
    pub fn stop(mut self) -> (Snapshot, Option<Notice>) {
        self.end();
        (Snapshot { busy: 0, ..self.counts() }, self.activity())
    }

    fn end(&mut self) {
        self.with(|_, remote| remote.notices.close());
        self.registry.end(Ending::Cancelled);
        self.threads.join();
    }
}

/// The state of a portion, as its methods of the same names return it.
#[cfg(target_os = "linux")]
pub(crate) struct Observer(Arc<Registry>);

#[cfg(target_os = "linux")]
impl Observer {
    pub fn counts(&self) -> Snapshot {
        self.0.snapshot()
    }

    pub fn activity(&self) -> Option<Notice> {
        activity(&self.0)
    }
}

fn activity(registry: &Registry) -> Option<Notice> {
    registry.grid.as_ref().map(|remote| {
        let (jobs, jobs_dropped) = remote.activity.take_notes();
        let ahead_ns = registry.counters.forecast.ahead_ns();
        Notice::Activity { workers: remote.activity.times(), ahead_ns, jobs, jobs_dropped }
    })
}

impl Drop for Portion {
    fn drop(&mut self) {
        self.end();
    }
}

/// The heartbeat's clock. It stands still while no guest computes.
fn beat(registry: &Registry) {
    let Some(remote) = &registry.grid else { return };
    let mut metronome = Metronome::new(registry);
    let mut quiet = 0;
    while metronome.wait() {
        remote.activity.tick();
        registry.look_for_objects();
        remote.look_for_rest(registry);
        remote.notices.send_recorded(false);
        if remote.is_computing() || remote.is_to_rest() || registry.objects.is_anybody_waiting() {
            quiet = 0;
            registry.ring();
        } else if quiet < BEATS_BEFORE_SLEEP {
            quiet += 1;
        } else {
            remote.notices.send_recorded(true);
            // A guest that began may already wait for an object: its guard has a limit, and replicas are fetched.
            remote.sleep_until_computing(|| {
                registry.is_stopping() || remote.is_to_rest() || registry.objects.is_anybody_waiting()
            });
            quiet = 0;
            metronome.restart();
        }
    }
    metronome.end();
}
