//! When a replica is compared with those of others.

use std::time::Duration;

use crate::Time;
use crate::limits::{SHARED_COMPARE_MAX, SHARED_COMPARE_MIN};

/// When a replica is compared next: soon after a change, and less often while nothing changes.
#[derive(Debug)]
pub struct Comparison {
    at: Time,
    rest: Duration,
}

impl Comparison {
    /// The first one.
    pub fn new(now: Time) -> Self {
        Self { at: now + SHARED_COMPARE_MIN, rest: SHARED_COMPARE_MIN }
    }

    /// When it is due.
    pub fn at(&self) -> Time {
        self.at
    }

    /// Something has come: what others have is of interest again.
    pub fn hasten(&mut self, now: Time) {
        self.rest = SHARED_COMPARE_MIN;
        self.at = self.at.min(now + SHARED_COMPARE_MIN);
    }

    /// Nothing has come until it was due: the rests become longer.
    pub fn lengthen(&mut self) {
        self.rest = (self.rest * 2).min(SHARED_COMPARE_MAX);
    }

    /// It is made now: the next one follows after a rest.
    pub fn make(&mut self, now: Time) {
        self.at = now + self.rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rests_become_longer_until_something_has_come() {
        let now = Time(0);
        let mut comparison = Comparison::new(now);
        assert_eq!(comparison.at(), now + SHARED_COMPARE_MIN);
        let mut before = SHARED_COMPARE_MIN;
        for _ in 0..40 {
            comparison.lengthen();
            comparison.make(now);
            let rest = comparison.at().since(now);
            assert_eq!(rest, (before * 2).min(SHARED_COMPARE_MAX));
            before = rest;
        }
        assert_eq!(before, SHARED_COMPARE_MAX);
        comparison.hasten(now);
        assert_eq!(comparison.at(), now + SHARED_COMPARE_MIN);
        // It is not put off by what comes later.
        comparison.hasten(now + SHARED_COMPARE_MIN);
        assert_eq!(comparison.at(), now + SHARED_COMPARE_MIN);
        comparison.make(now);
        assert_eq!(comparison.at(), now + SHARED_COMPARE_MIN);
    }
}
