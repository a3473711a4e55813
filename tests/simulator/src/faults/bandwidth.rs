//! Links with little bandwidth, and runs whose results, parameters and objects are large. Links break while parcels
//! are being transferred, and become slower for a while.

use std::collections::BTreeMap;

use sateen_protocol::coordinator::LinkId;
use sateen_protocol::message::{PeerMessage, ToCoordinator, ToHost};
use sateen_protocol::parcel::{Contents, ParcelId, ParcelMessage};
use sateen_protocol::{Entry, EntryState, HostId, Random, Time};

use super::links::{self, Reset};
use super::routes::Dead;
use crate::event::{Event, ProcessIndex, Route, Undo};
use crate::pipes::Pipe;
use crate::schedule::Fault;
use crate::sometimes::Sometimes;
use crate::tree::{Bulk, Sizes};
use crate::world::World;

const MIB: usize = 1 << 20;
/// The largest results, parameters and objects, in bytes: rarely the maximum.
const BYTES_MAX: [usize; 8] = [128 << 10, 512 << 10, MIB, MIB, 4 * MIB, 8 * MIB, 16 * MIB, 64 * MIB];
/// The smallest, in bytes.
const BYTES_MIN: usize = 2 << 10;
/// Maximum total of a run, in bytes.
const TOTAL_BYTES_MAX: usize = 96 * MIB;
/// Maximum of each kind, if they are small.
const COUNT_MAX: usize = 40;
/// Bounds of the time in which all large transfers pass one link, in seconds.
const TRANSFER_S: (usize, usize) = (2, 60);
/// The slowest links, in bytes a second.
const BYTES_PER_SECOND_MIN: u64 = 128 << 10;
/// Interval at which a break looks for a transfer that could be lost.
const LOOK_EVERY_NS: u64 = 50_000_000;
/// Maximum time until hosts notice that a direct link was reset.
const NOTICED_NS_MAX: usize = 50_000_000;

/// The large items in a seed, and the bandwidth of its links.
#[derive(Debug, Clone)]
pub struct Narrow {
    /// Large items in each of its runs.
    pub bulk: Bulk,
    transfer_s: u64,
}

/// A link breaks while a parcel is being transferred on it.
#[derive(Debug, Clone)]
pub struct Break {
    draw: u64,
    /// The time for which a direct path is away.
    for_ns: u64,
    number: u32,
    reset: Reset,
    /// The time until which it waits for a parcel.
    until: Time,
}

/// All links are slower.
#[derive(Debug, Clone)]
pub struct Congestion {
    divisor: u64,
    for_ns: u64,
}

impl Narrow {
    /// Draws them for a seed.
    pub fn draw(random: &mut Random) -> Self {
        let mut sizes = |most: usize| {
            let bytes_max = BYTES_MAX[random.below(BYTES_MAX.len())].min(most);
            let count = (TOTAL_BYTES_MAX / 2 / bytes_max).clamp(1, COUNT_MAX);
            Sizes { count: 1 + random.below(count), bytes_min: BYTES_MIN, bytes_max }
        };
        let (results, mut parameters, object) = (sizes(64 * MIB), sizes(32 * MIB), sizes(64 * MIB));
        if random.below(2) == 0 {
            parameters.count = 0;
        }
        let object_bytes = if random.below(3) == 0 { object.bytes_max } else { 0 };
        let transfer_s = (TRANSFER_S.0 + random.below(TRANSFER_S.1 - TRANSFER_S.0)) as u64;
        Self { bulk: Bulk { results, parameters, object_bytes }, transfer_s }
    }

    /// The bandwidth at which `bytes` bytes take the drawn time, in bytes a second.
    pub fn bytes_per_second(&self, bytes: u64) -> u64 {
        (bytes / self.transfer_s).max(BYTES_PER_SECOND_MIN)
    }
}

/// A fault of the family, at some time before `until`.
pub(crate) fn draw(number: u32, until: Time, random: &mut Random) -> Fault {
    match random.below(4) {
        0 => Fault::Congestion(Congestion {
            divisor: 2 + random.below(7) as u64,
            for_ns: (100 + random.below(9_000) as u64) * 1_000_000,
        }),
        _ => Fault::Break(Break {
            draw: random.next_u64(),
            for_ns: (500 + random.below(6_000) as u64) * 1_000_000,
            number,
            reset: links::draw(random),
            until,
        }),
    }
}

impl World {
    /// Breaks a link at which chunks wait, as soon as there is one.
    pub(crate) fn break_busy(&mut self, fault: &Break, step: usize) {
        let busy = self.network.pipes.busy();
        if busy.is_empty() {
            let next = Time(self.now.0 + LOOK_EVERY_NS);
            if next < fault.until {
                self.queue.push(next, Event::Fault(step));
            }
            return;
        }
        match busy[(fault.draw % busy.len() as u64) as usize] {
            Pipe::Up(link) | Pipe::Down(link) => {
                let process = self.network.link(link).process;
                if self.processes[process as usize].uplink.uses(link) {
                    self.reset_link_of(process, &fault.reset);
                }
            }
            Pipe::Direct(one, other) => self.break_direct(one, other, fault),
        }
    }

    /// Both ends notice, resend possibly lost messages through the relay, and dial again later.
    fn break_direct(&mut self, one: ProcessIndex, other: ProcessIndex, fault: &Break) {
        self.sometimes.hit("a direct link was reset");
        self.network.dead_paths.insert(fault.number, Dead::noticed(one, other));
        self.queue.push(Time(self.now.0 + fault.for_ns), Event::Undo(Undo::PathBack(fault.number)));
        let mut random = Random::new(fault.draw);
        for (process, peer) in [(one, other), (other, one)] {
            self.network.pipes.drop_all(Pipe::Direct(process, peer));
            if let Some(peer) = self.processes[peer as usize].host.id() {
                let noticed = Time(self.now.0 + random.below(NOTICED_NS_MAX) as u64);
                self.queue.push(noticed, Event::RouteLost(process, peer));
            }
        }
        self.disturb();
    }

    pub(crate) fn congest(&mut self, fault: &Congestion) {
        if self.network.pipes.is_limited() {
            self.sometimes.hit("links were congested");
            self.set_rate(fault.divisor);
            self.queue.push(Time(self.now.0 + fault.for_ns), Event::Undo(Undo::Congested));
            self.disturb();
        }
    }

    /// Divides the bandwidth of links.
    pub(crate) fn set_rate(&mut self, divisor: u64) {
        self.network.pipes.bytes_per_second = self.network.config.bytes_per_second / divisor;
        self.pump_all();
    }

    /// The time of all large transfers over one link, if each host gets each object, in nanoseconds.
    pub fn bulk_ns(&self) -> u64 {
        let hosts = self.alive().count() as u64;
        self.network.pipes.transfer_ns(self.trees.values().map(|tree| tree.bulk_bytes(hosts)).sum())
    }
}

/// The routes of chunks, for all parcels in transit.
#[derive(Debug, Default)]
pub struct Parcels {
    carriers: BTreeMap<(Leg, HostId, ParcelId), Carrier>,
    /// The bytes of all announced parcels, by their senders.
    announced: BTreeMap<(HostId, ParcelId), u64>,
    /// The last arrival of a chunk.
    pub moved_at: Time,
}

/// The place where a chunk was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Leg {
    /// At the relay, for this host.
    Relay(HostId),
    /// At its receiver.
    Host(ProcessIndex),
    Coordinator,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Carrier {
    Direct,
    Link(LinkId),
}

impl Parcels {
    /// The number of announced parcels, and their bytes.
    pub fn announced(&self) -> (u64, u64) {
        (self.announced.len() as u64, self.announced.values().sum())
    }

    /// A frame was relayed.
    pub fn relayed(
        &mut self,
        link: LinkId,
        from: HostId,
        to: HostId,
        message: &PeerMessage,
        sometimes: &mut Sometimes,
    ) {
        if let PeerMessage::Parcel(ParcelMessage::Chunk { parcel, .. }) = message {
            self.note((Leg::Relay(to), from, *parcel), Carrier::Link(link), sometimes);
        }
    }

    /// A message of a peer arrived.
    pub fn arrived(
        &mut self,
        (process, from): (ProcessIndex, HostId),
        route: Route,
        message: &PeerMessage,
        now: Time,
        sometimes: &mut Sometimes,
    ) {
        match message {
            PeerMessage::Parcel(ParcelMessage::Chunk { parcel, .. }) => {
                self.moved_at = now;
                let carrier = match route {
                    Route::Direct(_) => Carrier::Direct,
                    Route::Relay(link) => Carrier::Link(link),
                };
                self.note((Leg::Host(process), from, *parcel), carrier, sometimes);
            }
            PeerMessage::Parcel(ParcelMessage::Received { .. }) => sometimes.hit("a parcel arrived"),
            PeerMessage::Parcel(ParcelMessage::Announce { parcel, contents, bytes }) => {
                self.announced.insert((from, *parcel), *bytes);
                if matches!(contents, Contents::Have { .. }) {
                    sometimes.hit("a large result was found where the table said");
                }
            }
            PeerMessage::Want { .. } => sometimes.hit("a result was wanted that the table has by location"),
            PeerMessage::Entries { entries, .. } => note_entries(entries, sometimes),
            _ => {}
        }
    }

    /// The coordinator sent a message.
    pub fn told_host(&mut self, message: &ToHost, sometimes: &mut Sometimes) {
        match message {
            ToHost::Entries { entries, .. } => note_entries(entries, sometimes),
            ToHost::Parcel(ParcelMessage::Received { .. }) => sometimes.hit("a root's large result arrived"),
            _ => {}
        }
    }

    /// The coordinator received a message.
    pub fn told_coordinator(
        &mut self,
        link: LinkId,
        host: HostId,
        message: &ToCoordinator,
        now: Time,
        sometimes: &mut Sometimes,
    ) {
        match message {
            ToCoordinator::Parcel(ParcelMessage::Chunk { parcel, .. }) => {
                self.moved_at = now;
                self.note((Leg::Coordinator, host, *parcel), Carrier::Link(link), sometimes);
            }
            ToCoordinator::Parcel(ParcelMessage::Announce { parcel, bytes, .. }) => {
                self.announced.insert((host, *parcel), *bytes);
            }
            _ => {}
        }
    }

    fn note(&mut self, chunk: (Leg, HostId, ParcelId), carrier: Carrier, sometimes: &mut Sometimes) {
        match (self.carriers.insert(chunk, carrier), carrier) {
            (Some(Carrier::Link(before)), Carrier::Link(link)) if before != link => {
                sometimes.hit("a parcel was continued after a link was reset");
            }
            (Some(Carrier::Direct), Carrier::Link(_)) | (Some(Carrier::Link(_)), Carrier::Direct) => {
                sometimes.hit("a parcel was continued by another route");
            }
            _ => {}
        }
    }
}

fn note_entries(entries: &[Entry], sometimes: &mut Sometimes) {
    if entries.iter().any(|entry| matches!(entry.state, EntryState::DoneAt { .. })) {
        sometimes.hit("an entry had a result by location");
    }
}
