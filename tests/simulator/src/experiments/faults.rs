//! Efficiency in case of crashes (2005 result table, section 4.2): four sites of 16 hosts, a knapsack-like
//! tree of a million jobs, a site or two lost at half time.

use std::rc::Rc;

use sateen_protocol::{FaultTolerance, Stealing, Time};
use serde::Serialize;

use super::{Outcome, S, add_site, grid, measure, spec};
use crate::event::ProcessIndex;
use crate::network::NetworkConfig;
use crate::tree::{Tree, TreePlan};
use crate::world::World;

/// DAS-2's time with all 64 hosts, in seconds.
pub const UNDISTURBED_S: f64 = 125.2;
const SITES: usize = 4;
/// Time after which a run has failed.
const LIMIT_S: u64 = 2_000;
const HOSTS_PER_SITE: usize = 16;

/// The event at half time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Happens {
    /// Nothing.
    Nothing,
    /// This number of sites crash.
    Crash(usize),
    /// This number of sites leave.
    Leave(usize),
    /// A new site joins and an old one leaves.
    Migrate,
}

/// A row of the table.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// The event at half time.
    pub happens: Happens,
    /// The number of sites.
    pub sites: usize,
    /// The fault tolerance in use.
    pub fault_tolerance: String,
    /// The time of the same work if capacity were lost but no work, in seconds.
    pub ideal_s: f64,
    /// `elapsed_s` by `ideal_s`.
    pub ratio: f64,
    /// The measurements.
    pub outcome: Outcome,
}

/// Irregular and binary, a million jobs of some milliseconds.
pub fn knapsack_like(seed: u64, jobs: u64, work_s: f64) -> Rc<Tree> {
    Rc::new(Tree::new(&TreePlan {
        seed,
        jobs,
        work_ns: (work_s * 1e9) as u64,
        children_max: 2,
        share_percent_max: 80,
        ..TreePlan::default()
    }))
}

/// Sites with an inner latency of a hundred microseconds, and two milliseconds to the coordinator.
pub fn network() -> NetworkConfig {
    NetworkConfig {
        latency_in_site_ns: 100_000,
        latency_to_coordinator_ns: vec![2_000_000],
        ..NetworkConfig::default()
    }
}

/// One row, for a tree whose undisturbed time on this grid is known.
pub fn row(
    seed: u64,
    tree: &Rc<Tree>,
    sites: usize,
    happens: Happens,
    fault_tolerance: FaultTolerance,
    undisturbed_s: f64,
) -> Row {
    let mut world = grid(seed, sites, HOSTS_PER_SITE, network());
    let half = Time((undisturbed_s / 2.0 * 1e9) as u64);
    let step: Box<dyn FnOnce(&mut World)> = match happens {
        Happens::Nothing => Box::new(|_| {}),
        Happens::Crash(lost) => Box::new(move |world| {
            for process in hosts_of(world, lost) {
                world.kill(process, false);
            }
        }),
        Happens::Leave(lost) => Box::new(move |world| {
            for process in hosts_of(world, lost) {
                world.leave(process);
            }
        }),
        Happens::Migrate => Box::new(move |world| {
            add_site(world, sites, HOSTS_PER_SITE);
            world.run_until(Time(world.now.0 + S / 2), |_| false);
            for process in hosts_of(world, 1) {
                world.leave(process);
            }
        }),
    };
    let spec = spec(tree, Stealing::ClusterAware, fault_tolerance);
    let outcome = measure(LIMIT_S, &mut world, tree, spec, vec![(half, step)]);
    let lost = match happens {
        Happens::Nothing | Happens::Migrate => 0,
        Happens::Crash(lost) | Happens::Leave(lost) => lost,
    };
    let left = (sites - lost) as f64 / sites as f64;
    let ideal_s = undisturbed_s / 2.0 + undisturbed_s / 2.0 / left;
    let ratio = outcome.elapsed_s / ideal_s;
    Row { happens, sites, fault_tolerance: format!("{fault_tolerance:?}"), ideal_s, ratio, outcome }
}

/// The whole table. `jobs` is a million, or fewer for a quick look.
pub fn table(seed: u64, jobs: u64) -> Vec<Row> {
    let (tree, undisturbed) = scaled(seed, jobs, SITES);
    let undisturbed_s = undisturbed.outcome.elapsed_s;
    let mut rows = vec![undisturbed];
    let full = FaultTolerance::Full;
    rows.push(row(seed, &tree, SITES, Happens::Nothing, FaultTolerance::Off, undisturbed_s));
    for lost in [1, 2] {
        for tolerance in [full, FaultTolerance::FinishedOrphans, FaultTolerance::RedoOnly] {
            rows.push(row(seed, &tree, SITES, Happens::Crash(lost), tolerance, undisturbed_s));
        }
    }
    let (tree, undisturbed) = scaled(seed, jobs, 2);
    let undisturbed_s = undisturbed.outcome.elapsed_s;
    rows.push(undisturbed);
    rows.push(row(seed, &tree, 2, Happens::Leave(1), full, undisturbed_s));
    rows.push(row(seed, &tree, 2, Happens::Migrate, full, undisturbed_s));
    rows
}

/// A tree that takes [`UNDISTURBED_S`] undisturbed on `sites` sites, and its row.
fn scaled(seed: u64, jobs: u64, sites: usize) -> (Rc<Tree>, Row) {
    let mut work_s = UNDISTURBED_S * (sites * HOSTS_PER_SITE) as f64;
    // The start and the end of a run are not parallel: their cost is known after one try.
    let tree = knapsack_like(seed, jobs, work_s);
    let first = row(seed, &tree, sites, Happens::Nothing, FaultTolerance::Full, UNDISTURBED_S);
    work_s *= UNDISTURBED_S / first.outcome.elapsed_s;
    let tree = knapsack_like(seed, jobs, work_s);
    let row = row(seed, &tree, sites, Happens::Nothing, FaultTolerance::Full, UNDISTURBED_S);
    (tree, row)
}

/// The hosts of the last `lost` of the first sites: the root's host is not always among them.
fn hosts_of(world: &World, lost: usize) -> Vec<ProcessIndex> {
    let sites = if world.alive().any(|(_, process)| process.plan.site >= SITES) { SITES } else { usize::MAX };
    let old = world.alive().filter(|(_, process)| process.plan.site < sites);
    let last = old.map(|(_, process)| process.plan.site).max().unwrap_or(0);
    let is_lost = |site: usize| site <= last && site + lost > last;
    world.alive().filter(|(_, process)| is_lost(process.plan.site)).map(|(index, _)| index).collect()
}
