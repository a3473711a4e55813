//! The critical path: from the root down, the child that ended last.

use super::Tree;
use super::node::NOWHERE;
use crate::chronicle::state::Group;

impl Tree {
    /// A job has ended. The child that ends last is the critical one; a job that is still running will end later.
    pub(super) fn has_ended_last(&mut self, place: u32) {
        let Some(parent) = self.get(place).map(|node| node.parent) else { return };
        let critical = self.critical_of(parent);
        if critical == place || !self.runs(critical) {
            self.set_critical(parent, place);
        }
    }

    /// A job begins, and is expected to end last unless another one is running.
    pub(super) fn may_end_last(&mut self, place: u32) {
        let Some(parent) = self.get(place).map(|node| node.parent) else { return };
        if !self.runs(self.critical_of(parent)) {
            self.set_critical(parent, place);
        }
    }

    fn critical_of(&self, parent: u32) -> u32 {
        self.get(parent).map_or(NOWHERE, |parent| parent.critical)
    }

    fn runs(&self, place: u32) -> bool {
        self.get(place).is_some_and(|node| node.state.group() == Group::Running)
    }

    fn set_critical(&mut self, parent: u32, place: u32) {
        if let Some(parent) = self.get_mut(parent) {
            parent.critical = place;
        }
    }

    /// From the root down: at each job, the child that ended last.
    pub fn critical_path(&self, limit: usize) -> Vec<u32> {
        let next = |place: &u32| {
            let next = self.get(*place)?.critical;
            self.get(next).is_some_and(|below| below.parent == *place).then_some(next)
        };
        std::iter::successors(self.root, next).take(limit).collect()
    }
}
