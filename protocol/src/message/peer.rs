//! Messages between hosts.

use serde::{Deserialize, Serialize};

use crate::parcel::ParcelMessage;
use crate::shared::{Digest, NamedSharers, ObjectId, Snapshot, Versions, Writer};
use crate::{Bytes, Entry, Finished, JobKey, JobSpec, LoanId, RunId, StealId};

/// Messages that hosts send one another, directly or relayed by the coordinator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum PeerMessage {
    /// A thief asks for a job.
    Steal {
        /// The run.
        run: RunId,
        /// The thief's number for the request.
        steal: StealId,
        /// The number of the thief's last [`Self::Holding`] to this victim.
        holding: u64,
        /// Whether the thief's workers are busy, and it asks so that the next job is there when one of them has ended its
        /// own.
        ahead: bool,
        /// Maximum further jobs that it takes with the same answer, because those that it gets are short.
        more: u32,
    },
    /// A victim lends a job, under a number of its own.
    Job {
        /// The run.
        run: RunId,
        /// The request.
        steal: StealId,
        /// The owner's number for the loan.
        number: LoanId,
        /// What to run.
        spec: JobSpec,
    },
    /// The victim has no job.
    Nothing {
        /// The run.
        run: RunId,
        /// The request.
        steal: StealId,
    },
    /// A borrowed job has ended.
    Result {
        /// The run.
        run: RunId,
        /// The owner's number.
        number: LoanId,
        /// Its result or failure.
        finished: Finished,
    },
    /// The owner has the result, or no longer needs it: the thief may forget the job.
    Received {
        /// The run.
        run: RunId,
        /// The owner's number.
        number: LoanId,
    },
    /// The owner no longer needs the result.
    Abort {
        /// The run.
        run: RunId,
        /// The owner's number.
        number: LoanId,
    },
    /// The thief cannot run the job and returns it to its owner.
    Returned {
        /// The run.
        run: RunId,
        /// The owner's number.
        number: LoanId,
        /// The thief had begun the job, so results below it may have been recorded.
        begun: bool,
    },
    /// A host that would redo the job `key` asks the host that runs the orphan to send it the result.
    Adopt {
        /// The run.
        run: RunId,
        /// The asking host's number for the loan.
        number: LoanId,
        /// The job.
        key: JobKey,
    },
    /// Accepts [`Self::Adopt`]; the loan is listed in each [`Self::Holding`] after `holding`.
    Adopted {
        /// The run.
        run: RunId,
        /// The asking host's number.
        number: LoanId,
        /// The number of the last [`Self::Holding`] sent.
        holding: u64,
    },
    /// Declines [`Self::Adopt`]: the sender neither runs the job nor has its result.
    NotHeld {
        /// The run.
        run: RunId,
        /// The asking host's number.
        number: LoanId,
    },
    /// All jobs of an owner that a thief holds, and its requests to that owner that wait for an answer.
    Holding {
        /// The run.
        run: RunId,
        /// Counts these messages, for each owner.
        holding: u64,
        /// The number of the thief's next request; those with lower numbers were made before this message.
        next_steal: StealId,
        /// Loans, by the owner's numbers.
        held: Vec<LoanId>,
        /// Requests that wait for an answer.
        pending: Vec<StealId>,
    },
    /// The owner of loans of this run has had no [`Self::Holding`] for a while. Answered by one.
    Lending {
        /// The run.
        run: RunId,
    },
    /// The owner does not know these loans.
    Unknown {
        /// The run.
        run: RunId,
        /// The owner's numbers.
        numbers: Vec<LoanId>,
    },
    /// Entries of the result table: those below a redone job, sent to its thief, or those recorded below a borrowed
    /// job, sent to its owner.
    Entries {
        /// The run.
        run: RunId,
        /// At most `ENTRIES_PER_MESSAGE_MAX`.
        entries: Vec<Entry>,
    },
    /// Asks for a result of which the table has only the place.
    Want {
        /// The run.
        run: RunId,
        /// The job.
        key: JobKey,
    },
    /// Answers [`Self::Want`] with the result, or with `None` if the sender does not have it.
    Have {
        /// The run.
        run: RunId,
        /// The job.
        key: JobKey,
        /// Its result or failure.
        finished: Option<Finished>,
    },
    /// The owner of a lent job cannot continue with the run; another host will ask for the job's result.
    Orphaned {
        /// The run.
        run: RunId,
        /// The owner's number.
        number: LoanId,
    },
    /// Updates of a shared object, in their writer's order.
    Updates {
        /// The run.
        run: RunId,
        /// The object.
        object: ObjectId,
        /// The writer that made them.
        writer: Writer,
        /// The number of the first update.
        first: u64,
        /// The updates, as the guest encoded them.
        updates: Vec<Bytes>,
    },
    /// Which updates of a shared object the sender has. A receiver that has others sends them.
    Versions {
        /// The run.
        run: RunId,
        /// The object.
        object: ObjectId,
        /// How many updates of each writer.
        versions: Versions,
        /// A digest of the replica's content: two replicas with equal versions and different digests have diverged.
        digest: Digest,
        /// Other hosts that have a replica.
        sharers: NamedSharers,
        /// Whether the sender asks for the updates that it lacks, or for the answer that there are none. It already
        /// knows which updates the receiver lacks.
        is_question: bool,
    },
    /// Asks for a replica.
    FetchReplica {
        /// The run.
        run: RunId,
        /// The object.
        object: ObjectId,
    },
    /// A replica. It is sent because the receiver asked for it, because it has updates that the receiver lacks, or
    /// because the sender leaves.
    Replica {
        /// The run.
        run: RunId,
        /// The object.
        object: ObjectId,
        /// The whole replica.
        snapshot: Snapshot,
        /// Other hosts that have one.
        sharers: NamedSharers,
    },
    /// The sender has no replica.
    NotShared {
        /// The run.
        run: RunId,
        /// The object.
        object: ObjectId,
    },
    /// The sender has rejected the receiver: it ignores all further messages from it.
    Refused {
        /// What the receiver did wrong.
        reason: String,
    },
    /// About a message that is sent as a parcel because it is large.
    Parcel(ParcelMessage),
    /// A victim lends several short jobs with one answer.
    Jobs {
        /// The run.
        run: RunId,
        /// The request.
        steal: StealId,
        /// At least one job and at most as many as the thief takes, each with the owner's number for the loan.
        jobs: Vec<(LoanId, JobSpec)>,
    },
}

impl PeerMessage {
    /// The run that the message is about.
    pub fn run(&self) -> Option<RunId> {
        match self {
            Self::Steal { run, .. }
            | Self::Job { run, .. }
            | Self::Jobs { run, .. }
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
