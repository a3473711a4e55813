//! The best assignment that any host knows.

use sateen::prelude::*;
use serde::{Deserialize, Serialize};

use crate::instance::Assignment;
use crate::search::Known;

/// The best assignment so far. The assignment itself and not only its cost: whoever found it may be gone,
/// and done again it is not found where its own cost closes the search.
#[derive(Debug, Serialize, Deserialize)]
pub struct Incumbent {
    best: Assignment,
}

impl Incumbent {
    /// An assignment to begin with.
    pub fn new(best: Assignment) -> Self {
        Self { best }
    }
}

#[shared]
impl Incumbent {
    /// There is this assignment; of two the better one stays, whichever comes first and however often.
    #[update]
    pub fn improve(&mut self, assignment: Assignment) {
        if assignment < self.best {
            self.best = assignment;
        }
    }
}

/// An assignment that all hosts hear of.
impl Known for Shared<Incumbent> {
    #[inline(always)]
    fn cost(&self) -> i64 {
        self.read().best.cost
    }

    fn assignment(&self) -> Assignment {
        self.read().best.clone()
    }

    fn is_after(&self, places: &[u8]) -> bool {
        self.read().best.is_after(places)
    }

    fn offer(&mut self, assignment: Assignment) {
        let is_better = assignment < self.read().best;
        if is_better {
            self.improve(assignment);
        }
    }
}
