//! How jobs stand.

use serde::{Deserialize, Serialize};

/// What was heard of a job last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[repr(u8)]
pub enum JobState {
    Running,
    Done,
    Failed,
    Aborted,
    Lost,
    Reused,
    Adopted,
}

/// What jobs by depth are told apart by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    Running,
    Done,
    Other,
}

impl JobState {
    /// As it is shown.
    pub fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Aborted => "aborted",
            Self::Lost => "lost",
            Self::Reused => "reused",
            Self::Adopted => "adopted",
        }
    }

    pub fn group(self) -> Group {
        match self {
            Self::Running | Self::Adopted => Group::Running,
            Self::Done | Self::Reused => Group::Done,
            Self::Failed | Self::Aborted | Self::Lost => Group::Other,
        }
    }
}
