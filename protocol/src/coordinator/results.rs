//! The coordinator's result table, and the barrier that makes recovery find orphans.
//!
//! A search is answered when every host has reported what it holds of departed hosts, or after a while.
//! A host that searched for a job is also sent entries that arrive below it later.

use std::collections::BTreeMap;

use crate::limits::{
    INTRODUCED_AT_ONCE_MAX, SEARCHES_ANSWERED_AT_ONCE_MAX, SEARCHES_PER_HOST_MAX, SEARCHES_WAITING_MAX,
    SETTLE_MAX, TABLES_TOGETHER_MAX,
};
use crate::message::ToHost;
use crate::{Entry, EntryState, HostId, JobKey, RunId, Time};

use super::answers::Answer;
use super::hosts::HostState;
use super::searches::Search;
use super::slices::Slice;
use super::{Coordinator, Misbehaviour};

/// Maximum entries that one event drops because all tables together are too large.
const ENTRIES_EVICTED_AT_ONCE_MAX: usize = 64;

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
            // The host may have had another id before it was given up.
            EntryState::DoneAt { .. } => false,
        };
        if entries.iter().any(is_foreign) {
            return Err(Misbehaviour::Foreign);
        }
        if entries.iter().any(Entry::is_too_large) {
            return Err(Misbehaviour::TooMuch);
        }
        if !self.may_record(host, run) {
            return Ok(());
        }
        let Some(part) = self.runs.get_mut(&run) else { return Ok(()) };
        // The root's key can be computed from what all hosts know: its result counts as the run's.
        let may_be_root = part.root.is_claimed_by(host);
        let mut forwarded: BTreeMap<HostId, Vec<Entry>> = BTreeMap::new();
        let mut news = Vec::new();
        for entry in entries {
            if entry.key == part.root.spec().key && !may_be_root {
                continue;
            }
            let Some(hosts) = part.ledger.record(&entry, host, part.root.host()) else { continue };
            for subscriber in hosts {
                forwarded.entry(subscriber).or_default().push(entry.clone());
            }
            news.push(entry);
        }
        part.ledger.save_later(now, news);
        self.attended.insert(run);
        if part.ledger.begin_sweep() {
            self.in_slices(now, Slice::Sweep(run));
        }
        self.keep_tables_to_bound();
        let mut introductions = INTRODUCED_AT_ONCE_MAX;
        for (subscriber, entries) in forwarded {
            self.send_entries(now, subscriber, (run, None), entries, &mut introductions);
        }
        Ok(())
    }

    /// Drops entries of the largest table while all together are too large: some now, the others when more arrive;
    /// everything far above the bound at once.
    pub(super) fn keep_tables_to_bound(&mut self) {
        let most = self.config.table_bytes_max.saturating_mul(TABLES_TOGETHER_MAX);
        if self.tables.bytes() <= most {
            return;
        }
        let far_too_much = most.saturating_add(most / 4);
        let mut room = ENTRIES_EVICTED_AT_ONCE_MAX;
        let Some(largest) = self.runs.values_mut().max_by_key(|part| part.ledger.size().1) else { return };
        while (room > 0 && self.tables.bytes() > most) || self.tables.bytes() > far_too_much {
            if !largest.ledger.evict() {
                break;
            }
            room = room.saturating_sub(1);
        }
    }

    pub(super) fn on_find(&mut self, now: Time, host: HostId, run: RunId, key: JobKey) {
        let waiting = self.searches.len() + self.answers.len();
        let of_host = self.searches.len_of(host) + self.answers.len_of(host);
        let is_too_much = waiting >= SEARCHES_WAITING_MAX || of_host >= SEARCHES_PER_HOST_MAX;
        if is_too_much || !self.may_search(host, run) {
            // The entries it would find cost work; waiting in vain would cost more.
            return self.send(host, ToHost::Found { run, key });
        }
        let until = now + SETTLE_MAX;
        let just_back =
            |state: &HostState| state.comings.back_since().is_some_and(|since| now < since + SETTLE_MAX);
        let waits_for_missing = self.hosts.get(&host).is_some_and(just_back);
        self.searches.push(Search { host, run, key, epoch: self.epoch, until, waits_for_missing });
        self.settle(now);
    }

    /// Whether all reachable hosts have reported what they hold of hosts that went up to `epoch`.
    pub(super) fn has_settled(&self, epoch: u64) -> bool {
        self.newsroom.has_settled(epoch)
    }

    /// Answers the searches that need not wait any longer; some now, the others in events that follow
    /// at once.
    pub(super) fn settle(&mut self, now: Time) {
        // Those that have waited long enough do not need it.
        let unsettled = if self.is_giving_up(now) { 0 } else { self.newsroom.unsettled() };
        let is_any_missing = !self.missing.is_empty();
        let ready = self.searches.take_ready(now, unsettled, is_any_missing, SEARCHES_ANSWERED_AT_ONCE_MAX);
        for search in ready {
            let Search { host, run, key, .. } = search;
            self.begin_answer(now, host, Answer::to_search(run, key));
        }
        self.send_answers(now);
        self.searches_wait = !self.searches.is_any_ready(now, unsettled, is_any_missing);
        self.assign_roots(now);
    }

    pub(super) fn next_settle(&self) -> Option<(Time, &'static str)> {
        if !self.searches_wait {
            return Some((Time(0), "more searches are to be answered"));
        }
        let waiting = self.searches.next();
        let waiting = waiting.map(|time| (time, "a search is answered without what some hosts may have"));
        let answer = self.answers.next().map(|time| (time, "a host is sent more of what it searched for"));
        waiting.into_iter().chain(answer).min_by_key(|(time, _)| *time)
    }
}
