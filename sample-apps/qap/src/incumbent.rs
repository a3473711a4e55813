//! The best assignment that any host knows.

use sateen::prelude::*;
use serde::{Deserialize, Serialize};

use crate::instance::Assignment;
use crate::search::Known;

/// The best assignment so far. It is the assignment itself and not only its cost: the host that found it may be gone,
/// and its job, done again, would not find it, as its own cost prunes it.
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
    /// Adds an assignment; of two, the better one stays, in any order and however often they arrive.
    #[update]
    pub fn improve(&mut self, assignment: Assignment) {
        if assignment < self.best {
            self.best = assignment;
        }
    }
}

/// An assignment that is shared with all hosts.
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
