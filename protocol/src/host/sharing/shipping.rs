//! Sends updates to hosts with a replica, and receives them.

use super::unsent::Batch;
use crate::host::{Host, Receiver, Repeated};
use crate::limits::{SHARED_ASK, SHARED_COMPARE_MIN, SHARED_MESSAGE_BYTES_MAX, SHARED_UPDATE_OVERHEAD_BYTES};
use crate::message::{PeerMessage, ToCoordinator};
use crate::parcel::Contents;
use crate::shared::{ObjectId, Writer};
use crate::{Bytes, HostId, RunId, Time};

impl Host {
    pub(in crate::host) fn on_updated(&mut self, now: Time, (run, object): (RunId, ObjectId), bytes: Bytes) {
        // A host without an id takes part in no run.
        let me = self.id().unwrap_or(HostId(0));
        let Some(part) = self.runs.get_mut(&run) else { return };
        part.reporting.own_mut().updates += 1;
        let Some(sharing) = part.shared.objects.get_mut(&object) else { return };
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
        for sharer in sharers {
            self.send_updates(sharer, (run, object), (writer, first), &updates);
        }
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
        // While a replica is on its way here, nothing is lost: updates that it lacks will be sent when it is compared.
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

    /// Whether the object is known here. If it is not, tells the sender.
    pub(super) fn knows(&mut self, from: HostId, run: RunId, object: ObjectId) -> bool {
        let is_known = self.runs.get(&run).is_some_and(|part| part.shared.contains(object));
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
