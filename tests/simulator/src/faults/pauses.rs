//! Hosts that pause, as requested by their owners, and take work again.

use sateen_protocol::{Random, Time};

use crate::event::{Event, ProcessIndex, Undo};
use crate::world::World;

/// Time after which a stopped host is asked again.
const AGAIN_NS: u64 = 200_000_000;

/// A host takes no work for a while.
#[derive(Debug, Clone)]
pub struct Pause {
    draw: u64,
    for_ns: u64,
}

pub(crate) fn draw(random: &mut Random) -> Pause {
    let most_ms = [500, 8_000][random.below(2)];
    let for_ns = (1 + random.below(most_ms) as u64) * 1_000_000;
    Pause { draw: random.next_u64(), for_ns }
}

impl World {
    pub(crate) fn pause_host(&mut self, pause: &Pause) {
        let Some(process) = self.draw(pause.draw) else { return };
        let state = &mut self.processes[process as usize];
        if state.host.is_leaving() || state.host.id().is_none() {
            return;
        }
        self.sometimes.hit("a host paused");
        self.upset(process);
        let state = &mut self.processes[process as usize];
        let local = state.clock.read(self.now);
        state.host.pause(local, Some("its battery is low".to_owned()));
        self.settle_host(process);
        self.queue.push(Time(self.now.0 + pause.for_ns), Event::Undo(Undo::Unpause(process)));
        self.disturb();
    }

    /// A host takes work again.
    pub(crate) fn unpause_host(&mut self, process: ProcessIndex) {
        if !self.processes[process as usize].is_alive {
            return;
        }
        if !self.is_up(process) {
            self.queue.push(Time(self.now.0 + AGAIN_NS), Event::Undo(Undo::Unpause(process)));
            return;
        }
        let state = &mut self.processes[process as usize];
        if state.host.is_leaving() {
            self.sometimes.hit("a host was to take work again while it came to rest");
        } else if state.host.paused().is_some() {
            self.sometimes.hit("a paused host took work again");
        }
        let local = state.clock.read(self.now);
        state.host.pause(local, None);
        self.settle_host(process);
        self.disturb();
    }
}
