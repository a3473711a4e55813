//! What happened at a host, for logs and status.

use thiserror::Error;

use crate::shared::ObjectId;
use crate::{HostId, JobKey, RunId};

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
