//! Jobs and trees of them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::{AppOfRun, RunLimits};

/// `/api/v1/runs/{run}/tree`.
#[derive(Debug, Clone, Serialize, Deserialize, TS, JsonSchema)]
pub struct Tree {
    /// Jobs that had an instance of their own, in the order in which they became known, until there is no room
    /// for more; from then on, new jobs replace some that have ended.
    pub nodes: Vec<Node>,
    /// The number of jobs that it does not show.
    #[serde(default)]
    pub left_out: u64,
}

/// A job of a tree.
#[derive(Debug, Clone, Serialize, Deserialize, TS, JsonSchema)]
pub struct Node {
    /// The beginning of its key.
    pub job: String,
    /// The job above it.
    pub parent: Option<String>,
    /// Its name.
    pub function: String,
    /// Its name with its parameters as Rust would write them, shortened if they are long; if they are known and the
    /// module describes their encoding.
    pub call: Option<String>,
    /// Spawns below the root.
    #[serde(default)]
    pub depth: u32,
    /// The host that has it, or had it last.
    #[serde(default)]
    pub host: String,
    /// That host's name; with its id if an earlier process of the run had the same name.
    #[serde(default)]
    pub host_name: String,
    /// `running`, `done`, `failed`, `aborted`, `lost`, `given back`, `reused` or `adopted`. A lost job was lost with its host. A job is
    /// given back when its host leaves or pauses, or its run is suspended. Neither is at a host any more.
    pub state: String,
    /// Whether it was lost with a host, and begun again.
    #[serde(default)]
    pub redone: bool,
    /// Processor time, including its descendants, once it is done.
    pub work_s: Option<f64>,
    /// When it began, in milliseconds since the run was submitted.
    #[serde(default)]
    pub begun_ms: u32,
    /// When it ended.
    pub ended_ms: Option<u32>,
    /// The number of the host's worker that took it.
    pub worker: Option<u16>,
    /// The number of jobs below it that the tree does not show, because it had no room for them or they have
    /// made room for others.
    #[serde(default)]
    pub rolled: u32,
}

/// `/api/v1/jobs/{key}`: everything needed to run one job again.
#[derive(Debug, Clone, Serialize, Deserialize, TS, JsonSchema)]
pub struct Job {
    /// The beginning of its key.
    pub job: String,
    /// Its name; for the root, the name of the run's entry point.
    pub function: String,
    /// Whether it is its run's root, whose parameters are the run's arguments.
    pub is_root: bool,
    /// Spawns below the root.
    pub depth: u32,
    /// Its encoded parameters, as hexadecimal digits; none for the root.
    pub parameters: Option<String>,
    /// The newest run that it is part of.
    pub run: u64,
    /// That run's app.
    pub app: AppOfRun,
    /// That run's entry point.
    pub entry_point: String,
    /// The words of that run's command line.
    pub arguments: Vec<String>,
    /// Hashes of that run's inputs, by name.
    pub inputs: BTreeMap<String, String>,
    /// The limits of that run's guests.
    pub limits: RunLimits,
    /// Whether the engine makes NaNs canonical.
    pub strict_nan: bool,
}

/// `/api/v1/runs/{run}/jobs/{job}`: one job of a run, for people.
#[derive(Debug, Clone, Serialize, Deserialize, TS, JsonSchema)]
pub struct JobDetails {
    /// The beginning of its key.
    pub job: String,
    /// Its name; for the root, the name of the run's entry point.
    pub function: String,
    /// Whether it is its run's root.
    pub is_root: bool,
    /// Spawns below the root.
    pub depth: u32,
    /// Its encoded parameters, as hexadecimal digits.
    pub parameters: Option<String>,
    /// The parameters for people: the run's arguments for the root; for other jobs, a call as Rust would write it, if
    /// the module describes the encoding, or the text if they are text.
    pub parameters_text: Option<String>,
    /// Why they are not known.
    pub parameters_why: Option<String>,
    /// The host that has it, or had it last.
    pub host: String,
    /// That host's name; with its id if an earlier process of the run had the same name.
    pub host_name: String,
    /// The number of the host's worker that took it.
    pub worker: Option<u16>,
    /// `running`, `done`, `failed`, `aborted`, `lost`, `given back`, `reused` or `adopted`. A lost job was lost with its host. A job is
    /// given back when its host leaves or pauses, or its run is suspended. Neither is at a host any more.
    pub state: String,
    /// Whether it was lost with a host, and begun again.
    pub redone: bool,
    /// When it began, in milliseconds since the run was submitted.
    pub begun_ms: u32,
    /// When it ended.
    pub ended_ms: Option<u32>,
    /// Processor time, including its descendants, once it is done.
    pub work_s: Option<f64>,
    /// The job above it.
    pub parent: Option<String>,
    /// Jobs below it that have an instance of their own, the longest first.
    pub children: Vec<ChildJob>,
    /// The number of further such jobs.
    pub children_left_out: u32,
    /// The command that runs it again.
    pub replay: Option<String>,
}

/// A job below another.
#[derive(Debug, Clone, Serialize, Deserialize, TS, JsonSchema)]
pub struct ChildJob {
    /// The beginning of its key.
    pub job: String,
    /// Its name.
    pub function: String,
    /// Its state, as in a [`Node`].
    pub state: String,
    /// Processor time, including its descendants, once it is done.
    pub work_s: Option<f64>,
}
