//! Jobs that two hosts run at the same time because one of them was unreachable for a moment and was taken for dead.
//!
//! Neither is wrong, and the first result counts. A host that learns that the other has finished, or will, stops.

use crate::limits::SOUGHT_CHECKED_AT_ONCE_MAX;
use crate::message::{NoteKind, PeerMessage};
use crate::{AssignmentId, Entry, EntryState, Finished, HeldId, JobKey, JobTag, LoanId, RunId};

use super::held::Owner;
use super::lent::LoanState;
use super::run::HostRun;
use super::{Event, Host, Receiver, RunCommand};

impl Host {
    /// The host that had the root job before has it again.
    pub(super) fn on_withdraw(&mut self, run: RunId, number: AssignmentId) {
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        let root = Owner::Coordinator(number);
        let Some(token) = host_run.held.of_owner(root) else { return };
        let Some(held) = host_run.held.get(token).filter(|held| held.finished().is_none()) else { return };
        if held.owners().len() == 1 {
            self.leave_adopted(run, token);
        }
        self.give_up_owner(run, root);
    }

    /// Returns the jobs that this host adopted below the root to being orphans: the root's former host will search for
    /// them.
    fn leave_adopted(&mut self, run: RunId, token: HeldId) {
        let Some(host_run) = self.runs.get(&run) else { return };
        let adopted: Vec<LoanId> = (host_run.loans.iter())
            .filter(|(_, loan)| !matches!(loan.state, LoanState::Given(_)))
            .filter(|(_, loan)| host_run.held.nearest(&loan.spec().lineage.0) == Some(token))
            .map(|(number, _)| number)
            .collect();
        for number in adopted {
            let Some(loan) = self.runs.get_mut(&run).and_then(|run| run.loans.end(number)) else {
                continue;
            };
            self.end_loan_parcels(run, number, &loan);
            self.tell_peer(loan.thief(), PeerMessage::Orphaned { run, number });
        }
    }

    /// The result of a job that was lost and lent again has come from another host: ends the loan and uses the result.
    pub(super) fn reuse_for_lent(&mut self, run: RunId, number: LoanId, finished: Finished) {
        let Some(loan) = self.runs.get_mut(&run).and_then(|run| run.loans.end(number)) else { return };
        self.end_loan_parcels(run, number, &loan);
        self.tell_peer(loan.thief(), PeerMessage::Abort { run, number });
        self.reuse(run, loan.number(), loan.spec(), finished);
    }

    /// Ends a held job with the result that another host found.
    pub(super) fn finish_known(&mut self, run: RunId, token: HeldId, finished: Finished) {
        let threads = self.config.report.threads as usize;
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        let Some(held) = host_run.held.get_mut(token).filter(|held| held.finished().is_none()) else {
            return;
        };
        let (spec, was_begun, is_orphan) = (held.spec().clone(), held.was_begun(), held.is_orphan());
        if held.keeps_worker() {
            host_run.thief.free_worker(threads);
        }
        host_run.held.finish(token, finished.clone());
        let is_earlier = host_run.is_earlier(&spec.key);
        host_run.reporting.count_reused(&finished, is_earlier);
        self.unpolled.event(Event::Reused(run, spec.key));
        self.note_ended(run, (&spec, was_begun), NoteKind::Aborted);
        self.unpolled.command(RunCommand::Abort { held: token }.of(run));
        if is_orphan {
            if let Some(host_run) = self.runs.get_mut(&run) {
                host_run.held.forget(token);
            }
        } else {
            self.deliver(run, token);
        }
    }
}

impl HostRun {
    /// Whether the table has a job's result from an earlier run.
    pub fn is_earlier(&self, key: &JobKey) -> bool {
        self.table.get(key).is_some_and(|entry| entry.is_earlier)
    }

    /// Whether all that the table has below a job, as far as it is checked, is of earlier runs.
    pub fn has_only_earlier_below(&self, job: JobTag) -> bool {
        let mut below = self.table.below(job).take(SOUGHT_CHECKED_AT_ONCE_MAX).peekable();
        below.peek().is_some() && below.all(|entry| entry.is_earlier)
    }

    /// Whether this host runs the entry's job again, or one above it, so that the entry may be of use.
    pub fn redoes(&self, entry: &Entry) -> bool {
        let is_redone = |tag| self.recovery.lookups.redoes(tag);
        // A job that is held here is not looked up.
        entry.lineage.0.iter().any(is_redone)
            || (is_redone(&entry.key.tag()) && self.held.of_key(&entry.key).is_none())
    }

    /// The loan of a redone job of which this entry has the result.
    pub fn lent_and_known(&self, entry: &Entry) -> Option<(LoanId, Finished)> {
        let EntryState::Done(finished) = &entry.state else { return None };
        if !self.recovery.lookups.redoes(&entry.key.tag()) {
            return None;
        }
        // A host that was asked to accept this host as the owner sends the result itself.
        let is_given = |number: &LoanId| {
            self.loans.get(*number).is_some_and(|loan| matches!(loan.state, LoanState::Given(_)))
        };
        self.loans.of_job(&entry.key).find(is_given).map(|number| (number, finished.clone()))
    }

    /// An entry says that a host has a job. If that host was asked for it and answers that it does not have it, that
    /// answer is older than the entry.
    pub fn renew_asked(&mut self, entry: &Entry) {
        let Some(place) = entry.state.place() else { return };
        for number in self.loans.of_job(&entry.key).collect::<Vec<_>>() {
            let loan = self.loans.get_mut(number);
            if let Some(loan) = loan.filter(|loan| loan.thief() == place && loan.state == LoanState::Asked) {
                loan.is_renewed = true;
            }
        }
    }

    /// Whether a sender of entries is an owner of a held job, or the coordinator, whose table has entries of all hosts.
    pub fn is_held_for(&self, from: Receiver, token: HeldId) -> bool {
        let Receiver::Peer(peer) = from else { return true };
        self.held.get(token).is_some_and(|held| held.is_for(peer))
    }

    /// Whether a sender of entries has a job that this host has lent, or is the coordinator.
    pub fn is_lent_to(&self, from: Receiver, number: LoanId) -> bool {
        let Receiver::Peer(peer) = from else { return true };
        self.loans.get(number).is_some_and(|loan| loan.thief() == peer)
    }

    /// The held job of which this entry has the result, if it is run a second time or has no owner.
    pub fn held_and_known(&self, entry: &Entry) -> Option<(HeldId, Finished)> {
        let EntryState::Done(finished) = &entry.state else { return None };
        let token = self.held.of_key(&entry.key)?;
        let held = self.held.get(token)?;
        let is_twice = held.spec().redone || held.is_orphan();
        (is_twice && held.finished().is_none()).then(|| (token, finished.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::bonds::{entry, job, loan};
    use super::super::tests::{PEER, RUN, host};
    use super::*;
    use crate::{HostId, Outcome, StealId, Time};

    const NOW: Time = Time(0);

    /// A host that runs two jobs again and has lent both to a peer.
    fn lender(state: LoanState) -> (Host, LoanId) {
        let mut host = host();
        let host_run = host.runs.get_mut(&RUN).expect("it takes part");
        let loans = [1, 2].map(|number| {
            let here = host_run.numbers.new_loan();
            host_run.recovery.lookups.expect_below(&host_run.table, &job(number));
            host_run.loans.lend(here, loan(number, PEER, state));
            here
        });
        (host, loans[0])
    }

    fn tell(host: &mut Host, state: EntryState) {
        let entries = vec![entry(1, 0, state)];
        host.handle_from_peer(NOW, PEER, PeerMessage::Entries { run: RUN, entries });
    }

    #[test]
    fn a_known_result_ends_loans_but_not_adoptions() {
        let states = [LoanState::Given(StealId(0)), LoanState::Asked, LoanState::Agreed];
        for state in states {
            let (mut host, loan) = lender(state);
            tell(&mut host, EntryState::Running(HostId(7)));
            let lent =
                |host: &Host| host.runs[&RUN].loans.iter().map(|(number, _)| number).collect::<Vec<_>>();
            assert_eq!(lent(&host).len(), 2, "it is no result");
            let finished = Finished { outcome: Outcome::Done(vec![1].into()), work_ns: 1, span_ns: 1 };
            tell(&mut host, EntryState::Done(finished));
            let is_ended = state == LoanState::Given(StealId(0));
            assert_eq!(!lent(&host).contains(&loan), is_ended, "{state:?}");
            assert_eq!(lent(&host).len(), 2 - usize::from(is_ended), "{state:?}");
            let indexed = host.runs[&RUN].loans.tags_len();
            assert_eq!(indexed, lent(&host).len(), "{state:?}");
        }
    }

    #[test]
    fn an_entry_that_comes_after_a_host_was_asked_is_newer_than_its_answer() {
        for is_renewed in [false, true] {
            let (mut host, loan) = lender(LoanState::Asked);
            let host_run = host.runs.get_mut(&RUN).expect("it takes part");
            host_run.table.insert(entry(1, 0, EntryState::Running(PEER)));
            if is_renewed {
                tell(&mut host, EntryState::Running(PEER));
            }
            host.handle_from_peer(NOW, PEER, PeerMessage::NotHeld { run: RUN, number: loan });
            let host_run = &host.runs[&RUN];
            assert_eq!(host_run.table.get(&job(1).key).is_some(), is_renewed);
            // The host is asked again, or the job is run again here.
            assert_eq!(host_run.loans.of_job(&job(1).key).count(), usize::from(is_renewed));
        }
    }
}
