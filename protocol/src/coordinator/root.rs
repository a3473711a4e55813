//! The root jobs of runs: who has them, and what becomes of them.

use std::collections::{BTreeMap, BTreeSet};

use crate::limits::SETTLE_MAX;
use crate::message::{Departure, RootClaim, ToHost};
use crate::{EntryState, Finished, HostId, JobNumber, Outcome, RunEnd, RunId, RunState, Time};

use super::answers::Answer;
use super::run::CoordinatorRun;
use super::slices::Slice;
use super::{Coordinator, Event, Misbehaviour};

/// Of more hosts than these, some are drawn to choose a root's host from.
const CANDIDATES_MAX: usize = 64;
impl Coordinator {
    /// Proves that the coordinator gave a run's root job to somebody under this number; kept nowhere, so that
    /// a coordinator that was started again knows it still.
    fn root_proof(&self, run: RunId, number: JobNumber) -> u64 {
        let mut hasher = blake3::Hasher::new_keyed(&self.config.secret);
        hasher.update(b"root");
        hasher.update(&run.0.to_le_bytes());
        hasher.update(&number.0.to_le_bytes());
        let mut proof = [0; 8];
        proof.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
        u64::from_le_bytes(proof)
    }

    /// Checks the proofs of root jobs that a host comes back with.
    pub(super) fn check_claims(&self, claims: &[RootClaim]) -> Result<(), Misbehaviour> {
        let is_proved = |claim: &RootClaim| claim.proof == self.root_proof(claim.run, claim.number);
        if claims.iter().all(is_proved) { Ok(()) } else { Err(Misbehaviour::NotItsRoot) }
    }

    /// A host is back without root jobs that it was given: the messages that gave them were lost with the link.
    pub(super) fn take_unclaimed_roots(&mut self, now: Time, host: HostId, claims: &[RootClaim]) {
        let unclaimed: Vec<(RunId, JobNumber)> = (self.active.iter())
            .filter_map(|run| {
                let (_, number) = self.runs.get(run)?.assigned.filter(|(assigned, _)| *assigned == host)?;
                let has_it = claims.iter().any(|claim| claim.run == *run && claim.number == number);
                (!has_it).then_some((*run, number))
            })
            .collect();
        for (run, number) in unclaimed {
            if let Some(part) = self.runs.get_mut(&run) {
                part.claims.remove(&(host, number));
            }
            // It has begun anew.
            self.take_root(now, run, Departure::Crashed);
        }
    }

    pub(super) fn on_ready(&mut self, now: Time, host: HostId, run: RunId) {
        let Some(is_of_this_turn) = self.note_loaded(run, host) else { return };
        if !self.working.contains(&host) {
            return;
        }
        let Some(part) = self.runs.get_mut(&run) else { return };
        if !part.is_active {
            self.wake_turn(now, run);
        } else if is_of_this_turn {
            part.readiness.set_ready(host);
            self.assign_roots(now);
        }
    }

    pub(super) fn on_unready(&mut self, now: Time, host: HostId, run: RunId, reason: String) {
        if !self.was_given(host, run) {
            return;
        }
        let Some(part) = self.runs.get_mut(&run) else { return };
        if self.working.contains(&host) {
            part.readiness.set_unready(host, reason.clone());
        }
        self.note_unready(run);
        self.events.push_back(Event::Unready(run, host, reason));
        let part = self.runs.get_mut(&run).filter(|part| part.root_host() == Some(host));
        if let Some(part) = part {
            part.tally.count_root_given_back(host);
            self.take_root(now, run, Departure::Crashed);
            self.assign_roots(now);
        }
    }

    /// A host that comes back has the root job still, and has proved it.
    pub(super) fn claim_root(&mut self, now: Time, host: HostId, claim: &RootClaim, was_missing: bool) {
        let RootClaim { run, number, .. } = *claim;
        let Some(part) = self.runs.get_mut(&run) else { return };
        // Of a run that is suspended, too: its root may have ended before its host heard of that.
        part.claims.insert((host, number));
        part.next_number = part.next_number.max(number.0);
        if !part.is_active {
            return;
        }
        match part.assigned {
            // The message that withdrew it was lost with a link.
            Some((root_host, _)) if root_host != host && part.withdrawn.contains(&(host, number)) => {
                self.send(host, ToHost::Withdraw { run, number });
            }
            Some((root_host, other)) if root_host != host => {
                // After a restart nobody has been given the root anew: both have had it since before.
                let may_have_it_back = was_missing || self.waits_until.is_some();
                if number > other {
                    // It was withdrawn before the restart, and it is not known any more that it was: without a
                    // restart, a root of a greater number than this is withdrawn.
                    self.withdraw_root(run, host, number);
                } else if number < other && may_have_it_back && self.working.contains(&host) {
                    self.give_root_back(now, run, (host, number), (root_host, other));
                }
            }
            Some(_) | None => {
                part.assigned = Some((host, number));
                part.forget_root_before();
                self.set_state(run, RunState::Running);
            }
        }
    }

    /// The root's host was away for a moment, and another has begun the root meanwhile: the first has done more of
    /// it, and one is enough. If the other finishes before it hears of that, its result counts.
    fn give_root_back(
        &mut self,
        now: Time,
        run: RunId,
        (host, number): (HostId, JobNumber),
        (other, withdrawn): (HostId, JobNumber),
    ) {
        let Some(part) = self.runs.get_mut(&run) else { return };
        part.assigned = Some((host, number));
        part.forget_root_before();
        self.withdraw_root(run, other, withdrawn);
        self.introduce_master(now, run, host);
        self.broadcast(now, ToHost::Master { run, host });
        self.events.push_back(Event::RootAssigned(run, host));
    }

    /// A host is not to go on with a root job: an earlier one has it.
    fn withdraw_root(&mut self, run: RunId, host: HostId, number: JobNumber) {
        if let Some(part) = self.runs.get_mut(&run) {
            part.withdrawn.insert((host, number));
            self.send(host, ToHost::Withdraw { run, number });
        }
    }

    /// Gives root jobs that nobody has to hosts that can run them.
    pub(super) fn assign_roots(&mut self, now: Time) {
        if self.waits_until.is_some() {
            return;
        }
        let is_giving_up = self.is_giving_up(now);
        let is_free = |part: &CoordinatorRun| {
            let has_settled = part.settles.0 == 0 || (self.has_settled(part.settles.0) && !is_giving_up);
            part.assigned.is_none() && (has_settled || now >= part.settles.1)
        };
        let free: Vec<RunId> =
            { self.active.iter() }.filter(|run| self.runs.get(run).is_some_and(is_free)).copied().collect();
        for run in free {
            self.assign_root(now, run);
        }
    }

    fn assign_root(&mut self, now: Time, run: RunId) {
        let Some(part) = self.runs.get_mut(&run) else { return };
        let before = part.assigned_before.take();
        if std::mem::take(&mut part.was_given_before) || before.is_some() {
            // Its host went while the coordinator was away.
            part.root_losses = part.root_losses.saturating_add(1);
            part.note_root_begun(Departure::Crashed);
            self.events.extend(before.map(|host| Event::RootLost(run, host)));
        }
        let Some(part) = self.runs.get(&run) else { return };
        let known = part.table.get(&part.root.key).map(|entry| entry.state.clone());
        let orphan = match known {
            Some(EntryState::Done(finished)) => return self.finish(now, run, finished),
            Some(EntryState::Running(host)) if self.hosts.contains_key(&host) => Some(host),
            _ => None,
        };
        let Some(host) = orphan.or_else(|| self.choose_root_host(run)) else { return };
        let Some(part) = self.runs.get_mut(&run) else { return };
        part.next_number += 1;
        let number = JobNumber(part.next_number);
        part.assigned = Some((host, number));
        part.claims.insert((host, number));
        part.root.redone |= !part.table.is_empty();
        let mut spec = part.root.clone();
        if spec.redone {
            spec.lookup_below = part.table.depth_below(spec.key.tag());
            self.send_ahead(now, host, Answer::unasked(run, spec.key));
        }
        let proof = self.root_proof(run, number);
        self.send(host, ToHost::Assign { run, number, proof, spec });
        self.introduce_master(now, run, host);
        self.broadcast(now, ToHost::Master { run, host });
        self.events.push_back(Event::RootAssigned(run, host));
        self.set_state(run, RunState::Running);
    }

    /// Whoever steals from nobody but the master is to know it.
    fn introduce_master(&mut self, now: Time, run: RunId, master: HostId) {
        if self.runs.get(&run).is_some_and(CoordinatorRun::is_of_master_and_workers) {
            self.in_slices(now, Slice::IntroduceMaster { after: None, run, master });
        }
    }

    /// A host that is ready and has the fewest roots; of many, one that is drawn.
    fn choose_root_host(&mut self, run: RunId) -> Option<HostId> {
        let mut of_host: BTreeMap<HostId, usize> = BTreeMap::new();
        let active = self.active.iter().filter_map(|run| self.runs.get(run));
        for (host, _) in active.filter_map(|part| part.assigned) {
            *of_host.entry(host).or_default() += 1;
        }
        let roots = |host: HostId| of_host.get(&host).copied().unwrap_or_default();
        let ready = self.runs.get(&run)?.readiness.ready();
        let mut candidates: BTreeSet<HostId> = if ready.len() <= CANDIDATES_MAX {
            ready.iter().copied().collect()
        } else {
            (0..CANDIDATES_MAX).map(|_| ready[self.random.below(ready.len())]).collect()
        };
        candidates.retain(|host| self.hosts.get(host).is_some_and(|state| state.link.is_some()));
        let ready: Vec<(usize, HostId)> = candidates.into_iter().map(|host| (roots(host), host)).collect();
        let fewest = ready.iter().map(|(roots, _)| *roots).min()?;
        let best: Vec<HostId> =
            ready.into_iter().filter(|(roots, _)| *roots == fewest).map(|(_, host)| host).collect();
        Some(best[self.random.below(best.len())])
    }

    /// Its host has crashed.
    pub(super) fn lose_root(&mut self, now: Time, run: RunId, host: HostId) {
        let Some(part) = self.runs.get_mut(&run) else { return };
        part.root_losses = part.root_losses.saturating_add(1);
        self.events.push_back(Event::RootLost(run, host));
        self.take_root(now, run, Departure::Crashed);
    }

    /// Its host does not go on with it.
    pub(super) fn take_root(&mut self, now: Time, run: RunId, how: Departure) {
        let epoch = self.epoch;
        let Some(part) = self.runs.get_mut(&run) else { return };
        if let Some((host, _)) = part.assigned.take().filter(|_| how == Departure::Left) {
            part.tally.count_root_given_back(host);
        }
        part.note_root_begun(how);
        part.settles = (epoch, now + SETTLE_MAX);
    }

    pub(super) fn on_root_finished(
        &mut self,
        now: Time,
        host: HostId,
        run: RunId,
        number: JobNumber,
        finished: Finished,
    ) -> Result<(), Misbehaviour> {
        if let Some(part) = self.runs.get(&run) {
            if !part.claims.contains(&(host, number)) {
                return Err(Misbehaviour::NotItsRoot);
            }
            if matches!(part.state, RunState::Suspended | RunState::Suspending) || part.is_active {
                self.finish(now, run, finished);
            }
        }
        self.send(host, ToHost::Acknowledged { run, number });
        Ok(())
    }

    fn finish(&mut self, now: Time, run: RunId, finished: Finished) {
        let state = match &finished.outcome {
            Outcome::Done(bytes) if is_result(bytes) => RunState::Done,
            Outcome::Done(_) | Outcome::Failed(_) => RunState::Failed,
        };
        self.end(now, run, RunEnd::Finished(finished), state);
    }
}

/// Whether an entry point's outcome is a result and not an error; see [`MainOutcome`](crate::MainOutcome).
fn is_result(outcome: &[u8]) -> bool {
    matches!(outcome.first(), Some(0 | 1))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::coordinator::tests::{Grid, spec};
    use crate::coordinator::{Standing, StoredRun, root_job};
    use crate::message::ToCoordinator;
    use crate::{BlobHash, Counts, Entry, GridId, Lineage, RunSpec};

    const RUN: RunId = RunId(1);

    /// A coordinator that was started again and knows that the root goes on at this host.
    fn restarted(at: HostId) -> Grid {
        let root = root_job(&spec());
        let entry =
            Entry { key: root.key, depth: 0, lineage: Lineage::default(), state: EntryState::Running(at) };
        let run = StoredRun {
            run: RUN,
            spec: spec(),
            state: RunState::Running,
            entries: vec![entry],
            standing: Standing::default(),
        };
        Grid::of(true, vec![run])
    }

    #[test]
    fn a_root_does_not_wait_at_a_host_that_never_comes_back() {
        let mut grid = restarted(HostId(99));
        let (link, _) = grid.join();
        grid.tell(link, ToCoordinator::Knows { hosts: Vec::new() });
        grid.tell(link, ToCoordinator::Ready { run: RUN });
        grid.advance(60_000, &[link]);
        assert_eq!(grid.root(link).map(|claim| claim.run), Some(RUN));
    }

    #[test]
    fn one_root_is_left_of_two_that_hosts_come_back_with_after_a_restart() {
        for order in [[1, 2], [2, 1]] {
            let mut grid = restarted(HostId(99));
            let mut links = BTreeMap::new();
            for number in order {
                let (host, number) = (HostId(10 + number), JobNumber(number));
                let proof = grid.machine.root_proof(RUN, number);
                let was = (host, grid.machine.secret_of(host), GridId(7));
                let link = grid.hello(Some(was), vec![RootClaim { run: RUN, number, proof }]);
                links.insert(number, link);
            }
            let withdrawn = |grid: &Grid, number: u64| {
                grid.last(links[&JobNumber(number)], |message| match message {
                    ToHost::Withdraw { number, .. } => Some(*number),
                    _ => None,
                })
            };
            let of_each = (withdrawn(&grid, 1), withdrawn(&grid, 2));
            assert_eq!(of_each, (None, Some(JobNumber(2))), "they came in the order {order:?}");
            assert_eq!(grid.machine.runs[&RUN].assigned, Some((HostId(11), JobNumber(1))), "{order:?}");
            let all: Vec<_> = links.values().copied().collect();
            grid.advance(10_000, &all);
            assert!(all.iter().all(|link| grid.root(*link).is_none()), "nobody is given another");
        }
    }

    #[test]
    fn a_root_goes_from_a_host_that_cannot_run_it_to_one_that_can() {
        let mut grid = Grid::new();
        let (unable, able) = (grid.join().0, grid.join().0);
        grid.submit(RUN);
        for link in [unable, able] {
            grid.tell(link, ToCoordinator::Ready { run: RUN });
        }
        grid.advance(1_000, &[unable, able]);
        assert!(grid.root(unable).is_some() && grid.root(able).is_none());
        grid.tell(unable, ToCoordinator::Unready { run: RUN, reason: "it has no room".to_owned() });
        grid.advance(30_000, &[unable, able]);
        assert_eq!(grid.root(able).map(|claim| claim.run), Some(RUN));
    }

    /// It was killed before it had saved who had the root, and that host does not come back.
    #[test]
    fn a_root_whose_host_was_not_saved_yet_is_lost_all_the_same() {
        for (is_saved, losses) in [(false, 1), (true, 0)] {
            // What is saved says that nobody had it: its host had given it back.
            let standing = Standing { under_way_ms: u64::from(is_saved), ..Standing::default() };
            let (spec, entries) = (spec(), Vec::new());
            let run = StoredRun { run: RUN, spec, state: RunState::Running, entries, standing };
            let mut grid = Grid::of(true, vec![run]);
            let (link, _) = grid.join();
            grid.tell(link, ToCoordinator::Knows { hosts: Vec::new() });
            grid.tell(link, ToCoordinator::Ready { run: RUN });
            grid.advance(60_000, &[link]);
            assert!(grid.root(link).is_some());
            let view = grid.machine.run(RUN).expect("it is under way");
            assert_eq!(view.root_losses(), losses, "{is_saved}");
        }
    }

    /// What is below it goes on at others, and is adopted although nothing was lost.
    #[test]
    fn a_root_that_its_host_gives_back_is_counted() {
        let unready = ToCoordinator::Unready { run: RUN, reason: "it has no room".to_owned() };
        for (last, given_back) in [(Some(unready), 1), (Some(ToCoordinator::Leaving), 1), (None, 0)] {
            let mut grid = Grid::new();
            let (link, _) = grid.join();
            grid.submit(RUN);
            grid.tell(link, ToCoordinator::Ready { run: RUN });
            grid.advance(1_000, &[link]);
            assert!(grid.root(link).is_some());
            grid.tell(link, counted(5));
            match last {
                Some(last) => grid.tell(link, last),
                None => grid.cut(link),
            }
            grid.advance(60_000, &[]);
            let view = grid.machine.run(RUN).expect("it is not over");
            let (counts, losses) = (view.counts(), view.root_losses());
            assert_eq!((counts.jobs.given_back, losses), (given_back, 1 - given_back as u32));
            assert_eq!((counts.work_ns, view.at_work().workers), (5, 1));
        }
    }

    fn counted(work_ns: u64) -> ToCoordinator {
        ToCoordinator::Counts {
            run: RUN,
            series: 1,
            counts: Box::new(Counts { work_ns, workers: 1, ..Counts::default() }),
            progress: None,
            notes: Vec::new(),
            notes_dropped: 0,
            workers: Vec::new(),
        }
    }

    /// The only host is paused no more, and has not said what it goes on with; it cannot be given the root yet.
    #[test]
    fn a_root_that_nobody_can_be_given_waits_in_peace() {
        let mut grid = Grid::new();
        grid.submit(RUN);
        let (first, was) = grid.join();
        grid.tell(first, ToCoordinator::Ready { run: RUN });
        assert!(grid.root(first).is_some());
        grid.tell(first, ToCoordinator::Paused { reason: Some("its owner is back".to_owned()) });
        grid.tell(first, ToCoordinator::Leaving);
        grid.advance(3_000, &[]);
        let back = grid.hello(Some(was), Vec::new());
        grid.tell(back, ToCoordinator::Pong { ping: 0 });
        // As `advance` sees, nothing is due without end.
        grid.advance(20_000, &[back]);
    }

    #[test]
    fn inputs_are_part_of_a_roots_identity() {
        let with =
            |name: &str, byte| RunSpec { inputs: vec![(name.to_owned(), BlobHash([byte; 32]))], ..spec() };
        let specs = [spec(), with("a", 1), with("a", 2), with("b", 1)];
        let keys: BTreeSet<_> = specs.iter().map(|spec| root_job(spec).key).collect();
        assert_eq!(keys.len(), specs.len());
        assert_eq!(spec().salt(), Vec::<u8>::new());
    }
}
