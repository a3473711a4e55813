//! What the log says of lost jobs: a crash may lose hundreds, which are one line.

use std::collections::BTreeMap;

use sateen_protocol::RunId;
use sateen_protocol::message::{Departure, ToHost};
use tracing::{info, warn};

/// Jobs lost since this was last said, by run.
#[derive(Debug, Default)]
pub struct Losses {
    jobs: BTreeMap<RunId, usize>,
    /// Whether a host has crashed; until a call of `log` finds no lost jobs.
    is_after_a_crash: bool,
}

impl Losses {
    /// The coordinator may say that hosts are gone, and how.
    pub fn note(&mut self, message: &ToHost) {
        self.is_after_a_crash |= match message {
            ToHost::Hosts { gone, .. } => gone.iter().any(|(_, how)| *how == Departure::Crashed),
            // Hosts that did not return to the coordinator have left without notifying it.
            ToHost::Present { .. } => true,
            _ => false,
        };
    }

    /// A job of the run was lost.
    pub fn add(&mut self, run: RunId) {
        *self.jobs.entry(run).or_default() += 1;
    }

    /// Logs the jobs that were lost since the last call.
    pub fn log(&mut self) {
        let lost = std::mem::take(&mut self.jobs);
        for (run, jobs) in &lost {
            if self.is_after_a_crash {
                warn!(run = run.0, jobs, "a host crashed: jobs that it had are looked up, adopted or redone");
            } else {
                info!(run = run.0, jobs, "a host left: jobs that it had are looked up, adopted or redone");
            }
        }
        self.is_after_a_crash &= !lost.is_empty();
    }
}

#[cfg(test)]
mod tests {
    use sateen_protocol::HostId;

    use super::*;

    #[test]
    fn a_crash_counts_until_nothing_more_is_lost() {
        let mut losses = Losses::default();
        let gone = |how| ToHost::Hosts { epoch: 1, joined: Vec::new(), gone: vec![(HostId(1), how)] };
        losses.note(&gone(Departure::Left));
        assert!(!losses.is_after_a_crash);
        losses.note(&gone(Departure::Crashed));
        losses.add(RunId(1));
        losses.log();
        assert!(losses.is_after_a_crash, "more may be found out");
        losses.log();
        assert!(!losses.is_after_a_crash);
    }
}
