//! Limits on the time of whole runs: on the work that hosts count, and on the time under way. Both include checks of results.

use std::time::Duration;

use crate::{RunEnd, RunId, RunState, Time};

use super::Coordinator;
use super::run::CoordinatorRun;

impl CoordinatorRun {
    /// Counts its time under way up to now.
    fn count_time(&mut self, now: Time) {
        let is_computed = self.root.assigned().is_some() || self.is_checking();
        let is_under_way = is_computed && self.state == RunState::Running;
        self.meter.look(now, is_under_way);
    }

    /// When it exceeds the limit on its time under way, if it continues.
    pub(super) fn time_limit_met_at(&self) -> Option<Time> {
        self.meter.reaches(Duration::from_millis(self.spec.limits.time_ms_max?))
    }

    /// The time limit that the run has exceeded, for people.
    fn met_limit(&self) -> Option<String> {
        let limits = &self.spec.limits;
        let met =
            |limit: Option<u64>, is: Duration| limit.map(Duration::from_millis).filter(|limit| is >= *limit);
        if let Some(limit) = met(limits.time_ms_max, self.meter.under_way) {
            let limit = limit.as_secs_f64();
            let checking = if self.is_checking() { ", and its result was still being checked" } else { "" };
            return Some(format!(
                "the run was under way for longer than its limit of {limit} s{checking}; raise it with --time-limit"
            ));
        }
        let checks_ns = self.checks_work_ns();
        let work = Duration::from_nanos(self.tally.sum().work_ns.saturating_add(checks_ns));
        let limit = met(limits.cpu_ms_max, work)?.as_secs_f64();
        let checks = match checks_ns {
            0 => String::new(),
            _ => format!(", {:.1} s of it to check results", Duration::from_nanos(checks_ns).as_secs_f64()),
        };
        Some(format!(
            "the run's jobs computed for longer than its limit of {limit} s, summed over all hosts{checks}; raise it \
             with --cpu-limit"
        ))
    }
}

impl Coordinator {
    pub(super) fn next_metering(&self) -> Option<(Time, &'static str)> {
        self.runs.next_metering().map(|at| (at, "runs have limits on their time"))
    }

    /// A host has the run's root job: its time under way counts from now on.
    pub(super) fn begin_time(&mut self, now: Time, run: RunId) {
        if let Some(coordinator_run) = self.runs.get_mut(&run) {
            coordinator_run.count_time(now);
        }
    }

    /// Ends runs that have exceeded a time limit.
    pub(super) fn meter(&mut self, now: Time) {
        for run in self.runs.begin_metering(now) {
            let Some(coordinator_run) = self.runs.get_mut(&run) else { continue };
            coordinator_run.count_time(now);
            if let Some(reason) = coordinator_run.met_limit() {
                self.end(now, run, RunEnd::Limit(reason), RunState::Failed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Grid, spec};
    use crate::message::ToCoordinator;
    use crate::{Counts, RunLimits, RunSpec};

    use super::*;

    const RUN: RunId = RunId(1);

    fn grid(limits: RunLimits) -> Grid {
        let mut grid = Grid::new();
        grid.machine.submit(grid.now, RUN, Default::default(), RunSpec { limits, ..spec() });
        grid.drain();
        grid
    }

    fn reason(grid: &Grid) -> Option<&str> {
        grid.ends.iter().find_map(|(_, end)| match end {
            RunEnd::Limit(reason) => Some(reason.as_str()),
            _ => None,
        })
    }

    #[test]
    fn a_run_that_takes_too_long_ends_and_waiting_for_hosts_does_not_count() {
        let mut grid = grid(RunLimits { time_ms_max: Some(5_000), ..RunLimits::default() });
        grid.advance(60_000, &[]);
        let (link, _) = grid.join();
        grid.tell(link, ToCoordinator::Ready { run: RUN });
        assert!(grid.root(link).is_some());
        grid.advance(4_000, &[link]);
        assert_eq!(reason(&grid), None);
        grid.advance(3_000, &[link]);
        assert!(
            reason(&grid).is_some_and(|reason| reason.contains("--time-limit") && reason.contains("5 s"))
        );
    }

    #[test]
    fn a_time_limit_is_exact_and_suspensions_do_not_count() {
        let mut grid = grid(RunLimits { time_ms_max: Some(3_700), ..RunLimits::default() });
        let (link, _) = grid.join();
        grid.tell(link, ToCoordinator::Ready { run: RUN });
        grid.advance(2_300, &[link]);
        grid.machine.suspend(grid.now, RUN).expect("it is running");
        grid.drain();
        grid.advance(20_000, &[link]);
        grid.machine.resume(grid.now, RUN).expect("it is suspended");
        grid.drain();
        grid.advance(5_000, &[link]);
        grid.tell(link, ToCoordinator::Ready { run: RUN });
        assert!(grid.root(link).is_some());
        grid.advance(1_390, &[link]);
        assert_eq!(reason(&grid), None);
        grid.advance(20, &[link]);
        assert!(reason(&grid).is_some_and(|reason| reason.contains("3.7 s")));
    }

    #[test]
    fn a_run_that_computes_too_much_ends() {
        let mut grid = grid(RunLimits { cpu_ms_max: Some(10_000), ..RunLimits::default() });
        let (link, _) = grid.join();
        grid.tell(link, ToCoordinator::Ready { run: RUN });
        for (work_s, has_ended) in [(9, false), (10, true)] {
            let message = ToCoordinator::Counts {
                run: RUN,
                series: 0,
                counts: Box::new(Counts { work_ns: work_s * 1_000_000_000, ..Counts::default() }),
                progress: None,
                notes: Vec::new(),
                ahead_ns: None,
                notes_dropped: 0,
                workers: Vec::new(),
            };
            grid.tell(link, message);
            grid.advance(1_000, &[link]);
            assert_eq!(reason(&grid).is_some(), has_ended, "{work_s} s");
        }
        assert!(reason(&grid).is_some_and(|reason| reason.contains("--cpu-limit")));
    }
}
