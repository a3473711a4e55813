//! Sends messages: over a link to the coordinator, through the relay, or directly.

use sateen_protocol::HostId;
use sateen_protocol::codec::{Decoder, encode};
use sateen_protocol::coordinator::LinkId;
use sateen_protocol::host::{Receiver, Transmit};
use sateen_protocol::limits::{FRAME_BYTES_MAX, MESSAGE_BYTES_MAX};
use sateen_protocol::message::{PeerMessage, ToCoordinator, ToHost};
use sateen_protocol::parcel::ParcelMessage;

use crate::event::{Event, ProcessIndex, Route};
use crate::network::{Node, Way};
use crate::pipes::{Full, Load, Pipe};
use crate::process::Input;
use crate::world::{VIOLATIONS_MAX, World};
use sateen_protocol::Time;

/// Approximate overhead of a chunk.
const CHUNK_OVERHEAD_BYTES: usize = 24;

/// A host's route to a peer.
#[derive(Debug, Clone, Copy)]
enum Path {
    /// Over a direct link.
    Direct {
        latency_ns: u64,
        /// Whether nothing passes, and neither has noticed.
        is_dead: bool,
    },
    /// Through the relay; `is_fallback` if they had a link that is dead.
    Relay { is_fallback: bool },
}

impl World {
    pub(crate) fn transmit(&mut self, index: ProcessIndex, transmit: Transmit) {
        let process = &self.processes[index as usize];
        match transmit {
            Transmit::ToCoordinator(message) => {
                if let Some(link) = process.uplink.link() {
                    self.send_up(link, message);
                }
            }
            Transmit::ToPeer(to, message) => {
                let Some(from) = process.host.id() else { return };
                self.send_to_peer(index, from, to, message);
            }
        }
    }

    /// The next chunk of a parcel that fits a host's links.
    pub(crate) fn poll_bulk(&mut self, index: ProcessIndex) -> Option<Transmit> {
        if !self.network.pipes.is_limited() {
            return self.processes[index as usize].host.poll_bulk(|_| true);
        }
        let link = self.relaying_link(index);
        let (network, directory, now) = (&self.network, &self.directory, self.now);
        self.processes[index as usize].host.poll_bulk(|to| {
            let target = match to {
                Receiver::Coordinator => None,
                Receiver::Peer(peer) => directory.get(peer),
            };
            let is_direct = |target: &ProcessIndex| {
                network.direct_ns(index, *target).is_some()
                    && network.dead_between(now, index, *target) != Some(true)
            };
            match (target.filter(is_direct), link) {
                (Some(target), _) => network.pipes.has_room(Pipe::Direct(index, target)),
                (None, Some(link)) => network.pipes.has_room(Pipe::Up(link)),
                (None, None) => false,
            }
        })
    }

    /// The link over which the coordinator relays a host's messages. As real drivers do, a host sends none before its
    /// welcome: that may give it another id, and the messages of the host that it was would come from the new one.
    fn relaying_link(&self, index: ProcessIndex) -> Option<LinkId> {
        let process = &self.processes[index as usize];
        process.uplink.link().filter(|_| process.host.is_connected())
    }

    fn path(&self, from: ProcessIndex, to: ProcessIndex) -> Path {
        let dead = self.network.dead_between(self.now, from, to);
        match self.network.direct_ns(from, to).filter(|_| dead != Some(true)) {
            Some(latency_ns) => Path::Direct { latency_ns, is_dead: dead.is_some() },
            // Their drivers have noticed, and use the relay until the path works again.
            None => Path::Relay { is_fallback: dead == Some(true) },
        }
    }

    fn send_to_peer(&mut self, index: ProcessIndex, from: HostId, to: HostId, message: PeerMessage) {
        let process = &self.processes[index as usize];
        if self.config.is_observed && !process.acquaintances.allow(self.now, &process.host, to) {
            let violation = format!("host {index} sends to {to}, which is a stranger: {message:.60?}");
            if self.violations.len() < VIOLATIONS_MAX {
                self.violations.push(violation);
            }
        }
        let link = self.relaying_link(index);
        let target = self.directory.get(to);
        let path = target.map(|target| (target, self.path(index, target)));
        if let Some((_, Path::Relay { is_fallback: true })) = path {
            self.sometimes.hit("the relay was used because a direct path was dead");
        }
        let bytes = self.size_of_peer_message(&message);
        let is_bulk = is_chunk(&message);
        if let Some((target, Path::Direct { latency_ns, is_dead })) = path {
            if is_dead && !self.network.pipes.is_limited() {
                return self.sometimes.hit("a peer message was lost");
            }
            if let Some(later_ns) = self.network.again() {
                self.sometimes.hit("a peer message came twice");
                let event = Event::Peer(target, from, Route::Direct(to), Box::new(message.clone()));
                self.queue.push(Time(self.now.0 + latency_ns + later_ns), event);
            }
            let event = Event::Peer(target, from, Route::Direct(to), Box::new(message));
            if self.network.pipes.is_limited() {
                let load = Load { is_bulk, ..Load::control(bytes, event) };
                return self.write_to(Pipe::Direct(index, target), load);
            }
            self.depart_directly(index, target, self.now, event);
        } else if let Some(link) = link {
            let event = Event::Relay(link, to, Box::new(message));
            self.carry(link, Way::Up, Load { is_bulk, ..Load::control(bytes, event) });
        } else if target.is_none() && self.processes[index as usize].uplink.link().is_none() {
            // Its direct link is closed, and there is no relay.
            self.processes[index as usize].inputs.push_back(Input::PeerLost(to));
        }
    }

    fn send_up(&mut self, link: LinkId, message: ToCoordinator) {
        let bytes = self.size_of_message(&message);
        let message = self.through_frames(bytes, message);
        let is_bulk = matches!(message, ToCoordinator::Parcel(ParcelMessage::Chunk { .. }));
        let event = Event::ToCoordinator(link, Box::new(message));
        self.carry(link, Way::Up, Load { is_bulk, ..Load::control(bytes, event) });
    }

    pub(crate) fn send_down(&mut self, link: LinkId, message: ToHost) {
        let process = self.network.link(link).process;
        let bytes = self.size(&message);
        let message = self.through_frames(bytes, message);
        self.carry(link, Way::Down, Load::control(bytes, Event::ToHost(process, link, Box::new(message))));
    }

    /// Relays a frame to another host.
    pub(crate) fn relay(&mut self, link: LinkId, to: HostId, message: Box<PeerMessage>) {
        let sender = self.network.link_mut(link);
        if !sender.is_dead {
            sender.heard = self.now;
        }
        let Some(from) = sender.host else { return };
        if !sender.open_at_coordinator || sender.is_dead || self.server.machine.is_none() {
            return;
        }
        self.faults.parcels.relayed(link, from, to, &message, &mut self.sometimes);
        let Some(next) = self.server.links.get(to) else {
            return self.send_down(link, ToHost::Unreachable { host: to });
        };
        let Some(delay_ns) = self.network.delay() else {
            return self.sometimes.hit("a peer message was lost");
        };
        let process = self.network.link(next).process;
        let bytes = self.size_of_peer_message(&message);
        if let Some(later_ns) = self.network.again() {
            self.sometimes.hit("a peer message came twice");
            let event = Event::Peer(process, from, Route::Relay(next), message.clone());
            self.queue.push(Time(self.now.0 + later_ns), event);
        }
        let is_bulk = is_chunk(&message);
        let event = Event::Peer(process, from, Route::Relay(next), message);
        self.carry(next, Way::Down, Load { bytes, is_bulk, from: Some(link), delay_ns, event });
    }

    /// Sends a message over a link between a host and the coordinator.
    pub(crate) fn carry(&mut self, link: LinkId, way: Way, load: Load) {
        if self.network.pipes.is_limited() {
            let pipe = if way == Way::Up { Pipe::Up(link) } else { Pipe::Down(link) };
            return self.write_to(pipe, load);
        }
        self.depart(link, way, self.now, load);
    }

    /// The message is in transit, or waits for a partition to heal.
    fn depart(&mut self, link: LinkId, way: Way, at: Time, load: Load) {
        match self.network.over(at, link, way) {
            Some(at) => self.queue.push(Time(at.0 + load.delay_ns), load.event),
            None => {
                let (from, to) = self.network.ends(link, way);
                self.note_stopped(from, to);
                self.network.stall(link, load.event);
            }
        }
    }

    /// A partition stops a message.
    fn note_stopped(&mut self, from: Node, to: Node) {
        if self.network.is_cut_one_way(from, to) {
            self.sometimes.hit("a message was stopped that could have gone the other way");
        }
    }

    fn depart_directly(&mut self, from: ProcessIndex, to: ProcessIndex, at: Time, event: Event) {
        let latency_ns = self.network.direct_ns(from, to).unwrap_or(0);
        match self.network.between(at, Node::Host(from), Node::Host(to), latency_ns) {
            Some(at) => self.queue.push(at, event),
            None => {
                self.note_stopped(Node::Host(from), Node::Host(to));
                self.sometimes.hit("a peer message was lost");
            }
        }
    }

    // ---- bandwidth ----

    fn write_to(&mut self, pipe: Pipe, load: Load) {
        match self.network.pipes.push(pipe, load) {
            Ok(()) => {}
            Err(Full::Bulk) => self.sometimes.hit("a chunk did not fit"),
            Err(Full::Control) => {
                let violation = format!("more waits at {pipe:?} besides chunks than its other end allows");
                if !self.violations.contains(&violation) {
                    self.violations.push(violation);
                }
            }
        }
        self.pump(pipe);
    }

    /// Hands messages that wait at a link to the system, as far as its buffer has room.
    pub(crate) fn pump(&mut self, pipe: Pipe) {
        while self.may_write(pipe) {
            let Some((load, at)) = self.network.pipes.next(self.now, pipe) else {
                if let Some(at) = self.network.pipes.plan(self.now, pipe) {
                    self.queue.push(at, Event::Pump(pipe));
                }
                return;
            };
            match pipe {
                Pipe::Up(link) => self.depart(link, Way::Up, at, load),
                Pipe::Down(link) => self.depart(link, Way::Down, at, load),
                Pipe::Direct(from, to) if self.network.dead_between(self.now, from, to).is_none() => {
                    self.depart_directly(from, to, at, load.event);
                }
                Pipe::Direct(..) => self.sometimes.hit("a peer message was lost"),
            }
        }
    }

    /// A link has room again: the host that writes to it may have more to send.
    pub(crate) fn pump_on(&mut self, pipe: Pipe) {
        self.network.pipes.due(pipe);
        self.pump(pipe);
        if let Some(process) = self.writer(pipe).filter(|process| self.is_up(*process)) {
            self.settle_host(process);
        }
    }

    /// Checks all links, as the reason why they stopped may be over.
    pub(crate) fn pump_all(&mut self) {
        for pipe in self.network.pipes.waiting() {
            self.pump(pipe);
        }
    }

    /// The host that writes to a link.
    fn writer(&self, pipe: Pipe) -> Option<ProcessIndex> {
        match pipe {
            Pipe::Up(link) => Some(self.network.link(link).process),
            Pipe::Direct(from, _) => Some(from),
            Pipe::Down(_) => None,
        }
    }

    /// Whether its writer runs, and its messages can leave.
    fn may_write(&mut self, pipe: Pipe) -> bool {
        let is_frozen = |process: ProcessIndex| self.processes[process as usize].frozen.is_some();
        if self.writer(pipe).is_some_and(is_frozen) {
            return false;
        }
        match pipe {
            Pipe::Up(link) => {
                !self.network.link(link).is_dead && self.network.passes(self.now, link, Way::Up)
            }
            Pipe::Down(link) => {
                let is_stalled = self.server.waiting.as_ref().is_some_and(|waiting| waiting.is_whole);
                let is_dead = self.network.link(link).is_dead;
                !is_stalled && !is_dead && self.network.passes(self.now, link, Way::Down)
            }
            Pipe::Direct(..) => true,
        }
    }

    /// Drops messages that a process has not handed to the system; if it ends in order, only chunks.
    pub(crate) fn drop_written(&mut self, process: ProcessIndex, is_orderly: bool) {
        if !self.network.pipes.is_limited() {
            return;
        }
        for pipe in self.network.pipes.waiting() {
            if self.writer(pipe) != Some(process) {
                continue;
            }
            match is_orderly {
                true => self.network.pipes.drop_bulk(pipe),
                false => self.network.pipes.drop_all(pipe),
            }
        }
    }

    // ---- sizes ----

    fn size_of_peer_message(&mut self, message: &PeerMessage) -> usize {
        if let PeerMessage::Parcel(ParcelMessage::Chunk { offset, bytes, .. }) = message {
            return self.size_of_chunk(*offset, bytes.len());
        }
        let bytes = self.size(message);
        if bytes > FRAME_BYTES_MAX {
            let what = Some(message).map(|message| format!("{message:.40?}")).unwrap_or_default();
            self.violations
                .push(format!("a message of {bytes} bytes to a peer does not fit a frame: {what}"));
        }
        bytes
    }

    fn size_of_message(&mut self, message: &ToCoordinator) -> usize {
        if let ToCoordinator::Parcel(ParcelMessage::Chunk { offset, bytes, .. }) = message {
            return self.size_of_chunk(*offset, bytes.len());
        }
        let bytes = self.size(message);
        if bytes > MESSAGE_BYTES_MAX {
            self.violations.push(format!("a message of {bytes} bytes to the coordinator is too long"));
        }
        bytes
    }

    /// A message to or from the coordinator that is too long for a frame, reassembled at the other end.
    fn through_frames<M>(&mut self, bytes: usize, message: M) -> M
    where
        M: serde::Serialize + serde::de::DeserializeOwned,
    {
        if !self.config.is_observed || bytes <= FRAME_BYTES_MAX {
            return message;
        }
        let frames = encode(&message).unwrap_or_default();
        let mut decoder = Decoder::default();
        let mut arrived = Vec::new();
        for frame in &frames {
            match decoder.decode(frame) {
                Ok(messages) => arrived.extend(messages),
                Err(error) => self.violations.push(format!("a fragment of a message is refused: {error}")),
            }
        }
        if frames.len() > 1 {
            self.sometimes.hit("a message had fragments");
        }
        match (arrived.pop(), arrived.is_empty()) {
            (Some(only), true) => only,
            _ => {
                self.violations
                    .push(format!("a message of {bytes} bytes is not reassembled at the other end"));
                message
            }
        }
    }

    /// The size of a chunk. There are many chunks, all of one form; a parcel's contents are checked when it is
    /// complete.
    fn size_of_chunk(&mut self, offset: u64, bytes: usize) -> usize {
        self.trace.add(offset);
        bytes + CHUNK_OVERHEAD_BYTES
    }

    /// The size of a message; in an observed world it is really encoded, and must decode to the same message.
    pub(crate) fn size<M>(&mut self, message: &M) -> usize
    where
        M: serde::Serialize + serde::de::DeserializeOwned + PartialEq,
    {
        if self.config.is_observed {
            let Ok(bytes) = postcard::to_allocvec(message) else { return 0 };
            if postcard::from_bytes::<M>(&bytes).as_ref() != Ok(message) {
                self.violations.push("a message changes when it is encoded and decoded".into());
            }
            self.trace.add_bytes(&bytes);
            bytes.len()
        } else if self.network.pipes.is_limited() {
            postcard::experimental::serialized_size(message).unwrap_or(0)
        } else {
            0
        }
    }
}

fn is_chunk(message: &PeerMessage) -> bool {
    matches!(message, PeerMessage::Parcel(ParcelMessage::Chunk { .. }))
}
