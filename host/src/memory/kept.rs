//! Memory that no instance has: images of prepared instances.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use super::{Budget, HostMemory};

/// Memory that is kept beside the instances, returned when dropped.
pub struct Kept {
    budget: Arc<Budget>,
    bytes: usize,
}

impl HostMemory {
    /// A share of `bytes` that no instance has, if there is room for it now.
    pub(crate) fn keep(&self, bytes: usize) -> Option<Kept> {
        let is_taken = self.0.take(bytes) || (self.0.borrow(bytes) && self.0.take(bytes));
        is_taken.then(|| Kept { budget: self.0.clone(), bytes })
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.budget.claimed.fetch_sub(self.bytes, SeqCst);
        self.budget.note_move();
    }
}
