//! Keeps the replicas of shared objects equal (TOPLAS 4.2).
//!
//! The runtime has a view of each object that a job here uses, and changes it itself. The state machine has a replica:
//! it appends the updates of the runtime as they arrive, and sends them to all hosts with a replica, at once, or within a
//! millisecond if some have just been sent; it passes the runtime what comes from others (`showing`). Updates are sent
//! again only if they are found missing, and large ones only if they are overdue. Each host compares its
//! replica with those of others, soon after it has changed and less and less often while it does not change; the host that has more updates sends them. So it does not matter which host made an update
//! that was lost, or whether that host is still connected.
//!
//! An object that no job here mentions any more is forgotten after a while, once all others with a replica have the
//! updates made here; hosts that ask for it are notified. A host that was given up may only be asleep, and still have
//! its replica when it comes back: an object that was updated since then is kept for it, within a limit. Hosts name such
//! hosts to one another, as the one that gave a host up may leave or crash itself.
//!
//! Replicas with the same updates have the same digest. If two have the same versions and different digests, they have
//! diverged because of a fault: the one with the lower digest is replaced by the other, and an event reports it.
//!
//! A host learns which others have a replica when it fetches or compares one: the answers name further hosts.
//!
//! `bounds` ends runs whose objects exceed limits, `fetching` fetches replicas, `shipping` sends and receives updates,
//! `showing` keeps the runtime's view of an object equal to the replica, `comparing` heals replicas, `declining` stops
//! parcels whose contents have come another way, `forgetting` drops objects that are no longer used here, or hands them
//! over when this host leaves.
//!
//! What is known of one object has pieces of its own: `sharers` are the hosts that have it, `former` those
//! that had it and were given up, `comparison` is when
//! replicas are compared, `unsent` are updates that wait to be sent.

mod bounds;
mod comparing;
mod comparison;
mod declining;
mod fetching;
mod forgetting;
mod former;
mod objects;
mod sharers;
mod shipping;
mod showing;
#[cfg(test)]
mod tests;
mod unsent;

use std::collections::BTreeSet;
use std::time::Duration;

pub use objects::SharedObjects;

use super::Host;
use crate::limits::{SHARED_ASK, SHARED_FETCH_MAX, SHARED_OBJECT_OVERHEAD_BYTES};
use crate::parcel::Contents;
use crate::shared::{ObjectId, Replica, Shown, Writer};
use crate::{Bytes, HostId, RunId, Time};
use comparison::Comparison;
use sharers::Sharers;
use unsent::Unsent;

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

/// A host's state of one shared object.
#[derive(Debug)]
pub struct Sharing {
    /// `None` until it comes.
    replica: Option<Replica>,
    /// What the runtime has of it; `None` while no job here uses the object.
    shown: Option<Shown>,
    sharers: Sharers,
    unsent: Unsent,
    asked: Time,
    fetch: Option<Fetch>,
    /// The host whose replica is to replace this one, which has diverged; and until when this host waits for it.
    healing: Option<(HostId, Time)>,
    comparison: Comparison,
    /// The bytes for which the replica was counted.
    counted: u64,
    /// Whether no job here mentioned the object at the last check.
    is_unused: bool,
    /// Whether a job here mentions the object, or did. Other objects come unasked, from hosts that leave: few of these
    /// are kept, and their limits end no run.
    is_mentioned: bool,
}

impl Sharing {
    fn new(now: Time) -> Self {
        Self {
            replica: None,
            shown: None,
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

    pub fn replica(&self) -> Option<&Replica> {
        self.replica.as_ref()
    }

    fn has_replica(&self) -> bool {
        self.replica.is_some()
    }

    fn bytes(&self) -> u64 {
        let bytes = self.replica.as_ref().map_or(0, Replica::bytes);
        (SHARED_OBJECT_OVERHEAD_BYTES + bytes) as u64
    }

    /// Recomputes how many of this host's updates all other replicas have.
    fn note_stable(&mut self) {
        let stable = self.sharers.stable();
        if let Some(replica) = &mut self.replica {
            let all = replica.own_log().map_or(0, |(_, count)| count);
            replica.set_stable(stable.unwrap_or(all));
        }
    }

    /// This host's log, and the number of its updates.
    fn own_log(&self) -> Option<(Writer, u64)> {
        self.replica.as_ref().and_then(Replica::own_log)
    }

    /// The number of updates in the replica.
    fn total(&self) -> u64 {
        self.replica.as_ref().map_or(0, |replica| replica.versions().total())
    }

    /// That host no longer has a replica, or its replica is out of reach. Returns the number of this host's updates
    /// that it was known to have, if it had a replica.
    fn drop_sharer(&mut self, host: HostId) -> Option<u64> {
        let has = self.sharers.drop(host);
        if has.is_some() {
            self.note_stable();
        }
        has
    }

    /// That host was given up. If it is only asleep, it will still have its replica when it comes back.
    fn give_up_sharer(&mut self, now: Time, host: HostId) -> bool {
        let Some(own) = self.drop_sharer(host) else { return false };
        let total = self.total();
        self.sharers.former.note(now, host, own, total);
        true
    }

    /// Whether some host with a replica is not known to have all of this host's updates. A host that was given up and
    /// is back may lack some, although all others have got them meanwhile.
    fn has_lagging(&self) -> bool {
        self.own_log().is_some_and(|(_, count)| self.sharers.lagging(count).next().is_some())
    }

    /// Whether a host that was given up is known to have an older replica.
    fn is_owed(&self) -> bool {
        if self.sharers.former.is_empty() {
            return false;
        }
        let own = self.own_log().map_or(0, |(_, count)| count);
        self.sharers.former.are_owed(own, self.total())
    }
}

impl Host {
    // ---- notices of the runtime ----

    fn sharing(&mut self, run: RunId, object: ObjectId) -> Option<&mut Sharing> {
        self.runs.get_mut(&run)?.shared.objects.get_mut(&object)
    }

    pub(in crate::host) fn on_shared(
        &mut self,
        now: Time,
        run: RunId,
        (object, place): (ObjectId, u64),
        initial: Bytes,
    ) {
        if !self.has_room_for(now, run, object) {
            return;
        }
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        let sharing = host_run.shared.objects.entry(object).or_insert_with(|| Sharing::new(now));
        sharing.replica = Some(Replica::new(initial));
        sharing.shown = Some(Shown::new(place));
        sharing.fetch = None;
        self.note_mention(run, object);
        self.check_bytes(now, run, object);
    }

    // ---- time ----

    /// Whether the requested replica is in transit here.
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
        let Some(host_run) = self.runs.get(&run) else { return };
        if now >= host_run.shared.next_sweep {
            self.sweep(now, run);
        }
        let Some(host_run) = self.runs.get(&run) else { return };
        let objects: Vec<ObjectId> = host_run.shared.objects.keys().copied().collect();
        for object in objects {
            let Some(sharing) = self.runs.get(&run).and_then(|run| run.shared.objects.get(&object)) else {
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
