//! Notices from the portion of a run to the state machine.

use serde::{Deserialize, Serialize};

use crate::message::{JobNote, LogLine, WorkerTimes};
use crate::shared::{NewBase, ObjectId};
use crate::{Bytes, Counts, Finished, HeldId, JobFailure, JobKey, JobSpec, Lineage, RuntimeJobId};

/// A notice of the runtime. A `RuntimeJobId` is the runtime's number, a `HeldId` the state machine's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Notice {
    /// The number of workers that have nothing to do and could begin a job; sent when it changes.
    Idle(usize),
    /// A thief waits (see [`RunCommand::Want`](super::RunCommand::Want)), and there may be an open job now.
    Exposed,
    /// The answer to [`RunCommand::Offer`](super::RunCommand::Offer): the jobs that are given up, under the runtime's
    /// numbers, or none.
    Offered(Vec<(RuntimeJobId, JobSpec)>),
    /// A held job's first instructions have run.
    Begun {
        /// The state machine's number, from [`RunCommand::Inject`](super::RunCommand::Inject).
        held: HeldId,
        /// The worker that took it, counted from 0.
        worker: u32,
        /// Time from the first instruction to the arrival of this notice, in nanoseconds; 0 if unknown.
        late_ns: u64,
    },
    /// A held job has ended.
    Finished {
        /// The state machine's number, from [`RunCommand::Inject`](super::RunCommand::Inject).
        held: HeldId,
        /// Its result or failure.
        finished: Finished,
    },
    /// The result of a lent or looked-up job is no longer needed.
    Abandoned {
        /// The runtime's number.
        number: RuntimeJobId,
    },
    /// Asks for the result of a redone job. Answered by [`RunCommand::Complete`](super::RunCommand::Complete) or
    /// [`RunCommand::Requeue`](super::RunCommand::Requeue).
    Lookup {
        /// The runtime's number.
        number: RuntimeJobId,
        /// The job.
        spec: JobSpec,
    },
    /// A job of this host that the scheduler knew has finished, and its result is worth saving.
    Recorded {
        /// The job.
        key: JobKey,
        /// Number of spawns between the root and the job.
        depth: u32,
        /// The job's ancestors.
        lineage: Lineage,
        /// Its result or failure.
        finished: Finished,
    },
    /// A job here has created a shared object, for the first time or again.
    Shared {
        /// The object.
        object: ObjectId,
        /// The runtime's number for its place, which no other place has.
        place: u64,
        /// The object, as the guest encoded it.
        initial: Bytes,
    },
    /// A job here has updated a shared object; the runtime's view already has the update.
    Updated {
        /// The object.
        object: ObjectId,
        /// The update, as the guest encoded it.
        bytes: Bytes,
    },
    /// A guest has made a new base of a shared object, which contains earlier updates.
    Based {
        /// The object.
        object: ObjectId,
        /// The base.
        new: NewBase,
    },
    /// A job here uses a shared object of which the runtime has nothing, perhaps not any more.
    /// [`RunCommand::Replica`](super::RunCommand::Replica) follows when there is a replica.
    Opened {
        /// The object.
        object: ObjectId,
        /// The runtime's number for its place, which no other place has.
        place: u64,
    },
    /// No job here uses a shared object any more, and the runtime has forgotten it.
    Closed {
        /// The object.
        object: ObjectId,
    },
    /// A held job's guard has waited for long: updates that others have are to be fetched. Repeated while it waits.
    Refetch {
        /// The object.
        object: ObjectId,
        /// The state machine's number, from [`RunCommand::Inject`](super::RunCommand::Inject).
        held: HeldId,
    },
    /// A line of the app's log.
    Log(LogLine),
    /// The root reports its progress: the amount done, and the total.
    Progress(u64, u64),
    /// A limit of the run was exceeded, which ends the run everywhere.
    Limit(String),
    /// A job failed in a way that no other job can catch, which ends the run everywhere.
    Failed(JobFailure),
    /// This host cannot continue with the run, for example because it cannot map memory.
    Unable(String),
    /// The runtime is gone with all its guests, for this reason. Its jobs are lost, as those of a host that crashes, and the
    /// run begins here again.
    Crashed(String),
    /// After [`RunCommand::Drain`](super::RunCommand::Drain): no guest computes any more.
    Drained,
    /// The runtime's counts, which replace earlier ones; the state machine adds its own.
    Counts(Box<Counts>),
    /// Activity that is shown to people, reported with the counts.
    Activity {
        /// How the workers have spent their time; replaces earlier values.
        workers: Vec<WorkerTimes>,
        /// The work that is ahead here, as far as it is known, in nanoseconds of processor time; replaces earlier values.
        ahead_ns: Option<u64>,
        /// Notes of this host's own jobs that began in instances of their own, or ended.
        jobs: Vec<JobNote>,
        /// The number of notes that were left out.
        jobs_dropped: u64,
    },
    /// The key of a held job is not that of its parameters. The host that lent it is cut off.
    Misnamed {
        /// The state machine's number, from [`RunCommand::Inject`](super::RunCommand::Inject).
        held: HeldId,
    },
    /// This host has no memory for a held job at present. The job is not the root, and is given back to its owners.
    HandedBack {
        /// The state machine's number, from [`RunCommand::Inject`](super::RunCommand::Inject).
        held: HeldId,
    },
}
