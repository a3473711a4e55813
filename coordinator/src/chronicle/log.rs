//! The newest lines of an app's log.

use std::collections::VecDeque;

use sateen_api::{Log, LogLine};
use sateen_protocol::{HostId, message};

use crate::limits::{LOG_BYTES_MAX, LOG_LINES_MAX};

/// The lines.
#[derive(Debug, Default)]
pub struct Lines {
    lines: VecDeque<LogLine>,
    bytes: usize,
    last: u64,
}

impl Lines {
    /// As they were saved.
    pub fn restore(lines: Vec<LogLine>, last: u64) -> Self {
        let newest = lines.last().map_or(0, |line| line.number);
        Self {
            bytes: lines.iter().map(|line| line.job.len() + line.text.len()).sum(),
            lines: lines.into(),
            last: last.max(newest),
        }
    }

    /// Takes lines down.
    pub fn add(&mut self, host: HostId, lines: Vec<message::LogLine>) {
        for message::LogLine { job, function, text } in lines {
            self.last += 1;
            self.bytes += function.len() + text.len();
            let tag = job.map(|job| job.to_string());
            self.lines.push_back(LogLine {
                number: self.last,
                host: host.to_string(),
                job: function,
                tag,
                text,
            });
            while self.lines.len() > LOG_LINES_MAX || self.bytes > LOG_BYTES_MAX {
                let Some(line) = self.lines.pop_front() else { break };
                self.bytes -= line.job.len() + line.text.len();
            }
        }
    }

    /// The number of the newest.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// The number of the first that is kept.
    pub fn first(&self) -> u64 {
        self.lines.front().map_or(self.last + 1, |line| line.number)
    }

    /// The lines after this one.
    pub fn after(&self, after: u64) -> Log {
        Log {
            lines: self.lines.iter().filter(|line| line.number > after).cloned().collect(),
            dropped: self.first().saturating_sub(after.saturating_add(1)),
        }
    }
}
