//! A portion as its owner's governor sees it: something that computes, and that stands still when it must.

use std::sync::{Arc, Weak};

use sateen_comfort::governor::Brake;

use super::Portion;
use crate::scheduler::Registry;

/// Holds a portion's guests at their next heartbeat, as long as the portion lives.
struct PortionBrake(Weak<Registry>);

impl Portion {
    /// The portion's brake.
    pub fn brake(&self) -> Box<dyn Brake> {
        Box::new(PortionBrake(Arc::downgrade(&self.registry)))
    }
}

impl Brake for PortionBrake {
    fn hold(&self, is_held: bool) {
        if let Some(registry) = self.0.upgrade()
            && let Some(remote) = &registry.grid
        {
            remote.set_paused(&registry, is_held);
        }
    }

    fn is_over(&self) -> bool {
        self.0.upgrade().is_none_or(|registry| registry.is_stopping())
    }
}
