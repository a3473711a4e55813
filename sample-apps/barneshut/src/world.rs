//! Bodies that every host has, so that they need not be sent with each job.

use std::cell::OnceCell;

use sateen::prelude::*;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Moment;
use crate::bodies::Bodies;
use crate::changed::Changed;
use crate::pull::Vectors;
use crate::tree::Tree;
use crate::zones::Zones;

/// The bodies after so many steps.
#[derive(Debug)]
pub struct World {
    /// With the speeds of half a step before, from the first step on.
    pub bodies: Bodies,
    /// How many steps were made.
    pub step: u64,
    /// How they are divided among jobs.
    pub zones: Zones,
    /// How speeds changed in the last step; nothing at first.
    pub changes: Vectors,
    /// Made where it is needed.
    tree: OnceCell<Tree>,
}

impl World {
    /// The bodies at the start.
    pub fn new(bodies: Bodies) -> Self {
        let (zones, changes) = (Zones::even(bodies.count()), Vectors::default());
        Self { bodies, step: 0, zones, changes, tree: OnceCell::new() }
    }

    /// The bodies' tree.
    pub fn tree(&self) -> &Tree {
        self.tree.get_or_init(|| {
            let make = || Tree::new(&self.bodies.points(), self.bodies.law.opening);
            sateen::per_sandbox(&(self.step, &self.bodies), make)
        })
    }
}

/// Bodies as they are sent.
#[derive(Serialize)]
enum Sent<'a> {
    /// So many of the model, at the start.
    Plummer(usize),
    All(&'a Bodies),
}

/// The same, as they arrive.
#[derive(Deserialize)]
enum Received {
    Plummer(usize),
    All(Bodies),
}

impl Serialize for World {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { bodies, step, zones, changes, .. } = self;
        let count = bodies.count();
        let is_model = *step == 0 && *bodies == Bodies::plummer(count);
        let sent = if is_model { Sent::Plummer(count) } else { Sent::All(bodies) };
        (sent, step, zones, changes).serialize(serializer)
    }
}

impl<'a> Deserialize<'a> for World {
    fn deserialize<D: Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
        let (received, step, zones, changes) = Deserialize::deserialize(deserializer)?;
        let bodies = match received {
            Received::Plummer(count) => Bodies::plummer(count),
            Received::All(bodies) => bodies,
        };
        Ok(Self { bodies, step, zones, changes, tree: OnceCell::new() })
    }
}

#[shared]
impl World {
    /// Makes the step numbered `step`, from 1. `changes` are those of the speeds at the places before it, since those
    /// of the last step; `zones` those of the bodies after it.
    ///
    /// # Panics
    /// If they are since something else.
    #[update]
    pub fn make_step(&mut self, step: u64, changes: Changed, zones: Zones) {
        // A root job that is done again makes the steps again.
        if step != self.step + 1 {
            return;
        }
        let Some(changes) = changes.after(&self.changes) else {
            panic!("what pulls in step {step} is told by what did not pull in the one before");
        };
        if self.step > 0 {
            self.bodies.kick(&changes.0);
        }
        self.bodies.kick_and_drift(&changes.0);
        self.changes = changes;
        self.step = step;
        self.zones = zones;
        self.tree = OnceCell::new();
    }
}

// ANCHOR: guard
/// Whether a replica has come to a step.
pub fn has_step(world: &Shared<World>, moment: &Moment, _first: &usize, _end: &usize) -> bool {
    world.read().step >= moment.step
}
// ANCHOR_END: guard
