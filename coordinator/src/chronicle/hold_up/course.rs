//! The progress of a run, as far as it decides what can be said of its hosts.

use crate::chronicle::waits::{RESTARTED, Waits};
use crate::figures::Figures;

/// The progress of a run.
#[derive(Debug, Clone, Copy)]
pub struct Course<'a> {
    /// The run is over.
    pub is_over: bool,
    /// Why nothing happens, if nothing does.
    pub waits: Option<&'a Waits>,
    /// From its start on, in seconds; none if it has not started.
    pub elapsed_s: Option<f64>,
    /// Its figures.
    pub figures: &'a Figures,
}

/// How far a run is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Stage {
    /// Hosts work on it.
    #[default]
    UnderWay,
    /// No host works on it now: what is known of hosts is past.
    Deserted,
    /// The coordinator was started again and waits for its hosts: nobody knows what they do.
    Awaited,
    /// It is over.
    Over,
}

impl Course<'_> {
    /// How far the run is.
    pub fn stage(&self) -> Stage {
        if self.is_over {
            Stage::Over
        } else if self.waits.is_some_and(|waits| waits.reason == RESTARTED) {
            Stage::Awaited
        } else if self.figures.by_host.iter().any(|host| host.is_there && !host.is_away) {
            Stage::UnderWay
        } else {
            Stage::Deserted
        }
    }
}
