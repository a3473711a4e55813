//! Audits: which units are drawn, and what is believed of the others.
//!
//! A unit is drawn when it is reported, and checked at once with the results below it that its executor names, whether these are
//! right or not: they have been reported with their units. So a lie is found where it was told. Once the root has a result,
//! the units that it was made of are gone through from the leaves up. One that was not drawn is believed if all results that
//! it took from elsewhere are those that are known by then; any other is computed again with these, by two owners. So what was
//! built on a lie that is known is found again, up to the root.

use std::collections::{BTreeMap, BTreeSet};

use crate::limits::{DISPUTE_QUORUM, FIRST_UNITS_AUDITED, UNITS_SETTLED_MIN};
use crate::trust::MILLIONTHS;
use crate::{BlobHash, JobKey, Random, UnitChild};

use super::super::claims::{Answer, Claims, Draw, Owner};
use super::{Caught, Validation};

/// Units among which there is one lie, in the cases for which the probability that it was found is reported.
const TOLD: [u32; 3] = [1, 10, 100];

/// What an audit knows.
#[derive(Debug)]
pub struct Audit {
    /// The share of units that is drawn, in millionths.
    share: u32,
    random: Random,
    owners: BTreeMap<Owner, Reported>,
    /// Units that were drawn, by those below them that have not been reported.
    awaited: BTreeMap<JobKey, BTreeSet<JobKey>>,
    /// Units that have been gone through may have been built on a lie that is known now.
    pub is_outdated: bool,
}

/// What an owner has reported.
#[derive(Debug)]
struct Reported {
    /// Units that were verified in earlier runs.
    verified_before: u64,
    /// Units of this run that it has executed.
    units: u64,
    /// Of these, those that were drawn when they were reported.
    drawn: u64,
}

/// Of an owner's units that the root's result was made of.
#[derive(Debug, Default)]
struct Contribution {
    /// Units that were drawn by chance, or not at all.
    by_chance: u64,
    /// Of these, those that were checked.
    checked: u64,
    /// All.
    units: u64,
}

impl Audit {
    /// Draws this share of units, in millionths.
    pub fn new(share: u32) -> Self {
        let (owners, awaited) = (BTreeMap::new(), BTreeMap::new());
        Self { share, random: Random::new(0), owners, awaited, is_outdated: false }
    }

    /// Draws with this seed from now on.
    pub fn seed(&mut self, seed: u64) {
        self.random = Random::new(seed);
    }

    /// Whether a unit of this owner is drawn.
    fn draw(&mut self, owner: Owner, verified_before: u64) -> Draw {
        let reported = self.owners.entry(owner).or_insert(Reported { verified_before, units: 0, drawn: 0 });
        reported.units += 1;
        let draw = if reported.verified_before + reported.drawn < FIRST_UNITS_AUDITED {
            Draw::Always
        } else if self.random.below(MILLIONTHS as usize) < self.share as usize {
            Draw::Chance
        } else {
            Draw::No
        };
        reported.drawn += u64::from(draw != Draw::No);
        draw
    }
}

impl Contribution {
    /// How probable it is, in millionths, that one lie was found, if the owner lied about one unit in `one_in`: about none of
    /// those that are always checked, if it could, as it knows which these are.
    fn caught(&self, one_in: u32) -> u32 {
        let lies = self.units.div_ceil(one_in.into());
        let unchecked = self.by_chance - self.checked;
        if lies > unchecked {
            return MILLIONTHS;
        }
        // Each lie that was not found leaves fewer units in which the next one may hide.
        let missed = (0..lies).map(|lie| (unchecked - lie) as f64 / (self.by_chance - lie) as f64);
        let caught = f64::from(MILLIONTHS) * (1.0 - missed.product::<f64>());
        // Rounded down, except for what floats lose.
        (caught + 1e-3) as u32
    }
}

impl Validation {
    // ---- what is drawn ----

    /// A unit has been reported by this owner.
    pub(super) fn draw(&mut self, key: &JobKey, owner: Owner, verified_before: u64) {
        let is_planned = self.is_planned();
        let (Some(audit), Some(unit)) = (&mut self.audit, self.units.get_mut(key)) else { return };
        if is_planned || unit.is_contradicted() {
            unit.set_draw(Draw::Always);
        } else if unit.claims_len() == 1 && unit.executed().is_some() {
            unit.set_draw(audit.draw(owner, verified_before));
        }
    }

    /// Before the root's result is accepted, each owner has some of its units checked; so are units whose result is
    /// another one as their executors say than as those say that they gave it to.
    pub(super) fn draw_at_the_end(&mut self, planned: &[JobKey]) {
        let mut of_owners: BTreeMap<Owner, (usize, Vec<JobKey>)> = BTreeMap::new();
        let mut contradicted = Vec::new();
        for key in planned {
            let Some((owner, children, _)) = self.units.get(key).and_then(Claims::executed) else { continue };
            let (drawn, others) = of_owners.entry(owner).or_default();
            match self.units.get(key).map(Claims::draw) {
                Some(Draw::No) => others.push(*key),
                _ => *drawn += 1,
            }
            contradicted.extend(
                children.iter().filter(|child| self.is_contradicted_by(child)).map(|child| child.key),
            );
        }
        let Some(audit) = &mut self.audit else { return };
        for (drawn, mut others) in of_owners.into_values() {
            for _ in drawn..UNITS_SETTLED_MIN {
                if others.is_empty() {
                    break;
                }
                let key = others.swap_remove(audit.random.below(others.len()));
                self.units.get_mut(&key).into_iter().for_each(|unit| unit.set_draw(Draw::Chance));
            }
        }
        for key in contradicted {
            self.units.get_mut(&key).into_iter().for_each(|unit| unit.set_draw(Draw::Always));
        }
    }

    /// Whether the executor of a unit says that it has another result than this.
    fn is_contradicted_by(&self, child: &UnitChild) -> bool {
        let executed = self.units.get(&child.key).and_then(Claims::executed);
        executed.is_some_and(|(_, _, answer)| answer != Answer::Outcome(child.result))
    }

    /// The number of owners that must agree on a unit if it is checked. Where two differ, more must.
    pub(super) fn owners_needed(&self, key: &JobKey, unit: &Claims) -> usize {
        let is_disputed = self.audit.is_some() && unit.answers_len() > 1;
        // No other owner is connected.
        let is_last_word = self.plan.starved.contains(key) && unit.has_majority();
        if is_disputed && !is_last_word { DISPUTE_QUORUM } else { self.quorum }
    }

    // ---- before the root has a result ----

    /// Whether a unit is to be checked although the root has no result: it was drawn, and its checkers can be given all that its
    /// executor took from elsewhere.
    pub(super) fn is_checked_early(&self, key: &JobKey, unit: &Claims) -> bool {
        self.audit.is_some()
            && !self.is_planned()
            && unit.draw() != Draw::No
            && unit.executed().is_some()
            && self.first_unreported(key).is_none()
    }

    /// Whether a unit is being checked with what its executor says that it took from elsewhere.
    pub(super) fn was_given_early(&self, unit: &Claims) -> bool {
        !self.is_planned() && unit.basis().is_some()
    }

    /// A result that the executor of a unit took from elsewhere, and that nobody has sent.
    fn first_unreported(&self, key: &JobKey) -> Option<JobKey> {
        let (_, children, _) = self.units.get(key)?.executed()?;
        let is_known = |child: &&UnitChild| {
            self.units.get(&child.key).is_some_and(|below| below.outcome(&child.result).is_some())
        };
        children.iter().find(|child| !is_known(child)).map(|child| child.key)
    }

    /// A unit has been reported: those above it may be checked.
    pub(super) fn note_reported(&mut self, key: &JobKey) {
        if self.is_planned() || self.audit.is_none() {
            return;
        }
        let above = self.audit.as_mut().and_then(|audit| audit.awaited.remove(key));
        for key in above.into_iter().flatten().chain([*key]) {
            let missing = self.first_unreported(&key);
            let is_drawn = self.units.get(&key).is_some_and(|unit| unit.draw() != Draw::No);
            if let (Some(missing), Some(audit), true) = (missing, &mut self.audit, is_drawn) {
                audit.awaited.entry(missing).or_default().insert(key);
            }
            self.note_need(&key);
        }
    }

    // ---- from the leaves up ----

    /// The units are gone through again.
    pub(super) fn believe_nobody(&mut self) {
        if self.audit.is_some() {
            self.units.values_mut().for_each(Claims::doubt);
        }
    }

    /// All that is below a unit is known. Its executor is believed if it has worked with that, and the unit was not drawn; what was
    /// found with something else is void.
    pub(super) fn take_turn(&mut self, key: &JobKey) {
        let Some(unit) = self.units.get(key).filter(|_| self.audit.is_some()) else { return };
        let executed = unit.executed().map(|(_, children, _)| children);
        let is_sound = |given: &[UnitChild]| given.iter().all(|child| self.is_accepted(child));
        let is_void = !unit.basis().or(executed).is_none_or(is_sound);
        let is_believed = unit.verified().is_none()
            && unit.draw() == Draw::No
            && executed.is_some_and(is_sound)
            && (*key != self.root || unit.has_outcome());
        let Some(unit) = self.units.get_mut(key) else { return };
        if is_void {
            unit.begin_anew();
            self.withdraw(key);
        } else if is_believed {
            unit.believe();
        }
    }

    /// Checks of a unit that are under way are of no use any more. Should the unit be doubted later, none of them counts.
    pub fn withdraw(&mut self, key: &JobKey) {
        self.checkers.withdraw(key);
        self.units.get_mut(key).into_iter().for_each(Claims::end_checks);
    }

    /// Whether this is the result of a job, as far as is known.
    fn is_accepted(&self, child: &UnitChild) -> bool {
        self.plan.closed.contains(&child.key) && Self::is_right(&self.units, child)
    }

    /// Whether a unit was checked with just these results, so that it does not matter whether they are right.
    pub(super) fn were_given(
        units: &BTreeMap<JobKey, Claims>,
        unit: &Claims,
        children: &[UnitChild],
    ) -> bool {
        let Some(basis) = unit.basis().filter(|basis| basis.len() == children.len()) else { return false };
        let basis: BTreeMap<JobKey, BlobHash> = basis.iter().map(|given| (given.key, given.result)).collect();
        children.iter().all(|child| {
            let is_there = |below: &Claims| below.outcome(&child.result).is_some();
            basis.get(&child.key) == Some(&child.result) && units.get(&child.key).is_some_and(is_there)
        })
    }

    /// Whether units are to be gone through again; false from now on.
    pub(super) fn take_outdated(&mut self) -> bool {
        self.audit.as_mut().is_some_and(|audit| std::mem::take(&mut audit.is_outdated))
    }

    /// An owner is proven to lie: what it has said is void, also what was verified by that, and so is what follows from it.
    pub(super) fn take_back(&mut self, owner: &Owner) {
        let is_planned = self.is_planned();
        self.audit.iter_mut().for_each(|audit| audit.is_outdated = is_planned);
        let all: Vec<JobKey> = self.units.keys().copied().collect();
        for key in all {
            if self.units.get_mut(&key).is_some_and(|unit| unit.take_back(owner)) {
                self.liars.retain(|liar, proven| liar == owner || proven.unit != key);
            }
            self.note_need(&key);
        }
    }

    // ---- what is reported ----

    /// The units that an owner has reported, without those after it was found to lie; none if it has reported none, or if the run is
    /// not audited.
    pub fn units_reported(&self, owner: &Owner) -> Option<u64> {
        Some(self.audit.as_ref()?.owners.get(owner)?.units)
    }

    /// The units that were checked, by the owners that executed them.
    pub fn verified_units(&self) -> BTreeMap<Owner, u64> {
        let mut verified = BTreeMap::new();
        for key in &self.plan.closed {
            if let Some(unit) = self.units.get(key).filter(|unit| unit.is_checked())
                && let Some((owner, ..)) = unit.executed().filter(|(owner, ..)| !self.is_liar(owner))
            {
                *verified.entry(owner).or_default() += 1;
            }
        }
        verified
    }

    /// How many owners had no standing, and how probably lies were found.
    pub(super) fn audited(&self) -> (u64, Vec<Caught>) {
        let Some(audit) = &self.audit else { return Default::default() };
        let mut of_owners: BTreeMap<Owner, Contribution> = BTreeMap::new();
        for unit in self.plan.waiting.keys().filter_map(|key| self.units.get(key)) {
            let Some((owner, ..)) = unit.executed().filter(|(owner, ..)| !self.is_liar(owner)) else {
                continue;
            };
            let contribution = of_owners.entry(owner).or_default();
            contribution.units += 1;
            let (is_by_chance, is_checked) = (unit.draw() != Draw::Always, unit.is_checked());
            contribution.by_chance += u64::from(is_by_chance || !is_checked);
            contribution.checked += u64::from(is_by_chance && is_checked);
        }
        let is_new = |owner: &Owner| {
            audit.owners.get(owner).is_some_and(|reported| reported.verified_before < FIRST_UNITS_AUDITED)
        };
        let without_standing = of_owners.keys().filter(|owner| is_new(owner)).count() as u64;
        let least = |one_in| of_owners.values().map(|contribution| contribution.caught(one_in)).min();
        let caught = TOLD.map(|one_in| Caught { one_in, millionths: least(one_in).unwrap_or(MILLIONTHS) });
        (without_standing, caught.to_vec())
    }
}

#[cfg(test)]
mod tests;
