//! The runtime that runs guests: [`crate::Portion`].

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sateen_comfort::governor::Brakes;
use sateen_command_line::explained;
use sateen_protocol::host::{FinalCounts, Notice, RunCommand};
use sateen_protocol::limits::HOST_TABLE_BYTES_MAX;
use sateen_protocol::{Counts, FaultTolerance, Jobs, RunLimits, RunSpec};

use super::control::{GuestsStatus, MayUse};
use super::runtime::{Cancel, Loading, Notify, RunningPortion, Runtime};
use crate::limits::TABLE_PART_OF_MEMORY;
use crate::{
    App, Compiler, Engine, HostMemory, Limits, ModuleCache, Portion, PortionOptions, Priority, RunError,
    Snapshot, Turns, size,
};

/// How often a run that is loaded while guests are held looks whether they still are.
const HELD_LOOK: Duration = Duration::from_millis(250);

/// Runs guests on this machine's cores.
pub struct Workers {
    /// Threads that compute at once, for all runs together.
    pub threads: usize,
    /// Turns of the runs that share them.
    pub turns: Turns,
    /// Their priority over the machine's other threads.
    pub priority: Priority,
    /// Memory of all guests of all runs together; one instance may not request more either.
    pub memory: Option<HostMemory>,
    /// Compiles apps; without one, this process does.
    pub compiler: Option<Compiler>,
    /// Why guests are not in processes of their own, for people.
    pub why_not_apart: Option<String>,
    /// The brakes of all portions, for the owner's governor.
    pub brakes: Brakes,
}

impl Runtime for Workers {
    fn threads(&self) -> usize {
        self.threads
    }

    fn may_use(&self) -> MayUse {
        may_use(self.threads, self.priority, self.memory.as_ref())
    }

    fn guests(&self) -> GuestsStatus {
        GuestsStatus { why_not: self.why_not_apart.clone(), ..GuestsStatus::default() }
    }

    fn result_passes(&self, bytes: usize) {
        if let Some(memory) = &self.memory {
            memory.pass_result(bytes);
        }
    }

    fn result_has_passed(&self, bytes: usize) {
        if let Some(memory) = &self.memory {
            memory.take_result(bytes);
        }
    }

    fn undelivered(&self, bytes: usize) {
        if let Some(memory) = &self.memory {
            memory.keep_undelivered(bytes);
        }
    }

    fn table_bytes_max(&self) -> usize {
        self.memory.as_ref().map_or(HOST_TABLE_BYTES_MAX, table_bytes_max)
    }

    fn start(&self, loading: Loading, notify: Notify) -> Result<Box<dyn RunningPortion>, String> {
        let spec = loading.spec;
        let memory_bytes_max = self.memory.as_ref().map(HostMemory::bytes_max);
        let limits = limits_for(&spec.limits, self.threads, memory_bytes_max, 1)?;
        let say = |error: RunError| error.to_string();
        let engine = engine_for(&limits, spec.strict_nan, memory_bytes_max, self.threads).map_err(say)?;
        await_go(&self.brakes, &loading.cancel)?;
        let app = match &self.compiler {
            Some(compiler) => {
                let cache = CodeFolder::open(loading.cache.as_deref())?;
                compiler.load(&engine, &loading.module, &cache.modules, &|| loading.cancel.is_cancelled())
            }
            None => App::load(&engine, &loading.module, cache(loading.cache.as_deref()).as_ref()),
        };
        let app = app.map_err(say)?;
        let options = PortionOptions {
            record_every: record_every(&spec),
            keeps_results: spec.reuse,
            salt: spec.salt(),
            run_name: loading.run.0.to_le_bytes().to_vec(),
            function: spec.function,
            inputs: loading.inputs,
            threads: self.threads,
            priority: self.priority,
            memory: self.memory.clone(),
            turns: Some(self.turns.clone()),
            may_share_instances: !spec.trust.is_checked(),
            notify: Arc::new(move |notices| notices.for_each(|notice| notify(notice))),
            ..PortionOptions::default()
        };
        let portion = Portion::start(&app, options).map_err(say)?;
        self.brakes.add(portion.brake());
        Ok(Box::new(portion))
    }
}

/// The limits of guests, for people.
pub fn may_use(threads: usize, priority: Priority, memory: Option<&HostMemory>) -> MayUse {
    let priority = match priority {
        Priority::Idle => "idle: only what no other program wants",
        Priority::Normal => "normal: as much as any other program",
    };
    let memory_bytes = memory.map(|memory| memory.bytes_max() as u64);
    MayUse { threads, priority: priority.to_owned(), memory_bytes, ..MayUse::default() }
}

/// The limit of a host's part of a result table, in bytes, from its memory for guests.
pub fn table_bytes_max(memory: &HostMemory) -> usize {
    (memory.bytes_max() / TABLE_PART_OF_MEMORY).min(HOST_TABLE_BYTES_MAX)
}

/// The folder for compiled modules; `None` if there is none and none can be made.
fn cache(folder: Option<&Path>) -> Option<ModuleCache> {
    match folder {
        Some(folder) => ModuleCache::open(folder).ok(),
        None => ModuleCache::of_user().ok(),
    }
}

/// Waits while all guests are held: compiling takes the processor as they do. A compilation that has begun continues.
///
/// # Errors
/// If the run is not wanted any more.
pub fn await_go(brakes: &Brakes, cancel: &Cancel) -> Result<(), String> {
    while brakes.are_held() {
        if cancel.is_cancelled() {
            return Err("the run is not wanted any more".to_owned());
        }
        std::thread::sleep(HELD_LOOK);
    }
    Ok(())
}

/// A folder for compiled modules: this user's, or one that is deleted when this is dropped, and then the app is compiled
/// each time.
pub struct CodeFolder {
    /// The modules.
    pub modules: ModuleCache,
    _passing: Option<tempfile::TempDir>,
}

impl CodeFolder {
    /// This folder, or this user's.
    ///
    /// # Errors
    /// If there is none, and none can be made.
    pub fn open(folder: Option<&Path>) -> Result<Self, String> {
        if let Some(modules) = cache(folder) {
            return Ok(Self { modules, _passing: None });
        }
        let passing = tempfile::tempdir()
            .and_then(|folder| Ok((ModuleCache::open(&folder.path().join("modules"))?, folder)));
        let (modules, passing) =
            passing.map_err(|error| format!("compiled apps have no folder: {}", explained(&error)))?;
        Ok(Self { modules, _passing: Some(passing) })
    }
}

/// An engine for a run's guests on a host with this many threads, and perhaps a limit on memory.
///
/// # Errors
/// If this machine cannot run guests, or not under these limits.
pub fn engine_for(
    limits: &Limits,
    strict_nan: bool,
    memory_bytes_max: Option<usize>,
    threads: usize,
) -> Result<Engine, RunError> {
    match memory_bytes_max {
        Some(bytes_max) => Engine::frugal(limits, strict_nan, bytes_max, threads),
        None => Engine::new(limits, strict_nan),
    }
}

/// The limits of a run's guests on this host; an error if it asks for more memory than the host grants. A run that does
/// not say how much its shared objects may take gets half of the host's memory for the copies of them at most.
///
/// # Errors
/// A sentence that names the limit.
pub fn limits_for(
    asked: &RunLimits,
    threads: usize,
    memory_bytes_max: Option<usize>,
    copies_of_objects: usize,
) -> Result<Limits, String> {
    let mut limits = Limits::of_run(asked)?.for_threads(threads);
    let Some(most) = memory_bytes_max else { return Ok(limits) };
    if asked.shared_bytes_max.is_none() {
        limits.shared_bytes_max = limits.shared_bytes_max.min(most / 2 / copies_of_objects);
    }
    let of_instance = (limits.memory_bytes_max, "each instance", 1);
    let of_objects = (limits.shared_bytes_max, "its shared objects", copies_of_objects);
    for (bytes, what, copies) in [of_instance, of_objects] {
        if bytes > most / copies {
            let [bytes, most] = [bytes, most].map(|bytes| size(bytes as u64));
            let copies = if copies > 1 { format!(" for {copies} copies of them") } else { String::new() };
            return Err(format!(
                "the run asks for {bytes} of memory for {what}, and this host grants {most}{copies}"
            ));
        }
    }
    Ok(limits)
}

/// How often finished work of a run is recorded.
pub fn record_every(spec: &RunSpec) -> Option<Duration> {
    let is_recorded = matches!(spec.fault_tolerance, FaultTolerance::Full | FaultTolerance::FinishedOrphans)
        && spec.record_every_ms > 0;
    is_recorded.then(|| Duration::from_millis(spec.record_every_ms.into()))
}

impl RunningPortion for Portion {
    fn handle(&mut self, command: RunCommand) {
        Self::handle(self, command);
    }
    fn counts(&self) -> Counts {
        counts_of(&Self::counts(self))
    }
    fn activity(&self) -> Option<Notice> {
        Self::activity(self)
    }
    fn stop(self: Box<Self>) -> FinalCounts {
        final_counts(Self::stop(*self))
    }
}

/// The last state and activity of a portion in the form for the state machine.
pub fn final_counts((last, activity): (Snapshot, Option<Notice>)) -> FinalCounts {
    let counts = counts_of(&last);
    match activity {
        Some(Notice::Activity { workers, jobs, jobs_dropped, ahead_ns: _ }) => {
            FinalCounts { counts, workers, jobs, jobs_dropped }
        }
        _ => FinalCounts { counts, ..FinalCounts::default() },
    }
}

/// The state of a portion in the form for the state machine and the coordinator.
pub fn counts_of(now: &Snapshot) -> Counts {
    Counts {
        jobs: Jobs {
            spawned: now.jobs.spawned,
            exposed: now.jobs.exposed,
            executed: now.jobs.executed,
            stolen_local: now.jobs.stolen,
            aborted: now.jobs.aborted,
            // The state machine counts the rest: it decides which jobs are redone and which results are reused.
            ..Jobs::default()
        },
        work_ns: u64::try_from(now.work.as_nanos()).unwrap_or(u64::MAX),
        redone_work_ns: u64::try_from(now.redone_work.as_nanos()).unwrap_or(u64::MAX),
        busy: u32::try_from(now.busy).unwrap_or(u32::MAX),
        workers: u32::try_from(now.threads).unwrap_or(u32::MAX),
        ..Counts::default()
    }
}
