//! Other hosts: directly where possible, otherwise by the relay.
//!
//! Messages may overtake one another when a direct link takes over from the relay, and are lost when a
//! link breaks: the protocol copes with both.

use std::time::Duration;

use sateen_protocol::codec::{Decoder, FrameError};
use sateen_protocol::message::{PeerMessage, ToCoordinator};
use sateen_protocol::{HostId, Time};
use tracing::{debug, info, warn};

use super::Driver;
use super::routes::{Dial, DirectLink};
use crate::grid::transport::{Closed, DirectHello, DirectListen, GREETING, Link, LinkNumber, Socket, dial};

/// A peer that could not be dialled is dialled again after this time.
const DIAL_AGAIN: Duration = Duration::from_secs(30);
/// A host that dials may be here before the coordinator has told of it.
const STRANGER_MAX: Duration = Duration::from_secs(3);
const STRANGERS_MAX: usize = 64;
/// Direct links; all others are relayed.
const LINKS_MAX: usize = 1024;
/// Peers that only the relay reaches are lost when the coordinator has been away for so long. Shorter,
/// and each restart of the coordinator would have all that is lent across sites done twice.
const RELAY_AWAY_MAX: Duration = Duration::from_secs(30);

/// Somebody who dialled and may yet turn out to be a peer.
pub struct Stranger {
    hello: DirectHello,
    socket: Socket,
    since: Time,
}

enum Verdict {
    Peer,
    NotYetKnown,
    Wrong,
}

impl Driver {
    // ---- out ----

    /// Adds a message to those that go out next.
    pub(super) fn push_to_peer(&mut self, peer: HostId, message: &PeerMessage) {
        let route = self.peers.entry(peer).or_default();
        match route.encoder.push(message) {
            Ok(()) if route.has_messages => {}
            Ok(()) => {
                route.has_messages = true;
                self.written.push(peer);
            }
            Err(error) => warn!(%peer, %error, "not sent"),
        }
    }

    /// Sends all that was added.
    pub(super) fn send_all(&mut self) {
        loop {
            for peer in std::mem::take(&mut self.written) {
                self.send_to(peer);
            }
            if self.coordinator.send() {
                return;
            }
            let why = Closed::Gone("it does not read what it is sent".to_owned());
            self.on_coordinator_closed(&why);
            self.tell(|_, _| {});
        }
    }

    fn send_to(&mut self, peer: HostId) {
        let is_connected = self.machine.is_connected();
        let Some(route) = self.peers.get_mut(&peer) else { return };
        if !std::mem::take(&mut route.has_messages) {
            return;
        }
        let frames = route.encoder.finish();
        if let Some(direct) = route.links.first() {
            let number = direct.link.number;
            if !direct.link.send(frames) {
                self.on_direct_closed(number, Closed::Gone("it does not read what it is sent".to_owned()));
            }
            return;
        }
        if is_connected && self.coordinator.is_open() {
            route.unreachable_since = None;
            for frame in frames {
                self.coordinator.push(&ToCoordinator::Relay { to: peer, frame });
            }
        } else {
            let now = self.clock.now();
            route.unreachable_since.get_or_insert(now);
        }
        self.dial(peer);
    }

    // ---- in ----

    pub(super) fn on_relayed(&mut self, from: HostId, frame: &[u8]) {
        if self.machine.peer(from).is_none() {
            return;
        }
        let decoded = self.peers.entry(from).or_default().relayed.decode(frame);
        self.on_decoded(from, decoded);
    }

    pub(super) fn on_direct_frame(&mut self, link: LinkNumber, frame: &[u8]) {
        let Some(peer) = self.peer_links.get(&link).copied() else { return };
        let Some(route) = self.peers.get_mut(&peer) else { return };
        let Some(direct) = route.links.iter_mut().find(|direct| direct.link.number == link) else { return };
        let decoded = direct.decoder.decode(frame);
        self.on_decoded(peer, decoded);
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

    fn misbehaved(&mut self, peer: HostId, why: String) {
        warn!(%peer, why, "peer was cut off");
        self.tell(|machine, now| machine.handle_misbehaviour(now, peer, why));
    }

    // ---- direct links ----

    fn dial(&mut self, peer: HostId) {
        let now = self.clock.now();
        let Some(info) = self.machine.peer(peer) else { return };
        let (Some(own), Some(grid)) = (self.coordinator.own_secret, self.machine.grid()) else { return };
        let Some(address) = info.report.direct.clone() else { return };
        let is_near = info.report.site == self.options.site;
        if !is_near || self.options.direct == DirectListen::Off || self.peer_links.len() >= LINKS_MAX {
            return;
        }
        let hello = DirectHello::new(grid, own, (peer, info.direct_secret));
        let Some(route) = self.peers.get_mut(&peer) else { return };
        let may = match route.dial {
            Dial::Idle => true,
            Dial::Dialling => false,
            Dial::NotBefore(moment) => now >= moment,
        };
        if may && route.links.is_empty() {
            route.dial = Dial::Dialling;
            tokio::spawn(dial(address, hello, self.net.clone()));
        }
    }

    pub(super) fn on_dialled(&mut self, peer: HostId, socket: Socket) {
        let Some(route) = self.peers.get_mut(&peer) else { return };
        if route.dial == Dial::Dialling {
            route.dial = Dial::Idle;
            self.add_link(peer, socket, false);
        }
    }

    pub(super) fn on_dial_failed(&mut self, peer: HostId, why: &str) {
        debug!(%peer, why, "peer cannot be reached directly");
        let again = self.clock.now() + DIAL_AGAIN;
        let is_connected = self.machine.is_connected();
        let Some(route) = self.peers.get_mut(&peer) else { return };
        route.dial = Dial::NotBefore(again);
        if std::mem::take(&mut route.is_last_dial) && route.links.is_empty() && !is_connected {
            self.lose(peer);
        }
    }

    fn add_link(&mut self, peer: HostId, socket: Socket, greets: bool) {
        let number = self.new_link();
        let link = Link::start(number, socket, self.net.clone());
        if greets {
            link.send(vec![GREETING.to_vec()]);
        }
        let route = self.peers.entry(peer).or_default();
        route.unreachable_since = None;
        route.is_last_dial = false;
        if route.links.is_empty() {
            debug!(%peer, "peer is reached directly");
        }
        route.links.push(DirectLink { link, decoder: Decoder::default() });
        self.peer_links.insert(number, peer);
        self.machine.handle_direct(peer, true);
    }

    pub(super) fn on_direct_closed(&mut self, link: LinkNumber, closed: Closed) {
        let Some(peer) = self.peer_links.remove(&link) else { return };
        let Some(route) = self.peers.get_mut(&peer) else { return };
        route.links.retain(|direct| direct.link.number != link);
        if route.dial != Dial::Dialling {
            route.dial = Dial::Idle;
        }
        if route.links.is_empty() {
            self.machine.handle_direct(peer, false);
        }
        match closed {
            Closed::Broken(why) => self.misbehaved(peer, why),
            Closed::Gone(why) => {
                debug!(%peer, why, "the direct link to a peer broke");
                if route.links.is_empty() && !self.machine.is_connected() {
                    route.is_last_dial = true;
                    self.dial(peer);
                    let is_dialling = self.peers.get(&peer).is_some_and(|route| route.dial == Dial::Dialling);
                    if !is_dialling {
                        self.lose(peer);
                    }
                }
            }
        }
    }

    fn lose(&mut self, peer: HostId) {
        info!(%peer, "peer is given up: it cannot be reached, and the coordinator is away");
        self.tell(|machine, now| machine.handle_peer_lost(now, peer));
        self.forget_peer(peer);
    }

    // ---- those who dial ----

    pub(super) fn on_stranger(&mut self, hello: DirectHello, socket: Socket) {
        let since = self.clock.now();
        self.judge(Stranger { hello, socket, since });
    }

    pub(super) fn look_at_strangers(&mut self, now: Time) {
        for stranger in std::mem::take(&mut self.strangers) {
            if now.since(stranger.since) < STRANGER_MAX {
                self.judge(stranger);
            }
        }
    }

    fn judge(&mut self, stranger: Stranger) {
        match self.verdict(&stranger.hello) {
            Verdict::Peer => self.add_link(stranger.hello.from, stranger.socket, true),
            Verdict::NotYetKnown if self.strangers.len() < STRANGERS_MAX => self.strangers.push(stranger),
            Verdict::NotYetKnown => {}
            Verdict::Wrong => debug!(peer = %stranger.hello.from, "somebody dialled who is not that peer"),
        }
    }

    fn verdict(&self, hello: &DirectHello) -> Verdict {
        let (Some((own, secret)), Some(grid)) = (self.coordinator.own_secret, self.machine.grid()) else {
            return Verdict::NotYetKnown;
        };
        if hello.grid != grid || hello.to != own || hello.to_secret != secret || hello.from == own {
            return Verdict::Wrong;
        }
        match self.machine.peer(hello.from) {
            None => Verdict::NotYetKnown,
            Some(_) if self.peer_links.len() >= LINKS_MAX || self.options.direct == DirectListen::Off => {
                Verdict::Wrong
            }
            Some(info) if info.direct_secret == hello.from_secret => Verdict::Peer,
            Some(_) => Verdict::Wrong,
        }
    }

    // ---- the end of a peer ----

    /// What was told to it before still goes out.
    pub(super) fn forget_peer(&mut self, peer: HostId) {
        self.send_to(peer);
        self.machine.handle_direct(peer, false);
        if let Some(route) = self.peers.remove(&peer) {
            for direct in route.links {
                self.peer_links.remove(&direct.link.number);
            }
        }
    }

    /// The machine does not know it any more, so nothing more of it is read and it is not dialled.
    pub(super) fn cut_off(&mut self, peer: HostId) {
        self.forget_peer(peer);
    }

    pub(super) fn forget_all_peers(&mut self) {
        let peers: Vec<HostId> = self.peers.keys().copied().collect();
        for peer in peers {
            self.forget_peer(peer);
        }
        self.strangers.clear();
    }

    pub(super) fn look_at_routes(&mut self, now: Time) {
        let is_connected = self.machine.is_connected();
        let mut away = Vec::new();
        for (peer, route) in &mut self.peers {
            if is_connected || !route.links.is_empty() {
                route.unreachable_since = None;
            } else if route.unreachable_since.is_some_and(|since| now.since(since) >= RELAY_AWAY_MAX) {
                away.push(*peer);
            }
        }
        for peer in away {
            self.lose(peer);
        }
    }
}
