//! Host to host.

use serde::{Deserialize, Serialize};

use crate::parcel::ParcelMessage;
use crate::shared::{Digest, ObjectId, Snapshot, Versions, Writer};
use crate::{Bytes, Entry, Finished, HostId, JobKey, JobSpec, LoanId, RunId, StealId};

/// What hosts say to one another, directly or through a relay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum PeerMessage {
    /// A thief asks for a job.
    Steal {
        /// Of which run.
        run: RunId,
        /// The thief's number for the request.
        steal: StealId,
        /// The number of the thief's last [`Self::Holding`] to this victim.
        holding: u64,
    },
    /// Here is one; it is lent under a number of the victim's.
    Job {
        /// Of which run.
        run: RunId,
        /// The request.
        steal: StealId,
        /// The owner's number for the loan.
        number: LoanId,
        /// What to run.
        spec: JobSpec,
    },
    /// There is none.
    Nothing {
        /// Of which run.
        run: RunId,
        /// The request.
        steal: StealId,
    },
    /// A borrowed job has ended.
    Result {
        /// Of which run.
        run: RunId,
        /// The owner's number.
        number: LoanId,
        /// What it gave.
        finished: Finished,
    },
    /// The owner has the result, or does not want it any more: the thief may forget the job.
    Received {
        /// Of which run.
        run: RunId,
        /// The owner's number.
        number: LoanId,
    },
    /// The owner does not want the result any more.
    Abort {
        /// Of which run.
        run: RunId,
        /// The owner's number.
        number: LoanId,
    },
    /// The thief cannot run it: the owner has it again.
    Returned {
        /// Of which run.
        run: RunId,
        /// The owner's number.
        number: LoanId,
        /// Something of it may have been recorded.
        begun: bool,
    },
    /// A redoer asks whoever runs the orphan `key` to give it the result.
    Adopt {
        /// Of which run.
        run: RunId,
        /// The redoer's number for the loan.
        number: LoanId,
        /// Which job.
        key: JobKey,
    },
    /// It will; the loan is listed from the holding after `holding` on.
    Adopted {
        /// Of which run.
        run: RunId,
        /// The redoer's number.
        number: LoanId,
        /// The number of the last [`Self::Holding`] sent.
        holding: u64,
    },
    /// It neither runs the job nor has its result.
    NotHeld {
        /// Of which run.
        run: RunId,
        /// The redoer's number.
        number: LoanId,
    },
    /// All that a thief has of an owner's, and the requests to it that are under way.
    Holding {
        /// Of which run.
        run: RunId,
        /// Counts up for each owner.
        holding: u64,
        /// Requests up to, and without, this one were made before.
        next_steal: StealId,
        /// Loans, by the owner's numbers.
        held: Vec<LoanId>,
        /// Requests that wait for an answer.
        pending: Vec<StealId>,
    },
    /// An owner has not heard of these loans for a while. Answered by [`Self::Holding`].
    Lending {
        /// Of which run.
        run: RunId,
    },
    /// The owner knows nothing of these loans.
    Unknown {
        /// Of which run.
        run: RunId,
        /// The owner's numbers.
        numbers: Vec<LoanId>,
    },
    /// Entries of the result table: below a redone job, for its thief; or recorded below a borrowed job,
    /// for its owner.
    Entries {
        /// Of which run.
        run: RunId,
        /// At most `ENTRIES_PER_MESSAGE_MAX`.
        entries: Vec<Entry>,
    },
    /// Asks for a result that the table has by location.
    Want {
        /// Of which run.
        run: RunId,
        /// Which job.
        key: JobKey,
    },
    /// It, or `None` when it is not here (any more).
    Have {
        /// Of which run.
        run: RunId,
        /// Which job.
        key: JobKey,
        /// What it gave.
        finished: Option<Finished>,
    },
    /// A lent job's owner cannot go on with the run, and somebody else will ask for its result.
    Orphaned {
        /// Of which run.
        run: RunId,
        /// The owner's number.
        number: LoanId,
    },
    /// Updates of a shared object, in their writer's order.
    Updates {
        /// Of which run.
        run: RunId,
        /// Of which object.
        object: ObjectId,
        /// Whose they are.
        writer: Writer,
        /// The number of the first.
        first: u64,
        /// What the guest encoded.
        updates: Vec<Bytes>,
    },
    /// Which updates of a shared object the sender has. Whoever has others sends them.
    Versions {
        /// Of which run.
        run: RunId,
        /// Of which object.
        object: ObjectId,
        /// Whose, and how many.
        versions: Versions,
        /// Of the replica's content: two with the same versions and another digest have diverged.
        digest: Digest,
        /// Some of those that have a replica; at most `SHARERS_PER_MESSAGE_MAX`.
        sharers: Vec<HostId>,
        /// The sender wants what it has not, or to hear that there is nothing; what the receiver has not, the
        /// sender has found out already.
        is_question: bool,
    },
    /// Asks for a replica.
    FetchReplica {
        /// Of which run.
        run: RunId,
        /// Of which object.
        object: ObjectId,
    },
    /// A replica: asked for, or more than the receiver has, or because the sender leaves.
    Replica {
        /// Of which run.
        run: RunId,
        /// Of which object.
        object: ObjectId,
        /// All of it.
        snapshot: Snapshot,
        /// Some of those that have one, too; at most `SHARERS_PER_MESSAGE_MAX`.
        sharers: Vec<HostId>,
    },
    /// The sender has no replica (any more).
    NotShared {
        /// Of which run.
        run: RunId,
        /// Of which object.
        object: ObjectId,
    },
    /// Why the sender will hear no more of the receiver.
    Refused {
        /// What the receiver did.
        reason: String,
    },
    /// About a message that is too large for one piece.
    Parcel(ParcelMessage),
}

impl PeerMessage {
    /// The run that it is about.
    pub fn run(&self) -> Option<RunId> {
        match self {
            Self::Steal { run, .. }
            | Self::Job { run, .. }
            | Self::Nothing { run, .. }
            | Self::Result { run, .. }
            | Self::Received { run, .. }
            | Self::Abort { run, .. }
            | Self::Returned { run, .. }
            | Self::Adopt { run, .. }
            | Self::Adopted { run, .. }
            | Self::NotHeld { run, .. }
            | Self::Holding { run, .. }
            | Self::Lending { run }
            | Self::Unknown { run, .. }
            | Self::Entries { run, .. }
            | Self::Want { run, .. }
            | Self::Have { run, .. }
            | Self::Orphaned { run, .. }
            | Self::Updates { run, .. }
            | Self::Versions { run, .. }
            | Self::FetchReplica { run, .. }
            | Self::Replica { run, .. }
            | Self::NotShared { run, .. } => Some(*run),
            Self::Refused { .. } | Self::Parcel(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_names_the_run_that_it_is_about() {
        let (run, number) = (RunId(3), LoanId(1));
        assert_eq!(PeerMessage::Received { run, number }.run(), Some(run));
        assert_eq!(PeerMessage::Lending { run }.run(), Some(run));
        assert_eq!(PeerMessage::Refused { reason: String::new() }.run(), None);
    }
}
