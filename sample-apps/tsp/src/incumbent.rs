//! The best tour that any host knows.

use sateen::prelude::*;
use serde::{Deserialize, Serialize};

use crate::search::Known;
use crate::tour::Tour;

// ANCHOR: shared
/// The best tour so far. The tour itself and not only its length: whoever found it may be gone, and done
/// again it is not found below a path that its own length closes.
#[derive(Debug, Serialize, Deserialize)]
pub struct Incumbent {
    best: Tour,
    /// Of the cities; they never change. Here they are found by one host and known to all.
    prices: Vec<i64>,
}

impl Incumbent {
    /// A tour to begin with, and the cities' prices.
    pub fn new(best: Tour, prices: Vec<i64>) -> Self {
        Self { best, prices }
    }
}

#[shared]
impl Incumbent {
    /// There is this tour; of two the better one stays, whichever comes first and however often.
    #[update]
    pub fn improve(&mut self, tour: Tour) {
        if tour < self.best {
            self.best = tour;
        }
    }
}
// ANCHOR_END: shared

/// A tour that all hosts hear of.
impl Known for Shared<Incumbent> {
    #[inline(always)]
    fn length(&self) -> i64 {
        self.read().best.length
    }

    fn tour(&self) -> Tour {
        self.read().best.clone()
    }

    fn is_not_before(&self, path: &[u8]) -> bool {
        self.read().best.is_not_before(path)
    }

    fn prices(&self) -> Option<Vec<i64>> {
        Some(self.read().prices.clone())
    }

    fn offer(&mut self, tour: Tour) {
        let is_better = tour < self.read().best;
        if is_better {
            self.improve(tour);
        }
    }
}
