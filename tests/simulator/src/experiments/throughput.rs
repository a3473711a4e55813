//! The simulator's speed: hosts × virtual seconds in a second of one core.

use std::rc::Rc;
use std::time::Instant;

use sateen_protocol::{FaultTolerance, RunId, Stealing, Time};
use serde::Serialize;

use super::{S, faults, grid, spec};
use crate::world::World;

/// The measurements.
#[derive(Debug, Clone, Serialize)]
pub struct Throughput {
    /// Hosts.
    pub hosts: usize,
    /// Virtual seconds.
    pub virtual_s: u64,
    /// Runs that ended meanwhile.
    pub runs: usize,
    /// The real time, in seconds.
    pub elapsed_s: f64,
    /// Events.
    pub events: u64,
    /// Hosts × virtual seconds by `elapsed_s`.
    pub host_seconds_per_second: f64,
}

/// Simulates `hosts` hosts for `virtual_s` seconds, with a small run every `every_s` seconds.
pub fn measure(seed: u64, hosts: usize, virtual_s: u64, every_s: u64) -> Throughput {
    let sites = hosts.div_ceil(100);
    let mut world: World = grid(seed, sites, hosts / sites, faults::network());
    let begun = Instant::now();
    let mut number = 0;
    for second in (5..virtual_s).step_by(every_s as usize) {
        world.run_until(Time(second * S), |_| false);
        number += 1;
        let tree = faults::knapsack_like(seed + number, 1_000, 20.0);
        let spec = spec(&tree, Stealing::ClusterAware, FaultTolerance::Full);
        world.submit(RunId(number), spec, Rc::clone(&tree));
    }
    world.run_until(Time(virtual_s * S), |_| false);
    let elapsed_s = begun.elapsed().as_secs_f64();
    let runs = world.server.runs.values().filter(|stored| stored.end.is_some()).count();
    let hosts = world.alive().count();
    let host_seconds_per_second = (hosts as u64 * virtual_s) as f64 / elapsed_s;
    Throughput { hosts, virtual_s, runs, elapsed_s, events: world.trace.events(), host_seconds_per_second }
}
