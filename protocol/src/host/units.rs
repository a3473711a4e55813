//! What this host has computed of a run whose results are checked: see [`Unit`].

use crate::limits::{UNIT_CHILDREN_MAX, UNIT_PARAMETERS_BYTES_MAX, UNITS_BYTES_MAX, UNITS_MAX};
use crate::message::ToCoordinator;
use crate::{Finished, HeldId, JobSpec, RunId, RuntimeJobId, Unit, UnitChild};

use super::held::{Held, Owner};
use super::stage::Stage;
use super::{Host, RunCommand};

/// The results that a held job, and the jobs below it that ran here, took from elsewhere.
#[derive(Debug, Default)]
pub struct Taken {
    children: Vec<UnitChild>,
    /// Processor time of all of them.
    work_ns: u64,
}

impl Taken {
    /// Adds a result.
    fn take(&mut self, spec: &JobSpec, finished: &Finished) {
        self.work_ns = self.work_ns.saturating_add(finished.work_ns);
        let (key, depth) = (spec.key, spec.depth);
        if self.children.len() < UNIT_CHILDREN_MAX && !self.children.iter().any(|child| child.key == key) {
            self.children.push(UnitChild { key, depth, result: finished.outcome.hash() });
        }
    }
}

/// The units of a run that this host has computed, kept until the run is over: a coordinator that is started again is told
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
            && let Some(token) = host_run.held.nearest(&spec.lineage.0)
            && let Some(held) = host_run.held.get_mut(token)
        {
            held.taken.take(spec, &finished);
        }
        self.unpolled.command(RunCommand::Complete { number, finished, is_found_again }.of(run));
    }

    /// A held job has ended here: this host commits to what it has computed.
    pub(super) fn report_unit(&mut self, run: RunId, token: HeldId) {
        let is_connected = self.is_connected();
        let Some(host_run) = self.runs.get_mut(&run).filter(|run| run.spec.trust.is_checked()) else { return };
        let Some(unit) = host_run.held.get_mut(token).and_then(unit_of) else { return };
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
/// unit does not have. Neither is one with large parameters.
fn unit_of(held: &mut Held) -> Option<Unit> {
    let result = held.finished()?.outcome.hash();
    let work_ns = held.finished()?.work_ns;
    let spec = held.spec();
    if !spec.objects.is_empty() || spec.parameters.len() > UNIT_PARAMETERS_BYTES_MAX {
        return None;
    }
    let (redone, given_back, lookup_below) = (false, false, 0);
    let job = JobSpec { redone, given_back, lookup_below, ..spec.clone() };
    let Taken { children, work_ns: taken_ns } = std::mem::take(&mut held.taken);
    Some(Unit { job, result, work_ns: work_ns.saturating_sub(taken_ns), children })
}
