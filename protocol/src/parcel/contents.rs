//! The contents of parcels.

use serde::{Deserialize, Serialize};

use crate::shared::{ObjectId, Writer};
use crate::{AssignmentId, JobKey, LoanId, RunId, StealId};

/// Identifies the message in a parcel. While a parcel is under way, a message with the same contents to the same
/// receiver is the same parcel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Contents {
    /// [`PeerMessage::Job`](crate::message::PeerMessage::Job).
    Job {
        /// The run.
        run: RunId,
        /// The request.
        steal: StealId,
        /// The owner's number for the loan.
        number: LoanId,
    },
    /// [`PeerMessage::Result`](crate::message::PeerMessage::Result).
    Result {
        /// The run.
        run: RunId,
        /// The owner's number.
        number: LoanId,
    },
    /// [`PeerMessage::Have`](crate::message::PeerMessage::Have).
    Have {
        /// The run.
        run: RunId,
        /// The job.
        key: JobKey,
    },
    /// [`PeerMessage::Updates`](crate::message::PeerMessage::Updates).
    Updates {
        /// The run.
        run: RunId,
        /// The object.
        object: ObjectId,
        /// Whose.
        writer: Writer,
        /// The number of the first.
        first: u64,
    },
    /// [`PeerMessage::Replica`](crate::message::PeerMessage::Replica).
    Replica {
        /// The run.
        run: RunId,
        /// The object.
        object: ObjectId,
    },
    /// [`ToCoordinator::RootFinished`](crate::message::ToCoordinator::RootFinished).
    RootFinished {
        /// The run.
        run: RunId,
        /// The coordinator's number.
        number: AssignmentId,
    },
}

impl Contents {
    /// For updates or a replica of a shared object: its run, and the object.
    pub fn object(&self) -> Option<(RunId, ObjectId)> {
        match self {
            Self::Updates { run, object, .. } | Self::Replica { run, object } => Some((*run, *object)),
            _ => None,
        }
    }

    /// Whether a receiver that has got these contents from one sender most likely needs them from no other. Such
    /// parcels are pulled from one sender at a time.
    pub fn is_same_from_all(&self) -> bool {
        matches!(self, Self::Replica { .. } | Self::Updates { .. })
    }

    /// Whether a later message with these contents is worth more to its receiver than an earlier one. A parcel with
    /// the earlier one is replaced while it waits for its turn.
    pub fn ages(&self) -> bool {
        matches!(self, Self::Replica { .. })
    }

    /// The run that the message is about.
    pub fn run(&self) -> RunId {
        match self {
            Self::Job { run, .. }
            | Self::Result { run, .. }
            | Self::Have { run, .. }
            | Self::Updates { run, .. }
            | Self::Replica { run, .. }
            | Self::RootFinished { run, .. } => *run,
        }
    }
}
