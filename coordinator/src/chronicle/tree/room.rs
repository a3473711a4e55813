//! A full tree. A job that has ended, and below which no job is kept, makes room for a
//! new one, in the order in which they ended. It is rolled up: it counts at its depth, and at its
//! parent. So is a new job when no job can make room, because all that are kept are running or above a running one.

use std::collections::VecDeque;

use sateen_protocol::JobTag;
use sateen_protocol::message::JobNote;

use super::Tree;
use super::node::{LEAF, NOWHERE};
use super::rolled::Rolled;
use crate::chronicle::state::Group;

/// Maximum jobs that are not kept between a rolled-up job and the job at which it counts.
const STEPS_MAX: usize = 1000;

/// Jobs that may be rolled up. Known from the moment on at which the tree was full.
#[derive(Debug)]
pub struct Room {
    /// The number of jobs that are kept below each job.
    below: Vec<u32>,
    /// Jobs that had ended, with no job below them, when they were put here.
    leaves: VecDeque<u32>,
}

impl Tree {
    /// A place for a new job, freed by another; `None` if none can be freed.
    pub(super) fn make_room(&mut self) -> Option<u32> {
        if self.room.is_none() {
            self.look_for_leaves();
        }
        loop {
            let place = self.room.as_mut()?.leaves.pop_front()?;
            if let Some(node) = self.get_mut(place) {
                node.flags &= !LEAF;
            }
            if self.may_go(place) {
                self.leave(place);
                return Some(place);
            }
        }
    }

    fn look_for_leaves(&mut self) {
        let mut below = vec![0; self.len()];
        for node in self.nodes() {
            if let Some(count) = below.get_mut(node.parent as usize) {
                *count += 1;
            }
        }
        self.room = Some(Room { below, leaves: VecDeque::new() });
        for place in 0..self.len() as u32 {
            self.may_be_leaf(place);
        }
    }

    fn may_go(&self, place: u32) -> bool {
        let below = self.room.as_ref().and_then(|room| room.below.get(place as usize));
        below == Some(&0)
            && self.root != Some(place)
            && self.get(place).is_some_and(|node| node.state.group() != Group::Running)
    }

    /// The job has ended, or the last job below it is gone.
    pub(super) fn may_be_leaf(&mut self, place: u32) {
        if !self.may_go(place) {
            return;
        }
        let Some(node) = self.get_mut(place).filter(|node| node.flags & LEAF == 0) else { return };
        node.flags |= LEAF;
        if let Some(room) = &mut self.room {
            room.leaves.push_back(place);
        }
    }

    /// A job was added below this one.
    pub(super) fn count_below(&mut self, place: u32) {
        if let Some(below) = self.room.as_mut().and_then(|room| room.below.get_mut(place as usize)) {
            *below += 1;
        }
    }

    /// The job at this place is no longer kept. The marks of the place remain for the next job.
    fn leave(&mut self, place: u32) {
        let Some(node) = self.get(place).copied() else { return };
        let above = self.parent_tag(place);
        let group = node.state.group();
        self.depths.entry(node.depth).or_default().take(group);
        self.unlinked.forget(place);
        self.parameters.forget(place);
        self.nodes.forget_place(node.tag);
        self.count_rolled(
            node.tag,
            Rolled { above, depth: node.depth, group, is_dropped: self.losses.is_dropped(&node) },
            node.rolled,
        );
        if let Some(parent) = self.get_mut(node.parent)
            && parent.critical == place
        {
            parent.critical = NOWHERE;
        }
        if let Some(below) = self.room.as_mut().and_then(|room| room.below.get_mut(node.parent as usize)) {
            *below -= 1;
            self.may_be_leaf(node.parent);
        }
    }

    /// Counts a job that is not kept, with those that were rolled up at it.
    fn count_rolled(&mut self, tag: JobTag, rolled: Rolled, with: u32) {
        let place = self.place_above(rolled.above);
        if let Some(node) = self.get_mut(place) {
            node.rolled = node.rolled.saturating_add(with).saturating_add(1);
        }
        self.touch(place);
        self.rolled.add(tag, rolled);
    }

    /// The nearest job above that is kept; the root if none is known.
    fn place_above(&self, above: Option<JobTag>) -> u32 {
        let next = |tag: &JobTag| self.rolled.above(*tag);
        let mut above = std::iter::successors(above, next).take(STEPS_MAX);
        above.find_map(|tag| self.place(tag)).or(self.root).unwrap_or(0)
    }

    /// A rolled-up job runs again, and is kept from now on.
    pub(super) fn unroll(&mut self, tag: JobTag) {
        let Some(rolled) = self.rolled.take(tag) else { return };
        // If the parent was rolled up and came back itself, this job counts further up.
        let above = |place: &u32| match self.get(*place)?.parent {
            NOWHERE => self.unlinked.parent_of(*place).map(|parent| self.place_above(Some(parent))),
            parent => Some(parent),
        };
        let counts = |place: &u32| self.get(*place).is_some_and(|node| node.rolled > 0);
        let mut all = std::iter::successors(Some(self.place_above(rolled.above)), above).take(STEPS_MAX);
        let Some(place) = all.find(counts).or(self.root) else { return };
        if let Some(node) = self.get_mut(place) {
            node.rolled = node.rolled.saturating_sub(1);
        }
        self.touch(place);
    }

    /// Something happened to a job that is not kept.
    pub(super) fn roll_up(&mut self, note: &JobNote) {
        if let Some(new) = self.rolled.note(note, self.is_over) {
            self.count_rolled(note.job, new, 0);
        }
    }
}
