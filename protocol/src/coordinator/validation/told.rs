//! What is reported of a run's checks: to users, and to the hosts that check.

use std::collections::BTreeMap;

use crate::{Entry, EntryState, Finished, HostId, JobKey, UnitChild};

use super::super::claims::{Answer, Claims, Owner};
use super::Validation;

/// How far a run's results are checked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checked {
    /// The root has a result, and it is being checked.
    pub is_checking: bool,
    /// Units that hosts have reported; once they are checked, those that the result was made of.
    pub units: u64,
    /// Of these, units whose outcome is verified.
    pub units_checked: u64,
    /// Processor time of all of these units, as their executors say, in nanoseconds.
    pub work_ns: u64,
    /// The same of those that are verified.
    pub work_checked_ns: u64,
    /// How often a unit was computed again.
    pub checks: u64,
    /// Processor time that this took so far, as the hosts say that did so, in nanoseconds.
    pub checks_work_ns: u64,
    /// Owners that are proven to have given a wrong result, with the host that gave it. They take no part in checks.
    pub barred: Vec<(HostId, Owner)>,
    /// For an audit, owners of which fewer units had been verified before this run than are all checked.
    pub without_standing: u64,
    /// For an audit, how probable it is that a host which lied was found; empty as long as that is not known.
    pub caught: Vec<Caught>,
}

/// How probable it is that a host which gave a wrong result of some of its units was found, if its checkers were honest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caught {
    /// The case: it lied about one of this many of its units; in a small run, about one unit.
    pub one_in: u32,
    /// In millionths; that of the host of which the least is known.
    pub millionths: u32,
}

impl Validation {
    /// How far results are checked.
    pub fn checked(&self) -> Checked {
        if let Some(over) = &self.over {
            // Hosts report the last of it when the run is over.
            return Checked { checks_work_ns: self.checks_work_ns, ..over.clone() };
        }
        let is_planned = self.is_planned();
        let units = self.units.iter().filter(|(key, _)| !is_planned || self.plan.waiting.contains_key(key));
        let mut checked = Checked {
            is_checking: self.is_checking(),
            checks: self.checks,
            checks_work_ns: self.checks_work_ns,
            ..Checked::default()
        };
        for (_, unit) in units {
            let is_verified = unit.is_checked();
            checked.units += 1;
            checked.work_ns = checked.work_ns.saturating_add(unit.work_ns());
            if is_verified {
                checked.units_checked += 1;
                checked.work_checked_ns = checked.work_checked_ns.saturating_add(unit.work_ns());
            }
        }
        checked.barred = self.liars.iter().map(|(owner, proven)| (proven.host, *owner)).collect();
        if is_planned {
            (checked.without_standing, checked.caught) = self.audited();
        }
        checked
    }

    /// The results below a unit that its checkers are given, and the depth of the deepest.
    pub fn known_below(&self, unit: &Claims) -> (Vec<Entry>, u32) {
        let lineage = unit.job().lineage.child(&unit.job().key);
        let known = self.given(unit).into_iter().filter_map(|UnitChild { key, depth, result }| {
            let below = self.units.get(&key)?;
            let outcome = below.outcome(&result)?.clone();
            let state = EntryState::Done(Finished { outcome, work_ns: below.work_ns(), span_ns: 0 });
            Some(Entry { key, depth, lineage: lineage.clone(), state, is_earlier: false })
        });
        let entries: Vec<Entry> = known.collect();
        let deepest = entries.iter().map(|entry| entry.depth).max().unwrap_or(0);
        (entries, deepest)
    }

    /// Whether the checkers of a unit are given results that those of others may not use.
    pub fn is_checked_apart(&self, key: &JobKey) -> bool {
        let unit = self.units.get(key).filter(|_| self.audit.is_some());
        unit.is_some_and(|unit| !self.given(unit).is_empty())
    }

    /// The results below a unit with which it is checked.
    pub(super) fn given(&self, unit: &Claims) -> Vec<UnitChild> {
        if let Some(basis) = unit.basis() {
            return basis.to_vec();
        }
        if let Some((_, children, _)) = unit.executed().filter(|_| self.audit.is_some() && !self.is_planned())
        {
            return children.to_vec();
        }
        let known = unit.children().filter_map(|child| {
            let answer = self.units.get(&child.key)?.verified()?.answer()?;
            let Answer::Outcome(result) = answer else { return None };
            let is_known = self.audit.is_none() || self.plan.closed.contains(&child.key);
            is_known.then_some((child.key, UnitChild { result, ..*child }))
        });
        known.collect::<BTreeMap<_, _>>().into_values().collect()
    }
}
