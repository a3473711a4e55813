//! Bodies that every host has, so that they need not be sent with each job.

use std::cell::OnceCell;

use sateen::prelude::*;
use serde::{Deserialize, Serialize};

use crate::Moment;
use crate::bodies::Bodies;
use crate::pull::Vectors;
use crate::tree::Tree;
use crate::zones::Zones;

/// The bodies after so many steps.
#[derive(Debug, Serialize, Deserialize)]
pub struct World {
    #[serde(with = "sent")]
    /// With the speeds of half a step before, from the first step on.
    pub bodies: Bodies,
    /// How many steps were made.
    pub step: u64,
    /// How they are divided among jobs.
    pub zones: Zones,
    /// Made where it is needed.
    #[serde(skip)]
    tree: OnceCell<Tree>,
}

impl World {
    /// The bodies at the start.
    pub fn new(bodies: Bodies) -> Self {
        Self { zones: Zones::even(bodies.count()), bodies, step: 0, tree: OnceCell::new() }
    }

    /// The bodies' tree.
    pub fn tree(&self) -> &Tree {
        self.tree.get_or_init(|| Tree::new(&self.bodies.points(), self.bodies.law.opening))
    }
}

/// How bodies are sent: those of a model as how many there are.
mod sent {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::bodies::Bodies;

    #[derive(Serialize)]
    enum Sent<'a> {
        Plummer(usize),
        All(&'a Bodies),
    }

    #[derive(Deserialize)]
    enum Received {
        Plummer(usize),
        All(Bodies),
    }

    pub fn serialize<S: Serializer>(bodies: &Bodies, serializer: S) -> Result<S::Ok, S::Error> {
        let count = bodies.count();
        let sent = if *bodies == Bodies::plummer(count) { Sent::Plummer(count) } else { Sent::All(bodies) };
        sent.serialize(serializer)
    }

    pub fn deserialize<'a, D: Deserializer<'a>>(deserializer: D) -> Result<Bodies, D::Error> {
        Ok(match Received::deserialize(deserializer)? {
            Received::Plummer(count) => Bodies::plummer(count),
            Received::All(bodies) => bodies,
        })
    }
}

#[shared]
impl World {
    /// Makes the step numbered `step`, from 1. `changes` are those of the speeds at the places before it,
    /// `zones` those of the bodies after it.
    #[update]
    pub fn make_step(&mut self, step: u64, changes: Vectors, zones: Zones) {
        // A root job that is done again makes the steps again.
        if step != self.step + 1 {
            return;
        }
        if self.step > 0 {
            self.bodies.kick(&changes.0);
        }
        self.bodies.kick_and_drift(&changes.0);
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
