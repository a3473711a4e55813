//! A run, from what is saved of it and what the driver knows.

use sateen_api::{AppOfRun, Run, RunTerms};
use sateen_protocol::{HostId, RunId, RunState};

use super::row;
use crate::api::{Api, Problem};
use crate::chronicle::{Course, Waits};
use crate::clock::{unix_ms, written};
use crate::driver::{Live, Request};
use crate::figures::end::cancelled;
use crate::figures::{Figures, Progress};
use crate::store::sql::RunRow;
use crate::token::TokenId;

/// A run, read once from store and driver.
#[derive(Debug)]
pub struct Known {
    /// The saved row, except for the parts that are here.
    row: RunRow,
    state: RunState,
    waits: Option<Waits>,
    /// The part of each of its hosts that it is due.
    share: Option<f64>,
    /// Of when this is, in milliseconds since 1970.
    at_ms: u64,
    /// Its figures, so far or final.
    pub figures: Figures,
}

impl Known {
    /// The saved row, and what the driver knows.
    pub fn of(mut row: RunRow, live: Option<Live>) -> Self {
        // The run may have ended since the driver was asked, at a moment between then and now.
        let at_ms = live.as_ref().map_or_else(unix_ms, |live| live.at_ms);
        let share = live.as_ref().filter(|_| !row.state.is_over()).and_then(|live| live.share);
        let (state, waits, figures) = match (live, row.figures.take()) {
            (Some(live), _) if !row.state.is_over() => (live.state, live.waits, live.figures),
            (_, Some(figures)) => (row.state, None, figures),
            // Hosts have not said what they counted last.
            (live, None) => (row.state, None, live.map(|live| live.figures).unwrap_or_default()),
        };
        let figures = match figures.error {
            None if state == RunState::Cancelled => Figures { error: Some(cancelled()), ..figures },
            _ => figures,
        };
        Self { row, state, waits, share, at_ms, figures }
    }

    /// Finds an existing run.
    pub async fn find(api: &Api, run: RunId) -> Result<Self, Problem> {
        loop {
            // First the driver, then the store: what ends in between is found over.
            let live = api.driver.ask(|reply| Request::Run(run, reply)).await?;
            let row = row(api, run).await?;
            // A second time it cannot be.
            if !is_between(&row, live.as_ref()) {
                let mut known = Self::of(row, live);
                if known.is_over() {
                    note_presence(&mut known.figures, |host| api.driver.is_there(host));
                }
                return Ok(known);
            }
        }
    }

    /// The saved row; its figures are elsewhere.
    pub fn row(&self) -> &RunRow {
        &self.row
    }

    /// Whether it is over, in the shown state.
    pub fn is_over(&self) -> bool {
        self.state.is_over()
    }

    /// Its progress.
    pub fn course(&self) -> Course<'_> {
        let elapsed_s = self.elapsed_ms().map(|elapsed_ms| elapsed_ms as f64 / 1e3);
        Course { is_over: self.is_over(), waits: self.waits.as_ref(), elapsed_s, figures: &self.figures }
    }

    /// For how long it has been under way, or was; none if it has not started.
    fn elapsed_ms(&self) -> Option<u64> {
        let until_ms = self.row.ended_at_ms.unwrap_or(self.at_ms);
        self.row.started_at_ms.map(|started_ms| until_ms.saturating_sub(started_ms))
    }

    /// The run in the API's type, without what slows it down. `name_of` returns a token's name.
    pub fn shown(self, name_of: impl FnOnce(TokenId) -> Option<String>) -> Run {
        let elapsed_ms = self.elapsed_ms();
        let Self { row, state, waits, share, at_ms, figures } = self;
        let until_ms = row.ended_at_ms.unwrap_or(at_ms);
        let is_queued = row.started_at_ms.is_none() && row.ended_at_ms.is_none();
        let elapsed_ms = elapsed_ms.or(is_queued.then_some(0));
        let queued_ms = is_queued.then(|| until_ms.saturating_sub(row.submitted_at_ms));
        Run {
            run: row.run.0,
            app: AppOfRun { hash: row.spec.app.to_string(), name: row.app_name },
            function: row.spec.function,
            arguments: row.spec.arguments,
            state: state.word().to_owned(),
            waiting_for: waits.map(|waits| waits.why),
            submitted_at: written(row.submitted_at_ms),
            started_at: row.started_at_ms.map(written),
            ended_at: row.ended_at_ms.map(written),
            elapsed_s: elapsed_ms.map(|elapsed_ms| elapsed_ms as f64 / 1e3),
            queued_s: queued_ms.map(|queued_ms| queued_ms as f64 / 1e3),
            terms: RunTerms {
                submitter: row.owner.and_then(name_of),
                trust: row.spec.trust.to_string(),
                priority: row.spec.share.priority.to_string(),
                reuse: row.spec.reuse,
                share,
            },
            inputs: Some(row.spec.inputs.into_iter().map(|(name, hash)| (name, hash.to_string())).collect()),
            held_up_by: None,
            figures: sateen_api::Figures {
                progress: figures.progress.map(|progress| progress_in(state, progress).into()),
                earlier: row.spec.reuse.then(|| figures.earlier.into()),
                ..figures.into()
            },
        }
    }
}

/// The progress of a run in this state: one that is done has done all, though the last report may be from before its last step.
fn progress_in(state: RunState, Progress { done, total }: Progress) -> Progress {
    Progress { done: if state == RunState::Done { done.max(total) } else { done }, total }
}

/// Which hosts of a run that is over are in the grid now: its figures say which were when they were worked out.
fn note_presence(figures: &mut Figures, is_there: impl Fn(HostId) -> bool) {
    figures.by_host.iter_mut().for_each(|row| row.is_there = is_there(row.host));
}

/// Whether the end of a run was saved after the driver was asked: how it ended is the driver's to say, or is saved by now.
pub fn is_between(row: &RunRow, live: Option<&Live>) -> bool {
    row.state.is_over() && row.figures.is_none() && live.is_some_and(|live| !live.is_over)
}

#[cfg(test)]
mod tests {
    use sateen_protocol::{BlobHash, RunSpec};

    use super::*;
    use crate::figures::HostFigures;

    #[test]
    fn hosts_of_a_run_that_is_over_leave_the_grid_and_return() {
        let there = |host, is_there| HostFigures { is_there, ..HostFigures::of(HostId(host)) };
        let mut figures = Figures { by_host: vec![there(1, true), there(2, false)], ..Figures::default() };
        note_presence(&mut figures, |host| host == HostId(2));
        assert_eq!(figures.by_host.iter().map(|row| row.is_there).collect::<Vec<_>>(), [false, true]);
    }

    #[test]
    fn a_cancelled_run_says_why_it_has_no_result() {
        let spec = RunSpec::new(BlobHash([7; 32]));
        let row = |state| RunRow {
            run: RunId(1),
            app_name: "app".to_owned(),
            spec: spec.clone(),
            state,
            submitted_at_ms: 1,
            started_at_ms: None,
            ended_at_ms: Some(2),
            submitter: None,
            owner: None,
            figures: Some(Figures::default()),
        };
        let error = |state| Known::of(row(state), None).shown(|_| None).figures.error;
        let cancelled = error(RunState::Cancelled).map(|error| (error.kind, error.message));
        assert_eq!(cancelled, Some(("cancelled".to_owned(), "the run was cancelled".to_owned())));
        assert!(error(RunState::Done).is_none());
    }

    /// While its end was being saved, it was under way for longer than it had been in the end.
    #[test]
    fn a_run_is_under_way_until_the_driver_says_and_no_longer() {
        let row = RunRow {
            run: RunId(1),
            app_name: "app".to_owned(),
            spec: RunSpec::new(BlobHash([7; 32])),
            state: RunState::Running,
            submitted_at_ms: 1_000,
            started_at_ms: Some(1_500),
            ended_at_ms: None,
            submitter: None,
            owner: None,
            figures: None,
        };
        let (run, state, figures) = (row.run, RunState::Running, Figures::default());
        let live = Live { run, state, waits: None, share: None, figures, is_over: true, at_ms: 68_595 };
        assert_eq!(Known::of(row, Some(live)).shown(|_| None).elapsed_s, Some(67.095));
    }

    #[test]
    fn a_run_that_is_done_has_done_all() {
        let done = |state, done, total| progress_in(state, Progress { done, total }).done;
        assert_eq!(done(RunState::Done, 9, 10), 10);
        assert_eq!(done(RunState::Done, 9, 0), 9, "the total is not known");
        assert_eq!((done(RunState::Running, 9, 10), done(RunState::Failed, 9, 10)), (9, 9));
    }
}
