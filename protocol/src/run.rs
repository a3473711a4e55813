//! A run: its specification, limits, state, end and counts.

mod dues;
mod limits;
mod share;

use std::ops::RangeInclusive;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use self::dues::{Claim, due, dues};
pub use self::limits::{LimitOutOfRange, RunLimits};
pub use self::share::{Priority, Share};
use crate::limits::{RECORD_EVERY_MS, RECORDED_PARTS, RECORDED_WORK_MIN};
use crate::{BlobHash, Finished, JobFailure, Steals, Trust};

/// How idle hosts choose victims (TOPLAS 4.1.2).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stealing {
    /// Cluster-aware random stealing: at random within the site, and at most one asynchronous request to
    /// another site.
    #[default]
    ClusterAware,
    /// At random among all hosts.
    Random,
    /// Only from the host of the root job.
    MasterWorker,
}

/// How much work survives a crash.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultTolerance {
    /// Lost jobs are redone with the help of the results in the result table; running orphans are adopted; finished
    /// work is recorded at intervals.
    #[default]
    Full,
    /// As in Satin: finished orphans are saved, unfinished ones aborted, and nothing else is recorded.
    FinishedOrphans,
    /// Lost jobs are redone whole.
    RedoOnly,
    /// For comparison: nothing is recorded and nothing looked up, as with [`Self::RedoOnly`], and hosts list stolen
    /// jobs for no longer than they must.
    Off,
}

/// One execution of an app with arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunSpec {
    /// The app's module.
    pub app: BlobHash,
    /// The entry point.
    pub function: String,
    /// The words of its command line.
    pub arguments: Vec<String>,
    /// Its inputs, by name.
    pub inputs: Vec<(String, BlobHash)>,
    /// Limits on its guests.
    pub limits: RunLimits,
    /// Whether the engine canonicalises NaNs.
    pub strict_nan: bool,
    /// How victims are chosen.
    pub stealing: Stealing,
    /// How much work survives a crash.
    pub fault_tolerance: FaultTolerance,
    /// Interval at which finished work is recorded, in milliseconds; a crash loses about this much work of each worker.
    pub record_every_ms: u32,
    /// How far hosts are trusted.
    pub trust: Trust,
    /// What it gets of hosts that have other runs, too.
    pub share: Share,
    /// Whether it uses results of its submitter's earlier runs of the same app, and its own are kept for later ones. Only runs
    /// whose results are not checked may: nobody would check those of earlier runs.
    pub reuse: bool,
}

impl RunSpec {
    /// Range of the interval at which finished work is recorded, in milliseconds. Less often than once an hour would be
    /// as good as never.
    pub const RECORD_EVERY_MS: RangeInclusive<u64> = 1..=3_600_000;

    /// A run of the app's `main` without arguments or inputs, and with the defaults of everything else.
    pub fn new(app: BlobHash) -> Self {
        Self {
            app,
            function: "main".to_owned(),
            arguments: Vec::new(),
            inputs: Vec::new(),
            limits: RunLimits::default(),
            strict_nan: false,
            stealing: Stealing::default(),
            fault_tolerance: FaultTolerance::default(),
            record_every_ms: RECORD_EVERY_MS,
            trust: Trust::default(),
            share: Share::default(),
            reuse: false,
        }
    }

    /// Minimum processor time of a result that is worth an entry, if work is recorded every `every`.
    pub fn recorded_work_min(every: Duration) -> Duration {
        RECORDED_WORK_MIN.max(every / RECORDED_PARTS)
    }

    /// The same for this run, in nanoseconds.
    pub fn recorded_work_ns_min(&self) -> u64 {
        let every = Duration::from_millis(self.record_every_ms.into());
        u64::try_from(Self::recorded_work_min(every).as_nanos()).unwrap_or(u64::MAX)
    }

    /// Distinguishes the keys of its jobs from those of the same app with other inputs, since a job may read any input.
    /// Empty without inputs, so that pure jobs are the same in all runs.
    pub fn salt(&self) -> Vec<u8> {
        if self.inputs.is_empty() {
            return Vec::new();
        }
        let mut inputs = self.inputs.clone();
        inputs.sort();
        let mut hasher = blake3::Hasher::new();
        for (name, hash) in inputs {
            hasher.update(&(name.len() as u64).to_le_bytes());
            hasher.update(name.as_bytes());
            hasher.update(&hash.0);
        }
        hasher.finalize().as_bytes().to_vec()
    }
}

/// A run's state, as the coordinator shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum RunState {
    /// It waits for a host.
    Queued,
    /// Its root job is at a host.
    Running,
    /// Hosts save their results of it.
    Suspending,
    /// No host works on it until it is resumed.
    Suspended,
    /// It has a result.
    Done,
    /// The app failed, or a limit was exceeded.
    Failed,
    /// A user cancelled it.
    Cancelled,
}

impl RunState {
    /// All states.
    pub const ALL: [Self; 7] = [
        Self::Queued,
        Self::Running,
        Self::Suspending,
        Self::Suspended,
        Self::Done,
        Self::Failed,
        Self::Cancelled,
    ];

    /// Its name in the coordinator's store, in the API and in commands.
    pub fn word(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Suspending => "suspending",
            Self::Suspended => "suspended",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// The state with this name, if there is one.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.word() == word)
    }

    /// Whether the run has ended.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Done | Self::Failed | Self::Cancelled)
    }
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum RunEnd {
    /// Its root job ended, with the encoded outcome of the entry point or with a failure.
    Finished(Finished),
    /// A limit of the run was exceeded.
    Limit(String),
    /// No host could run it.
    Unable(String),
    /// A user cancelled it.
    Cancelled,
    /// A job failed in a way that no other job can catch.
    Failed(JobFailure),
    /// Hosts do not agree on its result.
    Unverified(String),
}

/// What has happened to a run's jobs at one host so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// The counts that are also shown for a whole run.
    pub jobs: Jobs,
    /// Steal requests sent.
    pub steal_requests: u64,
    /// Processor time in guests, in nanoseconds.
    pub work_ns: u64,
    /// Processor time that reused and adopted results took, in nanoseconds: work that was not lost with a host.
    pub saved_work_ns: u64,
    /// The part of `work_ns` that repeats lost work, in nanoseconds: the work of a lost job that is begun again, until
    /// the job is as far as it was.
    pub redone_work_ns: u64,
    /// Jobs whose owner was lost while they ran.
    pub orphaned: u64,
    /// Of these, those whose results were recorded.
    pub orphans_saved: u64,
    /// Jobs that came from other hosts or from the coordinator: those begun for the first time, as far as is known,
    /// and those begun before ([`JobSpec::was_begun`](crate::JobSpec::was_begun)).
    pub held: [HeldCounts; 2],
    /// The answers to steal requests.
    pub steals: Steals,
    /// Updates of shared objects made.
    pub updates: u64,
    /// Memory of the replicas of shared objects at this host, in bytes.
    pub shared_bytes: u64,
    /// Workers that are computing now.
    pub busy: u32,
    /// Workers in all.
    pub workers: u32,
    /// Jobs that were not computed, because an earlier run has their results ([`RunSpec::reuse`]).
    pub earlier: u64,
    /// Processor time that these results took in the runs that computed them, in nanoseconds.
    pub earlier_work_ns: u64,
}

/// What happened to jobs that came from other hosts or from the coordinator.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldCounts {
    /// Jobs that were begun.
    pub begun: u64,
    /// Jobs that returned a result.
    pub done: u64,
    /// Jobs that failed.
    pub failed: u64,
    /// Jobs that were stopped because no host needed them any more.
    pub aborted: u64,
}

impl HeldCounts {
    fn add(&mut self, other: &Self) {
        self.begun = self.begun.saturating_add(other.begun);
        self.done = self.done.saturating_add(other.done);
        self.failed = self.failed.saturating_add(other.failed);
        self.aborted = self.aborted.saturating_add(other.aborted);
    }
}

impl Counts {
    /// Whether the host has computed anything for the run. A host that only asked for jobs and got none has not.
    pub fn has_computed(&self) -> bool {
        self.work_ns > 0 || self.jobs.executed > 0
    }

    /// Whether a host that reported `last` before has begun to count anew.
    pub fn began_anew_after(&self, last: &Self) -> bool {
        self.work_ns < last.work_ns
            || self.jobs.spawned < last.jobs.spawned
            || self.steal_requests < last.steal_requests
    }

    /// Adds another host's counts. Hosts may report any numbers, so the sums saturate.
    pub fn add(&mut self, other: &Self) {
        self.jobs.add(&other.jobs);
        self.steal_requests = self.steal_requests.saturating_add(other.steal_requests);
        self.work_ns = self.work_ns.saturating_add(other.work_ns);
        self.saved_work_ns = self.saved_work_ns.saturating_add(other.saved_work_ns);
        self.redone_work_ns = self.redone_work_ns.saturating_add(other.redone_work_ns);
        self.orphaned = self.orphaned.saturating_add(other.orphaned);
        self.orphans_saved = self.orphans_saved.saturating_add(other.orphans_saved);
        for (held, more) in self.held.iter_mut().zip(&other.held) {
            held.add(more);
        }
        self.steals.add(&other.steals);
        self.updates = self.updates.saturating_add(other.updates);
        self.shared_bytes = self.shared_bytes.saturating_add(other.shared_bytes);
        self.busy = self.busy.saturating_add(other.busy);
        self.workers = self.workers.saturating_add(other.workers);
        self.earlier = self.earlier.saturating_add(other.earlier);
        self.earlier_work_ns = self.earlier_work_ns.saturating_add(other.earlier_work_ns);
    }
}

/// What happened to jobs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Jobs {
    /// Jobs spawned.
    pub spawned: u64,
    /// Of these, made visible to the scheduler.
    pub exposed: u64,
    /// Jobs run, in place or as tasks of their own.
    pub executed: u64,
    /// Jobs taken by another worker of the same host.
    pub stolen_local: u64,
    /// Jobs stolen from other hosts.
    pub stolen: u64,
    /// Of these, from another site.
    pub stolen_wide: u64,
    /// Jobs that were not run because the table had their results.
    pub reused: u64,
    /// Jobs lost with thieves that crashed, of which some were run again, others reused or adopted; and those run again that
    /// thieves had which are there, and had given this host up.
    pub lost: u64,
    /// Jobs given back by thieves that left or paused, and those that thieves had begun and had no room for. The
    /// coordinator counts such root jobs.
    pub given_back: u64,
    /// Orphans that kept running and whose results were used.
    pub adopted: u64,
    /// Results recorded in case of a crash.
    pub recorded: u64,
    /// Jobs dropped or stopped because no host needed them any more.
    pub aborted: u64,
}

impl Jobs {
    /// Adds the counts of another host, or of another run.
    pub fn add(&mut self, other: &Self) {
        self.spawned = self.spawned.saturating_add(other.spawned);
        self.exposed = self.exposed.saturating_add(other.exposed);
        self.executed = self.executed.saturating_add(other.executed);
        self.stolen_local = self.stolen_local.saturating_add(other.stolen_local);
        self.stolen = self.stolen.saturating_add(other.stolen);
        self.stolen_wide = self.stolen_wide.saturating_add(other.stolen_wide);
        self.reused = self.reused.saturating_add(other.reused);
        self.lost = self.lost.saturating_add(other.lost);
        self.given_back = self.given_back.saturating_add(other.given_back);
        self.adopted = self.adopted.saturating_add(other.adopted);
        self.recorded = self.recorded.saturating_add(other.recorded);
        self.aborted = self.aborted.saturating_add(other.aborted);
    }
}

#[cfg(test)]
mod tests;
