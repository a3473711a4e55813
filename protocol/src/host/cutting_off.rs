//! Cuts off peers that break the protocol or reject this host.

use crate::limits::{CUT_OFF_HOSTS_MAX, shortened};
use crate::message::{PeerMessage, ToCoordinator};
use crate::{HostId, Time};

use super::{Command, Event, Host};

impl Host {
    /// A peer has rejected this host: loans to it and jobs held for it are handled as if the peer were gone.
    pub(super) fn on_refused(&mut self, now: Time, peer: HostId, reason: String) {
        if self.note_cut_off(now, peer) {
            self.events.push_back(Event::RefusedBy(peer, reason));
            self.commands.push_back(Command::CutOff { peer });
            self.lose_peer(now, peer);
        }
    }

    /// Tells a peer the reason and ignores all its further messages.
    pub(super) fn cut_off(&mut self, now: Time, peer: HostId, reason: String) {
        if !self.note_cut_off(now, peer) {
            return;
        }
        self.tell_peer(peer, PeerMessage::Refused { reason: shortened(&reason) });
        self.tell_coordinator(ToCoordinator::Misbehaved { host: peer, reason });
        self.commands.push_back(Command::CutOff { peer });
        self.lose_peer(now, peer);
    }

    /// Notes that a peer is cut off. Returns false if it was before.
    fn note_cut_off(&mut self, now: Time, peer: HostId) -> bool {
        if self.cut_off.insert(peer, now).is_some() {
            return false;
        }
        if self.cut_off.len() > CUT_OFF_HOSTS_MAX {
            let first = self.cut_off.iter().min_by_key(|(_, since)| **since).map(|(host, _)| *host);
            first.map(|first| self.cut_off.remove(&first));
        }
        true
    }
}
