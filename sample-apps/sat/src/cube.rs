//! Explores one cube: solves it within a budget, or splits it by looking ahead.

use serde::{Deserialize, Serialize};

use crate::formula::{Formula, Literal};
use crate::solver::{Solver, Verdict};

/// Maximum conflicts of a cube before it is split: some milliseconds of work.
const CONFLICTS_MAX: u32 = 1_000;
/// Levels by which a cube is split at once. The cost of learning in vain is then shared by up to eight
/// parts, not by two.
const SPLIT_LEVELS: u32 = 3;
/// Variables considered for a split: this number of those most active in conflicts, and as many of those
/// that occur most.
const CANDIDATES: usize = 16;
/// Levels after which a cube is solved at any cost, as splitting does not help.
const LEVELS_MAX: u32 = 60;

/// A branch of the search: its assumptions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cube {
    /// Literals that hold in it: its branch's assumptions, and units learned on the way.
    literals: Vec<Literal>,
    /// The number of splits.
    levels: u32,
}

impl Cube {
    /// Whether it is the whole search.
    pub fn is_whole(&self) -> bool {
        self.levels == 0
    }
}

/// The outcome of exploring a cube.
pub enum Step {
    /// No model.
    Unsatisfiable,
    /// A model, by its true literals in the order of their variables.
    Model(Vec<Literal>),
    /// Cubes that together cover it; the first is the most promising.
    Split(Vec<Cube>),
}

/// Explores `cube`.
pub fn explore(formula: &Formula, cube: &Cube) -> Step {
    let Some(mut solver) = Solver::new(formula, &cube.literals) else { return Step::Unsatisfiable };
    let budget = if cube.levels < LEVELS_MAX { CONFLICTS_MAX } else { u32::MAX };
    match solver.solve(budget) {
        Verdict::Unsatisfiable => Step::Unsatisfiable,
        Verdict::Satisfiable => Step::Model(solver.model()),
        Verdict::BudgetSpent => split(formula, &mut solver, cube.levels),
    }
}

/// Splits a cube of `levels` levels, given the facts that `solver` has found.
fn split(formula: &Formula, solver: &mut Solver, levels: u32) -> Step {
    let candidates = Candidates::new(formula, solver);
    let mut cubes = Vec::new();
    candidates.divide(solver, levels, levels + SPLIT_LEVELS, &mut cubes);
    if cubes.is_empty() { Step::Unsatisfiable } else { Step::Split(cubes) }
}

/// The variables that a split may use.
struct Candidates {
    variables: Vec<usize>,
    /// By literal: the number of clauses with it.
    occurrences: Vec<u64>,
}

impl Candidates {
    fn new(formula: &Formula, solver: &Solver) -> Self {
        let mut occurrences = vec![0_u64; 2 * formula.variables];
        for clause in formula.clauses() {
            if !clause.iter().any(|literal| solver.is_true(*literal)) {
                for literal in clause {
                    occurrences[literal.index()] += 1;
                }
            }
        }
        let mut variables: Vec<usize> =
            (0..formula.variables).filter(|variable| solver.is_open(*variable)).collect();
        variables.sort_by_key(|variable| std::cmp::Reverse(solver.activity(*variable)));
        let mut chosen: Vec<usize> = variables.iter().take(CANDIDATES).copied().collect();
        variables.sort_by_key(|variable| {
            std::cmp::Reverse((occurrences[2 * variable] + 1) * (occurrences[2 * variable + 1] + 1))
        });
        chosen.extend(variables.iter().take(CANDIDATES));
        chosen.sort_unstable();
        chosen.dedup();
        Self { variables: chosen, occurrences }
    }

    /// Adds the cubes below the solver's state, from `level` down to `last`, to `cubes`.
    fn divide(&self, solver: &mut Solver, level: u32, last: u32, cubes: &mut Vec<Cube>) {
        let branch = if level == last { Branch::Leaf } else { self.look_ahead(solver) };
        match branch {
            Branch::Dead => {}
            Branch::Leaf => cubes.push(Cube { literals: solver.facts().to_vec(), levels: last }),
            Branch::On(literal) => {
                for literal in [literal, !literal] {
                    let mark = solver.mark();
                    if solver.assume(literal) {
                        self.divide(solver, level + 1, last, cubes);
                    }
                    solver.undo(mark);
                }
            }
        }
    }

    /// The best literal to branch on, its more promising sign first. Literals whose negation fails
    /// are assumed on the way.
    fn look_ahead(&self, solver: &mut Solver) -> Branch {
        let mut best = None;
        for variable in &self.variables {
            if !solver.is_open(*variable) {
                continue;
            }
            let literal = Literal::new(*variable, false);
            match (self.reduction(solver, literal), self.reduction(solver, !literal)) {
                (None, None) => return Branch::Dead,
                (None, Some(_)) => {
                    solver.assume(!literal);
                }
                (Some(_), None) => {
                    solver.assume(literal);
                }
                (Some(positive), Some(negative)) => {
                    let score = (positive + 1) * (negative + 1) + positive + negative;
                    // The side that constrains less is likelier to have a model.
                    let first = if positive <= negative { literal } else { !literal };
                    if best.is_none_or(|(most, _)| score > most) {
                        best = Some((score, first));
                    }
                }
            }
        }
        match best {
            // A literal whose negation failed may have decided it since.
            Some((_, literal)) if solver.is_open(literal.variable()) => Branch::On(literal),
            _ => Branch::Leaf,
        }
    }

    /// The number of clauses that `literal` and its consequences would shorten; `None` if they contradict.
    fn reduction(&self, solver: &mut Solver, literal: Literal) -> Option<u64> {
        let mark = solver.mark();
        let consistent = solver.assume(literal);
        let shortened = solver.since(mark).iter().map(|literal| self.occurrences[(!*literal).index()]).sum();
        solver.undo(mark);
        consistent.then_some(shortened)
    }
}

enum Branch {
    /// No model here.
    Dead,
    /// Nothing left to split on.
    Leaf,
    On(Literal),
}
