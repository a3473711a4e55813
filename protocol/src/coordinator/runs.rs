//! The states of runs: submitted, given to hosts, suspended, resumed, over.

use std::collections::{BTreeMap, BTreeSet};

use crate::limits::{BROADCAST_AT_ONCE_MAX, DRAIN_MAX, ENTRIES_SAVED_AT_ONCE_MAX};
use crate::message::{Departure, ToHost};
use crate::{Counts, HostId, RunEnd, RunId, RunSpec, RunState, Time};

use super::Coordinator;
use super::hosts::HostState;
use super::missing::Missing;
use super::run::{CoordinatorRun, Suspending};
use super::slices::Slice;
use super::surface::{Command, CommandError, Event, Submitter};
use super::tally::Whereabouts;

/// The state of a host that a run had to do with.
pub fn whereabouts(hosts: &BTreeMap<HostId, HostState>, missing: &Missing, host: HostId) -> Whereabouts {
    match host {
        host if hosts.contains_key(&host) => Whereabouts::There,
        host if missing.contains(host) => Whereabouts::Missing,
        _ => Whereabouts::Gone,
    }
}

impl Coordinator {
    // ---- commands ----

    /// Adds a run. The driver has saved it.
    pub fn submit(&mut self, now: Time, run: RunId, submitter: Submitter, spec: RunSpec) {
        let seed = self.config.audit_seed(run);
        let new = |table| CoordinatorRun::new(submitter, spec, RunState::Queued, table, now).with_seed(seed);
        self.runs.add(run, self.config.table_bytes_max, new);
        self.activate(now);
    }

    /// The number by which hosts know a submitter: for [`Share::submitter`](crate::Share::submitter), before a run is saved.
    pub fn submitter_for_hosts(&self, submitter: Submitter) -> u64 {
        self.config.submitter_for_hosts(submitter)
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

    /// Suspends a run: all hosts save what they have of it and drop it.
    ///
    /// # Errors
    /// When there is no such run, or it is suspended or being suspended already.
    pub fn suspend(&mut self, now: Time, run: RunId) -> Result<(), CommandError> {
        let Some(coordinator_run) = self.runs.get_mut(&run) else { return Err(CommandError::NoRun(run)) };
        match coordinator_run.state {
            RunState::Queued | RunState::Running => self.drop_everywhere(now, run, false),
            RunState::Suspending => match &mut coordinator_run.suspending {
                Some(suspending) if suspending.gives_way => {
                    suspending.gives_way = false;
                    self.save_state(run, RunState::Suspending);
                }
                _ => return Err(CommandError::State(run, "suspended", "being suspended already")),
            },
            _ => return Err(CommandError::State(run, "suspended", "suspended already")),
        }
        self.activate(now);
        Ok(())
    }

    /// All hosts save what they have of a run and drop it. If it `gives_way`, it then waits for another turn. That it is
    /// being suspended is not saved in that case: should the coordinator be restarted meanwhile, it is under way as before.
    pub(super) fn drop_everywhere(&mut self, now: Time, run: RunId, gives_way: bool) {
        self.end_checks(run, false);
        let hears = |host| self.hosts.get(host).is_some_and(|state| state.link.is_some());
        let is_any_to_hear = self.working.len() > BROADCAST_AT_ONCE_MAX || self.working.iter().any(hears);
        let Some(coordinator_run) = self.runs.get_mut(&run) else { return };
        if coordinator_run.state == RunState::Running {
            coordinator_run.meter.look(now, false);
            coordinator_run.note_root_begun(Departure::Left);
        }
        // Hosts that come back are notified then.
        let is_asking = self.runs.end_turn(run) && is_any_to_hear;
        let (hosts, until) = (BTreeSet::new(), now + DRAIN_MAX + DRAIN_MAX);
        self.runs.begin_suspending(run, Suspending { hosts, is_asking, until, gives_way });
        if !is_asking {
            return self.finish_suspending(now, run);
        }
        if gives_way {
            self.show_state(run, RunState::Suspending);
        } else {
            self.set_state(run, RunState::Suspending);
        }
        self.in_slices(now, Slice::Suspend { after: None, run });
    }

    /// Resumes a suspended run.
    ///
    /// # Errors
    /// When there is no such run, or it is not suspended.
    pub fn resume(&mut self, now: Time, run: RunId) -> Result<(), CommandError> {
        let Some(coordinator_run) = self.runs.get_mut(&run) else { return Err(CommandError::NoRun(run)) };
        match coordinator_run.state {
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
        self.runs.renew_turn(run);
        self.set_state(run, RunState::Queued);
        self.activate(now);
        Ok(())
    }

    // ---- states ----

    pub(super) fn set_state(&mut self, run: RunId, state: RunState) {
        if self.show_state(run, state) {
            self.save_state(run, state);
        }
    }

    fn save_state(&mut self, run: RunId, state: RunState) {
        self.outputs.command(Command::SaveState { run, state });
    }

    /// Changes a run's state without saving it; returns whether that is another one.
    fn show_state(&mut self, run: RunId, state: RunState) -> bool {
        let Some(shown) = self.runs.get_mut(&run).filter(|run| run.state != state) else { return false };
        shown.state = state;
        self.outputs.event(Event::RunChanged(run, state));
        true
    }

    /// Gives a host the active runs. A host from before may not have heard which are suspended.
    pub(super) fn start_runs_at(&mut self, now: Time, host: HostId, was_here: bool) {
        let (mut given, mut masters) = (Vec::new(), Vec::new());
        for (run, coordinator_run) in self.runs.iter() {
            if coordinator_run.turn.is_active() {
                let master = coordinator_run.root.host();
                masters.extend(master.filter(|_| coordinator_run.is_of_master_and_workers()));
                given.push((*run, Some(master)));
            } else if was_here
                && (matches!(coordinator_run.state, RunState::Suspended | RunState::Suspending)
                    || coordinator_run.turn.is_dropped())
            {
                given.push((*run, None));
            }
        }
        self.start_checks_at(now, host);
        for master in masters {
            self.introduce(now, host, master);
        }
        for (run, is_given) in given {
            let Some(master) = is_given else {
                self.have_dropped(run, host);
                continue;
            };
            self.give(run, host);
            if was_here {
                self.expect_drop(run, host);
            }
            if let Some(host_of_root) = master {
                self.send(host, ToHost::Master { run, host: host_of_root });
            }
        }
    }

    pub(super) fn end(&mut self, now: Time, run: RunId, end: RunEnd, state: RunState) {
        self.end_checks(run, true);
        if self.runs.get(&run).is_some_and(|run| run.spec.reuse) {
            let mut room = usize::MAX;
            self.save_entries(run, &mut room);
        }
        let Some(mut coordinator_run) = self.runs.remove(run) else { return };
        coordinator_run.state = state;
        self.outputs.command(Command::SaveEnd { run, end });
        self.outputs.event(Event::RunChanged(run, state));
        self.await_last_counts(now, run, coordinator_run);
        self.activate(now);
    }

    /// A host's counts of a run, the progress that the root job reports, and the work that is ahead there. Returns whether they were added: once a run's counts are final, none are.
    pub(super) fn on_counts(
        &mut self,
        host: HostId,
        run: RunId,
        (series, counts): (u64, Counts),
        (progress, ahead_ns): (Option<(u64, u64)>, Option<u64>),
    ) -> bool {
        let over = self.over.get_mut(&run).map(|over| &mut *over.coordinator_run);
        let Some(coordinator_run) = self.runs.get_mut(&run).or(over) else { return false };
        let counts = coordinator_run.tally.count(host, series, counts);
        coordinator_run.tally.forecast.expect(host, ahead_ns);
        // A host that has dropped the root job may report for a while what it last heard.
        if progress.is_some() && coordinator_run.root.known_host().is_none_or(|root| root == host) {
            coordinator_run.progress = progress;
        }
        if let Some(state) = self.hosts.get_mut(&host) {
            state.counts.insert(run, counts);
        }
        true
    }

    /// A host's process has another id: its counts continue under it.
    pub(super) fn rename_counts(&mut self, was: HostId, is: HostId) {
        let over = self.over.iter_mut().map(|(run, over)| (run, &mut *over.coordinator_run));
        for (run, coordinator_run) in self.runs.iter_mut().chain(over) {
            if let Some(counts) = coordinator_run.tally.rename(was, is)
                && let Some(state) = self.hosts.get_mut(&is)
            {
                state.counts.insert(*run, counts);
            }
        }
    }

    pub(super) fn on_suspended(&mut self, now: Time, run: RunId, host: HostId) {
        self.suspend_without(now, run, host);
        let was_asked = self.has_dropped(run, host);
        let Some(coordinator_run) = self.runs.get_mut(&run) else { return };
        let had_root = coordinator_run.root.host() == Some(host);
        if !coordinator_run.turn.is_active() || !(was_asked || had_root) {
            return;
        }
        // It was too slow, and the run was resumed already. It has dropped everything, including the root if it
        // came back with that in the meantime.
        coordinator_run.readiness.set_not_ready(host);
        if had_root {
            self.take_root(now, run, Departure::Left);
            self.assign_roots(now);
        }
        self.give(run, host);
    }

    /// A suspension no longer waits for this host.
    fn suspend_without(&mut self, now: Time, run: RunId, host: HostId) {
        if let Some(suspending) = self.runs.get_mut(&run).and_then(|run| run.suspending.as_mut()) {
            suspending.hosts.remove(&host);
            self.finish_suspending_if_saved(now, run);
        }
    }

    /// Completes a suspension, if all hosts have saved what they had of the run.
    pub(super) fn finish_suspending_if_saved(&mut self, now: Time, run: RunId) {
        let suspending = self.runs.get(&run).and_then(|run| run.suspending.as_ref());
        if suspending.is_some_and(|suspending| !suspending.is_asking && suspending.hosts.is_empty()) {
            self.finish_suspending(now, run);
        }
    }

    fn finish_suspending(&mut self, now: Time, run: RunId) {
        let Some(coordinator_run) = self.runs.get_mut(&run) else { return };
        let gives_way = coordinator_run.suspending.take().is_some_and(|suspending| suspending.gives_way);
        coordinator_run.root.take();
        coordinator_run.root.outdate_claims();
        self.save_entries(run, &mut ENTRIES_SAVED_AT_ONCE_MAX.clone());
        if gives_way {
            self.show_state(run, RunState::Suspended);
            self.runs.renew_turn(run);
            self.set_state(run, RunState::Queued);
            self.activate(now);
        } else {
            self.set_state(run, RunState::Suspended);
        }
    }

    /// Forgets what a host has reported about a run.
    pub(super) fn forget_readiness(&mut self, run: RunId, host: HostId) {
        if let Some(coordinator_run) = self.runs.get_mut(&run) {
            coordinator_run.readiness.forget_host(host);
            coordinator_run.turn.doubt();
        }
    }

    /// A host is gone. Forgets its entries up to a limit, and the others in events of their own.
    pub(super) fn lose_host_of_run(
        &mut self,
        now: Time,
        run: RunId,
        (host, departure): (HostId, Departure),
        room: &mut usize,
    ) {
        // All remaining hosts may be unable.
        self.note_unready(run);
        let Some(coordinator_run) = self.runs.get_mut(&run) else { return };
        if coordinator_run.ledger.forget_host(host, room) {
            self.in_slices(now, Slice::ForgetEntries { run, host });
        }
        let Some(coordinator_run) = self.runs.get_mut(&run) else { return };
        coordinator_run.readiness.forget_host(host);
        if coordinator_run.turn.is_active() {
            // Its root may be below jobs that this host leaves behind, too.
            coordinator_run.root.hold_back_further(self.newsroom.epoch());
        }
        let has_root = coordinator_run.root.host() == Some(host);
        match departure {
            Departure::Crashed if has_root => self.lose_root(now, run, host),
            Departure::Left if has_root => self.take_root(now, run, departure),
            _ => {}
        }
        if let Some(coordinator_run) = self.runs.get_mut(&run) {
            let (hosts, missing) = (&self.hosts, &self.missing);
            coordinator_run.tally.leave(host, |host| whereabouts(hosts, missing, host));
        }
        self.suspend_without(now, run, host);
    }

    // ---- timers ----

    pub(super) fn next_run_timeout(&self) -> Option<(Time, &'static str)> {
        let saves = (self.runs.attended())
            .filter_map(|run| Some((run.ledger.save_due()?, "entries have waited to be saved together")));
        let suspends = self.runs.attended().filter_map(|run| {
            let until = run.suspending.as_ref()?.until;
            Some((until, "hosts have had their time to save what they have"))
        });
        let roots = (self.runs.active())
            .filter_map(|(_, run)| run.root.held_back_until(|epoch| self.has_settled(epoch)))
            .map(|until| (until, "a root job is given away without what some hosts may have"));
        let turns = self.runs.next_rested();
        let turns = turns.map(|until| (until, "a run that no host could load is tried again"));
        saves.chain(suspends).chain(roots).chain(turns).min_by_key(|(time, _)| *time)
    }

    pub(super) fn time_out_runs(&mut self, now: Time) {
        let mut room = ENTRIES_SAVED_AT_ONCE_MAX;
        for run in self.runs.urgent_ids() {
            let Some(coordinator_run) = self.runs.get(&run) else { continue };
            if room > 0 && coordinator_run.ledger.save_due().is_some_and(|due| now >= due) {
                self.save_entries(run, &mut room);
            }
            let Some(coordinator_run) = self.runs.get_mut(&run) else { continue };
            coordinator_run.root.time_out(now);
            if coordinator_run.suspending.as_ref().is_some_and(|suspending| now >= suspending.until) {
                self.finish_suspending(now, run);
            }
            self.runs.stop_attending_if_idle(run);
        }
        self.time_out_turns(now);
        self.assign_roots(now);
    }

    /// Saves entries; some now, the others in events that follow at once.
    fn save_entries(&mut self, run: RunId, room: &mut usize) {
        let Some(coordinator_run) = self.runs.get_mut(&run) else { return };
        let (entries, superfluous) = coordinator_run.ledger.take_unsaved(room);
        if !entries.is_empty() || !superfluous.is_empty() {
            self.outputs.command(Command::SaveEntries { run, entries, superfluous });
        }
    }
}
