//! Queues and tables stay within their limits.

use sateen_protocol::limits;

use crate::world::World;

/// Maximum messages and timers that wait for each host. Those of a stopped host are not counted.
const EVENTS_PER_HOST_MAX: usize = 20_000;

pub fn check(world: &World) -> Option<String> {
    let hosts = world.alive().count() + 1;
    if world.queue.len() > hosts * EVENTS_PER_HOST_MAX {
        return Some(format!("{} events wait for {hosts} hosts", world.queue.len()));
    }
    for (index, process) in world.alive() {
        for run in process.host.runs() {
            let (held, lent) = process.host.held_and_lent(run);
            if held > limits::HELD_JOBS_MAX {
                return Some(format!("host {index} holds {held} jobs of run {run}, and has lent {lent}"));
            }
            let (_, bytes) = process.host.table(run);
            if bytes > world.config.table_bytes_max {
                return Some(format!("the table of host {index} for run {run} has {bytes} bytes"));
            }
        }
    }
    let mut runs = world.server.machine.iter().flat_map(|machine| machine.runs());
    runs.find(|view| view.table().1 > world.config.coordinator_table_bytes_max)
        .map(|view| format!("the coordinator's table for run {} has {} bytes", view.run, view.table().1))
}
