//! The stages of a host's part in a run.

use crate::Time;

/// The stage of a host's part in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The run's app is not loaded.
    Loading,
    /// The host takes part.
    Ready,
    /// The guests are coming to rest.
    Draining {
        /// The time by which they must.
        until: Time,
    },
    /// The guests have come to rest.
    Drained,
    /// The host cannot take part.
    Unable,
}
