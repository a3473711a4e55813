//! What the portion of a run tells the state machine.

use std::sync::Arc;

use crate::message::{JobNote, LogLine, WorkerTimes};
use crate::shared::{ObjectId, SharedReplica, Writer};
use crate::{Bytes, Counts, Finished, HeldId, JobFailure, JobKey, JobSpec, Lineage, RuntimeJobId};

/// What the runtime has to tell. Numbers of jobs are the runtime's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// So many workers have nothing to do and could begin a job; sent when the number changes.
    Idle(usize),
    /// A thief waits (see [`RunCommand::Want`](super::RunCommand::Want)) and there may be an open job now.
    Exposed,
    /// A held job's first instructions have run.
    Begun {
        /// The machine's number, from [`RunCommand::Inject`](super::RunCommand::Inject).
        held: HeldId,
        /// The worker that took it, counted from 0.
        worker: u32,
    },
    /// A held job has ended.
    Finished {
        /// The machine's number, from [`RunCommand::Inject`](super::RunCommand::Inject).
        held: HeldId,
        /// What it gave.
        finished: Finished,
    },
    /// The result of a lent or looked-up job is not wanted any more.
    Abandoned {
        /// The runtime's number.
        number: RuntimeJobId,
    },
    /// Is the result of this redone job known? Answered by [`RunCommand::Complete`](super::RunCommand::Complete) or
    /// [`RunCommand::Requeue`](super::RunCommand::Requeue).
    Lookup {
        /// The runtime's number.
        number: RuntimeJobId,
        /// The job.
        spec: JobSpec,
    },
    /// A job of this host that the scheduler knew of has finished and is worth saving.
    Recorded {
        /// Which job.
        key: JobKey,
        /// Spawns below the root.
        depth: u32,
        /// The jobs above it.
        lineage: Lineage,
        /// What it gave.
        finished: Finished,
    },
    /// A job here has created a shared object, for the first time or again.
    Shared {
        /// Which.
        object: ObjectId,
        /// Its replica.
        replica: Arc<SharedReplica>,
    },
    /// A job here has updated a shared object; its replica has the update.
    Updated {
        /// Which.
        object: ObjectId,
        /// This host's log: see [`RunCommand::Identify`](super::RunCommand::Identify).
        writer: Writer,
        /// The update's number.
        seq: u64,
        /// What the guest encoded.
        bytes: Bytes,
    },
    /// A job here uses a shared object of which there is no replica. [`RunCommand::Replica`](super::RunCommand::Replica) follows when
    /// there is.
    Opened {
        /// Which.
        object: ObjectId,
        /// The place for it.
        replica: Arc<SharedReplica>,
    },
    /// A held job's guard has waited for long: what others have is to be fetched. Repeated while it waits.
    Refetch {
        /// Of which object.
        object: ObjectId,
        /// The machine's number, from [`RunCommand::Inject`](super::RunCommand::Inject).
        held: HeldId,
    },
    /// A line of the app's log.
    Log(LogLine),
    /// The root reports its progress: so much is done, of so much.
    Progress(u64, u64),
    /// A limit of the run was met, which ends it everywhere.
    Limit(String),
    /// A job failed in a way that no other job can catch, which ends the run everywhere.
    Failed(JobFailure),
    /// This machine cannot go on with the run: memory cannot be mapped, say.
    Unable(String),
    /// After [`RunCommand::Drain`](super::RunCommand::Drain): no guest computes any more.
    Drained,
    /// The runtime's counts, which replace earlier ones; the machine's own are added to them.
    Counts(Box<Counts>),
    /// What people may want to see, told with the counts.
    Activity {
        /// What the workers have done with their time; replaces what was told before.
        workers: Vec<WorkerTimes>,
        /// Jobs of this host's own that its workers began in instances of their own, and that ended.
        jobs: Vec<JobNote>,
        /// How many of those were left out.
        jobs_dropped: u64,
    },
    /// This machine has no memory for a held job now, which is not the root: its owners have it again.
    HandedBack {
        /// The machine's number, from [`RunCommand::Inject`](super::RunCommand::Inject).
        held: HeldId,
    },
}
