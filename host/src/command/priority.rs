//! The flag for the priority of workers.

use clap::ValueEnum;
use sateen_comfort::consent::WorkerPriority;
use sateen_host::Priority;

#[derive(Clone, Copy, ValueEnum)]
pub enum PriorityFlag {
    /// Only processor time that no other program wants
    Idle,
    /// The same priority as other programs
    Normal,
}

impl From<PriorityFlag> for Priority {
    fn from(flag: PriorityFlag) -> Self {
        match flag {
            PriorityFlag::Idle => Self::Idle,
            PriorityFlag::Normal => Self::Normal,
        }
    }
}

impl From<PriorityFlag> for WorkerPriority {
    fn from(flag: PriorityFlag) -> Self {
        match flag {
            PriorityFlag::Idle => Self::Idle,
            PriorityFlag::Normal => Self::Normal,
        }
    }
}
