//! The coordinator's result table, and the barrier that makes recovery find orphans.
//!
//! A search is answered when every host has said what it holds of those who are gone, or after a while.
//! Whoever searched for a job hears of what comes later below it, too.

use crate::limits::{
    LINEAGE_LENGTH_MAX, SEARCHES_ANSWERED_AT_ONCE_MAX, SEARCHES_WAITING_MAX, SETTLE_MAX, SUBSCRIBED_JOBS_MAX,
};
use crate::message::ToHost;
use crate::{Entry, EntryState, HostId, JobKey, RunId, Time};

use super::hosts::HostState;
use super::searches::Search;
use super::{Coordinator, Misbehaviour};

impl Coordinator {
    pub(super) fn on_entries(
        &mut self,
        now: Time,
        host: HostId,
        run: RunId,
        entries: Vec<Entry>,
    ) -> Result<(), Misbehaviour> {
        let is_foreign = |entry: &Entry| match entry.state {
            EntryState::Done(_) => false,
            EntryState::Running(at) => at != host,
            // The host may have been another before it was given up.
            EntryState::DoneAt { .. } => false,
        };
        if entries.iter().any(is_foreign) {
            return Err(Misbehaviour::Foreign);
        }
        if entries.iter().any(|entry| entry.lineage.0.len() > LINEAGE_LENGTH_MAX) {
            return Err(Misbehaviour::TooMuch);
        }
        let Some(part) = self.runs.get_mut(&run) else { return Ok(()) };
        let mut forwarded: std::collections::BTreeMap<HostId, Vec<Entry>> = std::collections::BTreeMap::new();
        for entry in entries {
            if !part.table.insert(entry.clone()) {
                continue;
            }
            let tags = entry.lineage.0.iter().copied().chain([entry.key.tag()]);
            let mut hosts: Vec<HostId> =
                tags.filter_map(|tag| part.subscribers.get(&tag)).flatten().copied().collect();
            // Orphans are few, and the root's host may come to redo what is above them while the
            // coordinator is away.
            if matches!(entry.state, EntryState::Running(_)) {
                hosts.extend(part.root_host());
            }
            hosts.sort_unstable();
            hosts.dedup();
            for subscriber in hosts {
                if subscriber != host {
                    forwarded.entry(subscriber).or_default().push(entry.clone());
                }
            }
            part.unsaved.push(entry);
        }
        part.unsaved_since.get_or_insert(now);
        for (subscriber, entries) in forwarded {
            self.send_entries(now, subscriber, run, &entries);
        }
        Ok(())
    }

    fn send_entries(&mut self, now: Time, host: HostId, run: RunId, entries: &[Entry]) {
        self.introduce_places(now, host, entries.iter().map(|entry| &entry.state));
        for entries in Entry::batches(entries) {
            self.send(host, ToHost::Entries { run, entries: entries.to_vec() });
        }
    }

    /// Sends what is known of a job and below it, and from now on what comes.
    pub(super) fn send_below(&mut self, now: Time, host: HostId, run: RunId, key: JobKey) {
        let Some(part) = self.runs.get_mut(&run) else { return };
        if part.subscribers.len() < SUBSCRIBED_JOBS_MAX || part.subscribers.contains_key(&key.tag()) {
            part.subscribe(host, key.tag());
        }
        let own = part.table.get(&key).into_iter();
        let entries: Vec<Entry> = own.chain(part.table.below(key.tag())).cloned().collect();
        self.send_entries(now, host, run, &entries);
    }

    pub(super) fn on_find(&mut self, now: Time, host: HostId, run: RunId, key: JobKey) {
        let until = if self.searches.len() < SEARCHES_WAITING_MAX { now + SETTLE_MAX } else { now };
        let just_back = |state: &HostState| state.back_since.is_some_and(|since| now < since + SETTLE_MAX);
        let waits_for_missing = self.hosts.get(&host).is_some_and(just_back);
        self.searches.push(Search { host, run, key, epoch: self.epoch, until, waits_for_missing });
        self.settle(now);
    }

    /// Whether all hosts that can have said what they hold of those gone up to `epoch`.
    pub(super) fn has_settled(&self, epoch: u64) -> bool {
        self.newsroom.has_settled(epoch)
    }

    /// Answers the searches that have waited for what they wait for; some now, the others in events that follow
    /// at once.
    pub(super) fn settle(&mut self, now: Time) {
        let (unsettled, is_any_missing) = (self.newsroom.unsettled(), !self.missing.is_empty());
        let ready = self.searches.take_ready(now, unsettled, is_any_missing, SEARCHES_ANSWERED_AT_ONCE_MAX);
        for search in ready {
            let Search { host, run, key, .. } = search;
            self.send_below(now, host, run, key);
            self.send(host, ToHost::Found { run, key });
        }
        self.searches_wait = !self.searches.is_any_ready(now, unsettled, is_any_missing);
        self.assign_roots(now);
    }

    pub(super) fn next_settle(&self) -> Option<(Time, &'static str)> {
        if !self.searches_wait {
            return Some((Time(0), "more searches are to be answered"));
        }
        Some((self.searches.next()?, "a search is answered without what some hosts may have"))
    }
}
