//! The papers' measurements, repeated in virtual time for the benchmarks.

pub mod faults;
pub mod liars;
pub mod machine;
pub mod slow;
pub mod throughput;
pub mod wide;

use std::rc::Rc;

use sateen_protocol::{FaultTolerance, RunId, RunSpec, Stealing, Time};

use crate::network::NetworkConfig;
use crate::process::HostPlan;
use crate::tree::Tree;
use crate::world::{World, WorldConfig};

/// Nanoseconds of a second.
const S: u64 = 1_000_000_000;
/// The one run of an experiment.
const RUN: RunId = RunId(1);

/// The outcome of a run.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Outcome {
    /// From submission to the end, in seconds.
    pub elapsed_s: f64,
    /// Work done, redundant work included, in seconds at speed 1.
    pub executed_s: f64,
    /// Work of the tree, in seconds at speed 1.
    pub work_s: f64,
    /// Jobs of the tree.
    pub jobs: u64,
    /// Successful steals, and all requests.
    pub stolen: u64,
    /// Requests in all.
    pub steal_requests: u64,
    /// Jobs lost with a host.
    pub lost: u64,
    /// Results that came from the table.
    pub reused: u64,
    /// Orphans that continued.
    pub adopted: u64,
    /// Results recorded.
    pub recorded: u64,
    /// Events of the simulation.
    pub events: u64,
    /// Violations of the contract between machine and runtime.
    pub violations: Vec<String>,
}

/// An action on a world, at a time after its run was submitted.
type Step = (Time, Box<dyn FnOnce(&mut World)>);

/// A world with sites of equal hosts.
fn grid(seed: u64, sites: usize, hosts: usize, network: NetworkConfig) -> World {
    let mut world = World::new(WorldConfig::new(seed, network));
    for site in 0..sites {
        add_site(&mut world, site, hosts);
    }
    world
}

fn add_site(world: &mut World, site: usize, hosts: usize) {
    for _ in 0..hosts {
        world.add_host(HostPlan { site, workers: 1, speed_percent: 100 });
    }
}

fn spec(tree: &Tree, stealing: Stealing, fault_tolerance: FaultTolerance) -> RunSpec {
    RunSpec { stealing, fault_tolerance, ..RunSpec::new(tree.app()) }
}

/// Lets hosts join, submits the tree, performs the steps at their times after that, and waits for
/// the end, at most `limit_s` virtual seconds.
fn measure(limit_s: u64, world: &mut World, tree: &Rc<Tree>, spec: RunSpec, mut steps: Vec<Step>) -> Outcome {
    world.run_until(Time(world.now.0 + S), |_| false);
    let begun = world.now;
    let run = RunId(world.server.runs.len() as u64 + RUN.0);
    world.submit(run, spec, Rc::clone(tree));
    steps.sort_by_key(|(at, _)| *at);
    for (at, step) in steps {
        if world.run_until(Time(begun.0 + at.0), World::is_over) {
            break;
        }
        step(world);
    }
    world.run_until(Time(begun.0 + limit_s * S), World::is_over);
    let elapsed_s = (world.now.0 - begun.0) as f64 / 1e9;
    // Hosts report their last counts.
    world.run_until(Time(world.now.0 + 20 * S), World::has_final_counts);
    let mut violations = world.violations.clone();
    violations.extend(crate::invariants::at_end(world));
    let counts = (world.server.runs.get(&run)).and_then(|stored| Some(stored.counted?.0)).unwrap_or_default();
    Outcome {
        elapsed_s,
        executed_s: world.executed_ns(run) as f64 / 1e9,
        work_s: tree.root().work_ns as f64 / 1e9,
        jobs: tree.root().jobs,
        stolen: counts.jobs.stolen,
        steal_requests: counts.steal_requests,
        lost: counts.jobs.lost,
        reused: counts.jobs.reused,
        adopted: counts.jobs.adopted,
        recorded: counts.jobs.recorded,
        events: world.trace.events(),
        violations,
    }
}
