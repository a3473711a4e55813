//! How the grid treats a run.

use clap::Args;
use sateen_protocol::{Priority, Trust};

#[derive(Args)]
pub struct Policies {
    /// Whether hosts are believed: with `audit=P`, a share P of the work of each is drawn and computed again by another, with
    /// `audit` a twentieth; with `quorum=N`, owners of N hosts must agree on each result, which takes N times the work [possible
    /// values: trust, audit, audit=P, quorum=N] [range of P: above 0, to 1] [range of N: 2 to 5]
    #[arg(long, value_name = "POLICY", default_value_t = Trust::Trust)]
    pub trust: Trust,
    /// Which of your runs get more of the grid: one of high priority gets four times as much as a normal one, and that four times
    /// as much as one of low priority; runs of other submitters are not affected [possible values: low, normal, high]
    #[arg(long, value_name = "PRIORITY", default_value_t = Priority::Normal)]
    pub priority: Priority,
    /// Use results of your earlier runs of this app, and keep those of this run for later ones: a job whose parameters an earlier
    /// run had is not computed again. Only with `--trust trust`. `sateen rm` deletes what was kept of a run
    #[arg(long)]
    pub reuse: bool,
}

impl Policies {
    /// Checks that they go together, as the coordinator does.
    ///
    /// # Errors
    /// A sentence that names those that do not.
    pub fn check(&self) -> Result<(), String> {
        if self.reuse && self.trust.is_checked() {
            return Err(format!(
                "--reuse cannot be used with --trust {}: results of earlier runs are not checked again",
                self.trust
            ));
        }
        Ok(())
    }
}
