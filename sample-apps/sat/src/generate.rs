//! The source of the formula: the input, or a generator, for measuring without a file.

use std::cell::RefCell;

use sateen::{BadInput, prepare};
use serde::{Deserialize, Serialize};

use crate::dimacs;
use crate::formula::{Formula, Literal};

const VARIABLES_MAX: u32 = 100_000;
const HOLES_MAX: u32 = 100;

/// The formula's source. It is small, as every job carries it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Source {
    /// The input `cnf`.
    Input,
    /// Uniform random 3-SAT with 4.26 clauses a variable, where about half of all formulas are
    /// satisfiable and the rest are hardest (Mitchell, Selman and Levesque, AAAI 1992).
    Random {
        /// Number of variables.
        variables: u32,
        /// Seed of the random numbers.
        seed: u64,
    },
    /// This number of holes, and one more pigeon: never satisfiable, and hard without counting (Haken 1985).
    Holes(u32),
}

impl Source {
    /// Reads the words of the command line.
    ///
    /// # Errors
    /// When they have none of the forms that `main` accepts.
    pub fn from_arguments(
        kind: Option<&str>,
        size: Option<u32>,
        seed: Option<u64>,
    ) -> Result<Self, BadInput> {
        match (kind, size, seed) {
            (None, ..) => Ok(Self::Input),
            (Some("random"), Some(variables @ 3..=VARIABLES_MAX), Some(seed)) => {
                Ok(Self::Random { variables, seed })
            }
            (Some("holes"), Some(holes @ 1..=HOLES_MAX), None) => Ok(Self::Holes(holes)),
            _ => Err(BadInput(format!(
                "the arguments are none (with --input cnf=FILE), `random VARIABLES SEED` (3 to {VARIABLES_MAX}) or `holes N` (1 to {HOLES_MAX})"
            ))),
        }
    }

    /// The formula. That of the input is prepared on each host; another one is made once in each sandbox.
    ///
    /// # Errors
    /// When the input is missing or is not a DIMACS file.
    pub fn formula(&self) -> Result<&'static Formula, BadInput> {
        match *self {
            Self::Input => given(),
            Self::Random { variables, seed } => Ok(self.kept(|| random(variables, seed))),
            Self::Holes(holes) => Ok(self.kept(|| pigeons(holes))),
        }
    }

    /// The formula of this generator.
    fn kept(&self, make: impl FnOnce() -> Formula) -> &'static Formula {
        thread_local! {
            static KEPT: RefCell<Option<(Source, &'static Formula)>> = const { RefCell::new(None) };
        }
        KEPT.with_borrow_mut(|kept| match kept {
            Some((source, formula)) if source == self => *formula,
            _ => {
                let formula: &_ = Box::leak(Box::new(sateen::per_sandbox(self, make)));
                *kept = Some((self.clone(), formula));
                formula
            }
        })
    }
}

/// The formula of the input.
#[prepare]
fn given() -> Result<Formula, BadInput> {
    dimacs::parse(&sateen::input("cnf")?)
}

/// Clauses of three different variables, each negated or not.
fn random(variables: u32, seed: u64) -> Formula {
    let mut formula = Formula::new(variables as usize);
    let mut state = seed;
    let mut below = |bound: u32| {
        // SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((u128::from(word ^ (word >> 31)) * u128::from(bound)) >> 64) as u32
    };
    let clauses = u64::from(variables) * 426 / 100;
    for _ in 0..clauses {
        let mut clause: Vec<Literal> = Vec::with_capacity(3);
        while clause.len() < 3 {
            let variable = below(variables) as usize;
            if clause.iter().all(|literal| literal.variable() != variable) {
                clause.push(Literal::new(variable, below(2) == 1));
            }
        }
        formula.add(clause);
    }
    formula
}

/// Every pigeon sits in a hole, and no two share one.
fn pigeons(holes: u32) -> Formula {
    let (holes, pigeons) = (holes as usize, holes as usize + 1);
    let sits = |pigeon: usize, hole: usize| Literal::new(pigeon * holes + hole, false);
    let mut formula = Formula::new(pigeons * holes);
    for pigeon in 0..pigeons {
        formula.add((0..holes).map(|hole| sits(pigeon, hole)).collect());
    }
    for hole in 0..holes {
        for second in 0..pigeons {
            for first in 0..second {
                formula.add(vec![!sits(first, hole), !sits(second, hole)]);
            }
        }
    }
    formula
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pigeonhole_formulas_match_dimacs() {
        // hole6: 42 variables and 133 clauses.
        let formula = pigeons(6);
        assert_eq!((formula.variables, formula.clauses().len()), (42, 133));
    }

    #[test]
    fn random_formulas_depend_only_on_their_seeds() {
        let formula = random(50, 1);
        assert_eq!(formula.clauses().len(), 213);
        assert!(formula.clauses().iter().all(|clause| clause.len() == 3));
        assert_eq!(formula, random(50, 1));
        assert_ne!(formula, random(50, 2));
    }

    #[test]
    fn other_words_are_refused() {
        for (kind, size, seed) in
            [("random", None, None), ("random", Some(2), Some(1)), ("hole", Some(6), None)]
        {
            assert!(Source::from_arguments(Some(kind), size, seed).is_err());
        }
    }
}
