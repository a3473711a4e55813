//! What the coordinator relays to peers and from them: packets of encrypted sessions.

use sateen_identity::tunnel::{Ends, Lane};
use sateen_protocol::message::ToCoordinator;
use sateen_protocol::{HostId, Time};

use super::Driver;

impl Driver {
    /// This host and a peer; `None` if this host does not know the peer, or has no id.
    fn ends(&self, peer: HostId) -> Option<Ends> {
        let (own, grid) = (self.machine.id()?, self.machine.grid()?);
        let key = self.machine.peer(peer)?.report.key;
        Some(Ends { grid, own, peer, key })
    }

    /// Has frames relayed to a peer. Without a session, they wait for one.
    pub fn relay(&mut self, peer: HostId, frames: Vec<Vec<u8>>) {
        let now = self.clock.now();
        for frame in frames {
            // The last words to a peer that is cut off need only a session.
            let packets = match (self.direct.tunnels.seal(peer, Lane::Control, &frame), self.ends(peer)) {
                (Some(packet), _) => Some(packet),
                (None, Some(ends)) => self.direct.tunnels.send_later(now, &ends, frame),
                (None, None) => None,
            };
            packets.into_iter().for_each(|packet| self.push_packet(peer, packet));
        }
    }

    /// The same for chunks of parcels, which are taken from the state machine only while there is a session.
    pub fn relay_bulk(&mut self, peer: HostId, frames: Vec<Vec<u8>>) {
        for frame in frames {
            if let Some(frame) = self.direct.tunnels.seal(peer, Lane::Bulk, &frame) {
                self.coordinator.send_bulk(&ToCoordinator::RelayBulk { to: peer, frame });
            }
        }
    }

    /// Begins a session with a peer, unless one was begun just now.
    pub fn begin_session(&mut self, peer: HostId) {
        let Some(ends) = self.ends(peer) else { return };
        let begin = self.direct.tunnels.begin(self.clock.now(), &ends);
        begin.into_iter().for_each(|packet| self.push_packet(peer, packet));
    }

    fn push_packet(&mut self, to: HostId, frame: Vec<u8>) {
        self.coordinator.push(&ToCoordinator::Relay { to, frame });
    }

    /// The coordinator has relayed a packet.
    pub fn on_relayed(&mut self, from: HostId, packet: &[u8]) {
        let Some(ends) = self.ends(from) else { return };
        let received = self.direct.tunnels.receive(self.clock.now(), &ends, packet);
        received.packets.into_iter().for_each(|packet| self.push_packet(from, packet));
        if received.is_renewed {
            // What was sent under the session before may be lost.
            self.direct.watched.repeats.insert(from);
            self.direct.watched.is_due = true;
        }
        if let Some(frame) = received.frame {
            self.on_opened(from, &frame);
        }
    }

    /// Begins handshakes again that were not answered, and forgets sessions with hosts that are no longer known.
    pub fn look_at_sessions(&mut self, now: Time) {
        let machine = &self.machine;
        self.direct.tunnels.retain(|peer| machine.peer(peer).is_some());
        if self.may_relay() {
            self.direct.tunnels.due(now).into_iter().for_each(|peer| self.begin_session(peer));
        }
    }
}
