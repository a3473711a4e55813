//! What the coordinator says about runs, hosts and apps, as plain values.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::columns::percent;
use crate::exit::{Failure, GRID};

/// `value` as what it should be.
///
/// # Errors
/// When it is not, as when the coordinator is of another version.
pub fn read<T: DeserializeOwned>(value: &Value) -> Result<T, Failure> {
    T::deserialize(value).map_err(|error| Failure {
        code: GRID,
        message: format!(
            "the coordinator's answer cannot be understood ({error}); is it of the same version as this command?"
        ),
        backtrace: Vec::new(),
    })
}

/// A published app.
#[derive(Debug, Deserialize)]
pub struct App {
    pub hash: String,
    pub name: String,
    #[serde(default)]
    pub bytes: u64,
    #[serde(default)]
    pub published_at: Option<String>,
    #[serde(default)]
    pub published_by: Option<String>,
    #[serde(default)]
    pub published_from: Option<String>,
    #[serde(default)]
    pub determinism: Option<String>,
    #[serde(default)]
    pub entry_points: Vec<String>,
}

/// The app of a run.
#[derive(Debug, Deserialize)]
pub struct AppOfRun {
    pub hash: String,
    pub name: String,
}

/// A run.
#[derive(Debug, Deserialize)]
pub struct Run {
    pub run: u64,
    pub app: AppOfRun,
    pub function: String,
    #[serde(default)]
    pub arguments: Vec<String>,
    /// Hashes by name.
    #[serde(default)]
    pub inputs: Option<BTreeMap<String, String>>,
    pub state: String,
    #[serde(default)]
    pub waiting_for: Option<String>,
    #[serde(default)]
    pub submitted_at: Option<String>,
    #[serde(default)]
    pub elapsed_s: Option<f64>,
    /// How long it has waited for its start, if it has none yet.
    #[serde(default)]
    pub queued_s: Option<f64>,
    /// Whether the numbers are all: `so_far`, `final` or `partial`.
    #[serde(default)]
    pub counted: Option<String>,
    #[serde(default)]
    pub hosts: u64,
    #[serde(default)]
    pub threads: u64,
    #[serde(default)]
    pub jobs: Jobs,
    #[serde(default)]
    pub work_s: Option<f64>,
    #[serde(default)]
    pub answer_work_s: Option<f64>,
    #[serde(default)]
    pub lost_work_s: Option<f64>,
    #[serde(default)]
    pub redone_work_s: f64,
    /// For how long workers computed, in seconds of the clock.
    #[serde(default)]
    pub computed_s: f64,
    #[serde(default)]
    pub saved_work_s: Option<f64>,
    #[serde(default)]
    pub span_s: Option<f64>,
    #[serde(default)]
    pub progress: Option<Fraction>,
    #[serde(default)]
    pub error: Option<RunFailure>,
    #[serde(default)]
    pub root_host: Value,
    #[serde(default)]
    pub root_losses: u64,
    #[serde(default)]
    pub table: Option<Table>,
    #[serde(default)]
    pub by_host: Vec<HostOfRun>,
    #[serde(default)]
    pub held_up_by: Option<HoldUp>,
}

/// What became of jobs.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Jobs {
    pub spawned: u64,
    pub exposed: u64,
    pub executed: u64,
    pub stolen_local: u64,
    pub stolen: u64,
    pub stolen_wide: u64,
    /// Stolen, and lost with the hosts that had stolen them; not the root.
    pub lost: u64,
    /// Lost and begun again, each once; the root and jobs below lost ones as well.
    pub redone: u64,
    pub reused: u64,
    pub adopted: u64,
    pub recorded: u64,
    pub aborted: u64,
}

/// What keeps a run from being faster.
#[derive(Debug, Deserialize)]
pub struct HoldUp {
    /// In a sentence, with figures.
    pub text: String,
}

impl Run {
    /// Nothing can happen to it any more.
    pub fn is_over(&self) -> bool {
        matches!(self.state.as_str(), "done" | "failed" | "cancelled")
    }

    /// The app and its arguments, as one would type them.
    pub fn title(&self) -> String {
        let mut title = self.app.name.clone();
        if self.function != "main" {
            title = format!("{title} --function {}", self.function);
        }
        for argument in &self.arguments {
            title = format!("{title} {argument}");
        }
        title
    }
}

/// How far a run says that it is.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct Fraction {
    pub done: u64,
    pub total: u64,
}

impl Fraction {
    /// In percent; the number that is done where the app does not know of how many.
    pub fn short(self) -> String {
        if self.total == 0 { self.done.to_string() } else { percent(self.done as f64, self.total as f64) }
    }

    /// All of it.
    pub fn long(self) -> String {
        let Self { done, total } = self;
        if total == 0 {
            format!("{done} of an unknown total")
        } else {
            format!("{done} of {total} ({})", self.short())
        }
    }
}

/// Why a run has no result.
#[derive(Debug, Deserialize)]
pub struct RunFailure {
    pub kind: String,
    pub message: String,
    #[serde(default)]
    pub job: Option<String>,
    #[serde(default)]
    pub backtrace: Option<Vec<String>>,
}

/// The result table.
#[derive(Debug, Deserialize)]
pub struct Table {
    pub entries: u64,
    pub bytes: u64,
}

/// What one host did for a run.
#[derive(Debug, Deserialize)]
pub struct HostOfRun {
    #[serde(default)]
    pub host: Value,
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub site: String,
    #[serde(default)]
    pub there: bool,
    #[serde(default)]
    pub jobs: Jobs,
    #[serde(default)]
    pub work_s: f64,
    #[serde(default)]
    pub computed_s: f64,
    #[serde(default)]
    pub busy: u64,
    #[serde(default)]
    pub workers: u64,
}

impl HostOfRun {
    /// It has done something, and not only looked for work.
    pub fn has_computed(&self) -> bool {
        self.work_s > 0.0 || self.jobs.executed > 0
    }
}

/// A host of the grid.
#[derive(Debug, Deserialize)]
pub struct Host {
    pub id: Value,
    pub name: String,
    pub site: String,
    #[serde(default)]
    pub threads: u64,
    #[serde(default)]
    pub version: String,
    #[serde(default)]
    pub connected: bool,
    /// Why it takes no work; the coordinator may say just that it takes none.
    #[serde(default)]
    pub paused: Value,
    #[serde(default)]
    pub runs: Vec<Value>,
    #[serde(default)]
    pub busy: u64,
}

/// A job with an instance of its own.
#[derive(Debug, Deserialize)]
pub struct Node {
    pub job: Value,
    #[serde(default)]
    pub parent: Value,
    pub function: String,
    #[serde(default)]
    pub host: Value,
    #[serde(default)]
    pub host_name: Option<String>,
    pub state: String,
    /// Its function with its parameters.
    #[serde(default)]
    pub call: Option<String>,
    #[serde(default)]
    pub redone: bool,
    #[serde(default)]
    pub work_s: Option<f64>,
}

/// All that is needed to run one job again.
#[derive(Debug, Deserialize)]
pub struct JobOfRun {
    pub job: String,
    pub function: String,
    pub is_root: bool,
    pub depth: u64,
    pub parameters: Option<String>,
    pub run: u64,
    pub app: AppOfRun,
    pub entry_point: String,
    pub arguments: Vec<String>,
    pub inputs: BTreeMap<String, String>,
    pub limits: LimitsOfRun,
    pub strict_nan: bool,
}

/// Those that the run does not name are the host's.
#[derive(Debug, Default, Deserialize)]
pub struct LimitsOfRun {
    pub memory_bytes: Option<u64>,
    pub stack_bytes: Option<u64>,
    pub output_bytes: Option<u64>,
    pub shared_bytes: Option<u64>,
    pub guard_wait_ms: Option<u64>,
}

/// A run's jobs.
#[derive(Debug, Deserialize)]
pub struct Nodes {
    pub nodes: Vec<Node>,
    #[serde(default)]
    pub left_out: u64,
}

/// A part of a run's log.
#[derive(Debug, Deserialize)]
pub struct Log {
    pub lines: Vec<LogLine>,
    #[serde(default)]
    pub dropped: u64,
}

/// A line of it.
#[derive(Debug, Deserialize)]
pub struct LogLine {
    pub number: u64,
    #[serde(default)]
    pub job: String,
    pub text: String,
}

/// An identifier, which may be a number or a word.
pub fn id(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
