//! Messages from the coordinator to a host.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::HostInfo;
use crate::identity::Challenge;
use crate::parcel::ParcelMessage;
use crate::{AssignmentId, Entry, GridId, HostId, JobKey, JobSpec, RunId, RunSpec};

/// How a host departed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Departure {
    /// It left in order: its results and unfinished jobs are saved.
    Left,
    /// Its link broke, or nothing came from it for too long.
    Crashed,
}

/// Messages that the coordinator sends to a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToHost {
    /// Answers the hello.
    Welcome {
        /// The host's id from now on. If it is not the id that the host had, all others have given the host up.
        host: HostId,
        /// If it is not that of the last welcome, all others have given the host up meanwhile.
        incarnation: u32,
        /// Proves the host's id in its next hello.
        secret: u64,
        /// The coordinator's grid.
        grid: GridId,
        /// The host's acquaintances, and the host itself.
        hosts: Vec<HostInfo>,
        /// Whether `hosts` is complete: all others are gone, or are not acquaintances. It is not while a restarted
        /// coordinator waits for its hosts; then the host answers with [`Knows`](super::ToCoordinator::Knows).
        complete: bool,
        /// All runs that are not over.
        runs: Vec<RunId>,
        /// See [`Self::Hosts`].
        epoch: u64,
    },
    /// The coordinator rejects the host and closes the link.
    Refused {
        /// The reason, in a sentence.
        reason: String,
    },
    /// Which of the host's acquaintances came and went.
    Hosts {
        /// Counts the departures. The host answers with [`Recovered`](super::ToCoordinator::Recovered) if `gone` is
        /// not empty.
        epoch: u64,
        /// Hosts that came, or whose data changed.
        joined: Vec<HostInfo>,
        /// Hosts that departed.
        gone: Vec<(HostId, Departure)>,
    },
    /// A restarted coordinator has finished waiting for its hosts. Answered by
    /// [`Recovered`](super::ToCoordinator::Recovered).
    Present {
        /// See [`Self::Hosts`].
        epoch: u64,
        /// The acquaintances of the host that are connected; all others are gone.
        hosts: Vec<HostId>,
    },
    /// The host is to take part in a run.
    StartRun {
        /// The run.
        run: RunId,
        /// The run's specification.
        #[serde(with = "shared")]
        spec: Arc<RunSpec>,
    },
    /// The host of a run's root job: the only victim in master/worker stealing.
    Master {
        /// The run.
        run: RunId,
        /// The host.
        host: HostId,
    },
    /// The run is over: the host drops all its data. Answered by [`Stopped`](super::ToCoordinator::Stopped).
    StopRun {
        /// The run.
        run: RunId,
    },
    /// The host is to save what it can of the run, answer with [`Suspended`](super::ToCoordinator::Suspended), and
    /// drop the run.
    SuspendRun {
        /// The run.
        run: RunId,
    },
    /// The host is to run the run's root job.
    Assign {
        /// The run.
        run: RunId,
        /// The coordinator's number.
        number: AssignmentId,
        /// Sent back by the host when it reconnects and still has the job; see [`RootClaim`](super::RootClaim).
        proof: u64,
        /// The job.
        spec: JobSpec,
    },
    /// The root's result is stored.
    Acknowledged {
        /// The run.
        run: RunId,
        /// The coordinator's number.
        number: AssignmentId,
    },
    /// Entries that the host has searched for, or that came later below a job that it searched for.
    Entries {
        /// The run.
        run: RunId,
        /// At most `ENTRIES_PER_MESSAGE_MAX`.
        entries: Vec<Entry>,
    },
    /// All entries that answer a [`Find`](super::ToCoordinator::Find) were sent.
    Found {
        /// The run.
        run: RunId,
        /// The job.
        key: JobKey,
    },
    /// A frame from another host.
    Relayed {
        /// The sender.
        from: HostId,
        /// The frame.
        #[serde(with = "crate::bytes")]
        frame: Vec<u8>,
    },
    /// A frame to this host could not be passed on.
    Unreachable {
        /// The host.
        host: HostId,
    },
    /// Answered by [`Pong`](super::ToCoordinator::Pong).
    Ping {
        /// The ping's number.
        ping: u64,
    },
    /// Answers [`Leaving`](super::ToCoordinator::Leaving): the host may exit.
    Farewell,
    /// The host need no longer know another. Answered by [`Forgot`](super::ToCoordinator::Forgot).
    Forget {
        /// Counts these messages.
        ask: u64,
        /// The host.
        host: HostId,
    },
    /// About a message that is sent as a parcel because it is large.
    Parcel(ParcelMessage),
    /// The same as [`Self::Relayed`] for a chunk of a parcel, which all other messages overtake.
    RelayedBulk {
        /// The sender.
        from: HostId,
        /// The frame.
        #[serde(with = "crate::bytes")]
        frame: Vec<u8>,
    },
    /// The host that had the root job before came back with it and keeps it: the receiver drops its root job unless
    /// that has ended. Repeated when the receiver reports that it still has the job.
    Withdraw {
        /// The run.
        run: RunId,
        /// The number under which the root was assigned.
        number: AssignmentId,
    },
    /// The first message on every link. The host's hello answers it, with a proof; the state machine does not see it.
    Challenge(Challenge),
}

/// Encodes a run's specification, which messages share in memory, by value.
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
