//! Entries of a run that wait to be saved.
//!
//! They are kept in the batches in which they came: one long list would be moved as a whole whenever some are
//! taken from its front, and freed at once.

use std::collections::VecDeque;

use crate::Entry;

/// The oldest first.
#[derive(Default)]
pub struct Unsaved {
    batches: VecDeque<Vec<Entry>>,
    len: usize,
}

impl Unsaved {
    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Entries of one message.
    pub fn push(&mut self, batch: Vec<Entry>) {
        if !batch.is_empty() {
            self.len += batch.len();
            self.batches.push_back(batch);
        }
    }

    /// Takes up to `most`.
    pub fn take(&mut self, most: usize) -> Vec<Entry> {
        let mut taken = Vec::new();
        while taken.len() < most
            && let Some(first) = self.batches.front_mut()
        {
            taken.extend(first.drain(..first.len().min(most - taken.len())));
            if first.is_empty() {
                self.batches.pop_front();
            }
        }
        self.len -= taken.len();
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EntryState, HostId, JobKey, Lineage};

    #[test]
    fn entries_are_taken_in_order_in_batches_of_any_size() {
        let entry = |job| {
            let state = EntryState::Running(HostId(1));
            Entry { key: JobKey([job; 32]), depth: 1, lineage: Lineage::default(), state }
        };
        let mut unsaved = Unsaved::default();
        for batch in [vec![1, 2, 3], vec![], vec![4], vec![5, 6]] {
            unsaved.push(batch.into_iter().map(entry).collect());
        }
        let mut taken = Vec::new();
        for (most, left) in [(2, 4), (0, 4), (3, 1), (9, 0), (1, 0)] {
            taken.extend(unsaved.take(most).into_iter().map(|entry| entry.key.0[0]));
            assert_eq!((unsaved.len(), unsaved.is_empty()), (left, left == 0));
        }
        assert_eq!(taken, [1, 2, 3, 4, 5, 6]);
    }
}
