//! The machine obeys its contract with the runtime: no repeated, unwanted or wrong result,
//! no job injected twice.

use crate::world::World;

pub fn check(world: &World) -> Option<String> {
    world.alive().find_map(|(index, process)| {
        let complaint = process.runtime.complaints().next()?;
        Some(format!("host {index}: {complaint}"))
    })
}
