//! Host to coordinator.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::parcel::ParcelMessage;
use crate::{AssignmentId, Counts, Entry, Finished, GridId, HostId, JobFailure, JobKey, JobTag, RunId};

/// What a host says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostReport {
    /// For people; need not be unique.
    pub name: String,
    /// Hosts of one site have low latency to each other.
    pub site: String,
    /// Workers.
    pub threads: u32,
    /// Of its software.
    pub version: String,
    /// Where hosts of the same site may reach it directly: `address:port`.
    pub direct: Option<String>,
}

/// A host as others are told of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostInfo {
    /// Which.
    pub id: HostId,
    /// What it says of itself; shared by all who are told.
    #[serde(with = "shared")]
    pub report: Arc<HostReport>,
    /// Known to it and to the receiver of this alone: with it each proves to the other who it is, on a link of
    /// their own.
    pub direct_secret: u64,
    /// Counts how often the host was given up and came back. What a peer had to do with it before it was
    /// given up is void.
    pub incarnation: u32,
}

/// A root job that a host has, with what proves that the coordinator gave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RootClaim {
    /// The run.
    pub run: RunId,
    /// The coordinator's number.
    pub number: AssignmentId,
    /// From [`ToHost::Assign`](super::ToHost::Assign).
    pub proof: u64,
}

/// What a host says to its coordinator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToCoordinator {
    /// The first message on every link.
    Hello {
        /// About the host.
        report: HostReport,
        /// Who it was before the link broke: its id, the secret that proves it, and of which grid.
        was: Option<(HostId, u64, GridId)>,
        /// The incarnation of its last welcome; counts for a coordinator that was started again.
        incarnation: u32,
        /// Root jobs that it has.
        roots: Vec<RootClaim>,
        /// Why it takes no work, if it does not.
        paused: Option<String>,
    },
    /// The run's app and inputs are loaded; the host takes part.
    Ready {
        /// Which run.
        run: RunId,
    },
    /// It cannot take part.
    Unready {
        /// In which run.
        run: RunId,
        /// Why.
        reason: String,
    },
    /// A run's root job has ended. Repeated until acknowledged.
    RootFinished {
        /// Of which run.
        run: RunId,
        /// The coordinator's number.
        number: AssignmentId,
        /// What it gave.
        finished: Finished,
    },
    /// A limit of the run was met, which ends it. Repeated until the run is over; heard from hosts that
    /// take part.
    Limit {
        /// Of which run.
        run: RunId,
        /// Which, in a sentence.
        reason: String,
    },
    /// Entries for the result table.
    Entries {
        /// Of which run.
        run: RunId,
        /// At most `ENTRIES_PER_MESSAGE_MAX`.
        entries: Vec<Entry>,
    },
    /// The entries of all orphans that the hosts gone up to `epoch` left here have been sent.
    Recovered {
        /// See [`ToHost::Hosts`](super::ToHost::Hosts).
        epoch: u64,
    },
    /// Asks for the entry of this job and for those below it.
    Find {
        /// Of which run.
        run: RunId,
        /// Which job.
        key: JobKey,
    },
    /// The host's counts of a run, which replace those it sent before.
    Counts {
        /// Of which run.
        run: RunId,
        /// Counts of a series never fall. A host begins another, with a number of its own that it never used
        /// before, when it begins the run anew.
        series: u64,
        /// So far.
        counts: Box<Counts>,
        /// What the root job reports of its progress: done, of how much.
        progress: Option<(u64, u64)>,
        /// Jobs that began or ended here, for the tree.
        notes: Vec<JobNote>,
        /// Notes that were left out because there were too many.
        notes_dropped: u64,
        /// What its first `WORKERS_REPORTED_MAX` workers did with their time since the series began, or since the host has its id,
        /// if the coordinator does not know which one it had before.
        workers: Vec<WorkerTimes>,
    },
    /// Lines of the app's log.
    Log {
        /// Of which run.
        run: RunId,
        /// The lines.
        lines: Vec<LogLine>,
    },
    /// All of the run that was here is saved; the host works on it no more.
    Suspended {
        /// Which run.
        run: RunId,
    },
    /// Whether the host takes new work.
    Paused {
        /// Why not; `None` when it does.
        reason: Option<String>,
    },
    /// All that was here is saved; the host goes.
    Leaving,
    /// A frame for another host, which the coordinator passes on unread.
    Relay {
        /// To whom.
        to: HostId,
        /// The frame.
        #[serde(with = "crate::bytes")]
        frame: Vec<u8>,
    },
    /// A peer broke the protocol.
    Misbehaved {
        /// Who.
        host: HostId,
        /// How.
        reason: String,
    },
    /// Answers a ping.
    Pong {
        /// The ping's number.
        ping: u64,
    },
    /// Answers a welcome that is not complete: whom the host knows from before the restart.
    Knows {
        /// At most `ACQUAINTANCES_MAX`.
        hosts: Vec<HostId>,
    },
    /// The host wants to be acquainted with these, which have replicas of objects that it has, too.
    Meet {
        /// At most `SHARERS_PER_MESSAGE_MAX`.
        hosts: Vec<HostId>,
    },
    /// Answers [`ToHost::Forget`](super::ToHost::Forget).
    Forgot {
        /// Its number.
        ask: u64,
        /// Who was to be forgotten.
        host: HostId,
        /// Whether that was done; not if there is something between the two.
        forgotten: bool,
    },
    /// A job of the run failed in a way that no other job can catch, which ends the run. Repeated until the
    /// run is over; heard from hosts that take part.
    Failed {
        /// Of which run.
        run: RunId,
        /// How.
        failure: JobFailure,
    },
    /// About a message that is too large for one piece.
    Parcel(ParcelMessage),
    /// The same as [`Self::Relay`] for a chunk of a parcel, which all else overtakes.
    RelayBulk {
        /// To whom.
        to: HostId,
        /// The frame.
        #[serde(with = "crate::bytes")]
        frame: Vec<u8>,
    },
    /// Answers [`ToHost::StopRun`](super::ToHost::StopRun): the host has stopped all of the run, and its [`Counts`](Self::Counts)
    /// before this message are final. Sent again, after these, when the link to the coordinator was lost.
    Stopped {
        /// Which run.
        run: RunId,
    },
}

/// What a worker has done with its time since its portion of the run began; the rest it was paused or had no
/// run. In milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerTimes {
    /// It computed.
    pub work_ms: u64,
    /// It computed what had been lost in a crash.
    pub recover_ms: u64,
    /// Nothing was there for it, and nothing of this host's waits either: it looked for work.
    pub steal_ms: u64,
    /// Jobs of this host wait for results from elsewhere, and nothing else was there for it.
    pub wait_ms: u64,
    /// There was work for it, and other runs of this host had their turn.
    pub others_ms: u64,
}

impl WorkerTimes {
    /// What a worker has done since it had done `before`.
    pub fn since(&self, before: &Self) -> Self {
        Self {
            work_ms: self.work_ms.saturating_sub(before.work_ms),
            recover_ms: self.recover_ms.saturating_sub(before.recover_ms),
            steal_ms: self.steal_ms.saturating_sub(before.steal_ms),
            wait_ms: self.wait_ms.saturating_sub(before.wait_ms),
            others_ms: self.others_ms.saturating_sub(before.others_ms),
        }
    }

    /// The same of all workers of a host; those that are not in `before` had done nothing.
    pub fn all_since(before: &[Self], workers: &[Self]) -> Vec<Self> {
        let before = before.iter().copied().chain(std::iter::repeat(Self::default()));
        workers.iter().zip(before).map(|(times, before)| times.since(&before)).collect()
    }
}

/// A line of an app's log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLine {
    /// The job in whose instance it was written, as the tree of the run has it.
    pub job: Option<JobTag>,
    /// That job's name.
    pub function: String,
    /// The line.
    pub text: String,
}

/// A job with an instance of its own, for the tree of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobNote {
    /// Which job.
    pub job: JobTag,
    /// The job above it that had an instance of its own.
    pub parent: Option<JobTag>,
    /// Its kind, as in a [`JobSpec`](crate::JobSpec).
    pub kind: u32,
    /// Spawns below the root.
    pub depth: u32,
    /// What happened.
    pub what: NoteKind,
    /// How long before it was sent, in milliseconds.
    pub ago_ms: u32,
    /// Of a job that begins, or need not, so that people can run it again: its encoded parameters, if they are no
    /// longer than `NOTED_PARAMETERS_BYTES_MAX`. The root's are in the [`RunSpec`](crate::RunSpec).
    pub parameters: Option<Vec<u8>>,
    /// Its parameters mention shared objects: it is a job of this run and of no other.
    pub shares: bool,
}

/// What happened to a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum NoteKind {
    /// A host began it.
    Begun {
        /// From whom it was stolen; `None` for the root, and for a job of the host's own.
        victim: Option<HostId>,
        /// It, or a job above it, was lost before.
        redone: bool,
        /// Which of the host's workers took it, counted from 0.
        worker: u32,
    },
    /// It has a result.
    Done {
        /// Processor time, descendants included, in nanoseconds.
        work_ns: u64,
    },
    /// It failed.
    Failed,
    /// Nobody wanted it any more.
    Aborted,
    /// It was lost with the host that ran it, and is in its owner's queue again.
    Lost,
    /// The host that ran it gave it back in peace, and it is in its owner's queue again.
    GivenBack,
    /// Its result came from the table.
    Reused,
    /// It went on running and has a new owner.
    Adopted,
}

/// A report is one of many copies in memory, and travels like any other.
mod shared {
    use std::fmt;
    use std::sync::Arc;

    use serde::de::Visitor;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::HostReport;
    use crate::frugal::ON_HEAP;

    pub fn serialize<S: Serializer>(report: &Arc<HostReport>, serializer: S) -> Result<S::Ok, S::Error> {
        (**report).serialize(serializer)
    }

    pub fn deserialize<'a, D: Deserializer<'a>>(deserializer: D) -> Result<Arc<HostReport>, D::Error> {
        deserializer.deserialize_newtype_struct(ON_HEAP, ReportVisitor).map(Arc::new)
    }

    struct ReportVisitor;

    impl<'de> Visitor<'de> for ReportVisitor {
        type Value = HostReport;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a host's report")
        }

        fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<HostReport, D::Error> {
            HostReport::deserialize(deserializer)
        }
    }
}
