//! Links that are reset: messages on them are lost, and each end notices in its own time.

use sateen_protocol::{Random, Time};

use crate::event::{Event, ProcessIndex};
use crate::world::World;

/// Maximum time until both ends have noticed, by their own pings.
const NOTICED_MS_MAX: usize = 10_000;

/// Maximum time until the host notices; it then dials again, which takes up to 0.2 s more.
const BLIP_MS_MAX: usize = 4_500;
const BLIP_SHORT_MS_MAX: usize = 50;

/// A link between a host and the coordinator is reset.
#[derive(Debug, Clone)]
pub struct Reset {
    /// Draws the host.
    draw: u64,
    /// Time until the host notices.
    host_ns: u64,
    /// Time until the coordinator notices.
    coordinator_ns: u64,
}

pub(crate) fn draw(random: &mut Random) -> Reset {
    let soon = |random: &mut Random| match random.below(3) {
        0 => 0,
        1 => random.below(300) as u64 * 1_000_000,
        _ => random.below(NOTICED_MS_MAX) as u64 * 1_000_000,
    };
    let draw = random.next_u64();
    // At least one end notices at once: otherwise it is a partition.
    let (at_once, later) = (soon(random) / 10, soon(random));
    match random.below(2) {
        0 => Reset { draw, host_ns: at_once, coordinator_ns: later },
        _ => Reset { draw, host_ns: later, coordinator_ns: at_once },
    }
}

/// A link that is away for less than 5 s: half of these end before any host is given up.
pub(crate) fn draw_blip(random: &mut Random) -> Reset {
    let away_ms = match random.below(2) {
        0 => random.below(BLIP_SHORT_MS_MAX),
        _ => random.below(BLIP_MS_MAX),
    };
    Reset { draw: random.next_u64(), host_ns: away_ms as u64 * 1_000_000, coordinator_ns: 0 }
}

impl World {
    pub(crate) fn reset_link(&mut self, reset: &Reset) {
        if let Some(process) = self.draw(reset.draw) {
            self.reset_link_of(process, reset);
        }
    }

    pub(crate) fn reset_link_of(&mut self, process: ProcessIndex, reset: &Reset) {
        let Some(link) = self.processes[process as usize].uplink.link() else { return };
        self.sometimes.hit("a link was reset");
        self.network.link_mut(link).is_dead = true;
        let workers = self.processes[process as usize].plan.workers_by_speed();
        self.disturbances.note_blip(workers, reset.host_ns.max(reset.coordinator_ns));
        self.queue.push(Time(self.now.0 + reset.host_ns), Event::HostClosed(process, link));
        self.queue.push(Time(self.now.0 + reset.coordinator_ns), Event::CoordinatorClosed(link));
        self.disturb();
    }
}
