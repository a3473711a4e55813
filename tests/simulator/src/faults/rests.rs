//! Hosts that take no jobs for a while, although they take part: they finish the jobs that they have.

use sateen_protocol::{Random, Time};

use crate::event::{Event, ProcessIndex, Undo};
use crate::world::World;

/// A host has no time.
#[derive(Debug, Clone)]
pub struct Rest {
    draw: u64,
    for_ns: u64,
}

/// Mostly long enough for objects to be forgotten that no job mentions.
pub(crate) fn draw(random: &mut Random) -> Rest {
    let for_ns = (6_000 + random.below(10_000) as u64) * 1_000_000;
    Rest { draw: random.next_u64(), for_ns }
}

impl World {
    pub(crate) fn rest_host(&mut self, rest: &Rest) {
        let Some(process) = self.draw(rest.draw) else { return };
        self.sometimes.hit("a host had no time for jobs");
        self.processes[process as usize].runtime.is_resting = true;
        self.settle_host(process);
        self.queue.push(Time(self.now.0 + rest.for_ns), Event::Undo(Undo::EndRest(process)));
    }

    pub(crate) fn end_rest(&mut self, process: ProcessIndex) {
        let was_resting = std::mem::take(&mut self.processes[process as usize].runtime.is_resting);
        if was_resting && self.is_up(process) {
            self.settle_host(process);
        }
    }
}
