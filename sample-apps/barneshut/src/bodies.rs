//! Bodies, the law that moves them, and a model of a star cluster for runs without a file.

use sateen::SplitMix64;
use serde::{Deserialize, Serialize};

use crate::packed;
use crate::tree::greater;

/// Three coordinates.
pub type Vector = [f64; 3];

/// A position, and the mass of the body there.
pub type Point = [f64; 4];

/// Constants of all bodies and all steps.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Law {
    /// The gravitational constant.
    pub gravity: f64,
    /// The square of the softening distance, below which the force stops growing.
    pub softening2: f64,
    /// How small a cell must look for its bodies to count as one: its edge over its distance. With 0,
    /// no cell does, and forces are as exact as their sums. Otherwise they are accurate to some thousandths, and
    /// rounded to a thousandth at most, so that only a fifth of the bytes need to be sent.
    pub opening: f64,
    /// The time between two states.
    pub step: f64,
}

/// Bodies at one moment. All lists are of the same length.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bodies {
    /// How they move.
    pub law: Law,
    /// Each body's mass.
    #[serde(with = "packed")]
    pub masses: Vec<f64>,
    /// Each body's position.
    #[serde(with = "packed")]
    pub places: Vec<Vector>,
    /// Each body's velocity.
    #[serde(with = "packed")]
    pub speeds: Vec<Vector>,
}

impl Bodies {
    /// The number of bodies.
    pub fn count(&self) -> usize {
        self.places.len()
    }

    /// All positions and masses.
    pub fn points(&self) -> Vec<Point> {
        self.places.iter().zip(&self.masses).map(|([x, y, z], mass)| [*x, *y, *z, *mass]).collect()
    }

    /// Sets the velocities half a step later, and the positions a whole step later: the first part of a leapfrog
    /// step. `changes` are the changes of the velocities at the bodies' positions.
    pub fn kick_and_drift(&mut self, changes: &[Vector]) {
        self.kick(changes);
        for (place, speed) in self.places.iter_mut().zip(&self.speeds) {
            for (place, speed) in place.iter_mut().zip(speed) {
                *place += speed * self.law.step;
            }
        }
    }

    /// Sets the velocities half a step later: the other part, with the changes at the new positions.
    pub fn kick(&mut self, changes: &[Vector]) {
        for (speed, change) in self.speeds.iter_mut().zip(changes) {
            for (speed, change) in speed.iter_mut().zip(change) {
                *speed += change * (self.law.step * 0.5);
            }
        }
    }

    /// Their kinetic energy, and their potential energy with these potentials.
    pub fn energy(&self, potentials: &[f64]) -> f64 {
        let mut twice = 0.0;
        for ((mass, speed), potential) in self.masses.iter().zip(&self.speeds).zip(potentials) {
            twice += mass * (speed[0] * speed[0] + speed[1] * speed[1] + speed[2] * speed[2]);
            // Each pair is counted twice.
            twice += mass * potential;
        }
        twice * 0.5
    }

    /// A hash of the bits of all positions and velocities (FNV-1a).
    pub fn hash(&self) -> u64 {
        let numbers = self.places.iter().zip(&self.speeds).flat_map(|(place, speed)| [*place, *speed]);
        let bytes = numbers.flatten().flat_map(|number| number.to_bits().to_le_bytes());
        bytes
            .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    }

    /// `count` bodies of Plummer's model of a star cluster, always the same, generated as by Aarseth, Hénon and
    /// Wielen (1974): in units in which the gravitational constant and the total mass are 1 and the
    /// energy is −¼.
    pub fn plummer(count: usize) -> Self {
        let mut numbers = Numbers(SplitMix64(1911));
        let (mut places, mut speeds) = (Vec::with_capacity(count), Vec::with_capacity(count));
        // 3π/16, and the root of its inverse.
        let length = 3.0 * std::f64::consts::PI / 16.0;
        let speed_unit = (1.0 / length).sqrt();
        for _ in 0..count {
            // The cube root of the mass within its radius is distributed like the greatest of three numbers. The
            // outermost thousandth of the mass, which is infinitely far away, is left out.
            let [a, b, c] = [(); 3].map(|()| numbers.below_one());
            let root = greater(greater(a, b), c) * 0.999_666_6;
            let radius = 1.0 / (1.0 / (root * root) - 1.0).sqrt();
            places.push(times(numbers.direction(), radius * length));
            let share = loop {
                let (share, height) = (numbers.below_one(), numbers.below_one() * 0.1);
                let rest = 1.0 - share * share;
                if height < share * share * rest * rest * rest * rest.sqrt() {
                    break share;
                }
            };
            let escape = std::f64::consts::SQRT_2 / (1.0 + radius * radius).sqrt().sqrt();
            speeds.push(times(numbers.direction(), share * escape * speed_unit));
        }
        at_rest(&mut places);
        at_rest(&mut speeds);
        let law = Law { gravity: 1.0, softening2: 1e-4, opening: 0.6, step: 1.0 / 64.0 };
        Self { law, masses: vec![1.0 / count as f64; count], places, speeds }
    }
}

fn times(vector: Vector, factor: f64) -> Vector {
    vector.map(|part| part * factor)
}

/// Subtracts the mean from all vectors.
fn at_rest(vectors: &mut [Vector]) {
    for axis in 0..3 {
        let mean = vectors.iter().map(|vector| vector[axis]).sum::<f64>() / vectors.len() as f64;
        for vector in &mut *vectors {
            vector[axis] -= mean;
        }
    }
}

/// The random generator for a model.
struct Numbers(SplitMix64);

impl Numbers {
    /// Above 0 and below 1.
    fn below_one(&mut self) -> f64 {
        ((self.0.next() >> 12) as f64 + 0.5) / (1_u64 << 52) as f64
    }

    /// A vector of length 1.
    fn direction(&mut self) -> Vector {
        loop {
            let vector = [(); 3].map(|()| 2.0 * self.below_one() - 1.0);
            let square = vector[0] * vector[0] + vector[1] * vector[1] + vector[2] * vector[2];
            if square > 1e-4 && square <= 1.0 {
                return times(vector, 1.0 / square.sqrt());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_a_plummer_models_mass_is_within_its_half_mass_radius() {
        // 1.30 scale lengths of 3π/16 (Heggie and Hut, "The Gravitational Million-Body Problem").
        let bodies = Bodies::plummer(20_000);
        let inside = bodies.places.iter().filter(|[x, y, z]| x * x + y * y + z * z < 0.769 * 0.769).count();
        assert!((9_600..10_400).contains(&inside), "{inside} of 20000");
    }
}
