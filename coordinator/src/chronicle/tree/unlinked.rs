//! Jobs whose parent is not known yet.

use std::collections::{BTreeSet, HashMap};

use sateen_protocol::JobTag;

use super::node::NOWHERE;
use crate::limits::TREE_UNKNOWN_PARENTS_MAX;

/// Jobs and the parents that they wait for, both ways.
#[derive(Debug, Default)]
pub struct Unlinked {
    parent_of: HashMap<u32, JobTag>,
    waiting: BTreeSet<(JobTag, u32)>,
}

impl Unlinked {
    /// The parent that a job waits for.
    pub fn parent_of(&self, place: u32) -> Option<JobTag> {
        self.parent_of.get(&place).copied()
    }

    /// A job waits for its parent, if there is room for it here.
    pub fn add(&mut self, place: u32, parent: JobTag) {
        if self.parent_of.len() < TREE_UNKNOWN_PARENTS_MAX {
            self.parent_of.insert(place, parent);
            self.waiting.insert((parent, place));
        }
    }

    /// A job that waits for this parent; it stops waiting.
    pub fn take_below(&mut self, parent: JobTag) -> Option<u32> {
        let (_, place) = self.waiting.range((parent, 0)..=(parent, NOWHERE)).next().copied()?;
        self.waiting.remove(&(parent, place));
        self.parent_of.remove(&place);
        Some(place)
    }

    /// A job stops waiting.
    pub fn forget(&mut self, place: u32) {
        if let Some(parent) = self.parent_of.remove(&place) {
            self.waiting.remove(&(parent, place));
        }
    }

    /// Whether no job waits.
    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.parent_of.is_empty() && self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_wait_until_their_parents_come_or_they_go_themselves() {
        let mut unlinked = Unlinked::default();
        for (place, parent) in [(5, 1), (3, 1), (4, 2), (6, 1)] {
            unlinked.add(place, JobTag(parent));
        }
        assert_eq!((unlinked.parent_of(4), unlinked.parent_of(7)), (Some(JobTag(2)), None));
        unlinked.forget(6);
        let below: Vec<u32> = std::iter::from_fn(|| unlinked.take_below(JobTag(1))).collect();
        assert_eq!((below, unlinked.parent_of(5)), (vec![3, 5], None));
        assert_eq!((unlinked.take_below(JobTag(3)), unlinked.take_below(JobTag(2))), (None, Some(4)));
        assert!(unlinked.is_empty());
    }

    #[test]
    fn the_number_of_waiting_jobs_is_bounded() {
        let mut unlinked = Unlinked::default();
        for place in 0..=TREE_UNKNOWN_PARENTS_MAX as u32 {
            unlinked.add(place, JobTag(1));
        }
        let last = TREE_UNKNOWN_PARENTS_MAX as u32 - 1;
        assert_eq!((unlinked.parent_of(last), unlinked.parent_of(last + 1)), (Some(JobTag(1)), None));
    }
}
