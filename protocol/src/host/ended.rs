//! Runs that this host has dropped, and their last counts.
//!
//! A runtime counts until it has stopped, which takes a moment after [`Command::Stop`](super::Command::Stop). Then the
//! coordinator is sent the last counts and, for a run that is over, notified that these are final. For a while they are
//! sent again whenever the host opens another link, as they may have been lost with the link before.

use std::collections::VecDeque;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::limits::WORKERS_REPORTED_MAX;
use crate::message::{JobNote, ToCoordinator, WorkerTimes};
use crate::{Counts, RunId, Time};

use super::Host;
use super::reporting::Figures;
use super::run::HostRun;
use super::stage::Stage;

/// Maximum dropped runs whose counts are kept; the oldest are forgotten first.
const ENDED_RUNS_MAX: usize = 32;
/// Time for which they are kept: the coordinator accepts no counts of a run later than this after its end.
const ENDED_KEPT: Duration = Duration::from_secs(10);

/// The counts of a run's runtime when it stopped.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FinalCounts {
    /// The total counts; nothing computes any more.
    pub counts: Counts,
    /// How the workers spent their time in total.
    pub workers: Vec<WorkerTimes>,
    /// This host's own jobs that began or ended since the last report.
    pub jobs: Vec<JobNote>,
    /// How many of these were left out.
    pub jobs_dropped: u64,
}

/// A dropped run.
struct Ended {
    run: RunId,
    until: Time,
    figures: Figures,
    /// The coordinator waits for the counts: the run is not only suspended.
    is_over: bool,
    has_stopped: bool,
}

impl Ended {
    fn of(host_run: &HostRun, run: RunId, is_over: bool, now: Time) -> Self {
        Self {
            run,
            until: now + ENDED_KEPT,
            figures: host_run.reporting.figures().clone(),
            is_over,
            has_stopped: false,
        }
    }
}

/// The dropped runs, the oldest first.
#[derive(Default)]
pub struct EndedRuns(VecDeque<Ended>);

impl EndedRuns {
    /// How many are kept.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the coordinator waits for counts that a runtime has not reported.
    pub fn is_any_stopping(&self) -> bool {
        self.0.iter().any(|ended| ended.is_over && !ended.has_stopped)
    }

    fn of(&mut self, run: RunId) -> Option<&mut Ended> {
        self.0.iter_mut().find(|ended| ended.run == run)
    }

    /// Forgets runs that were given to this host again, or all runs when they count for another host.
    pub fn forget(&mut self, is_forgotten: impl Fn(RunId) -> bool) {
        self.0.retain(|ended| !is_forgotten(ended.run));
    }

    fn keep(&mut self, now: Time, ended: Ended) {
        let run = ended.run;
        self.0.retain(|kept| kept.run != run && now < kept.until);
        if self.0.len() >= ENDED_RUNS_MAX {
            self.0.pop_front();
        }
        self.0.push_back(ended);
    }
}

impl Host {
    /// The runtime has stopped a run, as [`Command::Stop`](super::Command::Stop) asked. `last` are its counts; `None`
    /// if the run had no runtime.
    pub fn handle_stopped(&mut self, now: Time, run: RunId, last: Option<FinalCounts>) {
        self.latest = now;
        if let Some(host_run) = self.runs.get_mut(&run) {
            if let Some(last) = last.filter(|_| host_run.stage == Stage::Unable) {
                host_run.reporting.take_counts(Counts { busy: 0, ..last.counts });
                host_run.reporting.take_activity(now, last.workers, None, (last.jobs, last.jobs_dropped));
            }
            return;
        }
        let Some(ended) = self.ended.of(run) else { return };
        let (mut notes, mut notes_dropped) = (Vec::new(), 0);
        if let Some(mut last) = last {
            last.workers.truncate(WORKERS_REPORTED_MAX);
            ended.figures.stop(last.counts, last.workers);
            (notes, notes_dropped) = (last.jobs, last.jobs_dropped);
        }
        ended.has_stopped = true;
        self.tell_last(run, notes, notes_dropped);
        self.go_on_departing(now);
    }

    /// This host's part of a run is dropped: its runtime stops.
    pub(super) fn keep_last(&mut self, run: RunId, host_run: &HostRun, is_over: bool) {
        let now = self.latest;
        self.ended.keep(now, Ended::of(host_run, run, is_over, now));
    }

    /// A run is over of which this host has no part: it never had one, or has dropped it before.
    pub(super) fn stop_again(&mut self, run: RunId) {
        match self.ended.of(run) {
            Some(ended) => {
                ended.is_over = true;
                if ended.has_stopped {
                    self.tell_last(run, Vec::new(), 0);
                }
            }
            None => self.tell_coordinator(ToCoordinator::Stopped { run }),
        }
    }

    /// A new link is open: messages on the one before may have been lost.
    pub(super) fn tell_last_again(&mut self, now: Time) {
        self.ended.0.retain(|ended| now < ended.until);
        let stopped = self.ended.0.iter().filter(|ended| ended.has_stopped && ended.is_over);
        for run in stopped.map(|ended| ended.run).collect::<Vec<_>>() {
            self.tell_last(run, Vec::new(), 0);
        }
    }

    fn tell_last(&mut self, run: RunId, notes: Vec<JobNote>, notes_dropped: u64) {
        let Some(ended) = self.ended.of(run) else { return };
        let is_over = ended.is_over;
        let messages = super::outputs::in_parts(notes, super::notes::note_bytes);
        let messages: Vec<ToCoordinator> = (messages.into_iter().enumerate())
            .map(|(place, notes)| {
                ended.figures.last_message(run, notes, if place == 0 { notes_dropped } else { 0 })
            })
            .collect();
        messages.into_iter().for_each(|message| self.tell_coordinator(message));
        if is_over {
            self.tell_coordinator(ToCoordinator::Stopped { run });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{RUN, hello, host, said, spec, welcome};
    use super::super::{Notice, Transmit};
    use super::*;
    use crate::HostId;
    use crate::limits::COUNTS;
    use crate::message::ToHost;

    const NOW: Time = Time(0);

    fn last(work_ns: u64) -> Option<FinalCounts> {
        let counts = Counts { work_ns, workers: 1, busy: 1, ..Counts::default() };
        Some(FinalCounts { counts, ..FinalCounts::default() })
    }

    /// The counts that the coordinator is sent, and `None` for each run of which it is notified that it has stopped.
    fn told(host: &mut Host) -> Vec<Option<u64>> {
        let told = said(host).into_iter().filter_map(|transmit| match transmit {
            Transmit::ToCoordinator(ToCoordinator::Counts { counts, .. }) => Some(Some(counts.work_ns)),
            Transmit::ToCoordinator(ToCoordinator::Stopped { .. }) => Some(None),
            _ => None,
        });
        told.collect()
    }

    fn stop(host: &mut Host) {
        host.handle_from_coordinator(NOW, ToHost::StopRun { run: RUN });
    }

    #[test]
    fn the_last_counts_are_sent_when_the_runtime_has_stopped() {
        let mut host = host();
        host.handle_notice(NOW, RUN, Notice::Counts(Box::new(Counts { work_ns: 5, ..Counts::default() })));
        stop(&mut host);
        assert_eq!(told(&mut host), [Some(5)], "it computes still");
        host.handle_stopped(NOW, RUN, last(7));
        assert_eq!(told(&mut host), [Some(7), None]);
        // The coordinator asks again, and also about a run that this host never had.
        stop(&mut host);
        host.handle_from_coordinator(NOW, ToHost::StopRun { run: RunId(99) });
        assert_eq!(told(&mut host), [Some(7), None, None]);
    }

    #[test]
    fn a_host_that_cannot_continue_sends_the_times_of_its_workers_with_its_counts() {
        let mut host = host();
        host.handle_notice(NOW, RUN, Notice::Unable("memory cannot be mapped".to_owned()));
        said(&mut host);
        let workers = vec![WorkerTimes { work_ms: 40, ..WorkerTimes::default() }];
        let counts = Counts { work_ns: 40_000_000, workers: 1, ..Counts::default() };
        host.handle_stopped(NOW, RUN, Some(FinalCounts { counts, workers, ..FinalCounts::default() }));
        host.handle_timeout(NOW + COUNTS);
        let told = said(&mut host).into_iter().find_map(|transmit| match transmit {
            Transmit::ToCoordinator(ToCoordinator::Counts { counts, workers, .. }) => {
                Some((counts.work_ns, workers.iter().map(|times| times.work_ms).sum::<u64>()))
            }
            _ => None,
        });
        assert_eq!(told, Some((40_000_000, 40)));
    }

    #[test]
    fn last_counts_are_sent_again_on_another_link_for_a_while() {
        for (after, is_told) in [(ENDED_KEPT / 2, true), (ENDED_KEPT, false)] {
            let mut host = host();
            stop(&mut host);
            host.handle_disconnected(NOW);
            host.handle_stopped(NOW, RUN, last(7));
            assert_eq!(told(&mut host), [], "nobody hears it");
            hello(&mut host);
            host.handle_from_coordinator(NOW + after, welcome(HostId(10), 5));
            let expected = if is_told { vec![Some(7), None] } else { Vec::new() };
            assert_eq!(told(&mut host), expected, "{after:?}");
        }
    }

    #[test]
    fn the_counts_of_a_run_that_began_again_are_not_mixed_with_earlier_ones() {
        let mut host = host();
        host.handle_from_coordinator(NOW, ToHost::SuspendRun { run: RUN });
        host.handle_notice(NOW, RUN, Notice::Drained);
        assert_eq!(host.ended.len(), 1);
        host.handle_from_coordinator(NOW, ToHost::StartRun { run: RUN, spec: spec().into() });
        told(&mut host);
        host.handle_stopped(NOW, RUN, last(7));
        assert_eq!((told(&mut host), host.ended.len()), (Vec::new(), 0));
        // Without a second start, the counts come late, and are not the last of the run.
        host.handle_from_coordinator(NOW, ToHost::SuspendRun { run: RUN });
        host.handle_stopped(NOW, RUN, last(8));
        assert_eq!(told(&mut host), [Some(8)]);
    }

    #[test]
    fn a_host_does_not_leave_before_it_has_sent_its_last_counts() {
        let leaves = |host: &mut Host| said(host).contains(&Transmit::ToCoordinator(ToCoordinator::Leaving));
        let mut host = host();
        stop(&mut host);
        host.leave(NOW);
        assert!(!leaves(&mut host));
        host.handle_stopped(NOW, RUN, last(7));
        assert!(leaves(&mut host));
    }

    #[test]
    fn only_a_bounded_number_of_dropped_runs_is_remembered() {
        let mut host = host();
        for run in 0..3 * ENDED_RUNS_MAX as u64 {
            let run = RunId(100 + run);
            host.handle_from_coordinator(NOW, ToHost::StartRun { run, spec: spec().into() });
            host.handle_from_coordinator(NOW, ToHost::StopRun { run });
        }
        assert_eq!(host.sizes().ended, ENDED_RUNS_MAX);
        said(&mut host);
        host.handle_stopped(NOW, RunId(100), last(7));
        assert_eq!(told(&mut host), [], "that is long ago");
    }
}
