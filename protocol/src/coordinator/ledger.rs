//! The entries of a run: its result table, the hosts that are sent new entries, and what is still to be saved of them.

use std::collections::BTreeSet;

use crate::limits::{ENTRIES_FREED_AT_ONCE_MAX, SUBSCRIBERS_PER_ENTRY_MAX};
use crate::{Entry, EntryState, HostId, JobKey, JobTag, Table, Time};

use super::subscriptions::Subscriptions;
use super::unsaved::Unsaved;

/// Maximum bytes of results of earlier runs that all hosts of a run together are sent when they are ready.
const EARLIER_SENT_BYTES_MAX: usize = 64 << 20;

/// The entries of a run.
pub struct Ledger {
    table: Table,
    /// More of the table is being swept.
    is_swept: bool,
    subscriptions: Subscriptions,
    unsaved: Unsaved,
    /// Later runs may use its results, so all are saved.
    keeps_all: bool,
    earlier_bytes: usize,
    /// Each host was sent the results of earlier runs when it was ready.
    is_earlier_with_all: bool,
}

impl Ledger {
    /// Of a new run, with an empty table. If it `keeps_all`, results are also saved that the run no longer needs.
    pub fn new(table: Table, keeps_all: bool) -> Self {
        let (subscriptions, unsaved) = (Subscriptions::default(), Unsaved::default());
        Self {
            table,
            is_swept: false,
            subscriptions,
            unsaved,
            keeps_all,
            earlier_bytes: 0,
            is_earlier_with_all: false,
        }
    }

    /// Adds results of earlier runs.
    pub fn add_earlier(&mut self, earlier: Table) {
        self.earlier_bytes = earlier.bytes();
        self.is_earlier_with_all = self.earlier_bytes > 0;
        self.table.add_all(earlier);
    }

    /// Whether a host that is ready, as one of so many, is sent the results of earlier runs: none is, once all together would be sent
    /// too much.
    pub fn sends_earlier(&mut self, ready: usize) -> bool {
        self.is_earlier_with_all &= self.earlier_bytes.saturating_mul(ready) <= EARLIER_SENT_BYTES_MAX;
        self.is_earlier_with_all
    }

    /// Whether all ready hosts were sent the results of earlier runs.
    pub fn is_earlier_with_all(&self) -> bool {
        self.is_earlier_with_all
    }

    /// Whether the table has results of earlier runs and nothing else.
    pub fn has_only_earlier(&self) -> bool {
        self.earlier_bytes > 0 && self.table.bytes() == self.earlier_bytes
    }

    /// Adds entries that were saved before a restart of the coordinator.
    pub fn restore(&mut self, entries: Vec<Entry>) {
        for entry in entries {
            self.table.insert(entry);
        }
        self.table.sweep(usize::MAX);
    }

    // ---- getters ----

    /// The result table.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Entries of the table, and their bytes.
    pub fn size(&self) -> (usize, usize) {
        (self.table.len(), self.table.bytes())
    }

    /// The number of subscriptions to new entries.
    pub fn subscriptions_len(&self) -> usize {
        self.subscriptions.len()
    }

    /// The number of entries that wait to be saved.
    pub fn unsaved_len(&self) -> usize {
        self.unsaved.len()
    }

    /// When entries are to be saved.
    pub fn save_due(&self) -> Option<Time> {
        self.unsaved.due()
    }

    // ---- new entries ----

    /// Adds an entry that a host sent; returns the other hosts to which it is forwarded, or `None` if it is not new.
    /// To be followed by [`save_later`](Self::save_later).
    pub fn record(
        &mut self,
        entry: &Entry,
        from: HostId,
        root_host: Option<HostId>,
    ) -> Option<BTreeSet<HostId>> {
        let known = self.table.get(&entry.key).map(|known| &known.state);
        let runner = match known {
            Some(EntryState::Running(runner)) => Some(*runner),
            _ => None,
        };
        if !self.table.insert(entry.clone()) {
            return None;
        }
        let nearest_first = [entry.key.tag()].into_iter().chain(entry.lineage.0.iter().rev().copied());
        let mut hosts = self.subscriptions.of(nearest_first, SUBSCRIBERS_PER_ENTRY_MAX);
        // Orphans are few, and the root's host may redo the jobs above them while the
        // coordinator is away.
        if matches!(entry.state, EntryState::Running(_)) {
            hosts.extend(root_host);
        }
        // Another host was faster than an orphan, which need not continue.
        hosts.extend(runner.filter(|_| matches!(entry.state, EntryState::Done(_))));
        hosts.remove(&from);
        if matches!(entry.state, EntryState::Done(_)) {
            self.subscriptions.forget_job(entry.key.tag());
        }
        Some(hosts)
    }

    /// The entry with the result of a job that a host says it runs, if the result is known.
    pub fn result_for_runner(&self, entry: &Entry) -> Option<&Entry> {
        let is_running = matches!(entry.state, EntryState::Running(_));
        let known = self.table.get(&entry.key).filter(|_| is_running)?;
        matches!(known.state, EntryState::Done(_)).then_some(known)
    }

    /// The new entries of a message are to be saved, and those that they made superfluous to be dropped.
    pub fn save_later(&mut self, now: Time, entries: Vec<Entry>) {
        self.unsaved.push(now, entries);
    }

    /// Entries to be saved, up to `room`, and the keys of those to be dropped from the store.
    pub fn take_unsaved(&mut self, room: &mut usize) -> (Vec<Entry>, Vec<JobKey>) {
        let superfluous = self.table.take_superfluous();
        let mut entries = self.unsaved.take(*room);
        *room -= entries.len();
        // Which host runs a job is of no use after a restart.
        entries.retain(|entry| {
            let is_needed = self.keeps_all || self.table.get(&entry.key).is_some();
            !matches!(entry.state, EntryState::Running(_)) && is_needed
        });
        (entries, superfluous)
    }

    /// A host is sent new entries below a job.
    pub fn subscribe(&mut self, host: HostId, job: JobTag) {
        self.subscriptions.add(host, job);
    }

    // ---- entries that are no longer needed ----

    /// Drops some entries below results; returns whether the rest is to be dropped from now on, by
    /// [`sweep_more`](Self::sweep_more).
    pub fn begin_sweep(&mut self) -> bool {
        let is_more = self.table.sweep(ENTRIES_FREED_AT_ONCE_MAX);
        is_more && !std::mem::replace(&mut self.is_swept, true)
    }

    /// Drops more of them; returns whether any are left.
    pub fn sweep_more(&mut self) -> bool {
        self.is_swept = self.table.sweep(ENTRIES_FREED_AT_ONCE_MAX);
        self.is_swept
    }

    /// Drops the entry that took the least work; returns whether there was one.
    pub fn evict(&mut self) -> bool {
        self.table.evict()
    }

    /// Drops entries that are at a departed host, up to `room`; returns whether there may be more.
    pub fn forget_host(&mut self, host: HostId, room: &mut usize) -> bool {
        let before = self.table.len();
        let is_more = self.table.refers_to(host) && self.table.forget_host(host, *room);
        *room -= before - self.table.len();
        is_more
    }

    /// Ends up to `most` subscriptions of a departed host; returns whether any are left.
    pub fn unsubscribe(&mut self, host: HostId, most: usize) -> bool {
        self.subscriptions.forget_host(host, most)
    }

    /// Frees up to `most` of each kind of its parts; returns whether any are left.
    pub fn shrink(&mut self, most: usize) -> bool {
        self.table.shrink(most);
        let mut is_left = !self.table.is_empty();
        is_left |= self.subscriptions.shrink(most);
        drop(self.unsaved.take(most));
        is_left || !self.unsaved.is_empty()
    }

    /// The number of parts that [`shrink`](Self::shrink) frees.
    pub fn len(&self) -> usize {
        self.table.len() + self.subscriptions.len() + self.unsaved.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Finished, Lineage, Outcome};

    const ABOVE: JobKey = JobKey([9; 32]);
    const ONE: HostId = HostId(1);
    const OTHER: HostId = HostId(2);
    const ROOT: HostId = HostId(3);

    fn ledger() -> Ledger {
        Ledger::new(Table::new(1 << 20), false)
    }

    fn entry(job: u8, state: EntryState) -> Entry {
        Entry {
            key: JobKey([job; 32]),
            depth: 1,
            lineage: Lineage(vec![ABOVE.tag()]),
            state,
            is_earlier: false,
        }
    }

    fn done() -> EntryState {
        EntryState::Done(Finished { outcome: Outcome::Done(vec![1].into()), work_ns: 1, span_ns: 1 })
    }

    #[test]
    fn entries_are_forwarded_to_the_hosts_that_can_use_them() {
        let mut ledger = ledger();
        let running = entry(1, EntryState::Running(ONE));
        let hosts = |hosts: &[HostId]| Some(hosts.iter().copied().collect::<BTreeSet<_>>());
        assert_eq!(ledger.record(&running, ONE, Some(ROOT)), hosts(&[ROOT]), "an orphan, to the root's host");
        assert_eq!(ledger.record(&running, ONE, Some(ROOT)), None, "it is known");
        ledger.subscribe(OTHER, ABOVE.tag());
        let result = entry(1, done());
        assert_eq!(ledger.record(&result, ROOT, Some(ROOT)), hosts(&[ONE, OTHER]), "the orphan can stop");
        assert_eq!(ledger.record(&running, OTHER, Some(ROOT)), None, "its result is known");
        assert_eq!(ledger.result_for_runner(&running), Some(&result));
        assert_eq!(ledger.result_for_runner(&result), None, "it does not run");
        assert_eq!(ledger.record(&entry(2, done()), OTHER, Some(ROOT)), hosts(&[]), "not to its sender");
        let above =
            Entry { key: ABOVE, depth: 0, lineage: Lineage::default(), state: done(), is_earlier: false };
        assert_eq!(ledger.record(&above, ONE, None), hosts(&[OTHER]));
        assert_eq!(ledger.subscriptions_len(), 0, "nothing below it is needed");
    }

    #[test]
    fn results_are_saved_together_and_what_became_superfluous_is_dropped() {
        let mut ledger = ledger();
        let entries = vec![entry(1, done()), entry(2, EntryState::Running(ONE))];
        for entry in &entries {
            ledger.record(entry, ONE, None);
        }
        ledger.save_later(Time(5), entries);
        assert!(!ledger.begin_sweep());
        assert_eq!((ledger.unsaved_len(), ledger.len()), (2, 4));
        assert!(ledger.save_due() > Some(Time(5)));
        let mut room = 10;
        assert_eq!(ledger.take_unsaved(&mut room), (vec![entry(1, done())], Vec::new()));
        assert_eq!((room, ledger.unsaved_len(), ledger.save_due()), (8, 0, None));
        let above =
            Entry { key: ABOVE, depth: 0, lineage: Lineage::default(), state: done(), is_earlier: false };
        ledger.record(&above, ONE, None);
        ledger.save_later(Time(6), vec![above.clone()]);
        assert!(!ledger.begin_sweep(), "there are few");
        let (saved, mut superfluous) = ledger.take_unsaved(&mut room);
        superfluous.sort_unstable();
        assert_eq!((saved, superfluous), (vec![above], vec![JobKey([1; 32]), JobKey([2; 32])]));
        assert_eq!(ledger.size().0, 1);
    }

    #[test]
    fn what_a_departed_host_had_is_dropped_up_to_a_limit() {
        let mut ledger = ledger();
        for job in 1..=5 {
            let host = if job == 5 { OTHER } else { ONE };
            ledger.record(&entry(job, EntryState::Running(host)), host, None);
            ledger.subscribe(ONE, JobTag(job.into()));
        }
        let mut room = 3;
        assert!(ledger.forget_host(ONE, &mut room));
        assert_eq!((room, ledger.table().len()), (0, 2));
        assert!(ledger.forget_host(ONE, &mut room), "there was no room");
        room = 3;
        assert!(!ledger.forget_host(ONE, &mut room) && !ledger.forget_host(ONE, &mut 0));
        assert_eq!((room, ledger.table().len()), (2, 1));
        assert!(ledger.unsubscribe(ONE, 3) && !ledger.unsubscribe(ONE, 3));
        assert!(ledger.evict() && !ledger.evict());
        assert_eq!(ledger.len(), 0);
    }

    /// Otherwise a root's host may be taken for one that was sent them.
    #[test]
    fn earlier_results_are_with_all_hosts_as_long_as_each_was_sent_them() {
        let mut ledger = Ledger::new(Table::new(1 << 20), true);
        assert!(!ledger.sends_earlier(1), "there are none");
        let mut earlier = Table::new(1 << 20);
        earlier.insert(Entry {
            key: ABOVE,
            depth: 0,
            lineage: Lineage::default(),
            state: done(),
            is_earlier: true,
        });
        ledger.add_earlier(earlier);
        assert!(ledger.sends_earlier(1) && ledger.is_earlier_with_all());
        let too_many = EARLIER_SENT_BYTES_MAX / ledger.earlier_bytes + 1;
        assert!(!ledger.sends_earlier(too_many));
        assert!(!ledger.sends_earlier(1) && !ledger.is_earlier_with_all(), "others have gone since");
    }
}
