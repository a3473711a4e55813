//! What the driver does now and then for each run, or for each host of a run: a bounded part at a time, for it serves
//! the machine meanwhile.

use std::collections::VecDeque;

use sateen_protocol::coordinator::{Row, Standing};
use sateen_protocol::limits::{COUNTS, RESTART_GRACE};
use sateen_protocol::{HostId, RunId, RunState, Time};

use super::Driver;
use crate::chronicle::Sample;
use crate::store::chronicle::SavedRow;

/// What is done of all that in one event: rows of hosts, and runs.
const ROWS_AT_ONCE_MAX: usize = 256;
const RUNS_AT_ONCE_MAX: usize = 256;
/// Jobs of trees of runs that are over, or of hosts that are gone.
const JOBS_AT_ONCE_MAX: usize = 2048;

/// How far the rounds are.
#[derive(Debug, Default)]
pub struct Rounds {
    /// Runs that are still to be looked at in this round.
    to_sample: VecDeque<RunId>,
    /// Jobs run so far, of those that were.
    executed: u64,
    /// The row that was saved last.
    saved: Option<(RunId, HostId)>,
}

impl Driver {
    /// Begins a round over all runs.
    pub(super) fn begin_round(&mut self) {
        if self.rounds.to_sample.is_empty() {
            let settling = self.machine.run_ids_over().filter_map(|run| self.machine.run_over(run));
            let settling: u64 = settling.map(|view| view.counts().jobs.executed).sum();
            self.rounds.executed = self.since_start.executed().saturating_add(settling);
            self.rounds.to_sample = self.machine.run_ids().collect();
        }
    }

    /// Does the next part of what is to be done.
    pub(super) fn next_part(&mut self) {
        self.give_up_awaited();
        self.sample_some();
        self.collect_rows(ROWS_AT_ONCE_MAX);
        self.chronicles.proceed(JOBS_AT_ONCE_MAX);
    }

    /// Takes down how some runs go, and how they stand.
    fn sample_some(&mut self) {
        if self.rounds.to_sample.is_empty() {
            return;
        }
        for _ in 0..RUNS_AT_ONCE_MAX {
            let Some(run) = self.rounds.to_sample.pop_front() else { break };
            let Some(view) = self.machine.run(run).filter(|view| !view.state().is_over()) else { continue };
            let counts = view.counts();
            self.rounds.executed = self.rounds.executed.saturating_add(counts.jobs.executed);
            self.record(run, |chronicle| {
                let sample = Sample {
                    t_ms: chronicle.now_ms(),
                    busy: counts.busy,
                    // What hosts that are gone have counted stays, their workers do not.
                    workers: view.workers(),
                    executed: counts.jobs.executed,
                    is_suspended: view.state() == RunState::Suspended,
                };
                chronicle.sample(sample, view.progress(), view.waiting_for.as_deref());
            });
            self.saver.stands(run, view.standing());
        }
        // What hosts have counted while there was no coordinator comes all at once.
        let is_settled = self.clock.now() >= Time(0) + RESTART_GRACE + 2 * COUNTS;
        if self.rounds.to_sample.is_empty() && is_settled {
            self.since_start.sample(self.clock.now(), self.rounds.executed);
        }
    }

    /// Has rows saved that have changed. In a small grid these are all; in a large one they have their turns.
    pub(super) fn collect_rows(&mut self, most: usize) {
        let (run, host) = self.rounds.saved.unwrap_or((RunId(0), HostId(0)));
        let changed = |found: &RunId| self.machine.has_changed(*found);
        // First the rest of the run at which it was left, then the others, and its first hosts at the end.
        let (before, after): (Vec<RunId>, Vec<RunId>) =
            { self.machine.run_ids().chain(self.machine.run_ids_over()) }
                .filter(changed)
                .partition(|found| *found < run);
        let mut left = most;
        for found in after.into_iter().chain(before) {
            let from = (found == run).then_some(host);
            let taken = self.take_rows(found, from, left);
            left -= taken.len();
            if let Some(last) = taken.last() {
                self.rounds.saved = Some((found, *last));
            }
            if left == 0 {
                return;
            }
        }
    }

    /// Has at most `most` rows of a run saved that have changed, the one after `after` first. Gives whose they are.
    fn take_rows(&mut self, run: RunId, after: Option<HostId>, most: usize) -> Vec<HostId> {
        let taken = self.machine.take_changed(run, after, most);
        let save = |(host, row): (HostId, Option<Row>)| {
            let row = row.map(|row| SavedRow { row, name: self.hosts.name_of(host) });
            self.saver.add_row(run, host, row);
            host
        };
        taken.into_iter().map(save).collect()
    }

    /// Something happened to a run's root job, at this host: that is saved at once. If it were forgotten in a restart, jobs
    /// would be begun again, or adopted, although nothing was lost or given back.
    pub(super) fn save_at_once(&mut self, run: RunId, host: HostId) {
        let Some(view) = self.machine.run(run) else { return };
        self.saver.stands(run, view.standing());
        self.take_rows(run, host.0.checked_sub(1).map(HostId), 1);
        self.saver.save_standings_at_once();
    }

    /// All that there is to save of how runs stand, for the end.
    pub(super) fn collect_all(&mut self) {
        let standings: Vec<(RunId, Standing)> = (self.machine.runs())
            .filter(|view| !view.state().is_over())
            .map(|view| (view.run, view.standing()))
            .collect();
        for (run, standing) in standings {
            self.saver.stands(run, standing);
        }
        self.collect_rows(usize::MAX);
        self.chronicles.proceed(usize::MAX);
    }
}
