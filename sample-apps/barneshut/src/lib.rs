//! How bodies move under one another's gravity, with Barnes and Hut's tree.
//!
//! `bodies` moves them in leapfrog steps; `tree` finds what pulls at each. A job is a run of bodies in
//! the tree's order, so neighbours in space; it spawns the second half and does the first itself.
//!
//! This is the pure version: what travels with a job is all bodies, and who runs it builds the tree
//! again. On one machine nothing travels, since a job that is called in place shares its parent's tree.

mod bodies;
mod parse;
mod tree;

use std::cell::OnceCell;
use std::rc::Rc;

pub use bodies::{Bodies, Law, Pull, Vector};
pub use parse::{COUNT_MAX, parse};
use sateen::prelude::*;
use serde::{Deserialize, Serialize};
pub use tree::Tree;

/// So many bodies are done without spawning: a hundred microseconds of work for ten thousand in all.
const PLAIN_BODIES: usize = 16;

/// The most steps.
const STEPS_MAX: u64 = 1_000_000;

/// The energy of `bodies` before and after `steps` steps, and on the second line a hash of them.
/// `bodies` is how many of a star cluster there are, or `file` for those of the input `bodies`.
///
/// # Errors
/// When there are too few or too many of something, or the input is missing or is not right.
#[main]
pub fn main(bodies: String, steps: u64) -> Result<String, BadInput> {
    let bodies = opening(&bodies, steps)?;
    Ok(simulate(bodies, steps, |sky| pulls(Rc::clone(sky), 0, sky.tree().count())).to_string())
}

/// The same without spawns: what the spawning version is measured against.
///
/// # Errors
/// As [`main()`].
#[main]
pub fn plain(bodies: String, steps: u64) -> Result<String, BadInput> {
    Ok(simulate_plain(opening(&bodies, steps)?, steps).to_string())
}

/// What a simulation comes to.
#[derive(Debug, Clone, PartialEq)]
pub struct Course {
    /// The energy at the start.
    pub before: f64,
    /// The energy at the end.
    pub after: f64,
    /// The bodies at the end.
    pub bodies: Bodies,
}

impl std::fmt::Display for Course {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:e} {:e}\n{:016x}", self.before, self.after, self.bodies.hash())
    }
}

/// So many steps, without spawns.
pub fn simulate_plain(bodies: Bodies, steps: u64) -> Course {
    simulate(bodies, steps, |sky| sky.tree().pulls(&sky.law, 0, sky.tree().count()))
}

/// So many steps; `find` finds the pulls in the tree's order.
fn simulate(mut bodies: Bodies, steps: u64, find: impl Fn(&Rc<Sky>) -> Vec<Pull>) -> Course {
    let find = |bodies: &Bodies| {
        let sky = Rc::new(Sky::of(bodies));
        sky.tree().unsorted(&find(&sky))
    };
    let mut pulls = find(&bodies);
    let before = bodies.energy(&pulls);
    for step in 1..=steps {
        bodies.kick_and_drift(&pulls);
        pulls = find(&bodies);
        bodies.kick(&pulls);
        sateen::progress(step, steps);
    }
    Course { before, after: bodies.energy(&pulls), bodies }
}

/// What pulls at the bodies from `first` to before `end`, in the tree's order.
#[job]
fn pulls(sky: Rc<Sky>, first: usize, end: usize) -> Vec<Pull> {
    if end - first <= PLAIN_BODIES {
        return sky.tree().pulls(&sky.law, first, end);
    }
    let middle = first.midpoint(end);
    let second = pulls::spawn(Rc::clone(&sky), middle, end);
    let mut all = pulls(sky, first, middle);
    all.extend(second.sync());
    all
}

/// All that pulls at one moment.
#[derive(Debug, Serialize, Deserialize)]
struct Sky {
    law: Law,
    masses: Vec<f64>,
    places: Vec<Vector>,
    /// Made where it is needed: it is larger than what it is made from.
    #[serde(skip)]
    tree: OnceCell<Tree>,
}

impl Sky {
    fn of(bodies: &Bodies) -> Self {
        let Bodies { law, masses, places, .. } = bodies;
        Self { law: *law, masses: masses.clone(), places: places.clone(), tree: OnceCell::new() }
    }

    fn tree(&self) -> &Tree {
        self.tree.get_or_init(|| Tree::new(&self.masses, &self.places, self.law.opening))
    }
}

fn opening(bodies: &str, steps: u64) -> Result<Bodies, BadInput> {
    if steps > STEPS_MAX {
        return Err(BadInput(format!("{steps} steps are too many; {STEPS_MAX} is the most")));
    }
    if bodies == "file" {
        return parse(&sateen::input_text("bodies")?);
    }
    match bodies.parse() {
        Ok(count @ 2..=COUNT_MAX) => Ok(Bodies::plummer(count)),
        _ => Err(BadInput(format!(
            "argument `bodies` is `{bodies}`, but how many is expected, 2 to {COUNT_MAX}, or `file`"
        ))),
    }
}
