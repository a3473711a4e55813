//! Tells those who prepare a run that it is not wanted any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Says that a run is not wanted any more.
#[derive(Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// From now on it is not.
    pub fn cancel(&self) {
        self.0.store(true, Relaxed);
    }

    /// Whether it is not.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Relaxed)
    }
}
