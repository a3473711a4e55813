//! Jobs that two hosts run at the same time, because one of them was away for a moment and was taken for dead.
//!
//! Neither is wrong, and the first result counts. Whoever hears that the other has finished, or will, stops.

use crate::message::{NoteKind, PeerMessage};
use crate::{Entry, EntryState, Finished, JobNumber, JobTag, RunId};

use super::part::{LoanState, Owner, Part};
use super::{Command, Event, Host};

impl Host {
    /// The host that had the root before has it again.
    pub(super) fn on_withdraw(&mut self, run: RunId, number: JobNumber) {
        let Some(part) = self.runs.get_mut(&run) else { return };
        let Some(token) = part.held_by_loan.get(&(Owner::Coordinator, number)).copied() else { return };
        let Some(held) = part.held.get(&token).filter(|held| held.finished.is_none()) else { return };
        if held.owners.len() == 1 {
            self.leave_adopted(run, token);
        }
        self.give_up_owner(run, Owner::Coordinator, number);
    }

    /// What others ran for the root's former host before this one adopted it, that host looks for now: it goes on
    /// as an orphan again.
    fn leave_adopted(&mut self, run: RunId, token: JobNumber) {
        let Some(part) = self.runs.get(&run) else { return };
        let nearest =
            |above: &[JobTag]| above.iter().rev().find_map(|tag| part.held_by_tag.get(tag)).copied();
        let adopted: Vec<JobNumber> = (part.loans.iter())
            .filter(|(_, loan)| !matches!(loan.state, LoanState::Given(_)))
            .filter(|(_, loan)| nearest(&loan.spec.lineage.0) == Some(token))
            .map(|(number, _)| *number)
            .collect();
        for number in adopted {
            let Some(loan) = self.runs.get_mut(&run).and_then(|part| part.end_loan(number)) else { continue };
            self.end_loan_parcels(run, number, &loan);
            self.tell_peer(loan.thief, PeerMessage::Orphaned { run, number });
        }
    }

    /// A job that was lost and lent again has the result of the one that was lost, or of another's.
    pub(super) fn reuse_for_lent(&mut self, run: RunId, number: JobNumber, finished: Finished) {
        let Some(loan) = self.runs.get_mut(&run).and_then(|part| part.end_loan(number)) else { return };
        self.end_loan_parcels(run, number, &loan);
        self.tell_peer(loan.thief, PeerMessage::Abort { run, number });
        self.reuse(run, loan.number, &loan.spec, finished);
    }

    /// A held job has the result that somebody else found.
    pub(super) fn finish_known(&mut self, run: RunId, token: JobNumber, finished: Finished) {
        let threads = self.config.report.threads as usize;
        let Some(part) = self.runs.get_mut(&run) else { return };
        let Some(held) = part.held.get_mut(&token).filter(|held| held.finished.is_none()) else { return };
        held.finished = Some(finished.clone());
        let (spec, is_orphan) = (held.spec.clone(), held.owners.is_empty());
        if !held.begun {
            part.idle = (part.idle + 1).min(threads);
        }
        part.count_reused(&finished);
        self.events.push_back(Event::Reused(run, spec.key));
        self.note(run, &spec, NoteKind::Aborted);
        self.commands.push_back(Command::Abort { run, held: token });
        if is_orphan {
            if let Some(part) = self.runs.get_mut(&run) {
                part.forget_held(token);
            }
        } else {
            self.deliver(run, token);
        }
    }
}

impl Part {
    /// Whether this host runs the job of an entry again, or one above it: it may be of use.
    pub fn redoes(&self, entry: &Entry) -> bool {
        let is_redone = |tag| self.redoing.contains(tag);
        // What is held here is not looked up.
        entry.lineage.0.iter().any(is_redone)
            || (is_redone(&entry.key.tag()) && !self.held_by_key.contains_key(&entry.key))
    }

    /// The loan of a redone job of which this is the result.
    pub fn lent_and_known(&self, entry: &Entry) -> Option<(JobNumber, Finished)> {
        let EntryState::Done(finished) = &entry.state else { return None };
        // Few are redone, so this is no search through all loans for each entry.
        let is_redone = self.redoing.contains(&entry.key.tag());
        let mut loans = self.loans.iter().filter(|_| is_redone);
        loans.find(|(_, loan)| loan.spec.key == entry.key).map(|(number, _)| (*number, finished.clone()))
    }

    /// The job that is held here, if it is run a second time or nobody waits for it, and this is its result.
    pub fn held_and_known(&self, entry: &Entry) -> Option<(JobNumber, Finished)> {
        let EntryState::Done(finished) = &entry.state else { return None };
        let token = self.held_by_key.get(&entry.key)?;
        let held = self.held.get(token)?;
        let is_twice = held.spec.redone || held.owners.is_empty();
        (is_twice && held.finished.is_none()).then(|| (*token, finished.clone()))
    }
}
