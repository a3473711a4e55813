//! The work left at one moment, so that tests can check that it shrinks.
//!
//! Work that grows with the grid is done in bounded parts, each in an event of its own that is due at once. Any
//! number of these events may be due at one moment; but each of them leaves less work than there was before it.

use crate::{RunState, Time};

use super::Coordinator;
use super::run::CoordinatorRun;
use super::slices::Slice;

/// The work left at a moment. While a timer is due, each call of
/// [`handle_timeout`](Coordinator::handle_timeout) leaves less: compare the backlog before and after it.
///
/// Fields are ordered by which work creates which: work of one field may add to the fields below it, and to
/// none above. Backlogs are compared by the first field in which they differ. So no timer is due
/// forever, however much is added.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Backlog {
    /// The time for hosts from before a restart is over.
    pub waiting_is_over: bool,
    /// Hosts that resume work now.
    pub unpausing: usize,
    /// Hosts that may be given up.
    pub hosts: usize,
    /// Runs with time limits are to be checked.
    pub metering: bool,
    /// Runs that may end, and the places that they may give to other submitters now.
    pub runs: (usize, usize),
    /// Runs that are being saved by hosts.
    pub suspending: usize,
    /// Runs that may begin a turn now.
    pub turns: usize,
    /// Roots that may be assigned; those that are held back count twice.
    pub roots: usize,
    /// Hosts that were given up and are forgotten now.
    pub missing: usize,
    /// Runs that are over and whose late messages are ignored from now on.
    pub late: usize,
    /// Hosts are to be pinged.
    pub pings: bool,
    /// Searches that wait.
    pub searches: usize,
    /// Entries of answers that are under way, and ends of these answers.
    pub answers: usize,
    /// Steps of slices that start other slices.
    pub branching: usize,
    /// Steps of slices that make hosts acquainted.
    pub introductions: usize,
    /// Steps of all other slices.
    pub steps: usize,
    /// Entries that wait to be saved, and runs that have such entries.
    pub unsaved: usize,
    /// Hosts that are to be checked for silence now.
    pub checks: usize,
    /// News about other hosts that were not sent.
    pub news: usize,
    /// Departures whose answers are no longer awaited.
    pub unanswered: usize,
    /// Parts of parcels are to be requested again.
    pub parcels: bool,
    /// There are searches that can be answered.
    pub is_any_search_ready: bool,
}

impl Coordinator {
    /// The work left now.
    pub fn backlog(&self, now: Time) -> Backlog {
        let may_begin = |coordinator_run: &CoordinatorRun| {
            !coordinator_run.turn.is_active()
                && matches!(coordinator_run.state, RunState::Queued | RunState::Running)
                && coordinator_run.turn.has_rested(now)
        };
        let mut backlog = Backlog {
            waiting_is_over: self.missing.is_awaiting_in_vain(now),
            unpausing: self.working.resuming_len(now),
            hosts: self.hosts.len(),
            metering: self.next_metering().is_some_and(|(at, _)| now >= at),
            runs: (self.runs.len(), self.places_to_give(now)),
            missing: self.missing.overdue_len(now),
            late: self.over.late_len(now),
            pings: !self.hosts.is_empty() && now >= self.chores.next_ping(),
            searches: self.lookups.waiting_len(),
            answers: self.lookups.unsent(&self.runs),
            checks: self.silence.due_len(now),
            news: self.hosts.values().map(|state| state.mailbox.untold()).sum(),
            unanswered: self.newsroom.expired_len(now, self.silence.deaf_until),
            parcels: self.incoming.next_timeout().is_some_and(|due| now >= due),
            is_any_search_ready: self.lookups.is_any_ready(),
            ..Backlog::default()
        };
        for coordinator_run in self.runs.values() {
            backlog.suspending += usize::from(coordinator_run.suspending.is_some());
            backlog.turns += usize::from(may_begin(coordinator_run));
            if coordinator_run.turn.is_active() && coordinator_run.root.assigned().is_none() {
                backlog.roots += 1 + usize::from(coordinator_run.root.is_held_back());
            }
            backlog.unsaved += coordinator_run.ledger.unsaved_len()
                + usize::from(coordinator_run.ledger.save_due().is_some());
        }
        for slice in self.chores.slices().iter() {
            let steps = self.steps_left(slice);
            match slice {
                Slice::Lose { .. } | Slice::Stop { .. } => backlog.branching += steps,
                Slice::Renew(_) | Slice::Meet { .. } | Slice::Know { .. } | Slice::IntroduceMaster { .. } => {
                    backlog.introductions += steps;
                }
                _ => backlog.steps += steps,
            }
        }
        backlog
    }

    /// More than the turns that a slice will still take; each turn reduces it.
    fn steps_left(&self, slice: &Slice) -> usize {
        let runs_after = |after: Option<crate::RunId>| {
            self.runs.keys().filter(|run| after.is_none_or(|after| **run > after)).count()
        };
        let hosts_after = |after: Option<crate::HostId>| {
            self.hosts.keys().filter(|host| after.is_none_or(|after| **host > after)).count()
        };
        1 + match slice {
            Slice::Broadcast { after, .. }
            | Slice::Stop { after, .. }
            | Slice::Suspend { after, .. }
            | Slice::IntroduceMaster { after, .. }
            | Slice::AskAll { after, .. }
            | Slice::Forget { after, .. } => hosts_after(*after),
            Slice::Start { after, before, .. } => hosts_after(*after) + before.len() + 1,
            Slice::ShowRound { after, host } => self.circles.of_after(*host, *after).count(),
            Slice::TellGone(host) => self.newsroom.untold_of(*host),
            Slice::Renew(hosts) => hosts.len(),
            Slice::Know { others, .. } | Slice::Meet { others, .. } => others.len(),
            Slice::ForgetAbsent { after } => self.circles.after(*after, usize::MAX).len(),
            Slice::Lose { after, .. } | Slice::Unlist { after, .. } => runs_after(*after),
            Slice::ForgetEntries { run, host } => {
                self.runs.get(run).map_or(0, |run| run.ledger.table().len_with(*host))
            }
            Slice::Unsubscribe { from, host: _ } => self
                .runs
                .range(*from..)
                .map(|(_, coordinator_run)| 1 + coordinator_run.ledger.subscriptions_len())
                .sum(),
            Slice::Sweep(run) => self.runs.get(run).map_or(0, |run| run.ledger.table().sweepable_len()),
            Slice::Drop(readiness) => readiness.len(),
            Slice::Shed(run) => self.over.get(run).map_or(0, |over| over.coordinator_run.shed_len()),
            Slice::Free(coordinator_run) => coordinator_run.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Grid;
    use super::super::{LinkId, RunId};
    use crate::message::ToCoordinator;
    use crate::{Entry, EntryState, JobKey, Lineage, Time};

    /// Handles all timers that are due now; returns the number of events.
    fn settle(grid: &mut Grid) -> usize {
        let mut events = 0;
        while grid.machine.poll_timeout().is_some_and(|(when, _)| when <= grid.now) {
            let before = grid.machine.backlog(grid.now);
            grid.machine.handle_timeout(grid.now);
            grid.drain();
            let after = grid.machine.backlog(grid.now);
            assert!(after < before, "{after:?} is left of {before:?}");
            events += 1;
        }
        events
    }

    fn later(grid: &mut Grid, ms: u64) -> usize {
        grid.now = Time(grid.now.0 + ms * 1_000_000);
        settle(grid)
    }

    #[test]
    fn each_event_leaves_less_work() {
        let mut grid = Grid::new();
        let links: Vec<LinkId> = (0..600).map(|_| grid.join().0).collect();
        settle(&mut grid);
        for run in 1..=12 {
            grid.submit(RunId(run));
            for link in links.iter().take(20) {
                grid.tell(*link, ToCoordinator::Ready { run: RunId(run) });
            }
        }
        assert!(later(&mut grid, 100) > 20, "hosts are notified of runs");
        let run = RunId(1);
        for (number, link) in links.iter().take(40).enumerate() {
            let state = EntryState::Running(grid.identity(*link).0);
            let of_job = |job: u8| Entry {
                key: JobKey([job, number as u8, 1, 1].repeat(8).try_into().expect("32 bytes")),
                depth: 1,
                lineage: Lineage::default(),
                state: state.clone(),
                is_earlier: false,
            };
            grid.tell(*link, ToCoordinator::Entries { run, entries: (0..16).map(of_job).collect() });
            grid.tell(*link, ToCoordinator::Find { run, key: JobKey([number as u8; 32]) });
        }
        later(&mut grid, 1_000);
        links.iter().step_by(2).take(200).for_each(|link| grid.cut(*link));
        assert!(later(&mut grid, 1_000) > 200, "hosts are given up one by one");
        for run in 1..=12 {
            let _ = grid.machine.suspend(grid.now, RunId(run));
            let _ = grid.machine.cancel(grid.now, RunId(run));
            grid.drain();
        }
        // All other hosts are silent, and everything about them is forgotten.
        for _ in 0..40 {
            later(&mut grid, 1_000);
        }
        assert_eq!(grid.machine.hosts().count(), 0);
        assert_eq!(grid.machine.backlog(grid.now), Default::default());
    }
}
