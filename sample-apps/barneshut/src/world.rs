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

/// The bodies after a number of steps.
#[derive(Debug)]
pub struct World {
    /// From the first step on, with the velocities of half a step before.
    pub bodies: Bodies,
    /// The number of steps made.
    pub step: u64,
    /// Their division among jobs.
    pub zones: Zones,
    /// The changes of the velocities in the last step; empty at first.
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

/// Encoded bodies.
#[derive(Serialize)]
enum Sent<'a> {
    /// This number of the model's bodies, at the start.
    Plummer(usize),
    All(&'a Bodies),
}

/// Decoded bodies.
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
    /// Makes the step numbered `step`, from 1. `changes` are the changes of the velocities before it, relative to those
    /// of the last step; `zones` are the zones of the bodies after it.
    ///
    /// # Panics
    /// If they are relative to other changes.
    #[update]
    pub fn make_step(&mut self, step: u64, changes: Changed, zones: Zones) {
        // A redone root job makes the steps again.
        if step != self.step + 1 {
            return;
        }
        let Some(changes) = changes.after(&self.changes) else {
            panic!("the changes of step {step} are not relative to those of the step before");
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
/// Whether a replica has reached a step.
pub fn has_step(world: &Shared<World>, moment: &Moment, _first: &usize, _end: &usize) -> bool {
    world.read().step >= moment.step
}
// ANCHOR_END: guard
