//! Every run ends once faults have stopped.

use crate::world::World;

pub fn check(world: &World) -> Option<String> {
    world.server.runs.iter().find_map(|(run, stored)| {
        if stored.end.is_some() {
            return None;
        }
        let view = world.server.machine.as_ref().and_then(|machine| machine.run(*run));
        let view = view.map(|view| (view.state(), view.root_host(), view.waiting_for));
        Some(format!("run {run} has not ended; the coordinator says {view:?}"))
    })
}
