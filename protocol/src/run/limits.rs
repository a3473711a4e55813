//! The limits of a run's guests.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Limits that can affect a run's result, so every host must apply the same ones. `None` is the host's default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunLimits {
    /// Maximum linear memory of one instance.
    pub memory_bytes_max: Option<u64>,
    /// Maximum stack of one instance.
    pub stack_bytes_max: Option<u64>,
    /// Maximum size of a result, of a job's parameters, and of an output.
    pub output_bytes_max: Option<u64>,
    /// Maximum memory of the replicas of its shared objects at one host, together.
    pub shared_bytes_max: Option<u64>,
    /// Maximum time for which a job's guard may be false, in milliseconds.
    pub guard_wait_ms_max: Option<u64>,
    /// Maximum time for which its root job may be at hosts, in milliseconds; the coordinator enforces it.
    pub time_ms_max: Option<u64>,
    /// Maximum processor time of its jobs at all hosts together, in milliseconds; the coordinator enforces it.
    pub cpu_ms_max: Option<u64>,
}

/// A limit outside the range that hosts and coordinators accept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the run's limit on {what} is {asked} {unit}; it must be from {least} to {most} {unit}")]
pub struct LimitOutOfRange {
    what: &'static str,
    unit: &'static str,
    asked: u64,
    least: u64,
    most: u64,
}

impl RunLimits {
    /// Range of the limits on an instance's memory and on its stack, in bytes.
    pub const INSTANCE_BYTES: RangeInclusive<u64> = 64 << 10..=4 << 30;
    /// Range of the limit on a result, in bytes.
    pub const OUTPUT_BYTES: RangeInclusive<u64> = 1..=64 << 20;
    /// Range of the limit on all shared objects, in bytes.
    pub const SHARED_BYTES: RangeInclusive<u64> = 1..=1 << 40;
    /// Range of each limit on a time, in milliseconds: up to a hundred years.
    pub const MS: RangeInclusive<u64> = 1..=100 * 365 * 24 * 3600 * 1000;

    /// Checks that all limits that are set are within their ranges.
    ///
    /// # Errors
    /// Names a limit that is not.
    pub fn check(&self) -> Result<(), LimitOutOfRange> {
        for (what, unit, asked, range) in [
            ("memory", "bytes", self.memory_bytes_max, Self::INSTANCE_BYTES),
            ("the stack", "bytes", self.stack_bytes_max, Self::INSTANCE_BYTES),
            ("outputs", "bytes", self.output_bytes_max, Self::OUTPUT_BYTES),
            ("shared objects", "bytes", self.shared_bytes_max, Self::SHARED_BYTES),
            ("guards", "ms", self.guard_wait_ms_max, Self::MS),
            ("its time", "ms", self.time_ms_max, Self::MS),
            ("its processor time", "ms", self.cpu_ms_max, Self::MS),
        ] {
            if let Some(asked) = asked.filter(|asked| !range.contains(asked)) {
                let (least, most) = (*range.start(), *range.end());
                return Err(LimitOutOfRange { what, unit, asked, least, most });
            }
        }
        Ok(())
    }
}
