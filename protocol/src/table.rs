//! The result table: maps a job's key to its result, or to the host that has the result or runs the job.
//!
//! Correctness never depends on the table: a missing entry only costs work. So the table is bounded, and the entries
//! that took the least work are dropped first. A job's result makes all entries below that job superfluous.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound::{Excluded, Included, Unbounded};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use crate::{Entry, EntryState, HostId, JobKey, JobTag};

/// The lowest and the highest possible key.
const FIRST_KEY: JobKey = JobKey([0; 32]);
const LAST_KEY: JobKey = JobKey([0xff; 32]);
/// Maximum keys remembered for [`Table::take_superfluous`].
const SUPERFLUOUS_MAX: usize = 4096;
/// Maximum entries that one insertion drops to keep to the bound; [`Table::sweep`] drops the others.
const DROPPED_AT_ONCE_MAX: usize = 32;

/// Memory of an element of a B-tree: nodes are about half full if elements are inserted in order, or removed.
const fn in_tree(bytes: usize) -> usize {
    bytes * 9 / 4
}

/// About the maximum memory that an entry takes in a table, in bytes.
fn bytes_in_table(entry: &Entry) -> usize {
    const FIXED: usize = in_tree(size_of::<(JobKey, Entry)>())
        + in_tree(size_of::<(u64, JobKey)>())
        + in_tree(size_of::<(HostId, JobKey)>())
        + in_tree(size_of::<JobTag>());
    const PER_ANCESTOR: usize = size_of::<JobTag>() + in_tree(size_of::<(JobTag, u32, JobKey)>());
    // The reference counts of `Bytes`.
    const COUNTERS: usize = 2 * size_of::<usize>();
    let result = match entry.result_bytes() {
        0 => 0,
        bytes => COUNTERS + bytes,
    };
    FIXED + result + PER_ANCESTOR * entry.lineage.0.len()
}

/// Memory that several tables take together, in bytes.
#[derive(Debug, Clone, Default)]
pub struct Total(Arc<AtomicUsize>);

impl Total {
    /// About how much memory the tables take, in bytes.
    pub fn bytes(&self) -> usize {
        self.0.load(Relaxed)
    }
}

/// The entries of one run.
#[derive(Debug, Default)]
pub struct Table {
    entries: BTreeMap<JobKey, Entry>,
    /// The keys below each job, with their depths. All jobs share one tree: a tree for each would take hundreds of
    /// bytes for every ancestor that is named only once.
    below: BTreeSet<(JobTag, u32, JobKey)>,
    /// The keys of entries with results, ordered by the work that they took.
    results: BTreeSet<(u64, JobKey)>,
    /// The keys of the other entries, in the same order. They are kept apart so that a search for results skips them.
    by_work: BTreeSet<(u64, JobKey)>,
    /// The keys of entries that name a host, by host.
    by_place: BTreeSet<(HostId, JobKey)>,
    bytes: usize,
    bytes_max: usize,
    total: Total,
    dropped: u64,
    superfluous: Vec<JobKey>,
    /// Jobs with a result, below which there are entries.
    settled: BTreeSet<JobTag>,
}

impl Table {
    /// Makes an empty table with a bound of about `bytes_max`.
    pub fn new(bytes_max: usize) -> Self {
        Self::among(bytes_max, &Total::default())
    }

    /// Makes an empty table whose memory is part of `total`.
    pub fn among(bytes_max: usize, total: &Total) -> Self {
        let mut table = Self::default();
        (table.bytes_max, table.total) = (bytes_max, total.clone());
        table
    }

    /// The table's bound, in bytes.
    pub fn bytes_max(&self) -> usize {
        self.bytes_max
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether the table has no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// About how much memory the entries take, in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The number of entries dropped to keep to the bound.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// The job's entry.
    pub fn get(&self, key: &JobKey) -> Option<&Entry> {
        self.entries.get(key)
    }

    /// The results after the place `after`, those that took the most work first, each with its place.
    pub fn results_after(
        &self,
        after: Option<(u64, JobKey)>,
    ) -> impl Iterator<Item = ((u64, JobKey), &Entry)> {
        let range = (Unbounded, after.map_or(Unbounded, Excluded));
        let places = self.results.range(range).rev();
        places.filter_map(|place| Some((*place, self.entries.get(&place.1)?)))
    }

    /// All entries.
    pub fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values()
    }

    /// The entries below the job, nearest first.
    pub fn below(&self, job: JobTag) -> impl Iterator<Item = &Entry> {
        self.below_after(job, None).map(|(_, entry)| entry)
    }

    /// The entries below the job after the place `after`, nearest first, each with its place.
    pub fn below_after(
        &self,
        job: JobTag,
        after: Option<(u32, JobKey)>,
    ) -> impl Iterator<Item = ((u32, JobKey), &Entry)> {
        let first = after.map_or(Included((job, 0, FIRST_KEY)), |(depth, key)| Excluded((job, depth, key)));
        let places = self.below.range((first, Included((job, u32::MAX, LAST_KEY))));
        places.filter_map(|(_, depth, key)| Some(((*depth, *key), self.entries.get(key)?)))
    }

    /// The depth of the deepest entry below the job; 0 when there is none.
    pub fn depth_below(&self, job: JobTag) -> u32 {
        self.all_below(job).next_back().map_or(0, |(_, depth, _)| *depth)
    }

    fn all_below(&self, job: JobTag) -> impl DoubleEndedIterator<Item = &(JobTag, u32, JobKey)> {
        self.below.range((job, 0, FIRST_KEY)..=(job, u32::MAX, LAST_KEY))
    }

    fn is_any_below(&self, job: JobTag) -> bool {
        self.all_below(job).next().is_some()
    }

    /// Adds an entry, and returns whether it says anything new. An entry never replaces a better one.
    /// [`sweep`](Self::sweep) drops the entries below a result.
    pub fn insert(&mut self, entry: Entry) -> bool {
        if let Some(known) = self.entries.get(&entry.key)
            && !entry.state.is_better_than(&known.state)
            && !(matches!((&known.state, &entry.state), (EntryState::Running(a), EntryState::Running(b)) if a != b))
        {
            return false;
        }
        // The job of an earlier result may not occur in this run, and jobs below it may.
        let is_done = matches!(entry.state, EntryState::Done(_)) && !entry.is_earlier;
        self.remove(&entry.key);
        let key = entry.key;
        let bytes = bytes_in_table(&entry);
        self.bytes += bytes;
        self.total.0.fetch_add(bytes, Relaxed);
        self.works(&entry.state).insert((entry.state.work_ns(), key));
        self.by_place.extend(entry.state.place().map(|host| (host, key)));
        for tag in &entry.lineage.0 {
            self.below.insert((*tag, entry.depth, key));
        }
        self.entries.insert(key, entry);
        if is_done && self.is_any_below(key.tag()) {
            self.settled.insert(key.tag());
        }
        self.keep_to_bound(DROPPED_AT_ONCE_MAX);
        true
    }

    /// Adds all entries of another table. If this one is empty, that takes no longer the more there are.
    pub fn add_all(&mut self, other: Self) {
        if !self.is_empty() {
            for entry in other.iter() {
                self.insert(entry.clone());
            }
            return;
        }
        let mut all = other;
        all.total.0.fetch_sub(all.bytes, Relaxed);
        self.total.0.fetch_add(all.bytes, Relaxed);
        (all.total, all.bytes_max) = (self.total.clone(), self.bytes_max);
        *self = all;
        self.keep_to_bound(DROPPED_AT_ONCE_MAX);
    }

    /// Drops up to `most` entries that are below a result, and up to as many that exceed the bound. Returns whether
    /// there may be more. To be called after insertions, and repeatedly as long as it returns true.
    pub fn sweep(&mut self, most: usize) -> bool {
        self.keep_to_bound(most);
        let mut room = most;
        while let Some(job) = self.settled.first().copied() {
            let keys: Vec<JobKey> = self.all_below(job).take(room).map(|(.., key)| *key).collect();
            room -= keys.len();
            for key in keys {
                self.remove(&key);
                if self.superfluous.len() < SUPERFLUOUS_MAX {
                    self.superfluous.push(key);
                }
            }
            if !self.is_any_below(job) {
                self.settled.remove(&job);
            } else if room == 0 {
                break;
            }
        }
        self.is_to_be_swept()
    }

    /// Whether there may be entries for [`sweep`](Self::sweep) to drop.
    pub fn is_to_be_swept(&self) -> bool {
        !self.settled.is_empty() || self.bytes > self.bytes_max
    }

    /// Drops the entries that took the least work until the table is within its bound: up to `most` entries, but as
    /// many as needed to stay within twice the bound.
    fn keep_to_bound(&mut self, most: usize) {
        let mut dropped = 0;
        while (self.bytes > self.bytes_max && dropped < most) || self.bytes > self.bytes_max.saturating_mul(2)
        {
            if !self.evict() {
                break;
            }
            dropped += 1;
        }
    }

    /// Drops the entry that took the least work, and returns whether there was one.
    pub fn evict(&mut self) -> bool {
        let least = self.results.first().into_iter().chain(self.by_work.first()).min();
        let Some((_, key)) = least.copied() else { return false };
        self.remove(&key);
        self.dropped += 1;
        true
    }

    /// Keys that have become superfluous since the last call, for a store to drop. Beyond `SUPERFLUOUS_MAX`, keys are
    /// left out.
    pub fn take_superfluous(&mut self) -> Vec<JobKey> {
        std::mem::take(&mut self.superfluous)
    }

    /// Removes and returns the job's entry.
    pub fn remove(&mut self, key: &JobKey) -> Option<Entry> {
        let entry = self.entries.remove(key)?;
        let bytes = bytes_in_table(&entry);
        self.bytes -= bytes;
        self.total.0.fetch_sub(bytes, Relaxed);
        self.works(&entry.state).remove(&(entry.state.work_ns(), *key));
        if let Some(host) = entry.state.place() {
            self.by_place.remove(&(host, *key));
        }
        for tag in &entry.lineage.0 {
            self.below.remove(&(*tag, entry.depth, *key));
        }
        Some(entry)
    }

    fn works(&mut self, state: &EntryState) -> &mut BTreeSet<(u64, JobKey)> {
        if matches!(state, EntryState::Done(_)) { &mut self.results } else { &mut self.by_work }
    }

    /// Whether an entry names this host as its place.
    pub fn refers_to(&self, at: HostId) -> bool {
        self.with(at).next().is_some()
    }

    /// The number of entries that name this host as their place.
    pub fn len_with(&self, at: HostId) -> usize {
        self.with(at).count()
    }

    /// An upper bound of the calls of [`sweep`](Self::sweep) that have something to drop.
    pub fn sweepable_len(&self) -> usize {
        self.entries.len() + self.settled.len()
    }

    /// Removes up to `most` entries whose result or running job was at a host that is gone. Returns whether there may
    /// be more.
    pub fn forget_host(&mut self, gone: HostId, most: usize) -> bool {
        let keys: Vec<JobKey> = self.with(gone).take(most).collect();
        keys.iter().for_each(|key| drop(self.remove(key)));
        keys.len() == most
    }

    /// The keys of the entries that name `host` as their place.
    fn with(&self, host: HostId) -> impl Iterator<Item = JobKey> + use<'_> {
        let (first, last) = ((host, FIRST_KEY), (host, LAST_KEY));
        self.by_place.range(first..=last).map(|(_, key)| *key)
    }

    /// Removes up to `most` entries, so that a large table can be freed little by little.
    pub fn shrink(&mut self, most: usize) {
        for _ in 0..most {
            let Some(key) = self.entries.keys().next().copied() else { break };
            self.remove(&key);
        }
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        self.total.0.fetch_sub(self.bytes, Relaxed);
    }
}

#[cfg(test)]
mod tests;
