//! Coordinator to host.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::HostInfo;
use crate::parcel::ParcelMessage;
use crate::{AssignmentId, Entry, GridId, HostId, JobKey, JobSpec, RunId, RunSpec};

/// How a host went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Departure {
    /// It said goodbye; all that it had is in the table.
    Left,
    /// Its link broke, or nothing came from it for too long.
    Crashed,
}

/// What the coordinator says to a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToHost {
    /// Answers the hello.
    Welcome {
        /// Who the host is from now on. If that is not who it was, then all others have given it up.
        host: HostId,
        /// If it is not the one of the last welcome, then all others have given the host up meanwhile.
        incarnation: u32,
        /// Proves it at the next hello.
        secret: u64,
        /// Which grid this is.
        grid: GridId,
        /// Whom the host is to know, and itself.
        hosts: Vec<HostInfo>,
        /// Who is not in `hosts` is gone, or not to be known; false while a coordinator that was started
        /// again waits for them. Then to be answered with [`Knows`](super::ToCoordinator::Knows).
        complete: bool,
        /// Runs that are not over; all others are.
        runs: Vec<RunId>,
        /// See [`Self::Hosts`].
        epoch: u64,
    },
    /// The host may not take part; the link is closed.
    Refused {
        /// Why, in a sentence.
        reason: String,
    },
    /// Who came and who went, of those whom the host is to know.
    Hosts {
        /// Counts the departures. To be answered with [`Recovered`](super::ToCoordinator::Recovered)
        /// if anybody is gone.
        epoch: u64,
        /// Came, or changed.
        joined: Vec<HostInfo>,
        /// Went.
        gone: Vec<(HostId, Departure)>,
    },
    /// A coordinator that was started again has waited for its hosts. To be answered with
    /// [`Recovered`](super::ToCoordinator::Recovered).
    Present {
        /// See [`Self::Hosts`].
        epoch: u64,
        /// Who is there of those that the host knows; all others are gone.
        hosts: Vec<HostId>,
    },
    /// A run to take part in.
    StartRun {
        /// Which run.
        run: RunId,
        /// What it is.
        #[serde(with = "shared")]
        spec: Arc<RunSpec>,
    },
    /// The host of a run's root job, of whom a worker in the master/worker style steals.
    Master {
        /// Of which run.
        run: RunId,
        /// Who.
        host: HostId,
    },
    /// The run is over: drop all of it. To be answered with [`Stopped`](super::ToCoordinator::Stopped).
    StopRun {
        /// Which run.
        run: RunId,
    },
    /// Save what can be saved of the run, answer [`Suspended`](super::ToCoordinator::Suspended), drop it.
    SuspendRun {
        /// Which run.
        run: RunId,
    },
    /// The run's root job is this host's to run.
    Assign {
        /// Of which run.
        run: RunId,
        /// The coordinator's number.
        number: AssignmentId,
        /// Shown by the host when it comes back with the job; see [`RootClaim`](super::RootClaim).
        proof: u64,
        /// What to run.
        spec: JobSpec,
    },
    /// The root's result is stored.
    Acknowledged {
        /// Of which run.
        run: RunId,
        /// The coordinator's number.
        number: AssignmentId,
    },
    /// Entries that the host has asked for, or that came later below a job that it asked about.
    Entries {
        /// Of which run.
        run: RunId,
        /// At most `ENTRIES_PER_MESSAGE_MAX`.
        entries: Vec<Entry>,
    },
    /// All entries were sent that answer [`Find`](super::ToCoordinator::Find).
    Found {
        /// Of which run.
        run: RunId,
        /// Which job.
        key: JobKey,
    },
    /// A frame from another host.
    Relayed {
        /// From whom.
        from: HostId,
        /// The frame.
        #[serde(with = "crate::bytes")]
        frame: Vec<u8>,
    },
    /// The frame to that host could not be passed on.
    Unreachable {
        /// Whom.
        host: HostId,
    },
    /// To be answered with a pong.
    Ping {
        /// Its number.
        ping: u64,
    },
    /// The goodbye was heard; the host may end.
    Farewell,
    /// The host need not know another any more. Answered by [`Forgot`](super::ToCoordinator::Forgot).
    Forget {
        /// Counts these messages.
        ask: u64,
        /// Whom.
        host: HostId,
    },
    /// About a message that is too large for one piece.
    Parcel(ParcelMessage),
    /// The same as [`Self::Relayed`] for a chunk of a parcel, which all else overtakes.
    RelayedBulk {
        /// From whom.
        from: HostId,
        /// The frame.
        #[serde(with = "crate::bytes")]
        frame: Vec<u8>,
    },
    /// The host that had the root job before came back with it after a moment, and keeps it: this host drops its own
    /// unless that is finished. Repeated when the host says that it has it still.
    Withdraw {
        /// Of which run.
        run: RunId,
        /// The number under which the root was assigned.
        number: AssignmentId,
    },
}

/// What a run is, is one of many copies in memory, and travels like any other.
mod shared {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::RunSpec;

    pub fn serialize<S: Serializer>(spec: &Arc<RunSpec>, serializer: S) -> Result<S::Ok, S::Error> {
        (**spec).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<RunSpec>, D::Error> {
        RunSpec::deserialize(deserializer).map(Arc::new)
    }
}
