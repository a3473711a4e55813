//! Learns from conflicts.

use super::Solver;
use super::clauses::ClauseRef;
use crate::formula::Literal;

impl Solver {
    /// Learns the clause of the first unique implication point, backtracks to the level at which it implies
    /// a literal, and assigns that literal.
    pub(super) fn learn_from(&mut self, conflict: ClauseRef) {
        let learned = self.analyze(conflict);
        // The implied literal comes first, then a literal of the level to backtrack to.
        let back_to = learned.get(1).map_or(0, |literal| self.levels[literal.variable()]);
        let glue = self.glue(&learned);
        self.backtrack(back_to as usize);
        let reason = if learned.len() == 1 {
            self.facts.push(learned[0]);
            None
        } else {
            Some(self.clauses.add(&learned, Some(glue)))
        };
        self.assign(learned[0], reason);
        self.order.decay();
    }

    fn analyze(&mut self, conflict: ClauseRef) -> Vec<Literal> {
        let level = self.decisions.len() as u32;
        let mut lower = Vec::new();
        let mut open = 0;
        let mut place = self.trail.len();
        let mut clause = Some(conflict);
        let mut implied: Option<Literal> = None;
        let asserting = loop {
            if let Some(clause) = clause {
                for at in 0..self.clauses.literals(clause).len() {
                    let literal = self.clauses.literals(clause)[at];
                    let variable = literal.variable();
                    if implied == Some(literal) || self.seen[variable] || self.levels[variable] == 0 {
                        continue;
                    }
                    self.seen[variable] = true;
                    self.order.bump(variable);
                    if self.levels[variable] == level {
                        open += 1;
                    } else {
                        lower.push(literal);
                    }
                }
            }
            let literal = loop {
                place -= 1;
                if self.seen[self.trail[place].variable()] {
                    break self.trail[place];
                }
            };
            open -= 1;
            self.seen[literal.variable()] = false;
            if open == 0 {
                break !literal;
            }
            implied = Some(literal);
            clause = self.reasons[literal.variable()];
        };

        let redundant: Vec<bool> = lower.iter().map(|literal| self.is_redundant(*literal)).collect();
        let mut learned = vec![asserting];
        learned.extend(
            lower.iter().zip(redundant).filter(|(_, redundant)| !redundant).map(|(literal, _)| *literal),
        );
        for literal in lower {
            self.seen[literal.variable()] = false;
        }
        if let Some(highest) = (1..learned.len()).max_by_key(|at| self.levels[learned[*at].variable()]) {
            learned.swap(1, highest);
        }
        learned
    }

    /// Whether all other literals of the clause that implied it are in the learned clause.
    fn is_redundant(&self, literal: Literal) -> bool {
        let Some(reason) = self.reasons[literal.variable()] else { return false };
        self.clauses.literals(reason).iter().all(|other| {
            let variable = other.variable();
            variable == literal.variable() || self.seen[variable] || self.levels[variable] == 0
        })
    }

    /// The number of decision levels of the literals.
    fn glue(&self, literals: &[Literal]) -> u32 {
        let mut levels: Vec<u32> = literals.iter().map(|literal| self.levels[literal.variable()]).collect();
        levels.sort_unstable();
        levels.dedup();
        levels.len() as u32
    }
}
