//! After the faults, all hosts are connected, know the hosts that they should know (in a small grid, all others),
//! and have forgotten finished runs.

use std::collections::BTreeSet;

use sateen_protocol::{HostId, limits};

use crate::world::World;

pub fn check(world: &World) -> Option<String> {
    let machine = world.server.machine.as_ref()?;
    let listed: BTreeSet<HostId> = machine.host_ids().collect();
    for (index, process) in world.alive() {
        let Some(id) = process.host.id().filter(|_| process.host.is_connected()) else {
            return Some(format!("host {index} is not connected"));
        };
        if !listed.contains(&id) {
            return Some(format!("the coordinator does not know {id}"));
        }
        let known: BTreeSet<HostId> = process.host.peers().map(|info| info.id).collect();
        let circle: BTreeSet<HostId> = machine.circle(id).collect();
        if known != circle {
            return Some(format!("host {index}, {id}, knows {known:?}, and should know {circle:?}"));
        }
        if !known.is_subset(&listed) {
            return Some(format!("host {index}, {id}, knows {known:?}, and there are {listed:?}"));
        }
        if world.config.circle == limits::CIRCLE && known.len() + 1 != listed.len() {
            return Some(format!("host {index}, {id}, knows only {known:?}, and there are {listed:?}"));
        }
        if let Some(unlisted) = known.iter().find(|other| !machine.circle(**other).any(|known| known == id)) {
            return Some(format!("{id} knows {unlisted}, which should not know it"));
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
        .then(|| format!("{} hosts are alive, and the coordinator lists {listed:?}", world.alive().count()))
}
