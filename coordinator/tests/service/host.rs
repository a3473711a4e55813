//! Messages of forged hosts.

use sateen_protocol::message::{LogLine, ToCoordinator};
use sateen_protocol::{JobTag, MainOutcome, Outcome, RunId};

pub use sateen_tests::forged_host::{ForgedHost as Host, hello};

/// A line of a run's log, written by its job 2.
pub fn said(run: RunId) -> ToCoordinator {
    let (function, text) = ("work".to_owned(), "hello".to_owned());
    ToCoordinator::Log { run, lines: vec![LogLine { job: Some(JobTag(2)), function, text }] }
}

pub fn text(result: &str) -> Outcome {
    main_outcome(&MainOutcome::Text(result.to_owned()))
}

pub fn main_outcome(outcome: &MainOutcome) -> Outcome {
    Outcome::Done(postcard::to_allocvec(outcome).expect("encodes").into())
}
