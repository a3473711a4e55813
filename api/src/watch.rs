//! What `/ws/watch` sends, and what pages show of a run beside its figures.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::{Host, Run, Status};

/// The topic `grid`, and `/api/v1/overview`. In a delta, `runs` and `hosts` are those that have changed.
#[derive(Debug, Clone, Serialize, Deserialize, TS, JsonSchema)]
pub struct Grid {
    /// As `/api/v1/status`.
    pub status: Status,
    /// The newest, and all that are not over; without what each host did.
    pub runs: Vec<Run>,
    /// Those that are there.
    pub hosts: Vec<Host>,
    /// Ids of hosts that are there no more.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub hosts_gone: Option<Vec<String>>,
    /// Runs that are listed no more.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub runs_gone: Option<Vec<u64>>,
    /// What somebody should look at. Always all.
    pub alerts: Vec<Alert>,
}

/// Something that somebody should look at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS, JsonSchema)]
pub struct Alert {
    /// `info`, `warn` or `error`.
    pub level: String,
    /// In a sentence.
    pub text: String,
    /// Since when.
    pub since: String,
    /// Of which run.
    pub run: Option<u64>,
    /// Of which host.
    pub host: Option<String>,
}

/// The topic `run/N`, and `/api/v1/runs/{run}/overview`. Always all of it.
#[derive(Debug, Clone, Serialize, Deserialize, TS, JsonSchema)]
pub struct RunDetails {
    /// As `/api/v1/runs/{run}`.
    pub run: Run,
    /// Jobs that ran separately, by depth, also those that the tree has no room for.
    #[serde(default)]
    pub depths: Vec<Depth>,
    /// The time that is left.
    pub remaining: Option<Remaining>,
    /// Why that cannot be said.
    pub remaining_why: Option<String>,
    /// How many workers computed, on average: their time by the run's. None where what workers did is no longer kept.
    pub mean_busy: Option<f64>,
    /// From the root down: of each job's children, that which ended last.
    #[serde(default)]
    pub critical_path: Vec<CriticalJob>,
    /// How it went.
    #[serde(default)]
    pub series: SeriesOfRun,
    /// What happened; the newest.
    #[serde(default)]
    pub events: Vec<RunEvent>,
    /// Names of its jobs.
    #[serde(default)]
    pub kinds: Vec<String>,
    /// Whether its tree, timeline, series, events and log are kept. Of old runs they are not.
    #[serde(default)]
    pub is_kept: bool,
}

/// What keeps a run from being faster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS, JsonSchema)]
pub struct HoldUp {
    /// `nothing`, `waiting`, `starved`, `sharing`, `recovery`, `straggler`, `parameters` or `parallelism`.
    #[serde(default)]
    pub kind: HoldUpKind,
    /// In a sentence, with the figures behind it.
    pub text: String,
}

/// Kinds of what holds a run up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HoldUpKind {
    /// Its workers compute.
    Nothing,
    /// It waits, or waited, for hosts, its turn, or somebody.
    Waiting,
    /// The hosts' processors do other things.
    Starved,
    /// Its hosts compute for other runs, too.
    Sharing,
    /// It computes what was lost in crashes.
    Recovery,
    /// One job, or few, while all others are done.
    Straggler,
    /// Jobs' parameters take time to travel.
    Parameters,
    /// There are fewer jobs than workers.
    Parallelism,
    /// One that only newer coordinators know. None is written.
    #[default]
    #[serde(other)]
    #[ts(skip)]
    #[schemars(skip)]
    Other,
}

/// Jobs of one depth.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS, JsonSchema)]
pub struct Depth {
    /// Spawns below the root. The last one stands for those below it, too, when there are very many.
    pub depth: u32,
    /// They run.
    pub running: u64,
    /// They have a result.
    pub done: u64,
    /// They failed, were aborted or are lost.
    pub other: u64,
}

/// How long a run may still take: a band, and what is likely within it. Past bands of nine moments in ten held.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, TS, JsonSchema)]
pub struct Remaining {
    /// At least so long, in seconds.
    pub low_s: f64,
    /// At the mean pace so far.
    pub likely_s: f64,
    /// At most.
    pub high_s: f64,
}

/// A job of the critical path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS, JsonSchema)]
pub struct CriticalJob {
    /// The beginning of its key.
    pub job: String,
    /// Its name.
    pub function: String,
    /// Processor time, descendants included, once it is done.
    pub work_s: Option<f64>,
    /// The name of its host.
    pub host: String,
    /// When it began, in milliseconds since the run was submitted.
    pub begun_ms: u32,
    /// When it ended.
    pub ended_ms: Option<u32>,
}

/// How a run went: points in time, and values at each.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS, JsonSchema)]
#[serde(default)]
pub struct SeriesOfRun {
    /// Milliseconds since the run was submitted.
    pub t_ms: Vec<u32>,
    /// Workers that computed; null, as all that follows, while the coordinator was away.
    pub busy: Vec<Option<f64>>,
    /// Workers.
    pub workers: Vec<Option<f64>>,
    /// Jobs run in a second.
    pub jobs_per_s: Vec<Option<f64>>,
    /// Jobs that were begun again in a second.
    pub redone_per_s: Vec<Option<f64>>,
}

/// What happened to a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS, JsonSchema)]
pub struct RunEvent {
    /// Counts from 1.
    pub number: u64,
    /// Milliseconds since the run was submitted.
    #[serde(default)]
    pub t_ms: u32,
    /// What.
    #[serde(default)]
    pub kind: EventKind,
    /// The host that it is about.
    pub host: Option<String>,
    /// The job that it is about.
    pub job: Option<String>,
    /// In a sentence.
    pub text: String,
}

/// Kinds of events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// Somebody submitted it.
    Submitted,
    /// A host has its root job.
    Started,
    /// A host works on it.
    HostJoined,
    /// A host left in good order.
    HostLeft,
    /// A host was given up.
    HostLost,
    /// Jobs of the tree were running at a host when it was given up. Their number is not that by which `jobs.lost` grows: that
    /// has jobs that were lent to the host, also those that it had not begun, and not the root.
    #[serde(alias = "jobs_lost")]
    JobsInterrupted,
    /// An orphan has a new owner.
    Adopted,
    /// A result came from the table.
    Reused,
    /// Its root was lost with its host.
    RootLost,
    /// A host cannot take part.
    Unable,
    /// It rests.
    Suspended,
    /// It goes on.
    Resumed,
    /// The coordinator was restarted.
    CoordinatorRestarted,
    /// It is over.
    Ended,
    /// One that only newer coordinators know. None is written.
    #[default]
    #[serde(other)]
    #[ts(skip)]
    #[schemars(skip)]
    Other,
}

/// `/api/v1/runs/{run}/timeline`, and the topic `timeline/N`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS, JsonSchema)]
pub struct Timeline {
    /// The length of a stretch.
    pub bucket_ms: u32,
    /// When the first begins, in milliseconds since the run was submitted.
    pub from_ms: u32,
    /// Workers.
    pub rows: Vec<TimelineRow>,
    /// Why nothing was done.
    pub idle_why: Vec<IdleWhy>,
}

/// What a worker did, by stretches: shares of each from 0 to 1, or null where it was not there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS, JsonSchema)]
pub struct TimelineRow {
    /// Its host's id.
    pub host: String,
    /// Its host's name.
    pub host_name: String,
    /// Its host's site.
    pub site: String,
    /// Its number there.
    pub worker: u16,
    /// It computed.
    pub work: Vec<Option<f64>>,
    /// It computed what had been lost.
    pub recover: Vec<Option<f64>>,
    /// It looked for work.
    pub steal: Vec<Option<f64>>,
    /// Jobs of its host waited for results, and there was nothing else to do.
    pub wait: Vec<Option<f64>>,
}

/// Why nothing was done for a while.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS, JsonSchema)]
pub struct IdleWhy {
    /// Milliseconds since the run was submitted.
    pub from_ms: u32,
    /// The same; none while it lasts.
    pub to_ms: Option<u32>,
    /// The host, if it is one host that did nothing.
    pub host: Option<String>,
    /// In a sentence.
    pub text: String,
}

/// What stands before the records in a frame of the topic `tree/N`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS, JsonSchema)]
pub struct TreeTable {
    /// Hosts, by the numbers that records have; absent if they are as before.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub hosts: Option<Vec<TreeHost>>,
    /// Names of jobs by kind; absent if they are as before.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub kinds: Option<Vec<String>>,
    /// Jobs that the tree keeps.
    pub shown: u64,
    /// Jobs that were begun in instances of their own.
    pub total: u64,
    /// What is not shown, as far as that is known.
    pub left_out: u64,
    /// The root's name.
    pub entry_point: String,
}

/// A host of a tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS, JsonSchema)]
pub struct TreeHost {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its site.
    pub site: String,
}
