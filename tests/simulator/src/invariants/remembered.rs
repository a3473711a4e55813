//! What the laws keep from one check to the next.

use std::collections::{BTreeMap, BTreeSet};

use sateen_protocol::message::PeerMessage;
use sateen_protocol::{HeldId, HostId, JobKey, JobSpec, LoanId, RunId, RuntimeJobId, Time};

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
    /// New jobs that have come to a thief, by their owner's numbers.
    lent: BTreeMap<(HostId, RunId, LoanId), JobKey>,
    /// Jobs of others that a host's workers have taken.
    begun: BTreeSet<(ProcessIndex, RunId, JobKey)>,
}

impl Remembered {
    /// Notes that a loan's result has arrived at a host; returns whether it came before.
    pub(crate) fn is_repeated(&mut self, to: ProcessIndex, from: HostId, run: RunId, number: LoanId) -> bool {
        !self.results.insert((to, from, run, number))
    }

    /// A host's worker has taken a job of another host.
    pub(crate) fn note_begun(&mut self, thief: ProcessIndex, run: RunId, key: JobKey) {
        self.begun.insert((thief, run, key));
    }

    /// Notes a job that an owner has lent.
    pub(crate) fn note_lent(&mut self, owner: HostId, message: &PeerMessage) {
        let mut note = |run: &RunId, number: &LoanId, spec: &JobSpec| {
            // Of a redone job, the thief may have had the result.
            if !spec.redone {
                self.lent.insert((owner, *run, *number), spec.key);
            }
        };
        match message {
            PeerMessage::Job { run, number, spec, .. } => note(run, number, spec),
            PeerMessage::Jobs { run, jobs, .. } => {
                jobs.iter().for_each(|(number, spec)| note(run, number, spec));
            }
            _ => {}
        }
    }

    /// Whether a thief hands an owner's new job back as one that it has begun, and has not: the owner would count it as done
    /// again.
    pub(crate) fn is_unbegun(&self, owner: HostId, thief: ProcessIndex, message: &PeerMessage) -> bool {
        let PeerMessage::Returned { run, number, begun: true } = message else { return false };
        let key = self.lent.get(&(owner, *run, *number));
        key.is_some_and(|key| !self.begun.contains(&(thief, *run, *key)))
    }

    /// Forgets which hosts had which updates: none of them may have them any more.
    pub(crate) fn forget_replicas(&mut self) {
        self.replicas = Watched::default();
    }
}

#[cfg(test)]
mod tests {
    use sateen_protocol::StealId;

    use super::*;

    #[test]
    fn a_result_is_repeated_at_one_host_and_for_one_loan_only() {
        let mut remembered = Remembered::default();
        let mut comes =
            |to: ProcessIndex, number: u64| remembered.is_repeated(to, HostId(7), RunId(1), LoanId(number));
        assert_eq!([comes(1, 4), comes(1, 5), comes(2, 4), comes(1, 4)], [false, false, false, true]);
    }

    #[test]
    fn a_new_job_that_its_thief_has_not_begun_cannot_be_handed_back_as_begun() {
        let (owner, run, number, key) = (HostId(7), RunId(1), LoanId(4), JobKey([1; 32]));
        for redone in [false, true] {
            let mut remembered = Remembered::default();
            let spec = JobSpec { redone, ..JobSpec::new(key, 0, Vec::new()) };
            remembered.note_lent(owner, &PeerMessage::Job { run, steal: StealId(0), number, spec });
            let returned = |begun| PeerMessage::Returned { run, number, begun };
            remembered.note_begun(3, run, key);
            let is_unbegun = |thief, begun| remembered.is_unbegun(owner, thief, &returned(begun));
            assert_eq!([is_unbegun(2, true), is_unbegun(2, false)], [!redone, false]);
            assert!(!is_unbegun(3, true));
        }
    }
}
