//! Cuts off peers that break the protocol or reject this host.

use crate::limits::shortened;
use crate::message::{PeerMessage, ToCoordinator};
use crate::{HeldId, HostId, RunId, Time};

use super::{Command, Event, Host, Misbehaviour};

impl Host {
    /// A peer has rejected this host: loans to it and jobs held for it are handled as if the peer were gone.
    pub(super) fn on_refused(&mut self, now: Time, peer: HostId, reason: String) {
        if self.peers.cut_off(now, peer) {
            self.unpolled.event(Event::RefusedBy(peer, reason));
            self.unpolled.command(Command::CutOff { peer });
            self.lose_peer(now, peer);
        }
    }

    /// Sends a peer the reason and ignores all its further messages.
    pub(super) fn cut_off(&mut self, now: Time, peer: HostId, reason: String) {
        if !self.peers.cut_off(now, peer) {
            return;
        }
        self.tell_peer(peer, PeerMessage::Refused { reason: shortened(&reason) });
        self.tell_coordinator(ToCoordinator::Misbehaved { host: peer, reason });
        self.unpolled.command(Command::CutOff { peer });
        self.lose_peer(now, peer);
    }

    /// A held job is not the one that its key names, and will not be run: its result would be recorded, and used, as that
    /// of the other. Nobody else can be waiting for it in good faith.
    pub(super) fn on_misnamed(&mut self, now: Time, run: RunId, id: HeldId) {
        let threads = self.config.report.threads as usize;
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        let Some(held) = host_run.held.get(id) else { return };
        let lender = held.lender();
        if held.keeps_worker() {
            host_run.thief.free_worker(threads);
        }
        self.hand_back_one(now, run, id);
        if let Some(lender) = lender {
            self.cut_off(now, lender, Misbehaviour::OtherKey.to_string());
        }
        self.seek(now, run);
    }
}
