//! Memory that is measured, because nobody counts it when it grows.

use std::sync::atomic::Ordering::SeqCst;

use super::Budget;

impl Budget {
    /// What this many resident bytes of guests and the other processes take together.
    fn occupied(&self, resident: usize) -> usize {
        resident + self.compiling.load(SeqCst) + self.objects_of_lender()
    }

    /// What counts, and what was resident beside it at the last measurement.
    pub(super) fn used(&self) -> usize {
        self.counted().saturating_add(self.uncounted.load(SeqCst))
    }

    /// Takes the number of resident bytes. Evicted instances have time until the next measurement to end.
    pub(super) fn see(&self, resident: usize) {
        let occupied = self.occupied(resident);
        self.uncounted.store(occupied.saturating_sub(self.counted()), SeqCst);
        let excess = occupied.saturating_sub(self.most());
        if excess > 0 && self.ask_for(occupied) {
            self.evict(excess);
        }
    }
}
