//! Entries that wait to be sent, for a little company.

use std::collections::{BTreeMap, VecDeque};

use crate::limits::FLUSH;
use crate::{Entry, HostId, Table, Time};

/// Entries that wait for a coordinator that is away; older ones give way, and remain with this host. As many are
/// announced again to a coordinator that may have lost them.
pub const OUTBOX_MAX: usize = 16 * 1024;

/// Entries that are freed when one is added, and when what waits is sent.
const FREED_PER_PUSH: usize = 1;
const FREED_PER_FLUSH: usize = 256;

/// Entries of one run that wait to be sent.
#[derive(Debug, Default)]
pub struct Outbox {
    /// For the coordinator.
    entries: VecDeque<Entry>,
    for_owners: BTreeMap<HostId, Vec<Entry>>,
    /// Since when the first thing waits.
    since: Option<Time>,
    /// What waits no more, and is freed a part at a time: thousands of entries take a millisecond.
    discarded: VecDeque<Entry>,
}

impl Outbox {
    /// How many wait for the coordinator.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether none waits for the coordinator.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How many owners some wait for, and how many those are in all.
    pub fn for_owners_len(&self) -> (usize, usize) {
        (self.for_owners.len(), self.for_owners.values().map(Vec::len).sum())
    }

    /// Whether something waits for an owner.
    pub fn has_any_for(&self, owner: HostId) -> bool {
        self.for_owners.contains_key(&owner)
    }

    /// Adds an entry for the coordinator; the first one gives way if there are too many.
    pub fn push_bounded(&mut self, entry: Entry) {
        if self.entries.len() >= OUTBOX_MAX {
            self.entries.pop_front();
        }
        self.push(entry);
    }

    /// Adds an entry for the coordinator that takes nothing's place.
    pub fn push(&mut self, entry: Entry) {
        self.free(FREED_PER_PUSH);
        self.entries.push_back(entry);
    }

    /// Adds an entry for an owner.
    pub fn push_for(&mut self, owner: HostId, entry: Entry) {
        self.for_owners.entry(owner).or_default().push(entry);
    }

    /// Something waits from now on.
    pub fn wait(&mut self, now: Time) {
        self.since.get_or_insert(now);
    }

    /// When it has waited long enough.
    pub fn due(&self) -> Option<Time> {
        self.since.map(|since| since + FLUSH)
    }

    /// What waits is to be sent: that for owners. Of what was finished within the same moment, only the largest is of use,
    /// so what the table does not have any more is left out.
    pub fn begin_flush(&mut self, table: &Table) -> BTreeMap<HostId, Vec<Entry>> {
        self.free(FREED_PER_FLUSH);
        let mut for_owners = std::mem::take(&mut self.for_owners);
        for entries in for_owners.values_mut() {
            entries.retain(|entry| table.get(&entry.key).is_some());
        }
        self.entries.retain(|entry| table.get(&entry.key).is_some());
        self.since = None;
        for_owners
    }

    /// What waits for the coordinator.
    pub fn entries(&mut self) -> &[Entry] {
        self.entries.make_contiguous()
    }

    /// Nothing waits for the coordinator any more.
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

    /// Nothing waits for owners any more.
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
    fn what_the_table_has_not_any_more_is_not_sent() {
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
        assert_eq!(outbox.begin_flush(&table), BTreeMap::from([(OWNER, vec![running(1)])]));
        assert_eq!(outbox.entries(), [running(1)]);
        assert_eq!(outbox.for_owners_len(), (0, 0));
        outbox.clear();
        assert!(outbox.is_empty());
    }

    #[test]
    fn what_waits_is_due_after_the_first() {
        let (mut outbox, table) = (Outbox::default(), Table::new(1 << 20));
        assert_eq!(outbox.due(), None);
        for now in [5, 9] {
            outbox.wait(Time(now));
            assert_eq!(outbox.due(), Some(Time(5) + FLUSH));
        }
        outbox.begin_flush(&table);
        assert_eq!(outbox.due(), None);
    }

    #[test]
    fn older_entries_give_way() {
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
    fn what_waits_no_more_is_freed_by_and_by() {
        let mut outbox = Outbox::default();
        (0..=255).for_each(|number| outbox.push_bounded(running(number)));
        (0..=255).for_each(|number| outbox.push_bounded(running(number)));
        outbox.clear();
        assert!(outbox.is_empty());
        assert_eq!(outbox.discarded.len(), 512 - FREED_PER_FLUSH);
        outbox.push(running(1));
        assert_eq!((outbox.len(), outbox.discarded.len()), (1, 512 - FREED_PER_FLUSH - FREED_PER_PUSH));
        outbox.begin_flush(&Table::new(1 << 20));
        assert!(outbox.discarded.is_empty());
    }
}
