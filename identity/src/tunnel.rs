//! Sessions of hosts whose frames the coordinator relays: it can neither read nor change them.
//!
//! ```text
//! one                         other
//!      ─── Begin ──────────►         Noise KK, first message
//!      ◄── Answer ──────────         Noise KK, second message
//!      ─── frames ─────────►         the first, which may be empty, confirms the session
//!      ◄── frames ──────────
//! ```
//!
//! The relay may lose any of these, send them again, or have them overtake one another, so each frame says under which
//! session and number it was sealed. In each lane, numbers only grow: a frame that comes again is not opened. A host that
//! gets a frame of a session that it does not know begins another session. A host that has answered sends nothing under the
//! new session until it is confirmed, so that a first message that is sent again changes nothing. A relay that is hostile
//! can only do what any network can: lose frames.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use sateen_protocol::message::direct::Caller;
use sateen_protocol::{GridId, HostId, PublicKey, Time};

use crate::key::Identity;
use crate::session::{Begun, Session, answer, prologue};

const PURPOSE: &[u8] = b"sateen 2026-11 relayed session\0";
/// Time after which a handshake that was not answered is begun again.
const AGAIN: Duration = Duration::from_secs(1);
/// Minimum time between two answers to the handshakes of a peer: each costs about 0.3 ms.
const ANSWER_EVERY: Duration = Duration::from_millis(100);
/// Maximum bytes of frames that wait for the session with a peer; the oldest are dropped.
const WAITING_BYTES_MAX: usize = 1 << 20;
/// Sessions of a peer that were confirmed and can still be read: the newest, and the one before.
const CONFIRMED_MAX: usize = 2;

const BEGIN: u8 = 1;
const ANSWER: u8 = 2;
const FRAME: u8 = 3;
/// Numbers from here on are those of the lane of bulk.
const BULK: u64 = 1 << 63;

/// Frames of a lane arrive in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    /// All messages except chunks of parcels.
    Control,
    /// Chunks of parcels, which all others overtake.
    Bulk,
}

/// The two hosts, and the key of the peer as the coordinator has named it.
#[derive(Debug, Clone, Copy)]
pub struct Ends {
    /// The grid of both.
    pub grid: GridId,
    /// This host.
    pub own: HostId,
    /// The other one.
    pub peer: HostId,
    /// Its key.
    pub key: PublicKey,
}

impl Ends {
    fn begun_here(&self) -> Caller {
        Caller { grid: self.grid, from: self.own, to: self.peer }
    }

    fn begun_there(&self) -> Caller {
        Caller { grid: self.grid, from: self.peer, to: self.own }
    }
}

/// What became of a packet.
#[derive(Debug, Default)]
pub struct Received {
    /// The frame in it.
    pub frame: Option<Vec<u8>>,
    /// Packets for the peer, in the lane [`Lane::Control`].
    pub packets: Vec<Vec<u8>>,
    /// The session replaces another: frames that were sealed under that one may be lost.
    pub is_renewed: bool,
}

struct Attempt {
    begun: Begun,
    index: u32,
    since: Time,
}

struct Open {
    session: Session,
    /// By which the peer names the session to this host, and this host to the peer.
    own: u32,
    theirs: u32,
    /// By lane: the next number to seal with, and the least that is still opened.
    next: [u64; 2],
    heard: [u64; 2],
    is_confirmed: bool,
}

#[derive(Default)]
struct Tunnel {
    /// The newest last.
    open: Vec<Open>,
    attempt: Option<Attempt>,
    waiting: VecDeque<Vec<u8>>,
    waiting_bytes: usize,
    answered: Option<Time>,
}

impl Open {
    fn new(session: Session, own: u32, theirs: u32, is_confirmed: bool) -> Self {
        Self { session, own, theirs, next: [0, BULK], heard: [0, BULK], is_confirmed }
    }

    fn seal(&mut self, lane: Lane, frame: &[u8]) -> Vec<u8> {
        let next = &mut self.next[lane as usize];
        let mut packet = vec![FRAME];
        packet.extend(self.theirs.to_le_bytes());
        packet.extend(next.to_le_bytes());
        self.session.seal_into(next, frame, &mut packet);
        packet
    }

    /// The frame, if it was sealed under this session and was not opened before.
    fn open(&mut self, number: u64, sealed: &[u8]) -> Option<Vec<u8>> {
        let heard = &mut self.heard[usize::from(number >= BULK)];
        let mut next = number;
        if number < *heard {
            return None;
        }
        let frame = self.session.open(&mut next, sealed).ok()?;
        *heard = next;
        Some(frame)
    }
}

impl Tunnel {
    fn sending(&mut self) -> Option<&mut Open> {
        self.open.iter_mut().rev().find(|open| open.is_confirmed)
    }

    fn wait(&mut self, frame: Vec<u8>) {
        self.waiting_bytes += frame.len();
        self.waiting.push_back(frame);
        while self.waiting_bytes > WAITING_BYTES_MAX
            && let Some(dropped) = self.waiting.pop_front()
        {
            self.waiting_bytes -= dropped.len();
        }
    }

    /// Seals all that waits; an empty frame if nothing does.
    fn flush(&mut self) -> Vec<Vec<u8>> {
        let mut waiting = std::mem::take(&mut self.waiting);
        self.waiting_bytes = 0;
        if waiting.is_empty() {
            waiting.push_back(Vec::new());
        }
        let Some(open) = self.sending() else { return Vec::new() };
        waiting.iter().map(|frame| open.seal(Lane::Control, frame)).collect()
    }

    /// Forgets sessions that are read no more: all but the newest that are confirmed, and the newest that is not.
    fn tidy(&mut self) {
        let (mut confirmed, mut others) = (CONFIRMED_MAX, 1);
        let mut kept = Vec::new();
        while let Some(open) = self.open.pop() {
            let left = if open.is_confirmed { &mut confirmed } else { &mut others };
            if *left > 0 {
                *left -= 1;
                kept.push(open);
            }
        }
        kept.reverse();
        self.open = kept;
    }

    fn is_due(&self, now: Time) -> bool {
        self.attempt.as_ref().is_none_or(|attempt| now.since(attempt.since) >= AGAIN)
    }
}

/// This host's sessions with all peers.
pub struct Tunnels {
    identity: Identity,
    peers: BTreeMap<HostId, Tunnel>,
    /// The last index that was given to a session.
    index: u32,
}

impl Tunnels {
    /// Without a session.
    pub fn new(identity: Identity) -> Self {
        Self { identity, peers: BTreeMap::new(), index: 0 }
    }

    /// Whether frames to the peer are sealed at once. Otherwise, [`send_later`](Self::send_later) keeps them.
    pub fn is_open(&self, peer: HostId) -> bool {
        self.peers.get(&peer).is_some_and(|tunnel| tunnel.open.iter().any(|open| open.is_confirmed))
    }

    /// The peers for which frames wait, and whose handshake is to be begun again.
    pub fn due(&self, now: Time) -> Vec<HostId> {
        let due = self.peers.iter().filter(|(_, tunnel)| !tunnel.waiting.is_empty() && tunnel.is_due(now));
        due.map(|(peer, _)| *peer).collect()
    }

    /// Forgets the sessions with peers that are not kept, and what waits for them.
    pub fn retain(&mut self, is_kept: impl Fn(HostId) -> bool) {
        self.peers.retain(|peer, _| is_kept(*peer));
    }

    /// Forgets all sessions: this host has another id.
    pub fn forget_all(&mut self) {
        self.peers.clear();
    }

    /// Seals a frame; returns the packet to relay in its lane, or `None` if there is no session.
    pub fn seal(&mut self, peer: HostId, lane: Lane, frame: &[u8]) -> Option<Vec<u8>> {
        let open = self.peers.get_mut(&peer).and_then(Tunnel::sending)?;
        Some(open.seal(lane, frame))
    }

    /// Keeps a frame for the lane [`Lane::Control`] until there is a session; returns the packet that begins one, unless one
    /// was begun just now.
    pub fn send_later(&mut self, now: Time, ends: &Ends, frame: Vec<u8>) -> Option<Vec<u8>> {
        self.peers.entry(ends.peer).or_default().wait(frame);
        self.begin(now, ends)
    }

    /// Begins a handshake with a peer, if none was begun just now; returns the packet to relay in the lane
    /// [`Lane::Control`].
    pub fn begin(&mut self, now: Time, ends: &Ends) -> Option<Vec<u8>> {
        let tunnel = self.peers.entry(ends.peer).or_default();
        if !tunnel.is_due(now) {
            return None;
        }
        self.index = self.index.wrapping_add(1);
        let index = self.index.to_le_bytes();
        let prologue = prologue(PURPOSE, &ends.begun_here(), &index);
        // A key that is not a valid one was never let in by the coordinator.
        let (begun, first) = Begun::new(&self.identity, &ends.key, &prologue).ok()?;
        tunnel.attempt = Some(Attempt { begun, index: self.index, since: now });
        Some([&[BEGIN], index.as_slice(), &first].concat())
    }

    /// A packet of the peer was relayed to this host. One that is not a packet, or was changed, is ignored: the peer is not
    /// to blame for it.
    pub fn receive(&mut self, now: Time, ends: &Ends, packet: &[u8]) -> Received {
        let Some((kind, rest)) = packet.split_first() else { return Received::default() };
        let received = match *kind {
            BEGIN => split(rest).and_then(|(index, first)| self.on_begin(now, ends, index, first)),
            ANSWER => split(rest).and_then(|(own, rest)| {
                let (theirs, second) = split(rest)?;
                self.on_answer(ends, u32::from_le_bytes(own), u32::from_le_bytes(theirs), second)
            }),
            FRAME => split(rest).and_then(|(index, rest)| {
                let (number, sealed) = split(rest)?;
                self.on_frame(now, ends, u32::from_le_bytes(index), u64::from_le_bytes(number), sealed)
            }),
            _ => None,
        };
        received.unwrap_or_default()
    }

    fn on_begin(&mut self, now: Time, ends: &Ends, theirs: [u8; 4], first: &[u8]) -> Option<Received> {
        let tunnel = self.peers.entry(ends.peer).or_default();
        if tunnel.answered.is_some_and(|answered| now.since(answered) < ANSWER_EVERY) {
            return None;
        }
        tunnel.answered = Some(now);
        let prologue = prologue(PURPOSE, &ends.begun_there(), &theirs);
        let (session, second) = answer(&self.identity, &ends.key, &prologue, first).ok()?;
        self.index = self.index.wrapping_add(1);
        tunnel.open.push(Open::new(session, self.index, u32::from_le_bytes(theirs), false));
        tunnel.tidy();
        let packet = [&[ANSWER], theirs.as_slice(), &self.index.to_le_bytes(), &second].concat();
        Some(Received { packets: vec![packet], ..Received::default() })
    }

    fn on_answer(&mut self, ends: &Ends, own: u32, theirs: u32, second: &[u8]) -> Option<Received> {
        let tunnel = self.peers.get_mut(&ends.peer)?;
        let attempt = tunnel.attempt.take_if(|attempt| attempt.index == own)?;
        let session = attempt.begun.finish(second).ok()?;
        let is_renewed = tunnel.sending().is_some();
        tunnel.open.push(Open::new(session, own, theirs, true));
        tunnel.tidy();
        Some(Received { packets: tunnel.flush(), is_renewed, frame: None })
    }

    fn on_frame(
        &mut self,
        now: Time,
        ends: &Ends,
        index: u32,
        number: u64,
        sealed: &[u8],
    ) -> Option<Received> {
        let tunnel = self.peers.entry(ends.peer).or_default();
        let Some(place) = tunnel.open.iter().position(|open| open.own == index) else {
            // The peer takes this for a session that this host has forgotten.
            return Some(Received {
                packets: self.begin(now, ends).into_iter().collect(),
                ..Received::default()
            });
        };
        let frame = tunnel.open[place].open(number, sealed)?;
        let mut received =
            Received { frame: Some(frame).filter(|frame| !frame.is_empty()), ..Received::default() };
        if !tunnel.open[place].is_confirmed {
            received.is_renewed = tunnel.sending().is_some();
            tunnel.open[place].is_confirmed = true;
            tunnel.tidy();
            if !tunnel.waiting.is_empty() {
                received.packets = tunnel.flush();
            }
        }
        Some(received)
    }
}

/// The first bytes, and the rest.
fn split<const N: usize>(bytes: &[u8]) -> Option<([u8; N], &[u8])> {
    bytes.split_first_chunk().map(|(first, rest)| (*first, rest))
}

#[cfg(test)]
mod tests;
