//! What the laws keep from one check to the next.

use std::collections::{BTreeMap, BTreeSet};

use sateen_protocol::{HeldId, HostId, LoanId, RunId, RuntimeJobId, Time};

use super::replicas::Watched;
use crate::event::ProcessIndex;

/// The laws' memory.
#[derive(Debug, Default)]
pub struct Remembered {
    /// Jobs that a host waits for and nobody runs, each with the time since when.
    pub(super) suspects: BTreeMap<(ProcessIndex, RunId, RuntimeJobId), Time>,
    /// Jobs that run and nobody wants, each with the time since when.
    pub(super) unwanted: BTreeMap<(ProcessIndex, RunId, HeldId), Time>,
    /// The hosts' recent updates of shared objects.
    pub(super) replicas: Watched,
    /// Results that have arrived: where, from whom, and of which loan.
    results: BTreeSet<(ProcessIndex, HostId, RunId, LoanId)>,
}

impl Remembered {
    /// Notes that a loan's result has arrived at a host; returns whether it came before.
    pub(crate) fn is_repeated(&mut self, to: ProcessIndex, from: HostId, run: RunId, number: LoanId) -> bool {
        !self.results.insert((to, from, run, number))
    }

    /// Forgets which hosts had which updates: none of them may have them any more.
    pub(crate) fn forget_replicas(&mut self) {
        self.replicas = Watched::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_repeated_at_one_host_and_for_one_loan_only() {
        let mut remembered = Remembered::default();
        let mut comes =
            |to: ProcessIndex, number: u64| remembered.is_repeated(to, HostId(7), RunId(1), LoanId(number));
        assert_eq!([comes(1, 4), comes(1, 5), comes(2, 4), comes(1, 4)], [false, false, false, true]);
    }
}
