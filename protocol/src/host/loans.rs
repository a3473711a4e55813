//! Follows lent and held jobs until their results have arrived.

use std::time::Duration;

use crate::limits::{HELD_JOBS_MAX, OWNERS_PER_JOB_MAX, RECONCILE};
use crate::message::{NoteKind, PeerMessage, ToCoordinator};
use crate::{
    EntryState, Finished, HeldId, HostId, JobKey, JobSpec, LoanId, Outcome, RunId, RuntimeJobId, Time,
};

use super::held::{Held, Owner};
use super::lent::LoanState;
use super::parting::Parting;
use super::stage::Stage;
use super::{Event, Host, Misbehaviour, Receiver, Repeated, RunCommand};

impl Host {
    /// Gives a held job to the runtime once that can run it.
    pub(super) fn inject(&mut self, run: RunId, id: HeldId) {
        let Some(host_run) = self.runs.get(&run) else { return };
        if host_run.stage == Stage::Ready
            && let Some(held) = host_run.held.get(id)
            && held.finished().is_none()
        {
            let (spec, was_begun) = (held.spec().clone(), held.was_begun());
            self.unpolled.command(RunCommand::Inject { held: id, spec, was_begun }.of(run));
        }
    }

    // ---- results ----

    /// A held job has ended in the runtime.
    pub(super) fn on_finished(&mut self, now: Time, run: RunId, id: HeldId, finished: Finished) {
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        let may_record = host_run.may_record(&finished);
        let Some(held) = host_run.held.get_mut(id) else { return };
        let (spec, was_begun, is_orphan) = (held.spec().clone(), held.was_begun(), held.is_orphan());
        let what = match finished.outcome {
            Outcome::Done(_) => NoteKind::Done { work_ns: finished.work_ns },
            Outcome::Failed(_) => NoteKind::Failed,
        };
        let is_worth_it = is_orphan || finished.work_ns >= host_run.spec.recorded_work_ns_min();
        let recorded = (is_worth_it && may_record).then(|| finished.clone());
        if held.lender().is_some() {
            host_run.thief.ahead.note_work(Duration::from_nanos(finished.work_ns));
        }
        host_run.held.finish(id, finished);
        self.report_unit(run, id);
        self.note_ended(run, (&spec, was_begun), what);
        // A result that is sent over the network is also put into the table, so that it survives if its owner does not
        // receive it (2005 result table, section 3.1).
        if let Some(finished) = recorded {
            self.record(now, run, spec.key, spec.depth, spec.lineage.clone(), finished);
        }
        if is_orphan {
            if let Some(host_run) = self.runs.get_mut(&run) {
                host_run.reporting.own_mut().orphans_saved += 1;
                host_run.held.forget(id);
            }
            self.flush(now, run);
            return;
        }
        self.report_ended(now, run, id);
        self.deliver(run, id);
    }

    /// Sends counts before a job's result: at once if it is the root's, otherwise soon.
    fn report_ended(&mut self, now: Time, run: RunId, id: HeldId) {
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        let is_root = host_run
            .held
            .get(id)
            .is_some_and(|held| held.owners().iter().any(|owner| matches!(owner, Owner::Coordinator(_))));
        if is_root {
            self.send_log(run);
        }
        self.report_soon(now, run, is_root);
    }

    /// Holds a job that has its result before it is begun, and delivers the result.
    pub(super) fn hold_and_deliver(&mut self, run: RunId, held: Held) {
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        let id = host_run.numbers.new_held();
        host_run.held.hold(id, held);
        self.deliver(run, id);
    }

    /// Sends a held job's result to all its owners, except those to which it was sent and whose answer is not overdue.
    pub(super) fn deliver(&mut self, run: RunId, id: HeldId) {
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        let Some(held) = host_run.held.get(id).filter(|held| held.finished().is_some()) else { return };
        for owner in held.owners().to_vec() {
            let is_due = self.is_result_due(run, owner);
            if !is_due || self.is_result_under_way(run, owner) {
                continue;
            }
            let held = self.runs.get(&run).and_then(|run| run.held.get(id));
            let Some(finished) = held.and_then(|held| held.finished().cloned()) else { return };
            let bytes = finished.outcome.bytes().len();
            match owner {
                Owner::Host(host, number) => {
                    self.tell_peer(host, PeerMessage::Result { run, number, finished });
                }
                Owner::Coordinator(number) => {
                    self.tell_coordinator(ToCoordinator::RootFinished { run, number, finished });
                }
                Owner::Here(number) => {
                    let Some(host_run) = self.runs.get_mut(&run) else { return };
                    host_run.reporting.count_saved(&finished);
                    let Some(spec) = host_run.held.get(id).map(|held| held.spec().clone()) else { return };
                    // The job was adopted and the tree knows that it is done: the result does not count as one from the
                    // table.
                    self.complete(run, (number, &spec), finished, true);
                    self.settle_owner(run, owner);
                }
            }
            self.note_size_of_result(run, owner, bytes);
        }
    }

    /// An owner no longer needs the job. A held job whose result all owners have is forgotten.
    pub(super) fn settle_owner(&mut self, run: RunId, owner: Owner) {
        self.end_result(run, owner);
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        let Some(id) = host_run.held.remove_owner(owner) else { return };
        if host_run.held.get(id).is_some_and(|held| held.is_orphan() && held.finished().is_some()) {
            host_run.held.forget(id);
        }
    }

    pub(super) fn on_received(&mut self, from: HostId, run: RunId, number: LoanId) {
        let owner = Owner::Host(from, number);
        let Some(host_run) = self.runs.get(&run) else { return };
        let id = host_run.held.of_owner(owner);
        let Some(held) = id.and_then(|id| host_run.held.get(id)) else { return };
        if held.finished().is_some() {
            self.repeats.answered(self.latest, Receiver::Peer(from), Repeated::Result(run, number));
            self.settle_owner(run, owner);
        }
    }

    pub(super) fn on_result(
        &mut self,
        from: HostId,
        run: RunId,
        number: LoanId,
        finished: Finished,
    ) -> Result<(), Misbehaviour> {
        if let Some(host_run) = self.runs.get_mut(&run) {
            if !host_run.numbers.has_given(number) {
                return Err(Misbehaviour::ResultOfNoJob);
            }
            match host_run.loans.get(number) {
                Some(loan) if loan.thief() != from => return Err(Misbehaviour::ResultOfNoJob),
                Some(_) => {
                    if let Some(loan) = host_run.loans.end(number) {
                        if loan.state == LoanState::Agreed {
                            host_run.reporting.own_mut().jobs.adopted += 1;
                            host_run.reporting.count_saved(&finished);
                        }
                        self.end_loan_parcels(run, number, &loan);
                        self.complete(run, (loan.number(), loan.spec()), finished, true);
                    }
                }
                // The result came twice, or too late: the job was given up, redone or aborted.
                None => {}
            }
        }
        self.tell_peer(from, PeerMessage::Received { run, number });
        Ok(())
    }

    // ---- jobs that are no longer needed ----

    /// The runtime no longer needs a lent or looked-up job.
    pub(super) fn on_abandoned(&mut self, run: RunId, number: RuntimeJobId) {
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        host_run.recovery.end(number);
        host_run.recovery.end_doubt(number);
        if let Some(loan) = host_run.loans.of_number(number)
            && let Some(ended) = host_run.loans.end(loan)
        {
            self.end_loan_parcels(run, loan, &ended);
            self.tell_peer(ended.thief(), PeerMessage::Abort { run, number: loan });
        }
        self.give_up_owner(run, Owner::Here(number));
    }

    pub(super) fn on_abort(&mut self, from: HostId, run: RunId, number: LoanId) {
        self.give_up_owner(run, Owner::Host(from, number));
    }

    /// The owner cannot continue with the run: the job becomes an orphan, for which the host that redoes it will
    /// search.
    pub(super) fn on_orphaned(&mut self, now: Time, from: HostId, run: RunId, number: LoanId) {
        let owner = Owner::Host(from, number);
        let id = self.runs.get(&run).and_then(|run| run.held.of_owner(owner));
        if let Some(id) = id {
            self.orphan(now, run, owner, id);
            self.flush(now, run);
        }
    }

    pub(super) fn on_unknown(&mut self, from: HostId, run: RunId, numbers: &[LoanId]) {
        for number in numbers {
            self.give_up_owner(run, Owner::Host(from, *number));
        }
    }

    /// An owner no longer needs a held job; if it has no other owners, it is aborted.
    pub(super) fn give_up_owner(&mut self, run: RunId, owner: Owner) {
        self.end_result(run, owner);
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        let Some(id) = host_run.held.remove_owner(owner) else { return };
        if host_run.held.get(id).is_some_and(Held::is_orphan) {
            self.abort_held(run, id);
        }
    }

    pub(super) fn abort_held(&mut self, run: RunId, id: HeldId) {
        let threads = self.config.report.threads as usize;
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        if let Some(held) = host_run.held.forget(id)
            && held.finished().is_none()
        {
            if held.keeps_worker() {
                host_run.thief.free_worker(threads);
            }
            self.note_ended(run, (held.spec(), held.was_begun()), NoteKind::Aborted);
            self.unpolled.command(RunCommand::Abort { held: id }.of(run));
        }
    }

    pub(super) fn on_returned(&mut self, now: Time, from: HostId, run: RunId, number: LoanId, begun: bool) {
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        if host_run.loans.get(number).is_some_and(|loan| loan.thief() == from)
            && let Some(loan) = host_run.loans.end(number)
        {
            self.end_loan_parcels(run, number, &loan);
            self.take_back(now, run, loan.number(), loan.into_spec(), begun);
        }
    }

    /// A job of this host was handed back. Nothing was lost with one that had not begun, and nothing of it is redone.
    pub(super) fn take_back(
        &mut self,
        now: Time,
        run: RunId,
        number: RuntimeJobId,
        spec: JobSpec,
        begun: bool,
    ) {
        if begun {
            self.resolve(now, run, number, (None, Parting::LEFT), spec);
        } else {
            self.requeue(run, number, &spec);
        }
    }

    // ---- adoption ----

    /// A host that would redo a job asks for its result, as the job is running here.
    pub(super) fn on_adopt(&mut self, now: Time, from: HostId, run: RunId, number: LoanId, key: JobKey) {
        // A host that is gone is promised nothing.
        let (me, is_there) = (self.id(), self.peers.contains(from));
        let Some(host_run) = self.runs.get_mut(&run).filter(|_| is_there) else {
            return self.tell_peer(from, PeerMessage::NotHeld { run, number });
        };
        let (owner, holding) = (Owner::Host(from, number), host_run.numbers.holding());
        if let Some(id) = host_run.held.of_owner(owner) {
            // It has asked before. A number that it uses for another job as well says nothing.
            let is_same = host_run.held.get(id).is_some_and(|held| held.spec().key == key);
            return if is_same {
                self.tell_peer(from, PeerMessage::Adopted { run, number, holding });
                self.deliver(run, id);
            } else {
                self.tell_peer(from, PeerMessage::NotHeld { run, number });
            };
        }
        if !host_run.held.has_room_for(from) {
            return self.tell_peer(from, PeerMessage::NotHeld { run, number });
        }
        if let Some(id) = host_run.held.of_key(&key) {
            let has_room = |held: &&Held| held.owners().len() < OWNERS_PER_JOB_MAX;
            let held = host_run.held.get(id).filter(has_room);
            if !held.is_some_and(|held| host_run.may_adopt(from, held, me)) {
                return self.tell_peer(from, PeerMessage::NotHeld { run, number });
            }
            host_run.held.add_owner(id, owner);
            self.tell_peer(from, PeerMessage::Adopted { run, number, holding });
            self.deliver(run, id);
            return;
        }
        let has_room = host_run.held.len() < HELD_JOBS_MAX;
        let done = host_run.table.get(&key).filter(|_| has_room).and_then(|entry| match &entry.state {
            EntryState::Done(finished) => Some((finished.clone(), entry.depth, entry.lineage.clone())),
            _ => None,
        });
        let Some((finished, depth, lineage)) = done else {
            return self.tell_peer(from, PeerMessage::NotHeld { run, number });
        };
        self.tell_peer(from, PeerMessage::Adopted { run, number, holding });
        let spec = JobSpec {
            key,
            kind: 0,
            parameters: crate::Bytes::default(),
            depth,
            lineage,
            redone: false,
            given_back: false,
            lookup_below: 0,
            objects: Vec::new(),
        };
        self.hold_and_deliver(run, Held::done(now, spec, owner, finished));
    }

    pub(super) fn on_adopted(
        &mut self,
        now: Time,
        from: HostId,
        run: RunId,
        number: LoanId,
        holding: u64,
    ) -> Result<(), Misbehaviour> {
        let Some(host_run) = self.runs.get_mut(&run) else { return Ok(()) };
        if !host_run.numbers.has_given(number) {
            return Err(Misbehaviour::AdoptionOfNoJob);
        }
        let Some(loan) = host_run.loans.get_mut(number) else { return Ok(()) };
        if loan.thief() != from || matches!(loan.state, LoanState::Given(_)) {
            return Err(Misbehaviour::AdoptionOfNoJob);
        }
        self.repeats.answered(now, Receiver::Peer(from), Repeated::Adopt(run, number));
        self.agree(now, run, number, holding);
        Ok(())
    }

    /// The host that was asked to accept this host as the owner has done so.
    pub(super) fn agree(&mut self, now: Time, run: RunId, number: LoanId, holding: u64) {
        let loan = self.runs.get_mut(&run).and_then(|run| run.loans.get_mut(number));
        if let Some(loan) = loan.filter(|loan| loan.state == LoanState::Asked) {
            loan.state = LoanState::Agreed;
            loan.holding = holding;
            loan.heard = now;
            let (spec, host, number_here) = (loan.spec().clone(), loan.thief(), loan.number());
            if let Some(host_run) = self.runs.get_mut(&run) {
                host_run.recovery.end_doubt(number_here);
            }
            self.repeats.forget(Receiver::Peer(host), Repeated::Adopt(run, number));
            self.unpolled.event(Event::Adopted(run, spec.key));
            self.note(run, &spec, NoteKind::Adopted);
        }
    }

    pub(super) fn on_not_held(&mut self, now: Time, from: HostId, run: RunId, number: LoanId) {
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        self.repeats.answered(now, Receiver::Peer(from), Repeated::Adopt(run, number));
        let is_asked = host_run
            .loans
            .get(number)
            .is_some_and(|loan| loan.thief() == from && loan.state == LoanState::Asked);
        if is_asked && let Some(loan) = host_run.loans.end(number) {
            // The entry that named that host was wrong. A better one may have come since.
            let place = host_run.table.get(&loan.spec().key).and_then(|entry| entry.state.place());
            if place == Some(from) && !loan.is_renewed {
                host_run.table.remove(&loan.spec().key);
            }
            if !self.use_known(now, run, loan.number(), loan.spec()) {
                self.redo(now, run, loan.number(), loan.spec());
            }
        }
    }

    // ---- what ends the run ----

    /// A job has exceeded a limit or failed for good: the coordinator is notified repeatedly until the run is over.
    pub(super) fn judge(&mut self, now: Time, run: RunId, verdict: ToCoordinator) {
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        if host_run.reporting.verdict().is_some() {
            // The first verdict is enough.
            return;
        }
        host_run.reporting.judge(verdict);
        host_run.next_reconcile = now + RECONCILE;
        self.repeat_verdict(run);
    }

    /// Notifies the coordinator again why the run is to end.
    pub(super) fn repeat_verdict(&mut self, run: RunId) {
        let verdict = self.runs.get(&run).and_then(|run| run.reporting.verdict().cloned());
        if let Some(verdict) = verdict {
            self.repeats.note(self.latest, Receiver::Coordinator, Repeated::Verdict(run));
            self.tell_coordinator(verdict);
        }
    }
}
