//! The work computed again in a disturbed run is bounded: each worker of a host that ends, stops, pauses or is given up
//! may lose its work since the last recording, and its present job. So does each job below one that a host evicts, on
//! any host. So may all workers when the coordinator crashes, or a run is suspended. A host that was given up without
//! knowing it continues meanwhile, and when it is back, also jobs that another host has begun again: the first result
//! counts, and until then both work on it.
//!
//! While messages are lost or late, or a host cannot continue a run, recorded results may be unknown where they are
//! looked up. Then all workers may lose as much at each disturbance.
//!
//! If nothing but one departure happens, [`super::bounded_loss`] is stricter.

use sateen_protocol::{FaultTolerance, limits};

use super::Calm;
use crate::world::World;

/// A worker's maximum loss each time, in intervals of recording.
const INTERVALS: u64 = 8;
/// Factor on the cost of disturbances, as some hosts may notice a fault before others.
const TIMES: u64 = 2;

pub fn check(world: &World, calm: &Calm) -> Option<String> {
    // If links are away and nothing else happens, `super::blips` checks it.
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
        let late = if calm.records_are_late { world.disturbances.shaken_workers() } else { 0 };
        let upset = world.disturbances.upset_workers() + late;
        // The work of unfinished calls before their children is lost with them.
        let gone = world.processes.iter().filter(|process| !process.is_alive);
        let cut_short_ns: u64 = gone.map(|process| process.runtime.cut_short_ns(*run)).sum();
        let may_ns = TIMES * upset * per_worker_ns + cut_short_ns + world.disturbances.away_ns();
        let may_ns = may_ns + world.disturbances.begun_elsewhere_ns(*run);
        (again_ns > may_ns).then(|| {
            let (again_ms, may_ms) = (again_ns as f64 / 1e6, may_ns as f64 / 1e6);
            format!(
                "{again_ms:.1} ms of run {run} were computed again; {upset} times a worker was upset, which may cost {may_ms:.1} ms"
            )
        })
    })
}
