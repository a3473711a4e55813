//! Links with bandwidth. Messages for one direction of a link wait in a queue of two classes, as in the
//! real transport: all other messages overtake chunks of parcels. Bytes in the system's buffer are not overtaken.

use std::collections::{BTreeMap, VecDeque};

use sateen_protocol::Time;
use sateen_protocol::coordinator::LinkId;
use sateen_protocol::limits::CHUNK_BYTES_MAX;

use crate::event::{Event, ProcessIndex};

/// The system's buffer for a link, in bytes.
const SEND_BUFFER_BYTES: u64 = 256 << 10;
/// A host takes chunks from its machine while fewer bytes of chunks wait at a link.
const BULK_BYTES_MIN: usize = 2 * CHUNK_BYTES_MAX;
/// Maximum chunks that the coordinator keeps for one host, in bytes; others are dropped.
const RELAYED_BULK_BYTES_MAX: usize = 32 << 20;
/// Maximum of these from one sender.
const RELAYED_BULK_BYTES_PER_SENDER_MAX: usize = 4 << 20;
/// Maximum bytes that wait at a link besides chunks, before the real drivers close it.
const CONTROL_BYTES_MAX: usize = 16 << 20;

/// One direction of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pipe {
    /// From a host to the coordinator.
    Up(LinkId),
    /// From the coordinator to a host.
    Down(LinkId),
    /// From a host to another that it reaches directly.
    Direct(ProcessIndex, ProcessIndex),
}

/// A message to be written.
#[derive(Debug)]
pub struct Load {
    /// Its encoded length.
    pub bytes: usize,
    /// Whether it is a chunk of a parcel.
    pub is_bulk: bool,
    /// The link of the host that it was relayed for.
    pub from: Option<LinkId>,
    /// Its extra delay, in nanoseconds.
    pub delay_ns: u64,
    /// The event of its arrival.
    pub event: Event,
}

impl Load {
    /// A message that overtakes all chunks.
    pub fn control(bytes: usize, event: Event) -> Self {
        Self { bytes, is_bulk: false, from: None, delay_ns: 0, event }
    }
}

/// The reason why a message is not written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Full {
    /// The chunk does not fit; its receiver asks again.
    Bulk,
    /// More bytes wait than the real drivers allow.
    Control,
}

#[derive(Debug, Default)]
struct Lane {
    loads: VecDeque<Load>,
    bytes: usize,
}

impl Lane {
    fn push(&mut self, load: Load) {
        self.bytes += load.bytes;
        self.loads.push_back(load);
    }

    fn pop(&mut self) -> Option<Load> {
        let load = self.loads.pop_front()?;
        self.bytes -= load.bytes;
        Some(load)
    }

    fn of_sender(&self, from: Option<LinkId>) -> usize {
        self.loads.iter().filter(|load| load.from == from).map(|load| load.bytes).sum()
    }
}

#[derive(Debug, Default)]
struct Writer {
    control: Lane,
    bulk: Lane,
    /// The time when the system's buffer has been sent.
    written: Time,
    /// Whether its next turn is on the heap.
    is_due: bool,
}

/// All links that were written to, by direction.
#[derive(Debug, Default)]
pub struct Pipes {
    /// Bandwidth of each link, each way; 0 is unlimited, and then no message waits here.
    pub bytes_per_second: u64,
    writers: BTreeMap<Pipe, Writer>,
    /// Payload handed to each link, in bytes.
    pub carried: BTreeMap<Pipe, u64>,
}

impl Pipes {
    /// Links with this bandwidth.
    pub fn new(bytes_per_second: u64) -> Self {
        Self { bytes_per_second, ..Self::default() }
    }

    /// Whether links have a bandwidth.
    pub fn is_limited(&self) -> bool {
        self.bytes_per_second > 0
    }

    /// The transfer time of `bytes` bytes, in nanoseconds.
    pub fn transfer_ns(&self, bytes: u64) -> u64 {
        match self.bytes_per_second {
            0 => 0,
            rate => (u128::from(bytes) * 1_000_000_000 / u128::from(rate)) as u64,
        }
    }

    /// The transfer time of a full system buffer, in nanoseconds.
    pub fn buffer_ns(&self) -> u64 {
        self.transfer_ns(SEND_BUFFER_BYTES)
    }

    /// Whether a chunk may be handed to a link.
    pub fn has_room(&self, pipe: Pipe) -> bool {
        self.writers.get(&pipe).is_none_or(|writer| writer.bulk.bytes < BULK_BYTES_MIN)
    }

    /// Adds a message to be written.
    ///
    /// # Errors
    /// When it does not fit; it is then dropped.
    pub fn push(&mut self, pipe: Pipe, load: Load) -> Result<(), Full> {
        let writer = self.writers.entry(pipe).or_default();
        if !load.is_bulk {
            writer.control.push(load);
            return if writer.control.bytes > CONTROL_BYTES_MAX { Err(Full::Control) } else { Ok(()) };
        }
        let of_sender = || writer.bulk.of_sender(load.from) + load.bytes;
        if load.from.is_some()
            && (writer.bulk.bytes + load.bytes > RELAYED_BULK_BYTES_MAX
                || of_sender() > RELAYED_BULK_BYTES_PER_SENDER_MAX)
        {
            return Err(Full::Bulk);
        }
        *self.carried.entry(pipe).or_default() += load.bytes as u64;
        writer.bulk.push(load);
        Ok(())
    }

    /// The next message that fits the system's buffer, and the time when its last byte has been sent.
    pub fn next(&mut self, now: Time, pipe: Pipe) -> Option<(Load, Time)> {
        let buffer_ns = self.buffer_ns();
        let rate = self.bytes_per_second;
        let writer = self.writers.get_mut(&pipe)?;
        if writer.written.0 >= now.0 + buffer_ns.max(1) {
            return None;
        }
        let load = writer.control.pop().or_else(|| writer.bulk.pop())?;
        let transfer_ns = load.bytes as u64 * 1_000_000_000 / rate.max(1);
        writer.written = Time(writer.written.max(now).0 + transfer_ns);
        Some((load, writer.written))
    }

    /// The time when the system's buffer has room again for waiting messages, unless that is on the heap.
    pub fn plan(&mut self, now: Time, pipe: Pipe) -> Option<Time> {
        let buffer_ns = self.buffer_ns();
        let writer = self.writers.get_mut(&pipe)?;
        let is_empty = writer.control.loads.is_empty() && writer.bulk.loads.is_empty();
        if is_empty || std::mem::replace(&mut writer.is_due, true) {
            return None;
        }
        Some(Time((writer.written.0 + 1).saturating_sub(buffer_ns.max(1)).max(now.0 + 1)))
    }

    /// The time that was planned has come.
    pub fn due(&mut self, pipe: Pipe) {
        if let Some(writer) = self.writers.get_mut(&pipe) {
            writer.is_due = false;
        }
    }

    /// Drops the chunks that wait at a link, which is closed when everything else is written.
    pub fn drop_bulk(&mut self, pipe: Pipe) {
        if let Some(writer) = self.writers.get_mut(&pipe) {
            writer.bulk = Lane::default();
        }
    }

    /// Drops all messages that wait at a link.
    pub fn drop_all(&mut self, pipe: Pipe) {
        if let Some(writer) = self.writers.get_mut(&pipe) {
            (writer.control, writer.bulk) = (Lane::default(), Lane::default());
        }
    }

    /// Links with waiting messages.
    pub fn waiting(&self) -> Vec<Pipe> {
        let waits = |writer: &Writer| !writer.control.loads.is_empty() || !writer.bulk.loads.is_empty();
        self.writers.iter().filter(|(_, writer)| waits(writer)).map(|(pipe, _)| *pipe).collect()
    }

    /// Whether at some link the messages before the chunks exceed the system's buffer, for example runs with long
    /// arguments.
    pub fn is_jammed(&self) -> bool {
        self.writers.values().any(|writer| writer.control.bytes as u64 > SEND_BUFFER_BYTES)
    }

    /// Links with waiting chunks.
    pub fn busy(&self) -> Vec<Pipe> {
        (self.writers.iter()).filter(|(_, writer)| writer.bulk.bytes > 0).map(|(pipe, _)| *pipe).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PIPE: Pipe = Pipe::Direct(0, 1);

    fn load(is_bulk: bool, number: ProcessIndex) -> Load {
        Load { is_bulk, ..Load::control(CHUNK_BYTES_MAX, Event::HostTimer(number)) }
    }

    fn order(pipes: &mut Pipes, now: Time) -> Vec<(ProcessIndex, u64)> {
        std::iter::from_fn(|| pipes.next(now, PIPE))
            .map(|(load, at)| match load.event {
                Event::HostTimer(number) => (number, at.0),
                other => panic!("{other:?}"),
            })
            .collect()
    }

    #[test]
    fn control_overtakes_chunks_and_each_takes_its_time() {
        let mut pipes = Pipes::new(CHUNK_BYTES_MAX as u64);
        for (is_bulk, number) in [(true, 0), (false, 1), (true, 2), (false, 3)] {
            pipes.push(PIPE, load(is_bulk, number)).expect("room");
        }
        let second = 1_000_000_000;
        assert_eq!(
            order(&mut pipes, Time(0)),
            [(1, second), (3, 2 * second), (0, 3 * second), (2, 4 * second)]
        );
        assert!(pipes.waiting().is_empty());
    }

    #[test]
    fn the_buffer_is_full_until_some_of_it_is_gone() {
        let mut pipes = Pipes::new(CHUNK_BYTES_MAX as u64);
        let fits = SEND_BUFFER_BYTES / CHUNK_BYTES_MAX as u64;
        for number in 0..fits as u32 + 2 {
            pipes.push(PIPE, load(false, number)).expect("room");
        }
        assert_eq!(order(&mut pipes, Time(0)).len() as u64, fits);
        let at = pipes.plan(Time(0), PIPE).expect("more waits");
        assert_eq!(pipes.plan(Time(0), PIPE), None, "it is planned already");
        assert!(order(&mut pipes, Time(at.0 - 1)).is_empty());
        assert_eq!(order(&mut pipes, at).len(), 1);
    }

    #[test]
    fn a_host_has_room_for_two_chunks_and_the_coordinator_for_more() {
        let mut pipes = Pipes::new(1);
        for number in 0..2 {
            assert!(pipes.has_room(PIPE));
            pipes.push(PIPE, load(true, number)).expect("room");
        }
        assert!(!pipes.has_room(PIPE));
        let down = Pipe::Down(LinkId(1));
        let relayed = |from| Load { from: Some(LinkId(from)), ..load(true, 0) };
        let fits = RELAYED_BULK_BYTES_PER_SENDER_MAX / CHUNK_BYTES_MAX;
        for _ in 0..fits {
            pipes.push(down, relayed(2)).expect("room");
        }
        assert_eq!(pipes.push(down, relayed(2)), Err(Full::Bulk));
        assert_eq!(pipes.push(down, relayed(3)), Ok(()));
    }
}
