//! Signals to threads that prepare a run that the run is no longer wanted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A flag that a run is no longer wanted.
#[derive(Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Sets the flag.
    pub fn cancel(&self) {
        self.0.store(true, Relaxed);
    }

    /// Whether the flag is set.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Relaxed)
    }
}
