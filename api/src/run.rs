//! Runs. Figures that a coordinator of another version may leave out are options: they are not known then, and not zero.

use std::collections::BTreeMap;

use sateen_protocol::{FaultTolerance, RunState, Stealing};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::{Checked, EarlierResults, HoldUp, JobCounts, RunTerms, SubmittedLimits};

/// `POST /api/v1/runs`.
#[derive(Debug, Clone, Serialize, Deserialize, TS, JsonSchema)]
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
    /// The limits of guests.
    #[serde(default)]
    pub limits: SubmittedLimits,
    /// How idle hosts choose victims.
    #[serde(default)]
    #[ts(type = "string")]
    #[schemars(with = "String")]
    pub stealing: Stealing,
    /// Which work survives a crash.
    #[serde(default)]
    #[ts(type = "string")]
    #[schemars(with = "String")]
    pub fault_tolerance: FaultTolerance,
    /// How often finished work is recorded.
    pub record_every_ms: Option<u32>,
    /// Whether the engine makes NaNs canonical.
    #[serde(default)]
    pub strict_nan: bool,
    /// Whether results of hosts are believed (`trust`, the default) or checked: with `quorum=N`, N owners of hosts must agree on
    /// each; N is from 2 to 5. With `audit=P`, a share P of the work of each host is drawn and computed again by another owner; P is
    /// above 0 and up to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub trust: Option<String>,
    /// Which runs of one submitter get more of the grid: `low`, `normal` (the default) or `high`, each four times as much as the
    /// one before. Runs of other submitters get what they are due anyway.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub priority: Option<String>,
    /// Whether to use results of the submitter's earlier runs of the same app, and to keep those of this run for later ones. Only
    /// if hosts are believed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[ts(optional, as = "Option<bool>")]
    pub reuse: bool,
}

/// Answers a submission.
#[derive(Debug, Clone, Serialize, Deserialize, TS, JsonSchema)]
pub struct Submitted {
    /// The run's number.
    pub run: u64,
}

/// A run.
#[derive(Debug, Clone, Serialize, Deserialize, TS, JsonSchema)]
pub struct Run {
    /// Its number.
    pub run: u64,
    /// Its app.
    pub app: AppOfRun,
    /// Its entry point.
    pub function: String,
    /// The words of its command line.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// `queued`, `running`, `suspending`, `suspended`, `done`, `failed` or `cancelled`.
    pub state: String,
    /// Why nothing happens, if nothing does, or why nothing is known of it, after a restart of the coordinator; null for runs
    /// that are over.
    pub waiting_for: Option<String>,
    /// When it was submitted.
    #[serde(default)]
    pub submitted_at: String,
    /// When a host first got its root job. It begins that at once, unless its workers compute for other runs: then
    /// `waiting_for` says so.
    pub started_at: Option<String>,
    /// When it ended.
    pub ended_at: Option<String>,
    /// Time from its start to its end, or until now, in seconds. This includes the time for which it was suspended; a
    /// `--time-limit` does not. Null if it was over before its start.
    pub elapsed_s: Option<f64>,
    /// How long it has waited for its start, in seconds; absent once it has started or is over.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub queued_s: Option<f64>,
    /// The terms on which hosts work for it.
    #[serde(flatten)]
    pub terms: RunTerms,
    /// Hashes of its inputs, by name; absent in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub inputs: Option<BTreeMap<String, String>>,
    /// What keeps the run, or kept it, from being faster; absent in lists, and if too little is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub held_up_by: Option<HoldUp>,
    /// The rest.
    #[serde(flatten)]
    pub figures: Figures,
}

/// The app of a run.
#[derive(Debug, Clone, Serialize, Deserialize, TS, JsonSchema)]
pub struct AppOfRun {
    /// blake3 of its bytes.
    pub hash: String,
    /// Its name when the run was submitted.
    pub name: String,
}

/// The figures of a run.
#[derive(Debug, Clone, Default, Serialize, Deserialize, TS, JsonSchema)]
#[serde(default)]
pub struct Figures {
    /// Whether these numbers are complete. `so_far`: hosts still count, until a moment after the end. `final`: all hosts
    /// that took part have reported their last counts. `partial`: not all have. Of a host that was given up and was not
    /// back by the end, what it counted in about the last half second is missing. Of one that did not come back after a
    /// restart of the coordinator, what it counted since its counts were saved is missing: that of about a second before
    /// the coordinator stopped, and all until the host stopped. Then what is shown after the restart may be less than
    /// before.
    #[serde(default = "Counted::before")]
    pub counted: Counted,
    /// Hosts that have computed part of it, each host process once: a host that found no work does not count, and one
    /// that was restarted counts as another.
    #[ts(as = "u64")]
    #[schemars(with = "u64")]
    pub hosts: Option<u64>,
    /// Workers of these hosts, including those that are gone.
    #[ts(as = "u32")]
    #[schemars(with = "u32")]
    pub threads: Option<u32>,
    /// What became of its jobs.
    pub jobs: JobCounts,
    /// Steals between hosts.
    pub steals: Steals,
    /// Processor time in guests, of all hosts, in seconds. The work of a host in about the last half second before a
    /// crash is not known.
    #[ts(as = "f64")]
    #[schemars(with = "f64")]
    pub work_s: Option<f64>,
    /// Wall-clock time for which workers computed, summed over all workers, in seconds. For `work_s` of it they had a
    /// processor; for the rest, other programs of their machines had it.
    #[ts(as = "f64")]
    #[schemars(with = "f64")]
    pub computed_s: Option<f64>,
    /// The part of `work_s` that led to the result, each job once; null until the run is over, and without a result. If results were reused
    /// so often that the result stands for more work than was ever computed, or leaves no room for work that was done
    /// again, this and `lost_work_s` are null. So are they if a host did not come back after a restart of the coordinator:
    /// what it did in its last moments may be missing in `work_s`; and if jobs were lost in a run that used results of earlier
    /// runs.
    pub answer_work_s: Option<f64>,
    /// The part of `work_s` that was not used: work lost with a host, done twice, or of aborted jobs; for a run without
    /// a result, all of it. Null until the run is over.
    pub lost_work_s: Option<f64>,
    /// The longest chain of jobs that ran separately, in seconds. It depends on the number of workers and is not a
    /// bound. Null until the run is over, if `answer_work_s` is null, and if the run used results of earlier runs.
    pub span_s: Option<f64>,
    /// The progress that the root job reports; null if none. Of a run that is done, all of it.
    pub progress: Option<Progress>,
    /// Why there is no result; null if there is one, or may be one later.
    pub error: Option<RunFailure>,
    /// The id of the host that has the root job, or had it at the end.
    pub root_host: Option<String>,
    /// How often the root job was lost with its host, which `jobs.lost` leaves out. A loss before the host could
    /// begin the job cannot be distinguished, and counts too.
    pub root_losses: u32,
    /// Its result table on the coordinator.
    #[ts(as = "TableSize")]
    #[schemars(with = "TableSize")]
    pub table: Option<TableSize>,
    /// How its results are checked, or were; null if hosts are trusted, and of a run that has not ended and is not given to hosts.
    pub checked: Option<Checked>,
    /// Results of earlier runs that it used; null of a run without `reuse`.
    pub earlier: Option<EarlierResults>,
    /// Each host that took part, including hosts that found no work. If very many are gone, the first of these are
    /// combined into one.
    pub by_host: Vec<HostOfRun>,
}

/// Whether a run's numbers are complete.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Counted {
    /// Hosts still count: the run is not over, or ended a moment ago.
    #[default]
    SoFar,
    /// The run is over, and all hosts that took part have reported their last counts.
    Final,
    /// The run is over, and some of them have not: they were given up and not back by its end, did not come back after a
    /// restart of the coordinator, or it was restarted before they could. Kinds that only newer coordinators know are read
    /// as this.
    #[serde(other)]
    Partial,
}

impl Counted {
    /// For runs that ended under an earlier version, which did not collect last counts.
    fn before() -> Self {
        Self::Partial
    }
}

/// Steals between hosts.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, TS, JsonSchema)]
pub struct Steals {
    /// Requests for jobs that hosts sent one another, including those without success.
    pub requests: u64,
}

/// The progress that the root job reports.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, TS, JsonSchema)]
pub struct Progress {
    /// How much is done.
    pub done: u64,
    /// The total; 0 if it is not known.
    pub total: u64,
}

/// Why a run has no result.
#[derive(Debug, Clone, Serialize, Deserialize, TS, JsonSchema)]
pub struct RunFailure {
    /// `job`: a job panicked or trapped; `app`: the app returned an error; `input`: the app refused its arguments or
    /// inputs; `limit`: a limit was exceeded; `unable`: no host could run it; `unverified`: hosts do not agree on a result;
    /// `cancelled`: it was cancelled.
    pub kind: String,
    /// In a sentence.
    pub message: String,
    /// The job that failed.
    pub job: Option<String>,
    /// The guest's stack, innermost frame first.
    #[serde(default)]
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
#[serde(default)]
pub struct HostOfRun {
    /// Its id.
    pub host: String,
    /// Its name; empty if it is not known any more.
    pub name: String,
    /// Its site.
    pub site: String,
    /// Whether it is still in the grid. If not, it has left or was given up: pages and commands call it gone.
    pub there: bool,
    /// Whether it is awaited: its link is broken, or it has not come back since the coordinator was restarted. It is given up
    /// unless it reconnects soon; until then, `workers` is what it last reported, and `busy` is null. False once the run is over.
    pub away: bool,
    /// What became of jobs there.
    pub jobs: JobCounts,
    /// Processor time in guests, in seconds.
    #[ts(as = "f64")]
    #[schemars(with = "f64")]
    pub work_s: Option<f64>,
    /// Wall-clock time for which its workers computed, summed over them, in seconds; see `computed_s` of the run.
    pub computed_s: f64,
    /// Updates of shared objects that its jobs made.
    pub updates: u64,
    /// Size of its replicas of shared objects, in bytes.
    pub shared_bytes: u64,
    /// Workers that compute now, for the run or to check its results; null if that is not known: the host has not reported since it was given the run or came
    /// back after a restart of the coordinator, or it is `silent` or `away`.
    pub busy: Option<u32>,
    /// Workers.
    pub workers: u32,
}

impl HostOfRun {
    /// Whether the host has computed any part of the run. A host that only asked for jobs, and got none, has
    /// not.
    pub fn has_computed(&self) -> bool {
        self.work_s.is_some_and(|work_s| work_s > 0.0) || self.jobs.executed > 0
    }
}

impl Run {
    /// Whether the state is final; false for a state that only newer coordinators know.
    pub fn is_over(&self) -> bool {
        RunState::parse(&self.state).is_some_and(RunState::is_over)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn run(state: &str) -> Run {
        let app = AppOfRun { hash: "ab".to_owned(), name: "fib".to_owned() };
        Run {
            run: 7,
            app,
            function: "main".to_owned(),
            arguments: Vec::new(),
            state: state.to_owned(),
            waiting_for: None,
            submitted_at: String::new(),
            started_at: None,
            ended_at: None,
            elapsed_s: Some(0.0),
            queued_s: None,
            terms: RunTerms::default(),
            inputs: None,
            held_up_by: None,
            figures: Figures::default(),
        }
    }

    #[test]
    fn a_run_is_over_in_the_states_of_the_protocol_that_are() {
        for state in RunState::ALL {
            assert_eq!(run(state.word()).is_over(), state.is_over(), "{state:?}");
        }
        assert!(!run("").is_over() && !run("dreaming").is_over());
    }

    #[test]
    fn a_written_value_is_read_again() {
        let written = json!(run("done"));
        let read: Run = serde_json::from_value(written.clone()).expect("it is a run");
        assert_eq!(json!(read), written);
        assert_eq!(written["counted"], "so_far");
    }

    #[test]
    fn a_run_of_an_older_coordinator_has_the_usual_priority_and_no_known_share() {
        let mut written = json!(run("running"));
        let fields = written.as_object_mut().expect("an object");
        assert_eq!(
            (fields.remove("priority"), fields.remove("share")),
            (Some(json!("normal")), Some(Value::Null))
        );
        let read: Run = serde_json::from_value(written).expect("it is a run");
        assert_eq!(read.terms, RunTerms::default());
    }

    #[test]
    fn a_submission_may_name_its_app_alone_and_nothing_that_is_not_known() {
        let submission: Submission = serde_json::from_value(json!({"app": "fib"})).expect("it is enough");
        assert_eq!(submission.limits, SubmittedLimits::default());
        assert_eq!((submission.function, submission.record_every_ms, submission.trust), (None, None, None));
        assert_eq!(submission.priority, None);
        let newer = json!({"app": "fib", "colour": 3});
        assert!(serde_json::from_value::<Submission>(newer).is_err());
    }

    #[test]
    fn figures_that_were_not_counted_to_the_end_are_partial() {
        let counted =
            |value: Value| serde_json::from_value::<Figures>(value).map(|figures| figures.counted).ok();
        assert_eq!(counted(json!({})), Some(Counted::Partial));
        assert_eq!(counted(json!({"counted": "final"})), Some(Counted::Final));
        assert_eq!(counted(json!({"counted": "only newer versions know"})), Some(Counted::Partial));
    }

    #[test]
    fn a_host_that_only_asked_has_not_computed() {
        let mut host = HostOfRun { busy: Some(1), ..HostOfRun::default() };
        assert!(!host.has_computed());
        host.jobs.executed = 1;
        assert!(
            host.has_computed() && HostOfRun { work_s: Some(0.1), ..HostOfRun::default() }.has_computed()
        );
    }
}
