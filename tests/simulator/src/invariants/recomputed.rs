//! What is computed again in a disturbed run is bounded: each worker of a host that ends, stops, pauses or is given up
//! may lose what it did since the last recording, and what it was at. So does each job below one that a host evicts,
//! on whichever host. So may all when the coordinator crashes, or a run is suspended. A host that was given up and does
//! not know goes on meanwhile, and when it is back, with what another host has begun again: the first result counts, and
//! until then both are at it.
//!
//! While messages are lost or late, or a host cannot go on with a run, what was recorded may not be known where it is
//! looked for. There, all workers may lose as much each time that anything happens.
//!
//! Where nothing but one departure happens, [`super::bounded_loss`] is stricter.

use sateen_protocol::{FaultTolerance, limits};

use super::Calm;
use crate::world::World;

/// What a worker may lose each time, in intervals of recording.
const INTERVALS: u64 = 8;
/// What its disturbances may cost, as a fault may be noticed by some before others.
const TIMES: u64 = 2;

pub fn check(world: &World, calm: &Calm) -> Option<String> {
    // Links that are away, and nothing else: `super::blips`.
    if !calm.records_survive || calm.only_blips {
        return None;
    }
    world.server.runs.iter().find_map(|(run, stored)| {
        stored.end.as_ref()?;
        if stored.spec.fault_tolerance != FaultTolerance::Full {
            return None;
        }
        let tree = world.trees.get(run)?;
        let again_ns = world.executed_ns(*run).saturating_sub(tree.root().most_ns);
        let interval_ns = u64::from(stored.spec.record_every_ms) * 1_000_000;
        let leaf_ns = tree.heaviest_ns() + world.config.grain_ns;
        let per_worker_ns = INTERVALS * (interval_ns + limits::FLUSH.as_nanos() as u64) + 3 * leaf_ns;
        let late = if calm.records_are_late { world.shaken_workers } else { 0 };
        let upset = world.upset_workers + late;
        // What calls had done before their children that did not return is lost with them.
        let gone = world.processes.iter().filter(|process| !process.is_alive);
        let cut_short_ns: u64 = gone.map(|process| process.runtime.cut_short_ns(*run)).sum();
        let may_ns = TIMES * upset * per_worker_ns + cut_short_ns + world.away_ns;
        let may_ns = may_ns + world.begun_elsewhere_ns.get(run).copied().unwrap_or(0);
        (again_ns > may_ns).then(|| {
            let (again_ms, may_ms) = (again_ns as f64 / 1e6, may_ns as f64 / 1e6);
            format!(
                "{again_ms:.1} ms of run {run} were computed again; {upset} times a worker was upset, which may cost {may_ms:.1} ms"
            )
        })
    })
}
