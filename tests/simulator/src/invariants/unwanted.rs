//! An abort reaches all its jobs: if no host was lost, no unwanted job runs for long.
//!
//! After a crash there are orphans, which continue although they may never be wanted.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use sateen_protocol::{JobKey, ROOT_KIND, RunId, limits};

use crate::world::World;

pub fn check(world: &mut World) -> Option<String> {
    if world.disturbances.last().0 > 0 {
        return None;
    }
    let mut wanted: BTreeMap<RunId, BTreeSet<JobKey>> = BTreeMap::new();
    for (_, process) in world.alive() {
        for (run, portion) in &process.runtime.portions {
            wanted.entry(*run).or_default().extend(portion.exchange.away().map(|(_, _, spec)| spec.key));
        }
    }
    let mut unwanted = BTreeMap::new();
    // In other runs, hosts compute jobs again for the coordinator, to check them.
    let is_submitted = |(run, _): &(&RunId, _)| world.trees.contains_key(run);
    for (index, process) in world.alive() {
        for (run, portion) in process.runtime.portions.iter().filter(is_submitted) {
            for (held, task) in portion.exchange.held() {
                let spec = portion.tasks.get(task).map(|task| &task.spec);
                let is_unwanted = |spec: &&sateen_protocol::JobSpec| {
                    spec.kind != ROOT_KIND && !wanted.get(run).is_some_and(|keys| keys.contains(&spec.key))
                };
                if spec.filter(is_unwanted).is_some() {
                    let job = (index, *run, held);
                    unwanted.insert(job, world.remembered.unwanted.get(&job).copied().unwrap_or(world.now));
                }
            }
        }
    }
    world.remembered.unwanted = unwanted;
    // Reconciliation makes up for a lost message.
    let patience = limits::SILENCE_MAX + 3 * limits::RECONCILE;
    let patience = patience + Duration::from_nanos(4 * world.network.pipes.buffer_ns());
    let (index, run, held) =
        world.remembered.unwanted.iter().find(|(_, since)| world.now.since(**since) > patience)?.0;
    Some(format!("host {index} still runs job {} of run {run}, which no host wants", held.0))
}
