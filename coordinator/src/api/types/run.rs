//! Runs.

use std::collections::BTreeMap;

use sateen_protocol::coordinator::{Account, RunView};
use sateen_protocol::{Counts, FaultTolerance, HostId, Stealing};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::{HoldUp, JobCounts};
use crate::driver::HostName;

/// `POST /api/v1/runs`.
#[derive(Debug, Deserialize, TS, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Submission {
    /// A module's hash, the beginning of one, or a name.
    pub app: String,
    /// The entry point; `main` if not given.
    pub function: Option<String>,
    /// The words of the command line.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// Hashes of uploaded blobs, by name.
    #[serde(default)]
    pub inputs: BTreeMap<String, String>,
    /// What guests may use.
    #[serde(default)]
    pub limits: SubmittedLimits,
    /// How idle hosts choose victims.
    #[serde(default)]
    #[ts(type = "string")]
    #[schemars(with = "String")]
    pub stealing: Stealing,
    /// What survives a crash.
    #[serde(default)]
    #[ts(type = "string")]
    #[schemars(with = "String")]
    pub fault_tolerance: FaultTolerance,
    /// Finished work is recorded so often.
    pub record_every_ms: Option<u32>,
    /// NaNs are canonicalised by the engine.
    #[serde(default)]
    pub strict_nan: bool,
}

/// What is not given is the host's default.
#[derive(Debug, Default, Deserialize, TS, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SubmittedLimits {
    /// Linear memory of one instance.
    pub memory_bytes: Option<u64>,
    /// Stack of one instance.
    pub stack_bytes: Option<u64>,
    /// A result, a job's parameters, or an output.
    pub output_bytes: Option<u64>,
    /// The replicas of the run's shared objects at one host, together.
    pub shared_bytes: Option<u64>,
    /// How long a job's guard may be false, in milliseconds.
    pub guard_wait_ms: Option<u64>,
    /// For how long the run may be under way, in milliseconds: its root job is at a host.
    pub time_ms: Option<u64>,
    /// Processor time of its jobs at all hosts together, in milliseconds.
    pub cpu_ms: Option<u64>,
}

/// Answers a submission.
#[derive(Debug, Serialize, TS, JsonSchema)]
pub struct Submitted {
    /// The run's number.
    pub run: u64,
}

/// A run.
#[derive(Debug, Clone, Serialize, TS, JsonSchema)]
pub struct Run {
    /// Its number.
    pub run: u64,
    /// Its app.
    pub app: AppOfRun,
    /// Its entry point.
    pub function: String,
    /// The words of its command line.
    pub arguments: Vec<String>,
    /// `queued`, `running`, `suspending`, `suspended`, `done`, `failed` or `cancelled`.
    pub state: String,
    /// Why nothing happens, if nothing does.
    pub waiting_for: Option<String>,
    /// When it was submitted.
    pub submitted_at: String,
    /// When a host first began it.
    pub started_at: Option<String>,
    /// When it was over.
    pub ended_at: Option<String>,
    /// From its start to its end, or until now, in seconds. The time for which it was suspended is included; a `--time-limit`
    /// does not count that.
    pub elapsed_s: f64,
    /// How long it has waited for its start, in seconds; absent once it has started or is over.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub queued_s: Option<f64>,
    /// Hashes of its inputs, by name; absent in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub inputs: Option<BTreeMap<String, String>>,
    /// What keeps the run from being faster, or kept it; absent in lists, and where too little is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub held_up_by: Option<HoldUp>,
    /// The rest.
    #[serde(flatten)]
    pub figures: Figures,
}

/// The app of a run.
#[derive(Debug, Clone, Serialize, TS, JsonSchema)]
pub struct AppOfRun {
    /// blake3 of its bytes.
    pub hash: String,
    /// Its name when the run was submitted.
    pub name: String,
}

/// How a run goes, or went.
#[derive(Debug, Clone, Default, Serialize, Deserialize, TS, JsonSchema)]
pub struct Figures {
    /// Whether these numbers are all. `so_far`: hosts still count, until a moment after the end. `final`: all hosts that were
    /// there at the end have reported their last counts. `partial`: not all have, and what was done in the last second or so
    /// may be missing.
    #[serde(default = "Counted::before")]
    pub counted: Counted,
    /// Hosts that have computed something of it, each host process once: one that found nothing to do does not count, and one
    /// that was started again counts as another.
    pub hosts: u64,
    /// Workers of these hosts, of those that are gone as well.
    pub threads: u32,
    /// What became of its jobs.
    pub jobs: JobCounts,
    /// Steals between hosts.
    pub steals: Steals,
    /// Processor time in guests, of all hosts, in seconds. What a host did in the last half second or so before a crash is not
    /// known.
    pub work_s: f64,
    /// For how long workers computed, together, in seconds of the clock: `work_s` of it is what they got of their processors.
    /// The rest had other programs of their machines.
    #[serde(default)]
    pub computed_s: f64,
    /// Of `work_s`, what is behind the result, each job once; null until the run is over. Where results were used again so often
    /// that more is behind the answer than was ever computed, this and `lost_work_s` are null.
    #[serde(default)]
    pub answer_work_s: Option<f64>,
    /// Of `work_s`, what nobody used: lost with a host, done twice, or of jobs that were aborted; of a run without a result, all.
    /// Null until the run is over.
    #[serde(default)]
    pub lost_work_s: Option<f64>,
    /// Of `work_s`, what had been done before: work between results that are found again where a host crashed, left, paused or
    /// suspended the run, and behind the last of them for an interval of recording if it crashed, since nobody knows how far
    /// it was.
    #[serde(default)]
    pub redone_work_s: f64,
    /// Processor time behind results that were reused or adopted, in seconds, counted each time that one was: without them it
    /// would have been computed again.
    #[serde(default)]
    pub saved_work_s: f64,
    /// The longest chain of jobs that ran separately, in seconds. It depends on the number of workers and bounds nothing. Null
    /// until the run is over, and where `answer_work_s` is.
    pub span_s: Option<f64>,
    /// What the root job reports; null if nothing.
    pub progress: Option<Progress>,
    /// Why there is no result; null if there is one, or may be.
    pub error: Option<RunFailure>,
    /// The id of the host that has the root job, or had it at the end.
    pub root_host: Option<String>,
    /// How often the root job was lost with its host, which `jobs.lost` leaves out.
    pub root_losses: u32,
    /// Its result table on the coordinator.
    pub table: TableSize,
    /// Each host that took part, also of one that found nothing to do; of very many that are gone, the first to go are one.
    pub by_host: Vec<HostOfRun>,
}

/// Whether a run's numbers are all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Counted {
    /// Hosts count on: the run is not over, or was a moment ago.
    #[default]
    SoFar,
    /// The run is over, and all hosts that were there at its end have said what they counted last.
    Final,
    /// The run is over, and some of these hosts have not said that, or the coordinator was started again before they
    /// could: what was done in the last second or so may be missing.
    Partial,
}

impl Counted {
    /// Of runs that ended under an earlier version, which took no last counts.
    fn before() -> Self {
        Self::Partial
    }
}

/// Steals between hosts.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, TS, JsonSchema)]
pub struct Steals {
    /// Requests for jobs that hosts sent one another, those that gave none as well.
    pub requests: u64,
}

/// What the root job reports.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, TS, JsonSchema)]
pub struct Progress {
    /// How much is done.
    pub done: u64,
    /// Of how much; 0 if that is not known.
    pub total: u64,
}

/// Why a run has no result.
#[derive(Debug, Clone, Serialize, Deserialize, TS, JsonSchema)]
pub struct RunFailure {
    /// `job`: one panicked or trapped; `app`: the app returned an error; `input`: it refused its arguments or inputs; `limit`: a
    /// limit was exceeded; `unable`: no host could run it.
    pub kind: String,
    /// In a sentence.
    pub message: String,
    /// The job that failed.
    pub job: Option<String>,
    /// The guest's stack, innermost frame first.
    pub backtrace: Vec<String>,
}

/// A result table.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, TS, JsonSchema)]
pub struct TableSize {
    /// Its entries.
    pub entries: usize,
    /// Their size.
    pub bytes: usize,
}

/// A host that took part in a run.
#[derive(Debug, Clone, Default, Serialize, Deserialize, TS, JsonSchema)]
pub struct HostOfRun {
    /// Its id.
    pub host: String,
    /// Its name; empty when that is not known any more.
    pub name: String,
    /// Its site.
    pub site: String,
    /// Whether it is still there. One that is not has left or was given up: pages and commands call it gone.
    pub there: bool,
    /// What became of jobs there.
    pub jobs: JobCounts,
    /// Processor time in guests, in seconds.
    pub work_s: f64,
    /// For how long its workers computed, together, in seconds of the clock; see `computed_s` of the run.
    #[serde(default)]
    pub computed_s: f64,
    /// Of `work_s`, what had been done before; see `redone_work_s` of the run.
    #[serde(default)]
    pub redone_work_s: f64,
    /// Updates of shared objects that its jobs made.
    pub updates: u64,
    /// What its replicas of shared objects take, in bytes.
    pub shared_bytes: u64,
    /// Workers that compute now.
    pub busy: u32,
    /// Workers.
    pub workers: u32,
}

impl HostOfRun {
    /// What a host has counted.
    pub fn new(host: HostId, name: &HostName, there: bool, counts: &Counts) -> Self {
        Self {
            host: host.to_string(),
            name: name.name.clone(),
            site: name.site.clone(),
            there,
            jobs: counts.jobs.into(),
            work_s: seconds(counts.work_ns),
            computed_s: 0.0,
            redone_work_s: seconds(counts.redone_work_ns),
            updates: counts.updates,
            shared_bytes: counts.shared_bytes,
            busy: counts.busy,
            workers: counts.workers,
        }
    }
}

impl Figures {
    /// Of a run that is not over, with what hosts did of it.
    pub fn of_view(view: &RunView, by_host: Vec<HostOfRun>) -> Self {
        let account = Account {
            progress: view.progress(),
            root_host: view.root_host(),
            root_losses: view.root_losses(),
            table: view.table(),
            at_work: view.at_work(),
            ..Account::default()
        };
        Self::of_account(&account, &view.counts(), by_host)
    }

    /// Of a run that has ended, with what hosts did of it.
    pub fn of_account(account: &Account, counts: &Counts, by_host: Vec<HostOfRun>) -> Self {
        let (entries, bytes) = account.table;
        let mut figures = Self {
            hosts: account.at_work.hosts,
            threads: u32::try_from(account.at_work.workers).unwrap_or(u32::MAX),
            progress: account.progress.map(|(done, total)| Progress { done, total }),
            root_host: account.root_host.map(|host| host.to_string()),
            root_losses: account.root_losses,
            table: TableSize { entries, bytes },
            by_host,
            ..Self::default()
        };
        figures.jobs = counts.jobs.into();
        figures.redone_work_s = seconds(counts.redone_work_ns);
        figures.steals = Steals { requests: counts.steal_requests };
        figures.work_s = seconds(counts.work_ns);
        figures.saved_work_s = seconds(counts.saved_work_ns);
        figures
    }
}

/// Nanoseconds as seconds.
pub fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}
