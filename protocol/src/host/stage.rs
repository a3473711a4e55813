//! How far a host is with a run.

use crate::Time;

/// How far a host is with a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Its app is not there yet.
    Loading,
    /// It takes part.
    Ready,
    /// Its guests come to rest.
    Draining {
        /// They have until then.
        until: Time,
    },
    /// They have come to rest.
    Drained,
    /// The host cannot take part.
    Unable,
}
