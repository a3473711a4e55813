//! Periodic work of the driver for each run, or for each host of a run: a bounded part at a time, since it serves
//! the machine meanwhile.

use std::collections::VecDeque;

use sateen_protocol::coordinator::{Row, Standing};
use sateen_protocol::limits::COUNTS;
use sateen_protocol::{HostId, RunId, RunState, Time};

use super::Driver;
use super::places::Places;
use super::standstills::Standstills;
use super::waits::Reasons;
use crate::chronicle::Sample;
use crate::locked;
use crate::store::chronicle::SavedRow;

/// Maximum rows of hosts, and runs, that one event handles.
const ROWS_AT_ONCE_MAX: usize = 256;
const RUNS_AT_ONCE_MAX: usize = 256;
/// Maximum jobs that are marked as ended, in trees of finished runs or of departed hosts.
const JOBS_AT_ONCE_MAX: usize = 2048;

/// The progress of the rounds.
#[derive(Debug, Default)]
pub struct Rounds {
    /// Runs that are still to be sampled in this round.
    to_sample: VecDeque<RunId>,
    /// Jobs executed since the start, in runs that are over and in those that were sampled.
    executed: u64,
    /// The row that was saved last.
    saved: Option<(RunId, HostId)>,
    /// Something happened that may be why runs wait, since the reasons of all were noted.
    pub may_wait_anew: bool,
    /// Runs whose reasons to wait are still to be noted.
    to_explain: VecDeque<RunId>,
    /// When all hosts from before a restart were back, or given up.
    all_back: Option<Time>,
    /// Since when runs have had their places.
    pub places: Places,
    /// Runs that stand still because hosts do not answer.
    pub standstills: Standstills,
}

impl Rounds {
    /// With these runs from before a restart, which are not suspended.
    pub fn after_restart(runs: impl Iterator<Item = RunId>) -> Self {
        Self { places: Places::restore(runs), ..Self::default() }
    }
}

impl Driver {
    /// Begins a round over all runs.
    pub(super) fn begin_round(&mut self) {
        self.look_at_places();
        if self.rounds.to_sample.is_empty() {
            let settling = self.machine.run_ids_over().filter_map(|run| self.machine.run_over(run));
            let settling = settling.map(|view| self.since_start.of(view.run, &view.counts()).jobs.executed);
            let settling: u64 = settling.sum();
            self.rounds.executed = self.since_start.executed().saturating_add(settling);
            self.rounds.to_sample = self.machine.run_ids().collect();
            if self.rounds.to_sample.is_empty() {
                // Without runs under way, nothing else would say that no more jobs are executed.
                self.sample_all();
            }
        }
    }

    /// Does the next part of the work.
    pub(super) fn next_part(&mut self) {
        self.give_up_awaited();
        self.look_for_returns();
        self.note_waits();
        self.sample_some();
        self.collect_rows(ROWS_AT_ONCE_MAX);
        self.chronicles.proceed(JOBS_AT_ONCE_MAX);
    }

    /// Records why runs wait, if something has happened that may be why: what is answered with a reason says since when.
    fn note_waits(&mut self) {
        if self.rounds.to_explain.is_empty() && std::mem::take(&mut self.rounds.may_wait_anew) {
            self.rounds.to_explain = self.machine.run_ids().collect();
        }
        let reasons = Reasons::default();
        for _ in 0..RUNS_AT_ONCE_MAX {
            let Some(run) = self.rounds.to_explain.pop_front() else { return };
            self.note_wait(run, &reasons);
        }
    }

    /// Whether hosts from before a restart are still to return and to send their counts: those from the time without a
    /// coordinator arrive all at once.
    fn is_settling(&mut self) -> bool {
        if self.hosts.awaits_any() {
            return true;
        }
        let now = self.clock.now();
        now < *self.rounds.all_back.get_or_insert(now) + 2 * COUNTS
    }

    /// Samples the progress and standings of some runs.
    fn sample_some(&mut self) {
        if self.rounds.to_sample.is_empty() {
            return;
        }
        let (is_settling, reasons) = (self.is_settling(), Reasons::default());
        let is_deaf = is_settling || self.hosts.reports.are_late(self.clock.now());
        for _ in 0..RUNS_AT_ONCE_MAX {
            let Some(run) = self.rounds.to_sample.pop_front() else { break };
            let Some(view) = self.machine.run(run).filter(|view| !view.state().is_over()) else { continue };
            let counts = view.counts();
            let executed = self.since_start.of(run, &counts).jobs.executed;
            self.rounds.executed = self.rounds.executed.saturating_add(executed);
            // A host whose process was stopped, say, computes nothing, but is not given up at once.
            let chronicle = self.chronicles.get(run);
            let silent = chronicle.map(|chronicle| self.silent_hosts(&view, &locked(&chronicle), is_deaf));
            let silent = silent.unwrap_or_default();
            self.note_silent(run, &silent);
            let Some(view) = self.machine.run(run) else { continue };
            let reason = self.reason(&view, &reasons);
            self.record(run, |chronicle| {
                let is_suspended = view.state() == RunState::Suspended;
                // Of more workers than are followed, those that computed when they last reported.
                let checking = view.busy_with_checks() as f32;
                let busy = chronicle.busy().map(|busy| busy + checking);
                let busy = busy.unwrap_or_else(|| counts.busy.saturating_sub(silent.busy) as f32);
                // The counts of departed hosts stay, their workers do not.
                let workers = view.workers();
                let sample = Sample {
                    t_ms: chronicle.now_ms(),
                    busy: if is_suspended { 0.0 } else { busy.min(workers as f32) },
                    checking: if is_suspended { 0.0 } else { checking.min(workers as f32) },
                    workers,
                    executed: counts.jobs.executed,
                    is_suspended,
                    is_settling,
                };
                chronicle.sample(sample, view.progress(), reason.as_deref());
                chronicle.forecast(counts.work_ns, view.ahead_ns());
            });
            self.saver.stands(run, view.standing());
        }
        if self.rounds.to_sample.is_empty() {
            self.sample_all();
        }
    }

    /// Samples the jobs of all runs, at the end of a round.
    fn sample_all(&mut self) {
        if !self.is_settling() {
            self.since_start.sample(self.clock.now(), self.rounds.executed);
        }
    }

    /// Saves rows that have changed. In a small grid these are all; in a large one they take turns.
    pub(super) fn collect_rows(&mut self, most: usize) {
        let (run, host) = self.rounds.saved.unwrap_or((RunId(0), HostId(0)));
        let changed = |found: &RunId| self.machine.has_changed(*found);
        // First the rest of the run at which the last part stopped, then the others, and its first hosts at the end.
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

    /// Saves at most `most` changed rows of a run, the one after `after` first. Returns their hosts.
    fn take_rows(&mut self, run: RunId, after: Option<HostId>, most: usize) -> Vec<HostId> {
        let taken = self.machine.take_changed(run, after, most);
        let save = |(host, row): (HostId, Option<Row>)| {
            let row = row.map(|row| SavedRow { row, name: self.hosts.name_of(host) });
            self.saver.add_row(run, host, row);
            host
        };
        taken.into_iter().map(save).collect()
    }

    /// Something happened to a run's root job, at this host: that is saved at once. If a restart forgot it, jobs
    /// would be begun again, or adopted, although none was lost or given back.
    pub(super) fn save_at_once(&mut self, run: RunId, host: HostId) {
        let Some(view) = self.machine.run(run) else { return };
        self.saver.stands(run, view.standing());
        self.take_rows(run, host.0.checked_sub(1).map(HostId), 1);
        self.saver.save_standings_at_once();
    }

    /// The standings of all runs, for the end.
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
