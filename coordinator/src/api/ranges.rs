//! Numbers in queries, and their ranges. Numbers outside are refused: a list shorter than the requested one, say, could
//! be mistaken for the whole.

use sateen_api::limits::RUNS_LISTED_MAX;
use sateen_api::names::quoted;

use super::problem::Problem;
use crate::limits::{HOSTS_LISTED_MAX, TIMELINE_BUCKETS_MAX, WAIT_MAX};

/// Maximum of numbers without a limit of their own: the largest that all JSON parsers can hold.
const NUMBER_MAX: u64 = (1 << 53) - 1;

/// A number in a query.
#[derive(Debug, Clone, Copy)]
pub struct Range {
    /// Its name in the query.
    pub name: &'static str,
    /// The smallest allowed value.
    pub least: u64,
    /// The largest allowed value.
    pub most: u64,
}

/// Maximum runs in an answer.
pub const RUNS_LIMIT: Range = Range::new("limit", 1, RUNS_LISTED_MAX as u64);
/// Maximum hosts in an answer.
pub const HOSTS_LIMIT: Range = Range::new("limit", 1, HOSTS_LISTED_MAX as u64);
/// Maximum lines of the audit log in an answer.
pub const AUDIT_LIMIT: Range = Range::new("limit", 1, 1000);
/// Only runs, or lines, with smaller numbers.
pub const BEFORE: Range = Range::new("before", 1, u32::MAX as u64);
/// A run's number.
pub const RUN: Range = Range::new("run", 1, u32::MAX as u64);
/// The last line of a log that the client knows.
pub const AFTER: Range = Range::new("after", 0, NUMBER_MAX);
/// Only from this moment of a run on.
pub const FROM_MS: Range = Range::new("from_ms", 0, u32::MAX as u64);
/// Only up to this moment.
pub const TO_MS: Range = Range::new("to_ms", 0, u32::MAX as u64);
/// Maximum stretches of a timeline.
pub const BUCKETS: Range = Range::new("buckets", 1, TIMELINE_BUCKETS_MAX as u64);
/// Maximum time for which a request waits.
pub const TIMEOUT_S: Range = Range::new("timeout_s", 0, WAIT_MAX.as_secs());

impl Range {
    const fn new(name: &'static str, least: u64, most: u64) -> Self {
        Self { name, least, most }
    }

    /// A whole number, if one is given.
    pub fn whole(&self, text: Option<&str>) -> Result<Option<u64>, Problem> {
        let is_within = |number: &u64| (self.least..=self.most).contains(number);
        let parse = |text: &str| {
            text.parse().ok().filter(is_within).ok_or_else(|| self.refuse(text, "a whole number"))
        };
        text.map(parse).transpose()
    }

    /// A number, if one is given.
    pub fn number(&self, text: Option<&str>) -> Result<Option<f64>, Problem> {
        let is_within = |number: &f64| (self.least as f64..=self.most as f64).contains(number);
        let parse =
            |text: &str| text.parse().ok().filter(is_within).ok_or_else(|| self.refuse(text, "a number"));
        text.map(parse).transpose()
    }

    fn refuse(&self, text: &str, what: &str) -> Problem {
        let Self { name, least, most } = self;
        Problem::bad_request(format!("{name} is {}; it must be {what} from {least} to {most}", quoted(text)))
    }
}
