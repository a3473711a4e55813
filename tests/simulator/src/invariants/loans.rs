//! No loan is lost for ever: whatever a guest waits for is being run, or on its way, somewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use sateen_protocol::{JobKey, RunId, limits};

use crate::world::World;

pub fn check(world: &mut World) -> Option<String> {
    let mut running: BTreeMap<RunId, BTreeSet<JobKey>> = BTreeMap::new();
    let mut away = Vec::new();
    for (index, process) in world.alive() {
        for (run, portion) in &process.runtime.portions {
            // A host that is stopped notices nothing.
            let is_up = process.frozen.is_none();
            running.entry(*run).or_default().extend(portion.tasks.values().map(|task| task.spec.key));
            let waits = portion.away.iter().filter(|_| is_up);
            away.extend(waits.map(|(number, (_, spec))| (index, *run, *number, spec.key)));
        }
    }
    let now = world.now;
    // What is on its way in chunks may take long, and what waits for its turn longer.
    let moved_at = world.parcels.moved_at;
    let suspects: BTreeMap<_, _> = (away.iter())
        .filter(|(_, run, _, key)| !running.get(run).is_some_and(|keys| keys.contains(key)))
        .map(|(index, run, number, _)| {
            let loan = (*index, *run, *number);
            let since =
                world.suspects.get(&loan).copied().unwrap_or(now).max(world.disturbed_at).max(moved_at);
            (loan, since)
        })
        .collect();
    world.suspects = suspects;
    // Silence must be noticed, the coordinator settle, and three reconciliations take place.
    let patience = limits::SILENCE_MAX + limits::FIND_TIMEOUT + 3 * limits::RECONCILE;
    let patience = patience + Duration::from_nanos(4 * world.network.pipes.buffer_ns());
    let is_calm = world.server.machine.is_some() && world.network.partitions.is_empty();
    let lost = world.suspects.iter().find(|(_, since)| is_calm && now.since(**since) > patience)?;
    let (index, run, number) = lost.0;
    Some(format!("host {index} waits for job {} of run {run}, and nobody runs it", number.0))
}
