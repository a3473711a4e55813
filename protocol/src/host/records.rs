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
        let Some(part) = self.runs.get_mut(&run) else { return };
        if !part.may_record(&finished) {
            return;
        }
        let entry = Entry { key, depth, lineage, state: EntryState::Done(finished) };
        let is_shared = match part.spec.fault_tolerance {
            FaultTolerance::Off | FaultTolerance::RedoOnly => return,
            // As in Satin: the entry is kept here until the job above is an orphan, unless it is the stolen job itself.
            FaultTolerance::FinishedOrphans => part.held.of_key(&key).is_some(),
            FaultTolerance::Full => true,
        };
        // An equal job may be run again here, and find this entry instead of those below it, which are dropped.
        let is_sought = part.recovery.lookups.seeks_below(&part.table, key.tag());
        if !part.table.insert(entry.clone()) {
            return;
        }
        part.reporting.own_mut().jobs.recorded += 1;
        if is_sought {
            part.recovery.lookups.seek(&part.table, key);
        }
        part.table.sweep(FORGOTTEN_AT_ONCE_MAX);
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
        let Some(part) = self.runs.get_mut(&run) else { return };
        let shared = entry.to_share(me);
        let nearest = part.held.nearest(&entry.lineage.0);
        if let Some(held) = nearest.and_then(|token| part.held.get(token)) {
            let hosts = held.owners().iter().filter_map(|owner| match owner {
                Owner::Host(host, _) => Some(*host),
                Owner::Coordinator(_) | Owner::Here(_) => None,
            });
            for host in hosts.collect::<BTreeSet<HostId>>() {
                part.outbox.push_for(host, shared.clone());
            }
        }
        part.outbox.push_bounded(shared);
        part.outbox.wait(now);
    }

    /// Announces that a held job has lost its owner and keeps running, so that a host that would redo it finds it here.
    pub(super) fn announce_orphan(&mut self, now: Time, run: RunId, token: HeldId) {
        let Some(me) = self.id() else { return };
        let Some(part) = self.runs.get_mut(&run) else { return };
        let Some(held) = part.held.get(token) else { return };
        let spec = held.spec();
        let state = EntryState::Running(me);
        let entry = Entry { key: spec.key, depth: spec.depth, lineage: spec.lineage.clone(), state };
        // This host itself may be the one that redoes the job, or one above it.
        let is_sought = part.redoes(&entry);
        let key = entry.key;
        if part.table.insert(entry.clone()) {
            part.outbox.push(entry);
        } else {
            part.outbox.push_bounded(entry);
        }
        part.outbox.wait(now);
        if is_sought {
            part.recovery.lookups.seek(&part.table, key);
        }
    }

    /// Announces again results that a coordinator may have lost, those that took the most work first.
    pub(super) fn announce_more(&mut self, now: Time, run: RunId) {
        let Some(part) = self.runs.get_mut(&run) else { return };
        let Some(announced) = part.recovery.announced() else { return };
        let entries: Vec<_> = (part.table.results_after(announced.place))
            .take(ANNOUNCED_AT_ONCE_MAX)
            .map(|(place, entry)| (place, entry.clone()))
            .collect();
        let count = announced.count + entries.len();
        let is_more = entries.len() == ANNOUNCED_AT_ONCE_MAX && count < OUTBOX_MAX;
        let place = entries.last().map(|(place, _)| *place);
        part.recovery.note_announced(is_more.then_some(Announced { place, count }));
        for (_, entry) in entries {
            self.share(now, run, &entry);
        }
        self.flush(now, run);
    }

    /// Continues the first task that one event could not finish; the others follow in events of their own.
    pub(super) fn tidy(&mut self, now: Time, run: RunId) {
        let Some(part) = self.runs.get_mut(&run) else { return };
        if part.recovery.lookups.expects_more() {
            part.recovery.lookups.expect_more(&part.table);
            self.tell_lookups(run);
        } else if part.recovery.announced().is_some() {
            self.announce_more(now, run);
        } else if let Some(gone) = part.recovery.next_to_forget() {
            if !part.table.forget_host(gone, FORGOTTEN_AT_ONCE_MAX) {
                part.recovery.stop_forgetting(gone);
            }
        } else if part.table.is_to_be_swept() {
            part.table.sweep(FORGOTTEN_AT_ONCE_MAX);
        }
    }

    pub(super) fn next_tidying(&self, part: &HostRun) -> Option<(Time, &'static str)> {
        let is_more = part.recovery.has_more_to_do() || part.table.is_to_be_swept();
        is_more.then_some((self.latest, "a task was too long for one event"))
    }

    pub(super) fn next_flush(part: &HostRun) -> Option<(Time, &'static str)> {
        part.outbox.due().map(|due| (due, "entries have waited to be sent together"))
    }

    pub(super) fn flush_if_due(&mut self, now: Time, run: RunId) {
        let is_due = (self.runs.get(&run)).and_then(|part| part.outbox.due()).is_some_and(|due| now >= due);
        if is_due {
            self.flush(now, run);
        }
    }

    /// Sends all waiting entries. Those for the coordinator keep waiting while it is away.
    pub(super) fn flush(&mut self, now: Time, run: RunId) {
        let Some(part) = self.runs.get_mut(&run) else { return };
        if !part.outbox.is_empty() {
            // If this host is gone a moment later, the counts must include the work whose results are saved.
            self.report_soon(now, run, false);
        }
        let Some(part) = self.runs.get_mut(&run) else { return };
        part.recovery.lookups.check(&part.table, SOUGHT_CHECKED_AT_ONCE_MAX);
        let for_owners = part.outbox.begin_flush(&part.table);
        let mut messages = Vec::new();
        // The coordinator accepts messages about a run only from hosts that have said that they loaded it.
        if self.standing.is_connected() && part.stage != Stage::Loading {
            for entries in Entry::batches(part.outbox.entries()) {
                messages.push(ToCoordinator::Entries { run, entries: entries.to_vec() });
            }
            part.outbox.clear();
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
        let Some(part) = self.runs.get_mut(&run) else { return };
        let (mut known, mut lent) = (Vec::new(), Vec::new());
        for entry in entries {
            let is_own = matches!(entry.state, EntryState::Running(host) if Some(host) == me);
            if is_own || entry.lineage.0.len() > LINEAGE_LENGTH_MAX {
                continue;
            }
            let is_sought = part.redoes(&entry);
            let key = entry.key;
            known.extend(part.held_and_known(&entry).filter(|(token, _)| part.is_held_for(from, *token)));
            lent.extend(part.lent_and_known(&entry).filter(|(number, _)| part.is_lent_to(from, *number)));
            part.renew_asked(&entry);
            if part.table.insert(entry) && is_sought {
                part.recovery.lookups.seek(&part.table, key);
            }
        }
        part.table.sweep(FORGOTTEN_AT_ONCE_MAX);
        for (token, finished) in known {
            self.finish_known(run, token, finished);
        }
        for (number, finished) in lent {
            self.reuse_for_lent(run, number, finished);
        }
        self.tell_lookups(run);
    }

    /// Tells the runtime which entries lookups can find, if that has changed.
    pub(super) fn tell_lookups(&mut self, run: RunId) {
        let Some(part) = self.runs.get_mut(&run) else { return };
        if let Some(jobs) = part.recovery.lookups.take_news() {
            self.unpolled.command(RunCommand::Lookups { jobs }.of(run));
        }
    }

    /// Sends a thief the entries below the redone job that it gets. From now on, the thief is to find them.
    pub(super) fn forward_entries(&mut self, run: RunId, thief: HostId, spec: &mut crate::JobSpec) {
        let Some(me) = self.id() else { return };
        let Some(part) = self.runs.get_mut(&run) else { return };
        if !spec.redone {
            return;
        }
        let tag = spec.key.tag();
        let below = part.table.below(tag).take(FORWARDED_ENTRIES_MAX);
        let mut entries: Vec<Entry> = below.map(|entry| entry.to_share(me)).collect();
        for entry in &entries {
            part.recovery.lookups.found(&part.table, &entry.key);
        }
        let is_looked_up_below = spec.lookup_below > spec.depth;
        spec.lookup_below = part.table.depth_below(tag);
        if is_looked_up_below {
            // Those that do not name the job may be below others, too, and are still sought here.
            let places = part.recovery.lookups.unnamed_below(&part.table, spec);
            let deepest = places.last().map_or(0, |(depth, _)| *depth);
            spec.lookup_below = spec.lookup_below.max(deepest);
            let unnamed = places.iter().filter_map(|(_, key)| part.table.get(key));
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
        let part = self.runs.get_mut(&run).filter(|part| part.stage == Stage::Loading);
        let is_early = part.is_some_and(|part| part.recovery.want_early(from, key));
        if !is_early {
            self.answer_want(from, run, key);
        }
    }

    /// Answers those who asked while the run was being loaded.
    pub(super) fn answer_early_wants(&mut self, run: RunId) {
        let wanted = self.runs.get_mut(&run).map(|part| part.recovery.take_wanted_early());
        for (from, key) in wanted.unwrap_or_default() {
            self.answer_want(from, run, key);
        }
    }

    fn answer_want(&mut self, from: HostId, run: RunId, key: JobKey) {
        let finished = self.runs.get(&run).and_then(|part| match &part.table.get(&key)?.state {
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
            let is_news = self.runs.get_mut(&run).is_some_and(|part| part.table.insert(entry.clone()));
            if is_news {
                self.share(now, run, &entry);
            }
        }
        self.flush(now, run);
    }
}
