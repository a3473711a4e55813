//! Outcomes of jobs, and those of root jobs decoded, to show them to people.

use serde::{Deserialize, Serialize};

use crate::Bytes;
use crate::limits::REASON_BYTES_MAX;

/// A job's result or failure. Exceeding a limit is not an outcome: another host may allow more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// Its encoded result.
    Done(Bytes),
    /// It panicked or trapped: the encoded failure, which its parent's sync receives.
    Failed(Bytes),
}

impl Outcome {
    /// The encoded result or failure.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Done(bytes) | Self::Failed(bytes) => bytes,
        }
    }
}

/// An outcome, and the time that the job took with all its descendants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finished {
    /// The job's result or failure.
    pub outcome: Outcome,
    /// Processor time of the job and its descendants, in nanoseconds.
    pub work_ns: u64,
    /// Its critical path, in nanoseconds.
    pub span_ns: u64,
}

/// The result of an entry point, as the guest encodes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum MainOutcome {
    /// Text for people.
    Text(String),
    /// Bytes.
    Bytes(#[serde(with = "crate::bytes")] Vec<u8>),
    /// The app returned an error.
    Failed(String),
    /// The app cannot use the input or arguments that the user gave.
    BadInput(String),
}

/// A job that panicked or trapped, as hosts encode it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobFailure {
    /// The innermost job on the guest's stack.
    pub job: String,
    /// The panic's message and place, or the trap.
    pub message: String,
    /// The guest's stack, innermost frame first.
    pub backtrace: Vec<String>,
}

impl JobFailure {
    /// The failure as it may be sent: texts that are too long are cut, and the outermost frames are left out.
    #[must_use]
    pub fn shortened(mut self) -> Self {
        for text in [&mut self.job, &mut self.message] {
            text.truncate(text.floor_char_boundary(REASON_BYTES_MAX));
        }
        let mut bytes = 0;
        let fits = |frame: &String| {
            bytes += frame.len();
            bytes <= REASON_BYTES_MAX
        };
        self.backtrace = self.backtrace.into_iter().take_while(fits).collect();
        self
    }
}

/// A root job's outcome, decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RootOutcome {
    /// Its entry point returned.
    Main(MainOutcome),
    /// It panicked or trapped.
    Job(JobFailure),
    /// The bytes are neither: the app encodes its output in its own way.
    Unreadable,
}

impl RootOutcome {
    /// Decodes a root job's outcome.
    pub fn of(finished: &Finished) -> Self {
        match &finished.outcome {
            Outcome::Done(bytes) => read(bytes).map_or(Self::Unreadable, Self::Main),
            Outcome::Failed(bytes) => read(bytes).map_or(Self::Unreadable, Self::Job),
        }
    }
}

/// Whether a root job's outcome is a result. It may be large, so it is checked and not copied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It is one.
    Result,
    /// The app returned this error.
    Failed(String),
    /// The app cannot use the input or arguments that the user gave.
    BadInput(String),
    /// It panicked or trapped.
    Job(JobFailure),
    /// The bytes are none of these.
    Unreadable,
}

/// A [`MainOutcome`] in the bytes that encode it.
#[derive(Deserialize)]
enum Borrowed<'a> {
    Text(#[expect(dead_code, reason = "decoding checks that it is UTF-8")] &'a str),
    Bytes(#[expect(dead_code, reason = "decoding checks its length")] &'a [u8]),
    Failed(&'a str),
    BadInput(&'a str),
}

impl Verdict {
    /// Judges a root job's outcome.
    pub fn of(finished: &Finished) -> Self {
        match &finished.outcome {
            Outcome::Done(bytes) => match read(bytes) {
                Some(Borrowed::Text(_) | Borrowed::Bytes(_)) => Self::Result,
                Some(Borrowed::Failed(why)) => Self::Failed(why.to_owned()),
                Some(Borrowed::BadInput(why)) => Self::BadInput(why.to_owned()),
                None => Self::Unreadable,
            },
            Outcome::Failed(bytes) => read(bytes).map_or(Self::Unreadable, Self::Job),
        }
    }
}

/// Decodes `bytes` as a `T`; `None` if they are not one, or if bytes are left over.
fn read<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Option<T> {
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Some(value),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finished(outcome: Outcome) -> Finished {
        Finished { outcome, work_ns: 1, span_ns: 1 }
    }

    #[test]
    fn a_failure_of_any_length_is_shortened_to_what_may_be_sent() {
        let frame = || "f".repeat(REASON_BYTES_MAX / 2);
        let long = "é".repeat(REASON_BYTES_MAX);
        let failure =
            JobFailure { job: long.clone(), message: long, backtrace: vec![frame(), frame(), frame()] };
        let JobFailure { job, message, backtrace } = failure.shortened();
        assert_eq!((job.len(), message.len(), backtrace.len()), (REASON_BYTES_MAX, REASON_BYTES_MAX, 2));
    }

    #[test]
    fn the_guests_encoding_of_an_outcome_is_decoded() {
        let text = finished(Outcome::Done(vec![0, 2, b'4', b'2'].into()));
        assert_eq!(RootOutcome::of(&text), RootOutcome::Main(MainOutcome::Text("42".to_owned())));
        let bytes = finished(Outcome::Done(vec![1, 2, 0, 255].into()));
        assert_eq!(RootOutcome::of(&bytes), RootOutcome::Main(MainOutcome::Bytes(vec![0, 255])));
        let failure = JobFailure { job: "f".to_owned(), message: "no".to_owned(), backtrace: vec![] };
        let failed = finished(Outcome::Failed(postcard::to_allocvec(&failure).expect("encodes").into()));
        assert_eq!(RootOutcome::of(&failed), RootOutcome::Job(failure));
    }

    #[test]
    fn foreign_bytes_are_unreadable() {
        for bytes in [&[][..], &[9, 0], &[0, 5, b'x'], &[0, 1, b'x', b'y'], &[0, 1, 0xff]] {
            let finished = finished(Outcome::Done(bytes.into()));
            assert_eq!(RootOutcome::of(&finished), RootOutcome::Unreadable);
            assert_eq!(Verdict::of(&finished), Verdict::Unreadable);
        }
    }

    #[test]
    fn a_verdict_is_that_of_the_decoded_outcome() {
        let text = || "why".to_owned();
        for (outcome, verdict) in [
            (MainOutcome::Text(text()), Verdict::Result),
            (MainOutcome::Bytes(vec![0, 255]), Verdict::Result),
            (MainOutcome::Failed(text()), Verdict::Failed(text())),
            (MainOutcome::BadInput(text()), Verdict::BadInput(text())),
        ] {
            let encoded = postcard::to_allocvec(&outcome).expect("encodes");
            assert_eq!(Verdict::of(&finished(Outcome::Done(encoded.into()))), verdict);
        }
        let failure = JobFailure { job: "f".to_owned(), message: text(), backtrace: vec![] };
        let encoded = postcard::to_allocvec(&failure).expect("encodes");
        assert_eq!(Verdict::of(&finished(Outcome::Failed(encoded.into()))), Verdict::Job(failure));
    }
}
