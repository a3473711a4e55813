//! Cities and the ways between them, and a tour through all of them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Maximum cities: a set of them is one word.
pub const CITIES_MAX: usize = 64;

/// The longest way between two cities.
pub const WAY_MAX: i64 = 10_000_000;

/// The length of the way between each two cities, the same in both directions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ways {
    count: usize,
    lengths: Vec<i64>,
}

impl Ways {
    /// The ways between `count` cities, by their lengths, 0 to [`WAY_MAX`]. `length` is called with a
    /// city and a city before it.
    pub fn new(count: usize, mut length: impl FnMut(usize, usize) -> i64) -> Self {
        let mut lengths = vec![0; count * count];
        for from in 0..count {
            for to in 0..from {
                let length = length(from, to);
                lengths[from * count + to] = length;
                lengths[to * count + from] = length;
            }
        }
        Self { count, lengths }
    }

    /// The number of cities.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The distance from one city to another.
    pub fn length(&self, from: usize, to: usize) -> i64 {
        self.lengths[from * self.count + to]
    }

    /// The length of the round through all cities of `order` and back to the first.
    pub fn round(&self, order: &[u8]) -> i64 {
        let next = order.iter().cycle().skip(1);
        order.iter().zip(next).map(|(from, to)| self.length(usize::from(*from), usize::from(*to))).sum()
    }
}

/// A tour through all cities. The lesser of two is the better one: the shorter, or the first in
/// lexicographic order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Tour {
    /// Its length.
    pub length: i64,
    /// The cities from 0, each once. It begins with city 0, and its second city is below its last.
    pub order: Vec<u8>,
}

impl Tour {
    /// The tour through `order`, which has each city once, beginning anywhere in either direction.
    pub fn of(ways: &Ways, mut order: Vec<u8>) -> Self {
        let start = order.iter().position(|city| *city == 0).unwrap_or(0);
        order.rotate_left(start);
        if order.len() > 2 && order[1] > order[order.len() - 1] {
            order[1..].reverse();
        }
        Self { length: ways.round(&order), order }
    }
}

/// The length on the first line, the cities' numbers, from 1, on the second.
impl fmt::Display for Tour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.length)?;
        for (nth, city) in self.order.iter().enumerate() {
            let space = if nth == 0 { "" } else { " " };
            write!(f, "{space}{}", city + 1)?;
        }
        Ok(())
    }
}
