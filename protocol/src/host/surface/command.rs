//! The state machine's outputs, except for messages.

use serde::{Deserialize, Serialize};

use crate::shared::{Change, ObjectId};
use crate::{Again, Entry, Finished, HeldId, HostId, JobSpec, JobTag, RunId, RunSpec, RuntimeJobId};

/// A command to the driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Prepare the run's app and inputs, and begin its portion. Answered by `handle_loaded`.
    Load {
        /// The run.
        run: RunId,
        /// The run's specification.
        spec: RunSpec,
    },
    /// Pass a command to the run's portion. If there is none, ignore the command.
    Run {
        /// The run.
        run: RunId,
        /// The command to the portion.
        command: RunCommand,
    },
    /// Drop the run.
    Stop {
        /// The run.
        run: RunId,
        /// Whether its saved entries may be dropped as well, because the run will never continue.
        forget: bool,
    },
    /// Save this entry on disk.
    Save {
        /// The run.
        run: RunId,
        /// The entry.
        entry: Entry,
    },
    /// Close the link to a peer, and open no other.
    CutOff {
        /// The peer.
        peer: HostId,
    },
    /// Close the link to the coordinator and dial again; the host will get a new id.
    Reconnect,
    /// The host has left; the process may exit.
    Left,
}

/// A command to a run's portion, which answers with [notices](super::Notice).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum RunCommand {
    /// Run this job of another host: the root, or a stolen job.
    Inject {
        /// The state machine's number for it.
        held: HeldId,
        /// The job.
        spec: JobSpec,
        /// The job itself is known to have been begun before. If it is not, and its descendants are looked up all the same,
        /// its own work repeats nothing.
        was_begun: bool,
    },
    /// A replica has come, or has got updates of other hosts, or many updates of this runtime have arrived.
    Replica {
        /// The object.
        object: ObjectId,
        /// The number of the runtime's place for it. If the runtime has another one by now, the command is ignored.
        place: u64,
        /// The change.
        change: Change,
    },
    /// This many thieves wait here and count as hungry workers. [`Notice::Exposed`](super::Notice::Exposed) follows
    /// when there is a job, at once if there already is one.
    Want {
        /// The number of thieves.
        thieves: usize,
    },
    /// Give up an open job for a thief, if there is one: the oldest of those with the least depth. Answered by
    /// [`Notice::Offered`](super::Notice::Offered) as soon as possible, even if the run has no portion, as a thief waits.
    Offer {
        /// Maximum further jobs to give up: jobs that are like the first, and of which as many stay here.
        more: usize,
    },
    /// A lent or looked-up job has this result. An unknown number is ignored: that job is no longer needed.
    Complete {
        /// The portion's number.
        number: RuntimeJobId,
        /// Its result or failure.
        finished: Finished,
        /// For a looked-up job: it had been begun before the job above it was begun again, so that the work on the way
        /// to it is repeated. The result of an equal job that was begun later says nothing of the kind.
        is_found_again: bool,
    },
    /// A lent job comes back, or the result of a looked-up one is unknown: the job is open again, to be run here or by
    /// a thief. Its number is no longer valid.
    Requeue {
        /// The portion's number.
        number: RuntimeJobId,
        /// How the job is to be begun again.
        again: Again,
    },
    /// More jobs for which a lookup may find something, in addition to earlier ones: jobs that have an entry, or are
    /// above one. Before the first such command, all redone jobs are looked up.
    Lookups {
        /// The jobs. If empty, nothing is left to be found, and redone jobs need not be looked up.
        jobs: Vec<JobTag>,
    },
    /// This held job is no longer needed.
    Abort {
        /// The state machine's number.
        held: HeldId,
    },
    /// Come to rest, before this host leaves or the run is suspended. No new jobs are begun. Guests expose all latent
    /// jobs and continue until their work is recorded, for [`FINISHING_MAX`](crate::limits::FINISHING_MAX) at most, and
    /// then come to rest at their next sync. [`Notice::Drained`](super::Notice::Drained) follows, and again whenever
    /// guests that continued have come to rest. Open jobs may still be offered.
    Drain,
}

impl RunCommand {
    /// The command to the driver that hands this to the portion of `run`.
    pub fn of(self, run: RunId) -> Command {
        Command::Run { run, command: self }
    }
}
