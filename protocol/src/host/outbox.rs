//! Entries that wait a moment so that several are sent together.

use std::collections::{BTreeMap, VecDeque};

use crate::limits::FLUSH;
use crate::{Entry, HostId, Table, Time};

/// Maximum entries that wait for a coordinator that is away; newer ones replace the oldest, which remain in this host's
/// table. Also the maximum of entries announced again to a coordinator that may have lost them.
pub const OUTBOX_MAX: usize = 16 * 1024;

/// Maximum discarded entries that are freed when an entry is added, and when the waiting ones are sent.
const FREED_PER_PUSH: usize = 1;
const FREED_PER_FLUSH: usize = 256;

/// Entries of one run that wait to be sent.
#[derive(Debug, Default)]
pub struct Outbox {
    /// For the coordinator.
    entries: VecDeque<Entry>,
    for_owners: BTreeMap<HostId, Vec<Entry>>,
    /// Since when the oldest entry has waited.
    since: Option<Time>,
    /// Entries that no longer wait. They are freed a few at a time, as freeing thousands takes a millisecond.
    discarded: VecDeque<Entry>,
}

impl Outbox {
    /// The number of entries that wait for the coordinator.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether no entry waits for the coordinator.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The number of owners for which entries wait, and of all these entries.
    pub fn for_owners_len(&self) -> (usize, usize) {
        (self.for_owners.len(), self.for_owners.values().map(Vec::len).sum())
    }

    /// Whether entries wait for this owner.
    pub fn has_any_for(&self, owner: HostId) -> bool {
        self.for_owners.contains_key(&owner)
    }

    /// Adds an entry for the coordinator. If there are too many, it replaces the oldest.
    pub fn push_bounded(&mut self, entry: Entry) {
        if self.entries.len() >= OUTBOX_MAX {
            self.entries.pop_front();
        }
        self.push(entry);
    }

    /// Adds an entry for the coordinator without replacing any.
    pub fn push(&mut self, entry: Entry) {
        self.free(FREED_PER_PUSH);
        self.entries.push_back(entry);
    }

    /// Adds an entry for an owner.
    pub fn push_for(&mut self, owner: HostId, entry: Entry) {
        self.for_owners.entry(owner).or_default().push(entry);
    }

    /// Notes that an entry waits from now on.
    pub fn wait(&mut self, now: Time) {
        self.since.get_or_insert(now);
    }

    /// When the oldest entry has waited long enough.
    pub fn due(&self) -> Option<Time> {
        self.since.map(|since| since + FLUSH)
    }

    /// Prepares to send all waiting entries, and returns those for owners. Entries that the table no longer has are
    /// left out: of results that came within the same moment, only that of the uppermost job is of use. If the coordinator
    /// keeps results for later runs (`is_any_kept`), it gets them all.
    pub fn begin_flush(&mut self, table: &Table, is_any_kept: bool) -> BTreeMap<HostId, Vec<Entry>> {
        self.free(FREED_PER_FLUSH);
        let mut for_owners = std::mem::take(&mut self.for_owners);
        for entries in for_owners.values_mut() {
            entries.retain(|entry| table.get(&entry.key).is_some());
        }
        if !is_any_kept {
            self.entries.retain(|entry| table.get(&entry.key).is_some());
        }
        self.since = None;
        for_owners
    }

    /// The entries that wait for the coordinator.
    pub fn entries(&mut self) -> &[Entry] {
        self.entries.make_contiguous()
    }

    /// Discards the entries that wait for the coordinator.
    pub fn clear(&mut self) {
        let waiting = std::mem::take(&mut self.entries);
        if self.discarded.is_empty() {
            self.discarded = waiting;
        } else {
            self.discarded.extend(waiting);
        }
        self.free(FREED_PER_FLUSH);
    }

    fn free(&mut self, most: usize) {
        self.discarded.drain(..self.discarded.len().min(most));
    }

    /// Discards the entries that wait for owners.
    pub fn clear_for_owners(&mut self) {
        self.for_owners.clear();
    }

    /// An owner is gone.
    pub fn drop_owner(&mut self, owner: HostId) {
        self.for_owners.remove(&owner);
    }
}

#[cfg(test)]
mod tests {
    use super::super::bonds::entry;
    use super::*;
    use crate::EntryState;

    const OWNER: HostId = HostId(20);
    const OTHER: HostId = HostId(21);

    fn running(number: u8) -> Entry {
        entry(number, 0, EntryState::Running(OWNER))
    }

    #[test]
    fn entries_that_the_table_no_longer_has_are_not_sent() {
        let (mut outbox, mut table) = (Outbox::default(), Table::new(1 << 20));
        assert!(table.insert(running(1)));
        for number in [1, 2] {
            outbox.push(running(number));
            outbox.push_for(OWNER, running(number));
        }
        outbox.push_for(OTHER, running(2));
        assert_eq!((outbox.len(), outbox.for_owners_len()), (2, (2, 3)));
        outbox.drop_owner(OTHER);
        assert!(outbox.has_any_for(OWNER) && !outbox.has_any_for(OTHER));
        assert_eq!(outbox.begin_flush(&table, false), BTreeMap::from([(OWNER, vec![running(1)])]));
        assert_eq!(outbox.entries(), [running(1)]);
        assert_eq!(outbox.for_owners_len(), (0, 0));
        outbox.clear();
        assert!(outbox.is_empty());
    }

    #[test]
    fn entries_are_due_a_fixed_time_after_the_first_one() {
        let (mut outbox, table) = (Outbox::default(), Table::new(1 << 20));
        assert_eq!(outbox.due(), None);
        for now in [5, 9] {
            outbox.wait(Time(now));
            assert_eq!(outbox.due(), Some(Time(5) + FLUSH));
        }
        outbox.begin_flush(&table, false);
        assert_eq!(outbox.due(), None);
    }

    #[test]
    fn newer_entries_replace_the_oldest() {
        let mut outbox = Outbox::default();
        for number in 0..OUTBOX_MAX + 2 {
            outbox.push_bounded(running(u8::from(number >= OUTBOX_MAX)));
        }
        assert_eq!((outbox.len(), outbox.entries()[0].key), (OUTBOX_MAX, running(0).key));
        assert_eq!(outbox.entries()[OUTBOX_MAX - 1].key, running(1).key);
        outbox.push(running(2));
        assert_eq!(outbox.len(), OUTBOX_MAX + 1);
    }

    #[test]
    fn discarded_entries_are_freed_a_few_at_a_time() {
        let mut outbox = Outbox::default();
        (0..=255).for_each(|number| outbox.push_bounded(running(number)));
        (0..=255).for_each(|number| outbox.push_bounded(running(number)));
        outbox.clear();
        assert!(outbox.is_empty());
        assert_eq!(outbox.discarded.len(), 512 - FREED_PER_FLUSH);
        outbox.push(running(1));
        assert_eq!((outbox.len(), outbox.discarded.len()), (1, 512 - FREED_PER_FLUSH - FREED_PER_PUSH));
        outbox.begin_flush(&Table::new(1 << 20), false);
        assert!(outbox.discarded.is_empty());
    }
}
