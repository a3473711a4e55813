//! The masses that attract a group of close bodies, gathered once for the whole group (Barnes, "A modified tree
//! code: don't laugh; it runs", 1990), and summed up several at a time.

use wide::f64x4;

use crate::bodies::Vector;

/// Masses that are summed up at a time.
const LANES: usize = 4;

/// Masses and their positions.
#[derive(Debug, Default)]
pub struct List {
    blocks: Vec<Block>,
    /// The number of masses in the last block.
    in_last: usize,
}

/// Some masses; missing ones are zero, at the position of another.
/// Whole cache lines.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Block {
    x: [f64; LANES],
    y: [f64; LANES],
    z: [f64; LANES],
    mass: [f64; LANES],
}

/// The total pull on a body.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pull {
    /// The change of its velocity, without the gravitational constant.
    pub change: Vector,
    /// Its potential, without that constant.
    pub depth: f64,
}

impl List {
    /// Empties it.
    pub fn clear(&mut self) {
        self.blocks.clear();
        self.in_last = LANES;
    }

    /// The number of masses.
    pub fn count(&self) -> usize {
        self.blocks.len() * LANES + self.in_last - LANES
    }

    /// Adds a mass at a position.
    #[inline(always)]
    pub fn push(&mut self, [x, y, z]: Vector, mass: f64) {
        if let Some(last) = self.blocks.last_mut()
            && self.in_last < LANES
        {
            let lane = self.in_last;
            (last.x[lane], last.y[lane], last.z[lane], last.mass[lane]) = (x, y, z, mass);
            self.in_last += 1;
            return;
        }
        let mut masses = [0.0; LANES];
        masses[0] = mass;
        self.blocks.push(Block { x: [x; LANES], y: [y; LANES], z: [z; LANES], mass: masses });
        self.in_last = 1;
    }

    /// The pull on a body at this position, at which the list has no mass.
    pub fn pull(&self, [x, y, z]: Vector, softening2: f64) -> Pull {
        let [x, y, z, softening2] = [x, y, z, softening2].map(f64x4::splat);
        let [mut to_x, mut to_y, mut to_z, mut depth] = [f64x4::ZERO; 4];
        for block in &self.blocks {
            let (dx, dy, dz) = (f64x4::new(block.x) - x, f64x4::new(block.y) - y, f64x4::new(block.z) - z);
            let inverse = f64x4::ONE / (dx * dx + dy * dy + dz * dz + softening2).sqrt();
            let share = f64x4::new(block.mass) * inverse;
            let factor = share * inverse * inverse;
            depth += share;
            to_x += factor * dx;
            to_y += factor * dy;
            to_z += factor * dz;
        }
        let sum = |lanes: f64x4| {
            let [a, b, c, d] = lanes.to_array();
            (a + b) + (c + d)
        };
        Pull { change: [sum(to_x), sum(to_y), sum(to_z)], depth: sum(depth) }
    }
}
