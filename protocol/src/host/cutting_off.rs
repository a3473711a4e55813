//! Cuts off peers that break the protocol or reject this host.

use crate::limits::shortened;
use crate::message::{PeerMessage, ToCoordinator};
use crate::{HostId, Time};

use super::{Command, Event, Host};

impl Host {
    /// A peer has rejected this host: loans to it and jobs held for it are handled as if the peer were gone.
    pub(super) fn on_refused(&mut self, now: Time, peer: HostId, reason: String) {
        if self.peers.cut_off(now, peer) {
            self.unpolled.event(Event::RefusedBy(peer, reason));
            self.unpolled.command(Command::CutOff { peer });
            self.lose_peer(now, peer);
        }
    }

    /// Tells a peer the reason and ignores all its further messages.
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
