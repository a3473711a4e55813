//! Every finished run has the right answer.

use sateen_protocol::RunEnd;

use crate::runtime::read_root_answer;
use crate::world::World;

pub fn check(world: &World) -> Option<String> {
    world.server.runs.iter().find_map(|(run, stored)| {
        let expected = world.trees.get(run)?.root().answer;
        match stored.end.as_ref()? {
            RunEnd::Finished(finished) if read_root_answer(finished) == Some(expected) => None,
            RunEnd::Cancelled => None,
            end if world.faults.said.allows(*run, end) => None,
            other => Some(format!("run {run} ended with {other:?} instead of {expected}")),
        }
    })
}
