//! Following what is lent and held until the result has arrived, whatever is lost on the way.

use crate::limits::{COUNTS_SOON, HELD_JOBS_MAX, OWNERS_PER_JOB_MAX, RECONCILE};
use crate::message::{NoteKind, PeerMessage, ToCoordinator};
use crate::{EntryState, Finished, HostId, JobKey, JobNumber, Outcome, RunId, StealId, Time};

use super::part::{Held, LoanState, Owner, Part};
use super::{Command, Event, Host, Misbehaviour};

impl Host {
    // ---- results ----

    /// A held job has ended in the runtime.
    pub(super) fn on_finished(&mut self, now: Time, run: RunId, token: JobNumber, finished: Finished) {
        let Some(part) = self.runs.get_mut(&run) else { return };
        let Some(held) = part.held.get_mut(&token) else { return };
        held.finished = Some(finished.clone());
        let spec = held.spec.clone();
        let is_orphan = held.owners.is_empty();
        let what = match finished.outcome {
            Outcome::Done(_) => NoteKind::Done { work_ns: finished.work_ns },
            Outcome::Failed(_) => NoteKind::Failed,
        };
        let is_worth_it = finished.work_ns >= part.spec.recorded_work_ns_min();
        self.note(run, &spec, what);
        // Sent over the network, it is in the table, too: it survives if its owner does not receive it
        // (2005 result table, section 3.1).
        if is_orphan || is_worth_it {
            self.record(now, run, spec.key, spec.depth, spec.lineage.clone(), finished);
        }
        if is_orphan {
            if let Some(part) = self.runs.get_mut(&run) {
                part.own_counts.orphans_saved += 1;
                part.forget_held(token);
            }
            self.flush(now, run);
            return;
        }
        self.report_ended(now, run, token);
        self.deliver(run, token);
    }

    /// Counts go ahead of a result, at once ahead of the root's.
    fn report_ended(&mut self, now: Time, run: RunId, token: JobNumber) {
        let Some(part) = self.runs.get_mut(&run) else { return };
        let is_root = part
            .held
            .get(&token)
            .is_some_and(|held| held.owners.iter().any(|(owner, _)| *owner == Owner::Coordinator));
        if is_root {
            self.send_log(run);
        }
        self.report_soon(now, run, is_root);
    }

    /// As soon as may be, or now.
    pub(super) fn report_soon(&mut self, now: Time, run: RunId, at_once: bool) {
        let Some(part) = self.runs.get_mut(&run) else { return };
        let soon = part.last_report.map_or(now, |last| last + COUNTS_SOON);
        part.next_report = if at_once { now } else { part.next_report.min(soon) };
        self.report(now, run);
    }

    /// Something that has its result before it begins.
    pub(super) fn hold_and_deliver(&mut self, run: RunId, held: Held) {
        let Some(part) = self.runs.get_mut(&run) else { return };
        let token = part.new_number();
        part.hold(token, held);
        self.deliver(run, token);
    }

    /// Sends a held job's result to all who wait for it.
    pub(super) fn deliver(&mut self, run: RunId, token: JobNumber) {
        let Some(part) = self.runs.get_mut(&run) else { return };
        let Some(held) = part.held.get(&token).filter(|held| held.finished.is_some()) else { return };
        for (owner, number) in held.owners.clone() {
            if self.is_result_under_way(run, owner, number) {
                continue;
            }
            let held = self.runs.get(&run).and_then(|part| part.held.get(&token));
            let Some((spec, Some(finished))) = held.map(|held| (held.spec.clone(), held.finished.clone()))
            else {
                return;
            };
            match owner {
                Owner::Host(host) => self.tell_peer(host, PeerMessage::Result { run, number, finished }),
                Owner::Coordinator => {
                    self.tell_coordinator(ToCoordinator::RootFinished { run, number, finished });
                }
                Owner::Here => {
                    if let Some(part) = self.runs.get_mut(&run) {
                        part.count_saved(&finished);
                    }
                    self.commands.push_back(Command::Complete { run, number, finished });
                    self.note(run, &spec, NoteKind::Reused);
                    self.settle_owner(run, owner, number);
                }
            }
        }
    }

    /// An owner needs nothing more: a held job with a result that all have is forgotten.
    pub(super) fn settle_owner(&mut self, run: RunId, owner: Owner, number: JobNumber) {
        self.end_result(run, owner, number);
        let Some(part) = self.runs.get_mut(&run) else { return };
        let Some(token) = part.remove_owner(owner, number) else { return };
        if part.held.get(&token).is_some_and(|held| held.owners.is_empty() && held.finished.is_some()) {
            part.forget_held(token);
        }
    }

    pub(super) fn on_received(&mut self, from: HostId, run: RunId, number: JobNumber) {
        let owner = Owner::Host(from);
        let Some(part) = self.runs.get(&run) else { return };
        let Some(held) = part.held_by_loan.get(&(owner, number)).and_then(|token| part.held.get(token))
        else {
            return;
        };
        if held.finished.is_some() {
            self.settle_owner(run, owner, number);
        }
    }

    pub(super) fn on_result(
        &mut self,
        from: HostId,
        run: RunId,
        number: JobNumber,
        finished: Finished,
    ) -> Result<(), Misbehaviour> {
        if let Some(part) = self.runs.get_mut(&run) {
            if number.0 > part.next_number {
                return Err(Misbehaviour::ResultOfNoJob);
            }
            match part.loans.get(&number) {
                Some(loan) if loan.thief != from => return Err(Misbehaviour::ResultOfNoJob),
                Some(_) => {
                    if let Some(loan) = part.end_loan(number) {
                        if loan.state == LoanState::Agreed {
                            part.own_counts.jobs.adopted += 1;
                            part.count_saved(&finished);
                        }
                        let number = loan.number;
                        self.commands.push_back(Command::Complete { run, number, finished });
                    }
                }
                // A second time, or too late: the job was given up, redone or aborted.
                None => {}
            }
        }
        self.tell_peer(from, PeerMessage::Received { run, number });
        Ok(())
    }

    // ---- what nobody wants ----

    /// The runtime does not want a lent or looked-up job any more.
    pub(super) fn on_abandoned(&mut self, run: RunId, number: JobNumber) {
        let Some(part) = self.runs.get_mut(&run) else { return };
        part.unresolved.remove(&number);
        if let Some(loan) = part.loan_by_number.get(&number).copied()
            && let Some(ended) = part.end_loan(loan)
        {
            self.end_loan_parcels(run, loan, &ended);
            self.tell_peer(ended.thief, PeerMessage::Abort { run, number: loan });
        }
        self.give_up_owner(run, Owner::Here, number);
    }

    pub(super) fn on_abort(&mut self, from: HostId, run: RunId, number: JobNumber) {
        self.give_up_owner(run, Owner::Host(from), number);
    }

    /// The owner cannot go on: whoever has its job instead will look for the orphan.
    pub(super) fn on_orphaned(&mut self, now: Time, from: HostId, run: RunId, number: JobNumber) {
        let owner = Owner::Host(from);
        let token = self.runs.get(&run).and_then(|part| part.held_by_loan.get(&(owner, number)).copied());
        if let Some(token) = token {
            self.orphan(now, run, owner, number, token);
            self.flush(now, run);
        }
    }

    pub(super) fn on_unknown(&mut self, from: HostId, run: RunId, numbers: &[JobNumber]) {
        for number in numbers {
            self.give_up_owner(run, Owner::Host(from), *number);
        }
    }

    /// Somebody does not want a held job; without others who do, it is aborted.
    fn give_up_owner(&mut self, run: RunId, owner: Owner, number: JobNumber) {
        self.end_result(run, owner, number);
        let Some(part) = self.runs.get_mut(&run) else { return };
        let Some(token) = part.remove_owner(owner, number) else { return };
        if part.held.get(&token).is_some_and(|held| held.owners.is_empty()) {
            self.abort_held(run, token);
        }
    }

    pub(super) fn abort_held(&mut self, run: RunId, token: JobNumber) {
        let threads = self.config.report.threads as usize;
        let Some(part) = self.runs.get_mut(&run) else { return };
        if let Some(held) = part.forget_held(token)
            && held.finished.is_none()
        {
            if !held.begun {
                part.idle = (part.idle + 1).min(threads);
            }
            self.note(run, &held.spec, NoteKind::Aborted);
            self.commands.push_back(Command::Abort { run, held: token });
        }
    }

    pub(super) fn on_returned(
        &mut self,
        now: Time,
        from: HostId,
        run: RunId,
        number: JobNumber,
        begun: bool,
    ) {
        let Some(part) = self.runs.get_mut(&run) else { return };
        if part.loans.get(&number).is_some_and(|loan| loan.thief == from)
            && let Some(loan) = part.end_loan(number)
        {
            if begun {
                self.resolve(now, run, loan.number, loan.spec);
            } else {
                self.requeue(run, loan.number, &loan.spec);
            }
        }
    }

    // ---- adoption ----

    /// A redoer asks for the result of a job that goes on here.
    pub(super) fn on_adopt(&mut self, now: Time, from: HostId, run: RunId, number: JobNumber, key: JobKey) {
        // To one that is gone, nothing is promised.
        let is_there = self.peers.contains_key(&from);
        let Some(part) = self.runs.get_mut(&run).filter(|_| is_there) else {
            return self.tell_peer(from, PeerMessage::NotHeld { run, number });
        };
        let holding = part.holding;
        if let Some(token) = part.held_by_key.get(&key).copied() {
            if part.held.get(&token).is_some_and(|held| held.owners.len() >= OWNERS_PER_JOB_MAX) {
                return self.tell_peer(from, PeerMessage::NotHeld { run, number });
            }
            part.add_owner(token, Owner::Host(from), number);
            self.tell_peer(from, PeerMessage::Adopted { run, number, holding });
            self.deliver(run, token);
            return;
        }
        let has_room = part.held.len() < HELD_JOBS_MAX;
        let done = part.table.get(&key).filter(|_| has_room).and_then(|entry| match &entry.state {
            EntryState::Done(finished) => Some((finished.clone(), entry.depth, entry.lineage.clone())),
            _ => None,
        });
        let Some((finished, depth, lineage)) = done else {
            return self.tell_peer(from, PeerMessage::NotHeld { run, number });
        };
        self.tell_peer(from, PeerMessage::Adopted { run, number, holding });
        let spec = crate::JobSpec {
            key,
            kind: 0,
            parameters: Vec::new(),
            depth,
            lineage,
            redone: false,
            lookup_below: 0,
            objects: Vec::new(),
        };
        let owners = vec![(Owner::Host(from), number)];
        self.hold_and_deliver(
            run,
            Held {
                spec,
                owners,
                finished: Some(finished),
                since: now,
                lender: None,
                asked: None,
                begun: true,
            },
        );
    }

    pub(super) fn on_adopted(
        &mut self,
        now: Time,
        from: HostId,
        run: RunId,
        number: JobNumber,
        holding: u64,
    ) -> Result<(), Misbehaviour> {
        let Some(part) = self.runs.get_mut(&run) else { return Ok(()) };
        if number.0 > part.next_number {
            return Err(Misbehaviour::AdoptionOfNoJob);
        }
        let Some(loan) = part.loans.get_mut(&number) else { return Ok(()) };
        if loan.thief != from || matches!(loan.state, LoanState::Given(_)) {
            return Err(Misbehaviour::AdoptionOfNoJob);
        }
        if loan.state == LoanState::Asked {
            loan.state = LoanState::Agreed;
            loan.holding = holding;
            loan.heard = now;
            let spec = loan.spec.clone();
            self.events.push_back(Event::Adopted(run, spec.key));
            self.note(run, &spec, NoteKind::Adopted);
        }
        Ok(())
    }

    pub(super) fn on_not_held(&mut self, now: Time, from: HostId, run: RunId, number: JobNumber) {
        let Some(part) = self.runs.get_mut(&run) else { return };
        let is_asked =
            part.loans.get(&number).is_some_and(|loan| loan.thief == from && loan.state == LoanState::Asked);
        if is_asked && let Some(loan) = part.end_loan(number) {
            // What sent this host there was wrong. Something better may have come since.
            let place = part.table.get(&loan.spec.key).and_then(|entry| entry.state.place());
            if place == Some(from) {
                part.table.remove(&loan.spec.key);
            }
            if !self.use_known(now, run, loan.number, &loan.spec) {
                self.redo(now, run, loan.number, &loan.spec);
            }
        }
    }

    // ---- what ends the run ----

    /// A job has met a limit or failed for good: the coordinator is told until the run is over.
    pub(super) fn judge(&mut self, now: Time, run: RunId, verdict: ToCoordinator) {
        let Some(part) = self.runs.get_mut(&run) else { return };
        if part.verdict.is_some() {
            // The first is as good.
            return;
        }
        part.verdict = Some(verdict);
        part.next_reconcile = now + RECONCILE;
        self.repeat_verdict(run);
    }

    /// Tells the coordinator again what is to end the run.
    pub(super) fn repeat_verdict(&mut self, run: RunId) {
        let verdict = self.runs.get(&run).and_then(|part| part.verdict.clone());
        if let Some(verdict) = verdict {
            self.tell_coordinator(verdict);
        }
    }

    // ---- reconciliation ----

    pub(super) fn next_reconcile(&self, part: &Part) -> Option<(Time, &'static str)> {
        (!part.loans.is_empty() || !part.held.is_empty() || part.verdict.is_some())
            .then_some((part.next_reconcile, "hosts tell one another what they hold"))
    }

    pub(super) fn reconcile(&mut self, now: Time, run: RunId) {
        let Some(part) = self.runs.get_mut(&run) else { return };
        if now < part.next_reconcile {
            return;
        }
        part.next_reconcile = now + RECONCILE;
        let mut owners: Vec<HostId> = (part.held.values())
            .filter(|held| now >= held.since + RECONCILE)
            .flat_map(|held| &held.owners)
            .filter_map(|(owner, _)| match owner {
                Owner::Host(host) => Some(*host),
                Owner::Coordinator | Owner::Here => None,
            })
            .collect();
        owners.sort_unstable();
        owners.dedup();
        let again: Vec<JobNumber> = (part.held.iter())
            .filter(|(_, held)| held.finished.is_some() && now >= held.since + RECONCILE)
            .map(|(token, _)| *token)
            .collect();
        let mut silent: Vec<HostId> = Vec::new();
        let mut asked = Vec::new();
        for (number, loan) in &part.loans {
            if now >= loan.heard + RECONCILE * 2 {
                match loan.state {
                    LoanState::Asked => asked.push((loan.thief, *number, loan.spec.key)),
                    LoanState::Given(_) | LoanState::Agreed => silent.push(loan.thief),
                }
            }
        }
        silent.sort_unstable();
        silent.dedup();
        self.repeat_verdict(run);
        for token in again {
            self.deliver(run, token);
        }
        for owner in owners {
            self.send_holding(run, owner);
        }
        for thief in silent {
            self.tell_peer(thief, PeerMessage::Lending { run });
        }
        for (host, number, key) in asked {
            self.tell_peer(host, PeerMessage::Adopt { run, number, key });
        }
    }

    /// Tells an owner what this host has of its jobs.
    pub(super) fn send_holding(&mut self, run: RunId, owner: HostId) {
        let Some(part) = self.runs.get_mut(&run) else {
            // Nothing at all, and there never was.
            let (held, pending) = (Vec::new(), Vec::new());
            let message =
                PeerMessage::Holding { run, holding: u64::MAX, next_steal: StealId(u64::MAX), held, pending };
            return self.tell_peer(owner, message);
        };
        part.holding += 1;
        let held = (part.held_by_loan.range((Owner::Host(owner), JobNumber(0))..))
            .take_while(|((host, _), _)| *host == Owner::Host(owner))
            .map(|((_, number), _)| *number)
            .collect();
        let pending = (part.requests.iter())
            .filter(|(_, request)| request.victim == owner)
            .map(|(steal, _)| *steal)
            .collect();
        let message = PeerMessage::Holding {
            run,
            holding: part.holding,
            next_steal: StealId(part.next_steal),
            held,
            pending,
        };
        self.tell_peer(owner, message);
    }

    /// A thief says what it has: what it should have and has not is lost on the way.
    pub(super) fn on_holding(
        &mut self,
        now: Time,
        from: HostId,
        run: RunId,
        (holding, next_steal): (u64, StealId),
        held: &[JobNumber],
        pending: &[StealId],
    ) {
        if self.is_given_up(now, from) {
            // What it holds goes on, as an orphan soon.
            return;
        }
        let Some(part) = self.runs.get_mut(&run) else {
            if !held.is_empty() {
                self.tell_peer(from, PeerMessage::Unknown { run, numbers: held.to_vec() });
            }
            return;
        };
        let held_set: std::collections::BTreeSet<JobNumber> = held.iter().copied().collect();
        let (mut again, mut lost) = (Vec::new(), Vec::new());
        for number in &part.loans_to(from).collect::<Vec<_>>() {
            let Some(loan) = part.loans.get_mut(number) else { continue };
            if held_set.contains(number) {
                loan.heard = now;
                loan.is_heard = true;
                continue;
            }
            match loan.state {
                LoanState::Given(steal) if pending.contains(&steal) => {
                    again.push(PeerMessage::Job { run, steal, number: *number, spec: loan.spec.clone() });
                }
                LoanState::Given(steal) if steal < next_steal && holding > loan.holding => lost.push(*number),
                LoanState::Agreed if holding > loan.holding => lost.push(*number),
                _ => {}
            }
        }
        let unknown: Vec<JobNumber> =
            held_set.into_iter().filter(|number| !part.loans.contains_key(number)).collect();
        let refused: Vec<StealId> = (pending.iter().copied())
            .filter(|steal| {
                let waits = part.parked.iter().any(|parked| parked.thief == from && parked.steal == *steal);
                !waits && !part.is_lent(from, *steal)
            })
            .collect();
        for message in again {
            self.tell_peer(from, message);
        }
        for steal in refused {
            self.tell_peer(from, PeerMessage::Nothing { run, steal });
        }
        if !unknown.is_empty() {
            self.tell_peer(from, PeerMessage::Unknown { run, numbers: unknown });
        }
        for number in lost {
            if let Some(loan) = self.runs.get_mut(&run).and_then(|part| part.end_loan(number)) {
                match loan.state {
                    // It never began.
                    LoanState::Given(_) if !loan.is_heard => self.requeue(run, loan.number, &loan.spec),
                    _ => self.resolve(now, run, loan.number, loan.spec),
                }
            }
        }
    }
}
