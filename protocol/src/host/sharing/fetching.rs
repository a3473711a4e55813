//! Fetches replicas that a host needs and lacks.

use std::collections::BTreeSet;

use super::{Fetch, Sharing};
use crate::host::held::Owner;
use crate::host::stage::Stage;
use crate::host::{Event, Host, Receiver, Repeated, RunCommand};
use crate::limits::{SHARED_FETCH_MAX, SHARED_FETCH_MIN, SHARED_FETCH_REST};
use crate::message::PeerMessage;
use crate::parcel::Contents;
use crate::shared::{Installed, Log, NamedSharers, ObjectId, Replica, Shown, Snapshot};
use crate::{Again, HeldId, HostId, JobSpec, RunId, Time};

impl Host {
    /// The runtime has a place for the object, and nothing of it.
    pub(in crate::host) fn on_opened(&mut self, now: Time, run: RunId, object: ObjectId, place: u64) {
        self.open(now, run, object, None);
        if let Some(sharing) = self.sharing(run, object) {
            sharing.shown = Some(Shown::new(place));
            self.show_whole(run, object);
        }
    }

    /// A job comes that mentions objects: their replicas are fetched from the host that lent it.
    pub(in crate::host) fn open_objects(&mut self, now: Time, run: RunId, victim: HostId, spec: &JobSpec) {
        for mention in &spec.objects {
            self.open(now, run, mention.creation, Some(victim));
        }
    }

    pub(super) fn open(&mut self, now: Time, run: RunId, object: ObjectId, hint: Option<HostId>) {
        if !self.has_room_for(now, run, object) {
            return;
        }
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        let sharing = host_run.shared.objects.entry(object).or_insert_with(|| Sharing::new(now));
        // The runtime has no place for it yet if the job is still to be handed over.
        sharing.is_unused = false;
        if let Some(victim) = hint {
            sharing.sharers.hint(victim);
        }
        self.note_mention(run, object);
        let Some(sharing) = self.sharing(run, object) else { return };
        if sharing.has_replica() {
            // The host that lent the job has a replica, too, or will have one.
            if let Some(victim) = hint
                && self.meet(run, object, victim)
            {
                self.tell_versions(run, object, victim, false);
            }
        } else if sharing.fetch.is_none() {
            self.fetch(now, run, object);
        }
    }

    /// A guard has waited for long. If any host has the updates for which it waits, the host that lent the job does. If
    /// that host is gone, the waiting job is given up, which loses no work: the host that redoes the job above spawns
    /// it again.
    pub(in crate::host) fn on_refetch(&mut self, run: RunId, object: ObjectId, held: HeldId) {
        let Some(job) = self.runs.get(&run).and_then(|run| run.held.get(held)) else { return };
        if job.lender().is_some_and(|lender| !self.peers.contains(lender)) {
            return self.give_back(run, held);
        }
        let Some(sharing) = self.runs.get(&run).and_then(|run| run.shared.objects.get(&object)) else {
            return;
        };
        if !sharing.has_replica() {
            return;
        }
        let hinted =
            (job.lender().into_iter()).chain(sharing.sharers.hints()).find(|host| self.peers.contains(*host));
        let other = sharing.sharers.some(&mut self.random, 1).first().copied();
        for host in hinted.into_iter().chain(other.filter(|host| Some(*host) != hinted)) {
            self.ask_for_updates(run, object, host, SHARED_FETCH_REST);
        }
    }

    /// Asks the next host for a replica: first the hosts that lent jobs that mention the object, then those known to
    /// have a replica, then all others.
    pub(super) fn fetch(&mut self, now: Time, run: RunId, object: ObjectId) {
        let Some(sharing) = self.runs.get(&run).and_then(|run| run.shared.objects.get(&object)) else {
            return;
        };
        let is_asked = |host: &HostId| sharing.fetch.as_ref().is_some_and(|fetch| fetch.asked.contains(host));
        let from = (sharing.sharers.hints().filter(|host| self.peers.contains(*host)))
            .chain(sharing.sharers.hosts())
            .chain(self.peers.near().iter().copied())
            .chain(self.peers.far().iter().copied())
            .find(|host| !is_asked(host));
        let is_hopeless = from.is_none()
            && (sharing.fetch.as_ref())
                .is_some_and(|fetch| self.peers.ids().all(|peer| fetch.refused.contains(&peer)));
        let wait = from.map(|from| self.repeats.wait(Receiver::Peer(from), SHARED_FETCH_MIN, 0));
        let Some(sharing) = self.sharing(run, object) else { return };
        let fetch = sharing.fetch.get_or_insert_with(|| Fetch {
            from: None,
            until: now,
            patience: SHARED_FETCH_MIN,
            asked: BTreeSet::new(),
            refused: BTreeSet::new(),
        });
        fetch.from = from;
        if let Some(from) = from {
            fetch.asked.insert(from);
            fetch.until = now + fetch.patience.max(wait.unwrap_or_default()).min(SHARED_FETCH_MAX);
            self.tell_peer(from, PeerMessage::FetchReplica { run, object });
        } else {
            // Rests after each round.
            fetch.asked.clear();
            fetch.refused.clear();
            fetch.until = now + SHARED_FETCH_REST;
        }
        if is_hopeless {
            self.give_up_object(run, object);
        }
    }

    pub(in crate::host) fn on_fetch(&mut self, now: Time, from: HostId, run: RunId, object: ObjectId) {
        self.ship(now, run, object);
        let is_here = self.sharing(run, object).is_some_and(|sharing| sharing.has_replica());
        if !is_here {
            return self.tell_peer(from, PeerMessage::NotShared { run, object });
        }
        self.end_answer(now, from, (run, object), 0);
        if self.is_answer_due(now, from, (run, object)) {
            self.send_replica(from, run, object);
        }
    }

    /// Sends an object's replica. Returns false if there is none.
    pub(super) fn send_replica(&mut self, to: HostId, run: RunId, object: ObjectId) -> bool {
        let is_there = self.peers.contains(to);
        let Some(sharing) = self.runs.get_mut(&run).and_then(|run| run.shared.objects.get_mut(&object))
        else {
            return false;
        };
        let Some(snapshot) = sharing.replica.as_ref().map(Replica::snapshot) else { return false };
        let sharers = sharing.sharers.named(self.latest, &mut self.random);
        if is_there {
            sharing.sharers.serve(to);
            sharing.sharers.note_served(to);
        }
        let versions = sharing.replica.as_ref().map(Replica::versions).cloned().unwrap_or_default();
        let (receiver, contents) = (Receiver::Peer(to), Contents::Replica { run, object });
        let before = self.transfers.outgoing.parcel_of(receiver, contents);
        self.note_answer(self.latest, to, run, object);
        let message = PeerMessage::Replica { run, object, snapshot, sharers };
        self.tell_and_note_size(to, message);
        // A parcel that is being pulled stays as it is.
        let is_as_before =
            before.is_some() && before == self.transfers.outgoing.parcel_of(receiver, contents);
        if is_there && let Some(sharing) = self.sharing(run, object) {
            sharing.sharers.note_replica(to, &versions, is_as_before);
        }
        true
    }

    pub(in crate::host) fn on_replica(
        &mut self,
        now: Time,
        from: HostId,
        (run, object): (RunId, ObjectId),
        snapshot: Snapshot,
        sharers: &NamedSharers,
    ) {
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        if matches!(host_run.stage, Stage::Loading | Stage::Unable) {
            return;
        }
        if !host_run.shared.contains(object) {
            // A host that leaves sends its replica so that it is not lost.
            if !host_run.shared.has_room_for(snapshot.bytes() as u64) {
                return self.tell_peer(from, PeerMessage::NotShared { run, object });
            }
            host_run.shared.unmentioned.count += 1;
            host_run.shared.objects.insert(object, Sharing { is_mentioned: false, ..Sharing::new(now) });
        }
        let incarnation = self.last_numbers.next_incarnation();
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        let log = Log { incarnation, before: host_run.shared.log_before(object) };
        let Some(sharing) = host_run.shared.objects.get_mut(&object) else { return };
        let heals = sharing.healing.take_if(|(whom, _)| *whom == from).is_some();
        let (installed, is_begun, is_other_log) = if let Some(replica) = &mut sharing.replica {
            let own = replica.own_log().map(|(writer, _)| writer);
            let installed = match heals {
                true => replica.heal(snapshot, log.incarnation),
                false => replica.install(snapshot, log.incarnation),
            };
            (installed, false, replica.own_log().map(|(writer, _)| writer) != own)
        } else {
            sharing.replica = Replica::from_snapshot(snapshot, log);
            (Installed::Replaced { lost: 0 }, true, false)
        };
        if is_begun || is_other_log {
            self.last_numbers.use_incarnation();
        }
        let Some(sharing) = self.sharing(run, object) else { return };
        if is_other_log {
            // The updates that others are known to have belong to the former log.
            sharing.sharers.begin_log();
        }
        sharing.fetch = None;
        self.repeats.forget(Receiver::Peer(from), Repeated::Question(run, object));
        if let Installed::Replaced { lost: lost @ 1.. } = installed {
            self.unpolled.event(Event::UpdatesLost(run, object, lost));
        }
        if installed != Installed::Nothing
            && let Some(sharing) = self.sharing(run, object)
        {
            sharing.comparison.hasten(now);
        }
        match installed {
            Installed::Nothing => {}
            Installed::Merged => self.show_more(run, object),
            Installed::Replaced { .. } => self.show_whole(run, object),
        }
        self.meet(run, object, from);
        self.hear_of_former(now, run, object, &sharers.former);
        if installed != Installed::Nothing {
            // Other hosts with replicas learn of this one, and send updates that came meanwhile.
            self.compare(now, run, object, &sharers.known);
            // Hosts whose replicas wait as parcels are asked whether these are still needed.
            for other in self.transfers.incoming.senders(|contents| contents.object() == Some((run, object)))
            {
                self.tell_versions(run, object, other, true);
            }
        }
        self.check_bytes(now, run, object);
    }

    pub(in crate::host) fn on_not_shared(&mut self, now: Time, from: HostId, run: RunId, object: ObjectId) {
        let Some(sharing) = self.sharing(run, object) else { return };
        sharing.drop_sharer(from);
        sharing.sharers.former.forget(from);
        for what in
            [Repeated::Question(run, object), Repeated::Updates(run, object), Repeated::Shipped(run, object)]
        {
            self.repeats.forget(Receiver::Peer(from), what);
        }
        let Some(sharing) = self.sharing(run, object) else { return };
        if let Some(fetch) = &mut sharing.fetch
            && fetch.from == Some(from)
        {
            fetch.refused.insert(from);
            self.fetch(now, run, object);
        }
    }

    /// No host has the object any more, so jobs that mention it cannot continue here. Its creator is lost, and the jobs
    /// below the redone creator mention another object.
    pub(super) fn give_up_object(&mut self, run: RunId, object: ObjectId) {
        let Some(host_run) = self.runs.get(&run) else { return };
        let lost: Vec<HeldId> = (host_run.held.iter())
            .filter(|(_, held)| held.finished().is_none())
            .filter(|(_, held)| held.spec().objects.iter().any(|mention| mention.creation == object))
            .map(|(id, _)| id)
            .collect();
        for id in lost {
            self.give_back(run, id);
        }
    }

    /// Gives back a held job that cannot continue here but may elsewhere.
    pub(super) fn give_back(&mut self, run: RunId, id: HeldId) {
        let held = self.runs.get(&run).and_then(|run| run.held.get(id));
        let (owners, begun) =
            held.map_or_else(|| (Vec::new(), false), |held| (held.owners().to_vec(), held.is_begun()));
        self.abort_held(run, id);
        for owner in owners {
            match owner {
                Owner::Host(host, number) => {
                    self.tell_peer(host, PeerMessage::Returned { run, number, begun });
                }
                Owner::Here(number) => {
                    let again = Again { redone: true, begun, given_back: false, lookup_below: 0 };
                    self.unpolled.command(RunCommand::Requeue { number, again }.of(run));
                }
                // A root mentions no objects, and has no guard.
                Owner::Coordinator(_) => {}
            }
        }
    }
}
