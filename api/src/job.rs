//! Jobs and trees of them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::{AppOfRun, RunLimits};

/// `/api/v1/runs/{run}/tree`.
#[derive(Debug, Clone, Serialize, Deserialize, TS, JsonSchema)]
pub struct Tree {
    /// Jobs that had an instance of their own: in the order in which they became known, until there is no room
    /// for more; from then on, new ones take the places of some that have ended.
    pub nodes: Vec<Node>,
    /// How many jobs it does not show.
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
    /// The same with its parameters as Rust would write them, cut where they are long; if they are known, and the module
    /// says how they are encoded.
    pub call: Option<String>,
    /// Spawns below the root.
    #[serde(default)]
    pub depth: u32,
    /// Where it is, or was last.
    #[serde(default)]
    pub host: String,
    /// That host's name.
    #[serde(default)]
    pub host_name: String,
    /// `running`, `done`, `failed`, `aborted`, `lost`, `reused` or `adopted`.
    pub state: String,
    /// It was lost with a host, and begun again.
    #[serde(default)]
    pub redone: bool,
    /// Processor time, descendants included, once it is done.
    pub work_s: Option<f64>,
    /// When it began, in milliseconds since the run was submitted.
    #[serde(default)]
    pub begun_ms: u32,
    /// When it ended.
    pub ended_ms: Option<u32>,
    /// Which of the host's workers took it.
    pub worker: Option<u16>,
    /// Jobs below it that the tree does not show: it had no room for them, or they have made room for others.
    #[serde(default)]
    pub rolled: u32,
}

/// `/api/v1/jobs/{key}`: all that is needed to run one job again.
#[derive(Debug, Clone, Serialize, Deserialize, TS, JsonSchema)]
pub struct Job {
    /// The beginning of its key.
    pub job: String,
    /// Its name; of the root, that of the run's entry point.
    pub function: String,
    /// Whether it is its run's root, whose parameters are the run's arguments.
    pub is_root: bool,
    /// Spawns below the root.
    pub depth: u32,
    /// Its encoded parameters, as hexadecimal digits; of the root, none.
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
    /// What that run's guests may use.
    pub limits: RunLimits,
    /// NaNs are canonicalised by the engine.
    pub strict_nan: bool,
}

/// `/api/v1/runs/{run}/jobs/{job}`: one job of a run, for people.
#[derive(Debug, Clone, Serialize, Deserialize, TS, JsonSchema)]
pub struct JobDetails {
    /// The beginning of its key.
    pub job: String,
    /// Its name; of the root, that of the run's entry point.
    pub function: String,
    /// Whether it is its run's root.
    pub is_root: bool,
    /// Spawns below the root.
    pub depth: u32,
    /// Its encoded parameters, as hexadecimal digits.
    pub parameters: Option<String>,
    /// The same for people: the root's are the run's arguments; others' a call as Rust would write it, if the module says
    /// how they are encoded, or what they are if they are text.
    pub parameters_text: Option<String>,
    /// Why they are not known.
    pub parameters_why: Option<String>,
    /// Where it is, or was last.
    pub host: String,
    /// That host's name.
    pub host_name: String,
    /// Which of the host's workers took it.
    pub worker: Option<u16>,
    /// `running`, `done`, `failed`, `aborted`, `lost`, `reused` or `adopted`.
    pub state: String,
    /// It was lost with a host, and begun again.
    pub redone: bool,
    /// When it began, in milliseconds since the run was submitted.
    pub begun_ms: u32,
    /// When it ended.
    pub ended_ms: Option<u32>,
    /// Processor time, descendants included, once it is done.
    pub work_s: Option<f64>,
    /// The job above it.
    pub parent: Option<String>,
    /// Jobs below it that have an instance of their own; those that took longest first.
    pub children: Vec<ChildJob>,
    /// How many more there are.
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
    /// As of a [`Node`].
    pub state: String,
    /// Processor time, descendants included, once it is done.
    pub work_s: Option<f64>,
}
