//! One host's replica of a shared object.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use serde::{Deserialize, Serialize};

use super::Versions;
use super::tails::{Tails, cost};
use crate::limits::{
    SHARED_EARLY_BYTES_MAX, SHARED_LOG_BYTES_MIN, SHARED_TAIL_BYTES_MIN, SHARED_UNSTABLE_BYTES_MAX,
};
use crate::{Bytes, HostId};

/// A shared object, or what stands for it in jobs' keys: see [`Mention`](crate::Mention).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ObjectId(pub [u8; 16]);

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0[..4].iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// An update in a replica's order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Update {
    /// The host whose job made it.
    pub origin: HostId,
    /// What the guest encoded: which update function, and its arguments.
    pub bytes: Bytes,
}

/// A replica on its way to another host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The object as a guest encoded it.
    pub base: Bytes,
    /// Which updates the base has.
    pub base_versions: Versions,
    /// The updates after it, in an order that is one host's; each has the next number of its origin.
    pub updates: Vec<Update>,
}

impl Snapshot {
    /// Which updates it has, in the base and after it.
    pub fn versions(&self) -> Versions {
        let mut versions = self.base_versions.clone();
        for update in &self.updates {
            versions.count(update.origin);
        }
        versions
    }

    /// Whether a stranger may have sent it.
    pub fn is_sound(&self) -> bool {
        let mut counted = self.base_versions.clone();
        self.base_versions.is_sound()
            && self.updates.iter().all(|update| {
                let has_room = counted.has_room_for(update.origin);
                has_room && counted.count(update.origin) < u64::MAX / 2
            })
    }
}

/// What an instance must do to have all that the replica has.
#[derive(Debug, PartialEq, Eq)]
pub enum Catchup {
    /// It has it.
    Nothing,
    /// Apply these.
    Updates(Vec<Bytes>),
    /// Start from the base, and apply these to it.
    Whole(Bytes, Vec<Bytes>),
}

/// What became of another host's updates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received {
    /// So many are new, and in the replica now; earlier ones that had waited for them are counted.
    pub applied: usize,
    /// Updates before them are missing: they wait.
    pub has_gap: bool,
}

/// What became of another host's replica.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Installed {
    /// It had nothing that this one has not, or nobody can have such a one.
    Nothing,
    /// Its updates were added to this one's.
    Merged,
    /// It is this host's now, with what it had not itself. Instances start from it.
    Replaced {
        /// So many updates that this one had are not in it now, because the other had not got them and
        /// this one has forgotten all but their effect. Whoever made them has them still, if it is there.
        lost: u64,
    },
}

/// What another replica has not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Missing {
    /// It has all.
    Nothing,
    /// Updates: whose, the number of the first, and they.
    Updates(Vec<(HostId, u64, Vec<Bytes>)>),
    /// So much, or of so long ago, that a snapshot is better.
    Whole,
}

/// One host's replica of a shared object.
///
/// *Positions* count the updates in this host's order, from 1; a base has one, and so has an instance. They
/// never go back, not even when the replica is replaced.
#[derive(Debug, Clone)]
pub struct Replica {
    base: Bytes,
    base_position: u64,
    base_versions: Versions,
    /// Since the base.
    log: VecDeque<Update>,
    log_bytes: usize,
    versions: Versions,
    /// All of the log and some from before, by origin.
    tails: Tails,
    early: BTreeMap<(HostId, u64), Bytes>,
    early_bytes: usize,
    /// Who this host is, and how many of its updates all others have.
    own: Option<(HostId, u64)>,
    trim_at: usize,
}

impl Replica {
    /// A new object, whose first snapshot is `initial`.
    pub fn new(initial: Bytes) -> Self {
        Self::starting(1, initial, Versions::default())
    }

    fn starting(position: u64, base: Bytes, versions: Versions) -> Self {
        Self {
            base,
            base_position: position,
            base_versions: versions.clone(),
            log: VecDeque::new(),
            log_bytes: 0,
            versions,
            tails: Tails::default(),
            early: BTreeMap::new(),
            early_bytes: 0,
            own: None,
            trim_at: SHARED_TAIL_BYTES_MIN,
        }
    }

    /// Another host's, where there was none. `None` when nobody can have such a one.
    pub fn from_snapshot(snapshot: Snapshot) -> Option<Self> {
        snapshot.is_sound().then(|| Self::after(1, snapshot, Tails::default()))
    }

    fn after(position: u64, snapshot: Snapshot, tails: Tails) -> Self {
        let Snapshot { base, base_versions, updates } = snapshot;
        let mut replica = Self { tails, ..Self::starting(position, base, base_versions) };
        for update in updates {
            replica.append(update);
        }
        replica
    }

    // ---- getters ----

    /// Which updates it has.
    pub fn versions(&self) -> &Versions {
        &self.versions
    }

    /// The position after the last update.
    pub fn end(&self) -> u64 {
        self.base_position + self.log.len() as u64
    }

    /// What it takes in memory.
    pub fn bytes(&self) -> usize {
        self.base.len() + self.tails.bytes() + self.early_bytes
    }

    /// Whether a guest's snapshot would be shorter than what there is now.
    pub fn wants_base(&self) -> bool {
        self.log_bytes > self.base.len().max(SHARED_LOG_BYTES_MIN)
    }

    /// What an instance at `position` has not, and the position where it is then.
    pub fn since(&self, position: u64) -> (Catchup, u64) {
        let end = self.end();
        let catchup = match position.checked_sub(self.base_position) {
            Some(_) if position == end => Catchup::Nothing,
            Some(skip) if position < end => Catchup::Updates(self.log_from(skip as usize)),
            _ => Catchup::Whole(self.base.clone(), self.log_from(0)),
        };
        (catchup, end)
    }

    fn log_from(&self, skip: usize) -> Vec<Bytes> {
        self.log.iter().skip(skip).map(|update| update.bytes.clone()).collect()
    }

    /// What a replica with these versions has not.
    pub fn missing(&self, theirs: &Versions) -> Missing {
        let mut missing = Vec::new();
        let mut bytes = 0;
        for (origin, count) in self.versions.iter() {
            if theirs.of(origin) >= count {
                continue;
            }
            let Some(updates) = self.tails.since(origin, theirs.of(origin)) else { return Missing::Whole };
            let updates: Vec<Bytes> = updates.cloned().collect();
            bytes += updates.iter().map(|update| cost(update)).sum::<usize>();
            missing.push((origin, theirs.of(origin), updates));
        }
        if missing.is_empty() {
            Missing::Nothing
        } else if bytes > self.base.len() + self.log_bytes {
            Missing::Whole
        } else {
            Missing::Updates(missing)
        }
    }

    /// All of it, for another host.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            base: self.base.clone(),
            base_versions: self.base_versions.clone(),
            updates: self.log.iter().cloned().collect(),
        }
    }

    // ---- changes ----

    /// A job of this host, which is `origin`, makes an update: its number. `None` when too many hosts have
    /// made some.
    pub fn append_local(&mut self, origin: HostId, bytes: Bytes) -> Option<u64> {
        if !self.versions.has_room_for(origin) {
            return None;
        }
        let seq = self.versions.of(origin);
        if self.own.is_none_or(|(own, _)| own != origin) {
            self.own = Some((origin, seq));
        }
        self.append(Update { origin, bytes });
        Some(seq)
    }

    /// All other hosts have this host's updates below `seq`.
    pub fn set_stable(&mut self, origin: HostId, seq: u64) {
        if let Some((own, stable)) = &mut self.own
            && *own == origin
        {
            *stable = seq.max(*stable);
        }
    }

    /// Another host sends `origin`'s updates from the number `first` on.
    pub fn receive(&mut self, origin: HostId, first: u64, updates: &[Bytes]) -> Received {
        let mut received = Received { applied: 0, has_gap: false };
        if !self.versions.has_room_for(origin) || first >= u64::MAX / 2 {
            return received;
        }
        for (seq, bytes) in (first..).zip(updates) {
            let next = self.versions.of(origin);
            if seq == next {
                self.append(Update { origin, bytes: bytes.clone() });
                received.applied += 1;
            } else if seq > next {
                received.has_gap = true;
                let is_room = self.early_bytes + cost(bytes) <= SHARED_EARLY_BYTES_MAX;
                if is_room && self.early.insert((origin, seq), bytes.clone()).is_none() {
                    self.early_bytes += cost(bytes);
                }
            }
        }
        received.applied += self.take_early(origin);
        received
    }

    /// Adds what had come too early and is next now.
    fn take_early(&mut self, origin: HostId) -> usize {
        let mut taken = 0;
        while let Some(entry) = self.early.range((origin, 0)..=(origin, self.versions.of(origin))).next() {
            let (origin, seq) = *entry.0;
            let Some(bytes) = self.early.remove(&(origin, seq)) else { break };
            self.early_bytes -= cost(&bytes);
            if seq == self.versions.of(origin) {
                self.append(Update { origin, bytes });
                taken += 1;
            }
        }
        taken
    }

    fn append(&mut self, update: Update) {
        let seq = self.versions.count(update.origin);
        self.tails.push(update.origin, seq, update.bytes.clone());
        self.log_bytes += cost(&update.bytes);
        self.log.push_back(update);
    }

    /// A guest that has applied all up to `position` gives a snapshot, which replaces the base. False when
    /// the replica has gone another way meanwhile.
    pub fn set_base(&mut self, position: u64, base: Bytes) -> bool {
        if position <= self.base_position || position > self.end() {
            return false;
        }
        for update in self.log.drain(..(position - self.base_position) as usize) {
            self.base_versions.count(update.origin);
            self.log_bytes -= cost(&update.bytes);
        }
        self.base_position = position;
        self.base = base;
        self.trim();
        true
    }

    /// Drops what the base has and hardly anybody can miss.
    fn trim(&mut self) {
        let old = |replica: &Self| replica.tails.bytes() - replica.log_bytes;
        if old(self) <= self.trim_at {
            return;
        }
        let keep = self.base.len().max(SHARED_TAIL_BYTES_MIN);
        self.tails.trim(&self.base_versions, self.own, keep / 2);
        if old(self) > SHARED_UNSTABLE_BYTES_MAX {
            self.tails.trim(&self.base_versions, None, SHARED_UNSTABLE_BYTES_MAX / 2);
        }
        self.trim_at = keep.max(2 * old(self)).min(SHARED_UNSTABLE_BYTES_MAX);
    }

    /// Another host's replica has come.
    pub fn install(&mut self, snapshot: Snapshot) -> Installed {
        if !snapshot.is_sound() {
            return Installed::Nothing;
        }
        let mut counted = snapshot.base_versions.clone();
        let mut applied = 0;
        for update in &snapshot.updates {
            let seq = counted.count(update.origin);
            applied += self.receive(update.origin, seq, std::slice::from_ref(&update.bytes)).applied;
        }
        if self.versions.covers(&counted) {
            return if applied > 0 { Installed::Merged } else { Installed::Nothing };
        }
        self.replace(snapshot, &counted)
    }

    /// Takes `snapshot`, whose updates are `theirs` in all, and adds to it what it has not.
    fn replace(&mut self, snapshot: Snapshot, theirs: &Versions) -> Installed {
        let tails = self.tails.up_to(&snapshot.base_versions);
        let mut replica = Self::after(self.end() + 1, snapshot, tails);
        replica.own = self.own;
        let mut lost = 0;
        for (origin, count) in self.versions.iter().filter(|(origin, count)| theirs.of(*origin) < *count) {
            match self.tails.since(origin, theirs.of(origin)) {
                Some(updates) => {
                    for bytes in updates {
                        replica.append(Update { origin, bytes: bytes.clone() });
                    }
                }
                // Its next update must not get a number twice.
                None if self.own.is_some_and(|(own, _)| own == origin) => return Installed::Nothing,
                None => lost += count - theirs.of(origin),
            }
        }
        // Two that have both forgotten what the other has not: the same one of them wins on both sides.
        let rank = |versions: &Versions| (versions.total(), versions.clone());
        if lost > 0 && rank(&replica.versions) <= rank(&self.versions) {
            return Installed::Nothing;
        }
        for ((origin, seq), bytes) in std::mem::take(&mut self.early) {
            replica.receive(origin, seq, &[bytes]);
        }
        *self = replica;
        Installed::Replaced { lost }
    }
}
