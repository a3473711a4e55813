//! What checkers say, and what becomes of their checks when they come and go.

use crate::message::ToHost;
use crate::{AssignmentId, Counts, Finished, HostId, JobKey, RunEnd, RunId, RunState, Time};

use super::super::claims::Owner;
use super::super::validation::Validation;
use super::super::{Coordinator, Misbehaviour};

impl Coordinator {
    // ---- what checkers say ----

    /// A host has loaded the app to check units. It may have lost what it was given before.
    pub(in crate::coordinator) fn on_check_ready(
        &mut self,
        host: HostId,
        check: RunId,
    ) -> Result<(), Misbehaviour> {
        let run = self.run_of_check(host, check)?;
        let checks = self.validation(run).map(|validation| validation.checkers.set_ready(host));
        for check in checks.unwrap_or_default() {
            self.send_check(run, host, check);
        }
        Ok(())
    }

    /// A host has computed a unit again.
    pub(in crate::coordinator) fn on_check_finished(
        &mut self,
        now: Time,
        host: HostId,
        check: RunId,
        number: AssignmentId,
        finished: Finished,
    ) -> Result<(), Misbehaviour> {
        let run = self.run_of_check(host, check)?;
        self.send(host, ToHost::Acknowledged { run: check, number });
        let Some(validation) = self.validation(run) else { return Ok(()) };
        let owner = validation.checkers.get(host).map(|checker| checker.owner);
        if let (Some(owner), Some(ended)) = (owner, validation.checkers.end(host, number)) {
            self.answer_check(now, run, ended.unit, (owner, host), RunEnd::Finished(finished));
        }
        Ok(())
    }

    /// A host cannot continue to check units: a limit was exceeded or a job failed for good, as `end` says, or it cannot
    /// take part. If it had several units, it is not known which one is to blame: it gets them one at a time.
    pub(in crate::coordinator) fn on_check_failed(
        &mut self,
        now: Time,
        host: HostId,
        check: RunId,
        end: Option<RunEnd>,
    ) -> Result<(), Misbehaviour> {
        let run = self.run_of_check(host, check)?;
        let Some((owner, checks, was_ready)) = self.stop_checker(run, host) else { return Ok(()) };
        let Some(validation) = self.validation(run) else { return Ok(()) };
        if !was_ready {
            validation.checkers.set_unable(host);
        }
        match (checks.as_slice(), end) {
            ([unit], Some(end)) => self.answer_check(now, run, *unit, (owner, host), end),
            ([unit], None) if was_ready => validation.refuse(*unit, owner),
            _ => {
                validation.checkers.set_alone(host);
                checks.iter().for_each(|unit| validation.end_check(unit, &owner));
            }
        }
        self.look_at_checks(now, run);
        Ok(())
    }

    /// A host that checks units, or did so a moment ago, counts what it does. The time that this takes counts towards the run's
    /// limit. False if it does not check any.
    pub(in crate::coordinator) fn on_check_counts(
        &mut self,
        host: HostId,
        check: RunId,
        series: u64,
        counts: &Counts,
    ) -> bool {
        if let Some((run, checker)) = self.runs.checks.get(&check) {
            if let Some(validation) = self.validation(run).filter(|_| checker == host) {
                let more_ns = validation.count_check(host, series, counts);
                self.runs.checks.add_work(more_ns);
            }
            return true;
        }
        let late = self.runs.checks.count_late(host, check, series, counts.work_ns);
        let Some((run, more_ns)) = late else { return false };
        let over = self.over.get_mut(&run).map(|over| &mut *over.coordinator_run);
        let coordinator_run = self.runs.get_mut(&run).or(over);
        if let Some(validation) = coordinator_run.and_then(|run| run.validation.as_deref_mut()) {
            validation.add_work(more_ns);
        }
        true
    }

    fn answer_check(
        &mut self,
        now: Time,
        run: RunId,
        unit: JobKey,
        (owner, host): (Owner, HostId),
        end: RunEnd,
    ) {
        let Some(validation) = self.validation(run) else { return };
        validation.answer(unit, (owner, host), end);
        if let Some(disputed) = validation.disputed(&unit) {
            let (votes, answers) = (disputed.votes_len(), disputed.answers_len());
            let quorum = validation.quorum();
            let reason = format!(
                "{votes} hosts computed job {unit} and found {answers} different results, and {quorum} must agree; if \
                 most hosts are honest, the app's results depend on more than its parameters and inputs"
            );
            return self.end(now, run, RunEnd::Unverified(reason), RunState::Failed);
        }
        // Hosts that still compute it need not.
        if validation.unit(&unit).is_some_and(|unit| unit.verified().is_some()) {
            validation.withdraw(&unit);
        }
        self.look_at_checks(now, run);
    }

    /// Notifies hosts of units that they need not compute any more.
    pub(super) fn withdraw_checks(&mut self, run: RunId) {
        let useless = self.validation(run).map(|validation| validation.checkers.take_useless());
        for (host, check, number) in useless.into_iter().flatten() {
            self.send(host, ToHost::Withdraw { run: check, number });
        }
    }

    /// The run that a host checks units of.
    fn run_of_check(&self, host: HostId, check: RunId) -> Result<RunId, Misbehaviour> {
        let known = self.runs.checks.get(&check).filter(|(_, checker)| *checker == host);
        known.map(|(run, _)| run).ok_or(Misbehaviour::NotItsRoot)
    }

    /// Whether a host computes a unit again under this number.
    pub(in crate::coordinator) fn has_check(&self, host: HostId, check: RunId, number: AssignmentId) -> bool {
        let of = self.runs.checks.get(&check).filter(|(_, checker)| *checker == host);
        let validation = of.and_then(|(run, _)| self.runs.get(&run)?.validation.as_ref());
        validation.is_some_and(|it| it.checkers.of(host).iter().any(|check| check.number == number))
    }

    // ---- hosts that come and go ----

    /// The runs in which a host checks units.
    pub(in crate::coordinator) fn checks_at(&self, host: HostId) -> Vec<RunId> {
        self.runs.checks.of(host).map(|(check, _)| check).collect()
    }

    /// A host is back, or new: it is given the runs in which it checks units again, and may check units that no other could.
    pub(in crate::coordinator) fn start_checks_at(&mut self, now: Time, host: HostId) {
        let runs: Vec<RunId> = self.runs.checks.of(host).map(|(_, run)| run).collect();
        for run in runs {
            self.start_check(run, host);
        }
        for run in self.runs.active_ids() {
            let is_checked = |validation: &&mut Validation| validation.is_checking() || validation.is_audit();
            if let Some(validation) = self.validation(run).filter(is_checked) {
                validation.checkers.forget(host);
                validation.feed();
                self.look_at_checks(now, run);
            }
        }
    }

    /// A host is gone: others check what it had.
    pub(in crate::coordinator) fn lose_checker(&mut self, now: Time, host: HostId) {
        let runs: Vec<RunId> = self.runs.checks.of(host).map(|(_, run)| run).collect();
        for run in runs {
            let Some((owner, checks, _)) = self.stop_checker(run, host) else { continue };
            if let Some(validation) = self.validation(run) {
                checks.iter().for_each(|unit| validation.end_check(unit, &owner));
            }
            self.look_at_checks(now, run);
        }
    }

    /// A host no longer checks units of a run; returns its owner, its units, and whether it had loaded the app.
    pub(super) fn stop_checker(&mut self, run: RunId, host: HostId) -> Option<(Owner, Vec<JobKey>, bool)> {
        let (checker, checks) = self.validation(run)?.checkers.remove(host)?;
        self.runs.checks.end(checker.check, checker.counted);
        self.send(host, ToHost::StopRun { run: checker.check });
        Some((checker.owner, checks.into_iter().map(|check| check.unit).collect(), checker.is_ready))
    }

    /// No host checks units of a run any more: it is over, or suspended.
    pub(in crate::coordinator) fn end_checks(&mut self, run: RunId, is_over: bool) {
        let Some(validation) = self.validation(run) else { return };
        let hosts: Vec<HostId> = validation.checkers.iter().map(|(host, _)| host).collect();
        for host in hosts {
            self.stop_checker(run, host);
        }
        if let Some(validation) = self.validation(run) {
            validation.stop(is_over);
        }
    }
}
