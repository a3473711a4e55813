//! Depth-first branch and bound: a path from city 0, made longer city by city.

use crate::problem::{Problem, UNIT};
use crate::tour::{Tour, Ways};

/// The best tour that is known: where a search reads it, and what it tells of better ones.
pub trait Known {
    /// How long it is.
    fn length(&self) -> i64;
    /// The tour.
    fn tour(&self) -> Tour;
    /// Whether a path is before, or the same as, the beginning of it.
    fn is_not_before(&self, path: &[u8]) -> bool;
    /// The cities' prices, if they come with it.
    fn prices(&self) -> Option<Vec<i64>> {
        None
    }
    /// Tells of a tour that may be better.
    fn offer(&mut self, tour: Tour);
}

/// A tour that nobody else sees.
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

/// A child of a path: what no tour through it is shorter than, with prices, and the city.
pub type Child = (i64, u8);

/// A search below a path.
pub struct Search<'a, K> {
    pub problem: &'a Problem,
    pub ways: &'a Ways,
    pub known: K,
    /// Paths that were made longer.
    pub nodes: u64,
}

impl<K: Known> Search<'_, K> {
    /// Whether a tour better than the known one may begin with `path`, when none that does is shorter
    /// than `bound`.
    pub fn is_open(&self, bound: i64, path: &[u8]) -> bool {
        let known = self.known.length() * UNIT + self.problem.surplus;
        // Lengths are whole numbers: what is less than a unit below the known one rounds up to it.
        // Only the tour that comes first of equally long ones will do: so it is the same one whoever
        // finds it when.
        bound <= known - UNIT || bound <= known && self.known.is_not_before(path)
    }

    /// The cities that may come after `path`, the most promising first. A path that leaves one city is
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
            // Each tour is two: one in each direction. Only that whose last city is above its second.
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

    /// Searches all below `path`.
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
