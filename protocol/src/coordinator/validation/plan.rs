//! The order in which a run's units are checked: from the leaves up.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use crate::limits::{CHECKED_RESULT_BYTES_MAX, UNITS_BYTES_MAX};
use crate::{JobKey, Time};

use super::super::claims::{Claims, Verified};
use super::{Stage, Validation};

/// The units that a run's result was made of.
#[derive(Debug, Default)]
pub struct Plan {
    /// How many children of a unit are to be verified before it is checked.
    pub waiting: BTreeMap<JobKey, usize>,
    /// The units that a unit is a child of.
    pub parents: BTreeMap<JobKey, Vec<JobKey>>,
    /// Units that need checkers.
    pub hungry: BTreeSet<JobKey>,
    /// Units that need checkers, and for which no connected owner can be one.
    pub starved: BTreeSet<JobKey>,
    /// When those are tried again.
    pub retry_at: Option<Time>,
    /// Units whose outcome is known, or cannot be: those above them need not wait for them.
    pub closed: BTreeSet<JobKey>,
}

impl Validation {
    /// Named below the root, and not reported.
    pub(super) fn missing(&self) -> BTreeSet<JobKey> {
        let mut missing = BTreeSet::new();
        let mut seen = BTreeSet::from([self.root]);
        let mut next = vec![self.root];
        while let Some(key) = next.pop() {
            for child in self.units.get(&key).into_iter().flat_map(Claims::children) {
                if seen.insert(child.key) {
                    next.push(child.key);
                    if !self.units.contains_key(&child.key) {
                        missing.insert(child.key);
                    }
                }
            }
        }
        missing
    }

    /// Finds the units that the root's result was made of, and begins to check them.
    pub(super) fn plan(&mut self) {
        self.stage = Stage::Checking;
        self.believe_nobody();
        let mut plan = Plan::default();
        // The units on the way from the root to the one that is looked at, each with its children that are to be looked at.
        let mut path: Vec<(JobKey, Vec<JobKey>)> = vec![(self.root, self.known_children(&self.root))];
        let mut open = BTreeSet::from([self.root]);
        plan.waiting.insert(self.root, 0);
        while let Some((key, children)) = path.last_mut() {
            let (key, Some(child)) = (*key, children.pop()) else {
                open.remove(key);
                path.pop();
                continue;
            };
            // Only hosts that lie name units in a circle.
            if open.contains(&child) {
                continue;
            }
            plan.parents.entry(child).or_default().push(key);
            *plan.waiting.entry(key).or_default() += 1;
            if let Entry::Vacant(new) = plan.waiting.entry(child) {
                new.insert(0);
                open.insert(child);
                let below = self.known_children(&child);
                path.push((child, below));
            }
        }
        self.plan = plan;
        let all: Vec<JobKey> = self.plan.waiting.keys().copied().collect();
        if self.audit.is_some() {
            self.draw_at_the_end(&all);
        } else {
            let verified: Vec<JobKey> = all.iter().filter(|key| self.is_verified(key)).copied().collect();
            for key in verified {
                self.plan.closed.insert(key);
                self.free_parents(&key);
            }
        }
        all.iter().for_each(|key| self.note_need(key));
        all.into_iter().for_each(|key| self.settle(key));
    }

    /// The children of a unit that were reported, each once.
    fn known_children(&self, key: &JobKey) -> Vec<JobKey> {
        let children = self.units.get(key).into_iter().flat_map(Claims::children).map(|child| child.key);
        children.filter(|child| self.units.contains_key(child)).collect::<BTreeSet<_>>().into_iter().collect()
    }

    fn is_verified(&self, key: &JobKey) -> bool {
        self.units.get(key).is_some_and(|unit| unit.verified().is_some())
    }

    /// Whether a unit needs checkers now.
    pub(super) fn note_need(&mut self, key: &JobKey) {
        let Some(unit) = self.units.get(key) else { return };
        let owners = self.owners_needed(key, unit);
        let is_next = match self.plan.waiting.get(key) {
            Some(children) => *children == 0 && !self.plan.closed.contains(key),
            None => self.is_checked_early(key, unit),
        };
        if is_next && unit.checks_needed(owners) > 0 {
            if !self.plan.starved.contains(key) {
                self.plan.hungry.insert(*key);
            }
        } else {
            self.plan.hungry.remove(key);
            self.plan.starved.remove(key);
        }
    }

    /// A unit may be verified now.
    pub(super) fn settle(&mut self, key: JobKey) {
        let mut next = vec![key];
        while let Some(key) = next.pop() {
            let is_next = self.plan.waiting.get(&key) == Some(&0);
            if is_next {
                self.take_turn(&key);
            }
            let Some(unit) = self.units.get(&key).filter(|unit| is_next || self.was_given_early(unit)) else {
                continue;
            };
            let owners = self.owners_needed(&key, unit);
            if self.units.get_mut(&key).is_some_and(|unit| unit.settle(owners)) {
                self.keep_outcome(&key);
                self.bar_liars(&key);
            }
            if is_next && self.is_verified(&key) && self.plan.closed.insert(key) {
                next.extend(self.close(&key));
            } else {
                self.note_need(&key);
            }
        }
        if self.take_outdated() {
            self.plan();
        }
    }

    /// Counts the outcome of a unit that has been verified, or keeps only its hash.
    fn keep_outcome(&mut self, key: &JobKey) {
        let Some(unit) = self.units.get_mut(key) else { return };
        let bytes = unit.verified().map_or(0, Verified::bytes);
        if bytes <= CHECKED_RESULT_BYTES_MAX && self.bytes + bytes <= UNITS_BYTES_MAX {
            self.bytes += bytes;
        } else if *key != self.root {
            unit.forget_outcome();
        }
    }

    /// A unit that was missing has been reported.
    pub(super) fn await_no_more(&mut self, key: &JobKey) {
        if !matches!(&self.stage, Stage::Awaiting { missing, .. } if missing.contains(key)) {
            return;
        }
        let unknown = self.unknown_children(key);
        if let Stage::Awaiting { missing, .. } = &mut self.stage {
            missing.remove(key);
            missing.extend(unknown);
            if missing.is_empty() {
                self.plan();
            }
        }
    }

    /// The children of a unit that were not reported.
    fn unknown_children(&self, key: &JobKey) -> Vec<JobKey> {
        let children = self.units.get(key).into_iter().flat_map(Claims::children).map(|child| child.key);
        children.filter(|child| !self.units.contains_key(child)).collect()
    }

    /// A unit is verified, or cannot be: those above it need not wait for it. Returns those.
    pub(super) fn close(&mut self, key: &JobKey) -> Vec<JobKey> {
        self.note_need(key);
        self.free_parents(key)
    }

    fn free_parents(&mut self, key: &JobKey) -> Vec<JobKey> {
        let parents = self.plan.parents.get(key).cloned().unwrap_or_default();
        for parent in &parents {
            if let Some(waiting) = self.plan.waiting.get_mut(parent) {
                *waiting = waiting.saturating_sub(1);
            }
            self.note_need(parent);
        }
        parents
    }
}
