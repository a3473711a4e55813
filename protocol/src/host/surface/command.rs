//! What the state machine wants to be done, but for messages.

use std::sync::Arc;

use crate::shared::{ObjectId, SharedReplica};
use crate::{Again, Entry, Finished, HeldId, HostId, JobSpec, JobTag, RunId, RunSpec, RuntimeJobId};

/// What the driver is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Get the run's app and inputs ready, and begin its portion; answered by `handle_loaded`.
    Load {
        /// Which run.
        run: RunId,
        /// What it is.
        spec: RunSpec,
    },
    /// Hand this to the run's portion. If there is none, nothing is to be done.
    Run {
        /// Of which run.
        run: RunId,
        /// What the portion is to do.
        command: RunCommand,
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

/// What a run's portion is to do. It answers with [notices](super::Notice), except to [`Offer`](Self::Offer).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunCommand {
    /// Run this job of another host: the root, or a stolen job.
    Inject {
        /// The machine's number for it.
        held: HeldId,
        /// The job.
        spec: JobSpec,
    },
    /// What this host is called in the logs of shared objects' updates that it begins from now on.
    Identify {
        /// Its name.
        origin: HostId,
    },
    /// A shared object that the next injected job may mention will be here: a place for its replica.
    Opened {
        /// Which object.
        object: ObjectId,
        /// The place. Guests and the machine share it, as neither may wait for the other.
        replica: Arc<SharedReplica>,
    },
    /// A replica has come, or something to it.
    Replica {
        /// Of which object.
        object: ObjectId,
    },
    /// So many thieves wait here; they count as hungry workers. [`Notice::Exposed`](super::Notice::Exposed) follows when there is a job, at
    /// once if there already is one.
    Want {
        /// How many.
        thieves: usize,
    },
    /// Give an open job up, if there is one: the oldest of those with the least depth. Answered by `handle_offered`,
    /// at once, and also if the run has no portion: a thief waits.
    Offer,
    /// A lent or looked-up job has this result. An unknown number is ignored: that job is not wanted any more.
    Complete {
        /// The portion's number.
        number: RuntimeJobId,
        /// What it gave.
        finished: Finished,
    },
    /// A lent job comes back, or the result of a looked-up one is not known: it is open again, to be run here or by a
    /// thief. Its number is no longer valid.
    Requeue {
        /// The portion's number.
        number: RuntimeJobId,
        /// How.
        again: Again,
    },
    /// What a lookup may find, beside what was told before: jobs of which something is known, and jobs
    /// below which something is. Before the first of these, all redone jobs are looked up.
    Lookups {
        /// Which jobs. Empty: nothing is left to be found, and redone jobs need not look.
        jobs: Vec<JobTag>,
    },
    /// Nobody wants this held job any more.
    Abort {
        /// The machine's number.
        held: HeldId,
    },
    /// Come to rest, before this host leaves or the run is suspended. No new jobs are begun. Guests expose all latent
    /// jobs and continue until their work is recorded, for [`FINISHING_MAX`](crate::limits::FINISHING_MAX) at most, and
    /// then come to rest at their next sync. [`Notice::Drained`](super::Notice::Drained) follows, and again whenever guests that continued have
    /// come to rest. Open jobs may still be offered.
    Drain,
}

impl RunCommand {
    /// The command to the driver that hands this to the portion of `run`.
    pub fn of(self, run: RunId) -> Command {
        Command::Run { run, command: self }
    }
}
