//! The states of runs: what is submitted, given to the hosts, suspended, resumed and over.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::limits::{DRAIN_MAX, RUNS_ACTIVE_MAX};
use crate::message::{Departure, ToHost};
use crate::{Counts, EntryState, HostId, RunEnd, RunId, RunSpec, RunState, Time};

use super::part::RunPart;
use super::slices::Slice;
use super::turns::Turn;
use super::{Command, CommandError, Coordinator, Event};

/// Entries wait so long for company before they are saved.
const SAVE_DELAY: Duration = Duration::from_millis(250);

impl Coordinator {
    // ---- commands ----

    /// A run to be done. The driver has saved it.
    pub fn submit(&mut self, now: Time, run: RunId, spec: RunSpec) {
        let part = RunPart::new(spec, RunState::Queued, self.config.table_bytes_max, now);
        self.runs.insert(run, part);
        self.activate(now);
    }

    /// Ends a run without a result.
    ///
    /// # Errors
    /// When there is no such run.
    pub fn cancel(&mut self, now: Time, run: RunId) -> Result<(), CommandError> {
        if !self.runs.contains_key(&run) {
            return Err(CommandError::NoRun(run));
        }
        self.end(now, run, RunEnd::Cancelled, RunState::Cancelled);
        Ok(())
    }

    /// Has all hosts save what they have of a run, and lets it rest.
    ///
    /// # Errors
    /// When there is no such run, or it rests already.
    pub fn suspend(&mut self, now: Time, run: RunId) -> Result<(), CommandError> {
        let working: BTreeSet<HostId> = (self.hosts.iter())
            .filter(|(_, host)| host.paused.is_none() && host.link.is_some())
            .map(|(id, _)| *id)
            .collect();
        let Some(part) = self.runs.get_mut(&run) else { return Err(CommandError::NoRun(run)) };
        match part.state {
            RunState::Queued | RunState::Running => {}
            _ => return Err(CommandError::State(run, "suspended", "suspended already")),
        }
        part.root.redone |= part.state == RunState::Running;
        let was_active = std::mem::replace(&mut part.is_active, false);
        if was_active && !working.is_empty() {
            part.suspending = Some((working, now + DRAIN_MAX + DRAIN_MAX));
            self.set_state(run, RunState::Suspending);
            self.broadcast(now, ToHost::SuspendRun { run });
        } else {
            // Who comes back is told then.
            self.finish_suspending(run);
        }
        self.activate(now);
        Ok(())
    }

    /// Lets a run that rests go on.
    ///
    /// # Errors
    /// When there is no such run, or it does not rest.
    pub fn resume(&mut self, now: Time, run: RunId) -> Result<(), CommandError> {
        let Some(part) = self.runs.get_mut(&run) else { return Err(CommandError::NoRun(run)) };
        match part.state {
            RunState::Suspended => {}
            RunState::Suspending => {
                return Err(CommandError::State(
                    run,
                    "resumed",
                    "still being suspended; try again in a moment",
                ));
            }
            _ => return Err(CommandError::State(run, "resumed", "not suspended")),
        }
        // Hosts have dropped it.
        part.turn = Turn::default();
        self.set_state(run, RunState::Queued);
        self.activate(now);
        Ok(())
    }

    // ---- states ----

    pub(super) fn set_state(&mut self, run: RunId, state: RunState) {
        let Some(part) = self.runs.get_mut(&run) else { return };
        if part.state != state {
            part.state = state;
            self.commands.push_back(Command::SaveState { run, state });
            self.events.push_back(Event::RunChanged(run, state));
        }
    }

    pub(super) fn start_runs_at(&mut self, now: Time, host: HostId) {
        let (mut messages, mut masters) = (Vec::new(), Vec::new());
        for (run, part) in &self.runs {
            if part.is_active {
                messages.push(ToHost::StartRun { run: *run, spec: part.spec.clone() });
                if let Some((master, _)) = part.assigned {
                    masters.extend(part.is_of_master_and_workers().then_some(master));
                    messages.push(ToHost::Master { run: *run, host: master });
                }
            } else if matches!(part.state, RunState::Suspended | RunState::Suspending) {
                // It may not have heard.
                messages.push(ToHost::SuspendRun { run: *run });
            }
        }
        for master in masters {
            self.introduce(now, host, master);
        }
        for message in messages {
            self.send(host, message);
        }
    }

    pub(super) fn end(&mut self, now: Time, run: RunId, end: RunEnd, state: RunState) {
        let Some(mut part) = self.runs.remove(&run) else { return };
        part.tally.rest();
        self.commands.push_back(Command::SaveEnd { run, end, counts: Box::new(part.counts()) });
        self.events.push_back(Event::RunChanged(run, state));
        self.broadcast(now, ToHost::StopRun { run });
        self.searches.forget_run(run);
        self.in_slices(now, Slice::Forget { after: None, run });
        self.in_slices(now, Slice::Free(Box::new(part)));
        self.activate(now);
    }

    pub(super) fn on_counts(
        &mut self,
        host: HostId,
        run: RunId,
        (series, counts): (u64, Counts),
        progress: Option<(u64, u64)>,
    ) {
        let Some(part) = self.runs.get_mut(&run) else { return };
        let counts = part.tally.count(host, series, counts);
        if progress.is_some() {
            part.progress = progress;
        }
        if let Some(state) = self.hosts.get_mut(&host) {
            state.counts.insert(run, counts);
        }
    }

    /// A host's process has another id: what it counts is counted under that.
    pub(super) fn rename_counts(&mut self, was: HostId, is: HostId) {
        for (run, part) in &mut self.runs {
            if let Some(counts) = part.tally.rename(was, is)
                && let Some(state) = self.hosts.get_mut(&is)
            {
                state.counts.insert(*run, counts);
            }
        }
    }

    pub(super) fn on_suspended(&mut self, now: Time, run: RunId, host: HostId) {
        self.suspend_without(run, host);
        let Some(part) = self.runs.get_mut(&run) else { return };
        if !part.is_active {
            return;
        }
        // It was too slow, and the run goes on already. What it had, it has dropped: the root as well, if it
        // came back with that in the meantime.
        let spec = part.spec.clone();
        let had_root = part.assigned.is_some_and(|(root, _)| root == host);
        if let Some(state) = self.hosts.get_mut(&host) {
            state.ready.remove(&run);
        }
        if had_root {
            self.take_root(now, run);
            self.assign_roots(now);
        }
        self.send(host, ToHost::StartRun { run, spec });
    }

    /// A suspension does not wait for this host any more.
    fn suspend_without(&mut self, run: RunId, host: HostId) {
        if let Some((waiting, _)) = self.runs.get_mut(&run).and_then(|part| part.suspending.as_mut()) {
            waiting.remove(&host);
            if waiting.is_empty() {
                self.finish_suspending(run);
            }
        }
    }

    fn finish_suspending(&mut self, run: RunId) {
        let Some(part) = self.runs.get_mut(&run) else { return };
        part.suspending = None;
        part.assigned = None;
        part.claims.clear();
        self.save_entries(run);
        self.set_state(run, RunState::Suspended);
    }

    pub(super) fn lose_host_of_run(&mut self, now: Time, run: RunId, host: HostId, departure: Departure) {
        // Those that remain may all be unable.
        self.note_unready(run);
        let Some(part) = self.runs.get_mut(&run) else { return };
        part.table.forget_host(host);
        let (hosts, missing) = (&self.hosts, &self.missing);
        part.tally.leave(host, |host| hosts.contains_key(&host) || missing.contains(host));
        let has_root = part.assigned.is_some_and(|(root, _)| root == host);
        match departure {
            Departure::Crashed if has_root => self.lose_root(now, run, host),
            Departure::Left if has_root => self.take_root(now, run),
            _ => {}
        }
        self.suspend_without(run, host);
    }

    // ---- time ----

    pub(super) fn next_run_timeout(&self) -> Option<(Time, &'static str)> {
        let saves = (self.runs.values())
            .filter_map(|part| Some((part.unsaved_since? + SAVE_DELAY, "entries have waited for company")));
        let suspends = (self.runs.values()).filter_map(|part| {
            let (_, until) = part.suspending.as_ref()?;
            Some((*until, "hosts have had their time to save what they have"))
        });
        let roots = (self.runs.values())
            .filter(|part| part.is_active && part.assigned.is_none())
            .filter(|part| !self.has_settled(part.settles.0))
            .map(|part| (part.settles.1, "a root job is given away without what some hosts may have"));
        let turns = (self.runs.values()).filter_map(|part| {
            Some((part.turn.rests_until?, "a run that no host could load is tried again"))
        });
        saves.chain(suspends).chain(roots).chain(turns).min_by_key(|(time, _)| *time)
    }

    pub(super) fn time_out_runs(&mut self, now: Time) {
        let runs: Vec<RunId> = self.runs.keys().copied().collect();
        for run in runs {
            let Some(part) = self.runs.get(&run) else { continue };
            if part.unsaved_since.is_some_and(|since| now >= since + SAVE_DELAY) {
                self.save_entries(run);
            }
            let Some(part) = self.runs.get_mut(&run) else { continue };
            if now >= part.settles.1 {
                part.settles.0 = 0;
            }
            if part.suspending.as_ref().is_some_and(|(_, until)| now >= *until) {
                self.finish_suspending(run);
            }
        }
        self.time_out_turns(now);
        self.assign_roots(now);
    }

    fn save_entries(&mut self, run: RunId) {
        let Some(part) = self.runs.get_mut(&run) else { return };
        part.unsaved_since = None;
        let superfluous = part.table.take_superfluous();
        // Who runs what now is of no use after a restart.
        let mut entries = std::mem::take(&mut part.unsaved);
        entries.retain(|entry| {
            !matches!(entry.state, EntryState::Running(_)) && part.table.get(&entry.key).is_some()
        });
        if !entries.is_empty() || !superfluous.is_empty() {
            self.commands.push_back(Command::SaveEntries { run, entries, superfluous });
        }
    }

    /// Why nothing happens with a run, for people.
    pub(super) fn reason_to_wait(&self, run: RunId) -> Option<String> {
        let part = self.runs.get(&run)?;
        if !matches!(part.state, RunState::Queued | RunState::Running) || part.assigned.is_some() {
            return None;
        }
        if self.waits_until.is_some() {
            return Some("the coordinator was started again and waits for its hosts".to_owned());
        }
        if let Some(reason) = self.reason_to_rest(run) {
            return Some(reason);
        }
        if !part.is_active {
            return Some(format!("{RUNS_ACTIVE_MAX} other runs are under way, and this one waits its turn"));
        }
        if self.hosts.is_empty() {
            return Some("no host is there; start one with `sateen-host`".to_owned());
        }
        let working = || self.hosts.values().filter(|host| host.paused.is_none());
        if let Some(host) = self.hosts.values().find(|_| working().next().is_none()) {
            let reason = host.paused.clone().unwrap_or_default();
            return Some(format!("all hosts are paused ({} says: {reason})", host.report.name));
        }
        match self.why_unable(run) {
            Some(why) => Some(why),
            None if working().any(|host| host.ready.contains(&run)) => {
                Some("hosts tell what they have of it before it is begun again".to_owned())
            }
            None => Some("hosts load the app".to_owned()),
        }
    }
}
