//! A host's disk.

use std::collections::{BTreeMap, VecDeque};

use sateen_protocol::{Entry, JobKey, Random, RunId, Time};

/// Time until a saved entry is on a host's disk.
pub const STORE_FLUSH_NS: u64 = 100_000_000;

/// A host's disk.
#[derive(Debug, Clone, Default)]
pub struct Store {
    saved: BTreeMap<RunId, BTreeMap<JobKey, Entry>>,
    /// Its copy.
    copy: Option<BTreeMap<RunId, BTreeMap<JobKey, Entry>>>,
    /// Not flushed yet.
    unsaved: VecDeque<(Time, RunId, Entry)>,
    /// The time of saving an entry.
    pub each_ns: u64,
    /// Whether nothing can be saved.
    pub is_full: bool,
}

impl Store {
    /// Saves an entry with a delay; returns a rare state, if one was reached.
    pub fn save(&mut self, now: Time, run: RunId, entry: Entry) -> Option<&'static str> {
        if self.is_full {
            return Some("a host could not save an entry");
        }
        // One after the other.
        let last = self.unsaved.back().map_or(now, |(at, ..)| now.max(*at));
        self.unsaved.push_back((Time(last.0 + self.each_ns), run, entry));
        (self.each_ns > 0).then_some("a host saved late")
    }

    /// Forgets a run.
    pub fn forget(&mut self, run: RunId) {
        self.saved.remove(&run);
        self.unsaved.retain(|(_, other, _)| *other != run);
    }

    /// Flushes entries that were saved before `before` to the disk.
    pub fn flush(&mut self, before: Time) {
        while let Some((at, _, _)) = self.unsaved.front()
            && *at <= before
        {
            let Some((_, run, entry)) = self.unsaved.pop_front() else { break };
            self.saved.entry(run).or_default().insert(entry.key, entry);
        }
    }

    /// Drops everything that a crash loses.
    pub fn lose_unsaved(&mut self) {
        self.unsaved.clear();
    }

    /// Removes entries, as lost or unreadable, except `left_percent`; returns their number.
    pub fn damage(&mut self, random: &mut Random, left_percent: usize) -> usize {
        let count = |saved: &BTreeMap<_, BTreeMap<_, _>>| saved.values().map(BTreeMap::len).sum::<usize>();
        let before = count(&self.saved);
        for entries in self.saved.values_mut() {
            entries.retain(|_, _| random.below(100) < left_percent);
        }
        before - count(&self.saved)
    }

    /// Keeps a copy of the disk.
    pub fn keep_copy(&mut self, now: Time) {
        self.flush(Time(now.0.saturating_sub(STORE_FLUSH_NS)));
        self.copy = Some(self.saved.clone());
    }

    /// Replaces the disk by its copy, if there is one; returns whether they differed.
    pub fn roll_back(&mut self) -> bool {
        let Some(copy) = self.copy.take() else { return false };
        let is_old = self.saved != copy;
        self.saved = copy;
        is_old
    }

    /// Whether a crash now would leave any records.
    pub fn has_records(&self, now: Time) -> bool {
        let is_flushed = |(at, ..): &(Time, RunId, Entry)| at.0 + STORE_FLUSH_NS <= now.0;
        self.saved.values().any(|entries| !entries.is_empty()) || self.unsaved.front().is_some_and(is_flushed)
    }

    /// The entries of a run. A process reads what it has saved even if that is not on the disk yet.
    pub fn entries(&self, now: Time, run: RunId) -> Vec<Entry> {
        let mut entries = self.saved.get(&run).cloned().unwrap_or_default();
        let written = self.unsaved.iter().take_while(|(at, ..)| *at <= now);
        let of_run = written.filter(|(_, other, _)| *other == run);
        entries.extend(of_run.map(|(_, _, entry)| (entry.key, entry.clone())));
        entries.into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use sateen_protocol::{EntryState, HostId, Lineage};

    use super::*;

    #[test]
    fn a_process_reads_what_is_not_on_its_disk_and_the_next_one_does_not() {
        let (run, state) = (RunId(1), EntryState::Running(HostId(1)));
        let entry = |job| {
            let (key, lineage) = (JobKey([job; 32]), Lineage::default());
            Entry { key, depth: 1, lineage, state: state.clone(), is_earlier: false }
        };
        let mut store = Store::default();
        for (at, run, job) in [(1, run, 1), (1, RunId(2), 2), (5, run, 3)] {
            store.save(Time(at), run, entry(job));
        }
        assert_eq!(store.entries(Time(4), run), [entry(1)]);
        assert_eq!(store.entries(Time(5), run), [entry(1), entry(3)]);
        store.flush(Time(1));
        store.lose_unsaved();
        assert_eq!(store.entries(Time(5), run), [entry(1)]);
    }
}
