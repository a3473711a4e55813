//! Direct links: opening, watching, closing and reopening them.
//!
//! A link that stops answering (see `probe`) is doubtful: messages go through the relay, and messages that may
//! be lost are sent again. If the link stays doubtful, it is closed, and the peer is dialled again after a
//! growing rest.

use std::time::Duration;

use sateen_protocol::limits::SILENCE_MAX;
use sateen_protocol::message::direct::Caller;
use sateen_protocol::{HostId, Time};
use tracing::{debug, info, warn};

use super::Driver;
use super::probe::{Change, Probe};
use super::routes::{Dial, DirectLink, LINKS_PER_PEER_MAX};
use crate::grid::transport::{Closed, Dialled, DirectListen, Link, LinkNumber, dial};

/// Maximum direct links; further peers are reached through the relay.
pub const LINKS_MAX: usize = 1024;
/// Maximum bytes that wait to be written to all direct links together; above it, the slowest link is closed.
const WAITING_BYTES_MAX: usize = 192 << 20;
/// If less waits on a link, the others are not checked.
const WAITING_BYTES_FEW: usize = 1 << 20;
/// How often links with messages in transit are checked.
const LOOK_EVERY: Duration = Duration::from_millis(25);
/// A host that checks this much later was stopped, or its machine is overloaded.
const LATE: Duration = Duration::from_millis(100);
/// A doubtful link is closed after this time.
const DOUBT_MAX: Duration = Duration::from_secs(3);

impl Driver {
    // ---- opening ----

    pub fn dial(&mut self, peer: HostId) {
        let now = self.clock.now();
        let Some(info) = self.machine.peer(peer) else { return };
        let (Some(own), Some(grid)) = (self.machine.id(), self.machine.grid()) else { return };
        let reported = info.report.direct.as_deref();
        let Some(address) = reported.and_then(|reported| self.direct.way.to_peer(reported)) else { return };
        let is_near = info.report.site == self.options.site;
        if !is_near || self.options.direct == DirectListen::Off || self.direct.peer_links.len() >= LINKS_MAX {
            return;
        }
        let (caller, key) = (Caller { grid, from: own, to: peer }, info.report.key);
        let Some(route) = self.direct.peers.get_mut(&peer) else { return };
        let may = match route.dial {
            Dial::Idle => true,
            Dial::Dialling => false,
            Dial::NotBefore(moment) => now >= moment,
        };
        if may && route.links.is_empty() {
            route.dial = Dial::Dialling;
            let identity = self.direct.identity.clone();
            tokio::spawn(dial(address, caller, identity, key, self.sockets.events()));
        }
    }

    pub fn on_dialled(&mut self, peer: HostId, dialled: Dialled) {
        let Some(route) = self.direct.peers.get_mut(&peer) else { return };
        if route.dial == Dial::Dialling {
            route.dial = Dial::Idle;
            self.add_link(peer, dialled);
        }
    }

    pub fn on_dial_failed(&mut self, peer: HostId, why: &str) {
        debug!(%peer, why, "peer cannot be reached directly");
        let now = self.clock.now();
        let is_connected = self.machine.is_connected();
        let Some(route) = self.direct.peers.get_mut(&peer) else { return };
        route.rest_from_dialling(now);
        if std::mem::take(&mut route.is_last_dial) && route.links.is_empty() && !is_connected {
            self.lose(peer);
        }
    }

    pub fn add_link(&mut self, peer: HostId, dialled: Dialled) {
        let link = self.sockets.open_sealed(dialled);
        let number = link.number;
        let route = self.direct.peers.entry(peer).or_default();
        route.unreachable_since = None;
        route.is_last_dial = false;
        while route.links.len() >= LINKS_PER_PEER_MAX {
            let oldest = route.links.remove(0);
            self.direct.peer_links.remove(&oldest.link.number);
            oldest.link.abandon();
        }
        if route.links.is_empty() {
            debug!(%peer, "peer is reached directly");
        }
        let probe = Probe::new(self.clock.now());
        route.links.push(DirectLink { link, probe, is_suspected: false });
        self.direct.peer_links.insert(number, peer);
        self.note_path(peer);
    }

    // ---- watching ----

    /// A message was sent on a link.
    pub fn watch_link(&mut self, link: LinkNumber) {
        if self.direct.watched.links.is_empty() {
            self.direct.watched.next = self.clock.now() + LOOK_EVERY;
        }
        self.direct.watched.links.insert(link);
    }

    /// A peer that has a link with this host but sends through the relay may doubt the link.
    pub fn suspect_links(&mut self, peer: HostId) {
        let Some(route) = self.direct.peers.get_mut(&peer).filter(|route| route.is_direct()) else { return };
        let now = self.clock.now();
        let mut suspected = Vec::new();
        for direct in &mut route.links {
            if direct.probe.suspect(now) {
                direct.is_suspected = true;
                suspected.push(direct.link.number);
            }
        }
        for link in suspected {
            self.watch_link(link);
            self.direct.watched.next = now;
        }
        self.note_path(peer);
    }

    pub fn look_at_links(&mut self, now: Time) {
        let late = now.since(self.direct.watched.next);
        self.direct.watched.next = now + LOOK_EVERY;
        let may_relay = self.may_relay();
        let mut ended = Vec::new();
        for number in std::mem::take(&mut self.direct.watched.links) {
            let peer = self.direct.peer_links.get(&number).copied();
            let Some((peer, route)) = peer.and_then(|peer| Some((peer, self.direct.peers.get_mut(&peer)?)))
            else {
                continue;
            };
            let Some(direct) = route.links.iter_mut().find(|direct| direct.link.number == number) else {
                continue;
            };
            let (answered, heard_bytes) = (direct.link.answered(), direct.link.heard_bytes());
            if late >= LATE {
                direct.probe.excuse(late);
            }
            let seen = direct.probe.look(now, answered, heard_bytes);
            if let Some(ping) = seen.ping {
                direct.link.ping(ping);
            }
            let is_confirmed = direct.is_suspected && direct.probe.is_confirmed(now, heard_bytes);
            if seen.change.is_some() || is_confirmed {
                direct.is_suspected = false;
            }
            if seen.change == Some(Change::Doubted) || is_confirmed {
                info!(%peer, "the direct link to a peer does not answer");
                self.direct.watched.repeats.insert(peer);
            } else if seen.change == Some(Change::Healed) {
                info!(%peer, "the direct link to a peer answers again");
            }
            let doubt_max = if may_relay { DOUBT_MAX } else { SILENCE_MAX };
            if direct.probe.doubtful_since().is_some_and(|since| now.since(since) >= doubt_max) {
                ended.push(number);
            } else if direct.probe.has_more_to_check() {
                self.direct.watched.links.insert(number);
            }
            if seen.change.is_some() {
                self.note_path(peer);
            }
        }
        for number in ended {
            self.on_direct_closed(number, Closed::Gone("it does not answer".to_owned()));
        }
        self.repeat_lost();
    }

    /// Sends messages that may be lost again, to all peers that can be reached.
    pub fn repeat_lost(&mut self) {
        self.direct.watched.is_due = false;
        let may_relay = self.may_relay();
        for peer in std::mem::take(&mut self.direct.watched.repeats) {
            match self.direct.peers.get(&peer) {
                Some(route) if may_relay || route.is_direct() => {
                    self.tell(|machine, now| machine.handle_route_lost(now, peer));
                }
                Some(_) => {
                    self.direct.watched.repeats.insert(peer);
                }
                None => {}
            }
        }
    }

    fn note_path(&mut self, peer: HostId) {
        let is_direct = self.direct.is_direct(peer);
        self.machine.handle_direct(peer, is_direct);
    }

    /// Closes the slowest link if too much waits on all links; `waiting_bytes` wait on one of them.
    pub fn bound_waiting(&mut self, waiting_bytes: usize) {
        if waiting_bytes >= WAITING_BYTES_FEW {
            self.bound_all_waiting();
        }
    }

    /// The same check for all peers, called at intervals.
    pub fn bound_all_waiting(&mut self) {
        let links = || self.direct.peers.values().flat_map(|route| &route.links).map(|direct| &direct.link);
        let mut waiting_bytes: usize = links().map(Link::waiting_bytes).sum();
        let mut by_bytes: Vec<(usize, LinkNumber)> = Vec::new();
        if waiting_bytes > WAITING_BYTES_MAX {
            by_bytes = links().map(|link| (link.waiting_bytes(), link.number)).collect();
            by_bytes.sort_unstable();
        }
        while waiting_bytes > WAITING_BYTES_MAX
            && let Some((bytes, number)) = by_bytes.pop()
        {
            waiting_bytes -= bytes.min(waiting_bytes);
            warn!(bytes, "a peer does not read its messages: its direct link is closed");
            self.on_direct_closed(number, Closed::Gone("it does not read its messages".to_owned()));
        }
    }

    // ---- closing ----

    pub fn on_direct_closed(&mut self, link: LinkNumber, closed: Closed) {
        let Some(peer) = self.direct.peer_links.remove(&link) else { return };
        let now = self.clock.now();
        let may_relay = self.may_relay();
        let Some(route) = self.direct.peers.get_mut(&peer) else { return };
        if let Some(index) = route.links.iter().position(|direct| direct.link.number == link) {
            let direct = route.links.remove(index);
            route.note_end(direct.probe.opened(), now);
            direct.link.abandon();
        }
        if route.dial != Dial::Dialling {
            route.dial = Dial::Idle;
            if may_relay {
                route.rest_from_dialling(now);
            }
        }
        self.note_path(peer);
        match closed {
            Closed::Broken(why) => self.misbehaved(peer, why),
            Closed::Gone(why) => {
                debug!(%peer, why, "the direct link to a peer broke");
                // Later: this may be in the middle of the state machine's commands.
                self.direct.watched.repeats.insert(peer);
                self.direct.watched.is_due = true;
                let has_links = self.direct.peers.get(&peer).is_none_or(|route| !route.links.is_empty());
                if !has_links && !self.machine.is_connected() {
                    self.dial_or_lose(peer);
                }
            }
        }
    }

    /// The last link has broken, and there is no relay.
    fn dial_or_lose(&mut self, peer: HostId) {
        if let Some(route) = self.direct.peers.get_mut(&peer) {
            route.is_last_dial = true;
        }
        self.dial(peer);
        let is_dialling = self.direct.peers.get(&peer).is_some_and(|route| route.dial == Dial::Dialling);
        if !is_dialling {
            self.lose(peer);
        }
    }
}
