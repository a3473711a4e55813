//! Has units of a run computed again, by owners that have not computed them before.
//!
//! ```text
//! StartRun ─► Ready ─► Entries, Assign ─► RootFinished ─► Acknowledged      and so on, until
//! StopRun
//! ```
//!
//! A checker is drawn after the unit was reported. To it, a check is a run of its own, of which no other host knows: it steals
//! nothing and records nothing, and all that it gets are the verified results of jobs below the unit, as a host that
//! begins a lost job again.
//!
//! A quorum is checked once the root has a result, an audit from the first unit on. What an audit gives to a checker may be a lie,
//! and the same unit may have to be checked again with something else, or one below it: so a unit with results below it is checked
//! in a run of its own.

mod liars;
mod outcomes;

use std::collections::BTreeSet;

use crate::limits::{CHECK_LATE_MIN, CHECK_SLOWNESS, CHECKER_CANDIDATES_MAX, UNITS_LOOKED_AT_ONCE_MAX};
use crate::message::ToHost;
use crate::{
    Entry, FaultTolerance, Finished, HostId, JobKey, JobSpec, RunEnd, RunId, RunSpec, RunState, Stealing,
    Time, Trust, Unit,
};

use super::checkers::Check;
use super::claims::{Claims, Owner, Verified};
use super::run::CoordinatorRun;
use super::validation::Validation;
use super::{Coordinator, Misbehaviour};

/// Set in the id of each run in which a host checks units. Coordinators number their runs from 1.
const CHECK: u64 = 1 << 62;

impl CoordinatorRun {
    /// Whether the root has a result, and it is being checked.
    pub fn is_checking(&self) -> bool {
        self.validation.as_ref().is_some_and(|validation| validation.is_checking())
    }

    /// Whether units may be checked now. One that is suspended, or waits for its turn, continues when hosts have loaded it again.
    fn may_be_checked(&self) -> bool {
        let may = |validation: &Validation| validation.is_checking() || validation.is_audit();
        self.turn.is_active() && self.validation.as_deref().is_some_and(may)
    }
}

impl Coordinator {
    /// The run whose results a host checks in the run with this id, if that is what the id stands for.
    pub fn checked_run(&self, check: RunId) -> Option<RunId> {
        self.runs.checks.get(&check).map(|(run, _)| run)
    }

    fn owner_of(&self, host: HostId) -> Option<Owner> {
        self.hosts.get(&host).map(|state| state.report.key)
    }

    pub(super) fn validation(&mut self, run: RunId) -> Option<&mut Validation> {
        self.runs.get_mut(&run)?.validation.as_deref_mut()
    }

    // ---- what hosts say of a run ----

    /// A host reports a unit. Units of unknown runs, and of hosts that took no part, are ignored.
    pub(super) fn on_unit(&mut self, now: Time, host: HostId, run: RunId, unit: Unit) {
        let Some(owner) = self.owner_of(host).filter(|_| self.may_record(host, run)) else { return };
        let Some(coordinator_run) = self.runs.get_mut(&run) else { return };
        if let Some(validation) = &mut coordinator_run.validation {
            validation.claim((owner, host), unit, self.over.standings.verified(&owner));
            self.look_at_checks(now, run);
        }
    }

    /// The root of a run whose results are checked has a result, from a host or from the result table.
    pub(super) fn check_root(&mut self, now: Time, run: RunId, from: Option<HostId>, finished: Finished) {
        let from = from.and_then(|host| Some((self.owner_of(host)?, host)));
        let Some(coordinator_run) = self.runs.get_mut(&run) else { return };
        coordinator_run.root.take();
        if let Some(validation) = &mut coordinator_run.validation {
            validation.deliver_root(now, from, RunEnd::Finished(finished));
        }
        self.look_at_checks(now, run);
    }

    /// A host says that the run must end, as a limit was exceeded or a job failed for good. If results are checked, this is
    /// one host's claim: it takes no further part, and the run ends if others find the same when they do its jobs.
    pub(super) fn on_verdict(
        &mut self,
        now: Time,
        host: HostId,
        run: RunId,
        end: RunEnd,
    ) -> Result<(), Misbehaviour> {
        if self.runs.checks.get(&run).is_some() {
            return self.on_check_failed(now, host, run, Some(end));
        }
        if !self.takes_part(host, run) {
            return Ok(());
        }
        let owner = self.owner_of(host);
        let Some(coordinator_run) = self.runs.get_mut(&run) else { return Ok(()) };
        let (Some(validation), Some(owner)) = (&mut coordinator_run.validation, owner) else {
            self.end(now, run, end, RunState::Failed);
            return Ok(());
        };
        if let Some(end) = validation.judge(owner, end) {
            self.end(now, run, end, RunState::Failed);
        } else {
            coordinator_run.readiness.set_unready(host, "it says that the run cannot continue".to_owned());
            self.note_unready(run);
            self.have_dropped(run, host);
        }
        Ok(())
    }

    /// Whether a host takes no further part in a run, as it says that the run must end, or is proven to lie.
    pub(super) fn is_out(&self, host: HostId, run: RunId) -> bool {
        let validation = self.runs.get(&run).and_then(|run| run.validation.as_deref());
        let owner = self.owner_of(host);
        let is_out = |(validation, owner): (&Validation, Owner)| {
            validation.has_verdict(&owner) || validation.is_liar(&owner)
        };
        validation.zip(owner).is_some_and(is_out)
    }

    // ---- which hosts check what ----

    /// Gives units that need checks to hosts that have room for them, and ends the run when its root is verified.
    pub(super) fn look_at_checks(&mut self, now: Time, run: RunId) {
        // A unit that no other owner can check may be settled by that: a liar is found, or the root is verified.
        while self.give_checks(now, run) {}
    }

    /// Returns whether more follows from the checks that could not be given.
    fn give_checks(&mut self, now: Time, run: RunId) -> bool {
        self.cut_liars_off(now, run);
        self.withdraw_checks(run);
        let may_be_checked = self.runs.get(&run).is_some_and(CoordinatorRun::may_be_checked);
        let Some(validation) = self.validation(run).filter(|_| may_be_checked) else { return false };
        if let Some(verified) = validation.end() {
            let verified = verified.clone();
            self.conclude(now, run, verified);
            return false;
        }
        if validation.hungry(1).is_empty() {
            return false;
        }
        let candidates = self.candidates();
        while let Some(validation) = self.validation(run)
            && candidates.iter().any(|(host, _)| validation.checkers.has_room(*host))
        {
            // Units that need a run of their own come first, and hosts for which they wait are given no others.
            let hungry = validation.hungry(UNITS_LOOKED_AT_ONCE_MAX);
            let (apart, others): (Vec<JobKey>, Vec<JobKey>) =
                hungry.into_iter().partition(|key| validation.is_checked_apart(key));
            let mut reserved = BTreeSet::new();
            let mut is_any_given = false;
            for key in apart.into_iter().chain(others) {
                is_any_given |= self.find_checker(now, run, key, &candidates, &mut reserved);
            }
            if !is_any_given {
                break;
            }
        }
        let Some(validation) = self.validation(run) else { return false };
        if candidates.is_empty() {
            let hungry = validation.hungry(usize::MAX);
            hungry.into_iter().for_each(|key| validation.starve(now, key));
        }
        validation.has_news()
    }

    /// The hosts among which a checker is drawn.
    fn candidates(&mut self) -> Vec<(HostId, Owner)> {
        let mut hosts: Vec<HostId> = if self.working.len() <= CHECKER_CANDIDATES_MAX {
            self.working.iter().copied().collect()
        } else {
            // Ids are drawn at random themselves.
            let drawn = (0..CHECKER_CANDIDATES_MAX).filter_map(|_| {
                let after = Some(HostId(self.random.next_u64()));
                let next = self.working.after(after, 1).first().copied();
                next.or_else(|| self.working.iter().next().copied())
            });
            drawn.collect()
        };
        hosts.sort_unstable();
        hosts.dedup();
        let is_open = |host: &HostId| self.hosts.get(host).filter(|state| state.link.is_some());
        hosts.into_iter().filter_map(|host| Some((host, is_open(&host)?.report.key))).collect()
    }

    /// Gives a unit to a host, if one has room; if no host can check it, it waits for others. Returns whether either is so. A unit
    /// that is checked apart from others waits for a host that checks nothing else, for which those are reserved that could.
    fn find_checker(
        &mut self,
        now: Time,
        run: RunId,
        key: JobKey,
        candidates: &[(HostId, Owner)],
        reserved: &mut BTreeSet<HostId>,
    ) -> bool {
        let Some(validation) = self.validation(run) else { return false };
        let is_apart = validation.is_checked_apart(&key);
        let Some(unit) = validation.unit(&key) else { return false };
        let may_check = |(host, owner): &&(HostId, Owner)| {
            unit.may_be_checked_by(owner) && !validation.is_liar(owner) && validation.checkers.is_able(*host)
        };
        let able: Vec<(HostId, Owner)> = candidates.iter().filter(may_check).copied().collect();
        if able.is_empty() {
            validation.starve(now, key);
            return true;
        }
        let is_free = |host: &HostId| match is_apart {
            true => validation.checkers.is_idle(*host),
            false => validation.checkers.has_room(*host) && !reserved.contains(host),
        };
        let free: Vec<(HostId, Owner)> = able.iter().filter(|(host, _)| is_free(host)).copied().collect();
        if free.is_empty() {
            if is_apart {
                reserved.extend(able.iter().map(|(host, _)| *host));
            }
            return false;
        }
        let (host, owner) = free[self.random.below(free.len())];
        self.begin_check(now, run, (key, is_apart), (host, owner));
        true
    }

    fn begin_check(
        &mut self,
        now: Time,
        run: RunId,
        (key, is_apart): (JobKey, bool),
        (host, owner): (HostId, Owner),
    ) {
        if self.validation(run).is_some_and(|validation| is_apart || validation.checkers.has_given(host)) {
            self.stop_checker(run, host);
        }
        let is_new = self.validation(run).is_some_and(|validation| validation.checkers.get(host).is_none());
        if is_new {
            let check = self.new_check_id();
            self.runs.checks.begin(check, (run, host));
            if let Some(validation) = self.validation(run) {
                validation.checkers.add(host, owner, check);
            }
            self.start_check(run, host);
        }
        let Some(validation) = self.validation(run) else { return };
        let work_ns = validation.unit(&key).map_or(0, Claims::work_ns);
        let late_at = now + CHECK_LATE_MIN + CHECK_SLOWNESS * std::time::Duration::from_nanos(work_ns);
        validation.begin_check(&key, owner);
        if is_apart {
            validation.checkers.set_given(host);
        }
        if let Some((check, true)) = validation.checkers.begin(host, key, late_at) {
            self.send_check(run, host, check);
        }
    }

    fn new_check_id(&mut self) -> RunId {
        loop {
            let check = RunId(CHECK | self.random.next_u64() >> 2);
            if self.runs.checks.get(&check).is_none() {
                return check;
            }
        }
    }

    /// Gives a host the run in which it checks units.
    pub(super) fn start_check(&mut self, run: RunId, host: HostId) {
        let Some(coordinator_run) = self.runs.get(&run) else { return };
        let Some(checker) = coordinator_run.validation.as_ref().and_then(|it| it.checkers.get(host)) else {
            return;
        };
        let spec = RunSpec {
            stealing: Stealing::MasterWorker,
            fault_tolerance: FaultTolerance::RedoOnly,
            trust: Trust::Trust,
            ..(*coordinator_run.spec).clone()
        };
        let (run, spec) = (checker.check, std::sync::Arc::new(spec));
        self.send(host, ToHost::StartRun { run, spec });
    }

    /// Gives a host a unit, after all that is known below it.
    pub(super) fn send_check(&mut self, run: RunId, host: HostId, check: Check) {
        let Some(validation) = self.validation(run) else { return };
        let Some(unit) = validation.unit(&check.unit) else { return };
        let Some(checker) = validation.checkers.get(host) else { return };
        let (entries, lookup_below) = validation.known_below(unit);
        let spec = JobSpec { redone: !entries.is_empty(), lookup_below, ..unit.job().clone() };
        let (run, number) = (checker.check, check.number);
        for entries in Entry::batches(&entries) {
            self.send(host, ToHost::Entries { run, entries: entries.to_vec() });
        }
        let proof = self.root_proof(run, number);
        self.send(host, ToHost::Assign { run, number, proof, spec });
    }

    fn conclude(&mut self, now: Time, run: RunId, verified: Verified) {
        let verified_units = self.validation(run).map(|validation| validation.verified_units());
        for (owner, units) in verified_units.into_iter().flatten() {
            self.over.standings.raise(owner, units);
        }
        let why = "no host could compute the run's root job again to check its result";
        let end = match verified {
            Verified::Is(end) => end,
            Verified::Known(_) | Verified::Unknown => RunEnd::Unable(why.to_owned()),
        };
        let state = match &end {
            RunEnd::Finished(finished) => super::root::state_of(finished),
            _ => RunState::Failed,
        };
        self.end(now, run, end, state);
    }

    // ---- time ----

    pub(super) fn next_check(&self) -> Option<(Time, &'static str)> {
        let validations = self.runs.active().filter_map(|(_, run)| run.validation.as_ref());
        let times = validations.flat_map(|validation| {
            let late = validation.checkers.next_late().map(|at| (at, "a check takes long"));
            let missing = validation.awaits_until().map(|at| (at, "units have not been reported"));
            let retry = validation.retries_at().map(|at| (at, "hosts are asked again to check a unit"));
            late.into_iter().chain(missing).chain(retry)
        });
        times.min_by_key(|(at, _)| *at)
    }

    pub(super) fn time_out_checks(&mut self, now: Time) {
        if self.next_check().is_none_or(|(at, _)| now < at) {
            return;
        }
        for run in self.runs.active_ids() {
            let Some(validation) = self.validation(run) else { continue };
            validation.time_out(now);
            for (unit, owner) in validation.checkers.take_late(now) {
                validation.note_late(&unit, &owner);
            }
            self.look_at_checks(now, run);
        }
    }

    /// Why a run whose root has a result is not over.
    pub(super) fn reason_to_check(&self, coordinator_run: &CoordinatorRun) -> Option<String> {
        let validation = coordinator_run.validation.as_ref().filter(|validation| validation.is_checking())?;
        let checked = validation.checked();
        let done = format!("{} of {} units are checked", checked.units_checked, checked.units);
        if validation.checkers.checks_len() > 0 || validation.starved_len() == 0 {
            return Some(format!("its result is being checked: {done}"));
        }
        let (quorum, owners) = (validation.quorum(), validation.starved().map_or(0, Claims::votes_len));
        let drawn = if validation.is_audit() { " that is drawn" } else { "" };
        Some(format!(
            "its result is to be checked, and {quorum} hosts with different keys must agree on each unit{drawn}: {done}; {owners} \
             have computed the next one, and no other host that could is connected; start more hosts, each with its own \
             data folder"
        ))
    }
}

#[cfg(test)]
mod tests;
