//! What is known of a job: its result, the host that has the result, or the host that runs the job.

use serde::{Deserialize, Serialize};

use crate::limits::{ENTRIES_PER_MESSAGE_MAX, LINEAGE_LENGTH_MAX, MESSAGE_PART_BYTES};
use crate::{Finished, HostId, INLINE_RESULT_BYTES_MAX, JobKey, Lineage};

/// An entry of the result table: what is known of one job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The job.
    pub key: JobKey,
    /// Number of spawns between the root and the job.
    pub depth: u32,
    /// The job's ancestors.
    pub lineage: Lineage,
    /// The job's result, or its place.
    pub state: EntryState,
    /// The result is that of an earlier run ([`RunSpec::reuse`](crate::RunSpec::reuse)): finding it saves no work of this one.
    pub is_earlier: bool,
}

/// What the result table holds of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum EntryState {
    /// Its result.
    Done(Finished),
    /// A result that is too large for the table.
    DoneAt {
        /// The host that has it.
        host: HostId,
        /// Processor time that it took, in nanoseconds.
        work_ns: u64,
    },
    /// An orphan that is still running at this host.
    Running(HostId),
}

impl EntryState {
    /// The host to ask for the result, if the table does not hold it.
    pub fn place(&self) -> Option<HostId> {
        match self {
            Self::Done(_) => None,
            Self::DoneAt { host, .. } | Self::Running(host) => Some(*host),
        }
    }

    /// Processor time that the result took, in nanoseconds; the maximum for a job that is still running.
    pub(crate) fn work_ns(&self) -> u64 {
        match self {
            Self::Done(finished) => finished.work_ns,
            Self::DoneAt { work_ns, .. } => *work_ns,
            // If this entry were lost, the job would be run again from the start.
            Self::Running(_) => u64::MAX,
        }
    }

    /// Whether this state says more about the job than another.
    pub(crate) fn is_better_than(&self, other: &Self) -> bool {
        let rank = |state: &Self| match state {
            Self::Done(_) => 2,
            Self::DoneAt { .. } => 1,
            Self::Running(_) => 0,
        };
        rank(self) > rank(other)
    }
}

impl Entry {
    /// The entry as it may be sent: a large result is replaced by its place, `host`.
    #[must_use]
    pub fn to_share(&self, host: HostId) -> Self {
        let state = match &self.state {
            EntryState::Done(finished) if finished.outcome.bytes().len() > INLINE_RESULT_BYTES_MAX => {
                EntryState::DoneAt { host, work_ns: finished.work_ns }
            }
            state => state.clone(),
        };
        Self { lineage: self.lineage.clone(), state, ..*self }
    }

    /// Splits entries into batches that fit into one message each.
    pub fn batches(entries: &[Self]) -> impl Iterator<Item = &[Self]> {
        let mut bytes = 0;
        let mut count = 0;
        entries.chunk_by(move |before, _| {
            bytes += before.bytes();
            count += 1;
            let goes_on = bytes < MESSAGE_PART_BYTES && count < ENTRIES_PER_MESSAGE_MAX;
            if !goes_on {
                (bytes, count) = (0, 0);
            }
            goes_on
        })
    }

    /// About how many bytes it takes in an encoded message, and in memory once that is decoded.
    pub fn bytes(&self) -> usize {
        const FIXED: usize = 160;
        FIXED + self.result_bytes() + 3 * 8 * self.lineage.0.len()
    }

    /// Whether it exceeds a limit that every honest host keeps: its result is too large for a table, or it names too
    /// many ancestors.
    pub fn is_too_large(&self) -> bool {
        self.result_bytes() > INLINE_RESULT_BYTES_MAX || self.lineage.0.len() > LINEAGE_LENGTH_MAX
    }

    /// The length of its result, in bytes; 0 if the entry does not hold it.
    pub(crate) fn result_bytes(&self) -> usize {
        match &self.state {
            EntryState::Done(finished) => finished.outcome.bytes().len(),
            EntryState::DoneAt { .. } | EntryState::Running(_) => 0,
        }
    }
}
