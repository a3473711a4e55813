//! How a run's end is shown.

use sateen_protocol::{Counts, JobFailure, MainOutcome, Outcome, RootOutcome, RunEnd, RunState};

use crate::api::types::{Figures, RunFailure, seconds};

/// The state of a run that ended like this, and why it has no result.
pub fn judge(end: &RunEnd) -> (RunState, Option<RunFailure>) {
    let failure = |kind: &str, message: &str| {
        let message = message.to_owned();
        (
            RunState::Failed,
            Some(RunFailure { kind: kind.to_owned(), message, job: None, backtrace: Vec::new() }),
        )
    };
    match end {
        RunEnd::Cancelled => (RunState::Cancelled, None),
        RunEnd::Limit(reason) => failure("limit", reason),
        RunEnd::Unable(reason) => failure("unable", reason),
        RunEnd::Failed(job) => of_job(job.clone()),
        RunEnd::Finished(finished) => match RootOutcome::of(finished) {
            RootOutcome::Main(MainOutcome::Text(_) | MainOutcome::Bytes(_)) => (RunState::Done, None),
            RootOutcome::Main(MainOutcome::Failed(message)) => failure("app", &message),
            RootOutcome::Main(MainOutcome::BadInput(message)) => failure("input", &message),
            RootOutcome::Job(job) => of_job(job),
            RootOutcome::Unreadable => match finished.outcome {
                Outcome::Done(_) => failure(
                    "app",
                    "its output is not encoded as the ABI wants; was it built with another version of the SDK?",
                ),
                Outcome::Failed(_) => failure("job", "a job failed, and why cannot be read"),
            },
        },
    }
}

fn of_job(JobFailure { job, message, backtrace }: JobFailure) -> (RunState, Option<RunFailure>) {
    (RunState::Failed, Some(RunFailure { kind: "job".to_owned(), message, job: Some(job), backtrace }))
}

/// Processor time of a run that nobody used, in seconds, as far as that is known.
pub fn lost_work_s(counts: &Counts, end: &RunEnd) -> Option<f64> {
    let RunEnd::Finished(finished) = end else { return None };
    let answer_s = seconds(finished.work_ns);
    Some(seconds(counts.work_ns).max(answer_s) - answer_s)
}

/// The figures of a run that is over.
pub fn close(mut figures: Figures, end: &RunEnd, failure: Option<RunFailure>) -> Figures {
    if let RunEnd::Finished(finished) = end {
        figures.span_s = Some(seconds(finished.span_ns));
        let answer_s = seconds(finished.work_ns);
        figures.answer_work_s = Some(answer_s);
        // A host may have told its last result and not its last counts.
        figures.work_s = figures.work_s.max(answer_s);
        figures.lost_work_s = Some(figures.work_s - answer_s);
    }
    for host in &mut figures.by_host {
        host.busy = 0;
    }
    figures.error = failure;
    figures
}

#[cfg(test)]
mod tests {
    use super::*;
    use sateen_protocol::Finished;

    fn ended(outcome: Outcome) -> (RunState, Option<String>) {
        let (state, failure) = judge(&RunEnd::Finished(Finished { outcome, work_ns: 1, span_ns: 1 }));
        (state, failure.map(|failure| format!("{}: {}", failure.kind, failure.message)))
    }

    fn encoded(value: &impl serde::Serialize) -> Vec<u8> {
        postcard::to_allocvec(value).expect("encodes")
    }

    #[test]
    fn an_app_that_returns_an_error_has_failed() {
        assert_eq!(ended(Outcome::Done(encoded(&MainOutcome::Text("1".to_owned())))), (RunState::Done, None));
        let failed = encoded(&MainOutcome::Failed("no".to_owned()));
        assert_eq!(ended(Outcome::Done(failed)), (RunState::Failed, Some("app: no".to_owned())));
        let bad = encoded(&MainOutcome::BadInput("what".to_owned()));
        assert_eq!(ended(Outcome::Done(bad)), (RunState::Failed, Some("input: what".to_owned())));
        let job = JobFailure { job: "f".to_owned(), message: "trap".to_owned(), backtrace: vec![] };
        assert_eq!(ended(Outcome::Failed(encoded(&job))), (RunState::Failed, Some("job: trap".to_owned())));
        assert_eq!(ended(Outcome::Done(vec![9])).0, RunState::Failed);
    }
}
