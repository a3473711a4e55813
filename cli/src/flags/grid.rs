//! The flags of the commands that talk to a coordinator.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::{
    parse_duration, parse_input, parse_memory, parse_output, parse_shared, parse_stack, parse_threads,
};

/// Which coordinator.
#[derive(Args)]
#[command(next_help_heading = "Grid")]
pub struct Grid {
    /// Where the coordinator is: a URL, or HOST:PORT
    #[arg(long, value_name = "URL", env = "SATEEN_COORDINATOR", default_value = "http://127.0.0.1:7700")]
    pub coordinator: String,
}

#[derive(Args)]
pub struct Publish {
    /// The app's module
    #[arg(value_name = "APP.wasm")]
    pub app: PathBuf,
    /// Its name on the grid, if not the file's
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// What the grid's people are told of who published it [env: SATEEN_PUBLISHER=] [default: the user's name on
    /// this machine]
    #[arg(long, value_name = "WHO")]
    pub by: Option<String>,
    /// One JSON object instead of the module's hash
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub grid: Grid,
}

#[derive(Args)]
pub struct Unpublish {
    /// Names that were first published from this machine
    #[arg(value_name = "NAME", required = true)]
    pub names: Vec<String>,
    #[command(flatten)]
    pub grid: Grid,
}

#[derive(Args)]
pub struct Submit {
    /// A module, which is published first if need be; or a published app's name or hash
    #[arg(value_name = "APP")]
    pub app: String,
    /// The app's own arguments; flags of its own, too, behind `--` if `sateen` knows them as well
    #[arg(value_name = "ARG", allow_negative_numbers = true)]
    pub arguments: Vec<String>,
    /// Call another entry point of the app
    #[arg(long, value_name = "NAME", default_value = "main")]
    pub function: String,
    /// Give the file to the app as the input NAME; `-` is stdin
    #[arg(long, value_name = "NAME=FILE", value_parser = parse_input)]
    pub input: Vec<(String, PathBuf)>,
    /// Wait for the result and print it, as `sateen run` does
    #[arg(long)]
    pub wait: bool,
    /// Write the result to the file instead of stdout
    #[arg(long, short, value_name = "FILE", requires = "wait")]
    pub output: Option<PathBuf>,
    /// One JSON object
    #[arg(long)]
    pub json: bool,
    /// No progress and no log of the app on stderr
    #[arg(long, short)]
    pub quiet: bool,
    /// Show the app's stack when it fails
    #[arg(long, short)]
    pub verbose: bool,
    /// How idle hosts choose whom to steal from
    #[arg(long, value_enum, default_value_t = Stealing::ClusterAware)]
    pub stealing: Stealing,
    /// What survives the crash of a host
    #[arg(long, value_enum, default_value_t = FaultTolerance::Full)]
    pub fault_tolerance: FaultTolerance,
    /// How often finished work is recorded; a crash loses about as much of each worker
    #[arg(long, value_name = "TIME", default_value = "250ms", value_parser = parse_duration)]
    pub record_every: Duration,
    /// The same NaN bits on every machine, at 2 to 7 times the time of scalar float code
    #[arg(long)]
    pub strict_nan: bool,
    #[command(flatten)]
    pub limits: GridLimits,
    #[command(flatten)]
    pub time: TimeLimits,
    #[command(flatten)]
    pub grid: Grid,
}

/// Limits of a run; the hosts' own where none is named. Of a replay, the run's.
#[derive(Args, Default)]
#[command(next_help_heading = "Limits")]
pub struct GridLimits {
    /// Memory of one instance, 64K to 4G [hosts' default: 1G]
    #[arg(long, value_name = "SIZE", value_parser = parse_memory)]
    pub memory: Option<usize>,
    /// Stack of one instance, 64K to 4G: how deep it may recurse [hosts' default: 64M]
    #[arg(long, value_name = "SIZE", value_parser = parse_stack)]
    pub stack: Option<usize>,
    /// Size of a result, a job's parameters, or the output, at most 64M [hosts' default: 64M]
    #[arg(long, value_name = "SIZE", value_parser = parse_output)]
    pub max_output: Option<usize>,
    /// Memory for the run's shared objects on each host, one replica of each, at most 1024G [hosts' default: 1G]
    #[arg(long, value_name = "SIZE", value_parser = parse_shared)]
    pub max_shared: Option<usize>,
    /// How long the guard of a job may be false [hosts' default: 60s]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub guard_limit: Option<Duration>,
}

/// Limits on the time of a run; none where none is named.
#[derive(Args, Default)]
#[command(next_help_heading = "Limits")]
pub struct TimeLimits {
    /// For how long the run may be under way, as 90, 90s, 5m or 1.5h; while it is queued or suspended, this stands still
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub time_limit: Option<Duration>,
    /// Processor time of the run, over all hosts
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub cpu_limit: Option<Duration>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Stealing {
    /// At random within the site, and one request at a time to other sites
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
    /// What is lost is done again, whole
    RedoOnly,
    /// As redo-only, without any record
    Off,
}

/// Commands that only list.
#[derive(Args)]
pub struct List {
    /// JSON instead of text
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub grid: Grid,
}

#[derive(Args)]
pub struct Ps {
    /// Those that are over as well
    #[arg(long, short)]
    pub all: bool,
    /// Only those whose number, app, entry point or arguments contain this
    #[arg(long, value_name = "TEXT", value_parser = parse_search)]
    pub search: Option<String>,
    /// Maximum runs to list, the newest first
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
    /// One JSON object
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
    #[command(flatten)]
    pub of: OfRun,
    /// How many levels to show
    #[arg(long, value_name = "N", default_value = "8", value_parser = parse_width)]
    pub depth: usize,
    /// How many children of a job to show
    #[arg(long, value_name = "N", default_value = "12", value_parser = parse_width)]
    pub width: usize,
}

#[derive(Args)]
pub struct Replay {
    /// The job's key as `sateen tree` shows it, or 8 digits of it and more
    #[arg(value_name = "KEY", value_parser = parse_key)]
    pub key: String,
    /// The job of this run, if not of the newest that has it
    #[arg(long, value_name = "RUN", value_parser = parse_run)]
    pub run: Option<u64>,
    /// Workers
    #[arg(long, short, value_name = "N", default_value = "1", value_parser = parse_threads)]
    pub threads: usize,
    /// Write the result's bytes to the file instead of their digits to stdout
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// One JSON object
    #[arg(long)]
    pub json: bool,
    /// No progress and no log of the app on stderr
    #[arg(long, short)]
    pub quiet: bool,
    /// Show the app's stack when it fails
    #[arg(long, short)]
    pub verbose: bool,
    /// Run every job below it in an instance of its own, too
    #[arg(long)]
    pub pristine: bool,
    #[command(flatten)]
    pub limits: GridLimits,
    #[command(flatten)]
    pub grid: Grid,
}

#[derive(Args)]
pub struct Wait {
    #[command(flatten)]
    pub of: OfRun,
    /// No progress and no log of the app on stderr
    #[arg(long, short)]
    pub quiet: bool,
}

#[derive(Args)]
pub struct Watch {
    /// The run's number; the whole grid if none is given
    #[arg(value_name = "RUN", value_parser = parse_run)]
    pub run: Option<u64>,
    /// How often to ask
    #[arg(long, value_name = "TIME", default_value = "500ms", value_parser = parse_duration)]
    pub every: Duration,
    /// No view: an object a line, whenever something has changed
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub grid: Grid,
}

#[derive(Args)]
pub struct GetResult {
    #[command(flatten)]
    pub of: OfRun,
    /// Write the result to the file instead of stdout
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

impl Stealing {
    /// As the coordinator spells it.
    pub fn word(self) -> String {
        word(self)
    }
}

impl FaultTolerance {
    /// As the coordinator spells it.
    pub fn word(self) -> String {
        word(self)
    }
}

fn word(value: impl ValueEnum) -> String {
    value.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

fn parse_run(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "a run's number is expected, as `sateen ps --all` lists them".to_owned())
}

/// Fewer digits of a key are too easily another's.
const KEY_DIGITS: RangeInclusive<usize> = 8..=64;

fn parse_key(text: &str) -> Result<String, String> {
    let is_key = KEY_DIGITS.contains(&text.len()) && text.bytes().all(|digit| digit.is_ascii_hexdigit());
    if is_key {
        Ok(text.to_ascii_lowercase())
    } else {
        Err("8 to 64 hexadecimal digits are expected, as `sateen tree` shows them".to_owned())
    }
}

/// Levels of a tree, or children of a job: what a terminal shows.
fn parse_width(text: &str) -> Result<usize, String> {
    parse_number(text, 1..=10_000)
}

fn parse_limit(text: &str) -> Result<usize, String> {
    parse_number(text, 1..=1_000_000)
}

fn parse_number(text: &str, range: RangeInclusive<usize>) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| range.contains(number));
    number.ok_or_else(|| format!("a number from {} to {} is expected", range.start(), range.end()))
}

/// As long as a coordinator takes.
fn parse_search(text: &str) -> Result<String, String> {
    const BYTES_MAX: usize = 256;
    if text.len() <= BYTES_MAX {
        Ok(text.to_owned())
    } else {
        Err(format!("a search has at most {BYTES_MAX} bytes"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_spelled_as_the_coordinator_does() {
        assert_eq!(Stealing::ClusterAware.word(), "cluster-aware");
        assert_eq!(Stealing::MasterWorker.word(), "master-worker");
        assert_eq!(FaultTolerance::FinishedOrphans.word(), "finished-orphans");
        assert_eq!(FaultTolerance::RedoOnly.word(), "redo-only");
    }

    #[test]
    fn keys_are_digits() {
        assert_eq!(parse_key("0123ABCD").as_deref(), Ok("0123abcd"));
        for wrong in ["0123abc", "0123abcx", &"0".repeat(65), "-1234567"] {
            assert!(parse_key(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn runs_are_numbers() {
        assert_eq!(parse_run("17"), Ok(17));
        assert!(parse_run("last").is_err() && parse_run("-1").is_err());
    }
}
