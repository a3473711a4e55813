//! Memory that is freed by itself: results that wait to be delivered, and compilers.

use std::sync::atomic::Ordering::SeqCst;

use super::{Budget, HostMemory};

/// A result that is delivered is kept, in case that it must be sent again, while it is in transit.
pub(super) const COPIES_OF_RESULT: usize = 2;

impl HostMemory {
    /// A result of `bytes` is in transit to the driver, which keeps and encodes it. The youngest instances make room.
    pub(crate) fn pass_result(&self, bytes: usize) {
        self.0.passing.fetch_add(bytes.saturating_mul(COPIES_OF_RESULT), SeqCst);
        self.0.evict_excess();
    }

    /// The driver has a result of `bytes`, which [`Self::keep_undelivered`] counts from now on.
    pub(crate) fn take_result(&self, bytes: usize) {
        self.0.passing.fetch_sub(bytes.saturating_mul(COPIES_OF_RESULT), SeqCst);
    }

    /// The driver keeps `bytes` of results and parcels that are not yet delivered.
    pub(crate) fn keep_undelivered(&self, bytes: usize) {
        self.0.undelivered.store(bytes, SeqCst);
        self.0.evict_excess();
    }

    /// A compiler's process now takes `bytes`; 0 when it has ended.
    pub(crate) fn compiles(&self, bytes: usize) {
        self.0.compiling.store(bytes, SeqCst);
        if bytes == 0 {
            self.look_again();
        } else {
            self.0.evict_excess();
        }
    }

    /// Memory that is freed by itself, in bytes.
    pub(crate) fn passing_bytes(&self) -> usize {
        self.0.passing()
    }
}

impl Budget {
    /// Memory that is freed by itself: results that are not yet delivered, and a compiler.
    pub(super) fn passing(&self) -> usize {
        self.undelivered.load(SeqCst) + self.passing.load(SeqCst) + self.compiling.load(SeqCst)
    }
}
