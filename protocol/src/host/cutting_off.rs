//! Peers that break the protocol, or that hear no more of this host.

use crate::limits::{CUT_OFF_HOSTS_MAX, shortened};
use crate::message::{PeerMessage, ToCoordinator};
use crate::{HostId, Time};

use super::{Command, Event, Host};

impl Host {
    /// A peer hears no more of this host: what was lent to it and held for it is as if it were gone.
    pub(super) fn on_refused(&mut self, now: Time, peer: HostId, reason: String) {
        if self.note_cut_off(now, peer) {
            self.events.push_back(Event::RefusedBy(peer, reason));
            self.commands.push_back(Command::CutOff { peer });
            self.lose_peer(now, peer);
        }
    }

    /// Tells a peer why, and hears no more of it.
    pub(super) fn cut_off(&mut self, now: Time, peer: HostId, reason: String) {
        if !self.note_cut_off(now, peer) {
            return;
        }
        self.tell_peer(peer, PeerMessage::Refused { reason: shortened(&reason) });
        self.tell_coordinator(ToCoordinator::Misbehaved { host: peer, reason });
        self.commands.push_back(Command::CutOff { peer });
        self.lose_peer(now, peer);
    }

    /// Notes that a peer is heard no more; false if it was not before.
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
