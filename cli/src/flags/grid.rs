//! The flags of the commands that talk to a coordinator.

mod help;
mod policies;

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, ValueEnum};
use sateen_api::limits::{KEY_DIGITS, SEARCH_BYTES_MAX};
use sateen_command_line as values;
use sateen_protocol::{RunLimits, RunSpec};

use help::of_replay;
use policies::Policies;

use super::{
    in_ms, parse_duration, parse_input, parse_memory, parse_number, parse_output, parse_shared, parse_stack,
    parse_threads,
};

/// The coordinator to talk to.
#[derive(Args)]
#[command(next_help_heading = "Grid")]
pub struct Grid {
    /// Address of the coordinator: a URL, or HOST:PORT
    #[arg(
        long,
        value_name = "URL",
        env = "SATEEN_COORDINATOR",
        default_value = "http://127.0.0.1:7700",
        value_parser = parse_coordinator
    )]
    pub coordinator: String,
    /// File with the token for this coordinator; `-` is stdin. [default: the variable SATEEN_TOKEN, or else what `sateen login`
    /// has kept]
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
}

#[derive(Args)]
pub struct Publish {
    /// The app's module
    #[arg(value_name = "APP.wasm")]
    pub app: PathBuf,
    /// The app's name on the grid [default: the file's name without .wasm]
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub name: Option<String>,
    /// Publisher to show on the grid [env: SATEEN_PUBLISHER=] [default: the user's name on this machine]
    #[arg(long, value_name = "WHO", value_parser = NonEmptyStringValueParser::new())]
    pub by: Option<String>,
    /// Print one JSON object instead of the module's hash
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub grid: Grid,
}

#[derive(Args)]
pub struct Unpublish {
    /// Names of apps that were first published from this machine
    #[arg(value_name = "NAME", required = true)]
    pub names: Vec<String>,
    #[command(flatten)]
    pub grid: Grid,
}

#[derive(Args)]
pub struct Submit {
    /// A module, which is published first if necessary, or a published app's name or hash
    #[arg(value_name = "APP")]
    pub app: String,
    /// Arguments for the app, its own flags included; flags that `sateen` has as well go behind `--`
    #[arg(value_name = "ARG", allow_negative_numbers = true)]
    pub arguments: Vec<String>,
    /// The entry point to call
    #[arg(long, value_name = "NAME", default_value = "main", value_parser = NonEmptyStringValueParser::new())]
    pub function: String,
    /// File with the app's input NAME; `-` is stdin
    #[arg(long, value_name = "NAME=FILE", value_parser = parse_input)]
    pub input: Vec<(String, PathBuf)>,
    /// Wait for the result and print it, as `sateen run` does
    #[arg(long)]
    pub wait: bool,
    /// Write the result to the file instead of stdout
    #[arg(long, short, value_name = "FILE", requires = "wait")]
    pub output: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    /// Suppress progress and app logs
    #[arg(long, short)]
    pub quiet: bool,
    /// Show the app's stack when it fails
    #[arg(long, short)]
    pub verbose: bool,
    /// How idle hosts choose their victims
    #[arg(long, value_enum, default_value_t = Stealing::ClusterAware)]
    pub stealing: Stealing,
    /// Which work survives the crash of a host
    #[arg(long, value_enum, default_value_t = FaultTolerance::Full)]
    pub fault_tolerance: FaultTolerance,
    /// How often finished work is recorded; a crash loses about that much work of each worker [range: 1ms to 1h]
    #[arg(long, value_name = "TIME", default_value = "250ms", value_parser = parse_record_every)]
    pub record_every: Duration,
    #[command(flatten)]
    pub policies: Policies,
    /// Compute the same NaN bits on every machine; scalar float code takes 2 to 7 times as long
    #[arg(long)]
    pub strict_nan: bool,
    #[command(flatten)]
    pub limits: GridLimits,
    #[command(flatten)]
    pub time: TimeLimits,
    #[command(flatten)]
    pub grid: Grid,
}

/// Limits of a run. Without a flag, the hosts' own limits hold; for a replay, those of the run.
#[derive(Args, Default)]
#[command(next_help_heading = "Limits")]
pub struct GridLimits {
    /// Memory of one instance [hosts' default: 1G] [range: 64K to 4G]
    #[arg(long, value_name = "SIZE", value_parser = parse_memory)]
    pub memory: Option<usize>,
    /// Stack of one instance: how deep it may recurse [hosts' default: 64M] [range: 64K to 4G]
    #[arg(long, value_name = "SIZE", value_parser = parse_stack)]
    pub stack: Option<usize>,
    /// Size of a result, of a job's parameters, or of the output [hosts' default: 64M] [range: 1B to 64M]
    #[arg(long, value_name = "SIZE", value_parser = parse_output)]
    pub max_output: Option<usize>,
    /// Memory for the run's shared objects on each host, one replica of each [hosts' default: 1G] [range: 1B to 1T]
    #[arg(long, value_name = "SIZE", value_parser = parse_shared)]
    pub max_shared: Option<usize>,
    /// How long the guard of a job may be false [hosts' default: 60s] [range: 1ms to 36500d]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub guard_limit: Option<Duration>,
}

/// Limits on the time of a run. Without a flag, there is none.
#[derive(Args, Default)]
#[command(next_help_heading = "Limits")]
pub struct TimeLimits {
    /// Wall-clock time of the run, like 90s, 5m or 1.5h, except when it is queued or suspended; the time in which its
    /// result is checked counts [default: no limit] [range: 1ms to 36500d]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub time_limit: Option<Duration>,
    /// Processor time of the run, over all hosts, checks of results included; as hosts report it twice a second, a run may
    /// exceed it by about a second of each worker [default: no limit] [range: 1ms to 36500d]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub cpu_limit: Option<Duration>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Stealing {
    /// At random within the site, with one request at a time to other sites
    ClusterAware,
    /// At random among all hosts
    Random,
    /// Only from the host of the root job
    MasterWorker,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum FaultTolerance {
    /// Results are recorded and reused, and running orphans adopted
    Full,
    /// Only the results of finished orphans are saved
    FinishedOrphans,
    /// Lost jobs are redone from scratch
    RedoOnly,
    /// Like redo-only, and hosts keep no lists of stolen jobs; for measurements
    Off,
}

/// Commands that only list.
#[derive(Args)]
pub struct List {
    /// Print JSON instead of text
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub grid: Grid,
}

#[derive(Args)]
pub struct Ps {
    /// Include finished runs
    #[arg(long, short)]
    pub all: bool,
    /// List only runs whose number, app, entry point or arguments contain this
    #[arg(long, value_name = "TEXT", value_parser = parse_search)]
    pub search: Option<String>,
    /// Maximum runs to list, the newest first [range: 1 to 1000000]
    #[arg(long, value_name = "N", default_value = "1000", value_parser = parse_limit)]
    pub limit: usize,
    #[command(flatten)]
    pub list: List,
}

/// Commands about one run.
#[derive(Args)]
pub struct OfRun {
    /// The run's number
    #[arg(value_name = "RUN", value_parser = parse_run)]
    pub run: u64,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub grid: Grid,
}

/// Commands that change runs.
#[derive(Args)]
pub struct OfRuns {
    /// The runs' numbers
    #[arg(value_name = "RUN", value_parser = parse_run, required = true)]
    pub runs: Vec<u64>,
    /// Print one JSON object, or a list of them for several runs
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub grid: Grid,
}

#[derive(Args)]
pub struct Remove {
    /// The runs' numbers
    #[arg(value_name = "RUN", value_parser = parse_run, required = true)]
    pub runs: Vec<u64>,
    #[command(flatten)]
    pub grid: Grid,
}

#[derive(Args)]
pub struct Tree {
    /// Maximum levels to show [range: 1 to 10000]
    #[arg(long, value_name = "N", default_value = "8", value_parser = parse_width)]
    pub depth: usize,
    /// Maximum children of a job to show [range: 1 to 10000]
    #[arg(long, value_name = "N", default_value = "12", value_parser = parse_width)]
    pub width: usize,
    #[command(flatten)]
    pub of: OfRun,
}

#[derive(Args)]
#[command(mut_args(of_replay))]
pub struct Replay {
    /// The job's key as `sateen tree` shows it, or its first digits, 8 at least
    #[arg(value_name = "KEY", value_parser = parse_key)]
    pub key: String,
    /// The run whose job it is [default: the newest that has it]
    #[arg(long, value_name = "RUN", value_parser = parse_run)]
    pub run: Option<u64>,
    /// Number of workers [range: 1 to 1024]
    #[arg(long, short, value_name = "N", default_value = "1", value_parser = parse_threads)]
    pub threads: usize,
    /// Write the encoded result to the file instead of showing it on stdout
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    /// Suppress progress and app logs
    #[arg(long, short)]
    pub quiet: bool,
    /// Show the app's stack when it fails
    #[arg(long, short)]
    pub verbose: bool,
    /// Run every job below it in an instance of its own, like the job itself
    #[arg(long)]
    pub pristine: bool,
    #[command(flatten)]
    pub limits: GridLimits,
    #[command(flatten)]
    pub grid: Grid,
}

#[derive(Args)]
pub struct Wait {
    /// Suppress progress and app logs
    #[arg(long, short)]
    pub quiet: bool,
    #[command(flatten)]
    pub of: OfRun,
}

#[derive(Args)]
pub struct Watch {
    /// The run's number [default: watch the whole grid]
    #[arg(value_name = "RUN", value_parser = parse_run)]
    pub run: Option<u64>,
    /// How often to ask the coordinator [range: 20ms to 1h]
    #[arg(long, value_name = "TIME", default_value = "500ms", value_parser = parse_every)]
    pub every: Duration,
    /// Print a line with a JSON object whenever something has changed, instead of a view
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub grid: Grid,
}

#[derive(Args)]
pub struct GetResult {
    /// Write the result to the file instead of stdout
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub of: OfRun,
}

impl GridLimits {
    /// The runs that the words name.
    pub fn limits(&self) -> RunLimits {
        let bytes = |limit: Option<usize>| limit.map(|bytes| bytes as u64);
        RunLimits {
            memory_bytes_max: bytes(self.memory),
            stack_bytes_max: bytes(self.stack),
            output_bytes_max: bytes(self.max_output),
            shared_bytes_max: bytes(self.max_shared),
            guard_wait_ms_max: self.guard_limit.map(in_ms),
            ..RunLimits::default()
        }
    }
}

impl From<Stealing> for sateen_protocol::Stealing {
    fn from(stealing: Stealing) -> Self {
        match stealing {
            Stealing::ClusterAware => Self::ClusterAware,
            Stealing::Random => Self::Random,
            Stealing::MasterWorker => Self::MasterWorker,
        }
    }
}

impl From<FaultTolerance> for sateen_protocol::FaultTolerance {
    fn from(fault_tolerance: FaultTolerance) -> Self {
        match fault_tolerance {
            FaultTolerance::Full => Self::Full,
            FaultTolerance::FinishedOrphans => Self::FinishedOrphans,
            FaultTolerance::RedoOnly => Self::RedoOnly,
            FaultTolerance::Off => Self::Off,
        }
    }
}

fn parse_run(text: &str) -> Result<u64, String> {
    let number = values::number(text, 1..=u32::MAX.into());
    number.map_err(|_| "expected a run's number, as `sateen ps --all` lists them".to_owned())
}

pub(super) fn parse_coordinator(text: &str) -> Result<String, String> {
    crate::grid::url_of(text).map(|(url, _)| url)
}

fn parse_record_every(text: &str) -> Result<Duration, String> {
    values::time(text, RunSpec::RECORD_EVERY_MS)
}

fn parse_every(text: &str) -> Result<Duration, String> {
    values::time(text, 20..=3_600_000)
}

fn parse_key(text: &str) -> Result<String, String> {
    let is_key = KEY_DIGITS.contains(&text.len()) && text.bytes().all(|digit| digit.is_ascii_hexdigit());
    if is_key {
        Ok(text.to_ascii_lowercase())
    } else {
        let (least, most) = (KEY_DIGITS.start(), KEY_DIGITS.end());
        Err(format!("{least} to {most} hexadecimal digits are expected, as `sateen tree` shows them"))
    }
}

/// Number of levels of a tree or of children of a job, as far as a terminal can show them.
fn parse_width(text: &str) -> Result<usize, String> {
    parse_number(text, 10_000)
}

fn parse_limit(text: &str) -> Result<usize, String> {
    parse_number(text, 1_000_000)
}

/// A search text that a coordinator accepts.
fn parse_search(text: &str) -> Result<String, String> {
    if text.len() <= SEARCH_BYTES_MAX {
        Ok(text.to_owned())
    } else {
        Err(format!("expected at most {SEARCH_BYTES_MAX} bytes"))
    }
}

#[cfg(test)]
mod tests;
