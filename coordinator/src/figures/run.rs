//! The figures of a run. The API shows them, the store saves them.
//!
//! They are saved as JSON of these types, which `store/pinned.txt` pins: a new field needs a
//! default, for folders that lack it. Where one of these types has the same fields as a type of the API, that is a
//! coincidence and may change on either side.

use sateen_protocol::HostId;
use sateen_protocol::coordinator::LONG_GONE;
use serde::{Deserialize, Serialize};

use super::JobCounts;
use crate::saved_id;

/// The figures of a run.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Figures {
    /// Whether they are complete.
    #[serde(default = "Counted::before")]
    pub counted: Counted,
    /// Hosts that have computed part of it.
    pub hosts: u64,
    /// The workers of these hosts.
    pub threads: u32,
    /// Counts of its jobs.
    pub jobs: JobCounts,
    /// Steals between hosts.
    pub steals: Steals,
    /// Its times.
    #[serde(flatten)]
    pub times: Times,
    /// The progress that the root job reports, if it does.
    pub progress: Option<Progress>,
    /// Why it has no result.
    pub error: Option<RunFailure>,
    /// The host that has the root job, or had it at the end.
    #[serde(with = "saved_id::option")]
    pub root_host: Option<HostId>,
    /// How often the root job was lost with its host.
    pub root_losses: u32,
    /// The size of its result table.
    pub table: TableSize,
    /// How its results were checked; none if hosts were trusted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checked: Option<Checked>,
    /// Results of earlier runs that it used.
    pub earlier: EarlierResults,
    /// Each host that took part.
    pub by_host: Vec<HostFigures>,
}

/// Results of earlier runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct EarlierResults {
    /// Jobs that were not computed because of them.
    pub jobs: u64,
    /// Processor time that they took in those runs, in seconds.
    pub work_s: f64,
}

/// How a run's results were checked.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Checked {
    /// Its root has a result, which is being checked. Not for runs that are over.
    #[serde(skip)]
    pub is_checking: bool,
    /// Units that its result was made of.
    pub units: u64,
    /// Of these, units whose outcome is verified.
    pub units_checked: u64,
    /// The share of work in these; none if there was no work.
    pub work_share: Option<f64>,
    /// How often a unit was computed again.
    pub checks: u64,
    /// The processor time that this took, in seconds.
    pub work_s: f64,
    /// Hosts that gave a wrong result.
    pub barred: Vec<Barred>,
    /// For an audit, owners that contributed and had no standing before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub without_standing: Option<u64>,
    /// For an audit, how probably hosts that lied were found.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub caught: Vec<Caught>,
}

/// How probably a host was found that lied about one of this many of its units.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Caught {
    /// About one in this number.
    pub one_in: u32,
    /// From 0 to 1.
    pub probability: f64,
}

/// A host that gave a wrong result.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Barred {
    /// Its id.
    #[serde(with = "saved_id")]
    pub host: HostId,
    /// Its key.
    pub key: String,
}

/// The times of a run, in seconds of processor time unless noted otherwise.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Times {
    /// All work of its guests.
    pub work_s: f64,
    /// How long all workers together computed, in seconds of the clock.
    pub computed_s: f64,
    /// The part of `work_s` behind the result; not known before the end, nor if results were used repeatedly.
    pub answer_work_s: Option<f64>,
    /// The part of `work_s` that did not contribute to the result; not known in the same cases.
    pub lost_work_s: Option<f64>,
    /// What hosts took for the part of `work_s` that had been done before. It is too uncertain to be shown.
    pub redone_work_s: f64,
    /// The work behind results that were found and not computed again, with each use: it may exceed `work_s`.
    pub saved_work_s: f64,
    /// The longest chain of jobs, if `answer_work_s` is known.
    pub span_s: Option<f64>,
}

/// Whether a run's figures are complete.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Counted {
    /// Hosts are still counting.
    #[default]
    SoFar,
    /// All hosts that took part have sent their last counts.
    Final,
    /// Some of them have not. Values that only newer versions know are read as this.
    #[serde(other)]
    Partial,
}

impl Counted {
    /// For runs that ended when last counts were not collected yet.
    fn before() -> Self {
        Self::Partial
    }
}

/// What hosts that are away have counted and not reported.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Untold {
    /// Nothing.
    #[default]
    Nothing,
    /// What they counted in the last moment before they were lost.
    LastMoment,
    /// What they counted since the coordinator last saved their counts before it stopped: a moment, and the time for which
    /// they ran without it.
    SinceSaved,
}

/// Steals between hosts.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct Steals {
    /// Requests for jobs.
    pub requests: u64,
}

/// The progress that the root job reports.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Progress {
    /// The part that is done.
    pub done: u64,
    /// The total; 0 if it is not known.
    pub total: u64,
}

/// The size of a result table.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct TableSize {
    /// Its entries.
    pub entries: usize,
    /// Their bytes.
    pub bytes: usize,
}

/// Why a run has no result.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RunFailure {
    /// The kind of failure.
    pub kind: FailureKind,
    /// The reason in a sentence.
    pub message: String,
    /// The name of the job that failed.
    pub job: Option<String>,
    /// The guest's stack, innermost frame first.
    #[serde(default)]
    pub backtrace: Vec<String>,
}

/// Kinds of failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// A job panicked or trapped.
    Job,
    /// The app returned an error.
    App,
    /// The app refused its arguments or inputs.
    Input,
    /// A limit was exceeded.
    Limit,
    /// No host could run it.
    Unable,
    /// Hosts did not agree on a result.
    Unverified,
    /// It was cancelled.
    Cancelled,
    /// A kind that only newer versions know.
    #[serde(other)]
    Other,
}

impl FailureKind {
    /// As it is shown.
    pub fn word(self) -> &'static str {
        match self {
            Self::Job => "job",
            Self::App => "app",
            Self::Input => "input",
            Self::Limit => "limit",
            Self::Unable => "unable",
            Self::Unverified => "unverified",
            Self::Cancelled => "cancelled",
            Self::Other => "other",
        }
    }
}

/// A host's figures of a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default)]
pub struct HostFigures {
    /// Its id; hosts that went long ago are added up as [`LONG_GONE`].
    #[serde(with = "saved_id")]
    pub host: HostId,
    /// Its name; empty if it is no longer known.
    pub name: String,
    /// Its site.
    pub site: String,
    /// Whether it is still connected.
    #[serde(rename = "there")]
    pub is_there: bool,
    /// Whether it is awaited: its link is broken, or it has not come back since a restart. Not for runs that are over.
    #[serde(skip)]
    pub is_away: bool,
    /// What became of jobs there.
    pub jobs: JobCounts,
    /// Processor time in guests, in seconds.
    pub work_s: f64,
    /// How long its workers together computed, in seconds of the clock.
    pub computed_s: f64,
    /// Updates of shared objects that its jobs made.
    pub updates: u64,
    /// The size of its replicas of shared objects, in bytes.
    pub shared_bytes: u64,
    /// Workers that are computing; none while the host has not reported that.
    pub busy: Option<u32>,
    /// Workers.
    pub workers: u32,
}

impl HostFigures {
    /// Figures of a host that has done nothing.
    pub fn of(host: HostId) -> Self {
        Self {
            host,
            name: String::new(),
            site: String::new(),
            is_there: false,
            is_away: false,
            jobs: JobCounts::default(),
            work_s: 0.0,
            computed_s: 0.0,
            updates: 0,
            shared_bytes: 0,
            busy: Some(0),
            workers: 0,
        }
    }
}

impl Default for HostFigures {
    fn default() -> Self {
        Self::of(LONG_GONE)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn figures_with_unknown_completeness_are_partial() {
        let counted =
            |value: Value| serde_json::from_value::<Figures>(value).map(|figures| figures.counted).ok();
        assert_eq!(counted(json!({})), Some(Counted::Partial));
        assert_eq!(counted(json!({"counted": "final"})), Some(Counted::Final));
        assert_eq!(counted(json!({"counted": "only newer versions know"})), Some(Counted::Partial));
    }

    #[test]
    fn figures_of_other_versions_are_read() {
        let by_host = json!([{"host": "h1", "redone_work_s": 0.5}]);
        let older = json!({"work_s": 2.5, "jobs": {"executed": 7}, "by_host": by_host});
        let figures: Figures = serde_json::from_value(older).expect("they are figures");
        assert_eq!((figures.times.work_s, figures.jobs.of_hosts.executed), (2.5, 7));
        assert_eq!(figures.by_host.iter().map(|row| row.host).collect::<Vec<_>>(), [HostId(1)]);
        let newer = json!({"error": {"kind": "mood", "message": "no", "job": null, "when": 7}, "mood": 1});
        let figures: Figures = serde_json::from_value(newer).expect("they are figures");
        assert_eq!(figures.error.map(|error| error.kind), Some(FailureKind::Other));
    }

    #[test]
    fn kinds_of_failures_are_saved_under_the_names_that_are_shown() {
        use FailureKind::{App, Cancelled, Input, Job, Limit, Unable, Unverified};
        for kind in [Job, App, Input, Limit, Unable, Unverified, Cancelled] {
            assert_eq!(json!(kind), kind.word());
        }
    }
}
