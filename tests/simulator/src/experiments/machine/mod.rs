//! How long single events of the machines take in the largest grids: a coordinator of 100,000 hosts with a run of
//! a million entries, and a host with half a million.
//!
//! The measured time is real, the machine's is virtual. The caller supplies the clock, best the thread's
//! processor time. That still includes interrupts and other processes' effects on caches; but machines are
//! deterministic, so everything is repeated, and an event's time is the median of its repetitions.

mod at_a_coordinator;
mod at_a_host;
mod fixtures;
mod grid;
mod times;

use at_a_coordinator::coordinator;
use at_a_host::host;
use times::{Times, rows};

pub use times::{Clock, Row};

/// The size of a measurement.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    /// Hosts of the grid.
    pub hosts: u64,
    /// Entries of the largest run's table; a host has half as many.
    pub entries: u64,
    /// Additional runs, each with some entries.
    pub runs: u64,
    /// The number of repetitions.
    pub repetitions: usize,
}

impl Default for Scale {
    fn default() -> Self {
        Self { hosts: 100_000, entries: 1_000_000, runs: 1_000, repetitions: 3 }
    }
}

/// The coordinator's events, and those of a host.
pub fn measure(clock: Clock, scale: Scale) -> Vec<Row> {
    let repeat =
        |once: fn(Clock, Scale) -> Times| (0..scale.repetitions).map(|_| once(clock, scale)).collect();
    let mut all = rows(repeat(coordinator));
    all.extend(rows(repeat(|clock, scale| host(clock, scale.entries / 2))));
    all
}
