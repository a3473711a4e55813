//! How a job or a run can fail.

use serde::{Deserialize, Serialize};
use thiserror::Error;
use wasmtime::{Trap, WasmBacktrace};

use crate::limits::LimitExceeded;

/// A job that panicked or trapped: an error that its parent's sync may receive, on any machine.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize)]
#[error("job `{job}` failed: {message}")]
pub struct JobFailure {
    /// The innermost job on the guest's stack.
    pub job: String,
    /// The panic's message and place, or the trap.
    pub message: String,
    /// The guest's stack, innermost frame first.
    pub backtrace: Vec<String>,
}

/// Why an instance stopped before its end. Only the first variant is a result of its job; the others depend on
/// the host or the run, and end the run or are ignored.
#[derive(Debug, Clone, Error)]
pub enum Stop {
    /// The job failed.
    #[error("{0}")]
    Failed(JobFailure),
    /// A shared object could not be updated: all its replicas are in doubt, and the run is over.
    #[error("{0}")]
    Replica(JobFailure),
    /// A limit was exceeded.
    #[error("{0}")]
    Limit(LimitExceeded),
    /// The run is over or cancelled.
    #[error("the run was stopped")]
    Stopped,
    /// This job's result is not wanted any more.
    #[error("the job was aborted")]
    Aborted,
    /// The host's memory is used up: the job must be run again, later or elsewhere.
    #[error("the job made room for others")]
    Evicted,
    /// This machine could not run the job.
    #[error("{0}")]
    Host(String),
}

/// Why a run has no result.
#[derive(Debug, Clone, Error)]
pub enum RunError {
    /// The app panicked or trapped.
    #[error("{0}")]
    Job(JobFailure),
    /// The app returned an error.
    #[error("{0}")]
    App(String),
    /// The app reports that the user's arguments or inputs are wrong.
    #[error("{0}")]
    BadInput(String),
    /// A limit was exceeded.
    #[error("{0}")]
    Limit(LimitExceeded),
    /// The run was cancelled.
    #[error("cancelled")]
    Cancelled,
    /// This machine could not run the app.
    #[error("{0}")]
    Host(String),
}

/// Names in a guest's stack that belong to the machinery of panics and of this project, not to the
/// app.
const MACHINERY: [&str; 12] = [
    "std::",
    "core::panicking",
    "core::option::",
    "core::result::",
    "core::slice::index",
    "core::ops::",
    "core::str::",
    "alloc::",
    "rust_panic",
    "__rust",
    "sateen::",
    "sateen_macros::",
];

/// The frames of `backtrace` for people, innermost first, without the machinery above the app.
pub fn frames(backtrace: &WasmBacktrace) -> Vec<String> {
    let names: Vec<String> = (backtrace.frames().iter())
        .map(|frame| match frame.func_name() {
            Some(name) => format!("{:#}", rustc_demangle::demangle(name)),
            None => format!("function {}", frame.func_index()),
        })
        .collect();
    let of_app: Vec<String> = (names.iter().filter(|name| !is_machinery(name))).cloned().collect();
    if of_app.is_empty() { names } else { of_app }
}

fn is_machinery(name: &str) -> bool {
    let name = name.trim_start_matches('<');
    MACHINERY.iter().any(|prefix| name.starts_with(prefix))
        || name.starts_with("__sateen")
        || name.starts_with("sateen_")
}

/// The innermost of `frames` that is one of `jobs`, otherwise `instance`, the job that the instance runs. Each
/// job is given by its name, and its function's name or full path. Functions of the machinery are none of them, even if they
/// have the same names.
pub fn innermost_job<'a>(
    frames: &[String],
    jobs: impl Iterator<Item = (&'a str, &'a str)> + Clone,
    instance: &str,
) -> String {
    let found = frames.iter().filter(|frame| !is_machinery(frame)).find_map(|frame| {
        let is_frame = |function: &str| frame == function || frame.ends_with(&format!("::{function}"));
        jobs.clone().find(|(_, function)| is_frame(function))
    });
    found.map_or(instance, |(name, _)| name).to_owned()
}

/// Finds out from the engine's error why it stopped a guest. `stack_bytes_max` is the limit in force, `panic`
/// the guest's message before a trap, `off_stack` whether its own stack is known to have overflowed.
pub fn classify<'a>(
    error: &wasmtime::Error,
    jobs: impl Iterator<Item = (&'a str, &'a str)> + Clone,
    instance: &str,
    stack_bytes_max: usize,
    panic: Option<Stop>,
    off_stack: Option<bool>,
) -> Stop {
    if let Some(stop) = error.downcast_ref::<Stop>() {
        return stop.clone();
    }
    if let (Some(Trap::UnreachableCodeReached), Some(panic)) = (error.downcast_ref::<Trap>(), panic) {
        return panic;
    }
    let backtrace = error.downcast_ref::<WasmBacktrace>().map(frames).unwrap_or_default();
    let message = match error.downcast_ref::<Trap>() {
        Some(Trap::StackOverflow) => return Stop::Limit(LimitExceeded::Stack { limit: stack_bytes_max }),
        Some(Trap::MemoryOutOfBounds) if off_stack.unwrap_or_else(|| is_beyond_the_top(error)) => {
            return Stop::Limit(LimitExceeded::GuestStack);
        }
        Some(trap) => format!("trap: {trap}"),
        // The engine could not map memory or a stack, say: nothing that the job did.
        None => return Stop::Host(format!("this machine cannot run `{instance}`: {}", error.root_cause())),
    };
    Stop::Failed(JobFailure { job: innermost_job(&backtrace, jobs, instance), message, backtrace })
}

/// Whether addresses beyond the end of a guest's own stack wrap around to this address.
fn is_beyond_the_top(error: &wasmtime::Error) -> bool {
    const TOP: u64 = 0xf000_0000;
    let text = format!("{error:#}");
    let address = text.split_once("wasm address 0x").and_then(|(_, rest)| {
        let digits = rest.split(|c: char| !c.is_ascii_hexdigit()).next()?;
        u64::from_str_radix(digits, 16).ok()
    });
    address.is_some_and(|address| address >= TOP)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_job_is_named() {
        let frames = ["app::helper", "app::inner", "app::outer"].map(str::to_owned);
        let jobs = [("outer", "outer"), ("inner", "inner")];
        assert_eq!(innermost_job(&frames, jobs.into_iter(), "outer"), "inner");
        assert_eq!(innermost_job(&frames[..1], jobs.into_iter(), "outer"), "outer");
        let renamed = [("a.job", "app::inner")];
        assert_eq!(innermost_job(&frames, renamed.into_iter(), "outer"), "a.job");
    }

    /// A job named `enter` was blamed for parameters that another job could not read.
    #[test]
    fn a_job_is_not_blamed_for_a_function_of_the_machinery_with_its_name() {
        let frames = ["sateen::wasm::undecodable", "sateen::wasm::enter"].map(str::to_owned);
        let jobs = [("enter", "enter"), ("newer", "newer")];
        assert_eq!(innermost_job(&frames, jobs.into_iter(), "newer"), "newer");
    }

    #[test]
    fn machinery_is_distinguished_from_the_app() {
        assert!(is_machinery("std::panicking::begin_panic_handler"));
        assert!(is_machinery("<alloc::vec::Vec<T> as core::ops::Index<I>>::index"));
        assert!(!is_machinery("queens::place"));
    }
}
