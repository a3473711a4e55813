//! Errors, as an app sees them.

use std::fmt;

/// The user's input was wrong. Return this from a `#[main]`: the run ends with exit code 2 and this message.
/// The message should say what is wrong, where, and what would be right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadInput(pub String);

impl BadInput {
    /// An error with this message.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    /// An error in line `number`, counted from 1, of the input `name`. The command adds the name of the user's
    /// file.
    pub fn at_line(name: &str, number: usize, what: impl fmt::Display) -> Self {
        Self(format!("input `{name}`, line {number}: {what}"))
    }
}

impl fmt::Display for BadInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadInput {}

/// A spawned job panicked or trapped, here or on another machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobError {
    /// The job that failed, which may be a descendant of the one that was synced.
    pub job: String,
    /// The panic's message and place, or the trap.
    pub message: String,
    /// The guest's stack, innermost frame first; empty if it is not known.
    pub backtrace: Vec<String>,
}

impl fmt::Display for JobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "job `{}` failed: {}", self.job, self.message)
    }
}

impl std::error::Error for JobError {}
