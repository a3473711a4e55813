//! Entries of a run that wait to be saved.
//!
//! They are kept in the batches in which they came: one long list would be moved as a whole whenever some are
//! taken from its front, and freed at once.

use std::collections::VecDeque;
use std::time::Duration;

use crate::{Entry, Time};

/// Delay of entries before they are saved, so that they form batches.
const SAVE_DELAY: Duration = Duration::from_millis(250);

/// The oldest first.
#[derive(Default)]
pub struct Unsaved {
    batches: VecDeque<Vec<Entry>>,
    len: usize,
    /// When the first of them came, or something else that is to be saved with them.
    since: Option<Time>,
}

impl Unsaved {
    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// When something is to be saved.
    pub fn due(&self) -> Option<Time> {
        self.since.map(|since| since + SAVE_DELAY)
    }

    /// Entries of one message. If there are none, others may have become superfluous.
    pub fn push(&mut self, now: Time, batch: Vec<Entry>) {
        self.since.get_or_insert(now);
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
        if self.len == 0 {
            self.since = None;
        }
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
            Entry { key: JobKey([job; 32]), depth: 1, lineage: Lineage::default(), state, is_earlier: false }
        };
        let mut unsaved = Unsaved::default();
        for batch in [vec![1, 2, 3], vec![], vec![4], vec![5, 6]] {
            unsaved.push(Time(7), batch.into_iter().map(entry).collect());
        }
        let mut taken = Vec::new();
        for (most, left) in [(2, 4), (0, 4), (3, 1), (9, 0), (1, 0)] {
            taken.extend(unsaved.take(most).into_iter().map(|entry| entry.key.0[0]));
            assert_eq!((unsaved.len(), unsaved.is_empty()), (left, left == 0));
        }
        assert_eq!(taken, [1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn they_wait_for_others_from_the_first_on() {
        let mut unsaved = Unsaved::default();
        assert_eq!(unsaved.due(), None);
        unsaved.push(Time(1), Vec::new());
        let state = EntryState::Running(HostId(1));
        let entry =
            Entry { key: JobKey([1; 32]), depth: 1, lineage: Lineage::default(), state, is_earlier: false };
        unsaved.push(Time(5), vec![entry.clone(), entry]);
        assert_eq!(unsaved.due(), Some(Time(1) + SAVE_DELAY));
        unsaved.take(1);
        assert_eq!(unsaved.due(), Some(Time(1) + SAVE_DELAY), "one is left");
        unsaved.take(1);
        assert_eq!(unsaved.due(), None);
    }
}
