//! Peers that break the protocol, or that hear no more of this host.

use crate::limits::shortened;
use crate::message::{PeerMessage, ToCoordinator};
use crate::{HostId, Time};

use super::{Command, Event, Host};

impl Host {
    /// A peer hears no more of this host: what was lent to it and held for it is as if it were gone.
    pub(super) fn on_refused(&mut self, now: Time, peer: HostId, reason: String) {
        if self.peers.cut_off(now, peer) {
            self.unpolled.event(Event::RefusedBy(peer, reason));
            self.unpolled.command(Command::CutOff { peer });
            self.lose_peer(now, peer);
        }
    }

    /// Tells a peer why, and hears no more of it.
    pub(super) fn cut_off(&mut self, now: Time, peer: HostId, reason: String) {
        if !self.peers.cut_off(now, peer) {
            return;
        }
        self.tell_peer(peer, PeerMessage::Refused { reason: shortened(&reason) });
        self.tell_coordinator(ToCoordinator::Misbehaved { host: peer, reason });
        self.unpolled.command(Command::CutOff { peer });
        self.lose_peer(now, peer);
    }
}
