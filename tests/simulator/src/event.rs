//! The heap of future events, ordered by time and then by the order of scheduling.

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

/// An event. If its reason is gone when it is due, it does nothing.
#[derive(Debug)]
pub enum Event {
    /// A worker has finished its stretch of work.
    Worker {
        /// The host's process.
        process: ProcessIndex,
        /// The worker.
        worker: u32,
        /// The stretch's number.
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
    /// A frame arrives at the coordinator that it must relay.
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
    /// Messages that wait at a link may be written.
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
    /// Its direction over a link, if any.
    pub fn way(&self) -> Way {
        match self {
            Self::ToCoordinator(..) | Self::Relay(..) | Self::CoordinatorClosed(_) => Way::Up,
            _ => Way::Down,
        }
    }
}

/// The route of a peer's message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// Over a direct link, which was dialled to a host with this id and ends with it.
    Direct(HostId),
    /// Relayed over this link.
    Relay(LinkId),
}

/// Ends a fault.
#[derive(Debug, Clone)]
pub enum Undo {
    /// The process continues.
    Thaw(ProcessIndex),
    /// A new process starts on the store of this one.
    Restart(ProcessIndex),
    /// The partition with this number heals.
    Heal(u32),
    /// The coordinator starts again.
    RestartCoordinator,
    /// A suspended run is resumed.
    Resume(RunId),
    /// The coordinator continues.
    Unstall,
    /// The dead path with this number works again.
    PathBack(u32),
    /// A paused host takes work again.
    Unpause(ProcessIndex),
    /// A host has time for jobs again.
    EndRest(ProcessIndex),
    /// Links have all of their bandwidth again.
    Congested,
    /// Data that the coordinator saves may have reached its disk.
    Saved,
    /// The coordinator's disk works again.
    DiskGood,
    /// A host's disk works again.
    HostDiskGood(ProcessIndex),
    /// The coordinator crashes, and starts again after a while on the kept copy of its disk.
    RollBack(u64),
    /// The host at this place crashes, and starts again after a while on the kept copy of its disk.
    RollBackHost(usize, u64),
    /// A host of another version is updated.
    Update(ProcessIndex),
}

/// The heap. Its entries are small: the events themselves stay in place.
#[derive(Debug, Default)]
pub struct Queue {
    heap: BinaryHeap<Reverse<Scheduled>>,
    events: Vec<Option<Event>>,
    /// Free places in `events`.
    free: Vec<u32>,
    next: u64,
}

/// The time, the sequence number, and the event's place.
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

    /// The time of the next event.
    pub fn next_at(&self) -> Option<Time> {
        self.heap.peek().map(|Reverse((at, ..))| *at)
    }

    /// The number of waiting events.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Whether no event waits.
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
