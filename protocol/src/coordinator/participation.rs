//! Which hosts' messages about a run count: hosts that it was given to, and those that hold its root job.
//!
//! Other messages about a run are late, or lies, and are ignored. Late messages count as long as they may
//! be useful: entries and counts after a suspension, say, and the last lines of a log after the end. A host that was
//! connected before the coordinator was restarted, or before it got another id, is trusted about runs that
//! were given to hosts before.

use crate::message::ToHost;
use crate::{HostId, RunId, Time};

use super::Coordinator;
use super::run::CoordinatorRun;
use super::slices::Slice;

/// A run that a host was given.
#[derive(Debug, Clone, Copy, Default)]
pub struct Given {
    /// The turn of the run in which it was last given to the host.
    turn: u32,
    /// The host has loaded it at some time.
    was_ready: bool,
    /// How often the host was asked to drop the run and has not confirmed it yet.
    drops: u8,
}

impl Given {
    /// Whether the host has loaded it at some time.
    pub fn was_ready(&self) -> bool {
        self.was_ready
    }
}

impl Coordinator {
    /// Gives a run to a host.
    pub(super) fn give(&mut self, run: RunId, host: HostId) {
        if self.has_lied(host, run) {
            // It may have come back with jobs of it, which others have begun again.
            return self.send(host, ToHost::StopRun { run });
        }
        if self.is_out(host, run) {
            return;
        }
        let Some(coordinator_run) = self.runs.get(&run) else { return };
        let Some(state) = self.hosts.get_mut(&host) else { return };
        let Some(link) = state.link else { return };
        state.given.entry(run).or_default().turn = coordinator_run.turn.number();
        self.outputs.transmit((link, ToHost::StartRun { run, spec: coordinator_run.spec.clone() }));
    }

    /// Asks a host to save and drop what it has of a run. It answers once; false if it is unreachable.
    pub(super) fn have_dropped(&mut self, run: RunId, host: HostId) -> bool {
        let Some(state) = self.hosts.get_mut(&host) else { return false };
        let Some(link) = state.link else { return false };
        let given = state.given.entry(run).or_default();
        given.drops = given.drops.saturating_add(1);
        self.outputs.transmit((link, ToHost::SuspendRun { run }));
        true
    }

    /// A host may confirm once that it has dropped a run without being asked: it was asked before the coordinator's restart.
    pub(super) fn expect_drop(&mut self, run: RunId, host: HostId) {
        let given = self.hosts.get_mut(&host).and_then(|state| state.given.get_mut(&run));
        given.into_iter().for_each(|given| given.drops = given.drops.max(1));
    }

    /// A host confirms that it has dropped a run; returns whether it was asked to.
    pub(super) fn has_dropped(&mut self, run: RunId, host: HostId) -> bool {
        let given = self.hosts.get_mut(&host).and_then(|state| state.given.get_mut(&run));
        let Some(given) = given.filter(|given| given.drops > 0) else { return false };
        given.drops -= 1;
        true
    }

    /// A host reports that it has loaded a run; false unless it was given the run. `true` inside if it was in this turn.
    pub(super) fn note_loaded(&mut self, run: RunId, host: HostId) -> Option<bool> {
        let turn = self.runs.get(&run)?.turn.number();
        let given = self.hosts.get_mut(&host)?.given.get_mut(&run)?;
        given.was_ready = true;
        Some(given.turn == turn)
    }

    /// Whether a host was given a run, at any time.
    pub(super) fn was_given(&self, host: HostId, run: RunId) -> bool {
        self.hosts.get(&host).is_some_and(|state| state.given.contains_key(&run))
    }

    /// Whether a host may search a run's table. It may before it has loaded the run, to continue the jobs it has of it.
    pub(super) fn may_search(&self, host: HostId, run: RunId) -> bool {
        let Some(coordinator_run) = self.runs.get(&run) else { return false };
        self.was_given(host, run)
            || self.had_before(host, coordinator_run)
            || coordinator_run.root.is_claimed_by(host)
    }

    /// Whether a host may add to a run's table: it has loaded the run at some time, or may have under an earlier identity.
    pub(super) fn may_record(&self, host: HostId, run: RunId) -> bool {
        self.runs.contains_key(&run) && self.has_taken_part(host, run)
    }

    /// Whether a host may report counts, activity and log lines of a run, which may have ended a moment ago.
    pub(super) fn has_taken_part(&self, host: HostId, run: RunId) -> bool {
        let Some(state) = self.hosts.get(&host) else { return false };
        if state.given.get(&run).is_some_and(|given| given.was_ready || state.comings.was_elsewhere()) {
            return true;
        }
        let Some(coordinator_run) = self.runs.get(&run) else { return false };
        self.had_before(host, coordinator_run) || coordinator_run.root.is_claimed_by(host)
    }

    /// Whether a host may end a run: it has loaded the app in this turn, or has the root job.
    pub(super) fn takes_part(&self, host: HostId, run: RunId) -> bool {
        let coordinator_run = self.runs.get(&run);
        coordinator_run.is_some_and(|run| run.readiness.is_ready(host) || run.root.is_claimed_by(host))
    }

    /// Whether a host may have had a run before it got its present identity here.
    fn had_before(&self, host: HostId, coordinator_run: &CoordinatorRun) -> bool {
        coordinator_run.turn.was_active()
            && self.hosts.get(&host).is_some_and(|state| state.comings.was_elsewhere())
    }

    // ---- finished runs ----

    /// A run is over: its hosts' messages count for a while.
    pub(super) fn accept_late(&mut self, now: Time, run: RunId) {
        self.over.accept_late(now, run);
        self.forget_late(now);
    }

    /// When the next finished run is forgotten.
    pub(super) fn next_late(&self) -> Option<(Time, &'static str)> {
        let until = self.over.next_late()?;
        Some((until, "nobody is heard any more of a run that is over"))
    }

    pub(super) fn forget_late(&mut self, now: Time) {
        while let Some(run) = self.over.take_late(now) {
            self.settle_counts(now, run);
            self.in_slices(now, Slice::Forget { after: None, run, is_late: true });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::ended::LATE_MAX;
    use super::super::tests::{Grid, spec};
    use super::super::{Event, LinkId};
    use super::*;
    use crate::message::{LogLine, ToCoordinator, WorkerTimes};
    use crate::root_job;
    use crate::{
        Counts, Entry, EntryState, Finished, JobFailure, JobKey, Lineage, Outcome, RunEnd, RunLimits, RunSpec,
    };

    const RUN: RunId = RunId(1);

    fn finished() -> Finished {
        Finished { outcome: Outcome::Done(vec![0, 0].into()), work_ns: 1, span_ns: 1 }
    }

    fn entry(key: JobKey, state: EntryState) -> ToCoordinator {
        let entries = vec![Entry { key, depth: 0, lineage: Lineage::default(), state, is_earlier: false }];
        ToCoordinator::Entries { run: RUN, entries }
    }

    fn counts(work_ns: u64) -> ToCoordinator {
        ToCoordinator::Counts {
            run: RUN,
            series: 1,
            counts: Box::new(Counts { work_ns, ..Counts::default() }),
            progress: Some((1, 2)),
            notes: Vec::new(),
            ahead_ns: None,
            notes_dropped: 0,
            workers: vec![WorkerTimes::default()],
        }
    }

    fn log() -> ToCoordinator {
        let line = LogLine { job: None, function: "main".to_owned(), text: "so far".to_owned() };
        ToCoordinator::Log { run: RUN, lines: vec![line] }
    }

    /// What people would see of a host's messages.
    fn shown(grid: &mut Grid, link: LinkId, message: ToCoordinator) -> usize {
        grid.machine.handle_message(grid.now, link, message);
        let events = std::iter::from_fn(|| grid.machine.poll_event());
        let count = events
            .filter(|event| {
                matches!(
                    event,
                    Event::Log(..) | Event::Activity { .. } | Event::Notes(..) | Event::Unready(..)
                )
            })
            .count();
        grid.drain();
        count
    }

    #[test]
    fn the_roots_entry_is_accepted_only_from_a_host_with_the_root() {
        for (was_given, state) in [
            (false, EntryState::Done(finished())),
            (false, EntryState::Running(HostId(0))),
            (true, EntryState::Done(finished())),
        ] {
            let mut grid = Grid::new();
            let (holder, (holder_id, ..)) = grid.join();
            grid.submit(RUN);
            grid.tell(holder, ToCoordinator::Ready { run: RUN });
            let claim = grid.root(holder).expect("the root");
            let (forger, (forger_id, ..)) = grid.join();
            grid.tell(forger, ToCoordinator::Ready { run: RUN });
            let (teller, teller_id) = if was_given { (holder, holder_id) } else { (forger, forger_id) };
            let state = match state {
                EntryState::Running(_) => EntryState::Running(teller_id),
                state => state,
            };
            grid.tell(teller, entry(root_job(&spec()).key, state.clone()));
            grid.cut(holder);
            grid.advance(3_000, &[forger]);
            let has_ended = grid.ends.iter().any(|(run, _)| *run == RUN);
            assert_eq!(has_ended, was_given, "{state:?} of {teller_id}, not of {holder_id}: {claim:?}");
            assert!(!grid.is_closed(forger), "it may be late");
        }
    }

    #[test]
    fn a_queued_run_accepts_no_entries() {
        let mut grid = Grid::new();
        let (link, (me, ..)) = grid.join();
        for run in 2..=1 + crate::limits::RUNS_ACTIVE_MAX as u64 {
            grid.submit(RunId(run));
        }
        grid.submit(RUN);
        let root = root_job(&spec()).key;
        for key in [root, JobKey([1; 32])] {
            grid.tell(link, entry(key, EntryState::Done(finished())));
            grid.tell(link, entry(key, EntryState::Running(me)));
        }
        assert_eq!(grid.machine.run(RUN).map(|view| view.table().0), Some(0));
        assert!(!grid.is_closed(link));
    }

    #[test]
    fn a_host_that_takes_no_part_is_ignored() {
        let mut grid = Grid::new();
        let limits = RunLimits { cpu_ms_max: Some(1_000), ..RunLimits::default() };
        grid.machine.submit(grid.now, RUN, Default::default(), RunSpec { limits, ..spec() });
        let (root, _) = grid.join();
        grid.tell(root, ToCoordinator::Ready { run: RUN });
        let (stranger, (stranger_id, ..)) = grid.join();
        let below = |job: u8| {
            let lineage = Lineage(vec![root_job(&spec()).key.tag()]);
            let state = EntryState::Done(finished());
            let entries = vec![Entry { key: JobKey([job; 32]), depth: 1, lineage, state, is_earlier: false }];
            ToCoordinator::Entries { run: RUN, entries }
        };
        let table = |grid: &Grid| grid.machine.run(RUN).map(|view| view.table().0);
        grid.tell(stranger, below(1));
        assert_eq!(table(&grid), Some(0), "it was given the run, and has not loaded it");
        grid.tell(root, below(2));
        assert_eq!(table(&grid), Some(1));
        let failure = JobFailure { job: String::new(), message: String::new(), backtrace: Vec::new() };
        for message in [
            counts(u64::MAX),
            log(),
            ToCoordinator::Failed { run: RUN, failure },
            ToCoordinator::Limit { run: RUN, reason: "no".to_owned() },
        ] {
            assert_eq!(shown(&mut grid, stranger, message.clone()), 0, "{message:?}");
        }
        grid.advance(2_000, &[root, stranger]);
        assert!(grid.ends.is_empty(), "{:?}", grid.ends);
        assert!(!grid.is_closed(stranger));
        // Entries of others are not for hosts that were given nothing.
        let find = ToCoordinator::Find { run: RUN, key: root_job(&spec()).key };
        let answer = |grid: &mut Grid, link: LinkId| {
            grid.tell(link, find.clone());
            grid.advance(1_000, &[root, stranger, link]);
            let said = std::mem::take(grid.said.entry(link).or_default());
            let entries = said.iter().map(|message| match message {
                ToHost::Entries { entries, .. } => entries.len(),
                _ => 0,
            });
            let is_found = said.iter().any(|message| matches!(message, ToHost::Found { .. }));
            (entries.sum::<usize>(), is_found)
        };
        assert_eq!(answer(&mut grid, root), (1, true));
        let given = grid.machine.hosts.get_mut(&stranger_id).map(|state| std::mem::take(&mut state.given));
        assert_eq!(answer(&mut grid, stranger), (0, true));
        grid.tell(root, below(3));
        assert_eq!(answer(&mut grid, stranger), (0, true), "nor is what comes later");
        grid.machine.hosts.get_mut(&stranger_id).expect("it is there").given = given.expect("it is there");
        // A paused host was given nothing.
        let (paused, _) = grid.join();
        grid.tell(paused, ToCoordinator::Paused { reason: Some("at work".to_owned()) });
        grid.submit(RunId(2));
        for message in [
            ToCoordinator::Unready { run: RunId(2), reason: "no".to_owned() },
            ToCoordinator::Ready { run: RunId(2) },
        ] {
            assert_eq!(shown(&mut grid, paused, message), 0);
        }
        // A host that takes part is heard, also when it is late.
        assert_eq!((shown(&mut grid, root, counts(5)), shown(&mut grid, root, log())), (1, 1));
        grid.machine.suspend(grid.now, RUN).expect("it is under way");
        grid.tell(root, ToCoordinator::Suspended { run: RUN });
        assert_eq!((shown(&mut grid, root, counts(7)), shown(&mut grid, root, log())), (1, 1));
        assert_eq!(grid.machine.run(RUN).map(|view| view.counts().work_ns), Some(7));
        grid.machine.cancel(grid.now, RUN).expect("it is there");
        assert_eq!((shown(&mut grid, root, log()), shown(&mut grid, stranger, log())), (1, 0));
        grid.advance(LATE_MAX.as_millis() as u64 + 1_000, &[root, stranger]);
        assert_eq!(shown(&mut grid, root, log()), 0, "that is too late");
        assert!(matches!(grid.ends.as_slice(), [(RUN, RunEnd::Cancelled)]));
    }

    #[test]
    fn messages_of_a_host_from_before_a_restart_count_before_it_is_ready() {
        let stored = |state| crate::coordinator::StoredRun {
            run: RUN,
            submitter: Default::default(),
            spec: spec(),
            state,
            entries: Vec::new(),
            standing: Default::default(),
        };
        for (state, is_heard) in [
            (crate::RunState::Running, true),
            (crate::RunState::Suspended, true),
            (crate::RunState::Queued, false),
        ] {
            let mut before = Grid::new();
            let (_, identity) = before.join();
            let mut runs: Vec<_> = vec![stored(state)];
            // So that the run is not given to hosts if it is queued.
            for run in 2..=1 + crate::limits::RUNS_ACTIVE_MAX as u64 {
                runs.push(crate::coordinator::StoredRun {
                    run: RunId(run),
                    ..stored(crate::RunState::Queued)
                });
            }
            runs.rotate_left(1);
            if state == crate::RunState::Queued {
                // Runs take turns by their numbers.
                runs.iter_mut().for_each(|stored| stored.run = RunId(100 - stored.run.0));
            }
            let run = if state == crate::RunState::Queued { RunId(99) } else { RUN };
            let mut grid = Grid::of(true, runs);
            let link = grid.hello(Some(identity), Vec::new());
            let entries = vec![Entry {
                key: JobKey([1; 32]),
                depth: 1,
                lineage: Lineage::default(),
                state: EntryState::Done(finished()),
                is_earlier: false,
            }];
            grid.tell(link, ToCoordinator::Entries { run, entries });
            let count = grid.machine.run(run).map(|view| view.table().0);
            assert_eq!(count, Some(usize::from(is_heard)), "{state:?}");
        }
    }

    #[test]
    fn a_host_that_repeatedly_confirms_dropping_a_run_is_given_it_once() {
        let mut grid = Grid::new();
        let (link, _) = grid.join();
        grid.submit(RUN);
        let starts = |grid: &Grid| {
            let said = grid.said.get(&link).into_iter().flatten();
            said.filter(|message| matches!(message, ToHost::StartRun { .. })).count()
        };
        grid.tell(link, ToCoordinator::Ready { run: RUN });
        for _ in 0..100 {
            grid.tell(link, ToCoordinator::Suspended { run: RUN });
        }
        assert!(starts(&grid) <= 2, "{} for a message of three bytes", starts(&grid));
        // A host that is slow, and confirms when the run has been resumed, is given it again.
        let before = starts(&grid);
        grid.machine.suspend(grid.now, RUN).expect("it is under way");
        grid.advance(60_000, &[link]);
        grid.machine.resume(grid.now, RUN).expect("it rests");
        grid.drain();
        assert_eq!(starts(&grid), before + 1);
        for _ in 0..100 {
            grid.tell(link, ToCoordinator::Suspended { run: RUN });
        }
        assert_eq!(starts(&grid), before + 2);
    }
}
