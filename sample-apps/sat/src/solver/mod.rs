//! A solver that learns clauses (conflict-driven clause learning).
//!
//! Two watched literals and activities as in Chaff (Moskewicz, Madigan, Zhao, Zhang and Malik, DAC
//! 2001), first unique implication points, saved phases and Luby's restarts as in MiniSat (Eén and
//! Sörensson, SAT 2003). All arithmetic is on whole numbers: a job's result has the same bits everywhere.

mod analyze;
mod clauses;
mod order;

use clauses::{ClauseRef, Clauses};
use order::Order;

use crate::formula::{Formula, Literal};

/// Conflicts between restarts, times Luby's sequence.
const RESTART_CONFLICTS: u32 = 64;

/// The outcome of solving.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Satisfiable,
    Unsatisfiable,
    /// Unknown after the maximum number of conflicts.
    BudgetSpent,
}

/// A formula under facts, with its learned clauses.
pub struct Solver {
    clauses: Clauses,
    /// By literal: 1 if true, -1 if false, 0 if open.
    values: Vec<i8>,
    /// By variable: the decision level at which it was assigned.
    levels: Vec<u32>,
    /// By variable: the clause that implied it, if one did.
    reasons: Vec<Option<ClauseRef>>,
    /// By variable: whether it was negated when it was last assigned.
    phases: Vec<bool>,
    /// True literals in the order of their assignment.
    trail: Vec<Literal>,
    /// Where each decision level begins in the trail.
    decisions: Vec<usize>,
    /// Where propagation stands in the trail.
    propagated: usize,
    order: Order,
    /// Assumptions, and learned units.
    facts: Vec<Literal>,
    /// By variable, while a conflict is analysed.
    seen: Vec<bool>,
}

/// A state to return to.
#[derive(Debug, Clone, Copy)]
pub struct Mark {
    trail: usize,
    facts: usize,
}

impl Solver {
    /// A solver for `formula` in which all `facts` hold; `None` if they contradict it at once.
    pub fn new(formula: &Formula, facts: &[Literal]) -> Option<Self> {
        let variables = formula.variables;
        let mut solver = Self {
            clauses: Clauses::new(2 * variables),
            values: vec![0; 2 * variables],
            levels: vec![0; variables],
            reasons: vec![None; variables],
            phases: vec![true; variables],
            trail: Vec::with_capacity(variables),
            decisions: Vec::new(),
            propagated: 0,
            order: Order::new(variables),
            facts: facts.to_vec(),
            seen: vec![false; variables],
        };
        let mut balance = vec![0_i64; variables];
        for clause in formula.clauses() {
            for literal in clause {
                balance[literal.variable()] += if literal.is_negated() { -1 } else { 1 };
                solver.order.count(literal.variable());
            }
            match clause.as_slice() {
                [] => return None,
                [unit] if solver.is_false(*unit) => return None,
                [unit] => solver.assign(*unit, None),
                _ => {
                    solver.clauses.add(clause, None);
                }
            }
        }
        // A variable is first tried with the sign that satisfies more clauses.
        solver.phases = balance.into_iter().map(|sum| sum < 0).collect();
        solver.order.fill();
        for fact in facts {
            if solver.is_false(*fact) {
                return None;
            }
            solver.assign(*fact, None);
        }
        solver.propagate().is_none().then_some(solver)
    }

    /// Searches for a model, and gives up after `budget` conflicts.
    pub fn solve(&mut self, budget: u32) -> Verdict {
        let mut conflicts = 0;
        let mut restarts = 0;
        let mut restart_at = RESTART_CONFLICTS;
        loop {
            if let Some(conflict) = self.propagate() {
                conflicts += 1;
                if self.decisions.is_empty() {
                    return Verdict::Unsatisfiable;
                }
                self.learn_from(conflict);
            } else if conflicts >= budget {
                self.backtrack(0);
                return Verdict::BudgetSpent;
            } else if conflicts >= restart_at {
                restarts += 1;
                restart_at = conflicts + RESTART_CONFLICTS * luby(restarts);
                self.backtrack(0);
                self.clauses.reduce(&self.reasons, &self.trail);
            } else {
                match self.next_decision() {
                    None => return Verdict::Satisfiable,
                    Some(literal) => {
                        self.decisions.push(self.trail.len());
                        self.assign(literal, None);
                    }
                }
            }
        }
    }

    /// The true literals, in the order of their variables; open variables may have either value.
    pub fn model(&self) -> Vec<Literal> {
        (0..self.levels.len())
            .map(|variable| {
                let positive = Literal::new(variable, false);
                if self.is_false(positive) { !positive } else { positive }
            })
            .collect()
    }

    // ---- for looking ahead, without decisions ----

    /// The present state.
    pub fn mark(&self) -> Mark {
        Mark { trail: self.trail.len(), facts: self.facts.len() }
    }

    /// Makes `literal` hold, with all consequences. False if that is a contradiction.
    pub fn assume(&mut self, literal: Literal) -> bool {
        if self.is_true(literal) {
            return true;
        }
        if self.is_false(literal) {
            return false;
        }
        self.facts.push(literal);
        self.assign(literal, None);
        self.propagate().is_none()
    }

    /// Returns to `mark`.
    pub fn undo(&mut self, mark: Mark) {
        self.facts.truncate(mark.facts);
        self.unassign_from(mark.trail);
    }

    /// Literals that became true since `mark`.
    pub fn since(&self, mark: Mark) -> &[Literal] {
        &self.trail[mark.trail..]
    }

    /// Literals that were assumed or learned; all others that hold follow from them.
    pub fn facts(&self) -> &[Literal] {
        &self.facts
    }

    /// How often `variable` occurred in recent conflicts.
    pub fn activity(&self, variable: usize) -> u64 {
        self.order.activity(variable)
    }

    pub fn is_true(&self, literal: Literal) -> bool {
        self.values[literal.index()] > 0
    }

    fn is_false(&self, literal: Literal) -> bool {
        self.values[literal.index()] < 0
    }

    pub fn is_open(&self, variable: usize) -> bool {
        self.values[2 * variable] == 0
    }

    // ---- assigning and propagating ----

    fn assign(&mut self, literal: Literal, reason: Option<ClauseRef>) {
        if self.is_true(literal) {
            return;
        }
        self.values[literal.index()] = 1;
        self.values[(!literal).index()] = -1;
        self.levels[literal.variable()] = self.decisions.len() as u32;
        self.reasons[literal.variable()] = reason;
        self.trail.push(literal);
    }

    /// Assigns all consequences; returns a clause that has become false, if any.
    fn propagate(&mut self) -> Option<ClauseRef> {
        while self.propagated < self.trail.len() {
            let literal = self.trail[self.propagated];
            self.propagated += 1;
            if let Some(conflict) = self.visit_watches(!literal) {
                self.propagated = self.trail.len();
                return Some(conflict);
            }
        }
        None
    }

    /// Visits the clauses that watch `false_literal`: each finds another literal to watch, is
    /// satisfied, or implies its other watched literal.
    fn visit_watches(&mut self, false_literal: Literal) -> Option<ClauseRef> {
        let mut watches = std::mem::take(&mut self.clauses.watches[false_literal.index()]);
        let mut kept = 0;
        let mut conflict = None;
        let mut next = 0;
        'watches: while next < watches.len() {
            let mut watch = watches[next];
            next += 1;
            if self.values[watch.blocker.index()] > 0 {
                watches[kept] = watch;
                kept += 1;
                continue;
            }
            let values = &self.values;
            let literals = self.clauses.literals_mut(watch.clause);
            if literals[0] == false_literal {
                literals.swap(0, 1);
            }
            let other = literals[0];
            watch.blocker = other;
            if values[other.index()] > 0 {
                watches[kept] = watch;
                kept += 1;
                continue;
            }
            for place in 2..literals.len() {
                if values[literals[place].index()] >= 0 {
                    literals.swap(1, place);
                    let watched = literals[1];
                    self.clauses.watches[watched.index()].push(watch);
                    continue 'watches;
                }
            }
            watches[kept] = watch;
            kept += 1;
            if values[other.index()] < 0 {
                conflict = Some(watch.clause);
                break;
            }
            self.assign(other, Some(watch.clause));
        }
        watches.copy_within(next.., kept);
        watches.truncate(kept + watches.len() - next);
        self.clauses.watches[false_literal.index()] = watches;
        conflict
    }

    fn next_decision(&mut self) -> Option<Literal> {
        loop {
            let variable = self.order.pop()?;
            if self.is_open(variable) {
                return Some(Literal::new(variable, self.phases[variable]));
            }
        }
    }

    fn backtrack(&mut self, level: usize) {
        if let Some(start) = self.decisions.get(level) {
            self.unassign_from(*start);
            self.decisions.truncate(level);
        }
    }

    fn unassign_from(&mut self, start: usize) {
        for literal in self.trail.drain(start..) {
            let variable = literal.variable();
            self.values[literal.index()] = 0;
            self.values[(!literal).index()] = 0;
            self.phases[variable] = literal.is_negated();
            self.reasons[variable] = None;
            self.order.push(variable);
        }
        self.propagated = start;
    }
}

/// Luby's sequence 1 1 2 1 1 2 4 …, from 1 on (Luby, Sinclair and Zuckerman, 1993).
fn luby(mut index: u32) -> u32 {
    loop {
        let length = u32::BITS - index.leading_zeros();
        if index == (1 << length) - 1 {
            return 1 << (length - 1);
        }
        index -= (1 << (length - 1)) - 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lubys_sequence() {
        let first: Vec<u32> = (1..=15).map(luby).collect();
        assert_eq!(first, [1, 1, 2, 1, 1, 2, 4, 1, 1, 2, 1, 1, 2, 4, 8]);
    }

    /// All formulas of some clauses over four variables, compared with exhaustive search.
    #[test]
    fn verdicts_agree_with_exhaustive_search() {
        let mut state = 1_u64;
        let mut below = |bound: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % bound
        };
        for _ in 0..2000 {
            let mut formula = Formula::new(5);
            for _ in 0..below(30) {
                let length = 1 + below(3);
                formula.add((0..length).map(|_| Literal(below(10) as u32)).collect());
            }
            let satisfiable = (0..32_u32).any(|bits| {
                let model: Vec<Literal> = (0..5).map(|v| Literal::new(v, bits >> v & 1 == 1)).collect();
                formula.is_satisfied_by(&model)
            });
            match Solver::new(&formula, &[]) {
                None => assert!(!satisfiable),
                Some(mut solver) => {
                    let verdict = solver.solve(u32::MAX);
                    assert_eq!(verdict == Verdict::Satisfiable, satisfiable);
                    if satisfiable {
                        assert!(formula.is_satisfied_by(&solver.model()));
                    }
                }
            }
        }
    }
}
