//! One host's replica of a shared object.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};

use super::exchange::{Installed, Log, Missing, Received, Snapshot, Update};
use super::tails::{Tails, cost};
use super::{Digest, Versions, Writer};
use crate::limits::{SHARED_EARLY_BYTES_MAX, SHARED_TAIL_BYTES_MIN, SHARED_UNSTABLE_BYTES_MAX};
use crate::{Bytes, HostId};

/// One host's replica of a shared object.
#[derive(Debug, Clone)]
pub struct Replica {
    base: Bytes,
    base_versions: Versions,
    /// The updates since the base.
    log: VecDeque<Update>,
    log_bytes: usize,
    versions: Versions,
    /// The digest of its content.
    digest: Digest,
    /// All updates of the log and some from before the base, by writer.
    tails: Tails,
    early: BTreeMap<(Writer, u64), Bytes>,
    early_bytes: usize,
    /// The incarnation of the log that this host's first update begins.
    incarnation: u64,
    /// This host's log, and the number of its updates that all others have.
    own: Option<(Writer, u64)>,
    trim_at: usize,
}

impl Replica {
    /// The replica of a new object, whose first snapshot is `initial`.
    pub fn new(initial: Bytes) -> Self {
        let digest = Digest::of_new(&initial);
        Self::starting(initial, Versions::default(), digest)
    }

    fn starting(base: Bytes, versions: Versions, digest: Digest) -> Self {
        Self {
            base,
            base_versions: versions.clone(),
            log: VecDeque::new(),
            log_bytes: 0,
            versions,
            digest,
            tails: Tails::default(),
            early: BTreeMap::new(),
            early_bytes: 0,
            // The host that creates an object has no other log of it.
            incarnation: 0,
            own: None,
            trim_at: SHARED_TAIL_BYTES_MIN,
        }
    }

    /// Makes this host's first replica from another host's snapshot; this host's updates go to `log`. `None` if the
    /// snapshot is unsound.
    pub fn from_snapshot(snapshot: Snapshot, log: Log) -> Option<Self> {
        if !snapshot.is_sound() {
            return None;
        }
        let mut replica = Self::after(snapshot, Tails::default());
        replica.incarnation = log.incarnation;
        replica.own = log.before.filter(|(writer, count)| replica.versions.of(*writer) == *count);
        Some(replica)
    }

    fn after(snapshot: Snapshot, tails: Tails) -> Self {
        let Snapshot { base, base_versions, base_digest, updates } = snapshot;
        let mut replica = Self { tails, ..Self::starting(base, base_versions, base_digest) };
        for update in updates {
            replica.append(update);
        }
        replica
    }

    // ---- getters ----

    /// The updates that it has.
    pub fn versions(&self) -> &Versions {
        &self.versions
    }

    /// The digest of its content: replicas with the same versions have the same digest, unless they have diverged.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// This host's log, and the number of its updates; `None` before the first.
    pub fn own_log(&self) -> Option<(Writer, u64)> {
        self.own.map(|(writer, _)| (writer, self.versions.of(writer)))
    }

    /// The writer and number that the next update of this host, whose id is `host`, would get.
    pub fn next_local(&self, host: HostId) -> (Writer, u64) {
        let begun = Writer { host, incarnation: self.incarnation };
        let writer = self.own.map_or(begun, |(writer, _)| writer);
        (writer, self.versions.of(writer))
    }

    /// Whether this host has made updates that not all others with a replica are known to have.
    #[cfg(test)]
    pub fn is_unstable(&self) -> bool {
        self.own.is_some_and(|(writer, stable)| stable < self.versions.of(writer))
    }

    /// Whether another replica has the same versions but other content.
    pub fn has_diverged_from(&self, versions: &Versions, digest: Digest) -> bool {
        self.digest != digest && self.versions == *versions
    }

    /// Memory that it takes, in bytes.
    pub fn bytes(&self) -> usize {
        self.base.len() + self.tails.bytes() + self.early_bytes
    }

    /// The base, and the updates since.
    pub fn content(&self) -> (&Bytes, impl Iterator<Item = &Bytes>) {
        (&self.base, self.log.iter().map(|update| &update.bytes))
    }

    /// The updates that a replica with these versions lacks.
    pub fn missing(&self, theirs: &Versions) -> Missing {
        let mut missing = Vec::new();
        let mut bytes = 0;
        for (writer, count) in self.versions.iter() {
            let has = theirs.of(writer);
            if has >= count {
                continue;
            }
            let Some(updates) = self.tails.since(writer, has) else { return Missing::Whole };
            let updates: Vec<Bytes> = updates.cloned().collect();
            bytes += updates.iter().map(|update| cost(update)).sum::<usize>();
            missing.push((writer, has, updates));
        }
        if missing.is_empty() {
            Missing::Nothing
        } else if bytes > self.base.len() + self.log_bytes {
            Missing::Whole
        } else {
            Missing::Updates(missing)
        }
    }

    /// The whole replica, for another host.
    pub fn snapshot(&self) -> Snapshot {
        let mut counted = self.base_versions.clone();
        let base_digest = self.log.iter().fold(self.digest, |digest, update| {
            digest.without(update.writer, counted.count(update.writer), &update.bytes)
        });
        Snapshot {
            base: self.base.clone(),
            base_versions: self.base_versions.clone(),
            base_digest,
            updates: self.log.iter().cloned().collect(),
        }
    }

    // ---- changes ----

    /// A job of this host, whose id is `host`, makes an update. Returns the update's writer and number, or `None` if
    /// the object has too many writers.
    pub fn append_local(&mut self, host: HostId, bytes: Bytes) -> Option<(Writer, u64)> {
        let (writer, seq) = self.next_local(host);
        if !self.versions.has_room_for(writer) {
            return None;
        }
        self.own.get_or_insert((writer, seq));
        self.append(Update { writer, bytes });
        Some((writer, seq))
    }

    /// All other hosts with a replica have this host's updates below `seq`.
    pub fn set_stable(&mut self, seq: u64) {
        if let Some((_, stable)) = &mut self.own {
            *stable = seq.max(*stable);
        }
    }

    /// Another host sends `writer`'s updates from the number `first` on.
    pub fn receive(&mut self, writer: Writer, first: u64, updates: &[Bytes]) -> Received {
        let is_full = !self.versions.has_room_for(writer);
        let mut received = Received { applied: 0, has_gap: false, is_full };
        if is_full {
            return received;
        }
        for (seq, bytes) in (first..u64::MAX).zip(updates) {
            let next = self.versions.of(writer);
            if seq == next && self.versions.has_room_for(writer) {
                self.append(Update { writer, bytes: bytes.clone() });
                received.applied += 1;
            } else if seq > next {
                received.has_gap = true;
                let is_room = self.early_bytes + cost(bytes) <= SHARED_EARLY_BYTES_MAX;
                // Of two updates with the same writer and number, the first stays, so that the counted bytes are right.
                if is_room && let Entry::Vacant(place) = self.early.entry((writer, seq)) {
                    place.insert(bytes.clone());
                    self.early_bytes += cost(bytes);
                }
            }
        }
        received.applied += self.take_early(writer);
        received
    }

    /// Adds updates that had come too early and whose turn has come.
    fn take_early(&mut self, writer: Writer) -> usize {
        let mut taken = 0;
        while let Some(entry) = self.early.range((writer, 0)..=(writer, self.versions.of(writer))).next() {
            let (writer, seq) = *entry.0;
            let Some(bytes) = self.early.remove(&(writer, seq)) else { break };
            self.early_bytes -= cost(&bytes);
            if seq == self.versions.of(writer) && self.versions.has_room_for(writer) {
                self.append(Update { writer, bytes });
                taken += 1;
            }
        }
        taken
    }

    fn append(&mut self, update: Update) {
        let seq = self.versions.count(update.writer);
        self.digest = self.digest.with(update.writer, seq, &update.bytes);
        self.tails.push(update.writer, seq, update.bytes.clone());
        self.log_bytes += cost(&update.bytes);
        self.log.push_back(update);
    }

    /// Replaces the base with the value of a guest. `contained` says for each update of the log whether the value has it;
    /// of each writer, these are the first ones.
    pub fn set_base(&mut self, base: Bytes, contained: &[bool]) {
        let mut contained = contained.iter();
        self.log.retain(|update| {
            let is_contained = contained.next() == Some(&true);
            if is_contained {
                self.base_versions.count(update.writer);
                self.log_bytes -= cost(&update.bytes);
            }
            !is_contained
        });
        self.base = base;
        self.trim();
    }

    /// Drops updates that the base contains and that other hosts hardly lack.
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

    #[cfg(test)]
    pub(super) fn forget_tails(&mut self) {
        self.tails.trim(&self.base_versions, None, 0);
    }

    /// Another host's replica has come. If it makes this host begin another log, that log's incarnation is
    /// `incarnation`.
    pub fn install(&mut self, snapshot: Snapshot, incarnation: u64) -> Installed {
        if !snapshot.is_sound() {
            return Installed::Nothing;
        }
        let mut counted = snapshot.base_versions.clone();
        let mut applied = 0;
        for update in &snapshot.updates {
            let seq = counted.count(update.writer);
            applied += self.receive(update.writer, seq, std::slice::from_ref(&update.bytes)).applied;
        }
        let merged = if applied > 0 { Installed::Merged } else { Installed::Nothing };
        if self.versions.covers(&counted) {
            return merged;
        }
        // If each replica has forgotten updates that the other lacks, the same one of them wins on both sides.
        let rank = |versions: &Versions| (versions.total(), versions.clone());
        if self.forgotten(&counted) > 0 && rank(&counted) <= rank(&self.versions) {
            return merged;
        }
        let tails = self.tails.up_to(&snapshot.base_versions);
        self.replace(snapshot, tails, incarnation)
    }

    /// Another host's replica has come, which has diverged from this one and is to be kept instead. This replica's
    /// updates that the other one counts are dropped, as it is unknown in which of them the two differ, and this host
    /// begins another log.
    pub fn heal(&mut self, snapshot: Snapshot, incarnation: u64) -> Installed {
        if !snapshot.is_sound() {
            return Installed::Nothing;
        }
        self.early.clear();
        self.early_bytes = 0;
        let own = self.own.take();
        let installed = self.replace(snapshot, Tails::default(), incarnation);
        if own.is_some() {
            self.incarnation = incarnation;
        }
        installed
    }

    /// The number of updates that a replica with these versions lacks, and that this one has only in its base.
    fn forgotten(&self, theirs: &Versions) -> u64 {
        (self.versions.iter())
            .filter(|(writer, count)| {
                let has = theirs.of(*writer);
                has < *count && self.tails.since(*writer, has).is_none()
            })
            .map(|(writer, count)| count - theirs.of(writer))
            .sum()
    }

    /// Replaces this replica with `snapshot`, and adds the updates that the snapshot lacks.
    fn replace(&mut self, snapshot: Snapshot, tails: Tails, incarnation: u64) -> Installed {
        let theirs = snapshot.versions();
        let mut lost = self.forgotten(&theirs);
        let mut replica = Self::after(snapshot, tails);
        (replica.own, replica.incarnation) = (self.own, self.incarnation);
        for (writer, _) in self.versions.iter().filter(|(writer, count)| theirs.of(*writer) < *count) {
            if let Some(updates) = self.tails.since(writer, theirs.of(writer)) {
                for bytes in updates {
                    // Two replicas with different writers may have too many together.
                    if replica.versions.has_room_for(writer) {
                        replica.append(Update { writer, bytes: bytes.clone() });
                    } else {
                        lost += 1;
                    }
                }
            } else if self.own.is_some_and(|(own, _)| own == writer) {
                // The host's next update must not get a number that was used before.
                (replica.own, replica.incarnation) = (None, incarnation);
            }
        }
        for ((writer, seq), bytes) in std::mem::take(&mut self.early) {
            replica.receive(writer, seq, &[bytes]);
        }
        *self = replica;
        Installed::Replaced { lost }
    }
}
