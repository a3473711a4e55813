//! Depth-first branch and bound.

use crate::bound::{Bound, Problem};
use crate::instance::Assignment;

/// Marks a facility without a location.
pub const OPEN: u8 = u8::MAX;

/// The best known assignment: a search reads it and offers better ones.
pub trait Known {
    /// Its cost.
    fn cost(&self) -> i64;
    /// The assignment.
    fn assignment(&self) -> Assignment;
    /// Whether `places` is before it in lexicographic order.
    fn is_after(&self, places: &[u8]) -> bool;
    /// Offers an assignment that may be better.
    fn offer(&mut self, assignment: Assignment);
}

/// An assignment that is not shared.
impl Known for Assignment {
    #[inline(always)]
    fn cost(&self) -> i64 {
        self.cost
    }

    fn assignment(&self) -> Assignment {
        self.clone()
    }

    fn is_after(&self, places: &[u8]) -> bool {
        *places < *self.places
    }

    fn offer(&mut self, assignment: Assignment) {
        if assignment < *self {
            *self = assignment;
        }
    }
}

/// An assignment of some facilities; the others are [`OPEN`].
pub type Partial = Vec<u8>;

/// One more located facility: the lower bound of assignments with it, the facility, the location.
pub type Child = (i64, u8, u8);

/// A search below a partial assignment.
pub struct Search<'a, K> {
    problem: &'a Problem,
    /// The unit of which all costs are multiples.
    pub unit: i64,
    pub known: K,
    /// The number of bounds computed.
    pub nodes: u64,
}

impl<'a, K: Known> Search<'a, K> {
    /// A search that begins with `known`.
    pub fn new(problem: &'a Problem, known: K) -> Self {
        Self { problem, unit: if problem.is_even { 2 } else { 1 }, known, nodes: 0 }
    }

    /// Whether `partial`, with the lower bound `bound`, may lead to a better assignment than the known
    /// one.
    pub fn is_open(&self, bound: i64, partial: &[u8]) -> bool {
        let known = self.known.cost();
        // Of equally cheap assignments, only the first counts: so it is the same whichever host
        // finds it when.
        bound < known || bound == known && self.known.is_after(&first_of(partial))
    }

    /// The ways to locate one more facility, the most promising first. Partial assignments with two open facilities are
    /// completed right away.
    pub fn children(&mut self, partial: &[u8]) -> Vec<Child> {
        self.nodes += 1;
        let Bound { least, facilities, locations, dearer } = self.problem.bound(partial);
        let size = facilities.len();
        if size <= 2 {
            self.complete(partial, &facilities, &locations);
            return Vec::new();
        }
        let sum_of_row = |row: usize| dearer[row][..size].iter().sum::<f64>() as i64;
        let sum_of_column = |column: usize| dearer[..size].iter().map(|row| row[column]).sum::<f64>() as i64;
        // Where the costs are highest, few children stay open.
        let row = (0..size).max_by_key(|row| (sum_of_row(*row), usize::MAX - row)).unwrap_or(0);
        let column =
            (0..size).max_by_key(|column| (sum_of_column(*column), usize::MAX - column)).unwrap_or(0);
        let by_row = sum_of_row(row) >= sum_of_column(column);
        let mut children = Vec::with_capacity(size);
        let mut below = partial.to_vec();
        for nth in 0..size {
            let (row, column) = if by_row { (row, nth) } else { (nth, column) };
            let (facility, location) = (facilities[row], locations[column]);
            let bound = self.rounded(least + dearer[row][column] as i64);
            below[usize::from(facility)] = location;
            if self.is_open(bound, &below) {
                children.push((bound, facility, location));
            }
            below[usize::from(facility)] = OPEN;
        }
        children.sort_unstable();
        children
    }

    /// Searches everything below `partial`.
    pub fn run(&mut self, partial: &mut [u8]) {
        for (bound, facility, location) in self.children(partial) {
            let place = usize::from(facility);
            partial[place] = location;
            if self.is_open(bound, partial) {
                self.run(partial);
            }
            partial[place] = OPEN;
        }
    }

    fn rounded(&self, bound: i64) -> i64 {
        (bound + self.unit - 1) / self.unit * self.unit
    }

    fn complete(&mut self, partial: &[u8], facilities: &[u8], locations: &[u8]) {
        let mut places = partial.to_vec();
        for turn in 0..facilities.len() {
            for (nth, facility) in facilities.iter().enumerate() {
                places[usize::from(*facility)] = locations[(nth + turn) % locations.len()];
            }
            let assignment = Assignment::of(&self.problem.instance, places.clone());
            self.known.offer(assignment);
        }
        if facilities.is_empty() {
            self.known.offer(Assignment::of(&self.problem.instance, places));
        }
    }
}

/// The first completion of `partial` in lexicographic order.
fn first_of(partial: &[u8]) -> Vec<u8> {
    let taken = partial.iter().filter(|place| **place != OPEN).fold(0_u64, |set, place| set | 1 << place);
    let mut free = !taken;
    partial
        .iter()
        .map(|place| {
            if *place != OPEN {
                return *place;
            }
            let least = free.trailing_zeros() as u8;
            free &= free - 1;
            least
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_completion_fills_open_places_in_order() {
        assert_eq!(first_of(&[OPEN, 0, OPEN, 3, OPEN]), [1, 0, 2, 3, 4]);
        assert_eq!(first_of(&[2, 1, 0]), [2, 1, 0]);
    }
}
