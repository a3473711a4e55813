//! What a portion tells its driver.

use sateen_protocol::{Finished, JobKey, JobNumber, JobSpec, Lineage};

use crate::guest::LogLine;

/// Something that the driver of a [`Portion`](super::Portion) should know.
#[derive(Debug, Clone)]
pub enum Notice {
    /// So many workers have nothing to do and could begin a job; sent when the number changes.
    Idle(usize),
    /// A thief elsewhere waits (see [`want`](super::Portion::want)) and there may be an open job now.
    Exposed,
    /// A held job's first instructions have run.
    Begun {
        /// The number it was injected with.
        held: JobNumber,
    },
    /// A held job ended.
    Finished {
        /// The number it was injected with.
        held: JobNumber,
        /// What came of it.
        finished: Finished,
    },
    /// A lent or looked-up job's result is not wanted any more.
    Abandoned {
        /// Its number.
        number: JobNumber,
    },
    /// A redone job's descendant: is its result known? Answered by
    /// [`complete`](super::Portion::complete) or [`requeue`](super::Portion::requeue).
    Lookup {
        /// Its number.
        number: JobNumber,
        /// The job.
        spec: JobSpec,
    },
    /// A job of this host that the scheduler knew of has finished and is worth saving.
    Recorded {
        /// Its identity.
        key: JobKey,
        /// Spawns below the root.
        depth: u32,
        /// The jobs above it.
        lineage: Lineage,
        /// What came of it.
        finished: Finished,
    },
    /// The app wrote to its log.
    Log(LogLine),
    /// The run's root said how far it is.
    Progress {
        /// So much is done,
        done: u64,
        /// of so much.
        total: u64,
    },
    /// A limit of the run was met: ends the run everywhere.
    Limit(String),
    /// This machine cannot go on with the run: memory cannot be mapped, say.
    Unable(String),
    /// After [`drain`](super::Portion::drain): no guest computes any more.
    Drained,
}
