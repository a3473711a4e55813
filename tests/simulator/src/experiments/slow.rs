//! Large results over slow links: the time of a run, over the time of its results on the wire.

use std::rc::Rc;

use sateen_protocol::{FaultTolerance, Stealing};
use serde::Serialize;

use super::{Outcome, grid, measure, spec};
use crate::network::NetworkConfig;
use crate::pipes::Pipe;
use crate::tree::{Bulk, Sizes, Tree, TreePlan};

/// Hosts of one worker each.
const HOSTS: usize = 4;
/// Jobs below the root, which has no other work.
const JOBS: u64 = 48;
/// The work of a job, in nanoseconds.
const JOB_NS: u64 = 1_000_000_000;
/// The result of each job, and of the root.
const RESULT_BYTES: usize = 6 << 20;
/// Bandwidth of each link, each way.
const BYTES_PER_SECOND: u64 = 1 << 20;
/// Time after which a run is not waited for.
const LIMIT_S: u64 = 3_600;

/// A row of measurements.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// Whether hosts reach one another directly; otherwise through the relay.
    pub is_direct: bool,
    /// The least time in which the run could end, in seconds.
    pub bound_s: f64,
    /// The run's time over that.
    pub ratio: f64,
    /// Chunks sent, over the chunks in the results.
    pub sent_ratio: f64,
    /// Hosts that were given up.
    pub given_up: u64,
    /// The measurements.
    pub outcome: Outcome,
}

/// The least time for a run with `stolen` stolen jobs: the first stolen job has to be computed before
/// any result is sent; all their results pass the link, or links, to the root's host; and the root's own result, which
/// depends on all of them, passes the link to the coordinator after that.
///
/// Relayed results share one link. Each other host has a direct link, and at best all carry equal parts.
fn bound_s(tree: &Tree, is_direct: bool, stolen: u64) -> f64 {
    let root = tree.root();
    let children = (0..root.children as usize).map(|child| tree.node(tree.child(0, child)).work_ns);
    let compute_ns = root.before_ns + children.min().unwrap_or(0) + root.after_ns;
    let transfer_s = RESULT_BYTES as f64 / BYTES_PER_SECOND as f64;
    let links = if is_direct { HOSTS as u64 - 1 } else { 1 };
    compute_ns as f64 / 1e9 + stolen.div_ceil(links) as f64 * transfer_s + transfer_s
}

/// Relayed and direct.
pub fn table(seed: u64) -> impl Iterator<Item = Row> {
    [false, true].into_iter().map(move |is_direct| row(seed, is_direct))
}

fn row(seed: u64, is_direct: bool) -> Row {
    let every = Sizes { count: usize::MAX, bytes_min: RESULT_BYTES, bytes_max: RESULT_BYTES };
    let tree = Rc::new(Tree::flat(&TreePlan {
        seed,
        jobs: JOBS + 1,
        work_ns: (JOBS + 1) * JOB_NS,
        children_max: JOBS as u32,
        share_percent_max: 100,
        bulk: Bulk { results: every, ..Bulk::default() },
        ..TreePlan::default()
    }));
    let network = NetworkConfig {
        latency_to_coordinator_ns: vec![10_000_000],
        latency_in_site_ns: 1_000_000,
        bytes_per_second: BYTES_PER_SECOND,
        is_direct_in_site: is_direct,
        ..NetworkConfig::default()
    };
    let mut world = grid(seed, 1, HOSTS, network);
    let spec = spec(&tree, Stealing::ClusterAware, FaultTolerance::Full);
    let outcome = measure(LIMIT_S, &mut world, &tree, spec, Vec::new());
    let is_sent = |pipe: &Pipe| !matches!(pipe, Pipe::Down(_));
    let sent: u64 =
        world.network.pipes.carried.iter().filter(|(pipe, _)| is_sent(pipe)).map(|(_, bytes)| bytes).sum();
    let bound_s = bound_s(&tree, is_direct, outcome.stolen);
    Row {
        is_direct,
        bound_s,
        ratio: outcome.elapsed_s / bound_s,
        sent_ratio: sent as f64 / ((outcome.stolen + 1) * RESULT_BYTES as u64) as f64,
        given_up: world.sometimes.count("a host came back under a new id")
            + world.sometimes.count("a host that was given up came back under its id"),
        outcome,
    }
}
