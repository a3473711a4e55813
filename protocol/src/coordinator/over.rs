//! Runs that are over, until hosts have sent their last counts.
//!
//! Hosts count until they receive the message that a run is over, and a moment longer. Each host that has loaded the run answers
//! [`StopRun`](ToHost::StopRun) with its last counts and [`Stopped`](crate::message::ToCoordinator::Stopped). When all have, are
//! gone, or have run out of time, the run's counts are final, and the driver saves them. Nothing waits for that: a run's
//! result is saved before.

use crate::limits::{BROADCAST_AT_ONCE_MAX, OVER_ROWS_MAX};
use crate::message::{Departure, ToHost};
use crate::{Counts, HostId, RunId, Time};

use super::ended::Over;
use super::participation::Given;
use super::run::CoordinatorRun;
use super::slices::Slice;
use super::{Account, Command, Coordinator};

impl Coordinator {
    /// A run is over: hosts are notified, and send their last counts.
    pub(super) fn await_last_counts(&mut self, now: Time, run: RunId, mut coordinator_run: CoordinatorRun) {
        coordinator_run.root.forget_claims();
        self.over.insert(run, Over::new(coordinator_run));
        self.in_slices(now, Slice::Stop { after: None, run });
        self.in_slices(now, Slice::Shed(run));
        self.accept_late(now, run);
        // The run that ended first goes first.
        for first in self.over.beyond(OVER_ROWS_MAX) {
            self.settle_counts(now, first);
        }
    }

    /// Notifies some hosts that a run is over; returns the rest of the slice.
    pub(super) fn stop_some(&mut self, now: Time, after: Option<HostId>, run: RunId) -> Option<Slice> {
        let mut last = None;
        for (host, state) in self.hosts.range(super::slices::from(after)).take(BROADCAST_AT_ONCE_MAX) {
            last = Some(*host);
            if state.paused.is_some() {
                continue;
            }
            if let Some(link) = state.link {
                self.outputs.transmit((link, ToHost::StopRun { run }));
            }
            // One whose link is down answers when it is back. One that has counted something may have reported that before a
            // restart, or when it was able to take part.
            if let Some(over) = self.over.get_mut(&run)
                && (state.given.get(&run).is_some_and(Given::was_ready)
                    || over.coordinator_run.tally.has_row(*host))
            {
                over.coordinator_run.awaited.insert(*host);
            }
        }
        if let Some(after) = self.if_more(last) {
            return Some(Slice::Stop { after, run });
        }
        if let Some(over) = self.over.get_mut(&run) {
            over.is_asking = false;
        }
        self.settle_counts_if_told(now, run);
        None
    }

    /// A host has stopped a run and sent all its counts.
    pub(super) fn on_stopped(&mut self, now: Time, run: RunId, host: HostId) {
        if let Some(over) = self.over.get_mut(&run) {
            over.coordinator_run.awaited.remove(&host);
            self.settle_counts_if_told(now, run);
        }
    }

    /// A host is gone. One that left in order had come to rest and sent its last counts before it said so; another may have
    /// counted more than it has sent.
    pub(super) fn lose_host_of_over(&mut self, now: Time, host: HostId, departure: Departure) {
        let over: Vec<RunId> = self.over.keys().copied().collect();
        for run in over {
            let Some(over) = self.over.get_mut(&run) else { continue };
            over.is_partial |= over.coordinator_run.awaited.remove(&host) && departure == Departure::Crashed;
            let (hosts, missing) = (&self.hosts, &self.missing);
            over.coordinator_run.tally.leave(host, |host| super::runs::whereabouts(hosts, missing, host));
            self.settle_counts_if_told(now, run);
        }
    }

    fn settle_counts_if_told(&mut self, now: Time, run: RunId) {
        if self.over.get(&run).is_some_and(Over::is_settled) {
            self.settle_counts(now, run);
        }
    }

    /// The counts of a run that is over are as final as possible.
    pub(super) fn settle_counts(&mut self, now: Time, run: RunId) {
        let Some(Over { mut coordinator_run, table, is_asking, is_partial }) = self.over.remove(&run) else {
            return;
        };
        let counts = Counts { busy: 0, ..coordinator_run.counts() };
        let account = Account {
            progress: coordinator_run.progress,
            root_host: coordinator_run.root.known_host(),
            root_losses: coordinator_run.root.losses(),
            table,
            at_work: coordinator_run.tally.at_work(),
            by_host: coordinator_run.tally.take_rows(),
            checked: coordinator_run.validation.as_ref().map(|validation| validation.checked()),
            is_complete: !is_asking && coordinator_run.awaited.is_empty() && !is_partial,
        };
        self.in_slices(now, Slice::Forget { after: None, run, is_late: false });
        self.in_slices(now, Slice::Free(coordinator_run));
        self.outputs.command(Command::SaveCounts {
            run,
            counts: Box::new(counts),
            account: Box::new(account),
        });
    }

    /// All counts are as final as possible: the coordinator stops.
    pub fn settle_all_counts(&mut self, now: Time) {
        let over: Vec<RunId> = self.over.keys().copied().collect();
        over.into_iter().for_each(|run| self.settle_counts(now, run));
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Grid, spec};
    use super::super::{Account, LinkId, Standing, StoredRun};
    use super::*;
    use crate::limits::{RECONNECT_GRACE, SILENCE_MAX};
    use crate::message::{ToCoordinator, WorkerTimes};
    use crate::{Finished, GridId, Jobs, Outcome, RunState};

    const RUN: RunId = RunId(1);

    fn counts(spawned: u64) -> ToCoordinator {
        let jobs = Jobs { spawned, executed: spawned, ..Jobs::default() };
        ToCoordinator::Counts {
            run: RUN,
            series: 1,
            counts: Box::new(Counts { jobs, workers: 1, busy: 1, ..Counts::default() }),
            progress: None,
            notes: Vec::new(),
            ahead_ns: None,
            notes_dropped: 0,
            workers: Vec::new(),
        }
    }

    /// Two hosts with a run, the first of which has the root, and one that has not loaded it. Messages at the end
    /// are handled here and not by the test grid.
    fn ended() -> (Grid, [LinkId; 3]) {
        let mut grid = Grid::new();
        let links = [(); 3].map(|()| grid.join().0);
        grid.submit(RUN);
        for link in &links[..2] {
            grid.tell(*link, ToCoordinator::Ready { run: RUN });
        }
        let [one, two] = [links[0], links[1]];
        let with_root = [one, two].into_iter().find(|link| grid.root(*link).is_some()).expect("the root");
        let number = grid.root(with_root).expect("the root").number;
        grid.tell(one, counts(10));
        let finished = Finished { outcome: Outcome::Done(vec![0, 0].into()), work_ns: 1, span_ns: 1 };
        grid.tell(with_root, ToCoordinator::RootFinished { run: RUN, number, finished });
        assert_eq!(grid.ends.len(), 1, "a result waits for no counts");
        (grid, links)
    }

    fn say(grid: &mut Grid, link: LinkId, message: ToCoordinator) -> Option<(Counts, Account)> {
        grid.machine.handle_message(grid.now, link, message);
        settled(grid)
    }

    fn settled(grid: &mut Grid) -> Option<(Counts, Account)> {
        std::iter::from_fn(|| grid.machine.poll_command()).find_map(|command| match command {
            Command::SaveCounts { run: RUN, counts, account } => Some((*counts, *account)),
            _ => None,
        })
    }

    #[test]
    fn last_counts_are_included_in_a_runs_figures() {
        let (mut grid, [one, two, _]) = ended();
        let mut late = counts(5);
        if let ToCoordinator::Counts { workers, .. } = &mut late {
            workers.push(WorkerTimes::default());
        }
        assert_eq!(grid.machine.sizes().over, (1, 2), "a host that has not loaded it is not waited for");
        for (link, message) in [
            (one, counts(15)),
            (one, ToCoordinator::Stopped { run: RUN }),
            (one, ToCoordinator::Stopped { run: RUN }),
            (two, counts(4)),
        ] {
            assert!(say(&mut grid, link, message).is_none());
        }
        let view = grid.machine.run_over(RUN).expect("it settles");
        assert_eq!((view.counts().jobs.spawned, view.at_work().hosts), (19, 2), "so far");
        assert!(
            grid.machine.has_changed(RUN),
            "it is saved, should the coordinator be killed before the rest comes"
        );
        assert_eq!(grid.machine.take_changed(RUN, None, usize::MAX).len(), 2);
        let (counts, account) = say(&mut grid, two, ToCoordinator::Stopped { run: RUN }).expect("all");
        assert_eq!((counts.jobs.spawned, counts.busy, account.at_work.hosts), (19, 0, 2));
        assert!(account.is_complete && grid.machine.run_over(RUN).is_none());
        // Nothing changes any more, and no event names a host without a row.
        assert!(say(&mut grid, two, ToCoordinator::Stopped { run: RUN }).is_none());
        let events = |grid: &mut Grid| std::iter::from_fn(|| grid.machine.poll_event()).count();
        events(&mut grid);
        assert!(say(&mut grid, two, late).is_none());
        assert_eq!(events(&mut grid), 0);
    }

    /// Nothing that the coordinator says reaches it, so it has not said that it is ready.
    #[test]
    fn a_host_that_counted_before_a_restart_is_waited_for() {
        let host = HostId(99);
        let standing = Standing {
            by_host: vec![(host, Counts { work_ns: 1, ..Counts::default() })],
            ..Standing::default()
        };
        let (spec, state, entries) = (spec(), RunState::Running, Vec::new());
        let mut grid = Grid::of(
            true,
            vec![StoredRun { run: RUN, submitter: Default::default(), spec, state, entries, standing }],
        );
        let was = (host, grid.machine.secret_of(host, &Default::default()), GridId(7));
        let link = grid.hello(Some(was), Vec::new());
        grid.machine.cancel(grid.now, RUN).expect("it is under way");
        assert!(settled(&mut grid).is_none());
        let (_, account) = say(&mut grid, link, ToCoordinator::Stopped { run: RUN }).expect("all");
        assert!(account.is_complete);
    }

    #[test]
    fn last_counts_that_were_lost_with_a_link_are_awaited() {
        let (mut grid, [one, two, _]) = ended();
        assert!(say(&mut grid, one, ToCoordinator::Stopped { run: RUN }).is_none());
        let identity = grid.identity(two);
        grid.cut(two);
        grid.now = grid.now + RECONNECT_GRACE / 2;
        let back = grid.hello(Some(identity), Vec::new());
        assert!(say(&mut grid, back, counts(7)).is_none());
        let (counts, account) = say(&mut grid, back, ToCoordinator::Stopped { run: RUN }).expect("all");
        assert_eq!((counts.jobs.spawned, account.is_complete), (17, true));
    }

    #[test]
    fn a_host_that_goes_without_sending_its_last_counts_leaves_them_partial() {
        let (mut grid, [one, two, _]) = ended();
        assert!(say(&mut grid, one, ToCoordinator::Stopped { run: RUN }).is_none());
        grid.machine.handle_closed(grid.now, two);
        grid.machine.handle_timeout(grid.now + RECONNECT_GRACE);
        let (counts, account) = settled(&mut grid).expect("it is given up");
        assert_eq!((counts.jobs.spawned, account.is_complete), (10, false));
    }

    /// It left before it heard that the run was over.
    #[test]
    fn a_host_that_leaves_has_sent_its_last_counts() {
        let (mut grid, [one, two, _]) = ended();
        assert!(say(&mut grid, one, ToCoordinator::Stopped { run: RUN }).is_none());
        assert!(say(&mut grid, two, counts(4)).is_none());
        let (counts, account) = say(&mut grid, two, ToCoordinator::Leaving).expect("all");
        assert_eq!((counts.jobs.spawned, account.is_complete), (14, true));
    }

    #[test]
    fn a_host_that_never_answers_is_not_awaited_forever() {
        let (mut grid, [one, two, three]) = ended();
        let most = SILENCE_MAX.max(std::time::Duration::from_secs(10));
        grid.advance(most.as_millis() as u64 / 2, &[one, two, three]);
        assert_eq!(grid.machine.sizes().over, (1, 2));
        grid.advance(most.as_millis() as u64, &[one, two, three]);
        assert_eq!((grid.machine.sizes().over, grid.machine.sizes().rows), ((0, 0), 0));
    }

    #[test]
    fn runs_that_are_over_have_a_bounded_number_of_rows() {
        let mut grid = Grid::new();
        let (link, _) = grid.join();
        for run in 1..=40 {
            grid.submit(RunId(run));
            grid.tell(link, ToCoordinator::Ready { run: RunId(run) });
            let coordinator_run = grid.machine.runs.get_mut(&RunId(run)).expect("it is under way");
            for host in 0..OVER_ROWS_MAX as u64 / 16 {
                coordinator_run.tally.count(HostId(1 + host), 1, Counts::default());
            }
            grid.machine.cancel(grid.now, RunId(run)).expect("it is under way");
            grid.drain();
        }
        let (over, _) = grid.machine.sizes().over;
        assert_eq!(
            (over, grid.machine.run_over(RunId(40)).is_some()),
            (16, true),
            "the newest are waited for"
        );
        grid.machine.settle_all_counts(grid.now);
        assert_eq!(grid.machine.sizes().over, (0, 0));
    }
}
