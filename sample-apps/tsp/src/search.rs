//! Depth-first branch and bound: a path from city 0, extended city by city.

use crate::problem::{Problem, UNIT};
use crate::tour::{Tour, Ways};

/// The best known tour: a search reads it and offers better ones.
pub trait Known {
    /// Its length.
    fn length(&self) -> i64;
    /// The tour.
    fn tour(&self) -> Tour;
    /// Whether it begins with `path`, or with a path after it in lexicographic order.
    fn is_not_before(&self, path: &[u8]) -> bool;
    /// The cities' prices, if they are known with it.
    fn prices(&self) -> Option<Vec<i64>> {
        None
    }
    /// Offers a tour that may be better.
    fn offer(&mut self, tour: Tour);
}

/// A tour that is not shared.
impl Known for Tour {
    #[inline(always)]
    fn length(&self) -> i64 {
        self.length
    }

    fn tour(&self) -> Tour {
        self.clone()
    }

    fn is_not_before(&self, path: &[u8]) -> bool {
        *path <= self.order[..path.len()]
    }

    fn offer(&mut self, tour: Tour) {
        if tour < *self {
            *self = tour;
        }
    }
}

/// A child of a path: the lower bound of tours through it, with prices, and the city.
pub type Child = (i64, u8);

/// A search below a path.
pub struct Search<'a, K> {
    pub problem: &'a Problem,
    pub ways: &'a Ways,
    pub known: K,
    /// The number of paths extended.
    pub nodes: u64,
}

impl<K: Known> Search<'_, K> {
    /// Whether `path`, with the lower bound `bound`, may lead to a better tour than the known
    /// one.
    pub fn is_open(&self, bound: i64, path: &[u8]) -> bool {
        let known = self.known.length() * UNIT + self.problem.surplus;
        // Lengths are whole numbers: a bound less than a unit below the known length rounds up to it.
        // Of equally long tours, only the first counts: so it is the same whichever host
        // finds it when.
        bound <= known - UNIT || bound <= known && self.known.is_not_before(path)
    }

    /// The cities that may come after `path`, the most promising first. A path with one city left is
    /// completed right away.
    pub fn children(&mut self, path: &[u8]) -> Vec<Child> {
        self.nodes += 1;
        let problem = self.problem;
        let visited = path.iter().fold(0_u64, |set, city| set | 1 << city);
        let left = (u64::MAX >> (64 - problem.count)) & !visited;
        let (length, end) = path.iter().skip(1).fold((0, 0), |(length, end), city| {
            let city = usize::from(*city);
            (length + problem.length(end, city), city)
        });
        let mut children = Vec::new();
        let mut below = path.to_vec();
        below.push(0);
        if left.is_power_of_two() {
            below[path.len()] = left.trailing_zeros() as u8;
            if below[1] < below[path.len()] {
                let length = self.ways.round(&below);
                self.known.offer(Tour { length, order: below });
            }
            return children;
        }
        let mut rest = left;
        while rest != 0 {
            let city = rest.trailing_zeros() as u8;
            rest &= rest - 1;
            let left = left & !(1 << city);
            below[path.len()] = city;
            // Each tour exists in both directions. Only the one whose last city is above its second counts.
            if left >> below[1] == 0 {
                continue;
            }
            let way = problem.length(end, usize::from(city));
            let bound = length + way + problem.rest(usize::from(city), left);
            if self.is_open(bound, &below) {
                children.push((bound, city));
            }
        }
        children.sort_unstable();
        children
    }

    /// Searches everything below `path`.
    pub fn run(&mut self, path: &mut Vec<u8>) {
        for (bound, city) in self.children(path) {
            path.push(city);
            if self.is_open(bound, path) {
                self.run(path);
            }
            path.pop();
        }
    }
}
