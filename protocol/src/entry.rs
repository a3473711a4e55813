//! What is known of a job: its result, or the host that has that or is at it.

use serde::{Deserialize, Serialize};

use crate::limits::{ENTRIES_PER_MESSAGE_MAX, LINEAGE_LENGTH_MAX, MESSAGE_PART_BYTES};
use crate::{Finished, HostId, INLINE_RESULT_BYTES_MAX, JobKey, Lineage};

/// What is known of one job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Which job.
    pub key: JobKey,
    /// Spawns below the root.
    pub depth: u32,
    /// The jobs above it.
    pub lineage: Lineage,
    /// What is known.
    pub state: EntryState,
}

/// What the table says of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum EntryState {
    /// Its result.
    Done(Finished),
    /// A result too large for the table.
    DoneAt {
        /// Who has it.
        host: HostId,
        /// What it took.
        work_ns: u64,
    },
    /// An orphan that goes on.
    Running(HostId),
}

impl EntryState {
    /// Whom to ask for the result, if the table has not got it.
    pub fn place(&self) -> Option<HostId> {
        match self {
            Self::Done(_) => None,
            Self::DoneAt { host, .. } | Self::Running(host) => Some(*host),
        }
    }

    /// What it took, in nanoseconds; of one that is under way, more than anything.
    pub(crate) fn work_ns(&self) -> u64 {
        match self {
            Self::Done(finished) => finished.work_ns,
            Self::DoneAt { work_ns, .. } => *work_ns,
            // Lost, it would be done again from the start.
            Self::Running(_) => u64::MAX,
        }
    }

    /// Whether more is known than by another.
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
    /// The entry as it may travel: a large result is left where it is, at `host`.
    #[must_use]
    pub fn to_share(&self, host: HostId) -> Self {
        let state = match &self.state {
            EntryState::Done(finished) if finished.outcome.bytes().len() > INLINE_RESULT_BYTES_MAX => {
                EntryState::DoneAt { host, work_ns: finished.work_ns }
            }
            state => state.clone(),
        };
        Self { key: self.key, depth: self.depth, lineage: self.lineage.clone(), state }
    }

    /// Entries by the message: neither too many nor too long.
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

    /// About how long it is in a message, and what it takes there in memory.
    pub fn bytes(&self) -> usize {
        const FIXED: usize = 160;
        FIXED + self.result_bytes() + 3 * 8 * self.lineage.0.len()
    }

    /// Whether no honest host sends it: its result is too large for a table, or too many ancestors are named.
    pub fn is_too_large(&self) -> bool {
        self.result_bytes() > INLINE_RESULT_BYTES_MAX || self.lineage.0.len() > LINEAGE_LENGTH_MAX
    }

    /// Of its result, as far as that is here.
    pub(crate) fn result_bytes(&self) -> usize {
        match &self.state {
            EntryState::Done(finished) => finished.outcome.bytes().len(),
            EntryState::DoneAt { .. } | EntryState::Running(_) => 0,
        }
    }
}
