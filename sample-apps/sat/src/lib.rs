//! Is there an assignment that satisfies a formula in conjunctive normal form?
//!
//! The search is that of Davis, Putnam, Logemann and Loveland: propagate units, choose a variable,
//! try both values. The upper part of the tree is divided into jobs. A job is a *cube*, the literals
//! that its branch assumes; it first runs a clause-learning solver with a budget of conflicts, and
//! a cube is split by looking ahead only if that fails (cube and conquer; Heule, Kullmann, Wieringa
//! and Biere, HVC 2011). So easy formulas are not split at all, and hard ones evenly.
//!
//! The leftmost cube with a model wins, whichever worker finds a model first: the answer is the same on
//! any number of workers.

mod cube;
mod dimacs;
mod formula;
mod generate;
mod solver;

use std::fmt::Write;

use cube::{Cube, Step, explore};
pub use dimacs::parse;
pub use formula::{Formula, Literal};
pub use generate::Source;
use sateen::prelude::*;

/// `sateen run sat.wasm --input cnf=FILE`, or with a generated formula: `random VARIABLES SEED`,
/// `holes N`.
///
/// # Errors
/// When the input is not a DIMACS file; the message names the line.
#[main]
pub fn main(kind: Option<String>, size: Option<u32>, seed: Option<u64>) -> Result<String, BadInput> {
    let source = Source::from_arguments(kind.as_deref(), size, seed)?;
    let formula = source.formula()?;
    let model = search(source, Cube::default());
    answer(formula, model)
}

/// The same without spawns: the baseline of the spawning version.
///
/// # Errors
/// As `main`.
#[main]
pub fn plain(kind: Option<String>, size: Option<u32>, seed: Option<u64>) -> Result<String, BadInput> {
    let source = Source::from_arguments(kind.as_deref(), size, seed)?;
    let formula = source.formula()?;
    let model = search_plain(formula, &Cube::default());
    answer(formula, model)
}

/// A model of the formula under `cube`, by its true literals, or `None` if there is none.
#[job]
fn search(source: Source, cube: Cube) -> Option<Vec<Literal>> {
    // Every job of a run reads the same formula, which `main` has read before.
    let formula = source.formula().ok()?;
    let cubes = match explore(formula, &cube) {
        Step::Unsatisfiable => return None,
        Step::Model(model) => return Some(model),
        Step::Split(cubes) => cubes,
    };
    let total = cubes.len() as u64;
    let (first, others) = cubes.split_first()?;
    // The last cube first, so that the syncs below find the latest spawned job on top.
    let mut handles: Vec<_> =
        others.iter().rev().map(|cube| search::spawn(source.clone(), cube.clone())).collect();
    let mut model = search(source, first.clone());
    while model.is_none() {
        if cube.is_whole() {
            sateen::progress(total - handles.len() as u64, total);
        }
        let Some(handle) = handles.pop() else { break };
        model = handle.sync();
    }
    model // The remaining handles are dropped here, which aborts their jobs.
}

/// As `search`, without spawns.
fn search_plain(formula: &Formula, cube: &Cube) -> Option<Vec<Literal>> {
    match explore(formula, cube) {
        Step::Unsatisfiable => None,
        Step::Model(model) => Some(model),
        Step::Split(cubes) => cubes.iter().find_map(|cube| search_plain(formula, cube)),
    }
}

/// The answer in the format of the SAT competitions.
fn answer(formula: &Formula, model: Option<Vec<Literal>>) -> Result<String, BadInput> {
    const LINE_CHARACTERS_MAX: usize = 78;
    let Some(model) = model else { return Ok("s UNSATISFIABLE".to_owned()) };
    assert!(formula.is_satisfied_by(&model), "the search found an invalid model; this is a bug");

    let mut text = "s SATISFIABLE\n".to_owned();
    let mut line = "v".to_owned();
    for number in model.iter().map(|literal| literal.to_dimacs()).chain([0]) {
        let word = format!(" {number}");
        if line.len() + word.len() > LINE_CHARACTERS_MAX {
            let _ = writeln!(text, "{line}");
            "v".clone_into(&mut line);
        }
        line.push_str(&word);
    }
    text.push_str(&line);
    Ok(text)
}
