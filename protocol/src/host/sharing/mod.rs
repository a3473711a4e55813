//! Keeping the replicas of shared objects alike (TOPLAS 4.2).
//!
//! The runtime changes its replicas itself and tells the machine, which ships updates to all that have a
//! replica: at once, or within a millisecond when some have just been sent. Nothing is repeated until it is
//! missed. Whoever has a replica compares it with others', soon after something has come to it and ever less
//! often while nothing does; the one that has more sends it. So it does not matter who made an update that
//! was lost, or whether that host is still there.
//!
//! An object that no job here mentions any more is forgotten after a while, when all others with a replica have
//! the updates made here; whoever asks is told so. A host that was given up may only be asleep, and have a replica
//! when it comes back: an object that was updated since it went is kept for it, within a limit.
//!
//! Replicas with the same updates have the same digest. Two that have not have diverged, which only a fault can
//! do: the one with the lower digest is replaced by the other, and an event says so.
//!
//! Who has a replica is learned from whom it is fetched from, and from comparing: each names others.
//!
//! `bounds` ends runs whose objects take too much, `fetching` brings replicas here, `shipping` sends updates about, `comparing` heals, `forgetting` is what becomes
//! of objects that are not used here any more, or when this host leaves.
//!
//! What is known of one object has pieces of its own: `sharers` are the hosts that have it, `comparison` is when
//! replicas are compared, `unsent` are updates that wait to be sent.

mod bounds;
mod comparing;
mod comparison;
mod fetching;
mod forgetting;
mod objects;
mod sharers;
mod shipping;
#[cfg(test)]
mod tests;
mod unsent;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

pub use objects::SharedObjects;

use super::stage::Stage;
use super::{Host, RunCommand};
use crate::limits::{SHARED_ASK, SHARED_FETCH_MAX, SHARED_OBJECT_OVERHEAD_BYTES};
use crate::parcel::Contents;
use crate::shared::{ObjectId, Replica, SharedReplica, Writer};
use crate::{HostId, RunId, Time};
use comparison::Comparison;
use sharers::Sharers;
use unsent::Unsent;

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

/// What a host knows of one shared object.
#[derive(Debug)]
pub struct Sharing {
    replica: Arc<SharedReplica>,
    sharers: Sharers,
    unsent: Unsent,
    asked: Time,
    fetch: Option<Fetch>,
    /// The host whose replica is to take the place of this one, which has diverged; and until when it is
    /// waited for.
    healing: Option<(HostId, Time)>,
    comparison: Comparison,
    /// What its bytes were counted for.
    counted: u64,
    /// No job here mentioned it when that was last looked at.
    is_unused: bool,
    /// A job here mentions it, or did. Others come unasked, from a host that leaves: of these few are kept, and what
    /// becomes of them ends no run.
    is_mentioned: bool,
}

impl Sharing {
    fn new(now: Time, replica: Arc<SharedReplica>) -> Self {
        Self {
            replica,
            sharers: Sharers::default(),
            unsent: Unsent::new(now),
            asked: now - SHARED_ASK,
            fetch: None,
            healing: None,
            comparison: Comparison::new(now),
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

    /// How much of this host's updates all others with a replica have may be another now.
    fn note_stable(&self) {
        let stable = self.sharers.stable();
        self.replica.with(|place| {
            if let Some(replica) = place {
                let all = replica.own_log().map_or(0, |(_, count)| count);
                replica.set_stable(stable.unwrap_or(all));
            }
        });
    }

    /// This host's log, and how many updates it has.
    fn own_log(&self) -> Option<(Writer, u64)> {
        self.replica.with(|place| place.as_ref().and_then(Replica::own_log))
    }

    /// That host has no replica any more, or none that this one will hear of. Returns how many of this host's
    /// updates it was known to have, if it had one.
    fn drop_sharer(&mut self, host: HostId) -> Option<u64> {
        let has = self.sharers.drop(host);
        if has.is_some() {
            self.note_stable();
        }
        has
    }

    /// That host was given up. If it only sleeps, it has its replica when it comes back.
    fn give_up_sharer(&mut self, now: Time, host: HostId) -> bool {
        let Some(own) = self.drop_sharer(host) else { return false };
        let total = self.replica.with(|place| place.as_ref().map_or(0, |replica| replica.versions().total()));
        self.sharers.note_former(now, host, own, total);
        true
    }

    /// Whether some host with a replica is not known to have all of this host's updates. One that was given up and is
    /// back may not, though all others had them meanwhile.
    fn has_lagging(&self) -> bool {
        self.own_log().is_some_and(|(_, count)| self.sharers.lagging(count).next().is_some())
    }

    /// Whether a host that was given up has an older replica, as far as is known.
    fn is_owed(&self) -> bool {
        if self.sharers.former_len() == 0 {
            return false;
        }
        let (own, total) = self.replica.with(|place| {
            place.as_ref().map_or((0, 0), |replica| {
                (replica.own_log().map_or(0, |(_, count)| count), replica.versions().total())
            })
        });
        self.sharers.owes_former(own, total)
    }
}

impl Host {
    // ---- who this host is ----

    /// Tells the runtime what this host is called in updates.
    pub(in crate::host) fn identify(&mut self, run: RunId) {
        let Some(origin) = self.id() else { return };
        if self.runs.get(&run).is_none_or(|part| matches!(part.stage, Stage::Loading | Stage::Unable)) {
            return;
        }
        self.unpolled.command(RunCommand::Identify { origin }.of(run));
    }

    pub(in crate::host) fn identify_all(&mut self) {
        let runs: Vec<RunId> = self.runs.keys().copied().collect();
        for run in runs {
            self.identify(run);
        }
    }

    // ---- what the runtime tells ----

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

    /// Whether the replica that was asked for is on its way.
    fn is_replica_arriving(&self, run: RunId, object: ObjectId, sharing: &Sharing) -> bool {
        let from = sharing.fetch.as_ref().and_then(|fetch| fetch.from);
        from.is_some_and(|from| self.transfers.incoming.has(from, Contents::Replica { run, object }))
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
                let flush = sharing.unsent.due();
                let fetch = sharing.fetch.as_ref().map(|fetch| fetch.until);
                let fetch = fetch.filter(|_| !self.is_replica_arriving(run, *object, sharing));
                let compare = (!sharing.sharers.is_empty()).then_some(sharing.comparison.at());
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
            let is_due = sharing.unsent.is_due(now);
            let is_late = sharing.fetch.as_ref().is_some_and(|fetch| now >= fetch.until) && !is_arriving;
            let compares = !sharing.sharers.is_empty() && now >= sharing.comparison.at();
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
                sharing.comparison.lengthen();
                self.compare(now, run, object, &[]);
            }
        }
    }
}
