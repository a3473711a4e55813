//! The bound of Gilmore (1962) and Lawler (1963): no assignment of the open facilities is cheaper than the
//! cheapest matching of them with open locations, where for each pair on its own the largest flows take the shortest
//! distances.
//!
//! The cost of a facility at a location is a sum of flows times distances. So all of these costs are one
//! product of matrices, computed several columns at a time. Numbers are whole and below 2^53: floats are exact.

use std::cell::RefCell;

use wide::f64x4;

use crate::instance::{Instance, SIZE_MAX};
use crate::matching::{Costs, LANES, Row, reduce};
use crate::search::OPEN;

/// Maximum terms of such a sum: to and from each located facility, or to each open one, and to itself. A
/// multiple of [`TERMS_AT_ONCE`].
const TERMS_MAX: usize = 2 * SIZE_MAX + TERMS_AT_ONCE;

/// Terms per turn of a loop. A guest checks at each turn whether to stop.
const TERMS_AT_ONCE: usize = 4;

/// An instance, with data for its bounds.
pub struct Problem {
    /// The instance.
    pub instance: Instance,
    /// See [`Instance::is_even`].
    pub is_even: bool,
    first: Matrix,
    second: Matrix,
    room: RefCell<Room>,
}

struct Matrix {
    /// Its rows, filled up with zeros.
    rows: Vec<Row>,
    columns: Vec<Row>,
    /// The entries of each row except the diagonal, in order, with their columns.
    sorted: Vec<Vec<(u8, f64)>>,
}

/// Workspace for a bound: the flows by open facility, and for each flow the distances to each open location.
struct Room {
    flows: [[f64; TERMS_MAX]; SIZE_MAX],
    ways: [Row; TERMS_MAX],
}

/// The lower bound of a partial assignment, with its parts.
pub struct Bound {
    /// No assignment is cheaper.
    pub least: i64,
    /// The facilities without a location.
    pub facilities: Vec<u8>,
    /// The locations without a facility.
    pub locations: Vec<u8>,
    /// The minimum extra cost over `least` of a facility at each location.
    pub dearer: Costs,
}

impl Problem {
    /// Prepares `instance` for bounds.
    pub fn new(instance: Instance) -> Self {
        let Instance { size, first, second } = &instance;
        let first = Matrix::new(first, *size, |a, b| b.total_cmp(a));
        let second = Matrix::new(second, *size, f64::total_cmp);
        let room =
            RefCell::new(Room { flows: [[0.0; TERMS_MAX]; SIZE_MAX], ways: [[0.0; SIZE_MAX]; TERMS_MAX] });
        Self { is_even: instance.is_even(), instance, first, second, room }
    }

    /// The bound of a partial assignment.
    pub fn bound(&self, partial: &[u8]) -> Bound {
        let (mut facilities, mut located) = (Vec::with_capacity(SIZE_MAX), Vec::with_capacity(SIZE_MAX));
        let (mut are_open, mut are_free) = (0_u32, u32::MAX);
        for (facility, place) in (0_u8..).zip(partial) {
            if *place == OPEN {
                facilities.push(facility);
                are_open |= 1 << facility;
            } else {
                located.push((facility, *place));
                are_free &= !(1 << place);
            }
        }
        let locations: Vec<u8> =
            (0..partial.len() as u8).filter(|place| are_free >> place & 1 == 1).collect();
        let mut fixed = 0.0;
        for (facility, place) in &located {
            let (flows, ways) = (self.first.row(*facility), self.second.row(*place));
            fixed += located.iter().map(|(f, p)| flows[index(*f)] * ways[index(*p)]).sum::<f64>();
        }
        let room = &mut *self.room.borrow_mut();
        let terms = self.fill(room, [are_open, are_free], [&facilities, &locations], &located);
        let open = facilities.len();
        let mut dearer = [[0.0; SIZE_MAX]; SIZE_MAX];
        for (costs, flows) in dearer.iter_mut().zip(&room.flows).take(open) {
            for (block, costs) in
                costs.as_chunks_mut::<LANES>().0.iter_mut().take(open.div_ceil(LANES)).enumerate()
            {
                *costs = product(&flows[..terms], &room.ways, block);
            }
        }
        // Rounded only after all extra costs have been added.
        let least = fixed + reduce(&mut dearer, open);
        Bound { least: least as i64, facilities, locations, dearer }
    }

    /// Writes the terms into the workspace, and returns their number.
    fn fill(
        &self,
        Room { flows, ways }: &mut Room,
        [are_open, are_free]: [u32; 2],
        [facilities, locations]: [&[u8]; 2],
        located: &[(u8, u8)],
    ) -> usize {
        let others = facilities.len().saturating_sub(1);
        for (own, flows) in facilities.iter().zip(&mut *flows) {
            // Written whether it counts or not, and overwritten if not: no branch to mispredict.
            let mut count = 0;
            for (other, flow) in &self.first.sorted[index(*own)] {
                flows[count] = *flow;
                count += (are_open >> other & 1) as usize;
            }
            let (to, from) = (self.first.row(*own), self.first.column(*own));
            let to_located = located.iter().flat_map(|(other, _)| [to[index(*other)], from[index(*other)]]);
            let rest = to_located.chain([to[index(*own)]]).chain([0.0; TERMS_AT_ONCE]);
            flows[others..].iter_mut().zip(rest).for_each(|(room, flow)| *room = flow);
        }
        for (column, here) in locations.iter().enumerate() {
            let mut count = 0;
            for (other, way) in &self.second.sorted[index(*here)] {
                ways[count][column] = *way;
                count += (are_free >> other & 1) as usize;
            }
            let (to, from) = (self.second.row(*here), self.second.column(*here));
            let mut rows = ways[others..].iter_mut();
            for (_, there) in located {
                for (way, row) in [to[index(*there)], from[index(*there)]].into_iter().zip(rows.by_ref()) {
                    row[column] = way;
                }
            }
            rows.by_ref().take(1).for_each(|row| row[column] = to[index(*here)]);
        }
        (others + 2 * located.len() + 1).next_multiple_of(TERMS_AT_ONCE).min(TERMS_MAX)
    }
}

/// One block of a row of a product of matrices. `flows` are a multiple of [`TERMS_AT_ONCE`].
#[inline(always)]
fn product(flows: &[f64], ways: &[Row], block: usize) -> [f64; LANES] {
    let mut sum = f64x4::ZERO;
    for (flows, ways) in flows.as_chunks::<TERMS_AT_ONCE>().0.iter().zip(ways.as_chunks::<TERMS_AT_ONCE>().0)
    {
        let term = |nth: usize| {
            f64x4::splat(flows[nth]) * f64x4::new(ways[nth].as_chunks().0[block % (SIZE_MAX / LANES)])
        };
        sum += (term(0) + term(1)) + (term(2) + term(3));
    }
    sum.to_array()
}

impl Matrix {
    fn new(entries: &[i64], size: usize, order: impl Fn(&f64, &f64) -> std::cmp::Ordering) -> Self {
        let entry = |row: usize, column: usize| entries[row * size + column] as f64;
        let filled = |entry: &dyn Fn(usize) -> f64| {
            let mut row = [0.0; SIZE_MAX];
            row.iter_mut().zip(0..size).for_each(|(room, nth)| *room = entry(nth));
            row
        };
        let rows = (0..size).map(|row| filled(&|column| entry(row, column))).collect();
        let columns = (0..size).map(|column| filled(&|row| entry(row, column))).collect();
        let sorted = |row: usize| {
            let others = (0..size).filter(|column| *column != row);
            let mut others: Vec<(u8, f64)> =
                others.map(|column| (column as u8, entry(row, column))).collect();
            others.sort_by(|a, b| order(&a.1, &b.1));
            others
        };
        Self { rows, columns, sorted: (0..size).map(sorted).collect() }
    }

    fn row(&self, nth: u8) -> &Row {
        &self.rows[usize::from(nth)]
    }

    fn column(&self, nth: u8) -> &Row {
        &self.columns[usize::from(nth)]
    }
}

/// A facility or location as an index into a [`Row`].
#[inline(always)]
fn index(nth: u8) -> usize {
    usize::from(nth) % SIZE_MAX
}
