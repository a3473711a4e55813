//! The result table: from job key to result, or to the host that has it or is at it.
//!
//! Correctness never depends on it. An entry that is missing costs work; so it is bounded, and the
//! entries that took the least work go first. A result makes all entries below it superfluous.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound::{Excluded, Included, Unbounded};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use serde::{Deserialize, Serialize};

use crate::limits::{ENTRIES_PER_MESSAGE_MAX, LINEAGE_LENGTH_MAX, MESSAGE_PART_BYTES};
use crate::{Finished, HostId, INLINE_RESULT_BYTES_MAX, JobKey, JobTag, Lineage};

/// What is known of one job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Which job.
    pub key: JobKey,
    /// Spawns below the root.
    pub depth: u32,
    /// The jobs above it.
    pub lineage: Lineage,
    /// What is known.
    pub state: EntryState,
}

/// What the table says of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum EntryState {
    /// Its result.
    Done(Finished),
    /// A result too large for the table.
    DoneAt {
        /// Who has it.
        host: HostId,
        /// What it took.
        work_ns: u64,
    },
    /// An orphan that goes on.
    Running(HostId),
}

impl EntryState {
    /// Whom to ask for the result, if the table has not got it.
    pub fn place(&self) -> Option<HostId> {
        match self {
            Self::Done(_) => None,
            Self::DoneAt { host, .. } | Self::Running(host) => Some(*host),
        }
    }

    fn work_ns(&self) -> u64 {
        match self {
            Self::Done(finished) => finished.work_ns,
            Self::DoneAt { work_ns, .. } => *work_ns,
            // Lost, it would be done again from the start.
            Self::Running(_) => u64::MAX,
        }
    }

    fn is_better_than(&self, other: &Self) -> bool {
        let rank = |state: &Self| match state {
            Self::Done(_) => 2,
            Self::DoneAt { .. } => 1,
            Self::Running(_) => 0,
        };
        rank(self) > rank(other)
    }
}

impl Entry {
    /// The entry as it may travel: a large result is left where it is, at `host`.
    #[must_use]
    pub fn to_share(&self, host: HostId) -> Self {
        let state = match &self.state {
            EntryState::Done(finished) if finished.outcome.bytes().len() > INLINE_RESULT_BYTES_MAX => {
                EntryState::DoneAt { host, work_ns: finished.work_ns }
            }
            state => state.clone(),
        };
        Self { key: self.key, depth: self.depth, lineage: self.lineage.clone(), state }
    }

    /// Entries by the message: neither too many nor too long.
    pub fn batches(entries: &[Self]) -> impl Iterator<Item = &[Self]> {
        let mut bytes = 0;
        let mut count = 0;
        entries.chunk_by(move |before, _| {
            bytes += before.bytes();
            count += 1;
            let goes_on = bytes < MESSAGE_PART_BYTES && count < ENTRIES_PER_MESSAGE_MAX;
            if !goes_on {
                (bytes, count) = (0, 0);
            }
            goes_on
        })
    }

    /// About how long it is in a message, and what it takes there in memory.
    pub fn bytes(&self) -> usize {
        const FIXED: usize = 160;
        FIXED + self.result_bytes() + 3 * 8 * self.lineage.0.len()
    }

    /// Whether no honest host sends it: its result is too large for a table, or too many ancestors are named.
    pub fn is_too_large(&self) -> bool {
        self.result_bytes() > INLINE_RESULT_BYTES_MAX || self.lineage.0.len() > LINEAGE_LENGTH_MAX
    }

    fn result_bytes(&self) -> usize {
        match &self.state {
            EntryState::Done(finished) => finished.outcome.bytes().len(),
            EntryState::DoneAt { .. } | EntryState::Running(_) => 0,
        }
    }

    /// About how much memory it takes in a table, at most.
    fn bytes_in_table(&self) -> usize {
        const FIXED: usize = in_tree(size_of::<(JobKey, Entry)>())
            + in_tree(size_of::<(u64, JobKey)>())
            + in_tree(size_of::<(HostId, JobKey)>())
            + in_tree(size_of::<JobTag>());
        const PER_ANCESTOR: usize = size_of::<JobTag>() + in_tree(size_of::<(JobTag, u32, JobKey)>());
        FIXED + self.result_bytes() + PER_ANCESTOR * self.lineage.0.len()
    }
}

/// What an element of a B-tree takes: nodes are about half full where elements come in their order, or go.
const fn in_tree(bytes: usize) -> usize {
    bytes * 9 / 4
}

/// The first and the last key there is.
const FIRST_KEY: JobKey = JobKey([0; 32]);
const LAST_KEY: JobKey = JobKey([0xff; 32]);
/// Maximum keys remembered for [`Table::take_superfluous`].
const SUPERFLUOUS_MAX: usize = 4096;
/// Entries that one insertion drops to keep to the bound; what is above it still goes in [`Table::sweep`].
const DROPPED_AT_ONCE_MAX: usize = 32;

/// What several tables take together, in bytes.
#[derive(Debug, Clone, Default)]
pub struct Total(Arc<AtomicUsize>);

impl Total {
    /// About how much memory they take.
    pub fn bytes(&self) -> usize {
        self.0.load(Relaxed)
    }
}

/// The entries of one run.
#[derive(Debug, Default)]
pub struct Table {
    entries: BTreeMap<JobKey, Entry>,
    /// The keys below each job, with their depths. One tree for all jobs: one of its own would take hundreds of
    /// bytes for each ancestor that is named only once.
    below: BTreeSet<(JobTag, u32, JobKey)>,
    /// Results, by the work that they took.
    results: BTreeSet<(u64, JobKey)>,
    /// The other entries, likewise: those who look for results need not pass them.
    by_work: BTreeSet<(u64, JobKey)>,
    /// Entries that are with a host.
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
    /// An empty one that keeps to about `bytes_max`.
    pub fn new(bytes_max: usize) -> Self {
        Self::among(bytes_max, &Total::default())
    }

    /// One of several; what it takes is part of their total.
    pub fn among(bytes_max: usize, total: &Total) -> Self {
        let mut table = Self::default();
        (table.bytes_max, table.total) = (bytes_max, total.clone());
        table
    }

    /// What it keeps to, in bytes.
    pub fn bytes_max(&self) -> usize {
        self.bytes_max
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// About how much memory they take.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// How many were dropped to keep to the bound.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// What is known of the job.
    pub fn get(&self, key: &JobKey) -> Option<&Entry> {
        self.entries.get(key)
    }

    /// The results, those that took most first, each with its place; those after a place.
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

    /// The entries below the job, nearest first, each with its place; those after a place.
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

    /// Adds what is known of a job; true if that is news. A result stays a result, and [`sweep`](Self::sweep)
    /// drops what is below one.
    pub fn insert(&mut self, entry: Entry) -> bool {
        if let Some(known) = self.entries.get(&entry.key)
            && !entry.state.is_better_than(&known.state)
            && !(matches!((&known.state, &entry.state), (EntryState::Running(a), EntryState::Running(b)) if a != b))
        {
            return false;
        }
        let is_done = matches!(entry.state, EntryState::Done(_));
        self.remove(&entry.key);
        let key = entry.key;
        let bytes = entry.bytes_in_table();
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

    /// Drops up to `most` entries that are below a result, and as many that exceed the bound; whether there may be
    /// more. To be called after insertions, and from time to time while there are.
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

    /// Drops entries above the bound, those that took the least work: up to `most`, or as many as it takes when
    /// there is twice as much.
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

    /// Drops the entry that took the least work; whether there was one.
    pub fn evict(&mut self) -> bool {
        let least = self.results.first().into_iter().chain(self.by_work.first()).min();
        let Some((_, key)) = least.copied() else { return false };
        self.remove(&key);
        self.dropped += 1;
        true
    }

    /// Keys that have become superfluous since this was asked last, for a store to drop; some may be
    /// missing.
    pub fn take_superfluous(&mut self) -> Vec<JobKey> {
        std::mem::take(&mut self.superfluous)
    }

    /// Forgets a job.
    pub fn remove(&mut self, key: &JobKey) -> Option<Entry> {
        let entry = self.entries.remove(key)?;
        let bytes = entry.bytes_in_table();
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

    /// Whether something is with this host.
    pub fn refers_to(&self, at: HostId) -> bool {
        self.with(at).next().is_some()
    }

    /// How many entries are with this host.
    pub fn len_with(&self, at: HostId) -> usize {
        self.with(at).count()
    }

    /// More than the calls of [`sweep`](Self::sweep) that have something to drop.
    pub fn sweepable_len(&self) -> usize {
        self.entries.len() + self.settled.len()
    }

    /// Forgets up to `most` jobs that a host had or ran that is gone; whether there may be more.
    pub fn forget_host(&mut self, gone: HostId, most: usize) -> bool {
        let keys: Vec<JobKey> = self.with(gone).take(most).collect();
        keys.iter().for_each(|key| drop(self.remove(key)));
        keys.len() == most
    }

    /// The jobs that are with a host.
    fn with(&self, host: HostId) -> impl Iterator<Item = JobKey> + use<'_> {
        let (first, last) = ((host, FIRST_KEY), (host, LAST_KEY));
        self.by_place.range(first..=last).map(|(_, key)| *key)
    }

    /// Forgets up to so many entries, so that a large table can be freed little by little.
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
mod tests {
    use super::*;
    use crate::Outcome;

    fn key(byte: u8) -> JobKey {
        JobKey([byte; 32])
    }

    fn entry(job: u8, above: &[u8], state: EntryState) -> Entry {
        let lineage = Lineage(above.iter().map(|byte| key(*byte).tag()).collect());
        Entry { key: key(job), depth: above.len() as u32, lineage, state }
    }

    fn done(work_ns: u64) -> EntryState {
        EntryState::Done(Finished { outcome: Outcome::Done(vec![1]), work_ns, span_ns: 1 })
    }

    #[test]
    fn a_result_makes_what_is_below_superfluous() {
        let mut table = Table::new(1 << 20);
        assert!(table.insert(entry(3, &[1, 2], done(5))));
        assert!(table.insert(entry(4, &[1], EntryState::Running(HostId(9)))));
        assert_eq!((table.depth_below(key(1).tag()), table.depth_below(key(2).tag())), (2, 2));
        assert!(table.insert(entry(2, &[1], done(6))));
        assert!(!table.sweep(5));
        assert!(table.get(&key(3)).is_none());
        assert_eq!((table.len(), table.is_empty()), (2, false));
        assert_eq!(table.below(key(1).tag()).count(), 2);
        assert_eq!(table.depth_below(key(2).tag()), 0);
    }

    #[test]
    fn many_entries_below_a_result_are_dropped_a_few_at_a_time() {
        let mut table = Table::new(1 << 20);
        for job in 10..60 {
            table.insert(entry(job, &[1, 2], done(5)));
        }
        table.insert(entry(2, &[1], done(5)));
        assert_eq!(table.len(), 51);
        assert!(table.sweep(20));
        assert_eq!(table.len(), 31);
        assert!(table.sweep(29) && !table.sweep(29));
        assert_eq!((table.len(), table.take_superfluous().len()), (1, 50));
        // What comes later below it is not kept either, once there is another result.
        table.insert(entry(60, &[1, 2], done(5)));
        table.insert(entry(1, &[], done(5)));
        assert!(!table.sweep(29));
        assert_eq!(table.len(), 1);
    }

    #[test]
    fn a_bounded_number_of_superfluous_keys_is_remembered() {
        let mut table = Table::new(64 << 20);
        for job in 0..SUPERFLUOUS_MAX as u64 + 10 {
            let mut key = [9; 32];
            key[..8].copy_from_slice(&job.to_le_bytes());
            table.insert(Entry { key: JobKey(key), ..entry(0, &[1], done(5)) });
        }
        table.insert(entry(1, &[], done(5)));
        assert!(!table.sweep(usize::MAX));
        assert_eq!((table.len(), table.take_superfluous().len()), (1, SUPERFLUOUS_MAX));
    }

    #[test]
    fn a_large_entry_displaces_many_a_few_at_a_time() {
        let mut table = Table::new(128 << 10);
        for job in 0..200 {
            table.insert(entry(job, &[], EntryState::Running(HostId(1))));
        }
        let outcome = Outcome::Done(vec![1; 100 << 10]);
        let large = EntryState::Done(Finished { outcome, work_ns: u64::MAX, span_ns: 1 });
        let before = table.len();
        table.insert(entry(250, &[], large.clone()));
        assert_eq!(before + 1 - table.len(), DROPPED_AT_ONCE_MAX);
        while table.sweep(DROPPED_AT_ONCE_MAX) {}
        assert!(table.bytes() <= 128 << 10 && table.get(&key(250)).is_some());
        table.insert(entry(251, &[], large.clone()));
        table.insert(entry(252, &[], large));
        assert!(table.bytes() <= 256 << 10, "never more than twice the bound");
    }

    #[test]
    fn entries_below_a_job_are_read_from_any_place() {
        let mut table = Table::new(1 << 20);
        for (job, above) in [(9, [1, 2].as_slice()), (8, &[1]), (7, &[1, 2]), (6, &[2])] {
            table.insert(entry(job, above, done(5)));
        }
        let (mut read, mut after) = (Vec::new(), None);
        while let Some((place, entry)) = table.below_after(key(1).tag(), after).next() {
            read.push(entry.key);
            after = Some(place);
        }
        assert_eq!(read, [8, 7, 9].map(key));
    }

    #[test]
    fn a_result_stays() {
        let mut table = Table::new(1 << 20);
        assert!(table.insert(entry(1, &[], EntryState::Running(HostId(1)))));
        assert!(table.insert(entry(1, &[], EntryState::Running(HostId(2)))));
        assert!(table.insert(entry(1, &[], done(1))));
        assert!(!table.insert(entry(1, &[], EntryState::Running(HostId(2)))));
        assert!(!table.insert(entry(1, &[], done(2))));
        assert!(!table.forget_host(HostId(2), 1));
        assert_eq!(table.len(), 1);
    }

    #[test]
    fn the_least_work_goes_first() {
        let mut table = Table::new(2 * entry(1, &[], done(1)).bytes_in_table());
        for job in 1..10 {
            table.insert(entry(job, &[], done(u64::from(job))));
        }
        assert!(table.bytes() <= table.bytes_max && table.dropped() > 0);
        assert!(table.get(&key(9)).is_some() && table.get(&key(1)).is_none());
        let keys: Vec<JobKey> = table.iter().map(|entry| entry.key).collect();
        for key in keys {
            table.remove(&key);
        }
        assert_eq!((table.bytes(), table.below.len(), table.results.len()), (0, 0, 0));
    }

    #[test]
    fn what_is_no_result_is_evicted_in_its_turn_and_is_not_listed() {
        let mut table = Table::new(3 * entry(1, &[], done(1)).bytes_in_table());
        let at = |work_ns| EntryState::DoneAt { host: HostId(7), work_ns };
        for (job, state) in [(1, done(30)), (2, at(20)), (3, done(10)), (4, at(40)), (5, done(50))] {
            table.insert(entry(job, &[], state));
        }
        assert_eq!(table.iter().map(|entry| entry.key).collect::<Vec<_>>(), [1, 4, 5].map(key));
        let results: Vec<_> = table.results_after(None).map(|(place, _)| place).collect();
        assert_eq!(results, [(50, key(5)), (30, key(1))]);
        assert_eq!(table.results_after(Some(results[0])).count(), 1);
        assert!(table.insert(entry(4, &[], done(60))));
        assert_eq!(table.results_after(None).next().map(|(place, _)| place), Some((60, key(4))));
        [1, 4, 5].map(key).iter().for_each(|key| drop(table.remove(key)));
        assert_eq!((table.results.len(), table.by_work.len()), (0, 0));
    }

    #[test]
    fn what_a_host_had_goes_with_it() {
        let mut table = Table::new(1 << 20);
        let at = |host| EntryState::DoneAt { host: HostId(host), work_ns: 1 };
        for (job, state) in [(1, at(7)), (2, at(8)), (3, EntryState::Running(HostId(7))), (4, done(1))] {
            assert!(table.insert(entry(job, &[9], state)));
        }
        // It is known elsewhere now, and elsewhere again.
        assert!(table.insert(entry(3, &[9], EntryState::Running(HostId(8)))));
        assert!(table.refers_to(HostId(7)));
        assert!(table.forget_host(HostId(7), 1) && !table.forget_host(HostId(7), 2));
        assert!(!table.refers_to(HostId(7)) && table.refers_to(HostId(8)));
        assert_eq!(table.iter().map(|entry| entry.key).collect::<Vec<_>>(), [2, 3, 4].map(key));
        assert!(!table.forget_host(HostId(8), 5));
        assert_eq!((table.len(), table.by_place.len()), (1, 0));
        table.shrink(5);
        assert!(table.is_empty() && table.bytes() == 0);
    }

    #[test]
    fn several_tables_have_a_total() {
        let total = Total::default();
        let mut tables = [(); 2].map(|()| Table::among(1 << 20, &total));
        for table in &mut tables {
            table.insert(entry(1, &[2], done(1)));
            table.insert(entry(1, &[2], done(1)));
            table.insert(entry(3, &[2], done(1)));
        }
        assert_eq!(total.bytes(), 2 * tables[0].bytes());
        let [mut one, other] = tables;
        one.remove(&key(3));
        assert_eq!(total.bytes(), one.bytes() + other.bytes());
        assert!(one.evict() && !one.evict());
        drop(one);
        assert_eq!(total.bytes(), other.bytes());
        drop(other);
        assert_eq!(total.bytes(), 0);
    }

    #[test]
    fn a_result_travels_with_its_entry_up_to_a_length() {
        let here = HostId(3);
        for (length, is_inline) in [(INLINE_RESULT_BYTES_MAX, true), (INLINE_RESULT_BYTES_MAX + 1, false)] {
            let finished = Finished { outcome: Outcome::Done(vec![0; length]), work_ns: 5, span_ns: 5 };
            let whole = entry(1, &[], EntryState::Done(finished));
            let shared = whole.to_share(here);
            assert_eq!(shared == whole, is_inline, "{length} bytes");
            let place = EntryState::DoneAt { host: here, work_ns: 5 };
            assert_eq!(shared.state == place, !is_inline, "{length} bytes");
        }
    }

    #[test]
    fn entries_go_by_the_message() {
        let small = vec![entry(1, &[], done(5)); 2 * ENTRIES_PER_MESSAGE_MAX + 1];
        let lengths = |entries: &[Entry]| Entry::batches(entries).map(<[Entry]>::len).collect::<Vec<_>>();
        assert_eq!(lengths(&small), [ENTRIES_PER_MESSAGE_MAX, ENTRIES_PER_MESSAGE_MAX, 1]);
        let finished =
            Finished { outcome: Outcome::Done(vec![0; MESSAGE_PART_BYTES / 3]), work_ns: 5, span_ns: 5 };
        let large = entry(1, &[], EntryState::Done(finished));
        assert!(large.bytes() > MESSAGE_PART_BYTES / 3);
        assert_eq!(lengths(&vec![large; 7]), [3, 3, 1]);
        assert_eq!(lengths(&[]), [0; 0]);
    }

    /// A table with entries 1 to 4, of which 4 took least; what is lost would be done again.
    fn by_work(bytes_max: impl Fn(usize) -> usize) -> Table {
        let mut table = Table::new(usize::MAX);
        let at = EntryState::DoneAt { host: HostId(9), work_ns: 7 };
        for (job, state) in [(1, EntryState::Running(HostId(9))), (2, done(9)), (3, at), (4, done(5))] {
            assert!(table.insert(entry(job, &[], state)));
        }
        table.bytes_max = bytes_max(table.bytes());
        table
    }

    fn left(table: &Table) -> Vec<u8> {
        table.iter().map(|entry| entry.key.0[0]).collect()
    }

    #[test]
    fn what_took_least_is_dropped_first_down_to_the_bound() {
        let mut table = by_work(|_| 0);
        table.bytes_max = table.bytes() - 1;
        for expected in [&[1, 2, 3][..], &[1, 2], &[1], &[]] {
            assert!(table.is_to_be_swept());
            assert!(!table.sweep(1));
            assert_eq!(left(&table), expected);
            table.bytes_max = table.bytes().saturating_sub(1);
        }
        assert_eq!(table.dropped(), 4);
    }

    #[test]
    fn a_bound_is_kept_to_at_once_only_when_it_is_exceeded_twofold() {
        let mut whole = by_work(|bytes| bytes);
        assert!(!whole.is_to_be_swept() && !whole.sweep(9));
        assert_eq!((left(&whole).len(), whole.dropped()), (4, 0));
        let mut half = by_work(|bytes| bytes.div_ceil(2));
        assert!(half.sweep(0));
        assert_eq!(left(&half).len(), 4, "it may have a moment");
        let mut less = by_work(|bytes| bytes / 2 - 1);
        assert!(less.sweep(0), "there is more to drop");
        assert_eq!(left(&less), [1, 2, 3]);
    }
}
