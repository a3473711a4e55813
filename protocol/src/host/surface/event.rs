//! Events of a host, for logs and status.

use thiserror::Error;

use crate::shared::ObjectId;
use crate::{HostId, JobKey, RunId};

/// An event, for logs and status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The coordinator has welcomed this host.
    Joined(HostId),
    /// The coordinator had given this host up; it has a new id.
    Reborn(HostId),
    /// The coordinator had given this host up; it has kept its id.
    Returned(HostId),
    /// It has given back its jobs because it pauses, and has kept its id.
    Paused(HostId),
    /// The coordinator refused this host.
    Refused(String),
    /// Another host has rejected this one, for this reason.
    RefusedBy(HostId, String),
    /// Another host joined.
    PeerJoined(HostId),
    /// Another host departed.
    PeerGone(HostId),
    /// A run began here.
    RunStarted(RunId),
    /// A run ended here.
    RunEnded(RunId),
    /// A stolen job has begun.
    Stolen {
        /// The run.
        run: RunId,
        /// The host from which it was stolen.
        victim: HostId,
        /// Time from the request to the job's arrival, in nanoseconds, including the time for which the victim had none.
        arrived_ns: u64,
        /// Time from the request to the job's first instruction, in nanoseconds. None if no worker was idle when this host
        /// asked: then the job has waited for a worker.
        begun_ns: Option<u64>,
    },
    /// A job was lost with its thief.
    Lost(RunId, JobKey),
    /// A job's result came from the table.
    Reused(RunId, JobKey),
    /// An orphan kept running, and its result will be used.
    Adopted(RunId, JobKey),
    /// A job's owner is gone.
    Orphaned(RunId, JobKey),
    /// Two replicas have each forgotten updates that the other lacks; this number of updates is given up here.
    UpdatesLost(RunId, ObjectId, u64),
    /// This host's replica had the same versions as that host's but other content, and is replaced by that one. This
    /// reveals a fault, here or elsewhere.
    Diverged(RunId, ObjectId, HostId),
    /// A shared object that is not used here was forgotten before all others were known to have the updates made here,
    /// because too many objects were waiting for that; this number of updates was sent once more.
    Entrusted(RunId, ObjectId, u64),
    /// A peer broke the protocol.
    Misbehaved(HostId, Misbehaviour),
}

/// How a peer broke the protocol. The peer is notified and cut off.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Misbehaviour {
    /// It answered a steal that was never made.
    #[error("it answered a steal that was never made")]
    AnswerToNoSteal,
    /// It sent the result of a job that was never lent to it.
    #[error("it sent the result of a job that it was never lent")]
    ResultOfNoJob,
    /// It confirmed an adoption that was never asked for.
    #[error("it confirmed an adoption that was never asked for")]
    AdoptionOfNoJob,
    /// It lent a job as the run's root job that is another.
    #[error("it lent another job under the name of the run's root job")]
    OtherRoot,
    /// It lent a job under the key of another.
    #[error("it lent a job under the key of another job")]
    OtherKey,
    /// It sent a message with longer lists or texts than are allowed.
    #[error("it sent a message with longer lists or texts than are allowed")]
    TooMuch,
    /// It announced a parcel that is too long, changed the parcel on the way, or sent other contents than it announced.
    #[error("it sent a parcel that breaks the rules")]
    Parcel,
}
