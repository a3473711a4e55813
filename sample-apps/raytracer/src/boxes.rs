//! Nested boxes (a bounding volume hierarchy), so that a ray is tested against few solids.

use crate::scene::Solid;
use crate::vector::{Vector, greater, lesser};

/// Maximum solids of an undivided box.
const LEAF_SOLIDS: usize = 4;

/// Boxes in depth-first order.
#[derive(Debug, Clone, Default)]
pub struct Boxes {
    all: Vec<Bounds>,
}

/// A box with edges along the axes.
#[derive(Debug, Clone)]
struct Bounds {
    low: Vector,
    high: Vector,
    /// The next box if the ray misses this one.
    next: u32,
    /// The solids directly in it, not in an inner box.
    first: u32,
    end: u32,
}

impl Boxes {
    /// Puts `solids` into boxes, and sorts them in the order of the boxes.
    pub fn around(solids: &mut [Solid]) -> Self {
        let mut boxes = Self::default();
        if !solids.is_empty() {
            boxes.divide(solids, 0);
        }
        boxes
    }

    fn divide(&mut self, solids: &mut [Solid], first: usize) {
        let extents = solids.iter().map(|solid| solid.shape.extent());
        let Some((low, high)) = extents.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))) else { return };
        let place = self.all.len();
        let is_leaf = solids.len() <= LEAF_SOLIDS;
        let end = if is_leaf { first + solids.len() } else { first };
        self.all.push(Bounds { low, high, next: 0, first: first as u32, end: end as u32 });
        if !is_leaf {
            let size = high - low;
            let middle = move |solid: &Solid| {
                let (low, high) = solid.shape.extent();
                let sum = low + high;
                if size.x >= size.y && size.x >= size.z {
                    sum.x
                } else if size.y >= size.z {
                    sum.y
                } else {
                    sum.z
                }
            };
            // Stable, so that the order is the same everywhere.
            solids.sort_by(|a, b| middle(a).total_cmp(&middle(b)));
            let half = solids.len() / 2;
            let (left, right) = solids.split_at_mut(half);
            self.divide(left, first);
            self.divide(right, first + half);
        }
        self.all[place].next = self.all.len() as u32;
    }

    /// Calls `visit` with the solids of every box that the ray enters nearer than the distance that `visit` last
    /// returned; at first, nearer than `farthest`.
    #[inline(always)]
    pub fn visit(
        &self,
        solids: &[Solid],
        from: Vector,
        direction: Vector,
        mut farthest: f64,
        mut visit: impl FnMut(usize, &Solid, f64) -> f64,
    ) {
        let inverse = Vector::new(slowness(direction.x), slowness(direction.y), slowness(direction.z));
        let mut place = 0;
        while let Some(bounds) = self.all.get(place) {
            let (low, high) = ((bounds.low - from).times(inverse), (bounds.high - from).times(inverse));
            let (near, far) = (low.min(high), low.max(high));
            let near = greater(greater(near.x, near.y), greater(near.z, 0.0));
            let far = lesser(lesser(far.x, far.y), lesser(far.z, farthest));
            if near <= far {
                let inside = bounds.first as usize..bounds.end as usize;
                for (nth, solid) in inside.clone().zip(&solids[inside]) {
                    farthest = visit(nth, solid, farthest);
                }
                place += 1;
            } else {
                place = bounds.next as usize;
            }
        }
    }
}

/// The length of a ray that moves by 1 along an axis: at most 10³⁰, whose product with any distance is still
/// finite.
#[inline(always)]
fn slowness(speed: f64) -> f64 {
    if speed.abs() > 1e-30 { 1.0 / speed } else { 1e30 }
}
