//! Messages from a host to the coordinator.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::identity::{Proof, PublicKey};
use crate::parcel::ParcelMessage;
use crate::{AssignmentId, Counts, Entry, Finished, GridId, HostId, JobFailure, JobKey, JobTag, RunId, Unit};

/// A host's description of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostReport {
    /// The host's name, for people; need not be unique.
    pub name: String,
    /// The host's site; hosts of one site have low latency to each other.
    pub site: String,
    /// The number of workers.
    pub threads: u32,
    /// The version of its software.
    pub version: String,
    /// Where hosts of the same site can reach it directly, as `address:port`.
    pub direct: Option<String>,
    /// Its key. The reader of its link has checked that the host holds the secret part.
    pub key: PublicKey,
}

/// A host, as it is described to others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostInfo {
    /// The host's id.
    pub id: HostId,
    /// Its description of itself; all messages about it share one copy.
    #[serde(with = "shared")]
    pub report: Arc<HostReport>,
    /// How often the host was given up and came back. Loans and requests between it and a peer from before it was given
    /// up are void.
    pub incarnation: u32,
}

/// A root job that a host has, with the proof that the coordinator assigned it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RootClaim {
    /// The run.
    pub run: RunId,
    /// The coordinator's number.
    pub number: AssignmentId,
    /// From [`ToHost::Assign`](super::ToHost::Assign).
    pub proof: u64,
}

/// Messages that a host sends to its coordinator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToCoordinator {
    /// The first message on every link. [`Self::Proof`] follows in the same frame.
    Hello {
        /// The host's description.
        report: HostReport,
        /// The host's identity before the link broke: its id, the secret that proves it, and its grid.
        was: Option<(HostId, u64, GridId)>,
        /// The incarnation of its last welcome; a restarted coordinator continues with it.
        incarnation: u32,
        /// The root jobs that it has.
        roots: Vec<RootClaim>,
        /// Why it takes no work; `None` if it does.
        paused: Option<String>,
    },
    /// The run's app and inputs are loaded; the host takes part.
    Ready {
        /// The run.
        run: RunId,
    },
    /// The host cannot take part in the run.
    Unready {
        /// The run.
        run: RunId,
        /// The reason.
        reason: String,
    },
    /// A run's root job has ended. Repeated until acknowledged.
    RootFinished {
        /// The run.
        run: RunId,
        /// The coordinator's number.
        number: AssignmentId,
        /// Its result or failure.
        finished: Finished,
    },
    /// A limit of the run was exceeded, which ends the run. Repeated until the run is over. Only accepted from hosts
    /// that take part.
    Limit {
        /// The run.
        run: RunId,
        /// The limit, in a sentence.
        reason: String,
    },
    /// Entries for the result table.
    Entries {
        /// The run.
        run: RunId,
        /// At most `ENTRIES_PER_MESSAGE_MAX`.
        entries: Vec<Entry>,
    },
    /// The host has sent the entries of all its orphans whose owners departed up to `epoch`.
    Recovered {
        /// See [`ToHost::Hosts`](super::ToHost::Hosts).
        epoch: u64,
    },
    /// Asks for the entry of this job and for those below it.
    Find {
        /// The run.
        run: RunId,
        /// The job.
        key: JobKey,
    },
    /// The host's counts of a run, which replace those it sent before.
    Counts {
        /// The run.
        run: RunId,
        /// Counts of a series never fall. When a host begins the run anew, it begins another series, under a number
        /// that it never used before.
        series: u64,
        /// The counts so far.
        counts: Box<Counts>,
        /// The progress that the root job reports: the amount done, and the total.
        progress: Option<(u64, u64)>,
        /// The work that is ahead here, of the jobs that have been spawned so far, as far as the host can tell, in nanoseconds of
        /// processor time.
        ahead_ns: Option<u64>,
        /// Jobs that began or ended here, for the tree.
        notes: Vec<JobNote>,
        /// Notes that were left out because there were too many.
        notes_dropped: u64,
        /// How its first `WORKERS_REPORTED_MAX` workers have spent their time since the series began, or since the host
        /// got its id, if the coordinator does not know its earlier one.
        workers: Vec<WorkerTimes>,
    },
    /// Lines of the app's log.
    Log {
        /// The run.
        run: RunId,
        /// The lines.
        lines: Vec<LogLine>,
    },
    /// The host has saved its part of the run and no longer works on it.
    Suspended {
        /// The run.
        run: RunId,
    },
    /// The host has paused, or takes work again.
    Paused {
        /// Why it takes no work; `None` if it does.
        reason: Option<String>,
    },
    /// The host has saved everything and leaves. Answered by [`ToHost::Farewell`](super::ToHost::Farewell).
    Leaving,
    /// A frame for another host, which the coordinator passes on unread.
    Relay {
        /// The receiver.
        to: HostId,
        /// The frame.
        #[serde(with = "crate::bytes")]
        frame: Vec<u8>,
    },
    /// A peer broke the protocol.
    Misbehaved {
        /// The peer.
        host: HostId,
        /// What it did wrong.
        reason: String,
    },
    /// Answers [`ToHost::Ping`](super::ToHost::Ping).
    Pong {
        /// The ping's number.
        ping: u64,
    },
    /// Answers a welcome that is not complete, with the hosts that the sender knows from before the restart.
    Knows {
        /// At most `ACQUAINTANCES_MAX`.
        hosts: Vec<HostId>,
    },
    /// The host asks to be introduced to others that have replicas of the same objects.
    Meet {
        /// At most `SHARERS_PER_MESSAGE_MAX`.
        hosts: Vec<HostId>,
    },
    /// Answers [`ToHost::Forget`](super::ToHost::Forget).
    Forgot {
        /// The number of that message.
        ask: u64,
        /// The host that was to be forgotten.
        host: HostId,
        /// Whether it was forgotten; false if loans or requests connect the two.
        forgotten: bool,
    },
    /// A job of the run failed in a way that no other job can catch, which ends the run. Repeated until the run is
    /// over. Only accepted from hosts that take part.
    Failed {
        /// The run.
        run: RunId,
        /// The job's failure.
        failure: JobFailure,
    },
    /// About a message that is sent as a parcel because it is large.
    Parcel(ParcelMessage),
    /// The same as [`Self::Relay`] for a chunk of a parcel, which all other messages overtake.
    RelayBulk {
        /// The receiver.
        to: HostId,
        /// The frame.
        #[serde(with = "crate::bytes")]
        frame: Vec<u8>,
    },
    /// Answers [`ToHost::StopRun`](super::ToHost::StopRun): the host has stopped the run, and the
    /// [`Counts`](Self::Counts) that it sent before are final. After the link to the coordinator was lost, it sends
    /// both again in this order.
    Stopped {
        /// The run.
        run: RunId,
    },
    /// The host's guests stand still for a moment and keep their jobs, or compute again. Only for people: nothing follows
    /// from it. It is sent again after each welcome, so one that is lost is corrected by the next.
    Holds {
        /// Why they stand still; `None` if they compute.
        reason: Option<String>,
    },
    /// Proves the hello before it. The reader of the link checks it, and the state machine does not see it.
    Proof(Proof),
    /// What the host has computed of a run whose results are checked. All units of the run are sent again after each welcome; if
    /// one is lost all the same, it is computed again when the job above it is checked.
    Unit {
        /// The run.
        run: RunId,
        /// The unit.
        unit: Box<Unit>,
    },
}

/// How a worker has spent its time since its portion of the run began, in milliseconds. For the rest of the time it was
/// paused or had no run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerTimes {
    /// Time for which it computed.
    pub work_ms: u64,
    /// Time for which it repeated work that was lost in a crash.
    pub recover_ms: u64,
    /// Time for which it looked for work while no job of this host waited for results either.
    pub steal_ms: u64,
    /// Time for which it had no work while jobs of this host waited for results from other hosts.
    pub wait_ms: u64,
    /// Time for which it had work, but other runs of this host had their turn.
    pub others_ms: u64,
}

impl WorkerTimes {
    /// All of these times together.
    pub fn all_ms(&self) -> u64 {
        let times = [self.work_ms, self.recover_ms, self.steal_ms, self.wait_ms, self.others_ms];
        times.into_iter().fold(0, u64::saturating_add)
    }

    /// The times since `before`.
    pub fn since(&self, before: &Self) -> Self {
        Self {
            work_ms: self.work_ms.saturating_sub(before.work_ms),
            recover_ms: self.recover_ms.saturating_sub(before.recover_ms),
            steal_ms: self.steal_ms.saturating_sub(before.steal_ms),
            wait_ms: self.wait_ms.saturating_sub(before.wait_ms),
            others_ms: self.others_ms.saturating_sub(before.others_ms),
        }
    }

    /// The same for all workers of a host; workers that are missing in `before` had spent no time.
    pub fn all_since(before: &[Self], workers: &[Self]) -> Vec<Self> {
        let before = before.iter().copied().chain(std::iter::repeat(Self::default()));
        workers.iter().zip(before).map(|(times, before)| times.since(&before)).collect()
    }
}

/// A line of an app's log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLine {
    /// The job in whose instance the line was written, as identified in the run's tree.
    pub job: Option<JobTag>,
    /// That job's name.
    pub function: String,
    /// The line.
    pub text: String,
}

/// A job with an instance of its own, for the tree of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobNote {
    /// The job.
    pub job: JobTag,
    /// The nearest job above it that had an instance of its own.
    pub parent: Option<JobTag>,
    /// Its kind, as in a [`JobSpec`](crate::JobSpec).
    pub kind: u32,
    /// Number of spawns between the root and the job.
    pub depth: u32,
    /// What happened.
    pub what: NoteKind,
    /// Time from the event to the sending of the note, in milliseconds.
    pub ago_ms: u32,
    /// For a job that was begun, reused or adopted: its encoded parameters, so that people can run it again, if they
    /// are no longer than `NOTED_PARAMETERS_BYTES_MAX`. The root's are in the [`RunSpec`](crate::RunSpec).
    pub parameters: Option<Vec<u8>>,
    /// Whether its parameters mention shared objects, which makes it a job of this run only.
    pub shares: bool,
}

/// What happened to a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum NoteKind {
    /// A host began it.
    Begun {
        /// The host from which it was stolen; `None` for the root, and for the host's own jobs.
        victim: Option<HostId>,
        /// Whether it, or a job above it, was lost before.
        redone: bool,
        /// The host's worker that took it, counted from 0.
        worker: u32,
    },
    /// It has a result.
    Done {
        /// Processor time, descendants included, in nanoseconds.
        work_ns: u64,
    },
    /// It failed.
    Failed,
    /// It was stopped because no host needed it any more.
    Aborted,
    /// It was lost with the host that ran it, and is in its owner's queue again.
    Lost,
    /// The host that ran it gave it back in order, and it is in its owner's queue again.
    GivenBack,
    /// Its result came from the table.
    Reused,
    /// It was an orphan that kept running, and has a new owner.
    Adopted,
}

/// Encodes a report, which messages share in memory, by value.
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
