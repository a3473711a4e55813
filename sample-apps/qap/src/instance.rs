//! Facilities, locations, and assignments of facilities to locations.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Maximum facilities: a set of them is one word.
pub const SIZE_MAX: usize = 32;

/// The largest entry of a matrix.
pub const ENTRY_MAX: i64 = 1_000_000;

/// An instance with as many locations as facilities: two square matrices, as in QAPLIB.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instance {
    /// The number of facilities, 1 to [`SIZE_MAX`].
    pub size: usize,
    /// The matrix A, row by row: the flow (or distance) between each two facilities.
    pub first: Vec<i64>,
    /// The matrix B, row by row: the distance (or flow) between each two locations.
    pub second: Vec<i64>,
}

impl Instance {
    /// The cost of an assignment: the sum of A\[i\]\[j\] B\[p(i)\]\[p(j)\] over all i and j.
    pub fn cost(&self, places: &[u8]) -> i64 {
        let mut cost = 0;
        for (i, p) in places.iter().enumerate() {
            for (j, q) in places.iter().enumerate() {
                cost += self.first[i * self.size + j]
                    * self.second[usize::from(*p) * self.size + usize::from(*q)];
            }
        }
        cost
    }

    /// Whether both matrices are symmetric with zero diagonals: then each
    /// pair counts twice, and every cost is even.
    pub fn is_even(&self) -> bool {
        [&self.first, &self.second].into_iter().all(|matrix| {
            (0..self.size).all(|i| {
                matrix[i * self.size + i] == 0
                    && (0..i).all(|j| matrix[i * self.size + j] == matrix[j * self.size + i])
            })
        })
    }
}

/// An assignment of all facilities. The lesser of two is the better one: the cheaper, or the first in
/// lexicographic order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Assignment {
    /// Its cost.
    pub cost: i64,
    /// The location of each facility, from 0.
    pub places: Vec<u8>,
}

impl Assignment {
    /// The assignment to `places`, which has each location once.
    pub fn of(instance: &Instance, places: Vec<u8>) -> Self {
        Self { cost: instance.cost(&places), places }
    }
}

/// The cost on the first line; on the second, the location of each facility, from 1.
impl fmt::Display for Assignment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.cost)?;
        for (nth, place) in self.places.iter().enumerate() {
            let space = if nth == 0 { "" } else { " " };
            write!(f, "{space}{}", place + 1)?;
        }
        Ok(())
    }
}
