//! Other hosts: reached directly if possible, otherwise through the relay.
//!
//! Messages may overtake one another when a direct link takes over from the relay, and are lost when a
//! link breaks: the protocol copes with both.

use std::time::Duration;

use sateen_protocol::codec::{FrameError, decode_whole, encode};
use sateen_protocol::host::{Receiver, Transmit};
use sateen_protocol::message::PeerMessage;
use sateen_protocol::{HostId, Time};
use tracing::{info, warn};

use super::Driver;
use crate::grid::transport::{Closed, LinkNumber};

/// Peers that only the relay reaches are lost after the coordinator has been away for this long. If it were
/// shorter, each restart of the coordinator would make hosts repeat all jobs lent across sites.
const RELAY_AWAY_MAX: Duration = Duration::from_secs(30);

impl Driver {
    // ---- sending ----

    /// Adds a message to those that go out next.
    pub fn push_to_peer(&mut self, peer: HostId, message: &PeerMessage) {
        let route = self.direct.peers.entry(peer).or_default();
        match route.encoder.push(message) {
            Ok(()) if route.has_messages => {}
            Ok(()) => {
                route.has_messages = true;
                self.direct.written.push(peer);
            }
            Err(error) => warn!(%peer, %error, "not sent"),
        }
    }

    /// Sends all added messages; returns whether there were any.
    pub fn send_all(&mut self) -> bool {
        let has_messages = !self.direct.written.is_empty() || self.coordinator.has_messages();
        loop {
            while !self.direct.written.is_empty() {
                for peer in std::mem::take(&mut self.direct.written) {
                    self.send_to(peer);
                }
            }
            if self.coordinator.send() {
                return has_messages;
            }
            let why = Closed::Gone("it does not read its messages".to_owned());
            self.on_coordinator_closed(&why);
            self.tell(|_, _| {});
        }
    }

    /// Sends chunks of parcels if links have room.
    pub fn send_bulk(&mut self) {
        let may_relay = self.may_relay();
        let mut without_session = Vec::new();
        loop {
            let (peers, coordinator) = (&mut self.direct.peers, &self.coordinator);
            let tunnels = &self.direct.tunnels;
            let chunk = self.machine.poll_bulk(|to| {
                let direct = match to {
                    Receiver::Coordinator => None,
                    Receiver::Peer(peer) => {
                        match peers.get_mut(&peer).and_then(|route| route.link(may_relay)) {
                            None if !tunnels.is_open(peer) => {
                                without_session.push(peer);
                                return false;
                            }
                            direct => direct,
                        }
                    }
                };
                direct.map_or_else(|| may_relay && coordinator.has_room(), |direct| direct.link.has_room())
            });
            match chunk {
                None => break,
                Some(Transmit::ToCoordinator(message)) => self.coordinator.send_bulk(&message),
                Some(Transmit::ToPeer(peer, message)) => self.send_bulk_to(peer, &message),
            }
        }
        if may_relay && !without_session.is_empty() {
            without_session.into_iter().for_each(|peer| self.begin_session(peer));
            self.coordinator.send();
        }
    }

    fn send_bulk_to(&mut self, peer: HostId, message: &PeerMessage) {
        let frames = match encode(message) {
            Ok(frames) => frames,
            Err(error) => return warn!(%peer, %error, "not sent"),
        };
        let may_relay = self.may_relay();
        let direct = self.direct.peers.get_mut(&peer).and_then(|route| route.link(may_relay));
        let Some(direct) = direct else { return self.relay_bulk(peer, frames) };
        let number = direct.link.number;
        direct.probe.on_sent(frames.iter().map(Vec::len).sum());
        frames.into_iter().for_each(|frame| direct.link.send_bulk(frame));
        self.watch_link(number);
    }

    pub fn send_to(&mut self, peer: HostId) {
        let may_relay = self.may_relay();
        let Some(route) = self.direct.peers.get_mut(&peer) else { return };
        if !std::mem::take(&mut route.has_messages) {
            return;
        }
        let frames = route.encoder.finish();
        if let Some(direct) = route.link(may_relay) {
            let number = direct.link.number;
            direct.probe.on_sent(frames.iter().map(Vec::len).sum());
            let is_sent = direct.link.send(frames);
            let waiting_bytes = direct.link.waiting_bytes();
            if is_sent {
                self.watch_link(number);
                self.bound_waiting(waiting_bytes);
            } else {
                self.on_direct_closed(number, Closed::Gone("it does not read its messages".to_owned()));
            }
            return;
        }
        if may_relay {
            route.unreachable_since = None;
            self.relay(peer, frames);
        } else {
            let now = self.clock.now();
            route.unreachable_since.get_or_insert(now);
        }
        self.dial(peer);
    }

    /// Whether the coordinator relays messages. Before its welcome, it would relay them under an id that this host does
    /// not know yet.
    pub fn may_relay(&self) -> bool {
        self.machine.is_connected() && self.coordinator.is_open()
    }

    // ---- receiving ----

    /// A frame of a peer was relayed, and is opened.
    pub fn on_opened(&mut self, from: HostId, frame: &[u8]) {
        self.suspect_links(from);
        self.on_decoded(from, decode_whole(frame));
    }

    pub fn on_direct_frame(&mut self, link: LinkNumber, frame: &[u8]) {
        let Some(peer) = self.direct.peer_links.get(&link).copied() else { return };
        self.on_decoded(peer, decode_whole(frame));
    }

    fn on_decoded(&mut self, peer: HostId, decoded: Result<Vec<PeerMessage>, FrameError>) {
        match decoded {
            Ok(messages) => {
                for message in messages {
                    self.tell(|machine, now| machine.handle_from_peer(now, peer, message));
                }
            }
            Err(error) => self.misbehaved(peer, error.to_string()),
        }
    }

    pub fn misbehaved(&mut self, peer: HostId, why: String) {
        warn!(%peer, why, "peer was cut off");
        self.tell(|machine, now| machine.handle_misbehaviour(now, peer, why));
    }

    // ---- the end of a peer ----

    pub fn lose(&mut self, peer: HostId) {
        info!(%peer, "peer is given up: it cannot be reached, and the coordinator is away");
        self.tell(|machine, now| machine.handle_peer_lost(now, peer));
        self.forget_peer(peer);
    }

    /// Earlier messages to it are still sent.
    pub fn forget_peer(&mut self, peer: HostId) {
        self.send_to(peer);
        self.machine.handle_direct(peer, false);
        if let Some(route) = self.direct.peers.remove(&peer) {
            for direct in route.links {
                self.direct.peer_links.remove(&direct.link.number);
            }
        }
    }

    /// The state machine does not know the peer any more, so its messages are not read and it is not dialled.
    pub fn cut_off(&mut self, peer: HostId) {
        self.forget_peer(peer);
    }

    pub fn forget_all_peers(&mut self) {
        let peers: Vec<HostId> = self.direct.peers.keys().copied().collect();
        for peer in peers {
            self.forget_peer(peer);
        }
        self.direct.strangers.clear();
    }

    pub fn look_at_routes(&mut self, now: Time) {
        let is_connected = self.machine.is_connected();
        let mut away = Vec::new();
        for (peer, route) in &mut self.direct.peers {
            if is_connected || !route.links.is_empty() {
                route.unreachable_since = None;
            } else if route.unreachable_since.is_some_and(|since| now.since(since) >= RELAY_AWAY_MAX) {
                away.push(*peer);
            }
        }
        for peer in away {
            self.lose(peer);
        }
        self.look_at_sessions(now);
    }
}
