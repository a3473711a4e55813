//! Keeps the replicas of shared objects equal (TOPLAS 4.2).
//!
//! The runtime changes its replicas itself and notifies the state machine, which sends the updates to all hosts with a
//! replica: at once, or within a millisecond if some have just been sent. Updates are sent again only if they are found
//! missing. Each host compares its replica with those of others, soon after it has changed and less and less often
//! while it does not change; the host that has more updates sends them. So it does not matter which host made an update
//! that was lost, or whether that host is still connected.
//!
//! An object that no job here mentions any more is forgotten after a while, once all others with a replica have the
//! updates made here; hosts that ask for it are told so. A host that was given up may only be asleep, and still have
//! its replica when it comes back: an object that was updated since then is kept for it, within a limit.
//!
//! Replicas with the same updates have the same digest. If two have the same versions and different digests, they have
//! diverged because of a fault: the one with the lower digest is replaced by the other, and an event reports it.
//!
//! A host learns which others have a replica when it fetches or compares one: the answers name further hosts.
//!
//! `bounds` ends runs whose objects exceed limits, `fetching` fetches replicas, `shipping` sends and receives updates,
//! `comparing` heals replicas, `forgetting` drops objects that are no longer used here, or hands them over when this
//! host leaves.

mod bounds;
mod comparing;
mod fetching;
mod forgetting;
mod objects;
mod shipping;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

pub use objects::SharedObjects;

use super::stage::Stage;
use super::{Host, RunCommand};
use crate::limits::{
    SHARED_ASK, SHARED_COMPARE_MAX, SHARED_COMPARE_MIN, SHARED_COMPARED_MAX, SHARED_FETCH_MAX, SHARED_FLUSH,
    SHARED_FORMER_MAX, SHARED_HINTS_MAX, SHARED_OBJECT_OVERHEAD_BYTES, SHARERS_PER_MESSAGE_MAX,
};
use crate::parcel::Contents;
use crate::shared::{ObjectId, Replica, SharedReplica, Writer};
use crate::{Bytes, HostId, Random, RunId, Time};

/// A replica that was asked for.
#[derive(Debug)]
struct Fetch {
    /// The host that was asked; `None` while there is none to ask.
    from: Option<HostId>,
    until: Time,
    patience: Duration,
    /// The hosts that were asked in this round, and those of them that have no replica.
    asked: BTreeSet<HostId>,
    refused: BTreeSet<HostId>,
}

/// The part of an object that a host that was given up is known to have, in case it comes back.
#[derive(Debug, Clone, Copy)]
struct Former {
    /// The number of this host's updates that it has.
    own: u64,
    /// The number of all updates at the time when it was given up.
    total: u64,
    /// That time.
    since: Time,
}

/// This host's updates that have not been sent.
#[derive(Debug)]
struct Unsent {
    writer: Writer,
    first: u64,
    updates: Vec<Bytes>,
}

/// A host's state of one shared object.
#[derive(Debug)]
pub struct Sharing {
    replica: Arc<SharedReplica>,
    /// The other hosts with a replica, each with the number of this host's updates that it is known to have.
    sharers: BTreeMap<HostId, u64>,
    /// For each host that was sent missing updates, the total number of updates that it has with them.
    answered: BTreeMap<HostId, u64>,
    /// Hosts that lent jobs that mention the object, the latest first.
    hints: Vec<HostId>,
    /// Hosts that had a replica and were given up; some may come back.
    former: BTreeMap<HostId, Former>,
    /// Set when this host came back under another id. Former sharers may have done so, too, and then none of them knows
    /// the others, so each newly known host is asked.
    asks_newcomers: bool,
    /// Hosts that have a replica and are not acquaintances of this host, but are to become so.
    strangers: BTreeSet<HostId>,
    unsent: Option<Unsent>,
    sent: Time,
    asked: Time,
    fetch: Option<Fetch>,
    /// The host whose replica is to replace this one, which has diverged; and until when this host waits for it.
    healing: Option<(HostId, Time)>,
    compare_at: Time,
    compare_rest: Duration,
    /// The bytes for which the replica was counted.
    counted: u64,
    /// Whether no job here mentioned the object at the last check.
    is_unused: bool,
    /// Whether a job here mentions the object, or did. Other objects come unasked, from hosts that leave: few of these
    /// are kept, and their limits end no run.
    is_mentioned: bool,
}

impl Sharing {
    fn new(now: Time, replica: Arc<SharedReplica>) -> Self {
        Self {
            replica,
            sharers: BTreeMap::new(),
            answered: BTreeMap::new(),
            hints: Vec::new(),
            former: BTreeMap::new(),
            asks_newcomers: false,
            strangers: BTreeSet::new(),
            unsent: None,
            sent: now - SHARED_FLUSH,
            asked: now - SHARED_ASK,
            fetch: None,
            healing: None,
            compare_at: now + SHARED_COMPARE_MIN,
            compare_rest: SHARED_COMPARE_MIN,
            counted: 0,
            is_unused: false,
            is_mentioned: true,
        }
    }

    pub fn replica(&self) -> &Arc<SharedReplica> {
        &self.replica
    }

    fn has_replica(&self) -> bool {
        self.replica.with(|place| place.is_some())
    }

    fn bytes(&self) -> u64 {
        let bytes = self.replica.with(|place| place.as_ref().map_or(0, Replica::bytes));
        (SHARED_OBJECT_OVERHEAD_BYTES + bytes) as u64
    }

    /// The replica has changed: it is to be compared with others soon.
    fn compare_soon(&mut self, now: Time) {
        self.compare_rest = SHARED_COMPARE_MIN;
        self.compare_at = self.compare_at.min(now + SHARED_COMPARE_MIN);
    }

    /// Some of the hosts that have a replica.
    fn some_sharers(&self, random: &mut Random, most: usize) -> Vec<HostId> {
        let skip = random.below(self.sharers.len().max(1));
        self.sharers.keys().cycle().skip(skip).take(most.min(self.sharers.len())).copied().collect()
    }

    fn hint(&mut self, host: HostId) {
        self.hints.retain(|known| *known != host);
        self.hints.insert(0, host);
        self.hints.truncate(SHARED_HINTS_MAX);
    }

    /// Updates the number of this host's updates that all other replicas have.
    fn note_stable(&self) {
        let stable = self.sharers.values().copied().min();
        self.replica.with(|place| {
            if let Some(replica) = place {
                let all = replica.own_log().map_or(0, |(_, count)| count);
                replica.set_stable(stable.unwrap_or(all));
            }
        });
    }

    /// This host's log, and the number of its updates.
    fn own_log(&self) -> Option<(Writer, u64)> {
        self.replica.with(|place| place.as_ref().and_then(Replica::own_log))
    }

    /// Whether that host is one of the few that this one compares its replica with.
    pub fn needs(&self, host: HostId) -> bool {
        self.sharers.len() <= SHARED_COMPARED_MAX && self.sharers.contains_key(&host)
    }

    /// That host no longer has a replica, or its replica is out of reach. Returns the number of this host's updates
    /// that it was known to have, if it had a replica.
    fn drop_sharer(&mut self, host: HostId) -> Option<u64> {
        let has = self.sharers.remove(&host);
        self.answered.remove(&host);
        if has.is_some() {
            self.note_stable();
        }
        has
    }

    /// That host was given up. If it is only asleep, it will still have its replica when it comes back.
    fn give_up_sharer(&mut self, now: Time, host: HostId) -> bool {
        let Some(own) = self.drop_sharer(host) else { return false };
        let total = self.replica.with(|place| place.as_ref().map_or(0, |replica| replica.versions().total()));
        if self.former.len() < SHARERS_PER_MESSAGE_MAX {
            self.former.insert(host, Former { own, total, since: now });
        }
        true
    }

    /// Whether some host with a replica is not known to have all of this host's updates. A host that was given up and
    /// is back may lack some, although all others have got them meanwhile.
    fn has_lagging(&self) -> bool {
        self.own_log().is_some_and(|(_, count)| self.sharers.values().any(|has| *has < count))
    }

    /// Forgets hosts that were given up long ago: objects are no longer kept for them.
    fn expire_former(&mut self, now: Time) {
        self.former.retain(|_, former| now < former.since + SHARED_FORMER_MAX);
    }

    /// Whether a host that has become known, or is back, may have a replica that this one should be compared with.
    fn may_be_sharer(&self, host: HostId) -> bool {
        let is_sought =
            self.asks_newcomers && !self.former.is_empty() && self.sharers.len() < SHARED_COMPARED_MAX;
        is_sought || self.strangers.contains(&host) || self.former.contains_key(&host)
    }

    /// Whether a host that was given up is known to have an older replica.
    fn is_owed(&self) -> bool {
        if self.former.is_empty() {
            return false;
        }
        let (own, total) = self.replica.with(|place| {
            place.as_ref().map_or((0, 0), |replica| {
                (replica.own_log().map_or(0, |(_, count)| count), replica.versions().total())
            })
        });
        self.former.values().any(|former| former.own < own || former.total < total)
    }
}

impl Host {
    // ---- this host's id ----

    /// Tells the runtime the id to use in updates.
    pub(in crate::host) fn identify(&mut self, run: RunId) {
        let Some(origin) = self.id() else { return };
        if self.runs.get(&run).is_none_or(|part| matches!(part.stage, Stage::Loading | Stage::Unable)) {
            return;
        }
        self.commands.push_back(RunCommand::Identify { origin }.of(run));
    }

    pub(in crate::host) fn identify_all(&mut self) {
        let runs: Vec<RunId> = self.runs.keys().copied().collect();
        for run in runs {
            self.identify(run);
        }
    }

    // ---- notices of the runtime ----

    fn sharing(&mut self, run: RunId, object: ObjectId) -> Option<&mut Sharing> {
        self.runs.get_mut(&run)?.shared.objects.get_mut(&object)
    }

    pub(in crate::host) fn on_shared(
        &mut self,
        now: Time,
        run: RunId,
        object: ObjectId,
        replica: Arc<SharedReplica>,
    ) {
        if !self.has_room_for(now, run, object) {
            return;
        }
        let Some(part) = self.runs.get_mut(&run) else { return };
        let sharing = part.shared.objects.entry(object).or_insert_with(|| Sharing::new(now, replica.clone()));
        sharing.replica = replica;
        sharing.fetch = None;
        self.note_mention(run, object);
        self.check_bytes(now, run, object);
    }

    // ---- time ----

    /// Whether the requested replica is on its way here.
    fn is_replica_arriving(&self, run: RunId, object: ObjectId, sharing: &Sharing) -> bool {
        let from = sharing.fetch.as_ref().and_then(|fetch| fetch.from);
        from.is_some_and(|from| self.incoming.has(from, Contents::Replica { run, object }))
    }

    pub(in crate::host) fn next_sharing(
        &self,
        run: RunId,
        shared: &SharedObjects,
    ) -> Option<(Time, &'static str)> {
        let sweep = (!shared.objects.is_empty())
            .then_some((shared.next_sweep, "unused shared objects are forgotten"));
        (shared.objects.iter())
            .flat_map(|(object, sharing)| {
                let flush = sharing.unsent.as_ref().map(|_| sharing.sent + SHARED_FLUSH);
                let fetch = sharing.fetch.as_ref().map(|fetch| fetch.until);
                let fetch = fetch.filter(|_| !self.is_replica_arriving(run, *object, sharing));
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

    pub(in crate::host) fn time_out_sharing(&mut self, now: Time, run: RunId) {
        let Some(part) = self.runs.get(&run) else { return };
        if now >= part.shared.next_sweep {
            self.sweep(now, run);
        }
        let Some(part) = self.runs.get(&run) else { return };
        let objects: Vec<ObjectId> = part.shared.objects.keys().copied().collect();
        for object in objects {
            let Some(sharing) = self.runs.get(&run).and_then(|part| part.shared.objects.get(&object)) else {
                continue;
            };
            let is_arriving = self.is_replica_arriving(run, object, sharing);
            let is_due = sharing.unsent.is_some() && now >= sharing.sent + SHARED_FLUSH;
            let is_late = sharing.fetch.as_ref().is_some_and(|fetch| now >= fetch.until) && !is_arriving;
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
