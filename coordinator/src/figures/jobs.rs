//! Counts of jobs, and how they are saved.

use sateen_protocol::Jobs;
use serde::{Deserialize, Serialize};

/// Counts of jobs: those of hosts, and one that only a tree knows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "SavedJobs", into = "SavedJobs")]
pub struct JobCounts {
    /// The counts of hosts.
    pub of_hosts: Jobs,
    /// Jobs that were lost and begun again, each counted once.
    pub redone: u64,
}

impl JobCounts {
    /// Adds those of another run, saturating.
    pub fn add(&mut self, other: &Self) {
        self.of_hosts.add(&other.of_hosts);
        self.redone = self.redone.saturating_add(other.redone);
    }
}

impl From<Jobs> for JobCounts {
    fn from(of_hosts: Jobs) -> Self {
        Self { of_hosts, redone: 0 }
    }
}

/// The saved form: the order of the fields is part of the bytes.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct SavedJobs {
    spawned: u64,
    exposed: u64,
    executed: u64,
    stolen_local: u64,
    stolen: u64,
    stolen_wide: u64,
    lost: u64,
    given_back: u64,
    redone: u64,
    reused: u64,
    adopted: u64,
    recorded: u64,
    aborted: u64,
}

impl From<JobCounts> for SavedJobs {
    fn from(JobCounts { of_hosts, redone }: JobCounts) -> Self {
        // Field by field, so that a new one cannot be forgotten.
        let Jobs {
            spawned,
            exposed,
            executed,
            stolen_local,
            stolen,
            stolen_wide,
            reused,
            lost,
            given_back,
            adopted,
            recorded,
            aborted,
        } = of_hosts;
        Self {
            spawned,
            exposed,
            executed,
            stolen_local,
            stolen,
            stolen_wide,
            lost,
            given_back,
            redone,
            reused,
            adopted,
            recorded,
            aborted,
        }
    }
}

impl From<SavedJobs> for JobCounts {
    fn from(saved: SavedJobs) -> Self {
        let of_hosts = Jobs {
            spawned: saved.spawned,
            exposed: saved.exposed,
            executed: saved.executed,
            stolen_local: saved.stolen_local,
            stolen: saved.stolen,
            stolen_wide: saved.stolen_wide,
            reused: saved.reused,
            lost: saved.lost,
            given_back: saved.given_back,
            adopted: saved.adopted,
            recorded: saved.recorded,
            aborted: saved.aborted,
        };
        Self { of_hosts, redone: saved.redone }
    }
}
