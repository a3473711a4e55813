//! The heap of what is to happen, by time and then in the order in which it was scheduled.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use sateen_protocol::coordinator::LinkId;
use sateen_protocol::message::{PeerMessage, ToCoordinator, ToHost};
use sateen_protocol::{HostId, RunId, Time};

use crate::faults::versions::Stranger;
use crate::network::Way;
use crate::pipes::Pipe;

/// The index of a host's process; one that starts again gets a new one.
pub type ProcessIndex = u32;

/// What happens at a moment. An event may find that its reason is gone; it is then nothing.
#[derive(Debug)]
pub enum Event {
    /// A worker has done its stretch of work.
    Worker {
        /// Whose.
        process: ProcessIndex,
        /// Which.
        worker: u32,
        /// Which of its stretches.
        generation: u32,
    },
    /// The timer of a host's machine.
    HostTimer(ProcessIndex),
    /// The timer of the coordinator's machine.
    CoordinatorTimer,
    /// A message arrives at a host.
    ToHost(ProcessIndex, LinkId, Box<ToHost>),
    /// A message arrives at the coordinator.
    ToCoordinator(LinkId, Box<ToCoordinator>),
    /// A frame arrives at the coordinator that is to be passed on.
    Relay(LinkId, HostId, Box<PeerMessage>),
    /// A message of a peer arrives at a host.
    Peer(ProcessIndex, HostId, Route, Box<PeerMessage>),
    /// A host dials the coordinator.
    Dial(ProcessIndex),
    /// A host's dial is answered.
    Opened(ProcessIndex, LinkId),
    /// A host notices that its link is closed.
    HostClosed(ProcessIndex, LinkId),
    /// The coordinator notices that a link is closed.
    CoordinatorClosed(LinkId),
    /// A host has loaded a run's app.
    Loaded(ProcessIndex, RunId),
    /// What waits at a link may be written.
    Pump(Pipe),
    /// A host notices that its direct link to a peer broke, and has another way to it.
    RouteLost(ProcessIndex, HostId),
    /// A step of the schedule.
    Fault(usize),
    /// A host of another version dials.
    Stranger(Stranger),
    /// The second half of a step: a frozen host thaws, a killed one starts again, a partition heals.
    Undo(Undo),
    /// The invariants are checked.
    Audit,
}

impl Event {
    /// Which way it goes over a link, if it does.
    pub fn way(&self) -> Way {
        match self {
            Self::ToCoordinator(..) | Self::Relay(..) | Self::CoordinatorClosed(_) => Way::Up,
            _ => Way::Down,
        }
    }
}

/// How a message of a peer comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// Over a link of the two, which was dialled to somebody of this name and ends with it.
    Direct(HostId),
    /// It was passed on over this link.
    Relay(LinkId),
}

/// What ends something that a fault began.
#[derive(Debug, Clone)]
pub enum Undo {
    /// The process goes on.
    Thaw(ProcessIndex),
    /// A new process starts on the store of this one.
    Restart(ProcessIndex),
    /// The partition with this number heals.
    Heal(u32),
    /// The coordinator starts again.
    RestartCoordinator,
    /// A suspended run is resumed.
    Resume(RunId),
    /// The coordinator goes on.
    Unstall,
    /// The dead path with this number works again.
    PathBack(u32),
    /// A paused host takes work again.
    Unpause(ProcessIndex),
    /// A host has time for jobs again.
    EndRest(ProcessIndex),
    /// Links have all of their bandwidth again.
    Congested,
    /// Something that the coordinator saves may have reached its disk.
    Saved,
    /// The coordinator's disk is as it should be.
    DiskGood,
    /// A host's disk is.
    HostDiskGood(ProcessIndex),
    /// The coordinator crashes, and starts again after so long on what was kept of its disk.
    RollBack(u64),
    /// The host at this place crashes, and starts again after so long on what was kept of its disk.
    RollBackHost(usize, u64),
    /// A host of another version is updated.
    Update(ProcessIndex),
}

/// The heap. What it moves about is small: the events themselves stay where they were put.
#[derive(Debug, Default)]
pub struct Queue {
    heap: BinaryHeap<Reverse<Scheduled>>,
    events: Vec<Option<Event>>,
    /// Places in `events` without one.
    free: Vec<u32>,
    next: u64,
}

/// When, as the how manieth, and the event's place.
type Scheduled = (Time, u64, u32);

impl Queue {
    /// Adds an event.
    pub fn push(&mut self, at: Time, event: Event) {
        let place = self.free.pop().unwrap_or_else(|| {
            self.events.push(None);
            (self.events.len() - 1) as u32
        });
        self.events[place as usize] = Some(event);
        self.heap.push(Reverse((at, self.next, place)));
        self.next += 1;
    }

    /// The next event and its time.
    pub fn pop(&mut self) -> Option<(Time, Event)> {
        let Reverse((at, _, place)) = self.heap.pop()?;
        self.free.push(place);
        Some((at, self.events[place as usize].take()?))
    }

    /// When the next event is.
    pub fn next_at(&self) -> Option<Time> {
        self.heap.peek().map(|Reverse((at, ..))| *at)
    }

    /// How many events wait.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_times_keep_their_order() {
        let mut queue = Queue::default();
        for (at, process) in [(5, 0), (3, 1), (5, 2), (3, 3)] {
            queue.push(Time(at), Event::HostTimer(process));
        }
        let order: Vec<(u64, ProcessIndex)> = std::iter::from_fn(|| queue.pop())
            .map(|(at, event)| match event {
                Event::HostTimer(process) => (at.0, process),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(order, [(3, 1), (3, 3), (5, 0), (5, 2)]);
    }
}
