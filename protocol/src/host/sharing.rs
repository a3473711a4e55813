//! Keeping the replicas of shared objects alike (TOPLAS 4.2).
//!
//! The runtime changes its replicas itself and tells the machine, which ships updates to all that have a
//! replica: at once, or within a millisecond when some have just been sent. Nothing is repeated until it is
//! missed. Whoever has a replica compares it with others', soon after something has come to it and ever less
//! often while nothing does; the one that has more sends it. So it does not matter who made an update that
//! was lost, or whether that host is still there.
//!
//! An object that no job here mentions any more is forgotten after a while; whoever asks is told so.
//!
//! Who has a replica is learned from whom it is fetched from, and from comparing: each names others.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use crate::limits::{
    OBJECTS_PER_RUN_MAX, SHARED_ASK, SHARED_BYTES_MAX, SHARED_COMPARE_MAX, SHARED_COMPARE_MIN,
    SHARED_COMPARED_MAX, SHARED_FETCH_MAX, SHARED_FETCH_MIN, SHARED_FETCH_REST, SHARED_FLUSH,
    SHARED_HINTS_MAX, SHARED_MESSAGE_BYTES_MAX, SHARED_UNUSED, SHARERS_PER_MESSAGE_MAX,
};
use crate::message::{PeerMessage, ToCoordinator};
use crate::shared::{Installed, Missing, ObjectId, Replica, SharedReplica, Snapshot, Versions};
use crate::{Bytes, HostId, JobNumber, JobSpec, Random, RunId, Time};

use super::part::{Owner, Part, Stage};
use super::{Command, Event, Host};

/// A replica that was asked for.
#[derive(Debug)]
struct Fetch {
    /// Who was asked; `None` while there is nobody to ask.
    from: Option<HostId>,
    until: Time,
    patience: Duration,
    /// Who was asked in this round, and who of them said that it has none.
    asked: BTreeSet<HostId>,
    refused: BTreeSet<HostId>,
}

/// This host's updates that have not been sent.
#[derive(Debug)]
struct Unsent {
    origin: HostId,
    first: u64,
    updates: Vec<Bytes>,
}

/// What a host knows of one shared object.
#[derive(Debug)]
pub struct Sharing {
    replica: Arc<SharedReplica>,
    /// Who else has a replica, and how many of this host's updates they are known to have.
    sharers: BTreeMap<HostId, u64>,
    /// Whoever lent jobs that mention it, the last first.
    hints: Vec<HostId>,
    /// Hosts that had a replica and were given up; some may be there again.
    former: BTreeSet<HostId>,
    /// Hosts that have a replica and are none of this host's acquaintances, which they are to become.
    strangers: BTreeSet<HostId>,
    unsent: Option<Unsent>,
    sent: Time,
    asked: Time,
    fetch: Option<Fetch>,
    compare_at: Time,
    compare_rest: Duration,
    /// What its bytes were counted for.
    counted: u64,
    /// No job here mentioned it when that was last looked at.
    is_unused: bool,
}

impl Sharing {
    fn new(now: Time, replica: Arc<SharedReplica>) -> Self {
        Self {
            replica,
            sharers: BTreeMap::new(),
            hints: Vec::new(),
            former: BTreeSet::new(),
            strangers: BTreeSet::new(),
            unsent: None,
            sent: now - SHARED_FLUSH,
            asked: now - SHARED_ASK,
            fetch: None,
            compare_at: now + SHARED_COMPARE_MIN,
            compare_rest: SHARED_COMPARE_MIN,
            counted: 0,
            is_unused: false,
        }
    }

    pub fn replica(&self) -> &Arc<SharedReplica> {
        &self.replica
    }

    fn has_replica(&self) -> bool {
        self.replica.with(|place| place.is_some())
    }

    fn bytes(&self) -> u64 {
        self.replica.with(|place| place.as_ref().map_or(0, Replica::bytes)) as u64
    }

    /// Something has come: what others have is of interest again.
    fn compare_soon(&mut self, now: Time) {
        self.compare_rest = SHARED_COMPARE_MIN;
        self.compare_at = self.compare_at.min(now + SHARED_COMPARE_MIN);
    }

    /// Some of those who have a replica.
    fn some_sharers(&self, random: &mut Random, most: usize) -> Vec<HostId> {
        let skip = random.below(self.sharers.len().max(1));
        self.sharers.keys().cycle().skip(skip).take(most.min(self.sharers.len())).copied().collect()
    }

    fn hint(&mut self, host: HostId) {
        self.hints.retain(|known| *known != host);
        self.hints.insert(0, host);
        self.hints.truncate(SHARED_HINTS_MAX);
    }

    /// All others that have a replica have this host's updates up to this one.
    fn note_stable(&self, me: HostId) {
        let stable = self.sharers.values().copied().min();
        self.replica.with(|place| {
            if let Some(replica) = place {
                let stable = stable.unwrap_or_else(|| replica.versions().of(me));
                replica.set_stable(me, stable);
            }
        });
    }
}

impl Host {
    // ---- who this host is ----

    /// Tells the runtime what this host is called in updates.
    pub(super) fn identify(&mut self, run: RunId) {
        let Some(origin) = self.id() else { return };
        if self.runs.get(&run).is_none_or(|part| matches!(part.stage, Stage::Loading | Stage::Unable)) {
            return;
        }
        self.commands.push_back(Command::Identify { run, origin });
    }

    pub(super) fn identify_all(&mut self) {
        let runs: Vec<RunId> = self.runs.keys().copied().collect();
        for run in runs {
            self.identify(run);
        }
    }

    // ---- what the runtime tells ----

    fn sharing(&mut self, run: RunId, object: ObjectId) -> Option<&mut Sharing> {
        self.runs.get_mut(&run)?.shared.get_mut(&object)
    }

    pub(super) fn on_shared(&mut self, now: Time, run: RunId, object: ObjectId, replica: Arc<SharedReplica>) {
        let Some(part) = self.runs.get_mut(&run) else { return };
        let sharing = part.shared.entry(object).or_insert_with(|| Sharing::new(now, replica.clone()));
        sharing.replica = replica;
        sharing.fetch = None;
        self.check_bytes(run, object);
    }

    pub(super) fn on_updated(
        &mut self,
        now: Time,
        (run, object): (RunId, ObjectId),
        (origin, seq): (HostId, u64),
        bytes: Bytes,
    ) {
        let Some(part) = self.runs.get_mut(&run) else { return };
        part.own_counts.updates += 1;
        self.check_bytes(run, object);
        let Some(part) = self.runs.get_mut(&run) else { return };
        let Some(sharing) = part.shared.get_mut(&object) else { return };
        if sharing.sharers.is_empty() {
            // Whoever comes later gets the replica as it is.
            return;
        }
        let follows = sharing.unsent.as_ref().is_some_and(|unsent| {
            let next = unsent.first + unsent.updates.len() as u64;
            (unsent.origin, next) == (origin, seq)
        });
        if !follows {
            self.ship(now, run, object);
        }
        let Some(sharing) = self.sharing(run, object) else { return };
        let unsent = Unsent { origin, first: seq, updates: Vec::new() };
        sharing.unsent.get_or_insert(unsent).updates.push(bytes);
        sharing.compare_soon(now);
        if now >= sharing.sent + SHARED_FLUSH {
            self.ship(now, run, object);
        }
    }

    /// Sends what this host has done to an object.
    fn ship(&mut self, now: Time, run: RunId, object: ObjectId) {
        let Some(sharing) = self.sharing(run, object) else { return };
        let Some(unsent) = sharing.unsent.take() else { return };
        sharing.sent = now;
        let sharers: Vec<HostId> = sharing.sharers.keys().copied().collect();
        let Unsent { origin, first, updates } = unsent;
        for sharer in sharers {
            self.send_updates(sharer, (run, object), (origin, first), &updates);
        }
    }

    fn send_updates(
        &mut self,
        to: HostId,
        (run, object): (RunId, ObjectId),
        (origin, mut first): (HostId, u64),
        mut updates: &[Bytes],
    ) {
        while !updates.is_empty() {
            let mut bytes = 0;
            let fits = updates.iter().take_while(|update| {
                bytes += update.len();
                bytes <= SHARED_MESSAGE_BYTES_MAX
            });
            let (now, later) = updates.split_at(fits.count().max(1));
            let updates_now = now.to_vec();
            let message = PeerMessage::Updates { run, object, origin, first, updates: updates_now };
            self.tell_peer(to, message);
            first += now.len() as u64;
            updates = later;
        }
    }

    pub(super) fn on_opened(&mut self, now: Time, run: RunId, object: ObjectId, replica: Arc<SharedReplica>) {
        self.open(now, run, object, None, Some(replica));
    }

    /// A job comes that mentions objects: their replicas are fetched from where it was.
    pub(super) fn open_objects(&mut self, now: Time, run: RunId, victim: HostId, spec: &JobSpec) {
        for mention in &spec.objects {
            self.open(now, run, mention.creation, Some(victim), None);
        }
    }

    fn open(
        &mut self,
        now: Time,
        run: RunId,
        object: ObjectId,
        hint: Option<HostId>,
        place: Option<Arc<SharedReplica>>,
    ) {
        let Some(part) = self.runs.get_mut(&run) else { return };
        if part.shared.len() >= OBJECTS_PER_RUN_MAX && !part.shared.contains_key(&object) {
            return;
        }
        let replica = place.clone().unwrap_or_default();
        let sharing = part.shared.entry(object).or_insert_with(|| Sharing::new(now, replica));
        if let Some(victim) = hint {
            sharing.hint(victim);
        }
        match place {
            // The runtime had forgotten it, or both have opened it at once.
            Some(place) if !Arc::ptr_eq(&place, &sharing.replica) => {
                let known = sharing.replica.with(|known| known.clone());
                place.with(|place| {
                    if place.is_none() {
                        *place = known;
                    }
                });
                sharing.replica = place;
                self.commands.push_back(Command::Replica { run, object });
            }
            Some(_) => {}
            None => {
                let replica = sharing.replica.clone();
                self.commands.push_back(Command::Opened { run, object, replica });
            }
        }
        let Some(sharing) = self.sharing(run, object) else { return };
        if sharing.has_replica() {
            // Whoever lent the job has one, too, or will.
            if let Some(victim) = hint
                && self.meet(run, object, victim)
            {
                self.tell_versions(run, object, victim, false);
            }
        } else if sharing.fetch.is_none() {
            self.fetch(now, run, object);
        }
    }

    /// A guard has waited for long. Whoever lent the job has what the guard waits for, if anybody has; if
    /// that host is gone, nothing is lost with a job that waits, and whoever redoes the one above spawns it
    /// again.
    pub(super) fn on_refetch(&mut self, run: RunId, object: ObjectId, held: JobNumber) {
        let Some(job) = self.runs.get(&run).and_then(|part| part.held.get(&held)) else { return };
        if job.lender.is_some_and(|lender| !self.peers.contains_key(&lender)) {
            return self.give_back(run, held);
        }
        let Some(sharing) = self.runs.get(&run).and_then(|part| part.shared.get(&object)) else { return };
        if !sharing.has_replica() {
            return;
        }
        let hints = job.lender.iter().chain(&sharing.hints);
        let hinted = hints.copied().find(|host| self.peers.contains_key(host));
        let other = sharing.some_sharers(&mut self.random, 1).first().copied();
        for host in hinted.into_iter().chain(other.filter(|host| Some(*host) != hinted)) {
            self.tell_versions(run, object, host, true);
        }
    }

    // ---- fetching ----

    /// Asks the next host for a replica: those that lent jobs with it, those that are known to have one,
    /// then all others in turn.
    fn fetch(&mut self, now: Time, run: RunId, object: ObjectId) {
        let Some(sharing) = self.runs.get(&run).and_then(|part| part.shared.get(&object)) else { return };
        let candidates = (sharing.hints.iter().filter(|host| self.peers.contains_key(host)))
            .chain(sharing.sharers.keys())
            .chain(&self.near)
            .chain(&self.far);
        let is_asked = |host: &HostId| sharing.fetch.as_ref().is_some_and(|fetch| fetch.asked.contains(host));
        let from = candidates.copied().find(|host| !is_asked(host));
        let is_hopeless = from.is_none()
            && (sharing.fetch.as_ref())
                .is_some_and(|fetch| self.peers.keys().all(|peer| fetch.refused.contains(peer)));
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
            fetch.until = now + fetch.patience;
            self.tell_peer(from, PeerMessage::FetchReplica { run, object });
        } else {
            // After a round, a rest.
            fetch.asked.clear();
            fetch.refused.clear();
            fetch.until = now + SHARED_FETCH_REST;
        }
        if is_hopeless {
            self.give_up_object(run, object);
        }
    }

    pub(super) fn on_fetch(&mut self, now: Time, from: HostId, run: RunId, object: ObjectId) {
        self.ship(now, run, object);
        if !self.send_replica(from, run, object) {
            self.tell_peer(from, PeerMessage::NotShared { run, object });
        }
    }

    /// Sends all that there is of an object; false if there is nothing.
    fn send_replica(&mut self, to: HostId, run: RunId, object: ObjectId) -> bool {
        let is_there = self.peers.contains_key(&to);
        let Some(sharing) = self.runs.get_mut(&run).and_then(|part| part.shared.get_mut(&object)) else {
            return false;
        };
        let Some(snapshot) = sharing.replica.with(|place| place.as_ref().map(Replica::snapshot)) else {
            return false;
        };
        let sharers = sharing.some_sharers(&mut self.random, SHARERS_PER_MESSAGE_MAX);
        if is_there {
            sharing.sharers.entry(to).or_default();
        }
        self.tell_peer(to, PeerMessage::Replica { run, object, snapshot, sharers });
        true
    }

    pub(super) fn on_replica(
        &mut self,
        now: Time,
        from: HostId,
        (run, object): (RunId, ObjectId),
        snapshot: Snapshot,
        sharers: &[HostId],
    ) {
        let Some(part) = self.runs.get_mut(&run) else { return };
        if matches!(part.stage, Stage::Loading | Stage::Unable) {
            return;
        }
        if !part.shared.contains_key(&object) {
            // From one that leaves, so that it is not lost.
            if part.shared.len() >= OBJECTS_PER_RUN_MAX {
                return;
            }
            let replica = Arc::<SharedReplica>::default();
            part.shared.insert(object, Sharing::new(now, replica.clone()));
            self.commands.push_back(Command::Opened { run, object, replica });
        }
        let Some(sharing) = self.sharing(run, object) else { return };
        let installed = sharing.replica.with(|place| match place {
            Some(replica) => replica.install(snapshot),
            None => {
                *place = Replica::from_snapshot(snapshot);
                Installed::Replaced { lost: 0 }
            }
        });
        sharing.fetch = None;
        if let Installed::Replaced { lost: lost @ 1.. } = installed {
            self.events.push_back(Event::UpdatesLost(run, object, lost));
        }
        if installed != Installed::Nothing {
            if let Some(sharing) = self.sharing(run, object) {
                sharing.compare_soon(now);
            }
            self.commands.push_back(Command::Replica { run, object });
        }
        self.meet(run, object, from);
        if installed != Installed::Nothing {
            // All who have one are to know of this one, and send what came meanwhile.
            self.compare(now, run, object, sharers);
        }
        self.check_bytes(run, object);
    }

    pub(super) fn on_not_shared(&mut self, now: Time, from: HostId, run: RunId, object: ObjectId) {
        let me = self.id();
        let Some(sharing) = self.sharing(run, object) else { return };
        sharing.sharers.remove(&from);
        if let Some(me) = me {
            sharing.note_stable(me);
        }
        if let Some(fetch) = &mut sharing.fetch
            && fetch.from == Some(from)
        {
            fetch.refused.insert(from);
            self.fetch(now, run, object);
        }
    }

    /// Nobody has the object any more, so nothing that mentions it can go on here. Its creator is lost, and
    /// who redoes that has jobs with another object.
    fn give_up_object(&mut self, run: RunId, object: ObjectId) {
        let Some(part) = self.runs.get(&run) else { return };
        let lost: Vec<JobNumber> = (part.held.iter())
            .filter(|(_, held)| held.finished.is_none())
            .filter(|(_, held)| held.spec.objects.iter().any(|mention| mention.creation == object))
            .map(|(token, _)| *token)
            .collect();
        for token in lost {
            self.give_back(run, token);
        }
    }

    /// A held job cannot go on here, and will elsewhere.
    fn give_back(&mut self, run: RunId, token: JobNumber) {
        let held = self.runs.get(&run).and_then(|part| part.held.get(&token));
        let owners = held.map_or_else(Vec::new, |held| held.owners.clone());
        self.abort_held(run, token);
        for (owner, number) in owners {
            match owner {
                Owner::Host(host) => {
                    self.tell_peer(host, PeerMessage::Returned { run, number, begun: true });
                }
                Owner::Here => {
                    let (redone, lookup_below) = (true, 0);
                    self.commands.push_back(Command::Requeue { run, number, redone, lookup_below });
                }
                // A root mentions nothing, and has no guard.
                Owner::Coordinator => {}
            }
        }
    }

    // ---- updates ----

    /// Somebody has a replica; true if that is news.
    fn meet(&mut self, run: RunId, object: ObjectId, host: HostId) -> bool {
        let is_acquainted = self.peers.contains_key(&host);
        let Some(sharing) = self.sharing(run, object) else { return false };
        if !is_acquainted {
            if sharing.sharers.len() < SHARED_COMPARED_MAX
                && sharing.strangers.len() < SHARERS_PER_MESSAGE_MAX
                && sharing.strangers.insert(host)
            {
                self.tell_coordinator(ToCoordinator::Meet { hosts: vec![host] });
            }
            return false;
        }
        sharing.strangers.remove(&host);
        let is_new = !sharing.sharers.contains_key(&host);
        sharing.sharers.entry(host).or_default();
        is_new
    }

    pub(super) fn on_updates(
        &mut self,
        now: Time,
        from: HostId,
        (run, object): (RunId, ObjectId),
        (origin, first): (HostId, u64),
        updates: &[Bytes],
    ) {
        if !self.knows(from, run, object) {
            return;
        }
        self.meet(run, object, from);
        let Some(sharing) = self.sharing(run, object) else { return };
        // While it is under way, nothing is lost: what it lacks will be sent when it is compared.
        let received = sharing
            .replica
            .with(|place| place.as_mut().map(|replica| replica.receive(origin, first, updates)));
        let Some(received) = received else { return };
        if received.applied > 0 {
            sharing.compare_soon(now);
            self.commands.push_back(Command::Replica { run, object });
            self.check_bytes(run, object);
        }
        if received.has_gap {
            self.ask(now, from, run, object);
        }
    }

    /// Whether the object is known here; whoever thinks so wrongly is told.
    fn knows(&mut self, from: HostId, run: RunId, object: ObjectId) -> bool {
        let is_known = self.runs.get(&run).is_some_and(|part| part.shared.contains_key(&object));
        if !is_known {
            self.tell_peer(from, PeerMessage::NotShared { run, object });
        }
        is_known
    }

    /// Asks for what this host has not, unless it just did.
    fn ask(&mut self, now: Time, whom: HostId, run: RunId, object: ObjectId) {
        let Some(sharing) = self.sharing(run, object) else { return };
        sharing.compare_soon(now);
        if now >= sharing.asked + SHARED_ASK {
            sharing.asked = now;
            self.tell_versions(run, object, whom, true);
        }
    }

    // ---- comparing ----

    fn tell_versions(&mut self, run: RunId, object: ObjectId, to: HostId, is_question: bool) {
        let Some(sharing) = self.runs.get_mut(&run).and_then(|part| part.shared.get_mut(&object)) else {
            return;
        };
        let here = sharing.replica.with(|place| place.as_ref().map(|replica| replica.versions().clone()));
        let Some(versions) = here else { return };
        let sharers = sharing.some_sharers(&mut self.random, SHARERS_PER_MESSAGE_MAX);
        let message = PeerMessage::Versions { run, object, versions, sharers, is_question };
        self.tell_peer(to, message);
    }

    /// Compares with some who have a replica, and with those of `named` who were not known to.
    fn compare(&mut self, now: Time, run: RunId, object: ObjectId, named: &[HostId]) {
        let me = self.id();
        let new: Vec<HostId> = (named.iter().copied())
            .filter(|host| Some(*host) != me)
            .filter(|host| self.meet(run, object, *host))
            .collect();
        let Some(sharing) = self.runs.get_mut(&run).and_then(|part| part.shared.get_mut(&object)) else {
            return;
        };
        let mut some = sharing.some_sharers(&mut self.random, SHARED_COMPARED_MAX);
        sharing.compare_at = now + sharing.compare_rest;
        some.retain(|host| !new.contains(host));
        for host in new.into_iter().chain(some) {
            self.tell_versions(run, object, host, false);
        }
    }

    pub(super) fn on_versions(
        &mut self,
        now: Time,
        from: HostId,
        (run, object): (RunId, ObjectId),
        versions: &Versions,
        sharers: &[HostId],
        is_question: bool,
    ) {
        if !self.knows(from, run, object) {
            return;
        }
        let me = self.id();
        self.ship(now, run, object);
        self.meet(run, object, from);
        let new: Vec<HostId> = (sharers.iter().copied())
            .filter(|host| Some(*host) != me)
            .filter(|host| self.meet(run, object, *host))
            .collect();
        for host in new {
            self.tell_versions(run, object, host, false);
        }
        let Some(sharing) = self.sharing(run, object) else { return };
        let compared = sharing.replica.with(|place| {
            let replica = place.as_ref()?;
            Some((replica.missing(versions), replica.versions().covers(versions)))
        });
        let Some((missing, has_all)) = compared else { return };
        if let Some(me) = me {
            sharing.sharers.entry(from).and_modify(|seen| *seen = versions.of(me));
            sharing.note_stable(me);
        }
        if missing != Missing::Nothing || !has_all {
            sharing.compare_soon(now);
        }
        match missing {
            Missing::Nothing => {}
            Missing::Updates(updates) => {
                for (origin, first, updates) in updates {
                    self.send_updates(from, (run, object), (origin, first), &updates);
                }
            }
            Missing::Whole => {
                self.send_replica(from, run, object);
            }
        }
        if !has_all && !is_question {
            self.tell_versions(run, object, from, true);
        }
    }

    // ---- who goes, and comes again ----

    /// This host has found the grid again: those that it had to give up meanwhile may be there still, and
    /// know it by another name or not at all. If they have other names now, too, nothing tells who of all
    /// hosts they are, so more are asked.
    pub(super) fn meet_again(&mut self, now: Time, run: RunId, is_reborn: bool) {
        let Some(part) = self.runs.get_mut(&run) else { return };
        let former: Vec<(ObjectId, Vec<HostId>)> = (part.shared.iter_mut())
            .map(|(object, sharing)| (*object, std::mem::take(&mut sharing.former).into_iter().collect()))
            .collect();
        for (object, mut asked) in former {
            if is_reborn {
                let skip = self.random.below(self.peers.len().max(1));
                let most = self.peers.len().min(SHARERS_PER_MESSAGE_MAX);
                asked.extend(self.peers.keys().cycle().skip(skip).take(most));
            }
            self.compare(now, run, object, &asked);
        }
    }

    /// A host has become known: it may have replicas.
    pub(super) fn greet_sharer(&mut self, now: Time, peer: HostId) {
        let met: Vec<(RunId, ObjectId)> = (self.runs.iter())
            .flat_map(|(run, part)| part.shared.iter().map(|(object, sharing)| (*run, *object, sharing)))
            .filter(|(.., sharing)| sharing.strangers.contains(&peer))
            .map(|(run, object, _)| (run, object))
            .collect();
        for (run, object) in met {
            self.compare(now, run, object, &[peer]);
        }
    }

    pub(super) fn lose_sharer(&mut self, now: Time, run: RunId, peer: HostId) {
        let me = self.id();
        let Some(part) = self.runs.get_mut(&run) else { return };
        let mut waiting = Vec::new();
        for (object, sharing) in &mut part.shared {
            sharing.hints.retain(|hint| *hint != peer);
            if sharing.sharers.remove(&peer).is_some() {
                if sharing.former.len() < SHARERS_PER_MESSAGE_MAX {
                    sharing.former.insert(peer);
                }
                // It may have told some of us what it did last, and not others.
                sharing.compare_soon(now);
                if let Some(me) = me {
                    sharing.note_stable(me);
                }
            }
            if sharing.fetch.as_ref().is_some_and(|fetch| fetch.from == Some(peer)) {
                waiting.push(*object);
            }
        }
        for object in waiting {
            self.fetch(now, run, object);
        }
    }

    /// What only this host has, somebody else gets before it goes.
    pub(super) fn hand_over_objects(&mut self, now: Time, run: RunId) {
        let Some(part) = self.runs.get(&run) else { return };
        let objects: Vec<(ObjectId, bool)> =
            part.shared.iter().map(|(object, sharing)| (*object, sharing.sharers.is_empty())).collect();
        for (object, is_alone) in objects {
            self.ship(now, run, object);
            let others = if self.near.is_empty() { &self.far } else { &self.near };
            if is_alone && !others.is_empty() {
                let heir = others[self.random.below(others.len())];
                self.send_replica(heir, run, object);
            }
        }
    }

    // ---- limits ----

    /// The object has changed: ends the run if its replicas take too much.
    fn check_bytes(&mut self, run: RunId, object: ObjectId) {
        let Some(part) = self.runs.get_mut(&run) else { return };
        let Some(sharing) = part.shared.get_mut(&object) else { return };
        let bytes = sharing.bytes();
        let before = std::mem::replace(&mut sharing.counted, bytes);
        part.own_counts.shared_bytes = part.own_counts.shared_bytes - before + sharing.counted;
        let bytes = part.own_counts.shared_bytes;
        let most = part.spec.limits.shared_bytes_max.unwrap_or(SHARED_BYTES_MAX);
        if bytes > most && !part.is_over_shared {
            part.is_over_shared = true;
            let reason = format!(
                "the replicas of the run's shared objects take {bytes} bytes on one host, which is more than the {most} that the run allows"
            );
            self.tell_coordinator(ToCoordinator::Limit { run, reason });
        }
    }

    /// Forgets what no job here has mentioned for a while.
    fn sweep(&mut self, now: Time, run: RunId) {
        let Some(part) = self.runs.get_mut(&run) else { return };
        part.next_sweep = now + SHARED_UNUSED;
        let mut unused = Vec::new();
        for (object, sharing) in &mut part.shared {
            let was_unused =
                std::mem::replace(&mut sharing.is_unused, Arc::strong_count(&sharing.replica) == 1);
            if was_unused && sharing.is_unused {
                unused.push(*object);
            }
        }
        for object in unused {
            self.ship(now, run, object);
            let sharing = self.runs.get_mut(&run).and_then(|part| {
                let sharing = part.shared.remove(&object)?;
                part.own_counts.shared_bytes -= sharing.counted;
                Some(sharing)
            });
            for sharer in sharing.into_iter().flat_map(|sharing| sharing.sharers.into_keys()) {
                self.tell_peer(sharer, PeerMessage::NotShared { run, object });
            }
        }
    }

    // ---- time ----

    pub(super) fn next_sharing(part: &Part) -> Option<(Time, &'static str)> {
        let sweep =
            (!part.shared.is_empty()).then_some((part.next_sweep, "unused shared objects are forgotten"));
        (part.shared.values())
            .flat_map(|sharing| {
                let flush = sharing.unsent.as_ref().map(|_| sharing.sent + SHARED_FLUSH);
                let fetch = sharing.fetch.as_ref().map(|fetch| fetch.until);
                let compare = (!sharing.sharers.is_empty()).then_some(sharing.compare_at);
                [
                    flush.map(|at| (at, "updates of a shared object are to be sent")),
                    fetch.map(|at| (at, "a replica of a shared object has not come")),
                    compare.map(|at| (at, "replicas of a shared object are compared")),
                ]
            })
            .chain([sweep])
            .flatten()
            .min_by_key(|(at, _)| *at)
    }

    pub(super) fn time_out_sharing(&mut self, now: Time, run: RunId) {
        let Some(part) = self.runs.get(&run) else { return };
        if now >= part.next_sweep {
            self.sweep(now, run);
        }
        let Some(part) = self.runs.get(&run) else { return };
        let objects: Vec<ObjectId> = part.shared.keys().copied().collect();
        for object in objects {
            let Some(sharing) = self.sharing(run, object) else { continue };
            let is_due = sharing.unsent.is_some() && now >= sharing.sent + SHARED_FLUSH;
            let is_late = sharing.fetch.as_ref().is_some_and(|fetch| now >= fetch.until);
            let compares = !sharing.sharers.is_empty() && now >= sharing.compare_at;
            if is_due {
                self.ship(now, run, object);
            }
            if is_late {
                if let Some(fetch) = self.sharing(run, object).and_then(|sharing| sharing.fetch.as_mut())
                    && fetch.from.is_some()
                {
                    fetch.patience = (fetch.patience * 2).min(SHARED_FETCH_MAX);
                }
                self.fetch(now, run, object);
            }
            if compares && let Some(sharing) = self.sharing(run, object) {
                sharing.compare_rest = (sharing.compare_rest * 2).min(SHARED_COMPARE_MAX);
                self.compare(now, run, object, &[]);
            }
        }
    }
}
