//! Formulas in conjunctive normal form.

use std::ops::Not;

use serde::{Deserialize, Serialize};

/// A variable or its negation: twice the variable's number from 0, plus one if negated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Literal(pub(crate) u32);

impl Literal {
    /// The literal that DIMACS writes as `number`, which is not 0.
    pub fn from_dimacs(number: i32) -> Self {
        Self((number.unsigned_abs() - 1) * 2 + u32::from(number < 0))
    }

    /// The variable's number from 1, negative if negated.
    pub fn to_dimacs(self) -> i64 {
        let number = i64::from(self.0 / 2) + 1;
        if self.0 & 1 == 0 { number } else { -number }
    }

    /// The literal of `variable`, negated or not.
    pub fn new(variable: usize, negated: bool) -> Self {
        Self((variable as u32) * 2 + u32::from(negated))
    }

    /// Its variable, from 0.
    pub fn variable(self) -> usize {
        (self.0 / 2) as usize
    }

    /// Its place in an array over all literals.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// Whether it is a negation.
    pub fn is_negated(self) -> bool {
        self.0 & 1 == 1
    }
}

impl Not for Literal {
    type Output = Self;

    fn not(self) -> Self {
        Self(self.0 ^ 1)
    }
}

/// A conjunction of clauses. No clause holds a literal twice, or a literal and its negation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Formula {
    /// The number of variables, used or not.
    pub variables: usize,
    clauses: Vec<Vec<Literal>>,
}

impl Formula {
    /// A formula over `variables` variables, without clauses.
    pub fn new(variables: usize) -> Self {
        Self { variables, clauses: Vec::new() }
    }

    /// Adds a clause, unless it is always true.
    pub fn add(&mut self, mut clause: Vec<Literal>) {
        clause.sort_unstable();
        clause.dedup();
        // A variable's two literals are neighbours.
        let is_tautology = clause.windows(2).any(|pair| pair[0] == !pair[1]);
        if !is_tautology {
            self.clauses.push(clause);
        }
    }

    /// The clauses.
    pub fn clauses(&self) -> &[Vec<Literal>] {
        &self.clauses
    }

    /// Whether every clause holds a literal of `model`.
    pub fn is_satisfied_by(&self, model: &[Literal]) -> bool {
        let mut is_true = vec![false; 2 * self.variables];
        for literal in model {
            is_true[literal.index()] = true;
        }
        self.clauses.iter().all(|clause| clause.iter().any(|literal| is_true[literal.index()]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_dimacs_numbers() {
        for number in [1, -1, 2, -2, 70_000, -70_000] {
            assert_eq!(Literal::from_dimacs(number).to_dimacs(), i64::from(number));
            assert_eq!((!Literal::from_dimacs(number)).to_dimacs(), -i64::from(number));
        }
    }

    #[test]
    fn clauses_are_cleaned() {
        let mut formula = Formula::new(2);
        formula.add([1, 1, -2].map(Literal::from_dimacs).to_vec());
        formula.add([2, 1, -2].map(Literal::from_dimacs).to_vec());
        assert_eq!(formula.clauses(), [[1, -2].map(Literal::from_dimacs)]);
    }
}
