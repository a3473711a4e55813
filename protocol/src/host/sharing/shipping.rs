//! Sends updates to hosts with a replica, and receives them.

use super::unsent::Batch;
use crate::host::{Host, Receiver, Repeated};
use crate::limits::{
    PARCEL_BYTES_MIN, REPEAT_SMALL_BYTES, SHARED_ASK, SHARED_COMPARE_MIN, SHARED_MESSAGE_BYTES_MAX,
    SHARED_UPDATE_OVERHEAD_BYTES,
};
use crate::message::{PeerMessage, ToCoordinator};
use crate::parcel::Contents;
use crate::shared::{ObjectId, Versions, Writer};
use crate::{Bytes, HostId, RunId, Time};

impl Host {
    pub(in crate::host) fn on_updated(&mut self, now: Time, (run, object): (RunId, ObjectId), bytes: Bytes) {
        // A host without an id takes part in no run.
        let me = self.id().unwrap_or(HostId(0));
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        host_run.reporting.own_mut().updates += 1;
        let Some(sharing) = host_run.shared.objects.get_mut(&object) else { return };
        let (Some(replica), Some(shown)) = (&mut sharing.replica, &mut sharing.shown) else { return };
        let made = replica.append_local(me, bytes.clone());
        if shown.note_own(&bytes, made.is_some()) {
            self.show_more(run, object);
        }
        let Some((writer, seq)) = made else {
            return self.end_for_writers(now, run, object);
        };
        self.check_bytes(now, run, object);
        let Some(sharing) = self.sharing(run, object) else { return };
        if sharing.sharers.is_empty() {
            // Hosts that come later get the replica as it is.
            sharing.note_stable();
            return;
        }
        if !sharing.unsent.is_followed_by(writer, seq) {
            self.ship(now, run, object);
        }
        let Some(sharing) = self.sharing(run, object) else { return };
        let is_due = sharing.unsent.push(now, (writer, seq), bytes);
        sharing.comparison.hasten(now);
        if is_due {
            self.ship(now, run, object);
        }
    }

    /// Sends this host's unsent updates of an object.
    pub(super) fn ship(&mut self, now: Time, run: RunId, object: ObjectId) {
        let Some(sharing) = self.sharing(run, object) else { return };
        let Some(Batch { writer, first, updates }) = sharing.unsent.take(now) else { return };
        let sharers: Vec<HostId> = sharing.sharers.hosts().collect();
        let message = PeerMessage::Updates { run, object, writer, first, updates };
        let bytes = Contents::of_peer(&message).map_or(0, |(_, bytes)| bytes);
        let PeerMessage::Updates { updates, .. } = message else { return };
        for sharer in sharers {
            // For a parcel, only the announcement is repeated.
            if bytes > REPEAT_SMALL_BYTES && bytes <= PARCEL_BYTES_MIN {
                self.note_shipped(now, sharer, (run, object), bytes);
            }
            self.send_updates(sharer, (run, object), (writer, first), &updates);
        }
    }

    /// Notes that a host is sent large updates as they are made.
    fn note_shipped(&mut self, now: Time, to: HostId, (run, object): (RunId, ObjectId), bytes: usize) {
        let Some(sharing) = self.sharing(run, object) else { return };
        let Some((_, count)) = sharing.own_log() else { return };
        if sharing.sharers.note_shipped(to, count) {
            let (to, what) = (Receiver::Peer(to), Repeated::Shipped(run, object));
            self.repeats.forget(to, what);
            self.repeats.note(now, to, what);
            self.repeats.note_size(to, what, bytes);
        }
    }

    /// What another host, which says that it has `versions`, will have once this host's large updates have arrived that it was
    /// sent as they were made. They may wait in the queue of a slow link, where copies of them would make the queue longer.
    /// `None` if there are none, or if they are overdue.
    pub(super) fn on_their_way(
        &mut self,
        now: Time,
        to: HostId,
        (run, object): (RunId, ObjectId),
        versions: &Versions,
    ) -> Option<Versions> {
        let what = (Receiver::Peer(to), Repeated::Shipped(run, object));
        let sharing = self.sharing(run, object)?;
        let (own, _) = sharing.own_log()?;
        let Some((all, has_more)) = sharing.sharers.on_their_way(to, versions.of(own)) else {
            self.repeats.forget(what.0, what.1);
            return None;
        };
        if has_more {
            self.repeats.restart(now, what.0, what.1);
        }
        if self.repeats.is_due(now, what.0, what.1, SHARED_COMPARE_MIN) {
            return None;
        }
        let others = versions.iter().filter(|(writer, _)| *writer != own);
        Some(others.chain([(own, all)]).collect())
    }

    pub(super) fn send_updates(
        &mut self,
        to: HostId,
        (run, object): (RunId, ObjectId),
        (writer, mut first): (Writer, u64),
        mut updates: &[Bytes],
    ) {
        while !updates.is_empty() {
            let mut bytes = 0;
            let fits = updates.iter().take_while(|update| {
                bytes += update.len() + SHARED_UPDATE_OVERHEAD_BYTES;
                bytes <= SHARED_MESSAGE_BYTES_MAX
            });
            let (now, later) = updates.split_at(fits.count().max(1));
            let updates_now = now.to_vec();
            let message = PeerMessage::Updates { run, object, writer, first, updates: updates_now };
            self.tell_and_note_size(to, message);
            first += now.len() as u64;
            updates = later;
        }
    }

    /// Sends updates or a replica.
    pub(super) fn tell_and_note_size(&mut self, to: HostId, message: PeerMessage) {
        if let Some((contents, bytes)) = Contents::of_peer(&message)
            && let Some((run, object)) = contents.object()
        {
            self.repeats.note_size(Receiver::Peer(to), Repeated::Updates(run, object), bytes);
        }
        self.tell_peer(to, message);
    }

    /// Notes that a host has a replica. Returns true if this was not known.
    pub(super) fn meet(&mut self, run: RunId, object: ObjectId, host: HostId) -> bool {
        let is_acquainted = self.peers.contains(host);
        let Some(sharing) = self.sharing(run, object) else { return false };
        if !is_acquainted {
            if sharing.sharers.meet_stranger(host) {
                self.tell_coordinator(ToCoordinator::Meet { hosts: vec![host] });
            }
            return false;
        }
        sharing.sharers.meet(host)
    }

    pub(in crate::host) fn on_updates(
        &mut self,
        now: Time,
        from: HostId,
        (run, object): (RunId, ObjectId),
        (writer, first): (Writer, u64),
        updates: &[Bytes],
    ) {
        if !self.knows(from, run, object) {
            return;
        }
        self.meet(run, object, from);
        let Some(sharing) = self.sharing(run, object) else { return };
        // While a replica is in transit to this host, nothing is lost: updates that it lacks will be sent when it is compared.
        let Some(replica) = &mut sharing.replica else { return };
        let received = replica.receive(writer, first, updates);
        if received.applied > 0 {
            sharing.comparison.hasten(now);
            self.show_more(run, object);
            self.check_bytes(now, run, object);
        }
        if received.applied > 0 && !received.has_gap {
            self.repeats.forget(Receiver::Peer(from), Repeated::Question(run, object));
        }
        if received.is_full {
            self.end_for_writers(now, run, object);
        }
        if received.applied > 0 {
            self.ask_whether_needed(run, object, writer);
        }
        if received.has_gap {
            self.ask(now, from, run, object);
        }
    }

    /// Updates of a writer have come. Hosts whose parcels with updates of this writer wait are asked whether they have
    /// more.
    fn ask_whether_needed(&mut self, run: RunId, object: ObjectId, writer: Writer) {
        let Some(sharing) = self.sharing(run, object) else { return };
        let has = sharing.replica.as_ref().map_or(0, |replica| replica.versions().of(writer));
        let others = self.transfers.incoming.senders(|contents| match *contents {
            Contents::Updates { run: of, object: what, writer: whose, first } => {
                (of, what, whose) == (run, object, writer) && first < has
            }
            _ => false,
        });
        for other in others {
            self.ask_for_updates(run, object, other, SHARED_COMPARE_MIN);
        }
    }

    /// Whether the object is known here. If it is not, notifies the sender.
    pub(super) fn knows(&mut self, from: HostId, run: RunId, object: ObjectId) -> bool {
        let is_known = self.runs.get(&run).is_some_and(|run| run.shared.contains(object));
        if !is_known {
            self.tell_peer(from, PeerMessage::NotShared { run, object });
        }
        is_known
    }

    /// Asks a host for updates that this one lacks, unless it has just been asked.
    pub(super) fn ask(&mut self, now: Time, whom: HostId, run: RunId, object: ObjectId) {
        let Some(sharing) = self.sharing(run, object) else { return };
        sharing.comparison.hasten(now);
        if now >= sharing.asked + SHARED_ASK {
            sharing.asked = now;
            self.ask_for_updates(run, object, whom, SHARED_ASK);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::tests::{PEER, RUN, host, said};
    use crate::host::{Notice, Transmit};
    use crate::limits::RECONCILE;
    use crate::shared::{Digest, NamedSharers};

    const NOW: Time = Time(1_000_000_000);
    const OBJECT: ObjectId = ObjectId([7; 16]);

    /// A host that shares an object with the peer.
    fn sharing() -> Host {
        let mut host = host();
        host.handle_notice(NOW, RUN, Notice::Shared { object: OBJECT, place: 1, initial: vec![0].into() });
        has(&mut host, NOW, 0);
        host
    }

    /// The peer says that it has this number of the host's updates. Returns the numbers of the updates that it is sent.
    fn has(host: &mut Host, now: Time, count: u64) -> Vec<u64> {
        let own = host.sharing(RUN, OBJECT).and_then(|sharing| sharing.own_log());
        let versions: Versions = own.map(|(writer, _)| (writer, count)).into_iter().collect();
        let (digest, sharers) = (Digest::of_new(&[0]), NamedSharers::default());
        let message =
            PeerMessage::Versions { run: RUN, object: OBJECT, versions, digest, sharers, is_question: false };
        host.handle_from_peer(now, PEER, message);
        sent(host)
    }

    fn sent(host: &mut Host) -> Vec<u64> {
        let sent = said(host).into_iter().flat_map(|transmit| match transmit {
            Transmit::ToPeer(PEER, PeerMessage::Updates { first, updates, .. }) => {
                (first..).take(updates.len()).collect()
            }
            Transmit::ToPeer(PEER, PeerMessage::Replica { snapshot, .. }) => {
                (0..snapshot.updates.len() as u64).collect()
            }
            _ => Vec::new(),
        });
        sent.collect()
    }

    /// A job makes an update of this length. Returns the numbers of the updates that are sent.
    fn makes(host: &mut Host, now: Time, bytes: usize) -> Vec<u64> {
        host.handle_notice(now, RUN, Notice::Updated { object: OBJECT, bytes: vec![1; bytes].into() });
        sent(host)
    }

    /// The updates wait in the queue of a slow link, and what the peer says does not.
    #[test]
    fn large_updates_are_not_sent_again_while_they_may_be_on_their_way() {
        for (bytes, sent_again) in [(REPEAT_SMALL_BYTES - 100, vec![0]), (40_000, vec![])] {
            let mut host = sharing();
            assert_eq!(makes(&mut host, NOW, bytes), [0]);
            assert_eq!(has(&mut host, NOW + SHARED_COMPARE_MIN, 0), sent_again, "{bytes} bytes");
        }
        let mut host = sharing();
        assert_eq!(makes(&mut host, NOW, 40_000), [0]);
        assert_eq!(has(&mut host, NOW + RECONCILE, 0), [0], "they are overdue");
    }

    #[test]
    fn the_wait_for_large_updates_begins_again_whenever_some_have_arrived() {
        let mut host = sharing();
        let step = RECONCILE / 2;
        for seq in 0..4 {
            assert_eq!(makes(&mut host, NOW + step / 8 * seq, 40_000), [u64::from(seq)]);
        }
        for arrived in 1..4 {
            let now = NOW + step * arrived;
            assert!(has(&mut host, now, arrived.into()).is_empty(), "{arrived} of 4");
        }
        let now = NOW + 3 * step;
        assert!(has(&mut host, now + step, 3).is_empty());
        assert_eq!(has(&mut host, now + RECONCILE, 3), [3], "the last is overdue");
    }

    /// While a replica is in transit to the peer, it drops updates, as it has nothing to which to add them.
    #[test]
    fn large_updates_that_were_made_after_a_replica_was_sent_are_sent_again_when_it_has_arrived() {
        let mut host = sharing();
        host.handle_from_peer(NOW, PEER, PeerMessage::FetchReplica { run: RUN, object: OBJECT });
        said(&mut host);
        assert_eq!(makes(&mut host, NOW, 40_000), [0]);
        assert_eq!(has(&mut host, NOW + SHARED_COMPARE_MIN, 0), [0]);
        assert_eq!(makes(&mut host, NOW + SHARED_COMPARE_MIN, 40_000), [1]);
        assert!(has(&mut host, NOW + 2 * SHARED_COMPARE_MIN, 1).is_empty(), "this is in transit");
    }

    #[test]
    fn what_others_made_is_sent_although_large_updates_are_on_their_way() {
        let mut host = sharing();
        makes(&mut host, NOW, 40_000);
        let other = Writer { host: HostId(31), incarnation: 0 };
        host.on_updates(NOW, PEER, (RUN, OBJECT), (other, 0), &[vec![1].into()]);
        assert_eq!(has(&mut host, NOW + SHARED_COMPARE_MIN, 0), [0]);
    }
}
