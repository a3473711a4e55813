//! What runs are due of their hosts.

use std::collections::HashMap;

use sateen_protocol::coordinator::RunView;
use sateen_protocol::{RunId, RunState, Share, due};

use super::Driver;
use super::waits::Reasons;

impl Driver {
    /// The part of each of its hosts that a running run is due, while all runs that are given to hosts have work enough.
    pub(super) fn share(&self, view: &RunView<'_>, known: &Reasons) -> Option<f64> {
        let shares = known.shares.get_or_init(|| self.shares());
        shares.get(&view.run).copied().filter(|_| view.state() == RunState::Running)
    }

    fn shares(&self) -> HashMap<RunId, f64> {
        let (runs, shares): (Vec<RunId>, Vec<Share>) = self.machine.shares().unzip();
        runs.into_iter().zip(due(&shares)).collect()
    }
}
