//! When faults have stopped, all hosts are connected, know one another, and have forgotten what is over.

use std::collections::BTreeSet;

use sateen_protocol::HostId;

use crate::world::World;

pub fn check(world: &World) -> Option<String> {
    let machine = world.server.machine.as_ref()?;
    let listed: BTreeSet<HostId> = machine.hosts().iter().map(|view| view.id).collect();
    for (index, process) in world.alive() {
        let Some(id) = process.host.id().filter(|_| process.host.is_connected()) else {
            return Some(format!("host {index} is not connected"));
        };
        if !listed.contains(&id) {
            return Some(format!("the coordinator does not know {id}"));
        }
        let mut known: BTreeSet<HostId> = process.host.peers().map(|info| info.id).collect();
        known.insert(id);
        if known != listed {
            return Some(format!("host {index}, {id}, knows {known:?}, and there are {listed:?}"));
        }
        let over = |run: &sateen_protocol::RunId| {
            world.server.runs.get(run).is_some_and(|stored| stored.end.is_some())
        };
        if let Some(run) = process.host.runs().into_iter().find(|run| over(run)) {
            return Some(format!("host {index} still has run {run}, which is over"));
        }
        if let Some(run) = process.runtime.portions.keys().find(|run| over(run)) {
            return Some(format!("the runtime of host {index} still has run {run}, which is over"));
        }
    }
    (world.alive().count() != listed.len())
        .then(|| format!("{} hosts are there, and the coordinator lists {listed:?}", world.alive().count()))
}
