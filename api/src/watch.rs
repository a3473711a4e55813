//! The data that `/ws/watch` sends, and the details of a run that pages show in addition to its figures.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::{Host, Run, Status};

/// The topic `grid`, and `/api/v1/overview`. In a delta, `runs` and `hosts` contain only those that have
/// changed.
#[derive(Debug, Clone, Serialize, Deserialize, TS, JsonSchema)]
pub struct Grid {
    /// As `/api/v1/status`.
    pub status: Status,
    /// The newest runs, and all unfinished ones; without the figures of each host.
    pub runs: Vec<Run>,
    /// The hosts in the grid.
    pub hosts: Vec<Host>,
    /// Ids of hosts that are gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub hosts_gone: Option<Vec<String>>,
    /// Runs that are no longer listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub runs_gone: Option<Vec<u64>>,
    /// Problems that need attention. Always all of them.
    pub alerts: Vec<Alert>,
    /// Maximum finished runs that are kept: the newest.
    #[serde(default)]
    pub runs_kept: u64,
    /// Time for which finished runs are kept; null for ever.
    pub runs_kept_s: Option<u64>,
}

/// A problem that needs attention.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS, JsonSchema)]
pub struct Alert {
    /// `info`, `warn` or `error`.
    pub level: String,
    /// In a sentence.
    pub text: String,
    /// When it was found: the first time that somebody asked for the alerts while it lasted.
    pub since: String,
    /// The run that it is about.
    pub run: Option<u64>,
    /// The host that it is about.
    pub host: Option<String>,
}

/// The topic `run/N`, and `/api/v1/runs/{run}/overview`. Always all of it.
#[derive(Debug, Clone, Serialize, Deserialize, TS, JsonSchema)]
pub struct RunDetails {
    /// As `/api/v1/runs/{run}`.
    pub run: Run,
    /// Jobs that ran separately or whose results were reused, by depth, including those for which the tree has no room.
    #[serde(default)]
    pub depths: Vec<Depth>,
    /// The time that is left.
    pub remaining: Option<Remaining>,
    /// Why the time left is not known.
    pub remaining_why: Option<String>,
    /// How many workers computed on average from the run's start on, the figure in `held_up_by`: never more than were in the
    /// grid. It is of the time of which anything is known, without that in which the coordinator was away, say. None if the
    /// run has not started, nothing is known of it, or the workers' times are no longer kept.
    pub mean_busy: Option<f64>,
    /// The chain from the root down: of each job's children, the one that ended last.
    #[serde(default)]
    pub critical_path: Vec<CriticalJob>,
    /// Its progress over time.
    #[serde(default)]
    pub series: SeriesOfRun,
    /// The newest events, in order of time. Hosts report some a moment later, which are then among earlier ones.
    #[serde(default)]
    pub events: Vec<RunEvent>,
    /// Names of its jobs.
    #[serde(default)]
    pub kinds: Vec<String>,
    /// Whether its tree, timeline, series, events and log are kept. For old runs they are not.
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

/// Reasons that hold a run up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HoldUpKind {
    /// Its workers compute.
    Nothing,
    /// It waits, or waited, for hosts, its turn, or a user.
    Waiting,
    /// The hosts' processors are busy with other programs.
    Starved,
    /// Its hosts compute for other runs, too.
    Sharing,
    /// Much of its work was lost with hosts, or its workers did nothing while hosts did not answer, were lost, or the
    /// coordinator was away.
    Recovery,
    /// One job, or a few, still run while all others are done.
    Straggler,
    /// Sending jobs' parameters takes time.
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
    /// Spawns below the root. If there are very many depths, the last one includes those below it.
    pub depth: u32,
    /// Jobs that run.
    pub running: u64,
    /// Jobs with a result.
    pub done: u64,
    /// Jobs that failed, were aborted or are lost.
    pub other: u64,
}

/// How long a run may still take: a range, as wide as earlier predictions for the run were wrong, and the likely time within it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS, JsonSchema)]
pub struct Remaining {
    /// `progress` if it is estimated from the progress that the app reports. `jobs` if it is estimated from the jobs spawned so far: the
    /// root may still spawn others.
    #[serde(default = "progress")]
    pub basis: String,
    /// The least time, in seconds.
    pub low_s: f64,
    /// The likely time, at the pace so far.
    pub likely_s: f64,
    /// The most time.
    pub high_s: f64,
}

fn progress() -> String {
    "progress".to_owned()
}

/// A job of the critical path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS, JsonSchema)]
pub struct CriticalJob {
    /// The beginning of its key.
    pub job: String,
    /// Its name.
    pub function: String,
    /// Processor time, including its descendants, once it is done.
    pub work_s: Option<f64>,
    /// The name of its host; with its id if an earlier process of the run had the same name.
    pub host: String,
    /// When it began, in milliseconds since the run was submitted.
    pub begun_ms: u32,
    /// When it ended.
    pub ended_ms: Option<u32>,
}

/// A run over time: points in time, and values at each.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS, JsonSchema)]
#[serde(default)]
pub struct SeriesOfRun {
    /// Milliseconds since the run was submitted.
    pub t_ms: Vec<u32>,
    /// Workers that computed, on average from the point before to this one. Hosts report some work late, and then it is
    /// added. Null, like all following values, while the coordinator was away, and after that until its hosts have had the
    /// time to return and report.
    pub busy: Vec<Option<f64>>,
    /// Workers.
    pub workers: Vec<Option<f64>>,
    /// Jobs run in a second.
    pub jobs_per_s: Vec<Option<f64>>,
    /// Jobs that were begun again in a second.
    pub redone_per_s: Vec<Option<f64>>,
}

/// An event of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS, JsonSchema)]
pub struct RunEvent {
    /// Counts from 1, in the order in which events became known, which is not always that of time. A later event of jobs at
    /// the same host and within the same second is added to this one's text.
    pub number: u64,
    /// Milliseconds since the run was submitted.
    #[serde(default)]
    pub t_ms: u32,
    /// Its kind.
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
    /// It was submitted.
    Submitted,
    /// A host has its root job.
    Started,
    /// A host works on it.
    HostJoined,
    /// A host left in good order.
    HostLeft,
    /// A host paused, and gave back its jobs.
    HostPaused,
    /// A host that had been given up is back.
    HostReturned,
    /// A host works again after a pause.
    HostResumed,
    /// A host was given up.
    HostLost,
    /// Jobs of the tree were running on a host when it was given up. `jobs.lost` may grow by another number: it counts
    /// jobs that were lent to the host, including those that it had not begun, but not the root.
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
    /// It was suspended.
    Suspended,
    /// It was resumed.
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
    /// The length of an interval.
    pub bucket_ms: u32,
    /// When the first interval begins, in milliseconds since the run was submitted.
    pub from_ms: u32,
    /// Workers.
    pub rows: Vec<TimelineRow>,
    /// Why nothing was done.
    pub idle_why: Vec<IdleWhy>,
}

/// A worker's activities in each interval: shares from 0 to 1. They are null while the worker does not take part: its host
/// is not in the grid or paused, the run is suspended, or the host has not reported yet. What is missing up to 1 is the time
/// in which the worker was idle or busy with other runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS, JsonSchema)]
pub struct TimelineRow {
    /// Its host's id.
    pub host: String,
    /// Its host's name; with its id if an earlier process of the run had the same name.
    pub host_name: String,
    /// Its host's site.
    pub site: String,
    /// Its number on the host.
    pub worker: u16,
    /// It computed.
    pub work: Vec<Option<f64>>,
    /// It looked for work for this run. A run has a worker of its own for each thread of a host, and meanwhile that of another
    /// run may have computed in its place.
    pub steal: Vec<Option<f64>>,
    /// Jobs of its host waited for results, and there was no other work.
    pub wait: Vec<Option<f64>>,
}

/// Why nothing was done for a while.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS, JsonSchema)]
pub struct IdleWhy {
    /// Milliseconds since the run was submitted.
    pub from_ms: u32,
    /// The end, in the same unit; none while it lasts.
    pub to_ms: Option<u32>,
    /// The host, if only one host did nothing.
    pub host: Option<String>,
    /// In a sentence.
    pub text: String,
}

/// The data before the records in a frame of the topic `tree/N`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS, JsonSchema)]
pub struct TreeTable {
    /// Hosts, by the numbers in records; absent if they have not changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub hosts: Option<Vec<TreeHost>>,
    /// Names of jobs by kind; absent if they have not changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub kinds: Option<Vec<String>>,
    /// Jobs that the tree keeps.
    pub shown: u64,
    /// Jobs that were begun in instances of their own.
    pub total: u64,
    /// What is not shown, as far as is known.
    pub left_out: u64,
    /// The root's name.
    pub entry_point: String,
}

/// A host of a tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS, JsonSchema)]
pub struct TreeHost {
    /// Its id.
    pub id: String,
    /// Its name; with its id if an earlier process of the run had the same name.
    pub name: String,
    /// Its site.
    pub site: String,
}
