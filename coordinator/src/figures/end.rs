//! How a run's end is shown.

use sateen_protocol::{JobFailure, Outcome, RunEnd, RunState, Verdict};

use super::{Counted, FailureKind, Figures, RunFailure, Times, Untold};
use crate::clock::seconds;

/// The state in a sentence about the run.
pub fn predicate(state: RunState) -> &'static str {
    match state {
        RunState::Queued => "is queued",
        RunState::Running => "is running",
        RunState::Suspending => "is being suspended",
        RunState::Suspended => "is suspended",
        RunState::Done => "is done",
        RunState::Failed => "has failed",
        RunState::Cancelled => "was cancelled",
    }
}

/// The state of a run that ended like this, and the reason if it has no result.
pub fn judge(end: &RunEnd) -> (RunState, Option<RunFailure>) {
    let failure = |kind: FailureKind, message: &str| {
        let message = message.to_owned();
        (RunState::Failed, Some(RunFailure { kind, message, job: None, backtrace: Vec::new() }))
    };
    match end {
        RunEnd::Cancelled => (RunState::Cancelled, None),
        RunEnd::Limit(reason) => failure(FailureKind::Limit, reason),
        RunEnd::Unable(reason) => failure(FailureKind::Unable, reason),
        RunEnd::Unverified(reason) => failure(FailureKind::Unverified, reason),
        RunEnd::Failed(job) => of_job(job.clone()),
        RunEnd::Finished(finished) => match Verdict::of(finished) {
            Verdict::Result => (RunState::Done, None),
            Verdict::Failed(message) => failure(FailureKind::App, &message),
            Verdict::BadInput(message) => failure(FailureKind::Input, &message),
            Verdict::Job(job) => of_job(job),
            Verdict::Unreadable => match finished.outcome {
                Outcome::Done(_) => failure(
                    FailureKind::App,
                    "the module breaks the ABI: its outcome cannot be read; was it built with another version of the SDK?",
                ),
                Outcome::Failed(_) => {
                    failure(FailureKind::Job, "a job failed, and the reason cannot be decoded")
                }
            },
        },
    }
}

/// How a run ended, in a sentence.
pub fn sentence(state: RunState, failure: Option<&RunFailure>) -> String {
    let Some(RunFailure { kind, message, .. }) = failure else {
        return format!("the run {}", predicate(state));
    };
    // Messages of apps stay as they are.
    let of_run = message.strip_prefix("the run").filter(|_| *kind == FailureKind::Limit);
    let why = match of_run.map(|rest| (rest.strip_prefix(' '), rest.strip_prefix("'s "))) {
        Some((Some(predicate), _)) => format!("it {predicate}"),
        Some((None, Some(owned))) => format!("its {owned}"),
        _ => message.clone(),
    };
    format!("the run has failed: {why}")
}

/// Why a run that was cancelled has no result.
pub fn cancelled() -> RunFailure {
    let message = format!("the run {}", predicate(RunState::Cancelled));
    RunFailure { kind: FailureKind::Cancelled, message, job: None, backtrace: Vec::new() }
}

fn of_job(JobFailure { job, message, backtrace }: JobFailure) -> (RunState, Option<RunFailure>) {
    (RunState::Failed, Some(RunFailure { kind: FailureKind::Job, message, job: Some(job), backtrace }))
}

/// Maximum difference from reading clocks at different moments, in seconds and as a part of all work: a clock is read
/// whenever a job waits or ends.
const APART_S: f64 = 1e-3;
const APART_PART: f64 = 1e-3;
/// Maximum unreported work of a worker that crashed, or whose counts are not final.
const UNTOLD_S: f64 = 1.0;

/// The least excess of work done again over lost work that shared results explain, in seconds and as a part of all work:
/// a job that is begun again takes a little longer until it has come as far as before.
const SHARED_S_MIN: f64 = 0.1;
const SHARED_PART_MIN: f64 = 0.03;

/// Processor time of a run that contributed to its result, and that did not, in seconds. A result that was used repeatedly
/// counts its work with each use, so the answer may account for more work than was ever done, or than is left without the
/// work done again; then both are unknown. `earlier_s` of what the answer accounts for was done by earlier runs, and `untold_s` of the
/// work may be unreported.
fn accounts(times: &Times, earlier_s: f64, untold_s: f64, end: &RunEnd) -> (Option<f64>, Option<f64>) {
    let work_s = times.work_s;
    let RunEnd::Finished(finished) = end else { return (None, Some(work_s)) };
    if judge(end).0 != RunState::Done {
        return (None, Some(work_s));
    }
    let answer_s = (seconds(finished.work_ns) - earlier_s).max(0.0);
    let excess_s = answer_s + times.redone_work_s - work_s - untold_s;
    // Results that were used explain no more than their work.
    let is_shared = excess_s > SHARED_S_MIN.max(SHARED_PART_MIN * work_s) && excess_s <= times.saved_work_s;
    if answer_s <= work_s + untold_s && !is_shared {
        (Some(answer_s.min(work_s)), Some((work_s - answer_s).max(0.0)))
    } else {
        (None, None)
    }
}

/// Computes the figures of a run that is over: with the workers of all hosts that took part, and what hosts that were away
/// at its end have counted and not reported. If that may be more than a moment's work, it is not known what is lost.
pub fn close(
    mut figures: Figures,
    (workers, untold): (u32, Untold),
    end: &RunEnd,
    failure: Option<RunFailure>,
) -> Figures {
    let has_lost = figures.jobs.of_hosts.lost > 0 || figures.root_losses > 0;
    let is_all_told = figures.counted == Counted::Final && !has_lost;
    let apart_s = APART_S.max(APART_PART * figures.times.work_s);
    let untold_s = if is_all_told { apart_s } else { UNTOLD_S * f64::from(workers.max(1)) };
    let (times, earlier) = (&mut figures.times, figures.earlier);
    (times.answer_work_s, times.lost_work_s) = match (judge(end).0, untold) {
        (RunState::Done, Untold::SinceSaved) => (None, None),
        // A result that was used by a job that was lost counts again when the job is run again.
        (RunState::Done, _) if has_lost && earlier.jobs > 0 => (None, None),
        _ => accounts(times, earlier.work_s, untold_s, end),
    };
    if let (RunEnd::Finished(finished), Some(answer_s), 0) = (end, times.answer_work_s, earlier.jobs) {
        // The chain includes the work behind reused results, too, and its end is read a moment after the work.
        times.span_s = Some(seconds(finished.span_ns).min(answer_s));
    }
    for host in &mut figures.by_host {
        host.busy = Some(0);
    }
    figures.error = failure;
    figures
}

#[cfg(test)]
mod tests {
    use super::*;
    use sateen_protocol::{Finished, MainOutcome};

    #[test]
    fn the_work_behind_a_result_is_no_more_than_was_done_or_is_unknown() {
        let worked = || Figures {
            times: Times { work_s: 2.0, ..Times::default() },
            counted: Counted::Final,
            ..Figures::default()
        };
        let finished = |work_ms: u64, result: &MainOutcome| {
            let outcome = Outcome::Done(encoded(result).into());
            let (work_ns, span_ns) = (work_ms * 1_000_000, 400_000_000);
            let end = RunEnd::Finished(Finished { outcome, work_ns, span_ns });
            close(worked(), (1, Untold::LastMoment), &end, None)
        };
        let right = MainOutcome::Text("1".to_owned());
        let figures = finished(1500, &right);
        let of = |Figures { times, .. }: &Figures| {
            (times.work_s, times.answer_work_s, times.lost_work_s, times.span_s)
        };
        assert_eq!(of(&figures), (2.0, Some(1.5), Some(0.5), Some(0.4)));
        assert_eq!(of(&finished(2002, &right)), (2.0, Some(2.0), Some(0.0), Some(0.4)));
        // Results that were used repeatedly account for more work.
        assert_eq!(of(&finished(5_139_000, &right)), (2.0, None, None, None));
        // Work that was done again was lost before. If the answer leaves no room for that, equal jobs share results in it,
        // but only as much as was used again.
        for (redone_work_s, saved_work_s, lost_s) in
            [(0.4, 3.0, Some(0.5)), (0.53, 3.0, Some(0.5)), (0.8, 3.0, None), (0.8, 0.1, Some(0.5))]
        {
            let times = Times { redone_work_s, saved_work_s, ..worked().times };
            let outcome = Outcome::Done(encoded(&right).into());
            let finished = Finished { outcome, work_ns: 1_500_000_000, span_ns: 1 };
            let figures =
                close(Figures { times, ..worked() }, (1, Untold::Nothing), &RunEnd::Finished(finished), None);
            assert_eq!(figures.times.lost_work_s, lost_s, "{redone_work_s} {saved_work_s}");
        }
        // Without a result, no work is behind it.
        assert_eq!(of(&finished(1500, &MainOutcome::Failed("no".to_owned()))), (2.0, None, Some(2.0), None));
        let cancelled = close(worked(), (1, Untold::SinceSaved), &RunEnd::Cancelled, None);
        assert_eq!(of(&cancelled), (2.0, None, Some(2.0), None));
        // What hosts counted before they were lost with the coordinator may be much.
        let outcome = Outcome::Done(encoded(&right).into());
        let end = RunEnd::Finished(Finished { outcome, work_ns: 1_500_000_000, span_ns: 1 });
        let unknown = close(worked(), (1, Untold::SinceSaved), &end, None);
        assert_eq!(of(&unknown), (2.0, None, None, None));
    }

    /// It said "the run has failed: the run was under way for longer than its limit".
    #[test]
    fn the_sentence_of_an_end_names_the_run_once() {
        let of = |end: RunEnd| {
            let (state, failure) = judge(&end);
            sentence(state, failure.as_ref())
        };
        let limit = |reason: &str| of(RunEnd::Limit(reason.to_owned()));
        assert_eq!(limit("the run was under way for 9 s"), "the run has failed: it was under way for 9 s");
        assert_eq!(limit("the run's jobs computed"), "the run has failed: its jobs computed");
        assert_eq!(limit("no more memory"), "the run has failed: no more memory");
        assert_eq!(of(RunEnd::Cancelled), "the run was cancelled");
        let outcome = Outcome::Done(encoded(&MainOutcome::Failed("the run was odd".to_owned())).into());
        let of_app = of(RunEnd::Finished(Finished { outcome, work_ns: 1, span_ns: 1 }));
        assert_eq!(of_app, "the run has failed: the run was odd");
    }

    fn ended(outcome: Outcome) -> (RunState, Option<String>) {
        let (state, failure) = judge(&RunEnd::Finished(Finished { outcome, work_ns: 1, span_ns: 1 }));
        (state, failure.map(|failure| format!("{}: {}", failure.kind.word(), failure.message)))
    }

    fn encoded(value: &impl serde::Serialize) -> Vec<u8> {
        postcard::to_allocvec(value).expect("encodes")
    }

    #[test]
    fn an_app_that_returns_an_error_has_failed() {
        assert_eq!(
            ended(Outcome::Done(encoded(&MainOutcome::Text("1".to_owned())).into())),
            (RunState::Done, None)
        );
        let failed = encoded(&MainOutcome::Failed("no".to_owned()));
        assert_eq!(ended(Outcome::Done(failed.into())), (RunState::Failed, Some("app: no".to_owned())));
        let bad = encoded(&MainOutcome::BadInput("what".to_owned()));
        assert_eq!(ended(Outcome::Done(bad.into())), (RunState::Failed, Some("input: what".to_owned())));
        let job = JobFailure { job: "f".to_owned(), message: "trap".to_owned(), backtrace: vec![] };
        assert_eq!(
            ended(Outcome::Failed(encoded(&job).into())),
            (RunState::Failed, Some("job: trap".to_owned()))
        );
        assert_eq!(ended(Outcome::Done(vec![9].into())).0, RunState::Failed);
    }
}
