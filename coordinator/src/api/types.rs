//! What the API says, as JSON.

use sateen_protocol::coordinator::RunView;
use sateen_protocol::{Counts, FaultTolerance, Jobs, Stealing};
use serde::{Deserialize, Serialize};

use crate::clock::written;
use crate::store::sql::AppRow;

/// `/version`.
#[derive(Debug, Serialize)]
pub struct Version {
    /// Of the program.
    pub name: &'static str,
    /// Of its software.
    pub version: &'static str,
    /// Of frames and messages.
    pub protocol: u8,
    /// The grid, 16 digits.
    pub grid: String,
}

/// A published module.
#[derive(Debug, Serialize)]
pub struct App {
    /// blake3 of its bytes.
    pub hash: String,
    /// The name that it was published under.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// When.
    pub published_at: String,
    /// `integer` or `float`.
    pub determinism: String,
    /// Names of its entry points.
    pub entry_points: Vec<String>,
    /// Names of its jobs.
    pub jobs: Vec<String>,
}

impl From<AppRow> for App {
    fn from(row: AppRow) -> Self {
        Self {
            hash: row.hash.to_string(),
            name: row.name,
            bytes: row.bytes,
            published_at: written(row.published_at_ms),
            determinism: row.about.determinism,
            entry_points: row.about.entry_points,
            jobs: row.about.jobs,
        }
    }
}

/// `PUT /api/v1/blobs/{hash}`.
#[derive(Debug, Serialize)]
pub struct Blob {
    /// blake3 of its bytes.
    pub hash: String,
    /// Its size.
    pub bytes: u64,
}

/// `POST /api/v1/runs`.
#[derive(Debug, Deserialize)]
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
    pub inputs: std::collections::BTreeMap<String, String>,
    /// What guests may use.
    #[serde(default)]
    pub limits: SubmittedLimits,
    /// How idle hosts choose victims.
    #[serde(default)]
    pub stealing: Stealing,
    /// What survives a crash.
    #[serde(default)]
    pub fault_tolerance: FaultTolerance,
    /// Finished work is recorded so often.
    pub record_every_ms: Option<u32>,
    /// NaNs are canonicalised by the engine.
    #[serde(default)]
    pub strict_nan: bool,
}

/// What is not given is the host's default.
#[derive(Debug, Default, Deserialize)]
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
}

/// Answers a submission.
#[derive(Debug, Serialize)]
pub struct Submitted {
    /// The run's number.
    pub run: u64,
}

/// A run.
#[derive(Debug, Serialize)]
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
    pub state: &'static str,
    /// Why nothing happens, if nothing does.
    pub waiting_for: Option<String>,
    /// When it was submitted.
    pub submitted_at: String,
    /// When a host first began it.
    pub started_at: Option<String>,
    /// When it was over.
    pub ended_at: Option<String>,
    /// From its start to its end, or till now.
    pub elapsed_s: f64,
    /// The rest.
    #[serde(flatten)]
    pub figures: Figures,
}

/// The app of a run.
#[derive(Debug, Serialize)]
pub struct AppOfRun {
    /// blake3 of its bytes.
    pub hash: String,
    /// Its name when the run was submitted.
    pub name: String,
}

/// How a run goes, or went.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Figures {
    /// Hosts that worked on it.
    pub hosts: usize,
    /// Their workers.
    pub threads: u32,
    /// What became of its jobs.
    pub jobs: Jobs,
    /// Steals between hosts.
    pub steals: Steals,
    /// Processor time in guests, of all hosts. What a host did in the last tenth of a second before a crash
    /// is not known.
    pub work_s: f64,
    /// Of this, what is behind the result: each job once. Known once it is over.
    #[serde(default)]
    pub answer_work_s: Option<f64>,
    /// Of this, what nobody used: lost with a host, done twice, or of jobs that were aborted. Known once it
    /// is over.
    #[serde(default)]
    pub lost_work_s: Option<f64>,
    /// What was behind reused and adopted results: without them it would have been lost, too.
    #[serde(default)]
    pub saved_work_s: f64,
    /// The critical path, once it is over.
    pub span_s: Option<f64>,
    /// What the root job reports.
    pub progress: Option<Progress>,
    /// Why it has no result.
    pub error: Option<RunFailure>,
    /// Who has the root job.
    pub root_host: Option<String>,
    /// How often the root was lost with its host.
    pub root_losses: u32,
    /// Its result table on the coordinator.
    pub table: TableSize,
    /// Each host that worked on it.
    pub by_host: Vec<HostOfRun>,
}

/// Steals between hosts.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct Steals {
    /// Requests sent.
    pub requests: u64,
}

/// What the root job reports.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Progress {
    /// So much is done.
    pub done: u64,
    /// Of so much.
    pub total: u64,
}

/// Why a run has no result.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RunFailure {
    /// `job`: one panicked or trapped; `app`: the app returned an error; `input`: it refused its
    /// arguments or inputs; `limit`; `unable`: no host could run it.
    pub kind: String,
    /// In a sentence.
    pub message: String,
    /// The job that failed.
    pub job: Option<String>,
    /// The guest's stack, innermost frame first.
    pub backtrace: Vec<String>,
}

/// A result table.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct TableSize {
    /// Its entries.
    pub entries: usize,
    /// Their size.
    pub bytes: usize,
}

/// A host that worked on a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HostOfRun {
    /// Its id.
    pub host: String,
    /// Its name; empty when that is not known any more.
    pub name: String,
    /// Its site.
    pub site: String,
    /// Whether it is still there.
    pub there: bool,
    /// What became of jobs there.
    pub jobs: Jobs,
    /// Processor time in guests.
    pub work_s: f64,
    /// Updates of shared objects that its jobs made.
    pub updates: u64,
    /// What its replicas of shared objects take, in bytes.
    pub shared_bytes: u64,
    /// Workers that compute now.
    pub busy: u32,
    /// Workers.
    pub workers: u32,
}

impl Figures {
    /// Of a run that is not over. `name_of` gives a host's name and site.
    pub fn of_view(view: &RunView, name_of: impl Fn(sateen_protocol::HostId) -> (String, String)) -> Self {
        let by_host = view.by_host.iter().map(|(host, there, counts)| {
            let (name, site) = name_of(*host);
            HostOfRun {
                host: host.to_string(),
                name,
                site,
                there: *there,
                jobs: counts.into(),
                work_s: seconds(counts.work_ns),
                updates: counts.updates,
                shared_bytes: counts.shared_bytes,
                busy: counts.busy,
                workers: counts.workers,
            }
        });
        let mut figures = Self {
            hosts: view.by_host.len(),
            progress: view.progress.map(|(done, total)| Progress { done, total }),
            root_host: view.root_host.map(|host| host.to_string()),
            root_losses: view.root_losses,
            table: TableSize { entries: view.table.0, bytes: view.table.1 },
            by_host: by_host.collect(),
            ..Self::default()
        };
        figures.count(&view.counts);
        figures
    }

    /// Takes over counts that are newer.
    pub fn count(&mut self, counts: &Counts) {
        self.threads = self.threads.max(counts.workers);
        self.jobs = counts.into();
        self.steals = Steals { requests: counts.steal_requests };
        self.work_s = seconds(counts.work_ns);
        self.saved_work_s = seconds(counts.saved_work_ns);
    }
}

/// Nanoseconds as seconds.
pub fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// `/api/v1/runs/{run}/tree`.
#[derive(Debug, Serialize)]
pub struct Tree {
    /// Jobs that had an instance of their own, in the order in which they became known.
    pub nodes: Vec<Node>,
    /// How many jobs it does not show.
    pub left_out: u64,
}

/// A job of a tree.
#[derive(Debug, Clone, Serialize)]
pub struct Node {
    /// The beginning of its key.
    pub job: String,
    /// The job above it.
    pub parent: Option<String>,
    /// Its name.
    pub function: String,
    /// Spawns below the root.
    pub depth: u32,
    /// Where it is, or was last.
    pub host: String,
    /// That host's name.
    pub host_name: String,
    /// `running`, `done`, `failed`, `aborted`, `lost`, `reused` or `adopted`.
    pub state: &'static str,
    /// It, or a job above it, was lost before.
    pub redone: bool,
    /// Processor time, descendants included, once it is done.
    pub work_s: Option<f64>,
}

/// `/api/v1/jobs/{key}`: all that is needed to run one job again.
#[derive(Debug, Serialize)]
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
    pub inputs: std::collections::BTreeMap<String, String>,
    /// What that run's guests may use.
    pub limits: RunLimits,
    /// NaNs are canonicalised by the engine.
    pub strict_nan: bool,
}

/// What is not said is the host's default.
#[derive(Debug, Serialize)]
pub struct RunLimits {
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
}

/// `/api/v1/runs/{run}/log`.
#[derive(Debug, Serialize)]
pub struct Log {
    /// The newest that are kept, in order.
    pub lines: Vec<LogLine>,
    /// Lines after the asked one that are not kept any more.
    pub dropped: u64,
}

/// A line of an app's log.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LogLine {
    /// Counts from 1.
    pub number: u64,
    /// Where it was written.
    pub host: String,
    /// By which job.
    pub job: String,
    /// The line.
    pub text: String,
}

/// A host.
#[derive(Debug, Serialize)]
pub struct Host {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its site.
    pub site: String,
    /// Its workers.
    pub threads: u32,
    /// Of its software.
    pub version: String,
    /// Whether its link is open.
    pub connected: bool,
    /// Why it takes no new work.
    pub paused: Option<String>,
    /// When it joined.
    pub since: String,
    /// Runs whose app it has loaded.
    pub runs: Vec<u64>,
    /// What became of jobs there, over runs that are not over.
    pub jobs: Jobs,
    /// Workers that compute now.
    pub busy: u32,
}

/// `/api/v1/status`.
#[derive(Debug, Serialize)]
pub struct Status {
    /// The grid, 16 digits.
    pub grid: String,
    /// Of the software.
    pub version: &'static str,
    /// Since this process began.
    pub uptime_s: f64,
    /// Hosts that are there.
    pub hosts: usize,
    /// Their workers.
    pub threads: u32,
    /// How many runs are in each state.
    pub runs: std::collections::BTreeMap<&'static str, u64>,
    /// Open websockets.
    pub links: usize,
    /// Messages for the coordinator itself since this process began.
    pub messages_in: u64,
    /// Frames passed on from host to host.
    pub relayed_frames: u64,
    /// Their bytes.
    pub relayed_bytes: u64,
    /// Hosts that broke the protocol.
    pub misbehaviours: u64,
    /// Why nothing can be saved.
    pub trouble: Option<String>,
}
