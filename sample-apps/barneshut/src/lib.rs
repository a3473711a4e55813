//! How bodies move under one another's gravity, with Barnes and Hut's tree.
//!
//! `bodies` moves them in leapfrog steps; `tree` finds what pulls at each. A job is a run of bodies in
//! the tree's order, so neighbours in space; it spawns the second half and does the first itself.
//!
//! There are two versions. In the pure one, what travels with a job is all bodies. With `--shared` they are
//! a shared object, `world`: every host has them, the root job sends how their speeds change once a step,
//! and a job is two numbers; a guard keeps it waiting until the step has arrived. Whoever runs a job
//! builds the tree where it has none yet. On one machine nothing travels, since a job that is called in
//! place shares its parent's tree.

mod bodies;
mod parse;
mod tree;
mod world;

use std::cell::OnceCell;
use std::rc::Rc;

pub use bodies::{Bodies, Law, Pull, Vector};
pub use parse::{COUNT_MAX, parse};
use sateen::prelude::*;
use serde::{Deserialize, Serialize};
pub use tree::Tree;
use world::{World, has_step};

/// So many bodies are done without spawning: a hundred microseconds of work for ten thousand in all.
const PLAIN_BODIES: usize = 16;

/// The most steps.
const STEPS_MAX: u64 = 1_000_000;

/// The energy of `bodies` before and after `steps` steps, and on the second line a hash of them.
/// `bodies` is how many of a star cluster there are, or `file` for those of the input `bodies`. The
/// only flag is `--shared`.
///
/// # Errors
/// When there are too few or too many of something, or the input is missing or is not right.
#[main]
pub fn main(bodies: String, steps: u64, flags: Vec<String>) -> Result<String, BadInput> {
    let bodies = opening(&bodies, steps)?;
    let course = match flags.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => simulate(bodies, steps, |bodies, _, _| {
            let sky = Rc::new(Sky::of(bodies));
            let count = sky.tree().count();
            sky.tree().unsorted(&pulls(Rc::clone(&sky), 0, count))
        }),
        ["--shared"] => simulate_shared(bodies, steps),
        [flag, ..] => {
            return Err(BadInput(format!("`{flag}` where --shared, or nothing more, is expected")));
        }
    };
    Ok(course.to_string())
}

/// The same without spawns: what the spawning versions are measured against.
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
    simulate(bodies, steps, |bodies, _, _| {
        let tree = Tree::new(&bodies.masses, &bodies.places, bodies.law.opening);
        tree.unsorted(&tree.pulls(&bodies.law, 0, tree.count()))
    })
}

/// So many steps of bodies that all hosts have.
fn simulate_shared(bodies: Bodies, steps: u64) -> Course {
    let world = Shared::new(World::new(bodies.clone()));
    simulate(bodies, steps, |_, step, changes| {
        if step > 0 {
            world.make_step(step, changes.to_vec());
        }
        let count = world.read().tree().count();
        let mut found = pulls_in(world.clone(), step, 0, count);
        let world = world.read();
        if found.len() != count {
            found = world.tree().pulls(&world.bodies.law, 0, count);
        }
        world.tree().unsorted(&found)
    })
}

/// So many steps. `find` finds what pulls at the bodies after a step, given how their speeds changed in
/// it; at first, after none.
fn simulate(mut bodies: Bodies, steps: u64, find: impl Fn(&Bodies, u64, &[Vector]) -> Vec<Pull>) -> Course {
    let changes_of = |pulls: &[Pull]| -> Vec<Vector> { pulls.iter().map(|pull| pull.change).collect() };
    let mut pulls = find(&bodies, 0, &[]);
    let before = bodies.energy(&pulls);
    let mut changes = changes_of(&pulls);
    for step in 1..=steps {
        bodies.kick_and_drift(&changes);
        pulls = find(&bodies, step, &changes);
        changes = changes_of(&pulls);
        bodies.kick(&changes);
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

// ANCHOR: guarded
/// The same of bodies that every host has, after so many steps. Fewer where the bodies have moved on
/// meanwhile: they wait for the first one to do a job, and a host that was cut off may come back with it.
#[job(guard = has_step)]
fn pulls_in(world: Shared<World>, step: u64, first: usize, end: usize) -> Vec<Pull> {
    if end - first <= PLAIN_BODIES {
        let world = world.read();
        if world.step != step {
            return Vec::new();
        }
        return world.tree().pulls(&world.bodies.law, first, end);
    }
    let middle = first.midpoint(end);
    let second = pulls_in::spawn(world.clone(), step, middle, end);
    let mut all = pulls_in(world, step, first, middle);
    all.extend(second.sync());
    all
}
// ANCHOR_END: guarded

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
