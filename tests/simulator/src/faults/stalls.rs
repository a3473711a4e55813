//! A coordinator that stalls: what comes meanwhile waits, and arrives all at once.

use std::collections::VecDeque;

use sateen_protocol::{Random, Time};

use crate::event::{Event, Undo};
use crate::schedule::Fault;
use crate::world::World;

/// The longest stall.
const STALL_MS_MAX: usize = 10_000;

/// The coordinator stalls.
#[derive(Debug, Clone)]
pub struct Stall {
    for_ns: u64,
    /// The whole process, the relay included; otherwise only the machine waits, for a disk say.
    is_whole: bool,
}

pub(crate) fn draw(random: &mut Random) -> Stall {
    let most_ms = [900, STALL_MS_MAX - 100][random.below(2)];
    let for_ns = (100 + random.below(most_ms) as u64) * 1_000_000;
    Stall { for_ns, is_whole: random.below(2) == 0 }
}

/// What waits for a coordinator that stalls.
#[derive(Debug, Default)]
pub struct Waiting {
    /// Relaying as well, and all else that the process does.
    pub is_whole: bool,
    events: VecDeque<Event>,
}

impl World {
    pub(crate) fn stall_coordinator(&mut self, stall: &Stall) {
        if self.server.machine.is_none() || self.server.waiting.is_some() {
            return;
        }
        self.sometimes.hit("the coordinator stalled");
        self.server.waiting = Some(Waiting { is_whole: stall.is_whole, events: VecDeque::new() });
        self.queue.push(Time(self.now.0 + stall.for_ns), Event::Undo(Undo::Unstall));
        self.disturb();
    }

    /// Keeps the event if it needs a coordinator that stalls.
    pub(crate) fn wait_for_coordinator(&mut self, event: Event) -> Option<Event> {
        let Some(waiting) = &mut self.server.waiting else { return Some(event) };
        let needs_machine = match &event {
            Event::ToCoordinator(..) | Event::CoordinatorClosed(_) | Event::CoordinatorTimer => true,
            Event::Undo(Undo::Resume(_)) => true,
            Event::Fault(step) => {
                matches!(self.schedule[*step], Fault::Suspend { .. } | Fault::Cancel(_) | Fault::CrashRoot)
            }
            Event::Relay(..) | Event::Opened(..) => waiting.is_whole,
            _ => false,
        };
        if !needs_machine {
            return Some(event);
        }
        waiting.events.push_back(event);
        None
    }

    /// It crashes: what was sent to it is lost, and what is not a message finds it gone.
    pub(crate) fn drop_waiting(&mut self) {
        let Some(waiting) = self.server.waiting.take() else { return };
        for event in waiting.events {
            if matches!(event, Event::Opened(..) | Event::Undo(_) | Event::Fault(_)) {
                self.queue.push(self.now, event);
            }
        }
    }

    /// It goes on. Its driver reads what has come before it looks at the clock.
    pub(crate) fn unstall_coordinator(&mut self) {
        let Some(waiting) = self.server.waiting.take() else { return };
        let is_timer = |event: &Event| matches!(event, Event::CoordinatorTimer);
        let (timers, events): (Vec<Event>, Vec<Event>) = waiting.events.into_iter().partition(is_timer);
        for event in events.into_iter().chain(timers) {
            self.happen(event);
        }
        self.pump_all();
        self.disturb();
    }
}
