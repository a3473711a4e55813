//! A run: one execution of an app with arguments, on this machine.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use sateen_abi::SHAPE_PREFIX;
use serde::Deserialize;

use crate::failure::RunError;
use crate::guest::{Assignment, LogLine, Profiler, ProgramProfile};
use crate::limits::LimitExceeded;
use crate::module::{App, encode_arguments};
use crate::scheduler::{
    Ending, JobCounts, Metronome, ObjectFigures, Priority, Registry, RegistryParts, Settings, Snapshot, Task,
    Threads, Turns, start_task,
};

/// How to run an app.
pub struct RunOptions {
    /// The entry point's name.
    pub function: String,
    /// The words of the command line.
    pub arguments: Vec<String>,
    /// The inputs, by name.
    pub inputs: BTreeMap<String, Vec<u8>>,
    /// Workers; at least one.
    pub threads: usize,
    /// Run every job in an instance of its own, to detect jobs that keep state in statics.
    pub pristine: bool,
    /// Measure the program's work and span, whatever the schedule.
    pub profile: bool,
    /// Receives the app's log lines, from any thread.
    pub log: Arc<dyn Fn(LogLine) + Send + Sync>,
}

impl Default for RunOptions {
    /// `main` without arguments, on all cores; the log is dropped.
    fn default() -> Self {
        Self {
            function: "main".to_owned(),
            arguments: Vec::new(),
            inputs: BTreeMap::new(),
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            pristine: false,
            profile: false,
            log: Arc::new(|_| {}),
        }
    }
}

/// The output of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Text for people, without a newline at the end.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

/// A finished run.
#[derive(Debug, Clone)]
pub struct Finished {
    /// The app's result.
    pub output: Output,
    /// Counts of its jobs, by outcome.
    pub jobs: JobCounts,
    /// Time that all workers together computed.
    pub work: Duration,
    /// The longest chain of jobs that had to wait for one another, as they were scheduled; calls in place count
    /// as one with their caller. With one worker it is all the work.
    pub span: Duration,
    /// Work and span of the program, if requested.
    pub profile: Option<ProgramProfile>,
    /// Its shared objects.
    pub objects: ObjectFigures,
    /// From start to end.
    pub elapsed: Duration,
    /// Workers.
    pub threads: usize,
    /// Inputs that were given and never read.
    pub unread_inputs: Vec<String>,
    /// Lines of the log that were dropped because there were too many.
    pub log_lines_dropped: u64,
}

/// A run that is under way. Dropping it cancels the run.
pub struct Run {
    registry: Arc<Registry>,
    threads: Threads,
    /// Whether it runs an entry point, whose result has an encoding that all apps share.
    is_whole: bool,
}

/// Cancels its run, from any thread.
#[derive(Clone)]
pub struct Canceller(Arc<Registry>);

impl Canceller {
    /// Cancels the run if it has not ended. Returns at once.
    pub fn cancel(&self) {
        self.0.end(Ending::Cancelled);
    }
}

impl Output {
    /// Decodes a root job's result.
    ///
    /// # Errors
    /// If the app returned an error, or the bytes are not the result of an entry point.
    pub fn decode(result: &[u8]) -> Result<Self, RunError> {
        let outcome = postcard::from_bytes(result).map_err(|error| {
            RunError::App(format!("the module breaks the ABI: its outcome cannot be read: {error}"))
        })?;
        match outcome {
            Outcome::Text(text) => Ok(Self::Text(text.to_owned())),
            Outcome::Bytes(bytes) => Ok(Self::Bytes(bytes.to_owned())),
            Outcome::Failed(message) => Err(RunError::App(message.to_owned())),
            Outcome::BadInput(message) => Err(RunError::BadInput(message.to_owned())),
        }
    }
}

/// How the guest's `main` ended; the SDK's `Outcome`.
#[derive(Deserialize)]
enum Outcome<'a> {
    Text(&'a str),
    Bytes(&'a [u8]),
    Failed(&'a str),
    BadInput(&'a str),
}

impl Run {
    /// Starts `app`.
    ///
    /// # Errors
    /// If there is no such entry point, or threads cannot be started.
    pub fn start(app: &App, options: RunOptions) -> Result<Self, RunError> {
        let export = app.main(&options.function)?;
        let parameters = encode_arguments(&options.arguments)?;
        let root = Assignment::Root { name: options.function.clone(), export };
        Self::begin(app, options, root, parameters, true)
    }

    /// Starts only the job `name` of `app`, with these encoded parameters; the entry point and the arguments of
    /// `options` are ignored. Its encoded result is returned as [`Output::Bytes`].
    ///
    /// # Errors
    /// If there is no such job, or threads cannot be started.
    pub fn start_job(
        app: &App,
        name: &str,
        parameters: Vec<u8>,
        options: RunOptions,
    ) -> Result<Self, RunError> {
        let root = Assignment::Root { name: name.to_owned(), export: app.job(name)? };
        Self::begin(app, options, root, parameters, false)
    }

    /// Asks `app` for the shapes of its job `name` (`docs/abi.md`). They are returned as [`Output::Bytes`].
    ///
    /// # Errors
    /// If the app does not report them, or threads cannot be started.
    pub fn start_shapes(app: &App, name: &str, options: RunOptions) -> Result<Self, RunError> {
        let export = format!("{SHAPE_PREFIX}{name}");
        let found = app.0.pages.module().get_export_index(&export);
        let export =
            found.ok_or_else(|| RunError::BadInput(format!("the app does not export `{export}`")))?;
        // It has no inputs.
        let options = RunOptions { pristine: true, ..options };
        Self::begin(app, options, Assignment::Root { name: name.to_owned(), export }, Vec::new(), false)
    }

    fn begin(
        app: &App,
        options: RunOptions,
        root: Assignment,
        parameters: Vec<u8>,
        is_whole: bool,
    ) -> Result<Self, RunError> {
        if options.profile && !app.0.measures {
            return Err(RunError::BadInput(
                "the module cannot be profiled: it does not import `measure`; build it with this release's SDK"
                    .to_owned(),
            ));
        }
        // Workers that took a core from one another would measure what that costs.
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let turns = (options.profile && options.threads > cores).then(|| Turns::of_one_run(cores));
        let settings = Settings {
            threads: options.threads,
            limits: app.0.engine.limits.clone(),
            pristine: options.pristine,
            may_share_instances: !options.pristine,
            profiler: options.profile.then(|| Profiler::new(app.0.jobs.len())),
            log: options.log,
            root: None,
            turns,
        };
        let inputs = options.inputs.into_iter().map(|(name, bytes)| (name, bytes.into())).collect();
        let parts = RegistryParts { app: app.clone(), settings, inputs, memory: None };
        let threads = Threads::new(parts, Priority::Normal, None)?;
        let registry = threads.registry.clone();
        let mut run = Self { registry: registry.clone(), threads, is_whole };
        let instance = registry
            .instances
            .acquire()
            .ok_or_else(|| RunError::Host("no instance is allowed".to_owned()))?;
        let task = Task {
            id: registry.tasks.new_id(),
            is_urgent: Arc::default(),
            repeats: Arc::default(),
            parameters: parameters.into(),
            ancestry: None,
        };
        start_task(&registry, task, root, instance, None);
        run.threads.start(beat)?;
        Ok(run)
    }

    /// The current state of the run.
    pub fn snapshot(&self) -> Snapshot {
        self.registry.snapshot()
    }

    /// A handle that cancels this run.
    pub fn canceller(&self) -> Canceller {
        Canceller(self.registry.clone())
    }

    /// Waits for the end, at most for `patience`; returns true if the run has ended.
    pub fn wait_for(&self, patience: Duration) -> bool {
        self.registry.wait(patience).is_some()
    }

    /// Waits for the end and returns the outcome.
    ///
    /// # Errors
    /// If the app failed or exceeded a limit, or the run was cancelled.
    pub fn wait(mut self) -> Result<Finished, RunError> {
        let ending = loop {
            if let Some(ending) = self.registry.wait(Duration::from_secs(3600)) {
                break ending;
            }
        };
        let elapsed = self.registry.counters.elapsed();
        self.threads.join();
        match ending {
            Ending::Finished(outcome, span) => self.finished(&outcome, span, elapsed),
            Ending::Failed(failure) => Err(RunError::Job(failure)),
            Ending::Limit(limit) => Err(RunError::Limit(limit)),
            Ending::Cancelled => Err(RunError::Cancelled),
            Ending::Host(message) => Err(RunError::Host(message)),
        }
    }

    fn finished(&self, outcome: &[u8], span: Duration, elapsed: Duration) -> Result<Finished, RunError> {
        let output = if self.is_whole { Output::decode(outcome)? } else { Output::Bytes(outcome.to_owned()) };
        let registry = &self.registry;
        let lines = registry.counters.log_lines.load(std::sync::atomic::Ordering::Relaxed);
        Ok(Finished {
            output,
            jobs: registry.snapshot().jobs,
            objects: registry.objects.figures(),
            // The chain's end is read a moment after the work was counted.
            work: registry.counters.work().max(span),
            span,
            profile: registry
                .profiler()
                .and_then(|profiler| profiler.profile(|kind| registry.job_name(kind).to_owned())),
            elapsed,
            threads: registry.threads(),
            unread_inputs: registry.inputs.unread(),
            log_lines_dropped: lines.saturating_sub(registry.limits().log_lines_max),
        })
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.registry.end(Ending::Cancelled);
        self.threads.join();
    }
}

/// The heartbeat's clock, and the limits on a run's time.
fn beat(registry: &Registry) {
    let mut metronome = Metronome::new(registry);
    while metronome.wait() {
        registry.ring();
        registry.look_for_objects();
        let limits = registry.limits();
        if let Some(limit) = limits.wall_time_max.filter(|limit| registry.counters.elapsed() > *limit) {
            registry.end(Ending::Limit(LimitExceeded::WallTime(limit)));
        }
        if let Some(limit) = limits.cpu_time_max.filter(|limit| registry.work() > *limit) {
            registry.end(Ending::Limit(LimitExceeded::CpuTime(limit)));
        }
    }
    metronome.end();
}
