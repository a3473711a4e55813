//! Nested cells, and the pull of all bodies on one body (Barnes and Hut, "A hierarchical O(N log N)
//! force-calculation algorithm", 1986).
//!
//! Only sums, products, quotients and roots are used: their bits are the same everywhere.

use std::ops::Range;

use crate::bodies::{Law, Point, Vector};
use crate::list::{List, Pull};
use crate::pull::{Pulls, Vectors, rounded};

/// Maximum bodies in an undivided cell.
const LEAF_BODIES: usize = 8;

/// Maximum bodies that are computed together: with more, more cells are opened that are far from most of them.
const GROUP_BODIES: u32 = 32;

/// The cost of listing a mass, in sums of a pull.
const LISTING_COST: usize = 4;

/// Maximum nesting of cells: bodies that are still together then are practically in one place.
const DEPTH_MAX: u32 = 60;

/// All cells, depth first, and the bodies in the order in which the cells have them.
#[derive(Debug)]
pub struct Tree {
    cells: Vec<Cell>,
    /// x, y, z and mass of each body.
    points: Vec<Point>,
    /// Each body's number before sorting.
    order: Vec<u32>,
    /// Where each group begins: bodies of one cell that are computed together.
    groups: Vec<u32>,
}

#[derive(Debug, Clone, Copy)]
struct Cell {
    /// Its centre of mass.
    middle: Vector,
    mass: f64,
    /// The square of the distance beyond which it counts as one body.
    reach2: f64,
    /// The next cell outside of this one.
    next: u32,
    /// The bodies in it.
    first: u32,
    end: u32,
}

impl Tree {
    /// The tree of bodies with these positions and masses.
    pub fn new(points: &[Point], opening: f64) -> Self {
        let (low, high) = bounds(points);
        let edge = (0..3).map(|axis| high[axis] - low[axis]).fold(0.0, greater);
        let center = [0, 1, 2].map(|axis| 0.5 * (low[axis] + high[axis]));
        let count = points.len();
        let mut all = Sum::default();
        points.iter().for_each(|point| all.add(point));
        let mut builder = Builder {
            // Mostly, there are fewer.
            cells: Vec::with_capacity(count / 2),
            opening,
            octants: vec![0; count],
            sides: [(); 2].map(|()| Side { points: points.to_vec(), order: (0..count as u32).collect() }),
        };
        if count > 0 {
            builder.add(0..count, &all, center, edge, 0);
        }
        let Builder { cells, sides: [Side { points, order }, _], .. } = builder;
        Self { groups: groups(&cells), cells, points, order }
    }

    /// The number of bodies.
    pub fn count(&self) -> usize {
        self.points.len()
    }

    /// The pulls on the bodies of the groups that begin in a range of bodies, in the tree's order; with their
    /// potentials if requested.
    pub fn pulls(&self, law: &Law, bodies: Range<usize>, with_potentials: bool) -> Pulls {
        let mut pulls = Pulls::default();
        let mut list = List::default();
        let mut cost = 0;
        let begun_before = |body: usize| self.groups.partition_point(|begin| (*begin as usize) < body);
        for place in begun_before(bodies.start)..begun_before(bodies.end) {
            let group_end = self.groups.get(place + 1).map_or(self.points.len(), |end| *end as usize);
            let group = self.groups[place] as usize..group_end;
            let is_near = self.gather(&group, &mut list);
            cost += group.len() * (list.count() + group.len()) + LISTING_COST * list.count();
            for nth in group.clone() {
                let (change, potential) = self.pull(law, nth, &group, &list);
                pulls.changes.0.push(if is_near { rounded(change) } else { change });
                if with_potentials {
                    pulls.potentials.push(potential);
                }
            }
        }
        pulls.costs.push(cost as u64);
        pulls
    }

    /// Lists the masses outside of a group that attract its bodies; returns whether some of them are several bodies
    /// that count as one.
    fn gather(&self, group: &Range<usize>, list: &mut List) -> bool {
        list.clear();
        let (low, high) = bounds(&self.points[group.clone()]);
        let mut is_near = false;
        let mut place = 0;
        while let Some(cell) = self.cells.get(place) {
            let (first, end) = (cell.first as usize, cell.end as usize);
            let is_leaf = cell.next as usize == place + 1;
            if first >= group.start && end <= group.end {
                place = cell.next as usize;
                continue;
            }
            // To the nearest position that a body of the group may have.
            let away = |axis: usize| {
                let middle = cell.middle[axis];
                greater(greater(low[axis] - middle, middle - high[axis]), 0.0)
            };
            let (dx, dy, dz) = (away(0), away(1), away(2));
            if dx * dx + dy * dy + dz * dz > cell.reach2 {
                list.push(cell.middle, cell.mass);
                is_near |= end - first > 1;
                place = cell.next as usize;
                continue;
            }
            if is_leaf {
                self.points[first..end].iter().for_each(|[x, y, z, mass]| list.push([*x, *y, *z], *mass));
            }
            place += 1;
        }
        is_near
    }

    /// Converts pulls from the tree's order to the order of the bodies.
    pub fn unsorted(&self, pulls: Pulls) -> Pulls {
        let Pulls { changes: Vectors(changes), potentials, costs } = pulls;
        Pulls { changes: Vectors(self.unsort(&changes)), potentials: self.unsort(&potentials), costs }
    }

    fn unsort<T: Copy>(&self, sorted: &[T]) -> Vec<T> {
        let mut unsorted = sorted.to_vec();
        for (nth, one) in self.order.iter().zip(sorted) {
            unsorted[*nth as usize] = *one;
        }
        unsorted
    }

    /// The change of a body's velocity, and its potential, from its group and the listed masses.
    fn pull(&self, law: &Law, nth: usize, group: &Range<usize>, list: &List) -> (Vector, f64) {
        let [x, y, z, _] = self.points[nth];
        let Pull { change: [mut to_x, mut to_y, mut to_z], mut depth } = list.pull([x, y, z], law.softening2);
        for (other, [other_x, other_y, other_z, mass]) in group.clone().zip(&self.points[group.clone()]) {
            if other == nth {
                continue;
            }
            let (dx, dy, dz) = (other_x - x, other_y - y, other_z - z);
            let inverse = 1.0 / (dx * dx + dy * dy + dz * dz + law.softening2).sqrt();
            let share = mass * inverse;
            let factor = share * inverse * inverse;
            depth += share;
            to_x += factor * dx;
            to_y += factor * dy;
            to_z += factor * dz;
        }
        let gravity = law.gravity;
        ([to_x * gravity, to_y * gravity, to_z * gravity], -depth * gravity)
    }
}

/// Where groups begin: the largest cells of few enough bodies, or those that could not be divided.
fn groups(cells: &[Cell]) -> Vec<u32> {
    let mut groups = Vec::new();
    let mut place = 0;
    while let Some(cell) = cells.get(place) {
        let next = cell.next as usize;
        if cell.end - cell.first <= GROUP_BODIES || next == place + 1 {
            groups.push(cell.first);
            place = next;
        } else {
            place += 1;
        }
    }
    groups
}

/// The least and the greatest coordinates of points.
fn bounds(points: &[Point]) -> (Vector, Vector) {
    points.iter().fold(([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]), |(low, high), point| {
        let axes = [0, 1, 2];
        (axes.map(|axis| lesser(low[axis], point[axis])), axes.map(|axis| greater(high[axis], point[axis])))
    })
}

/// The lesser of two numbers, neither of which is a NaN. `f64::min` is a call in WebAssembly.
#[inline(always)]
fn lesser(a: f64, b: f64) -> f64 {
    if b < a { b } else { a }
}

/// See [`lesser`].
#[inline(always)]
pub fn greater(a: f64, b: f64) -> f64 {
    if b > a { b } else { a }
}

/// Sums over the bodies of a cell.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    /// Sum of positions times masses.
    moment: Vector,
    mass: f64,
}

impl Sum {
    fn add(&mut self, [x, y, z, mass]: &Point) {
        let [sum_x, sum_y, sum_z] = self.moment;
        self.moment = [sum_x + x * mass, sum_y + y * mass, sum_z + z * mass];
        self.mass += mass;
    }

    /// Their centre of mass; `center` if they have no mass.
    fn middle(&self, center: Vector) -> Vector {
        if self.mass > 0.0 { self.moment.map(|part| part / self.mass) } else { center }
    }
}

/// Sorts the bodies themselves, and sums them up at the same time, so that memory is read in order.
struct Builder {
    cells: Vec<Cell>,
    opening: f64,
    /// The octant of each in the cell that is being divided.
    octants: Vec<u8>,
    /// Bodies of cells at even depths are on the first side, and are sorted over to the other. The final order is
    /// on the first.
    sides: [Side; 2],
}

/// Bodies in the order so far.
struct Side {
    points: Vec<Point>,
    /// Their numbers.
    order: Vec<u32>,
}

impl Builder {
    /// Adds the cell of `bodies`, whose sum is `sum`, and its inner cells. Sorts the bodies.
    fn add(&mut self, bodies: Range<usize>, sum: &Sum, center: Vector, edge: f64, depth: u32) {
        let middle = sum.middle(center);
        let [dx, dy, dz] = [0, 1, 2].map(|axis| middle[axis] - center[axis]);
        // Barnes' criterion since 1994: so a heavy corner is not mistaken for the centre.
        let reach = if self.opening > 0.0 {
            edge / self.opening + (dx * dx + dy * dy + dz * dz).sqrt()
        } else {
            f64::INFINITY
        };
        let place = self.cells.len();
        self.cells.push(Cell {
            middle,
            mass: sum.mass,
            reach2: reach * reach,
            next: 0,
            first: bodies.start as u32,
            end: bodies.end as u32,
        });
        if bodies.len() > LEAF_BODIES && depth < DEPTH_MAX {
            let mut begin = bodies.start;
            let (ends, sums) = self.sort(bodies, center, depth);
            for (octant, (end, sum)) in ends.into_iter().zip(&sums).enumerate() {
                if end > begin {
                    let toward = |axis: usize| if octant >> axis & 1 == 1 { 0.25 } else { -0.25 };
                    let inner = [0, 1, 2].map(|axis| center[axis] + toward(axis) * edge);
                    self.add(begin..end, sum, inner, edge * 0.5, depth + 1);
                }
                begin = end;
            }
        } else if !depth.is_multiple_of(2) {
            let [first, second] = &mut self.sides;
            first.points[bodies.clone()].copy_from_slice(&second.points[bodies.clone()]);
            first.order[bodies.clone()].copy_from_slice(&second.order[bodies]);
        }
        self.cells[place].next = self.cells.len() as u32;
    }

    /// Sorts the bodies of a cell at this depth by octant, stably; returns where each octant ends, and its sum.
    fn sort(&mut self, bodies: Range<usize>, center: Vector, depth: u32) -> ([usize; 8], [Sum; 8]) {
        let [first, second] = &mut self.sides;
        let (from, to) = if depth.is_multiple_of(2) { (first, second) } else { (second, first) };
        let mut counts = [0; 8];
        let mut sums = [Sum::default(); 8];
        for (point, octant) in from.points[bodies.clone()].iter().zip(&mut self.octants[bodies.clone()]) {
            *octant = u8::from(point[0] >= center[0])
                | u8::from(point[1] >= center[1]) << 1
                | u8::from(point[2] >= center[2]) << 2;
            let place = usize::from(*octant) % 8;
            counts[place] += 1;
            sums[place].add(point);
        }
        let mut end = bodies.start;
        let mut next = counts.map(|count| {
            end += count;
            end - count
        });
        for nth in bodies {
            let place = &mut next[usize::from(self.octants[nth]) % 8];
            to.points[*place] = from.points[nth];
            to.order[*place] = from.order[nth];
            *place += 1;
        }
        (next, sums)
    }
}
