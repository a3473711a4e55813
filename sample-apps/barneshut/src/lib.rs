//! Simulates how bodies move under one another's gravity, with Barnes and Hut's tree.
//!
//! `bodies` moves them in leapfrog steps; `tree` finds the masses that attract each, `list` sums them up. A job is a
//! range of bodies in the tree's order, so neighbours in space, that costs as much as others (`zones`); it spawns the
//! second half and does the first itself.
//!
//! There are two versions. In the pure version, a job's parameters contain all bodies. With `--shared`, the bodies are
//! a shared object, `world`: every host has them, the root job sends the changes of their velocities once a step,
//! and a job is two numbers; a guard keeps it waiting until the step has arrived. A sandbox that runs a job
//! builds the tree if it has none yet. On one machine nothing is sent, since a job that is called in
//! place shares its parent's tree.

mod bodies;
mod changed;
mod list;
mod packed;
mod parse;
mod pull;
mod tree;
mod world;
mod zones;

use std::cell::OnceCell;
use std::rc::Rc;

pub use bodies::{Bodies, Law, Point, Vector};
use changed::Changed;
pub use parse::{COUNT_MAX, parse};
pub use pull::{Pulls, Vectors};
use sateen::prelude::*;
use serde::{Deserialize, Serialize};
pub use tree::Tree;
use world::{World, has_step};
use zones::Zones;

/// Maximum steps.
const STEPS_MAX: u64 = 1_000_000;

/// The energy of `bodies` before and after `steps` steps, and on the second line a hash of them.
/// `bodies` is the number of stars in a cluster, or `file` for those of the input `bodies`. The
/// only flag is `--shared`.
///
/// # Errors
/// When a number is too small or too large, or the input is missing or invalid.
#[main]
pub fn main(bodies: String, steps: u64, flags: Vec<String>) -> Result<String, BadInput> {
    let bodies = opening(&bodies, steps)?;
    let course = match flags.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => simulate(bodies, steps, |bodies, moment, zones, _| {
            // The tree is made with the first pulls, so that others that need it begin as soon as this sandbox.
            let sky = Rc::new(Sky::of(bodies, zones.clone(), moment.needs_energy));
            let found = pulls(Rc::clone(&sky), 0, zones.count());
            sky.tree().unsorted(found)
        }),
        ["--shared"] => simulate_shared(bodies, steps),
        [flag, ..] => {
            return Err(BadInput(format!("`{flag}` where --shared, or nothing more, is expected")));
        }
    };
    Ok(course.to_string())
}

/// The same without spawns: the baseline of the spawning versions.
///
/// # Errors
/// As [`main()`].
#[main]
pub fn plain(bodies: String, steps: u64) -> Result<String, BadInput> {
    Ok(simulate_plain(opening(&bodies, steps)?, steps).to_string())
}

/// The outcome of a simulation.
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

/// Simulates `steps` steps without spawns.
pub fn simulate_plain(bodies: Bodies, steps: u64) -> Course {
    simulate(bodies, steps, |bodies, moment, _, _| {
        let tree = Tree::new(&bodies.points(), bodies.law.opening);
        tree.unsorted(tree.pulls(&bodies.law, 0..tree.count(), moment.needs_energy))
    })
}

/// Simulates `steps` steps of bodies that all hosts have.
fn simulate_shared(bodies: Bodies, steps: u64) -> Course {
    let world = Shared::new(World::new(bodies.clone()));
    simulate(bodies, steps, |_, moment, zones, changes| {
        if moment.step > 0 {
            let changed = Changed::since(&world.read().changes, changes);
            world.make_step(moment.step, changed, zones.clone());
        }
        let mut found = pulls_in(world.clone(), moment, 0, zones.count());
        let world = world.read();
        let count = world.bodies.count();
        if found.count() != count {
            found = world.tree().pulls(&world.bodies.law, 0..count, moment.needs_energy);
        }
        world.tree().unsorted(found)
    })
}

/// Simulates `steps` steps. `find` computes the forces on the bodies after a step, given the changes of their
/// velocities in it; at first, without a step.
fn simulate(
    mut bodies: Bodies,
    steps: u64,
    find: impl Fn(&Bodies, Moment, &Zones, &Vectors) -> Pulls,
) -> Course {
    let moment = |step| Moment { step, needs_energy: step == 0 || step == steps };
    let mut zones = Zones::even(bodies.count());
    let mut pulls = find(&bodies, moment(0), &zones, &Vectors::default());
    let before = bodies.energy(&pulls.potentials);
    for step in 1..=steps {
        let changes = pulls.changes;
        bodies.kick_and_drift(&changes.0);
        zones = zones.balanced(&pulls.costs);
        pulls = find(&bodies, moment(step), &zones, &changes);
        bodies.kick(&pulls.changes.0);
        sateen::progress(step, steps);
    }
    Course { before, after: bodies.energy(&pulls.potentials), bodies }
}

/// The moment for which pulls are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Moment {
    /// The number of steps before it.
    step: u64,
    /// Whether potentials are wanted, too.
    needs_energy: bool,
}

/// The pulls on the bodies of zones `first` to before `end`.
#[job]
fn pulls(sky: Rc<Sky>, first: usize, end: usize) -> Pulls {
    if end - first <= 1 {
        return sky.tree().pulls(&sky.law, sky.zones.bodies(first..end), sky.needs_energy);
    }
    let middle = zones::middle(first, end);
    let second = pulls::spawn(Rc::clone(&sky), middle, end);
    let mut all = pulls(sky, first, middle);
    all.append(second.sync());
    all
}

// ANCHOR: guarded
/// The same for bodies that every host has, after a number of steps. Incomplete if the bodies have moved on
/// meanwhile: the root waits only for the first host that does a job, and a host that was cut off may return with it.
#[job(guard = has_step)]
fn pulls_in(world: Shared<World>, moment: Moment, first: usize, end: usize) -> Pulls {
    if end - first <= 1 {
        let world = world.read();
        if world.step != moment.step {
            return Pulls::default();
        }
        return world.tree().pulls(&world.bodies.law, world.zones.bodies(first..end), moment.needs_energy);
    }
    let middle = zones::middle(first, end);
    let second = pulls_in::spawn(world.clone(), moment, middle, end);
    let mut all = pulls_in(world, moment, first, middle);
    all.append(second.sync());
    all
}
// ANCHOR_END: guarded

/// All masses at one moment.
#[derive(Debug, Serialize, Deserialize)]
struct Sky {
    law: Law,
    zones: Zones,
    #[serde(with = "packed")]
    points: Vec<Point>,
    /// Whether potentials are wanted, too.
    needs_energy: bool,
    /// Made where it is needed: it is larger than its input.
    #[serde(skip)]
    tree: OnceCell<Tree>,
}

/// The tree is not part of it, as it follows from the rest.
impl PartialEq for Sky {
    fn eq(&self, other: &Self) -> bool {
        self.law == other.law
            && self.zones == other.zones
            && self.points == other.points
            && self.needs_energy == other.needs_energy
    }
}

impl Sky {
    fn of(bodies: &Bodies, zones: Zones, needs_energy: bool) -> Self {
        Self { law: bodies.law, zones, points: bodies.points(), needs_energy, tree: OnceCell::new() }
    }

    /// The tree of these bodies.
    fn tree(&self) -> &Tree {
        self.tree
            .get_or_init(|| sateen::per_sandbox(&self.points, || Tree::new(&self.points, self.law.opening)))
    }
}

fn opening(bodies: &str, steps: u64) -> Result<Bodies, BadInput> {
    if steps > STEPS_MAX {
        return Err(BadInput(format!("{steps} steps are too many; at most {STEPS_MAX} are allowed")));
    }
    if bodies == "file" {
        return parse(&sateen::input_text("bodies")?);
    }
    match bodies.parse() {
        Ok(count @ 2..=COUNT_MAX) => Ok(Bodies::plummer(count)),
        _ => Err(BadInput(format!(
            "argument `bodies` is `{bodies}`, but a number is expected, 2 to {COUNT_MAX}, or `file`"
        ))),
    }
}
