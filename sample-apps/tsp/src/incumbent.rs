//! The best tour that any host knows.

use sateen::prelude::*;
use serde::{Deserialize, Serialize};

use crate::search::Known;
use crate::tour::Tour;

// ANCHOR: shared
/// The best tour so far. It is the tour itself and not only its length: the host that found it may be gone, and its
/// job, done again, would not find it, as its own length prunes it.
#[derive(Debug, Serialize, Deserialize)]
pub struct Incumbent {
    best: Tour,
    /// The cities' prices, which never change. One host computes them for all.
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
    /// Adds a tour; of two, the better one stays, in any order and however often they arrive.
    #[update]
    pub fn improve(&mut self, tour: Tour) {
        if tour < self.best {
            self.best = tour;
        }
    }
}
// ANCHOR_END: shared

/// A tour that is shared with all hosts.
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
