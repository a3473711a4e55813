//! The newest lines of an app's log.

use std::collections::VecDeque;

use sateen_protocol::message::LogLine;
use sateen_protocol::{HostId, JobTag};
use serde::{Deserialize, Serialize};

use crate::limits::{LOG_BYTES_MAX, LOG_LINES_MAX};
use crate::saved_id;

/// A line. Saved as a sequence of its fields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// Counts from 1.
    pub number: u64,
    /// The host that wrote it.
    #[serde(with = "saved_id")]
    pub host: HostId,
    /// The name of the job that wrote it.
    pub job: String,
    /// That job, if its host reported it.
    #[serde(with = "saved_id::option")]
    pub tag: Option<JobTag>,
    /// Its text.
    pub text: String,
}

/// The lines after one of them.
#[derive(Debug, Clone)]
pub struct LinesAfter {
    /// The lines that are kept.
    pub lines: Vec<Line>,
    /// The number of lines that are no longer kept.
    pub dropped: u64,
}

/// The lines.
#[derive(Debug, Default)]
pub struct Lines {
    lines: VecDeque<Line>,
    bytes: usize,
    last: u64,
}

impl Lines {
    /// Restores saved lines.
    pub fn restore(lines: Vec<Line>, last: u64) -> Self {
        let newest = lines.last().map_or(0, |line| line.number);
        Self {
            bytes: lines.iter().map(|line| line.job.len() + line.text.len()).sum(),
            lines: lines.into(),
            last: last.max(newest),
        }
    }

    /// Adds lines.
    pub fn add(&mut self, host: HostId, lines: Vec<LogLine>) {
        for LogLine { job, function, text } in lines {
            self.last += 1;
            self.bytes += function.len() + text.len();
            self.lines.push_back(Line { number: self.last, host, job: function, tag: job, text });
            while self.lines.len() > LOG_LINES_MAX || self.bytes > LOG_BYTES_MAX {
                let Some(line) = self.lines.pop_front() else { break };
                self.bytes -= line.job.len() + line.text.len();
            }
        }
    }

    /// The number of the newest line.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// The number of the first line that is kept.
    pub fn first(&self) -> u64 {
        self.lines.front().map_or(self.last + 1, |line| line.number)
    }

    /// The lines after this one.
    pub fn after(&self, after: u64) -> LinesAfter {
        LinesAfter {
            lines: self.lines.iter().filter(|line| line.number > after).cloned().collect(),
            dropped: self.first().saturating_sub(after.saturating_add(1)),
        }
    }
}
