//! The states of jobs.

use serde::{Deserialize, Serialize};

/// A job's last known state.
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
    /// Its host left or paused, or the run was suspended: it was not lost.
    GivenBack,
}

/// The groups in which jobs are counted by depth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    Running,
    Done,
    Other,
}

impl JobState {
    /// The name of the state.
    pub fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Aborted => "aborted",
            Self::Lost => "lost",
            Self::Reused => "reused",
            Self::Adopted => "adopted",
            Self::GivenBack => "given back",
        }
    }

    pub fn group(self) -> Group {
        match self {
            Self::Running | Self::Adopted => Group::Running,
            Self::Done | Self::Reused => Group::Done,
            Self::Failed | Self::Aborted | Self::Lost | Self::GivenBack => Group::Other,
        }
    }
}
