//! Heals replicas: hosts compare them at intervals, and whenever a host joins or departs.

use std::time::Duration;

use crate::host::{Event, Host, Receiver, Repeated};
use crate::limits::{SHARED_COMPARE_MIN, SHARED_COMPARED_MAX, SHARED_FETCH_MIN, SHARERS_PER_MESSAGE_MAX};
use crate::message::PeerMessage;
use crate::parcel::Contents;
use crate::shared::{Digest, FormerSharer, Missing, NamedSharers, ObjectId, Versions};
use crate::{HostId, RunId, Time};

/// Maximum objects for which a newly known host is asked.
const OBJECTS_GREETED_MAX: usize = 256;

impl Host {
    // ---- comparing ----

    pub(super) fn tell_versions(&mut self, run: RunId, object: ObjectId, to: HostId, is_question: bool) {
        let Some(sharing) = self.runs.get_mut(&run).and_then(|run| run.shared.objects.get_mut(&object))
        else {
            return;
        };
        let Some(replica) = &sharing.replica else { return };
        let (versions, digest) = (replica.versions().clone(), replica.digest());
        let sharers = sharing.sharers.named(self.latest, &mut self.random);
        let what =
            if is_question { Repeated::Question(run, object) } else { Repeated::Versions(run, object) };
        self.repeats.note(self.latest, Receiver::Peer(to), what);
        let message = PeerMessage::Versions { run, object, versions, digest, sharers, is_question };
        self.tell_peer(to, message);
    }

    /// Asks for updates, unless the answer to the same question may be in transit. On fast links, an answer is overdue
    /// after `least`.
    pub(super) fn ask_for_updates(&mut self, run: RunId, object: ObjectId, whom: HostId, least: Duration) {
        if self.repeats.is_due(self.latest, Receiver::Peer(whom), Repeated::Question(run, object), least) {
            self.tell_versions(run, object, whom, true);
        }
    }

    /// Compares the replica with those of some hosts that are known to have one, and of the hosts in `named` that were
    /// not.
    pub(super) fn compare(&mut self, now: Time, run: RunId, object: ObjectId, named: &[HostId]) {
        let me = self.id();
        let new: Vec<HostId> = (named.iter().copied())
            .filter(|host| Some(*host) != me)
            .filter(|host| self.meet(run, object, *host))
            .collect();
        let Some(sharing) = self.runs.get_mut(&run).and_then(|run| run.shared.objects.get_mut(&object))
        else {
            return;
        };
        let mut some = sharing.sharers.some(&mut self.random, SHARED_COMPARED_MAX);
        sharing.comparison.make(now);
        some.retain(|host| !new.contains(host));
        for host in new {
            self.tell_versions(run, object, host, false);
        }
        for host in some {
            let what = Repeated::Versions(run, object);
            if self.repeats.is_due(now, Receiver::Peer(host), what, SHARED_COMPARE_MIN) {
                self.tell_versions(run, object, host, false);
            }
        }
    }

    pub(in crate::host) fn on_versions(
        &mut self,
        now: Time,
        from: HostId,
        (run, object): (RunId, ObjectId),
        (versions, digest): (&Versions, Digest),
        sharers: &NamedSharers,
        is_question: bool,
    ) {
        if !self.knows(from, run, object) {
            return;
        }
        let me = self.id();
        self.ship(now, run, object);
        self.meet(run, object, from);
        self.hear_of_former(now, run, object, &sharers.former);
        let new: Vec<HostId> = (sharers.known.iter().copied())
            .filter(|host| Some(*host) != me)
            .filter(|host| self.meet(run, object, *host))
            .collect();
        for host in new {
            self.tell_versions(run, object, host, false);
        }
        let on_their_way = self.on_their_way(now, from, (run, object), versions);
        let Some(sharing) = self.sharing(run, object) else { return };
        let Some(replica) = &sharing.replica else { return };
        let diverged = replica.has_diverged_from(versions, digest).then(|| replica.digest() < digest);
        let missing = replica.missing(on_their_way.as_ref().unwrap_or(versions));
        let has_all = replica.versions().covers(versions);
        let is_latest = sharing.sharers.note_total(from, versions.total());
        if let Some((own, _)) = sharing.own_log() {
            sharing.sharers.note_has(from, versions.of(own));
            sharing.note_stable();
        }
        if let Some(is_lower) = diverged {
            return self.heal(now, from, (run, object), is_lower);
        }
        if missing != Missing::Nothing || on_their_way.is_some() || !has_all {
            sharing.comparison.hasten(now);
        }
        let has_arrived = sharing.sharers.end_replica(from, versions);
        if has_arrived {
            self.repeats.answered(now, Receiver::Peer(from), Repeated::Updates(run, object));
        }
        self.end_answer(now, from, (run, object), versions.total());
        let is_due = self.is_answer_due(now, from, (run, object));
        match missing {
            // If updates are in transit, they are the answer.
            Missing::Nothing if is_question && on_their_way.is_none() => {
                self.tell_versions(run, object, from, false);
            }
            Missing::Nothing => {}
            Missing::Updates(_) | Missing::Whole if !is_due => {}
            Missing::Updates(updates) => {
                self.note_answer(now, from, run, object);
                for (writer, first, updates) in updates {
                    self.send_updates(from, (run, object), (writer, first), &updates);
                }
            }
            Missing::Whole => {
                // The replica before this one may be a parcel that has arrived, and whose receipt has not. It would be
                // announced again instead of this one.
                if has_arrived {
                    let contents = Contents::Replica { run, object };
                    self.transfers.outgoing.end_contents(Receiver::Peer(from), contents);
                }
                self.send_replica(from, run, object);
            }
        }
        if has_all {
            self.repeats.forget(Receiver::Peer(from), Repeated::Question(run, object));
            self.decline_object(now, from, (run, object), (versions, is_latest));
        } else if !is_question {
            self.ask_for_updates(run, object, from, SHARED_COMPARE_MIN);
        }
    }

    /// Another host has this number of updates in total: what it was sent last may have arrived.
    pub(super) fn end_answer(&mut self, now: Time, to: HostId, (run, object): (RunId, ObjectId), has: u64) {
        let Some(sharing) = self.sharing(run, object) else { return };
        if sharing.sharers.end_answer(to, has) {
            self.repeats.answered(now, Receiver::Peer(to), Repeated::Updates(run, object));
        }
    }

    /// Whether another host is to be sent the updates that it lacks. It is not if it was sent them and they may be on their
    /// way.
    pub(super) fn is_answer_due(&self, now: Time, to: HostId, (run, object): (RunId, ObjectId)) -> bool {
        self.repeats.is_due(now, Receiver::Peer(to), Repeated::Updates(run, object), SHARED_COMPARE_MIN)
    }

    /// Notes that another host is sent the updates that it lacks.
    pub(super) fn note_answer(&mut self, now: Time, to: HostId, run: RunId, object: ObjectId) {
        self.repeats.note(now, Receiver::Peer(to), Repeated::Updates(run, object));
        let Some(sharing) = self.sharing(run, object) else { return };
        sharing.sharers.note_answer(to, sharing.total());
    }

    /// The replica has diverged from that of `other`. The one with the lower digest is replaced; its host may not have
    /// noticed yet.
    fn heal(&mut self, now: Time, other: HostId, (run, object): (RunId, ObjectId), is_lower: bool) {
        let wait = self.repeats.wait(Receiver::Peer(other), SHARED_FETCH_MIN, 0);
        let Some(sharing) = self.sharing(run, object) else { return };
        if !is_lower {
            return self.ask(now, other, run, object);
        }
        sharing.comparison.hasten(now);
        if sharing.healing.is_none_or(|(_, until)| now >= until) {
            sharing.healing = Some((other, now + wait));
            self.unpolled.event(Event::Diverged(run, object, other));
            self.tell_peer(other, PeerMessage::FetchReplica { run, object });
        }
    }

    // ---- hosts that depart and return ----

    /// This host has found the grid again. Sharers that it had to give up meanwhile may still be connected, and know it
    /// under another id or not at all. If they have new ids, too, it is unknown which hosts they are, so more hosts are
    /// asked. The request to meet strangers is also sent again, as it may have been lost with the link.
    pub(in crate::host) fn meet_again(&mut self, now: Time, run: RunId, is_reborn: bool) {
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        let former: Vec<(ObjectId, Vec<HostId>)> = (host_run.shared.objects.iter_mut())
            .map(|(object, sharing)| (*object, sharing.sharers.seek_again(is_reborn)))
            .collect();
        for (object, mut asked) in former {
            if is_reborn {
                asked.extend(self.peers.some(&mut self.random, SHARERS_PER_MESSAGE_MAX));
            }
            self.compare(now, run, object, &asked);
        }
    }

    /// Updates in transit between this host and a peer may be lost.
    pub(in crate::host) fn compare_soon_with(&mut self, now: Time, run: RunId, peer: HostId) {
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        for sharing in host_run.shared.objects.values_mut().filter(|sharing| sharing.sharers.contains(peer)) {
            sharing.comparison.hasten(now);
        }
    }

    /// A host has become known, or is back: it may have replicas.
    pub(in crate::host) fn greet_sharer(&mut self, now: Time, peer: HostId) {
        let met: Vec<(RunId, ObjectId)> = (self.runs.iter())
            .flat_map(|(run, host_run)| {
                host_run.shared.objects.iter().map(|(object, sharing)| (*run, *object, sharing))
            })
            .filter(|(.., sharing)| sharing.sharers.may_include(peer))
            .take(OBJECTS_GREETED_MAX)
            .map(|(run, object, _)| (run, object))
            .collect();
        for (run, object) in met {
            self.compare(now, run, object, &[peer]);
        }
    }

    /// Another host names hosts that had a replica and were given up: the object stays for them here, too, as the host that
    /// noticed it may leave or crash before they are back. Acquaintances are back, and compare their replicas themselves.
    pub(super) fn hear_of_former(
        &mut self,
        now: Time,
        run: RunId,
        object: ObjectId,
        former: &[FormerSharer],
    ) {
        let me = self.id();
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        let Some(sharing) = host_run.shared.objects.get_mut(&object) else { return };
        for heard in former {
            if Some(heard.host) != me && !self.peers.contains(heard.host) {
                sharing.sharers.former.hear(now, *heard);
            }
        }
    }

    /// That host is no longer an acquaintance: its departure will not be reported.
    pub(in crate::host) fn forget_sharer(&mut self, peer: HostId) {
        for sharing in self.runs.values_mut().flat_map(|run| run.shared.objects.values_mut()) {
            sharing.drop_sharer(peer);
        }
    }

    /// That host left: it will have no replica when it comes back.
    pub(in crate::host) fn expect_no_more(&mut self, peer: HostId) {
        for sharing in self.runs.values_mut().flat_map(|run| run.shared.objects.values_mut()) {
            sharing.sharers.former.forget(peer);
        }
    }

    pub(in crate::host) fn lose_sharer(&mut self, now: Time, run: RunId, peer: HostId) {
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        let mut waiting = Vec::new();
        for (object, sharing) in &mut host_run.shared.objects {
            sharing.sharers.drop_hint(peer);
            if sharing.give_up_sharer(now, peer) {
                // Its last updates may have reached some hosts and not others.
                sharing.comparison.hasten(now);
            }
            if sharing.fetch.as_ref().is_some_and(|fetch| fetch.from == Some(peer)) {
                waiting.push(*object);
            }
        }
        for object in waiting {
            self.fetch(now, run, object);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::tests::{PEER, RUN, host, said};
    use crate::host::{Notice, Transmit};
    use crate::parcel::{ParcelId, ParcelMessage};
    use crate::shared::{NewBase, Seen};

    const NOW: Time = Time(1_000_000_000);
    const LATER: Time = Time(100_000_000_000);
    const OBJECT: ObjectId = ObjectId([7; 16]);

    /// A job makes an update of this length.
    fn makes(host: &mut Host, now: Time, bytes: usize) {
        host.handle_notice(now, RUN, Notice::Updated { object: OBJECT, bytes: vec![1; bytes].into() });
    }

    /// The parcels with a replica that are announced to the peer.
    fn announced(host: &mut Host) -> Vec<ParcelId> {
        let parcels = said(host).into_iter().filter_map(|sent| match sent {
            Transmit::ToPeer(
                PEER,
                PeerMessage::Parcel(ParcelMessage::Announce {
                    parcel,
                    contents: Contents::Replica { .. },
                    ..
                }),
            ) => Some(parcel),
            _ => None,
        });
        parcels.collect()
    }

    /// What a host has received in a parcel may be known before the receipt of the parcel.
    #[test]
    fn updates_made_while_a_replica_was_pulled_are_sent_as_soon_as_it_has_arrived() {
        for is_fetched_again in [false, true] {
            let mut host = host();
            let initial = vec![0].into();
            host.handle_notice(NOW, RUN, Notice::Shared { object: OBJECT, place: 1, initial });
            makes(&mut host, NOW, 100_000);
            let fetch = PeerMessage::FetchReplica { run: RUN, object: OBJECT };
            host.handle_from_peer(NOW, PEER, fetch.clone());
            let replica = host.replica(RUN, OBJECT).expect("it is here");
            let (versions, digest) = (replica.versions().clone(), replica.digest());
            let [first] = announced(&mut host)[..] else { panic!("one replica") };
            let pull = ParcelMessage::Pull { parcel: first, from: 0, until: 100_000 };
            host.handle_from_peer(NOW, PEER, PeerMessage::Parcel(pull));
            // The guest's value takes the place of the first two updates, so that the peer is to be sent all of it.
            makes(&mut host, NOW, 100_000);
            let new = NewBase { generation: 0, seen: Seen { own: 2, others: 0 }, base: vec![2].into() };
            host.handle_notice(NOW, RUN, Notice::Based { object: OBJECT, new });
            makes(&mut host, NOW, 100_000);
            assert!(announced(&mut host).is_empty());
            if is_fetched_again {
                host.handle_from_peer(LATER, PEER, fetch);
                assert_eq!(announced(&mut host), [first], "it is being pulled");
            }
            let now = host.latest;
            let sharers = NamedSharers::default();
            let message = PeerMessage::Versions {
                run: RUN,
                object: OBJECT,
                versions,
                digest,
                sharers,
                is_question: true,
            };
            host.handle_from_peer(now, PEER, message);
            let [second] = announced(&mut host)[..] else { panic!("one replica") };
            assert_ne!(second, first, "it has this one");
            let received = ParcelMessage::Received { parcel: first };
            host.handle_from_peer(now, PEER, PeerMessage::Parcel(received));
            let pull = ParcelMessage::Pull { parcel: second, from: 0, until: 100_000 };
            host.handle_from_peer(now, PEER, PeerMessage::Parcel(pull));
            let chunk = host.poll_bulk(|_| true);
            let Some(Transmit::ToPeer(PEER, PeerMessage::Parcel(ParcelMessage::Chunk { .. }))) = chunk else {
                panic!("{chunk:?}")
            };
        }
    }
}
