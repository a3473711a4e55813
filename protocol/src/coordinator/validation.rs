//! The checking of one run's results: its units, and the order in which they are checked.
//!
//! ```text
//! Computing ──root has a result──► Awaiting ──all units are known, or late──► Checking ──root is verified──► over
//! ```
//!
//! While the run is computed, hosts report their units. Once the root has a result, the units that it was made of are verified
//! from the leaves up: those whose children all are verified, or cannot be, are computed again by owners that have not
//! computed them before, with the verified results of the children. So a wrong result goes no further than to the executor
//! of the unit above it: that unit's checkers are given the right one, and find the right outcome. A result below which
//! something is unknown, as a report was lost, is found again together with its unit.
//!
//! An audit (`audit`) believes what most units say, as long as they fit together, and has others computed again as soon as they
//! are reported.

mod audit;
mod plan;
mod told;

use std::collections::{BTreeMap, BTreeSet};

use crate::limits::{STARVED_REST, UNITS_BYTES_MAX, UNITS_LATE_MAX, UNITS_MAX};
use crate::{Counts, HostId, JobKey, JobSpec, RunEnd, Time, Trust, Unit, UnitChild};

use super::checkers::Checkers;
use super::claims::{Answer, Claims, Owner, Verified};
use audit::Audit;
use plan::Plan;
pub use told::{Caught, Checked};

#[derive(Debug, Default)]
enum Stage {
    #[default]
    Computing,
    /// The root has a result, and these units have not been reported.
    Awaiting {
        missing: BTreeSet<JobKey>,
        until: Time,
    },
    Checking,
}

/// That an owner lies.
#[derive(Debug, Clone, Copy)]
struct Proven {
    /// The host that gave the wrong result.
    host: HostId,
    /// Of this unit.
    unit: JobKey,
}

/// The checking of a run's results.
#[derive(Debug)]
pub struct Validation {
    quorum: usize,
    root: JobKey,
    units: BTreeMap<JobKey, Claims>,
    bytes: usize,
    stage: Stage,
    plan: Plan,
    liars: BTreeMap<Owner, Proven>,
    /// What owners say that ends the run.
    verdicts: BTreeMap<Owner, RunEnd>,
    checks: u64,
    /// Processor time of all checks, as hosts count it, in nanoseconds.
    checks_work_ns: u64,
    /// How far results were checked when the run ended.
    over: Option<Checked>,
    audit: Option<Audit>,
    /// Owners that are proven to lie since the coordinator asked last.
    caught: Vec<Owner>,
    /// Which hosts check what.
    pub checkers: Checkers,
}

impl Validation {
    /// Of a run that has not begun, with this root; none if its hosts are trusted.
    pub fn new(trust: Trust, root: JobSpec) -> Option<Self> {
        Some(Self {
            quorum: trust.quorum()?,
            audit: trust.audited().map(Audit::new),
            caught: Vec::new(),
            root: root.key,
            units: [(root.key, Claims::new(root))].into(),
            bytes: 0,
            stage: Stage::default(),
            plan: Plan::default(),
            liars: BTreeMap::new(),
            verdicts: BTreeMap::new(),
            checks: 0,
            checks_work_ns: 0,
            over: None,
            checkers: Checkers::default(),
        })
    }

    // ---- getters ----

    /// The number of owners that must agree.
    pub fn quorum(&self) -> usize {
        self.quorum
    }

    /// Whether units are checked before the root has a result.
    pub fn is_audit(&self) -> bool {
        self.audit.is_some()
    }

    /// Whether the root has a result.
    pub fn is_checking(&self) -> bool {
        !matches!(self.stage, Stage::Computing)
    }

    /// Whether an owner gave a wrong result.
    pub fn is_liar(&self, owner: &Owner) -> bool {
        self.liars.contains_key(owner)
    }

    /// Whether an owner has said that a limit was exceeded, or that a job failed for good.
    pub fn has_verdict(&self, owner: &Owner) -> bool {
        self.verdicts.contains_key(owner)
    }

    /// Processor time of all checks so far, in nanoseconds.
    pub fn checks_work_ns(&self) -> u64 {
        self.checks_work_ns
    }

    /// A unit.
    pub fn unit(&self, key: &JobKey) -> Option<&Claims> {
        self.units.get(key)
    }

    /// The end of the run, once its root's outcome is verified.
    pub fn end(&self) -> Option<&Verified> {
        self.units.get(&self.root).filter(|_| self.plan.closed.contains(&self.root))?.verified()
    }

    /// Whether the root is verified, or an owner was found to lie since the coordinator asked last.
    pub fn has_news(&self) -> bool {
        !self.caught.is_empty() || self.end().is_some()
    }

    /// The number of units that need checkers, and that no connected owner can check.
    pub fn starved_len(&self) -> usize {
        self.plan.starved.len()
    }

    /// A unit that no connected owner can check.
    pub fn starved(&self) -> Option<&Claims> {
        self.units.get(self.plan.starved.first()?)
    }

    /// A unit on which owners disagree beyond hope: of more than twice as many as needed, too few agree.
    pub fn disputed(&self, key: &JobKey) -> Option<&Claims> {
        let has_many = |unit: &&Claims| unit.votes_len() > 2 * self.owners_needed(key, unit);
        self.units.get(key).filter(|unit| unit.verified().is_none()).filter(has_many)
    }

    /// Some units that need checkers.
    pub fn hungry(&self, most: usize) -> Vec<JobKey> {
        self.plan.hungry.iter().take(most).copied().collect()
    }

    /// When it no longer waits for units that have not been reported.
    pub fn awaits_until(&self) -> Option<Time> {
        match &self.stage {
            Stage::Awaiting { until, .. } => Some(*until),
            Stage::Computing | Stage::Checking => None,
        }
    }

    /// Whether it is known which units the root's result was made of.
    fn is_planned(&self) -> bool {
        matches!(self.stage, Stage::Checking)
    }

    /// An audit draws units with this seed, which no host may know.
    pub fn seed(&mut self, seed: u64) {
        self.audit.iter_mut().for_each(|audit| audit.seed(seed));
    }

    // ---- what owners say ----

    /// An executor reports a unit; `verified_before` are the owner's that were checked in other runs. Ignored if there is no room,
    /// or if it is of no use any more.
    pub fn claim(&mut self, (owner, host): (Owner, HostId), unit: Unit, verified_before: u64) {
        let (key, bytes) = (unit.job.key, unit.bytes());
        let is_late = self.is_planned() && !self.plan.waiting.contains_key(&key);
        let has_room = self.units.len() < UNITS_MAX && self.bytes + bytes <= UNITS_BYTES_MAX;
        if is_late || !has_room || self.is_liar(&owner) || !unit.is_sound() {
            return;
        }
        let claims = self.units.entry(key).or_insert_with(|| Claims::new(unit.job.clone()));
        if !claims.claim(owner, host, unit) {
            return;
        }
        self.bytes += bytes;
        self.draw(&key, owner, verified_before);
        self.await_no_more(&key);
        self.settle(key);
        self.note_need(&key);
        self.note_reported(&key);
    }

    /// The root has a result, from a host or from the result table.
    pub fn deliver_root(&mut self, now: Time, from: Option<(Owner, HostId)>, end: RunEnd) {
        if let Some((owner, host)) = from.filter(|(owner, _)| !self.is_liar(owner))
            && let Some(root) = self.units.get_mut(&self.root)
        {
            root.deliver(owner, host, end);
        }
        if !self.is_checking() {
            let missing = self.missing();
            let until = now + UNITS_LATE_MAX;
            let is_complete = missing.is_empty();
            self.stage = Stage::Awaiting { missing, until };
            if is_complete {
                self.plan();
            }
        }
        self.settle(self.root);
    }

    /// Units that have not been reported have had their time.
    pub fn time_out(&mut self, now: Time) {
        if self.awaits_until().is_some_and(|until| now >= until) {
            self.plan();
        }
        if self.retries_at().is_some_and(|at| now >= at) {
            for key in &self.plan.starved {
                self.units.get_mut(key).into_iter().for_each(Claims::forgive);
            }
            self.checkers.forgive();
            self.feed();
        }
    }

    /// An owner says that the run must end; returns how it does, once enough owners say so.
    pub fn judge(&mut self, owner: Owner, end: RunEnd) -> Option<RunEnd> {
        if self.is_liar(&owner) {
            return None;
        }
        let answer = Answer::of(&end);
        self.verdicts.entry(owner).or_insert(end);
        let mut same = self.verdicts.values().filter(|verdict| Answer::of(verdict) == answer);
        same.nth(self.quorum - 1).cloned()
    }

    // ---- checks ----

    /// An owner is given a unit to check.
    pub fn begin_check(&mut self, key: &JobKey, owner: Owner) {
        let basis = self.units.get(key).filter(|_| self.audit.is_some()).map(|unit| self.given(unit));
        if let Some(unit) = self.units.get_mut(key) {
            basis.into_iter().for_each(|basis| unit.give(basis));
            unit.begin_check(owner);
        }
        self.note_need(key);
    }

    /// A check takes long.
    pub fn note_late(&mut self, key: &JobKey, owner: &Owner) {
        if let Some(unit) = self.units.get_mut(key) {
            unit.note_late(owner);
        }
        self.note_need(key);
    }

    /// A check has ended without an answer.
    pub fn end_check(&mut self, key: &JobKey, owner: &Owner) {
        if let Some(unit) = self.units.get_mut(key) {
            unit.end_check(owner);
        }
        self.note_need(key);
    }

    /// A host that checks units has counted this in a series; returns the processor time that is new, in nanoseconds.
    pub fn count_check(&mut self, host: HostId, series: u64, counts: &Counts) -> u64 {
        let more_ns = self.checkers.count(host, series, counts);
        self.add_work(more_ns);
        more_ns
    }

    /// Checks took this much more processor time, in nanoseconds.
    pub fn add_work(&mut self, more_ns: u64) {
        self.checks_work_ns = self.checks_work_ns.saturating_add(more_ns);
    }

    /// An owner cannot compute a unit again.
    pub fn refuse(&mut self, key: JobKey, owner: Owner) {
        let Some(unit) = self.units.get_mut(&key) else { return };
        unit.refuse(owner, self.quorum);
        if unit.verified().is_some() {
            self.settle(key);
        }
        self.note_need(&key);
    }

    /// An owner has computed a unit again.
    pub fn answer(&mut self, key: JobKey, (owner, host): (Owner, HostId), end: RunEnd) {
        self.checks += 1;
        if let Some(unit) = self.units.get_mut(&key)
            && !self.liars.contains_key(&owner)
        {
            unit.answer(owner, host, end);
        }
        self.settle(key);
        self.note_need(&key);
    }

    /// No connected owner can check a unit.
    pub fn starve(&mut self, now: Time, key: JobKey) {
        self.plan.retry_at.get_or_insert(now + STARVED_REST);
        self.plan.hungry.remove(&key);
        self.plan.starved.insert(key);
        self.settle(key);
    }

    /// The owners that are proven to lie since the last call.
    pub fn take_caught(&mut self) -> Vec<Owner> {
        std::mem::take(&mut self.caught)
    }

    /// There are other owners now.
    pub fn feed(&mut self) {
        self.plan.retry_at = None;
        self.plan.hungry.append(&mut self.plan.starved);
    }

    /// When hosts that could not check a unit are asked again, as no other host can.
    pub fn retries_at(&self) -> Option<Time> {
        self.plan.retry_at.filter(|_| !self.plan.starved.is_empty())
    }

    /// The run is over, or suspended, and what is known of its units is kept.
    pub fn stop(&mut self, is_over: bool) {
        if is_over {
            self.over = Some(Checked { is_checking: false, ..self.checked() });
        }
        self.stage = Stage::Computing;
        self.plan = Plan::default();
        self.checkers = Checkers::default();
        self.units.values_mut().for_each(Claims::end_checks);
    }

    /// Frees up to `most` units; returns whether any are left.
    pub fn shrink(&mut self, most: usize) -> bool {
        for _ in 0..most {
            let Some((key, _)) = self.units.pop_first() else { break };
            self.plan.waiting.remove(&key);
            self.plan.parents.remove(&key);
            self.plan.hungry.remove(&key);
            self.plan.starved.remove(&key);
            self.plan.closed.remove(&key);
        }
        !self.units.is_empty()
    }

    // ---- what follows ----

    fn is_right(units: &BTreeMap<JobKey, Claims>, child: &UnitChild) -> bool {
        let verified = units.get(&child.key).and_then(Claims::verified);
        verified.and_then(Verified::answer) == Some(Answer::Outcome(child.result))
    }

    /// The owners that have given another outcome than the one that is verified now are barred, and what they have said of other
    /// units is void.
    fn bar_liars(&mut self, key: &JobKey) {
        let units = &self.units;
        let liars = units.get(key).map(|unit| match &self.audit {
            Some(_) => unit.liars(|children| Self::were_given(units, unit, children)),
            None => unit.liars(|children| children.iter().all(|child| Self::is_right(units, child))),
        });
        for (owner, host) in liars.unwrap_or_default() {
            if self.liars.insert(owner, Proven { host, unit: *key }).is_some() {
                continue;
            }
            self.verdicts.remove(&owner);
            self.caught.push(owner);
            if self.audit.is_some() {
                self.take_back(&owner);
                continue;
            }
            let next: Vec<JobKey> = self.plan.waiting.keys().copied().collect();
            for key in next {
                if let Some(unit) = self.units.get_mut(&key) {
                    unit.forget(&owner);
                }
                self.note_need(&key);
            }
        }
    }
}

#[cfg(test)]
mod tests;
