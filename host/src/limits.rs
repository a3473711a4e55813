//! Everything has a limit, and all of a guest's limits are here.

use std::time::Duration;

use sateen_module::ModuleLimits;
pub use sateen_module::size;
use sateen_protocol::RunLimits;
use sateen_protocol::limits::BLOB_BYTES_MAX;
use thiserror::Error;

/// What the host takes of the machine's memory beside its guests: code, tables, buffers, stores. In bytes.
pub const HOST_OVERHEAD_BYTES: usize = 96 << 20;
/// Instances that a run may have on a host, whatever its threads.
const INSTANCES_MIN: usize = 32;
/// Further ones for each thread.
const INSTANCES_A_THREAD: usize = 16;
/// The result table of one run takes at most this part of a host's bound on memory.
pub const TABLE_PART_OF_MEMORY: usize = 32;
/// How often the resident memory of a host with a bound is looked at.
pub const RESIDENT_LOOK: Duration = Duration::from_millis(20);
/// Where no instance has begun, grown or ended for this long, one may begin although there is no room.
pub const STANDSTILL_MAX: Duration = Duration::from_millis(500);
/// How long a job of another host waits for memory before it is handed back.
pub const HANDED_BACK_AFTER: Duration = Duration::from_millis(500);
/// A host that has evicted a stolen job steals nothing for as long; twice as long each time in a row, this often.
pub const TURNED_AWAY_DOUBLINGS_MAX: u32 = 5;

/// Processor time that a stranger's module may take to compile.
pub const COMPILE_TIME_MAX: Duration = Duration::from_secs(60);
/// Memory that a stranger's module may take to compile, in bytes.
pub const COMPILE_MEMORY_BYTES_MAX: usize = 1 << 30;
/// What the process that compiles reserves of its address space without using it, in bytes.
pub const COMPILER_ADDRESSES_BYTES: u64 = 4 << 30;
/// The code of a module, in bytes.
pub const COMPILED_BYTES_MAX: u64 = 512 << 20;

/// What a run's guests may use. The memory and table limits are part of a run's meaning: every host
/// must grant the same, so they are fixed by the run and not by the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Size of a module, in bytes.
    pub module_bytes_max: usize,
    /// Linear memory of one instance, in bytes.
    pub memory_bytes_max: usize,
    /// Elements of a table.
    pub table_elements_max: usize,
    /// Stack of one instance, in bytes: how deep it may recurse.
    pub stack_bytes_max: usize,
    /// A result, a job's parameters, or an output, in bytes.
    pub output_bytes_max: usize,
    /// A line of the log, in bytes; what is longer is cut.
    pub log_line_bytes_max: usize,
    /// Lines of the log in a run; what comes after is dropped and counted.
    pub log_lines_max: u64,
    /// Exposed jobs that one instance may have outstanding.
    pub exposed_jobs_max: usize,
    /// Instances that exist at once, waiting ones included.
    pub instances_max: usize,
    /// Jobs that are synced with `try_sync` and have begun, in all of a run's instances: each needs a
    /// stack of its own.
    pub attempts_max: usize,
    /// Replicas of shared objects, in bytes, all of a run's together.
    pub shared_bytes_max: usize,
    /// How long a job's guard may be false.
    pub guard_wait_max: Duration,
    /// Wall-clock time of a run.
    pub wall_time_max: Option<Duration>,
    /// Time that all workers spend in guests, summed.
    pub cpu_time_max: Option<Duration>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            module_bytes_max: BLOB_BYTES_MAX,
            memory_bytes_max: 1 << 30,
            table_elements_max: 100_000,
            stack_bytes_max: 64 << 20,
            output_bytes_max: 64 << 20,
            log_line_bytes_max: 8 << 10,
            log_lines_max: 100_000,
            exposed_jobs_max: 64 << 10,
            instances_max: 256,
            attempts_max: 1024,
            shared_bytes_max: 1 << 30,
            guard_wait_max: Duration::from_secs(60),
            wall_time_max: None,
            cpu_time_max: None,
        }
    }
}

impl Limits {
    /// Those that a module must meet before any of it runs.
    pub fn of_module(&self) -> ModuleLimits {
        ModuleLimits {
            module_bytes_max: self.module_bytes_max,
            memory_bytes_max: self.memory_bytes_max,
            table_elements_max: self.table_elements_max,
        }
    }

    /// A run's limits; what it does not say is the default that every host has.
    ///
    /// # Errors
    /// When it asks for more than there can be, or for nothing at all; the sentence says of what.
    pub fn of_run(asked: &RunLimits) -> Result<Self, String> {
        let default = Self::default();
        asked.check().map_err(|error| error.to_string())?;
        let or = |asked: Option<u64>, default: usize| {
            asked.map_or(Ok(default), |bytes| {
                usize::try_from(bytes)
                    .map_err(|_| format!("{bytes} bytes are more than this machine can address"))
            })
        };
        Ok(Self {
            memory_bytes_max: or(asked.memory_bytes_max, default.memory_bytes_max)?,
            stack_bytes_max: or(asked.stack_bytes_max, default.stack_bytes_max)?,
            output_bytes_max: or(asked.output_bytes_max, default.output_bytes_max)?,
            shared_bytes_max: or(asked.shared_bytes_max, default.shared_bytes_max)?,
            guard_wait_max: asked.guard_wait_ms_max.map_or(default.guard_wait_max, Duration::from_millis),
            ..default
        })
    }

    /// The same on a host with so many threads. Each run reserves some 4 GiB of address space for every instance that it
    /// may have, and a host has many runs. A job for which no instance is left is called in place.
    #[must_use]
    pub fn for_threads(self, threads: usize) -> Self {
        let instances_max = self.instances_max.min(INSTANCES_MIN + INSTANCES_A_THREAD * threads);
        Self { instances_max, ..self }
    }
}

/// A limit that was met. The message says which and how to raise it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LimitExceeded {
    /// Linear memory.
    #[error("a job asked for {} of memory and the limit is {}; raise it with --memory", size(*.asked), size(*.limit as u64))]
    Memory {
        /// The size it wanted to have in all, in bytes.
        asked: u64,
        /// The limit in bytes.
        limit: usize,
    },
    /// More than the 4 GiB that a 32-bit guest can address.
    #[error("a job asked for more memory than a 32-bit guest can address ({0})")]
    AddressSpace(String),
    /// Table elements.
    #[error("a job asked for a table of {asked} elements and the limit is {limit}")]
    Table {
        /// The number it wanted.
        asked: usize,
        /// The limit.
        limit: usize,
    },
    /// The stack of calls.
    #[error("a job recursed deeper than its stack of {} allows; raise it with --stack, or recurse less deeply", size(*.limit as u64))]
    Stack {
        /// The limit in bytes.
        limit: usize,
    },
    /// The part of the stack that the app keeps in its memory; fixed when it was linked.
    #[error(
        "a job recursed deeper than the stack in its own memory allows; raise it with `sateen build --stack`, or recurse less deeply"
    )]
    GuestStack,
    /// A result or an output.
    #[error("{what} is {} and the limit is {}; raise it with --max-output", size(*.asked), size(*.limit as u64))]
    Output {
        /// Which result.
        what: String,
        /// Its size in bytes.
        asked: u64,
        /// The limit in bytes.
        limit: usize,
    },
    /// Shared objects.
    #[error("the run's shared objects take more than {}; raise it with --max-shared", size(*.limit as u64))]
    SharedObjects {
        /// The limit in bytes.
        limit: usize,
    },
    /// A replica that never came.
    #[error(
        "no host had the shared object {object} within {} s; its creator may have crashed; raise the limit with --guard-limit",
        .waited.as_secs_f64()
    )]
    Replica {
        /// Its id.
        object: String,
        /// How long a job waited for it.
        waited: Duration,
    },
    /// A guard that stayed false.
    #[error(
        "the guard `{guard}` of the job `{job}` was false for {} s; the update that it waits for must come before the job is spawned; raise the limit with --guard-limit",
        .waited.as_secs_f64()
    )]
    Guard {
        /// The guard's name.
        guard: String,
        /// The job's.
        job: String,
        /// How long it waited, in whole milliseconds.
        waited: Duration,
    },
    /// Wall-clock time.
    #[error("the run took longer than {} s; raise it with --time-limit", .0.as_secs_f64())]
    WallTime(Duration),
    /// Processor time.
    #[error("the run used more than {} s of processor time; raise it with --cpu-limit", .0.as_secs_f64())]
    CpuTime(Duration),
    /// Stacks for attempted jobs, one in another.
    #[error(
        "more than {limit} jobs that are synced with try_sync are within one another; raise it with --attempts"
    )]
    Attempts {
        /// The limit.
        limit: usize,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_the_limit_and_the_option() {
        let error = LimitExceeded::Memory { asked: 10 << 30, limit: 1 << 30 };
        assert_eq!(
            error.to_string(),
            "a job asked for 10 GiB of memory and the limit is 1 GiB; raise it with --memory"
        );
    }

    #[test]
    fn a_runs_limits_are_checked() {
        let asked = RunLimits { memory_bytes_max: Some(1 << 26), ..RunLimits::default() };
        let limits = Limits::of_run(&asked).expect("fine");
        assert_eq!(
            (limits.memory_bytes_max, limits.stack_bytes_max),
            (1 << 26, Limits::default().stack_bytes_max)
        );
        let asked = RunLimits { stack_bytes_max: Some(1 << 40), ..RunLimits::default() };
        assert!(Limits::of_run(&asked).expect_err("too much").contains("stack"));
    }
}
