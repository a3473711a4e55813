//! What became of jobs.

use sateen_protocol::Jobs;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// Counts of jobs, by outcome: from the counts of hosts and from the tree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS, JsonSchema)]
#[serde(default)]
pub struct JobCounts {
    /// Jobs spawned.
    pub spawned: u64,
    /// Jobs made visible to the scheduler.
    pub exposed: u64,
    /// Jobs that were begun, in place or separately.
    pub executed: u64,
    /// Jobs taken by another worker of the same host.
    pub stolen_local: u64,
    /// Jobs stolen from other hosts.
    pub stolen: u64,
    /// Jobs stolen from other sites; included in `stolen`.
    pub stolen_wide: u64,
    /// Stolen jobs lost with a thief that crashed, as counted by the hosts that had lent them. Jobs that the thief had
    /// not begun are included. A job of a host that was given up and is back is lost only if it is run again: otherwise its
    /// thief continues with it. Lost root jobs are not included; `root_losses` of the run counts them.
    pub lost: u64,
    /// Stolen jobs that a thief gave back because it left or paused, and those that it had begun and had no room for.
    /// Root jobs are included, and count at the host that gave them back.
    pub given_back: u64,
    /// Jobs lost and begun again; each counts once, however often it was lost. This may be more than `lost`, because
    /// the root job, jobs below a lost one, and orphans of jobs that were given back are included. It may be less,
    /// because results are reused and adopted instead. Jobs that a host gave back when it left, and jobs of a suspended
    /// run, are not lost, except for a root that was lost before. For a host: such jobs that it was the last to begin.
    pub redone: u64,
    /// Jobs not run because the result table had their results.
    pub reused: u64,
    /// Orphans whose results were used.
    pub adopted: u64,
    /// Results recorded in case of a crash.
    pub recorded: u64,
    /// Jobs stopped before they were done: those that were not wanted any more, and those that a host stopped because it left
    /// or paused, or because the run was suspended; the latter are begun again.
    pub aborted: u64,
}

impl From<Jobs> for JobCounts {
    /// The counts of hosts, which do not know which jobs were begun before.
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
