//! Limits on the time of whole runs: on the work that hosts count, and on the time under way.

use std::time::Duration;

use crate::{RunEnd, RunState, Time};

use super::Coordinator;
use super::run::CoordinatorRun;

impl CoordinatorRun {
    /// The time limit that the run has exceeded, for people.
    fn met_limit(&self) -> Option<String> {
        let limits = &self.spec.limits;
        let met =
            |limit: Option<u64>, is: Duration| limit.map(Duration::from_millis).filter(|limit| is >= *limit);
        if let Some(limit) = met(limits.time_ms_max, self.meter.under_way) {
            let limit = limit.as_secs_f64();
            return Some(format!(
                "the run was under way for longer than its limit of {limit} s; raise it with --time-limit"
            ));
        }
        let limit = met(limits.cpu_ms_max, Duration::from_nanos(self.tally.sum().work_ns))?.as_secs_f64();
        Some(format!(
            "the run's jobs computed for longer than its limit of {limit} s, summed over all hosts; raise it with \
             --cpu-limit"
        ))
    }
}

impl Coordinator {
    pub(super) fn next_metering(&self) -> Option<(Time, &'static str)> {
        self.runs.next_metering().map(|at| (at, "runs have limits on their time"))
    }

    /// Ends runs that have exceeded a time limit.
    pub(super) fn meter(&mut self, now: Time) {
        for run in self.runs.begin_metering(now) {
            let Some(part) = self.runs.get_mut(&run) else { continue };
            let is_under_way = part.root.assigned().is_some() && part.state == RunState::Running;
            part.meter.look(now, is_under_way);
            if let Some(reason) = part.met_limit() {
                self.end(now, run, RunEnd::Limit(reason), RunState::Failed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Grid, spec};
    use crate::message::ToCoordinator;
    use crate::{Counts, RunId, RunLimits, RunSpec};

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
