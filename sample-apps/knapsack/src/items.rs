//! Items, and a packing of them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The largest profit and weight: products of two of them, and twice that, fit 64 bits.
pub const NUMBER_MAX: i64 = 1_000_000_000;

/// An item that may be packed once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Item {
    /// Its profit, 0 to [`NUMBER_MAX`].
    pub profit: i64,
    /// Its weight, 0 to [`NUMBER_MAX`].
    pub weight: i64,
}

/// A 0-1 knapsack problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Items {
    /// The weight that may be packed, 0 to 10¹⁸.
    pub capacity: i64,
    /// The items, in the order of the file.
    pub items: Vec<Item>,
}

/// A best choice of items.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Solution {
    /// The profit of the chosen items: the optimum.
    pub profit: i64,
    /// Positions of the chosen items, from 0, ascending.
    pub chosen: Vec<usize>,
}

/// The optimum on the first line, the numbers of the chosen items, from 1, on the second.
impl fmt::Display for Solution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.profit)?;
        for (nth, position) in self.chosen.iter().enumerate() {
            let space = if nth == 0 { "" } else { " " };
            write!(f, "{space}{}", position + 1)?;
        }
        Ok(())
    }
}
