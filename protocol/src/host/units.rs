//! What this host has computed of a run whose results are checked: see [`Unit`].

use crate::limits::{CHECKED_RESULT_BYTES_MAX, UNIT_PARAMETERS_BYTES_MAX, UNITS_BYTES_MAX, UNITS_MAX};
use crate::message::ToCoordinator;
use crate::{Finished, HeldId, JobSpec, RunId, RuntimeJobId, Unit};

use super::held::{Held, Owner};
use super::stage::Stage;
use super::{Host, RunCommand};

/// The units of a run that this host has computed, kept until the run is over: a coordinator that is started again is sent them
/// again.
#[derive(Debug, Default)]
pub struct Units {
    kept: Vec<Unit>,
    bytes: usize,
}

impl Units {
    /// Adds a unit, if there is room; returns whether there was.
    fn keep(&mut self, unit: Unit) -> bool {
        let bytes = unit.bytes();
        let has_room = self.kept.len() < UNITS_MAX && self.bytes + bytes <= UNITS_BYTES_MAX;
        if has_room {
            self.bytes += bytes;
            self.kept.push(unit);
        }
        has_room
    }
}

impl Host {
    /// A lent or looked-up job has a result, which the runtime is given.
    pub(super) fn complete(
        &mut self,
        run: RunId,
        (number, spec): (RuntimeJobId, &JobSpec),
        finished: Finished,
        is_found_again: bool,
    ) {
        if let Some(host_run) = self.runs.get_mut(&run).filter(|run| run.spec.trust.is_checked())
            && let Some(id) = host_run.held.nearest(&spec.lineage.0)
            && let Some(held) = host_run.held.get_mut(id)
        {
            held.taken.take(spec, &finished);
        }
        self.unpolled.command(RunCommand::Complete { number, finished, is_found_again }.of(run));
    }

    /// A held job has ended here: this host commits to what it has computed.
    pub(super) fn report_unit(&mut self, run: RunId, id: HeldId) {
        let is_connected = self.is_connected();
        let Some(host_run) = self.runs.get_mut(&run).filter(|run| run.spec.trust.is_checked()) else {
            return;
        };
        let is_audited = host_run.spec.trust.audited().is_some();
        let Some(held) = host_run.held.get_mut(id) else { return };
        let Some(unit) = unit_of(held, is_audited) else { return };
        let is_kept = host_run.reporting.units_mut().keep(unit.clone());
        if is_kept && is_connected && host_run.stage != Stage::Loading {
            self.tell_coordinator(ToCoordinator::Unit { run, unit: Box::new(unit) });
        }
    }

    /// The coordinator may not have received the units of a run.
    pub(super) fn report_units_again(&mut self, run: RunId) {
        let Some(host_run) = self.runs.get(&run).filter(|run| run.stage != Stage::Loading) else { return };
        let units: Vec<Unit> = host_run.reporting.units().kept.clone();
        for unit in units {
            self.tell_coordinator(ToCoordinator::Unit { run, unit: Box::new(unit) });
        }
    }

    /// A job of the coordinator that is not a root goes back, which happens only to one that is computed again to be checked:
    /// this host cannot check results of the run.
    pub(super) fn decline_check(&mut self, run: RunId, owners: &[Owner]) {
        if owners.iter().any(|owner| matches!(owner, Owner::Coordinator(_))) {
            self.become_unable(run, "it cannot compute a job whose result is to be checked".to_owned());
        }
    }
}

/// A held job that has ended, as a unit. A job that mentions shared objects is none: its outcome depends on updates that the
/// unit does not have. Neither is one with large parameters. For an audit, it has its outcome with it.
fn unit_of(held: &mut Held, is_audited: bool) -> Option<Unit> {
    let outcome = &held.finished()?.outcome;
    let result = outcome.hash();
    let outcome = (is_audited && outcome.bytes().len() <= CHECKED_RESULT_BYTES_MAX).then(|| outcome.clone());
    let work_ns = held.finished()?.work_ns;
    let spec = held.spec();
    if !spec.objects.is_empty() || spec.parameters.len() > UNIT_PARAMETERS_BYTES_MAX {
        return None;
    }
    let (redone, given_back, lookup_below) = (false, false, 0);
    let job = JobSpec { redone, given_back, lookup_below, ..spec.clone() };
    let (children, taken_ns) = std::mem::take(&mut held.taken).into_parts();
    Some(Unit { job, result, work_ns: work_ns.saturating_sub(taken_ns), children, outcome })
}

#[cfg(test)]
mod tests {
    use super::super::bonds::job;
    use super::super::lent::{Loan, LoanState};
    use super::super::tests::{ME, PEER, RUN, host, said, spec, welcome};
    use super::super::{Notice, Transmit};
    use super::*;
    use crate::message::{PeerMessage, ToHost};
    use crate::{AssignmentId, Lineage, Mention, Outcome, Time, Trust, UnitChild, root_job};

    const NOW: Time = Time(0);
    const ROOT: AssignmentId = AssignmentId(1);

    fn finished(value: u8, work_ns: u64) -> Finished {
        Finished { outcome: Outcome::Done(vec![value].into()), work_ns, span_ns: 1 }
    }

    /// A host with the root of a run of this policy.
    fn with_root(trust: Trust) -> (Host, HeldId) {
        let mut host = host();
        host.runs.get_mut(&RUN).expect("it takes part").spec.trust = trust;
        let assign = ToHost::Assign { run: RUN, number: ROOT, proof: 9, spec: root_job(&spec()) };
        host.handle_from_coordinator(NOW, assign);
        let held = host.runs[&RUN].held.tokens().next().expect("the root");
        said(&mut host);
        (host, held)
    }

    fn units(host: &mut Host) -> Vec<Unit> {
        let said = said(host).into_iter();
        let units = said.filter_map(|transmit| match transmit {
            Transmit::ToCoordinator(ToCoordinator::Unit { unit, .. }) => Some(*unit),
            _ => None,
        });
        units.collect()
    }

    /// A thief returns the result of a job below the root.
    fn get_result(host: &mut Host, number: u8, value: u8) {
        let host_run = host.runs.get_mut(&RUN).expect("it takes part");
        let here = host_run.numbers.new_loan();
        let lineage = Lineage(vec![root_job(&spec()).key.tag()]);
        let spec = JobSpec { lineage, depth: 3, ..job(number) };
        let lent = Loan::new(NOW, RuntimeJobId(number.into()), spec, PEER, LoanState::Agreed, 0);
        host_run.loans.lend(here, lent);
        let message = PeerMessage::Result { run: RUN, number: here, finished: finished(value, 10) };
        host.handle_from_peer(NOW, PEER, message);
    }

    #[test]
    fn a_unit_names_what_its_executor_took_from_others() {
        for (trust, is_reported) in [(Trust::Quorum(2), true), (Trust::Trust, false), (Trust::Audit(1), true)]
        {
            let (mut host, held) = with_root(trust);
            get_result(&mut host, 5, 55);
            get_result(&mut host, 6, 66);
            host.handle_notice(NOW, RUN, Notice::Finished { held, finished: finished(1, 100) });
            let children = [(5, 55), (6, 66)].map(|(number, value)| UnitChild {
                key: job(number).key,
                depth: 3,
                result: finished(value, 1).outcome.hash(),
            });
            let (result, job) = (finished(1, 1).outcome.hash(), root_job(&spec()));
            let outcome = trust.audited().map(|_| finished(1, 1).outcome);
            let unit = Unit { job, result, work_ns: 80, children: children.to_vec(), outcome };
            let expected = if is_reported { vec![unit] } else { Vec::new() };
            assert_eq!(units(&mut host), expected, "{trust}");
        }
    }

    #[test]
    fn units_are_reported_again_to_a_coordinator_that_was_away() {
        let (mut host, held) = with_root(Trust::Quorum(2));
        host.handle_disconnected(NOW);
        host.handle_notice(NOW, RUN, Notice::Finished { held, finished: finished(1, 100) });
        assert!(units(&mut host).is_empty());
        for _ in 0..2 {
            host.handle_connected(NOW);
            host.handle_from_coordinator(NOW, welcome(ME, 5));
            assert_eq!(units(&mut host).len(), 1);
            host.handle_disconnected(NOW);
        }
    }

    #[test]
    fn jobs_that_depend_on_more_than_their_unit_are_not_reported() {
        let large = vec![0; UNIT_PARAMETERS_BYTES_MAX + 1].into();
        let [object, creation] = [crate::shared::ObjectId([1; 16]); 2];
        let cases = [
            (job(1), true),
            (JobSpec { parameters: large, ..job(1) }, false),
            (JobSpec { objects: vec![Mention { object, creation }], ..job(1) }, false),
        ];
        for (spec, is_reported) in cases {
            let mut held = Held::done(NOW, spec, Owner::Here(RuntimeJobId(1)), finished(1, 1));
            assert_eq!(unit_of(&mut held, false).is_some(), is_reported);
        }
        let mut running = Held::new(NOW, job(1), Owner::Here(RuntimeJobId(1)));
        assert_eq!(unit_of(&mut running, false), None);
        let outcome = Outcome::Done(vec![0; CHECKED_RESULT_BYTES_MAX + 1].into());
        let large = Finished { outcome, work_ns: 1, span_ns: 1 };
        let mut held = Held::done(NOW, job(1), Owner::Here(RuntimeJobId(1)), large);
        assert_eq!(unit_of(&mut held, true).expect("it is reported").outcome, None, "its hash must do");
    }

    #[test]
    fn kept_units_are_bounded() {
        let unit = Unit {
            job: JobSpec { parameters: vec![0; UNIT_PARAMETERS_BYTES_MAX].into(), ..job(1) },
            result: finished(1, 1).outcome.hash(),
            work_ns: 1,
            children: Vec::new(),
            outcome: None,
        };
        let mut units = Units::default();
        let kept = (0..UNITS_MAX).filter(|_| units.keep(unit.clone())).count();
        assert!(kept == units.kept.len() && kept < UNITS_MAX && units.bytes <= UNITS_BYTES_MAX);
    }
}
