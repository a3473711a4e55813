//! Changes of a tree: since it was saved, and since they were sent to pages.

use std::collections::VecDeque;

use super::Tree;
use super::node::{FRESH, Node, UNSAVED};

/// Places of jobs that have changed since they were saved, and since they were shown, if anybody watches. Each job has a mark
/// for either.
#[derive(Debug, Default)]
pub struct Changes {
    unsaved: VecDeque<u32>,
    fresh: VecDeque<u32>,
    is_watched: bool,
}

impl Changes {
    fn add(&mut self, place: u32, node: &mut Node) {
        let before = node.flags;
        node.flags |= UNSAVED | if self.is_watched { FRESH } else { 0 };
        if before & UNSAVED == 0 {
            self.unsaved.push_back(place);
        }
        if self.is_watched && before & FRESH == 0 {
            self.fresh.push_back(place);
        }
    }
}

impl Tree {
    /// The node at this place has changed.
    pub(super) fn touch(&mut self, place: u32) {
        if let Some(node) = self.nodes.get_mut(place) {
            self.changes.add(place, node);
        }
    }

    /// Whether somebody watches from now on.
    pub fn watch(&mut self, is_watched: bool) {
        self.changes.is_watched = is_watched;
        if !is_watched {
            self.take_fresh(usize::MAX);
        }
    }

    /// Places of jobs that have changed since they were taken last, at most `limit`.
    pub fn take_fresh(&mut self, limit: usize) -> Vec<u32> {
        let places = first(&mut self.changes.fresh, limit);
        self.unmark(&places, FRESH);
        places
    }

    /// Places of jobs that are to be saved, at most `limit`.
    pub fn take_unsaved(&mut self, limit: usize) -> Vec<u32> {
        let places = first(&mut self.changes.unsaved, limit);
        self.unmark(&places, UNSAVED);
        places
    }

    fn unmark(&mut self, places: &[u32], flag: u8) {
        for place in places {
            if let Some(node) = self.get_mut(*place) {
                node.flags &= !flag;
            }
        }
    }

    /// Whether there is anything to save.
    pub fn is_unsaved(&self) -> bool {
        !self.changes.unsaved.is_empty()
    }

    /// These places could not be saved.
    pub fn save_again(&mut self, places: impl IntoIterator<Item = u32>) {
        for place in places {
            self.touch(place);
        }
    }
}

fn first(places: &mut VecDeque<u32>, limit: usize) -> Vec<u32> {
    let count = places.len().min(limit);
    places.drain(..count).collect()
}
