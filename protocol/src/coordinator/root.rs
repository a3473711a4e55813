//! The root jobs of runs: which hosts have them, and what happens to them.

use std::collections::{BTreeMap, BTreeSet};

use sateen_abi::outcome;

use crate::limits::SETTLE_MAX;
use crate::message::{Departure, JobNote, RootClaim, ToHost};
use crate::{AssignmentId, EntryState, Finished, HostId, Outcome, RunEnd, RunId, RunState, Time};

use super::answers::Answer;
use super::root_job::RootBefore;
use super::run::CoordinatorRun;
use super::slices::Slice;
use super::{Coordinator, Event, Misbehaviour};

/// Among more hosts than these, a root's host is chosen from a random sample.
const CANDIDATES_MAX: usize = 64;
impl Coordinator {
    /// Proves that the coordinator assigned a run's root job under this number. Derived instead of stored, so that
    /// a restarted coordinator still accepts it.
    pub(super) fn root_proof(&self, run: RunId, number: AssignmentId) -> u64 {
        let mut hasher = blake3::Hasher::new_keyed(&self.config.secret);
        hasher.update(b"root");
        hasher.update(&run.0.to_le_bytes());
        hasher.update(&number.0.to_le_bytes());
        let mut proof = [0; 8];
        proof.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
        u64::from_le_bytes(proof)
    }

    /// Checks the proofs of root jobs that a host comes back with.
    pub(super) fn check_claims(&self, claims: &[RootClaim]) -> Result<(), Misbehaviour> {
        let is_proved = |claim: &RootClaim| claim.proof == self.root_proof(claim.run, claim.number);
        if claims.iter().all(is_proved) { Ok(()) } else { Err(Misbehaviour::NotItsRoot) }
    }

    /// A host is back without root jobs that were assigned to it: the messages were lost with the link.
    pub(super) fn take_unclaimed_roots(&mut self, now: Time, host: HostId, claims: &[RootClaim]) {
        let unclaimed: Vec<(RunId, AssignmentId)> = (self.runs.active())
            .filter_map(|(run, coordinator_run)| {
                let (_, number) =
                    coordinator_run.root.assigned().filter(|(assigned, _)| *assigned == host)?;
                let has_it = claims.iter().any(|claim| claim.run == run && claim.number == number);
                (!has_it).then_some((run, number))
            })
            .collect();
        for (run, number) in unclaimed {
            if let Some(coordinator_run) = self.runs.get_mut(&run) {
                coordinator_run.root.disclaim(host, number);
                // If it had begun the root, it could not continue with it, and has not said so yet.
                coordinator_run.count_root_given_back(host);
                self.outputs.event(Event::RootGivenBack(run, host));
            }
            // The host has started over.
            self.take_root(now, run, Departure::Crashed);
        }
    }

    /// A host reports what happened to jobs.
    pub(super) fn on_root_notes(&mut self, host: HostId, run: RunId, notes: &[JobNote]) {
        let Some(coordinator_run) = self.runs.get_mut(&run) else { return };
        if let Some(gave_back) = coordinator_run.root.hear(host, notes) {
            coordinator_run.tally.count_root_given_back(gave_back);
            self.outputs.event(Event::RootGivenBack(run, gave_back));
        }
    }

    pub(super) fn on_ready(&mut self, now: Time, host: HostId, run: RunId) {
        let Some(is_of_this_turn) = self.note_loaded(run, host) else { return };
        // One that is out has sent this before it learned so.
        if !self.working.contains(host) || self.is_out(host, run) {
            return;
        }
        let Some(coordinator_run) = self.runs.get_mut(&run) else { return };
        if !coordinator_run.turn.is_active() {
            self.wake_turn(now, run);
        } else if is_of_this_turn {
            coordinator_run.readiness.set_ready(host);
            self.send_earlier(now, host, run);
            self.assign_roots(now);
            self.look_at_checks(now, run);
        }
    }

    pub(super) fn on_unready(&mut self, now: Time, host: HostId, run: RunId, reason: String) {
        if !self.was_given(host, run) {
            return;
        }
        let Some(coordinator_run) = self.runs.get_mut(&run) else { return };
        if self.working.contains(host) {
            coordinator_run.readiness.set_unready(host, reason.clone());
        }
        self.note_unready(run);
        self.outputs.event(Event::Unready(run, host, reason));
        if self.runs.get(&run).is_some_and(|run| run.root.host() == Some(host)) {
            // It has sent its notes, and gives its jobs back like a host that leaves.
            self.take_root(now, run, Departure::Left);
            self.assign_roots(now);
        }
    }

    /// A host that comes back still has the root job, and has proved it.
    pub(super) fn claim_root(&mut self, now: Time, host: HostId, claim: &RootClaim, was_missing: bool) {
        let RootClaim { run, number, .. } = *claim;
        if self.is_out(host, run) {
            return;
        }
        let Some(coordinator_run) = self.runs.get_mut(&run) else { return };
        // Also for a suspended run: its root may have ended before its host received the suspension.
        coordinator_run.root.claim(host, number);
        if !coordinator_run.turn.is_active() || coordinator_run.is_checking() {
            return;
        }
        match coordinator_run.root.assigned() {
            // The message that withdrew it was lost with a link.
            Some((root_host, _)) if root_host != host && coordinator_run.root.is_withdrawn(host, number) => {
                self.send(host, ToHost::Withdraw { run, number });
            }
            Some((root_host, other)) if root_host != host => {
                // After a restart the root was not assigned again: both have had it since before.
                let may_have_it_back = was_missing || self.missing.is_awaiting();
                if number > other {
                    // It was withdrawn before the restart, which is no longer known: without a
                    // restart, a root with a greater number than this is withdrawn.
                    self.withdraw_root(run, host, number);
                } else if number < other && may_have_it_back && self.working.contains(host) {
                    self.give_root_back(now, run, (host, number), (root_host, other));
                }
            }
            Some(_) | None => {
                coordinator_run.root.keep(host, number);
                self.set_state(run, RunState::Running);
                self.begin_time(now, run);
            }
        }
    }

    /// The root's host was away for a moment, and another has begun the root meanwhile: the first has done more of
    /// it, and one is enough. If the other finishes before it receives the withdrawal, its result counts.
    fn give_root_back(
        &mut self,
        now: Time,
        run: RunId,
        (host, number): (HostId, AssignmentId),
        (other, withdrawn): (HostId, AssignmentId),
    ) {
        let Some(coordinator_run) = self.runs.get_mut(&run) else { return };
        coordinator_run.root.keep(host, number);
        self.withdraw_root(run, other, withdrawn);
        self.introduce_master(now, run, host);
        self.broadcast(now, ToHost::Master { run, host });
        self.outputs.event(Event::RootKept { run, host, dropped_by: other });
    }

    /// A host must not continue a root job: an earlier host has it.
    fn withdraw_root(&mut self, run: RunId, host: HostId, number: AssignmentId) {
        if let Some(coordinator_run) = self.runs.get_mut(&run) {
            coordinator_run.root.withdraw(host, number);
            self.send(host, ToHost::Withdraw { run, number });
        }
    }

    /// Assigns unassigned root jobs to hosts that can run them.
    pub(super) fn assign_roots(&mut self, now: Time) {
        if self.missing.is_awaiting() {
            return;
        }
        let is_giving_up = self.silence.is_giving_up(now);
        let is_free = |coordinator_run: &CoordinatorRun| {
            !coordinator_run.is_checking()
                && coordinator_run.root.is_free(now, |epoch| self.has_settled(epoch) && !is_giving_up)
        };
        let free: Vec<RunId> = self
            .runs
            .active()
            .filter(|(_, coordinator_run)| is_free(coordinator_run))
            .map(|(run, _)| run)
            .collect();
        for run in free {
            self.assign_root(now, run);
        }
    }

    fn assign_root(&mut self, now: Time, run: RunId) {
        let Some(coordinator_run) = self.runs.get_mut(&run) else { return };
        let before = coordinator_run.root.take_before();
        if before != RootBefore::Nobody {
            // Its host went while the coordinator was away.
            coordinator_run.root.lose();
            coordinator_run.note_root_begun(Departure::Crashed);
            if let Some(host) = before.host() {
                self.outputs.event(Event::RootLost(run, host));
            }
        }
        if self.use_earlier_result(now, run) {
            return;
        }
        let Some(coordinator_run) = self.runs.get(&run) else { return };
        let known = coordinator_run
            .ledger
            .table()
            .get(&coordinator_run.root.spec().key)
            .map(|entry| entry.state.clone());
        let orphan = match known {
            Some(EntryState::Done(finished)) => return self.finish(now, run, None, finished),
            Some(EntryState::Running(host)) if self.hosts.contains_key(&host) => Some(host),
            _ => None,
        };
        let Some(host) = orphan.or_else(|| self.choose_root_host(run)) else { return };
        let Some(coordinator_run) = self.runs.get_mut(&run) else { return };
        let (number, mut spec) = coordinator_run.root.assign(host, coordinator_run.ledger.table());
        if spec.redone {
            spec.lookup_below = coordinator_run.ledger.table().depth_below(spec.key.tag());
            let ledger = &coordinator_run.ledger;
            if ledger.has_only_earlier() && ledger.is_earlier_with_all() {
                self.subscribe(host, &Answer::unasked(run, spec.key));
            } else {
                self.send_ahead(now, host, Answer::unasked(run, spec.key));
            }
        }
        let proof = self.root_proof(run, number);
        self.send(host, ToHost::Assign { run, number, proof, spec });
        self.introduce_master(now, run, host);
        self.broadcast(now, ToHost::Master { run, host });
        self.outputs.event(Event::RootAssigned(run, host));
        self.set_state(run, RunState::Running);
        self.begin_time(now, run);
    }

    /// A host that steals only from the master must know it.
    fn introduce_master(&mut self, now: Time, run: RunId, master: HostId) {
        if self.runs.get(&run).is_some_and(CoordinatorRun::is_of_master_and_workers) {
            self.in_slices(now, Slice::IntroduceMaster { after: None, run, master });
        }
    }

    /// A ready host with the fewest roots; among many, one of a random sample.
    fn choose_root_host(&mut self, run: RunId) -> Option<HostId> {
        let mut of_host: BTreeMap<HostId, usize> = BTreeMap::new();
        for host in self.runs.active().filter_map(|(_, coordinator_run)| coordinator_run.root.host()) {
            *of_host.entry(host).or_default() += 1;
        }
        let roots = |host: HostId| of_host.get(&host).copied().unwrap_or_default();
        let ready = self.runs.get(&run)?.readiness.ready();
        let mut candidates: BTreeSet<HostId> = if ready.len() <= CANDIDATES_MAX {
            ready.iter().copied().collect()
        } else {
            (0..CANDIDATES_MAX).map(|_| ready[self.random.below(ready.len())]).collect()
        };
        candidates.retain(|host| {
            let is_linked = self.hosts.get(host).is_some_and(|state| state.link.is_some());
            is_linked && !self.lookups.is_sent_earlier(*host, run)
        });
        let ready: Vec<(usize, HostId)> = candidates.into_iter().map(|host| (roots(host), host)).collect();
        let fewest = ready.iter().map(|(roots, _)| *roots).min()?;
        let best: Vec<HostId> =
            ready.into_iter().filter(|(roots, _)| *roots == fewest).map(|(_, host)| host).collect();
        Some(best[self.random.below(best.len())])
    }

    /// Its host has crashed.
    pub(super) fn lose_root(&mut self, now: Time, run: RunId, host: HostId) {
        let Some(coordinator_run) = self.runs.get_mut(&run) else { return };
        coordinator_run.root.lose();
        self.outputs.event(Event::RootLost(run, host));
        self.take_root(now, run, Departure::Crashed);
    }

    /// Its host does not continue it.
    pub(super) fn take_root(&mut self, now: Time, run: RunId, how: Departure) {
        let epoch = self.newsroom.epoch();
        let Some(coordinator_run) = self.runs.get_mut(&run) else { return };
        if let Some(host) = coordinator_run.root.take().filter(|_| how == Departure::Left) {
            coordinator_run.count_root_given_back(host);
            self.outputs.event(Event::RootGivenBack(run, host));
        }
        coordinator_run.note_root_begun(how);
        coordinator_run.root.hold_back(epoch, now + SETTLE_MAX);
    }

    /// The run whose result a host has under this number. `None` if it does not count any longer: the run is over, or was
    /// suspended since.
    pub(super) fn run_of_result(
        &self,
        host: HostId,
        run: RunId,
        number: AssignmentId,
    ) -> Result<Option<&CoordinatorRun>, Misbehaviour> {
        match self.runs.get(&run) {
            Some(coordinator_run) if coordinator_run.root.is_claimed(host, number) => {
                Ok(Some(coordinator_run))
            }
            Some(coordinator_run) if !coordinator_run.root.is_outdated(host, number) => {
                Err(Misbehaviour::NotItsRoot)
            }
            _ => Ok(None),
        }
    }

    pub(super) fn on_root_finished(
        &mut self,
        now: Time,
        host: HostId,
        run: RunId,
        number: AssignmentId,
        finished: Finished,
    ) -> Result<(), Misbehaviour> {
        if self.runs.checks.get(&run).is_some() {
            return self.on_check_finished(now, host, run, number, finished);
        }
        if let Some(coordinator_run) = self.run_of_result(host, run, number)?
            && !self.is_out(host, run)
        {
            let is_suspended = matches!(coordinator_run.state, RunState::Suspended | RunState::Suspending);
            if is_suspended || coordinator_run.turn.is_active() || coordinator_run.turn.is_dropped() {
                self.finish(now, run, Some(host), finished);
            }
        }
        self.send(host, ToHost::Acknowledged { run, number });
        Ok(())
    }

    /// The root has a result, from a host or from the result table.
    fn finish(&mut self, now: Time, run: RunId, from: Option<HostId>, finished: Finished) {
        if self.runs.get(&run).is_some_and(|run| run.validation.is_some()) {
            return self.check_root(now, run, from, finished);
        }
        let state = state_of(&finished);
        self.end(now, run, RunEnd::Finished(finished), state);
    }
}

/// The state of a run whose root has this outcome.
pub fn state_of(finished: &Finished) -> RunState {
    match &finished.outcome {
        Outcome::Done(bytes) if is_result(bytes) => RunState::Done,
        Outcome::Done(_) | Outcome::Failed(_) => RunState::Failed,
    }
}

/// Whether an entry point's outcome is a result and not an error; see [`MainOutcome`](crate::MainOutcome).
fn is_result(encoded: &[u8]) -> bool {
    encoded.first().is_some_and(|kind| [outcome::TEXT, outcome::BYTES].contains(&u32::from(*kind)))
}

#[cfg(test)]
mod tests;
