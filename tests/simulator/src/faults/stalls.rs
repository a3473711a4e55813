//! A coordinator that stalls: messages wait meanwhile, and arrive all at once. Hosts that receive nothing from it close
//! their links.

use std::collections::VecDeque;

use sateen_protocol::limits::SILENCE_MAX;
use sateen_protocol::{Random, Time};

use crate::event::{Event, ProcessIndex, Undo};
use crate::pipes::Pipe;
use crate::process::BACKOFF_MIN_NS;
use crate::schedule::Fault;
use crate::world::World;

/// The longest stall.
const STALL_MS_MAX: usize = 10_000;
/// Delay of a turn after which the coordinator's driver notices a stall.
const NOTICED_NS: u64 = 1_000_000_000;
/// A host that was stopped processes waiting messages for this time before it considers the coordinator silent.
const HEARS_AGAIN_NS: u64 = 500_000_000;

/// The coordinator stalls.
#[derive(Debug, Clone)]
pub struct Stall {
    for_ns: u64,
    /// Whether the whole process stalls, the relay included; otherwise only the machine waits, for example for a disk.
    is_whole: bool,
}

pub(crate) fn draw(random: &mut Random) -> Stall {
    let most_ms = [900, STALL_MS_MAX - 100][random.below(2)];
    let for_ns = (100 + random.below(most_ms) as u64) * 1_000_000;
    Stall { for_ns, is_whole: random.below(2) == 0 }
}

/// Events that wait for a stalled coordinator.
#[derive(Debug, Default)]
pub struct Waiting {
    /// Whether the whole process stalls, the relay included.
    pub is_whole: bool,
    since: Time,
    events: VecDeque<Event>,
}

impl World {
    pub(crate) fn stall_coordinator(&mut self, stall: &Stall) {
        if self.server.machine.is_none() || self.server.waiting.is_some() {
            return;
        }
        self.sometimes.hit("the coordinator stalled");
        let (is_whole, since) = (stall.is_whole, self.now);
        self.server.waiting = Some(Waiting { is_whole, since, events: VecDeque::new() });
        self.queue.push(Time(self.now.0 + stall.for_ns), Event::Undo(Undo::Unstall));
        self.disturb();
    }

    /// Holds the event back if it needs a coordinator that stalls.
    pub(crate) fn wait_for_coordinator(&mut self, event: Event) -> Option<Event> {
        let Some(waiting) = &mut self.server.waiting else { return Some(event) };
        let needs_machine = match &event {
            Event::ToCoordinator(..) | Event::CoordinatorClosed(_) | Event::CoordinatorTimer => true,
            Event::Undo(Undo::Resume(_)) => true,
            Event::Fault(step) => {
                matches!(
                    self.faults.schedule[*step],
                    Fault::Suspend { .. } | Fault::Cancel(_) | Fault::CrashRoot
                )
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

    /// It crashes: messages to it are lost, and other events have no effect.
    pub(crate) fn drop_waiting(&mut self) {
        let Some(waiting) = self.server.waiting.take() else { return };
        for event in waiting.events {
            if matches!(event, Event::Opened(..) | Event::Undo(_) | Event::Fault(_)) {
                self.queue.push(self.now, event);
            }
        }
    }

    /// It continues. Its driver notices the stall, and reads waiting messages before it looks at the clock.
    pub(crate) fn unstall_coordinator(&mut self) {
        let Some(waiting) = self.server.waiting.take() else { return };
        let (now, took) = (self.now, self.now.since(waiting.since));
        if took.as_nanos() as u64 >= NOTICED_NS {
            self.with_coordinator(|machine| machine.handle_stall(now));
        }
        let has_messages = waiting.events.iter().any(|event| matches!(event, Event::ToCoordinator(..)));
        if took >= SILENCE_MAX && has_messages {
            self.sometimes
                .hit("messages waited for a coordinator that stalled for longer than hosts may be silent");
        }
        let is_timer = |event: &Event| matches!(event, Event::CoordinatorTimer);
        let (timers, events): (Vec<Event>, Vec<Event>) = waiting.events.into_iter().partition(is_timer);
        for event in events.into_iter().chain(timers) {
            self.happen(event);
        }
        self.pump_all();
        self.disturb();
    }

    /// Hosts that have received nothing from the coordinator for too long close their links and dial again, as real
    /// drivers do.
    pub(crate) fn hang_up_on_silence(&mut self) {
        let now = self.now;
        let up: Vec<ProcessIndex> =
            self.alive().map(|(index, _)| index).filter(|index| self.is_up(*index)).collect();
        for process in up {
            let Some(link) = self.processes[process as usize].uplink.link() else { continue };
            let state = self.network.link_mut(link);
            if now.since(state.heard_by_host) < SILENCE_MAX {
                state.silent_since = None;
                continue;
            }
            let since = *state.silent_since.get_or_insert(now);
            if now.0 < since.0 + HEARS_AGAIN_NS {
                continue;
            }
            self.sometimes.hit("a host hung up on a silent coordinator");
            let state = &mut self.processes[process as usize];
            state.uplink.close();
            state.host.handle_disconnected(state.clock.read(now));
            self.network.pipes.drop_all(Pipe::Up(link));
            self.hang_up(link);
            self.settle_host(process);
            self.queue.push(Time(now.0 + BACKOFF_MIN_NS), Event::Dial(process));
        }
    }
}
