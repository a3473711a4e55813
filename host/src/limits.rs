//! Everything has a limit, and all of a guest's limits are here.

use std::time::Duration;

pub use sateen_module::size;
use sateen_module::{ModuleLimits, TABLE_ELEMENTS_MAX, sizes};
use sateen_protocol::RunLimits;
use sateen_protocol::limits::BLOB_BYTES_MAX;
use thiserror::Error;

/// Memory of the host itself, without its guests, in bytes: code, tables, buffers, stores.
pub const HOST_OVERHEAD_BYTES: usize = 96 << 20;
/// Instances that a run may have on a host, whatever its number of threads.
const INSTANCES_MIN: usize = 32;
/// Additional instances for each thread.
const INSTANCES_A_THREAD: usize = 16;
/// Maximum part of a host's memory limit for the result table of one run.
pub const TABLE_PART_OF_MEMORY: usize = 32;
/// How often the resident memory of a host with a limit is measured.
pub const RESIDENT_LOOK: Duration = Duration::from_millis(20);
/// If no instance has begun, grown or ended for this long, one may begin although there is no room.
pub const STANDSTILL_MAX: Duration = Duration::from_millis(500);
/// How long a job of another host waits for memory before it is given back.
pub const HANDED_BACK_AFTER: Duration = Duration::from_millis(500);
/// A host that has evicted a stolen job steals nothing for [`HANDED_BACK_AFTER`]; this time doubles with each
/// such job in a row, up to this many times.
pub const TURNED_AWAY_DOUBLINGS_MAX: u32 = 5;

/// Maximum processor time to compile a stranger's module.
pub const COMPILE_TIME_MAX: Duration = Duration::from_secs(60);
/// Maximum memory to compile a stranger's module, in bytes.
pub const COMPILE_MEMORY_BYTES_MAX: usize = 1 << 30;
/// Address space that the compiling process reserves without using it, in bytes.
pub const COMPILER_ADDRESSES_BYTES: u64 = 4 << 30;
/// Size of a module's code, in bytes.
pub const COMPILED_BYTES_MAX: u64 = 512 << 20;

/// The limits of a run's guests. The memory and table limits are part of a run's meaning: every host must grant
/// the same, so the run sets them and not the machine.
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
    /// Size of a result, of a job's parameters, or of an output, in bytes.
    pub output_bytes_max: usize,
    /// Length of a line of the log, in bytes; longer lines are cut.
    pub log_line_bytes_max: usize,
    /// Lines of the log in a run; further lines are dropped and counted.
    pub log_lines_max: u64,
    /// Exposed jobs that one instance may have outstanding.
    pub exposed_jobs_max: usize,
    /// Instances that exist at once, including waiting ones.
    pub instances_max: usize,
    /// Jobs synced with `try_sync` that have begun, in all instances of a run: each needs a stack of its own.
    pub attempts_max: usize,
    /// Size of all replicas of a run's shared objects, in bytes.
    pub shared_bytes_max: usize,
    /// How long a job's guard may be false.
    pub guard_wait_max: Duration,
    /// Wall-clock time of a run.
    pub wall_time_max: Option<Duration>,
    /// Time that all workers together spend in guests.
    pub cpu_time_max: Option<Duration>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            module_bytes_max: BLOB_BYTES_MAX,
            memory_bytes_max: 1 << 30,
            table_elements_max: TABLE_ELEMENTS_MAX,
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
    /// The limits that a module must meet before it runs.
    pub fn of_module(&self) -> ModuleLimits {
        ModuleLimits {
            module_bytes_max: self.module_bytes_max,
            memory_bytes_max: self.memory_bytes_max,
            table_elements_max: self.table_elements_max,
        }
    }

    /// A run's limits. Limits that the run does not set have defaults, which are the same on every host.
    ///
    /// # Errors
    /// If a limit is zero or too large; the sentence names the limit.
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

    /// The same on a host with this many threads. Each run reserves some 4 GiB of address space for every instance that
    /// it may have, and a host has many runs. If no instance is left for a job, the job is called in place.
    #[must_use]
    pub fn for_threads(self, threads: usize) -> Self {
        let instances_max = self.instances_max.min(INSTANCES_MIN + INSTANCES_A_THREAD * threads);
        Self { instances_max, ..self }
    }
}

/// A limit that was exceeded. The message names the limit and says how to raise it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LimitExceeded {
    /// Linear memory.
    #[error("a job asked for {} of memory and the limit is {}; raise it with --memory", sizes(*.asked, *.limit as u64).0, sizes(*.asked, *.limit as u64).1)]
    Memory {
        /// The requested total size, in bytes.
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
        /// The requested number.
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
    /// The part of the stack that the app keeps in its memory; its size is fixed when the app is linked.
    #[error(
        "a job recursed deeper than the stack in its own memory allows; raise it with `sateen build --stack`, or recurse less deeply"
    )]
    GuestStack,
    /// A result or an output.
    #[error("{what} {} and the limit is {}; raise it with --max-output", sizes(*.asked, *.limit as u64).0, sizes(*.asked, *.limit as u64).1)]
    Output {
        /// Which result, with its verb: `the output is`.
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
    /// A replica that did not arrive.
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
        /// The job's name.
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
    /// Stacks for attempted jobs that are nested in one another.
    #[error(
        "more than {limit} jobs synced with try_sync are nested in one another; `sateen run --attempts` raises the limit for runs on one machine"
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
