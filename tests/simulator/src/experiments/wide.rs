//! Wide-area runs: five sites of 115 hosts, 20 ms between sites and 0.1 ms within (TOPLAS 4.1.2, 6).

use std::rc::Rc;

use sateen_protocol::{FaultTolerance, Stealing};
use serde::Serialize;

use super::{Outcome, grid, measure, spec};
use crate::network::NetworkConfig;
use crate::tree::{Tree, TreePlan};

/// A row of measurements.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// The choice of victims.
    pub stealing: String,
    /// Hosts, of one worker each.
    pub hosts: usize,
    /// The tree's work done, over the work that all hosts could have done in the time.
    pub efficiency: f64,
    /// The measurements.
    pub outcome: Outcome,
}

/// The grid's links: relayed between sites, half the way to the coordinator in their middle.
pub fn network(between_sites_ns: u64) -> NetworkConfig {
    NetworkConfig {
        latency_in_site_ns: 100_000,
        latency_to_coordinator_ns: vec![between_sites_ns / 2],
        ..NetworkConfig::default()
    }
}

/// One way of stealing on `sites` × `hosts`, with a tree that would take `ideal_s` on them.
pub fn row(seed: u64, sites: usize, hosts: usize, ideal_s: f64, jobs: u64, stealing: Stealing) -> Row {
    let tree = Rc::new(Tree::new(&TreePlan {
        seed,
        jobs,
        work_ns: (ideal_s * (sites * hosts) as f64 * 1e9) as u64,
        children_max: 4,
        share_percent_max: 70,
        ..TreePlan::default()
    }));
    let mut world = grid(seed, sites, hosts, network(20_000_000));
    let spec = spec(&tree, stealing, FaultTolerance::Full);
    let outcome = measure((2.0 * ideal_s) as u64, &mut world, &tree, spec, Vec::new());
    // A way that is not finished after twice the time is judged by the work done.
    let efficiency = outcome.executed_s.min(outcome.work_s) / (outcome.elapsed_s * (sites * hosts) as f64);
    Row { stealing: format!("{stealing:?}"), hosts: sites * hosts, efficiency, outcome }
}

/// All three ways, one after the other.
pub fn table(seed: u64, ideal_s: f64, jobs: u64) -> impl Iterator<Item = Row> {
    [Stealing::ClusterAware, Stealing::Random, Stealing::MasterWorker]
        .into_iter()
        .map(move |stealing| row(seed, 5, 115, ideal_s, jobs, stealing))
}
