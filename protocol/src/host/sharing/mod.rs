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
//!
//! `fetching` brings replicas here, `shipping` sends updates about, `comparing` heals.

mod comparing;
mod fetching;
mod shipping;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::part::{Part, Stage};
use super::{Command, Host};
use crate::limits::{
    SHARED_ASK, SHARED_BYTES_MAX, SHARED_COMPARE_MAX, SHARED_COMPARE_MIN, SHARED_FETCH_MAX, SHARED_FLUSH,
    SHARED_HINTS_MAX, SHARED_OBJECT_OVERHEAD_BYTES, SHARED_UNUSED,
};
use crate::message::{PeerMessage, ToCoordinator};
use crate::shared::{ObjectId, Replica, SharedReplica};
use crate::{Bytes, HostId, Random, RunId, Time};

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
        let bytes = self.replica.with(|place| place.as_ref().map_or(0, Replica::bytes));
        (SHARED_OBJECT_OVERHEAD_BYTES + bytes) as u64
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
    pub(in crate::host) fn identify(&mut self, run: RunId) {
        let Some(origin) = self.id() else { return };
        if self.runs.get(&run).is_none_or(|part| matches!(part.stage, Stage::Loading | Stage::Unable)) {
            return;
        }
        self.commands.push_back(Command::Identify { run, origin });
    }

    pub(in crate::host) fn identify_all(&mut self) {
        let runs: Vec<RunId> = self.runs.keys().copied().collect();
        for run in runs {
            self.identify(run);
        }
    }

    // ---- what the runtime tells ----

    fn sharing(&mut self, run: RunId, object: ObjectId) -> Option<&mut Sharing> {
        self.runs.get_mut(&run)?.shared.get_mut(&object)
    }

    pub(in crate::host) fn on_shared(
        &mut self,
        now: Time,
        run: RunId,
        object: ObjectId,
        replica: Arc<SharedReplica>,
    ) {
        let Some(part) = self.runs.get_mut(&run) else { return };
        let sharing = part.shared.entry(object).or_insert_with(|| Sharing::new(now, replica.clone()));
        sharing.replica = replica;
        sharing.fetch = None;
        self.check_bytes(run, object);
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

    pub(in crate::host) fn next_sharing(part: &Part) -> Option<(Time, &'static str)> {
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

    pub(in crate::host) fn time_out_sharing(&mut self, now: Time, run: RunId) {
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
