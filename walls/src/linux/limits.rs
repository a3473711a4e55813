//! Limits on resources, and what happens when the machine's memory runs out.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::Missing;
use crate::options::Options;

/// The kernel's highest score: such a process is ended before any other.
const FIRST: &str = "1000";

/// Lowers this process's limits, which cannot be raised again.
pub fn limit(options: &Options) -> Result<(), Missing> {
    // Queues of messages and locked memory are not used at all.
    lower(Resource::Core, 0)?;
    lower(Resource::Msgqueue, 0)?;
    lower(Resource::Memlock, 0)?;
    lower(Resource::Fsize, options.file_bytes_max)?;
    lower(Resource::Nofile, options.descriptors_max)?;
    let Some(most) = options.memory_bytes_max else { return Ok(()) };
    lower(Resource::Data, writable_bytes()?.saturating_add(most))
}

/// Lets the system end this process first when memory runs out.
pub fn be_first_out_of_memory() -> Result<(), Missing> {
    const PATH: &str = "/proc/self/oom_score_adj";
    std::fs::write(PATH, FIRST).map_err(|error| format!("{PATH} cannot be written: {error}"))
}

/// Sets a limit, unless a lower one holds already.
fn lower(resource: Resource, most: u64) -> Result<(), Missing> {
    let least = |now: Option<u64>| Some(now.map_or(most, |now| now.min(most)));
    let now = getrlimit(resource);
    let limit = Rlimit { current: least(now.current), maximum: least(now.maximum) };
    setrlimit(resource, limit).map_err(|error| format!("the limit {resource:?} cannot be set: {error}"))
}

/// Private memory of this process that is writable now. Linux counts it whether it is used or not, and compares it with the
/// limit `RLIMIT_DATA`.
fn writable_bytes() -> Result<u64, Missing> {
    const PATH: &str = "/proc/self/status";
    let status = std::fs::read_to_string(PATH).map_err(|error| format!("{PATH} cannot be read: {error}"))?;
    let field = status.lines().find_map(|line| line.strip_prefix("VmData:"));
    let kib = field.and_then(|rest| rest.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kib.and_then(|kib| kib.checked_mul(1024))
        .ok_or_else(|| format!("{PATH} does not say how much memory is writable"))
}
