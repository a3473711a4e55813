//! Recovery after hosts are gone (2005 result table, section 3; KAAPI, section V).
//!
//! * If a thief is gone, the jobs that were lent to it are *lost*. The fate of a lost job is resolved: if the table has
//!   its result, that is used; if another host runs it as an orphan, the orphan is adopted; otherwise the job is
//!   redone, and its descendants are looked up as deep as there are entries below it.
//! * If an owner is gone, the jobs held for it are *orphans* and keep running. The coordinator is notified, so that a host
//!   that would redo one of them finds it.
//!
//! The coordinator answers a search once all hosts have reported their orphans, so an orphan that is announced a
//! moment late is not missed.

use crate::limits::{FIND_TIMEOUT, SEARCHES_ENDED_AT_ONCE_MAX};
use crate::message::{Departure, NoteKind, PeerMessage, ToCoordinator};
use crate::{
    Again, EntryState, FaultTolerance, Finished, HeldId, HostId, JobKey, JobSpec, LoanId, RunId,
    RuntimeJobId, Time,
};

use super::held::Owner;
use super::lent::{Loan, LoanState};
use super::lost::{Recovery, Unresolved};
use super::parting::Parting;
use super::repeats::is_known;
use super::{Event, Host, Receiver, RunCommand};

impl Host {
    /// A direct link broke while the coordinator is away, so nothing reaches the peer.
    pub fn handle_peer_lost(&mut self, now: Time, peer: HostId) {
        if !self.is_connected() && self.peers.contains(peer) {
            self.lose_peer(now, peer);
        }
    }

    /// A peer is gone: this host treats it as gone for good.
    pub(super) fn lose_peer(&mut self, now: Time, peer: HostId) {
        self.lose_peers(now, &[(peer, Parting::Departed(Departure::Crashed))]);
    }

    /// Several peers are gone at once: none of them is asked for what another one had.
    pub(super) fn lose_peers(&mut self, now: Time, peers: &[(HostId, Parting)]) {
        let is_gone = |(peer, _): &(HostId, Parting)| self.drop_peer(now, *peer);
        let gone: Vec<(HostId, Parting)> = peers.iter().copied().filter(is_gone).collect();
        let runs: Vec<RunId> = self.runs.keys().copied().collect();
        for (peer, how) in gone {
            for run in &runs {
                self.lose_peer_of_run(now, *run, peer, how);
            }
        }
    }

    /// Removes a peer. Returns whether the host was one.
    fn drop_peer(&mut self, now: Time, peer: HostId) -> bool {
        if !self.peers.give_up(now, peer) {
            return false;
        }
        self.forget_parcels_of_peer(now, peer);
        self.repeats.forget_receiver(Receiver::Peer(peer));
        self.repeats.forget_many_strangers(self.peers.len(), is_known(&self.peers));
        self.unpolled.event(Event::PeerGone(peer));
        true
    }

    /// Whether a host was given up recently: it may come back, and does not know yet that its loans and requests that
    /// involve this host are void. After that time, it is answered, so that it does not wait for this host any longer.
    pub(super) fn is_given_up(&self, now: Time, host: HostId) -> bool {
        self.peers.is_given_up(now, host)
    }

    pub(super) fn lose_peer_of_run(&mut self, now: Time, run: RunId, peer: HostId, how: Parting) {
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        host_run.drop_requests(|request| request.victim == peer);
        host_run.victim.drop_thief(peer);
        host_run.outbox.drop_owner(peer);
        self.lose_sharer(now, run, peer);
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        let (room, before) = (self.room_to_forget, host_run.table.len());
        if host_run.table.forget_host(peer, room) {
            host_run.recovery.forget_later(peer);
        }
        self.room_to_forget = room.saturating_sub(before - host_run.table.len());
        host_run.thief.lose_master(peer);
        let orphaned: Vec<(LoanId, HeldId)> = host_run.held.of_host(peer).collect();
        let lost: Vec<LoanId> = host_run.loans.to(peer).collect();
        let unanswered = host_run.recovery.wanted_from(Some(peer));
        let unanswered: Vec<RuntimeJobId> = unanswered.map(|(number, _)| number).collect();
        self.tell_wanted(run);
        // Orphans first: a job that this host loses may be below one of them, or be one.
        for (number, token) in orphaned {
            self.orphan(now, run, Owner::Host(peer, number), token);
        }
        self.flush(now, run);
        for number in lost {
            if let Some(loan) = self.runs.get_mut(&run).and_then(|run| run.loans.end(number)) {
                self.resolve(now, run, loan.number(), (Some(peer), how), loan.into_spec());
            }
        }
        for number in unanswered {
            let unresolved = self.runs.get_mut(&run).and_then(|run| run.recovery.end(number));
            if let Some(unresolved) = unresolved {
                self.redo(now, run, number, &unresolved.spec);
            }
        }
        self.seek(now, run);
    }

    /// A held job has lost an owner.
    pub(super) fn orphan(&mut self, now: Time, run: RunId, owner: Owner, token: HeldId) {
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        host_run.held.remove_owner(owner);
        self.forget_result(run, owner);
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        let Some(held) = host_run.held.get(token) else { return };
        if !held.is_orphan() {
            return;
        }
        let (spec, finished) = (held.spec().clone(), held.finished().cloned());
        if let Some(finished) = finished {
            // Its result may not have reached the owner (state 7 of the papers' appendix).
            self.record(now, run, spec.key, spec.depth, spec.lineage, finished);
            if let Some(host_run) = self.runs.get_mut(&run) {
                host_run.held.forget(token);
            }
            return;
        }
        host_run.reporting.own_mut().orphaned += 1;
        self.unpolled.event(Event::Orphaned(run, spec.key));
        match host_run.spec.fault_tolerance {
            FaultTolerance::Full => self.announce_orphan(now, run, token),
            FaultTolerance::FinishedOrphans => {
                let finished: Vec<_> = host_run.table.below(spec.key.tag()).cloned().collect();
                for entry in finished {
                    self.share(now, run, &entry);
                }
                self.abort_held(run, token);
            }
            FaultTolerance::RedoOnly | FaultTolerance::Off => self.abort_held(run, token),
        }
    }

    // ---- lost jobs ----

    /// Resolves the fate of a job of this host that was lost with its thief, or that a leaving thief has given back.
    pub(super) fn resolve(
        &mut self,
        now: Time,
        run: RunId,
        number: RuntimeJobId,
        (thief, how): (Option<HostId>, Parting),
        mut spec: JobSpec,
    ) {
        let is_connected = self.is_connected();
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        let tolerance = host_run.spec.fault_tolerance;
        spec.given_back = how == Parting::LEFT;
        let are_dropped = matches!(tolerance, FaultTolerance::Off | FaultTolerance::RedoOnly);
        if spec.given_back {
            host_run.reporting.own_mut().jobs.given_back += 1;
            self.note(run, &spec, NoteKind::GivenBack);
        } else if how == Parting::GaveUp && !are_dropped {
            host_run.recovery.doubt(number);
        } else {
            self.count_lost(run, &spec);
        }
        if are_dropped {
            let again = Again { redone: true, begun: true, given_back: false, lookup_below: 0 };
            self.unpolled.command(RunCommand::Requeue { number, again }.of(run));
            return;
        }
        // Only a host that was cut off may still run it, and only if orphans continue.
        let thief = thief.filter(|_| tolerance == FaultTolerance::Full && how != Parting::LEFT);
        if self.is_with_stranger(run, &spec) && is_connected {
            return self.search(run, number, Unresolved::searched(now, spec, thief));
        }
        if self.use_known(now, run, number, &spec) {
            return;
        }
        if !is_connected {
            return self.redo(now, run, number, &spec);
        }
        self.search(run, number, Unresolved::searched(now, spec, thief));
    }

    /// Asks the coordinator what it knows of a job.
    fn search(&mut self, run: RunId, number: RuntimeJobId, searched: Unresolved) {
        let key = searched.spec.key;
        if let Some(host_run) = self.runs.get_mut(&run) {
            host_run.recovery.begin(number, searched);
        }
        self.tell_coordinator(ToCoordinator::Find { run, key });
    }

    /// Whether a job's entry names a host that this one does not know: a peer's entries may name hosts outside this
    /// host's circle.
    fn is_with_stranger(&self, run: RunId, spec: &JobSpec) -> bool {
        let entry = self.runs.get(&run).and_then(|run| run.table.get(&spec.key));
        let place = entry.and_then(|entry| entry.state.place());
        place.is_some_and(|host| Some(host) != self.id() && !self.peers.contains(host))
    }

    /// The runtime asks about a descendant of a redone job.
    pub(super) fn look_up(&mut self, now: Time, run: RunId, number: RuntimeJobId, spec: JobSpec) {
        if self.is_with_stranger(run, &spec) && self.is_connected() {
            // The coordinator knows whether that host is still connected, and introduces the two.
            return self.search(run, number, Unresolved::searched(now, spec, None));
        }
        if self.use_known(now, run, number, &spec) {
            return;
        }
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        host_run.recovery.lookups.note_again(spec.key.tag());
        let lookup_below = host_run.recovery.lookups.bound(&host_run.table, &spec);
        let again = Again { redone: true, begun: false, given_back: spec.given_back, lookup_below };
        self.unpolled.command(RunCommand::Requeue { number, again }.of(run));
    }

    /// Uses the table's entry of a job. Returns false if there is none.
    pub(super) fn use_known(&mut self, now: Time, run: RunId, number: RuntimeJobId, spec: &JobSpec) -> bool {
        let me = self.id();
        let Some(host_run) = self.runs.get_mut(&run) else { return false };
        let Some(entry) = host_run.table.get(&spec.key) else { return self.adopt_here(run, number, spec) };
        match entry.state.clone() {
            EntryState::Done(finished) => {
                self.reuse(run, number, spec, finished);
                true
            }
            EntryState::DoneAt { host, .. } if self.peers.contains(host) => {
                let key = spec.key;
                let (spec, wanted_from) = (spec.clone(), Some(host));
                host_run.recovery.begin(number, Unresolved { spec, since: now, wanted_from, thief: None });
                self.tell_peer(host, PeerMessage::Want { run, key });
                true
            }
            EntryState::Running(host) if Some(host) == me => self.adopt_here(run, number, spec),
            EntryState::Running(host) if self.peers.contains(host) => {
                self.ask_to_adopt(now, run, number, spec, host);
                true
            }
            EntryState::DoneAt { .. } | EntryState::Running(_) => {
                host_run.table.remove(&spec.key);
                self.adopt_here(run, number, spec)
            }
        }
    }

    /// Adopts the job if this host itself runs it as an orphan. Returns whether it does.
    fn adopt_here(&mut self, run: RunId, number: RuntimeJobId, spec: &JobSpec) -> bool {
        let Some(host_run) = self.runs.get_mut(&run) else { return false };
        if host_run.spec.fault_tolerance != FaultTolerance::Full {
            return false;
        }
        let Some(token) = host_run.held.of_key(&spec.key) else { return false };
        let Some(held) = host_run.held.get(token) else { return false };
        if !held.is_begun() {
            // Waiting for a job that has not begun would save nothing. If it has no other owner, it is dropped, so that
            // it does not run beside the one that is redone, which finds the entries below it.
            if held.is_orphan() {
                host_run.recovery.lookups.forget(&spec.key);
                host_run.table.remove(&spec.key);
                self.abort_held(run, token);
            }
            return false;
        }
        host_run.recovery.end_doubt(number);
        host_run.recovery.lookups.found(&host_run.table, &spec.key);
        host_run.reporting.own_mut().jobs.adopted += 1;
        host_run.held.add_owner(token, Owner::Here(number));
        self.unpolled.event(Event::Adopted(run, spec.key));
        self.note(run, spec, NoteKind::Adopted);
        self.deliver(run, token);
        true
    }

    pub(super) fn reuse(&mut self, run: RunId, number: RuntimeJobId, spec: &JobSpec, finished: Finished) {
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        host_run.recovery.end_doubt(number);
        let is_earlier = host_run.is_earlier(&spec.key);
        // That an earlier run has come as far as this job says nothing of this one.
        let is_found_again = !is_earlier && host_run.recovery.lookups.finds_again(spec);
        host_run.recovery.lookups.found(&host_run.table, &spec.key);
        host_run.reporting.count_reused(&finished, is_earlier);
        self.unpolled.event(Event::Reused(run, spec.key));
        self.note(run, spec, NoteKind::Reused);
        self.complete(run, (number, spec), finished, is_found_again);
        self.tell_lookups(run);
    }

    fn ask_to_adopt(&mut self, now: Time, run: RunId, number: RuntimeJobId, spec: &JobSpec, thief: HostId) {
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        host_run.recovery.lookups.found(&host_run.table, &spec.key);
        let loan = host_run.numbers.new_loan();
        host_run.loans.lend(loan, Loan::new(now, number, spec.clone(), thief, LoanState::Asked, 0));
        self.ask_for_adoption(now, run, thief, loan, spec.key);
    }

    /// Runs a job again of which there is no entry; results known below it are reused.
    pub(super) fn redo(&mut self, _now: Time, run: RunId, number: RuntimeJobId, spec: &JobSpec) {
        self.lose_if_doubted(run, number, spec);
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        host_run.recovery.lookups.note_again(spec.key.tag());
        let lookup_below = host_run.recovery.lookups.bound_of(&host_run.table, spec);
        self.tell_lookups(run);
        let again = Again { redone: true, begun: true, given_back: spec.given_back, lookup_below };
        self.unpolled.command(RunCommand::Requeue { number, again }.of(run));
    }

    /// Gives a job that never began back to the runtime as it was.
    pub(super) fn requeue(&mut self, run: RunId, number: RuntimeJobId, spec: &JobSpec) {
        let redone = spec.redone;
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        let lookup_below = if redone { host_run.recovery.lookups.bound_of(&host_run.table, spec) } else { 0 };
        self.tell_lookups(run);
        let again = Again { redone, begun: false, given_back: spec.given_back, lookup_below };
        self.unpolled.command(RunCommand::Requeue { number, again }.of(run));
    }

    /// All entries that answer a search were sent.
    pub(super) fn on_found(&mut self, now: Time, run: RunId, key: JobKey) {
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        let numbers: Vec<RuntimeJobId> = host_run.recovery.wanted_of(None, key).collect();
        for number in numbers {
            self.settle(now, run, number);
        }
    }

    fn settle(&mut self, now: Time, run: RunId, number: RuntimeJobId) {
        let unresolved = self.runs.get_mut(&run).and_then(|run| run.recovery.end(number));
        let Some(Unresolved { spec, wanted_from, thief, .. }) = unresolved else { return };
        // An entry would name the same host again that was asked for the result and has not answered.
        if wanted_from.is_none() && self.use_known(now, run, number, &spec) {
            return;
        }
        // If the host that had the job is back, its orphan may be unknown to the coordinator.
        match thief.filter(|thief| self.peers.contains(*thief)) {
            Some(thief) => self.ask_to_adopt(now, run, number, &spec, thief),
            None => self.redo(now, run, number, &spec),
        }
    }

    /// A host answers with a result of which the table had the place, or without one.
    pub(super) fn on_have(
        &mut self,
        now: Time,
        from: HostId,
        run: RunId,
        key: JobKey,
        finished: Option<Finished>,
    ) {
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        let numbers: Vec<RuntimeJobId> = host_run.recovery.wanted_of(Some(from), key).collect();
        for number in numbers {
            let unresolved = self.runs.get_mut(&run).and_then(|run| run.recovery.end(number));
            let Some(unresolved) = unresolved else { continue };
            match &finished {
                Some(finished) => self.reuse(run, number, &unresolved.spec, finished.clone()),
                None => self.redo(now, run, number, &unresolved.spec),
            }
        }
    }

    // ---- time ----

    pub(super) fn next_recovery_timeout(
        &self,
        run: RunId,
        recovery: &Recovery,
    ) -> Option<(Time, &'static str)> {
        let late = recovery.unresolved().filter(|(_, unresolved)| !self.is_result_arriving(run, unresolved));
        let oldest = late.map(|(_, unresolved)| unresolved.since).min()?;
        Some((oldest + FIND_TIMEOUT, "a lost job is redone without the entries of the coordinator"))
    }

    pub(super) fn time_out_recovery(&mut self, now: Time, run: RunId) {
        let Some(host_run) = self.runs.get(&run) else { return };
        let late: Vec<RuntimeJobId> = (host_run.recovery.unresolved())
            .filter(|(_, unresolved)| now >= unresolved.since + FIND_TIMEOUT)
            .filter(|(_, unresolved)| !self.is_result_arriving(run, unresolved))
            .map(|(number, _)| number)
            .take(SEARCHES_ENDED_AT_ONCE_MAX)
            .collect();
        for number in late {
            self.settle(now, run, number);
        }
    }

    /// The link to the coordinator broke: jobs whose search it has not answered are resolved without it.
    pub(super) fn settle_all(&mut self, now: Time) {
        let runs: Vec<RunId> = self.runs.keys().copied().collect();
        for run in runs {
            let Some(host_run) = self.runs.get(&run) else { continue };
            let numbers: Vec<RuntimeJobId> =
                host_run.recovery.wanted_from(None).map(|(number, _)| number).collect();
            for number in numbers {
                self.settle(now, run, number);
            }
        }
    }
}

#[cfg(test)]
mod tests;
