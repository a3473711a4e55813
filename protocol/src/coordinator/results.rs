//! The coordinator's result table, and the barrier that makes recovery find orphans.
//!
//! A search is answered when every host has reported what it holds of departed hosts, or after a while.
//! A host that searched for a job is also sent entries that arrive below it later.

use std::collections::BTreeMap;

use crate::limits::{INTRODUCED_AT_ONCE_MAX, SETTLE_MAX};
use crate::message::ToHost;
use crate::{Entry, EntryState, HostId, JobKey, RunId, Time};

use super::answers::Answer;
use super::hosts::HostState;
use super::searches::Search;
use super::slices::Slice;
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
            // The host may have had another id before it was given up.
            EntryState::DoneAt { .. } => false,
        };
        if entries.iter().any(is_foreign) {
            return Err(Misbehaviour::Foreign);
        }
        if entries.iter().any(Entry::is_too_large) {
            return Err(Misbehaviour::TooMuch);
        }
        if self.over.get(&run).is_some() {
            self.keep_late(host, run, entries);
            return Ok(());
        }
        if !self.may_record(host, run) || self.is_out(host, run) {
            return Ok(());
        }
        let Some(coordinator_run) = self.runs.get_mut(&run) else { return Ok(()) };
        // The root's key can be computed from what all hosts know: its result counts as the run's.
        let may_be_root = coordinator_run.root.is_claimed_by(host);
        let mut forwarded: BTreeMap<HostId, Vec<Entry>> = BTreeMap::new();
        let mut news = Vec::new();
        for entry in entries {
            // Which results are earlier is known here, and not by hosts.
            if entry.is_earlier || (entry.key == coordinator_run.root.spec().key && !may_be_root) {
                continue;
            }
            let Some(hosts) = coordinator_run.ledger.record(&entry, host, coordinator_run.root.host()) else {
                // A host that comes back need not continue with an orphan whose result came meanwhile.
                if let Some(result) = coordinator_run.ledger.result_for_runner(&entry) {
                    forwarded.entry(host).or_default().push(result.clone());
                }
                continue;
            };
            for subscriber in hosts {
                forwarded.entry(subscriber).or_default().push(entry.clone());
            }
            news.push(entry);
        }
        coordinator_run.ledger.save_later(now, news);
        let is_more = coordinator_run.ledger.begin_sweep();
        self.runs.attend(run);
        if is_more {
            self.in_slices(now, Slice::Sweep(run));
        }
        self.runs.keep_tables_to_bound(self.config.table_bytes_max);
        let mut introductions = INTRODUCED_AT_ONCE_MAX;
        for (subscriber, entries) in forwarded {
            self.send_entries(now, subscriber, (run, None), entries, &mut introductions);
        }
        Ok(())
    }

    pub(super) fn on_find(&mut self, now: Time, host: HostId, run: RunId, key: JobKey) {
        if self.lookups.is_too_much_of(host) || !self.may_search(host, run) {
            // The entries it would find cost work; waiting in vain would cost more.
            return self.send(host, ToHost::Found { run, key });
        }
        let until = now + SETTLE_MAX;
        let just_back =
            |state: &HostState| state.comings.back_since().is_some_and(|since| now < since + SETTLE_MAX);
        let waits_for_missing = self.hosts.get(&host).is_some_and(just_back);
        let epoch = self.newsroom.epoch();
        self.lookups.wait(Search { host, run, key, epoch, until, waits_for_missing });
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
        let unsettled = if self.silence.is_giving_up(now) { 0 } else { self.newsroom.unsettled() };
        let is_any_missing = !self.missing.is_empty();
        for search in self.lookups.take_ready(now, unsettled, is_any_missing) {
            let Search { host, run, key, .. } = search;
            self.begin_answer(now, host, Answer::to_search(run, key));
        }
        self.send_answers(now);
        self.lookups.look_for_ready(now, unsettled, is_any_missing);
        self.assign_roots(now);
    }
}
