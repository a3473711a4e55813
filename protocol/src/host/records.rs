//! This host's part of the result table: the results that it records, and the hosts to which it sends them.
//!
//! An entry is sent to the coordinator, whose table survives any host, and to the owner of the borrowed job above it.
//! That owner would redo the job, so it can recover from a crash without the coordinator, too. Entries wait a moment so
//! that several are sent together (message combining).

use std::collections::BTreeSet;

use crate::limits::{
    FORGOTTEN_AT_ONCE_MAX, FORWARDED_ENTRIES_MAX, LINEAGE_LENGTH_MAX, SOUGHT_CHECKED_AT_ONCE_MAX,
};
use crate::message::{PeerMessage, ToCoordinator};
use crate::{Entry, EntryState, FaultTolerance, Finished, HeldId, HostId, JobKey, Lineage, RunId, Time};

use super::held::Owner;
use super::lost::Announced;
use super::outbox::OUTBOX_MAX;
use super::run::HostRun;
use super::stage::Stage;
use super::{Command, Host, Receiver, RunCommand};

/// Entries that one event announces again; the others follow at once.
const ANNOUNCED_AT_ONCE_MAX: usize = 12;

impl Host {
    /// A job has a result that is worth saving.
    pub(super) fn record(
        &mut self,
        now: Time,
        run: RunId,
        key: JobKey,
        depth: u32,
        lineage: Lineage,
        finished: Finished,
    ) {
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        if !host_run.may_record(&finished) {
            return;
        }
        let entry = Entry { key, depth, lineage, state: EntryState::Done(finished), is_earlier: false };
        let is_shared = match host_run.spec.fault_tolerance {
            FaultTolerance::Off | FaultTolerance::RedoOnly => return,
            // As in Satin: the entry is kept here until the job above is an orphan, unless it is the stolen job itself.
            FaultTolerance::FinishedOrphans => host_run.held.of_key(&key).is_some(),
            FaultTolerance::Full => true,
        };
        // An equal job may be run again here, and find this entry instead of those below it, which are dropped.
        let is_sought = host_run.recovery.lookups.seeks_below(&host_run.table, key.tag());
        if !host_run.table.insert(entry.clone()) {
            return;
        }
        host_run.reporting.own_mut().jobs.recorded += 1;
        if is_sought {
            host_run.recovery.lookups.seek(&host_run.table, key);
        }
        host_run.table.sweep(FORGOTTEN_AT_ONCE_MAX);
        if is_shared {
            self.share(now, run, &entry);
            self.unpolled.command(Command::Save { run, entry });
        }
        if is_sought {
            self.tell_lookups(run);
        }
    }

    /// Sends an entry of this host to the coordinator and the hosts that may need it.
    pub(super) fn share(&mut self, now: Time, run: RunId, entry: &Entry) {
        let Some(me) = self.id() else { return };
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        let shared = entry.to_share(me);
        let nearest = host_run.held.nearest(&entry.lineage.0);
        if let Some(held) = nearest.and_then(|token| host_run.held.get(token)) {
            let hosts = held.owners().iter().filter_map(|owner| match owner {
                Owner::Host(host, _) => Some(*host),
                Owner::Coordinator(_) | Owner::Here(_) => None,
            });
            for host in hosts.collect::<BTreeSet<HostId>>() {
                host_run.outbox.push_for(host, shared.clone());
            }
        }
        host_run.outbox.push_bounded(shared);
        host_run.outbox.wait(now);
    }

    /// Announces that a held job has lost its owner and keeps running, so that a host that would redo it finds it here.
    pub(super) fn announce_orphan(&mut self, now: Time, run: RunId, token: HeldId) {
        let Some(me) = self.id() else { return };
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        let Some(held) = host_run.held.get(token) else { return };
        let spec = held.spec();
        let state = EntryState::Running(me);
        let entry = Entry {
            key: spec.key,
            depth: spec.depth,
            lineage: spec.lineage.clone(),
            state,
            is_earlier: false,
        };
        // This host itself may be the one that redoes the job, or one above it.
        let is_sought = host_run.redoes(&entry);
        let key = entry.key;
        if host_run.table.insert(entry.clone()) {
            host_run.outbox.push(entry);
        } else {
            host_run.outbox.push_bounded(entry);
        }
        host_run.outbox.wait(now);
        if is_sought {
            host_run.recovery.lookups.seek(&host_run.table, key);
        }
    }

    /// Announces again results that a coordinator may have lost, those that took the most work first.
    pub(super) fn announce_more(&mut self, now: Time, run: RunId) {
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        let Some(announced) = host_run.recovery.announced() else { return };
        let entries: Vec<_> = (host_run.table.results_after(announced.place))
            // The coordinator has those of earlier runs.
            .filter(|(_, entry)| !entry.is_earlier)
            .take(ANNOUNCED_AT_ONCE_MAX)
            .map(|(place, entry)| (place, entry.clone()))
            .collect();
        let count = announced.count + entries.len();
        let is_more = entries.len() == ANNOUNCED_AT_ONCE_MAX && count < OUTBOX_MAX;
        let place = entries.last().map(|(place, _)| *place);
        host_run.recovery.note_announced(is_more.then_some(Announced { place, count }));
        for (_, entry) in entries {
            self.share(now, run, &entry);
        }
        self.flush(now, run);
    }

    /// Continues the first task that one event could not finish; the others follow in events of their own.
    pub(super) fn tidy(&mut self, now: Time, run: RunId) {
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        if host_run.recovery.lookups.expects_more() {
            host_run.recovery.lookups.expect_more(&host_run.table);
            self.tell_lookups(run);
        } else if host_run.recovery.announced().is_some() {
            self.announce_more(now, run);
        } else if let Some(gone) = host_run.recovery.next_to_forget() {
            if !host_run.table.forget_host(gone, FORGOTTEN_AT_ONCE_MAX) {
                host_run.recovery.stop_forgetting(gone);
            }
        } else if host_run.table.is_to_be_swept() {
            host_run.table.sweep(FORGOTTEN_AT_ONCE_MAX);
        }
    }

    pub(super) fn next_tidying(&self, host_run: &HostRun) -> Option<(Time, &'static str)> {
        let is_more = host_run.recovery.has_more_to_do() || host_run.table.is_to_be_swept();
        is_more.then_some((self.latest, "a task was too long for one event"))
    }

    pub(super) fn next_flush(host_run: &HostRun) -> Option<(Time, &'static str)> {
        host_run.outbox.due().map(|due| (due, "entries have waited to be sent together"))
    }

    pub(super) fn flush_if_due(&mut self, now: Time, run: RunId) {
        let is_due = (self.runs.get(&run)).and_then(|run| run.outbox.due()).is_some_and(|due| now >= due);
        if is_due {
            self.flush(now, run);
        }
    }

    /// Sends all waiting entries. Those for the coordinator keep waiting while it is away.
    pub(super) fn flush(&mut self, now: Time, run: RunId) {
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        if !host_run.outbox.is_empty() {
            // If this host is gone a moment later, the counts must include the work whose results are saved.
            self.report_soon(now, run, false);
        }
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        host_run.recovery.lookups.check(&host_run.table, SOUGHT_CHECKED_AT_ONCE_MAX);
        let for_owners = host_run.outbox.begin_flush(&host_run.table, host_run.spec.reuse);
        let mut messages = Vec::new();
        // The coordinator accepts messages about a run only from hosts that have said that they loaded it.
        if self.standing.is_connected() && host_run.stage != Stage::Loading {
            for entries in Entry::batches(host_run.outbox.entries()) {
                messages.push(ToCoordinator::Entries { run, entries: entries.to_vec() });
            }
            host_run.outbox.clear();
        }
        for (owner, entries) in for_owners {
            for entries in Entry::batches(&entries) {
                self.tell_peer(owner, PeerMessage::Entries { run, entries: entries.to_vec() });
            }
        }
        for message in messages {
            self.tell_coordinator(message);
        }
        self.send_log(run);
        self.tell_lookups(run);
    }

    /// Entries have come from others. Those of a peer end only jobs that it has lent to this host, or this host to it.
    pub(super) fn on_entries(&mut self, run: RunId, from: Receiver, entries: Vec<Entry>) {
        let me = self.id();
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        let (mut known, mut lent) = (Vec::new(), Vec::new());
        for entry in entries {
            let is_own = matches!(entry.state, EntryState::Running(host) if Some(host) == me);
            if is_own || entry.lineage.0.len() > LINEAGE_LENGTH_MAX {
                continue;
            }
            let is_sought = host_run.redoes(&entry);
            let key = entry.key;
            known.extend(
                host_run.held_and_known(&entry).filter(|(token, _)| host_run.is_held_for(from, *token)),
            );
            lent.extend(
                host_run.lent_and_known(&entry).filter(|(number, _)| host_run.is_lent_to(from, *number)),
            );
            host_run.renew_asked(&entry);
            if host_run.table.insert(entry) && is_sought {
                host_run.recovery.lookups.seek(&host_run.table, key);
            }
        }
        host_run.table.sweep(FORGOTTEN_AT_ONCE_MAX);
        for (token, finished) in known {
            self.finish_known(run, token, finished);
        }
        for (number, finished) in lent {
            self.reuse_for_lent(run, number, finished);
        }
        self.tell_lookups(run);
    }

    /// Notifies the runtime which entries lookups can find, if that has changed.
    pub(super) fn tell_lookups(&mut self, run: RunId) {
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        if let Some(jobs) = host_run.recovery.lookups.take_news() {
            self.unpolled.command(RunCommand::Lookups { jobs }.of(run));
        }
    }

    /// Sends a thief the entries below the redone job that it gets. From now on, the thief is to find them.
    pub(super) fn forward_entries(&mut self, run: RunId, thief: HostId, spec: &mut crate::JobSpec) {
        let Some(me) = self.id() else { return };
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        if !spec.redone {
            return;
        }
        let tag = spec.key.tag();
        let below = host_run.table.below(tag).take(FORWARDED_ENTRIES_MAX);
        let mut entries: Vec<Entry> = below.map(|entry| entry.to_share(me)).collect();
        for entry in &entries {
            host_run.recovery.lookups.found(&host_run.table, &entry.key);
        }
        let is_looked_up_below = spec.lookup_below > spec.depth;
        spec.lookup_below = host_run.table.depth_below(tag);
        if is_looked_up_below {
            // Those that do not name the job may be below others, too, and are still sought here.
            let places = host_run.recovery.lookups.unnamed_below(&host_run.table, spec);
            let deepest = places.last().map_or(0, |(depth, _)| *depth);
            spec.lookup_below = spec.lookup_below.max(deepest);
            let unnamed = places.iter().filter_map(|(_, key)| host_run.table.get(key));
            entries.extend(unnamed.map(|entry| entry.to_share(me)));
        }
        self.tell_lookups(run);
        for entries in Entry::batches(&entries) {
            self.tell_peer(thief, PeerMessage::Entries { run, entries: entries.to_vec() });
        }
    }

    // ---- results by location ----

    /// A host asks for a result. While the run is being loaded, the result may be among those that this host has saved.
    pub(super) fn on_want(&mut self, from: HostId, run: RunId, key: JobKey) {
        let host_run = self.runs.get_mut(&run).filter(|run| run.stage == Stage::Loading);
        let is_early = host_run.is_some_and(|run| run.recovery.want_early(from, key));
        if !is_early {
            self.answer_want(from, run, key);
        }
    }

    /// Answers those that asked while the run was being loaded.
    pub(super) fn answer_early_wants(&mut self, run: RunId) {
        let wanted = self.runs.get_mut(&run).map(|run| run.recovery.take_wanted_early());
        for (from, key) in wanted.unwrap_or_default() {
            self.answer_want(from, run, key);
        }
    }

    fn answer_want(&mut self, from: HostId, run: RunId, key: JobKey) {
        let finished = self.runs.get(&run).and_then(|run| match &run.table.get(&key)?.state {
            EntryState::Done(finished) => Some(finished.clone()),
            _ => None,
        });
        self.tell_peer(from, PeerMessage::Have { run, key, finished });
    }

    // ---- the store ----

    /// Adds entries that a former process saved.
    pub(super) fn merge_restored(&mut self, now: Time, run: RunId, entries: Vec<Entry>) {
        for entry in entries {
            // Jobs that were running were running in a process that is gone.
            if !matches!(entry.state, EntryState::Done(_)) || entry.lineage.0.len() > LINEAGE_LENGTH_MAX {
                continue;
            }
            let is_news = self.runs.get_mut(&run).is_some_and(|run| run.table.insert(entry.clone()));
            if is_news {
                self.share(now, run, &entry);
            }
        }
        self.flush(now, run);
    }
}
