//! What goes in and out of a host's state machine, but for messages.

use std::sync::Arc;

use thiserror::Error;

use crate::message::{HostReport, JobNote, LogLine, PeerMessage, ToCoordinator, WorkerTimes};
use crate::shared::{ObjectId, SharedReplica, Writer};
use crate::{
    Again, Bytes, Counts, Entry, Finished, HostId, JobFailure, JobKey, JobNumber, JobSpec, JobTag, Lineage,
    RunId, RunSpec,
};

/// How a host is set up.
#[derive(Debug, Clone)]
pub struct HostConfig {
    /// What it says of itself.
    pub report: HostReport,
    /// All its randomness comes from here.
    pub seed: u64,
    /// The bound on its own part of each run's result table, in bytes.
    pub table_bytes_max: usize,
}

/// What the runtime has to tell. Numbers of jobs are the runtime's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// So many workers have nothing to do and could begin a job; sent when the number changes.
    Idle(usize),
    /// A thief waits (see [`Command::Want`]) and there may be an open job now.
    Exposed,
    /// A held job's first instructions have run.
    Begun {
        /// The machine's number, from [`Command::Inject`].
        held: JobNumber,
        /// The worker that took it, counted from 0.
        worker: u32,
    },
    /// A held job has ended.
    Finished {
        /// The machine's number, from [`Command::Inject`].
        held: JobNumber,
        /// What it gave.
        finished: Finished,
    },
    /// The result of a lent or looked-up job is not wanted any more.
    Abandoned {
        /// The runtime's number.
        number: JobNumber,
    },
    /// Is the result of this redone job known? Answered by [`Command::Complete`] or
    /// [`Command::Requeue`].
    Lookup {
        /// The runtime's number.
        number: JobNumber,
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
        /// This host's log: see [`Command::Identify`].
        writer: Writer,
        /// The update's number.
        seq: u64,
        /// What the guest encoded.
        bytes: Bytes,
    },
    /// A job here uses a shared object of which there is no replica. [`Command::Replica`] follows when
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
        /// The machine's number, from [`Command::Inject`].
        held: JobNumber,
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
    /// After [`Command::Drain`]: no guest computes any more.
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
        /// The machine's number, from [`Command::Inject`].
        held: JobNumber,
    },
}

/// What the runtime is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Get the run's app and inputs ready; answered by `handle_loaded`.
    Load {
        /// Which run.
        run: RunId,
        /// What it is.
        spec: RunSpec,
    },
    /// Run this job of somebody else's.
    Inject {
        /// Of which run.
        run: RunId,
        /// The machine's number for it.
        held: JobNumber,
        /// The job.
        spec: JobSpec,
    },
    /// What this host is called in the logs of shared objects' updates that it begins from now on.
    Identify {
        /// In which run.
        run: RunId,
        /// Its name.
        origin: HostId,
    },
    /// A shared object that a job mentions will be here: a place for its replica.
    Opened {
        /// Of which run.
        run: RunId,
        /// Which object.
        object: ObjectId,
        /// The place.
        replica: Arc<SharedReplica>,
    },
    /// A replica has come, or something to it.
    Replica {
        /// Of which run.
        run: RunId,
        /// Of which object.
        object: ObjectId,
    },
    /// So many thieves wait here.
    Want {
        /// Of which run.
        run: RunId,
        /// How many.
        thieves: usize,
    },
    /// Give an open job up, if there is one; answered by `handle_offered`.
    Offer {
        /// Of which run.
        run: RunId,
    },
    /// A lent or looked-up job has this result.
    Complete {
        /// Of which run.
        run: RunId,
        /// The runtime's number.
        number: JobNumber,
        /// What it gave.
        finished: Finished,
    },
    /// A lent or looked-up job is to be run here, or by whoever steals it.
    Requeue {
        /// Of which run.
        run: RunId,
        /// The runtime's number.
        number: JobNumber,
        /// How.
        again: Again,
    },
    /// What a lookup may find, beside what was told before: jobs of which something is known, and jobs
    /// below which something is.
    Lookups {
        /// Of which run.
        run: RunId,
        /// Which jobs. Empty: nothing is left to be found, and redone jobs need not look.
        jobs: Vec<JobTag>,
    },
    /// Nobody wants this held job any more.
    Abort {
        /// Of which run.
        run: RunId,
        /// The machine's number.
        held: JobNumber,
    },
    /// Come to rest; see [`Notice::Drained`].
    Drain {
        /// Of which run.
        run: RunId,
    },
    /// Drop all of the run.
    Stop {
        /// Which run.
        run: RunId,
        /// Its saved entries may be dropped as well: it will never go on.
        forget: bool,
    },
    /// Save this entry on disk.
    Save {
        /// Of which run.
        run: RunId,
        /// The entry.
        entry: Entry,
    },
    /// Close the link to this peer, and open no other.
    CutOff {
        /// Who.
        peer: HostId,
    },
    /// Close the link to the coordinator and dial again: the host is another one from now on.
    Reconnect,
    /// The host has left; the process may end.
    Left,
}

/// A message on its way out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transmit {
    /// To the coordinator.
    ToCoordinator(ToCoordinator),
    /// To another host, directly or by the relay.
    ToPeer(HostId, PeerMessage),
}

/// To whom a message goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Receiver {
    /// The coordinator.
    Coordinator,
    /// Another host, directly or by the relay.
    Peer(HostId),
}

/// What happened, for logs and status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The coordinator knows this host.
    Joined(HostId),
    /// The coordinator had given this host up; it has a new id.
    Reborn(HostId),
    /// The coordinator had given this host up; it has its id still.
    Returned(HostId),
    /// It has given back what it had because it pauses, and has its id still.
    Paused(HostId),
    /// The coordinator refused this host.
    Refused(String),
    /// Another host hears no more of this one; why.
    RefusedBy(HostId, String),
    /// Another host came.
    PeerJoined(HostId),
    /// Another host went.
    PeerGone(HostId),
    /// A run began here.
    RunStarted(RunId),
    /// A run ended here.
    RunEnded(RunId),
    /// A stolen job has begun: from the request to its first instruction.
    Stolen {
        /// Of which run.
        run: RunId,
        /// From whom.
        victim: HostId,
        /// How long it took, in nanoseconds.
        latency_ns: u64,
    },
    /// A job was lost with its thief.
    Lost(RunId, JobKey),
    /// A job's result came from the table.
    Reused(RunId, JobKey),
    /// An orphan went on and its result will be used.
    Adopted(RunId, JobKey),
    /// A job's owner is gone.
    Orphaned(RunId, JobKey),
    /// Two replicas have both forgotten updates that the other had not got; so many are given up here.
    UpdatesLost(RunId, ObjectId, u64),
    /// This host's replica counted the same updates as that host's and had others: it is replaced by that one.
    /// It shows a fault, here or elsewhere.
    Diverged(RunId, ObjectId, HostId),
    /// A shared object that is not used here was forgotten before all others were known to have the updates
    /// made here, because too much was waiting for that; so many were sent once more.
    Entrusted(RunId, ObjectId, u64),
    /// A peer broke the protocol.
    Misbehaved(HostId, Misbehaviour),
}

/// How a peer broke the protocol. It is told and cut off.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Misbehaviour {
    /// It answered a steal that was never made.
    #[error("it answered a steal that was never made")]
    AnswerToNoSteal,
    /// It sent the result of a job that was never lent to it.
    #[error("it sent the result of a job that it was never lent")]
    ResultOfNoJob,
    /// It confirmed an adoption that was never asked for.
    #[error("it adopted a job that it was never asked to")]
    AdoptionOfNoJob,
    /// It sent more entries in a message, or longer texts, than are allowed.
    #[error("it sent a message larger than allowed")]
    TooMuch,
    /// It announced a parcel that is too long, changed it on the way, or it was not what was announced.
    #[error("it sent a parcel that breaks the rules")]
    Parcel,
}
