//! Parcels of a host, both ways.

use crate::parcel::{Incoming, Outgoing};
use crate::{HostId, RunId, Time};

use super::surface::Receiver;

/// Parcels from this host to others, and from others to this one.
#[derive(Debug, Default)]
pub struct Transfers {
    pub outgoing: Outgoing<Receiver>,
    pub incoming: Incoming<HostId>,
}

impl Transfers {
    /// Bytes of parcels until they have arrived, here or elsewhere.
    pub fn bytes(&self) -> usize {
        self.outgoing.size().1 + self.incoming.held_bytes()
    }

    /// Whether something large is in transit from or to a peer.
    pub fn has_peer(&self, peer: HostId) -> bool {
        self.incoming.has_peer(peer) || self.outgoing.has_peer(Receiver::Peer(peer))
    }

    /// A peer is gone.
    pub fn forget_peer(&mut self, now: Time, peer: HostId) {
        self.outgoing.forget_peer(Receiver::Peer(peer));
        self.incoming.forget_peer(now, peer);
    }

    /// A run is dropped.
    pub fn forget_run(&mut self, now: Time, run: RunId) {
        self.outgoing.forget_run(run);
        self.incoming.forget_run(now, run);
    }

    /// When [`handle_timeout`](Self::handle_timeout) is to be called, and why.
    pub fn next_timeout(&self) -> Option<(Time, &'static str)> {
        let incoming = self.incoming.next_timeout().map(|at| (at, "bytes of a parcel have not come"));
        let outgoing = self.outgoing.next_timeout().map(|at| (at, "a parcel is no longer wanted"));
        [incoming, outgoing].into_iter().flatten().min_by_key(|(at, _)| *at)
    }

    /// Time has passed.
    pub fn handle_timeout(&mut self, now: Time) {
        self.incoming.handle_timeout(now);
        self.outgoing.handle_timeout(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::JobKey;
    use crate::limits::PARCEL_BYTES_MIN;
    use crate::parcel::{Contents, ParcelId};

    const NOW: Time = Time(1);
    const TO: HostId = HostId(1);
    const FROM: HostId = HostId(2);

    fn transfers() -> Transfers {
        let mut transfers = Transfers::default();
        let contents = |run| Contents::Have { run, key: JobKey([1; 32]) };
        let bytes = vec![0; PARCEL_BYTES_MIN];
        transfers.outgoing.add(NOW, Receiver::Peer(TO), contents(RunId(1)), bytes).expect("room");
        let announced = contents(RunId(2));
        let bytes = PARCEL_BYTES_MIN as u64;
        transfers.incoming.announce(NOW, FROM, ParcelId(1), announced, bytes).expect("it is sound");
        transfers
    }

    fn has(transfers: &Transfers) -> [bool; 2] {
        [TO, FROM].map(|peer| transfers.has_peer(peer))
    }

    #[test]
    fn parcels_both_ways_are_forgotten_with_their_peer_and_their_run() {
        let mut transfers = transfers();
        assert_eq!((has(&transfers), transfers.has_peer(HostId(3))), ([true, true], false));
        assert_eq!(transfers.bytes(), PARCEL_BYTES_MIN, "nothing has come of the other");
        transfers.forget_peer(NOW, TO);
        assert_eq!((has(&transfers), transfers.bytes()), ([false, true], 0));
        transfers.forget_peer(NOW, FROM);
        assert_eq!(has(&transfers), [false; 2]);
        assert_eq!(transfers.next_timeout(), None);
        for (run, left) in [(1, [false, true]), (2, [true, false])] {
            let mut transfers = self::transfers();
            transfers.forget_run(NOW, RunId(run));
            assert_eq!(has(&transfers), left);
        }
    }

    #[test]
    fn time_passes_for_both_ways() {
        let mut transfers = transfers();
        let mut reasons = Vec::new();
        while let Some((at, why)) = transfers.next_timeout() {
            transfers.handle_timeout(at);
            assert!(transfers.next_timeout().is_none_or(|(next, _)| next > at), "{why}");
            reasons.push(why);
            assert!(reasons.len() < 100, "{reasons:?}");
        }
        for why in ["bytes of a parcel have not come", "a parcel is no longer wanted"] {
            assert!(reasons.contains(&why), "{reasons:?}");
        }
    }
}
