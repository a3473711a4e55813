//! What became of jobs.

use sateen_protocol::Jobs;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// What became of jobs, by what hosts count and by what the tree knows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS, JsonSchema)]
#[serde(default)]
pub struct JobCounts {
    /// Spawned.
    pub spawned: u64,
    /// Made visible to the scheduler.
    pub exposed: u64,
    /// Run, in place or separately.
    pub executed: u64,
    /// Taken by another worker of the same host.
    pub stolen_local: u64,
    /// Stolen from other hosts.
    pub stolen: u64,
    /// Of these, from other sites.
    pub stolen_wide: u64,
    /// Stolen, and lost with a thief that crashed, as the hosts that had lent them count: those that the thief had not begun are
    /// included. Lost root jobs are not, but in `root_losses` of the run.
    pub lost: u64,
    /// Stolen, begun, and given back by a thief that left or paused, or had no room. Root jobs are included, and count at the
    /// host that gave them back.
    pub given_back: u64,
    /// Lost and begun again, each once, however often it was lost. It may be more than `lost`, since the root job, jobs below a
    /// lost one, and orphans of jobs that were given back are included, and less, since results are reused and adopted instead.
    /// Jobs that a host gave back when it left, and those of a run that was suspended, are not lost.
    pub redone: u64,
    /// Not run because the result table had their results.
    pub reused: u64,
    /// Orphans whose results were used.
    pub adopted: u64,
    /// Results recorded for the case of a crash.
    pub recorded: u64,
    /// Stopped because nobody wanted them any more.
    pub aborted: u64,
}

impl From<Jobs> for JobCounts {
    /// As hosts have counted; they do not know what was begun before.
    fn from(jobs: Jobs) -> Self {
        // Named one by one, so that none that is added is forgotten.
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
        } = jobs;
        Self {
            spawned,
            exposed,
            executed,
            stolen_local,
            stolen,
            stolen_wide,
            lost,
            given_back,
            redone: 0,
            reused,
            adopted,
            recorded,
            aborted,
        }
    }
}

impl JobCounts {
    /// Adds those of another run. No sum overflows.
    pub fn add(&mut self, other: &Self) {
        let Self {
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
        } = self;
        for (sum, more) in [
            (spawned, other.spawned),
            (exposed, other.exposed),
            (executed, other.executed),
            (stolen_local, other.stolen_local),
            (stolen, other.stolen),
            (stolen_wide, other.stolen_wide),
            (lost, other.lost),
            (given_back, other.given_back),
            (redone, other.redone),
            (reused, other.reused),
            (adopted, other.adopted),
            (recorded, other.recorded),
            (aborted, other.aborted),
        ] {
            *sum = sum.saturating_add(more);
        }
    }
}
