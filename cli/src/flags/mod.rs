//! The command line, parsed into plain values.

mod apps;
mod grid;

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use sateen_host::size;
use sateen_protocol::RunLimits;

use crate::exit::{USAGE, say};
pub use grid::{
    GetResult, GridLimits, List, OfRun, Ps, Publish, Remove, Replay, Submit, TimeLimits, Tree, Unpublish,
    Wait, Watch,
};

/// Write divide-and-conquer programs as ordinary recursive functions, and run them on all cores of this
/// machine, or on a grid of many.
#[derive(Parser)]
#[command(name = "sateen", version, propagate_version = true, arg_required_else_help = true)]
struct Sateen {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Make a new app, ready to build and test
    New(New),
    /// Compile the app in this folder to NAME.wasm
    Build(Build),
    /// Run the app's tests on this machine and in sandboxes, and compare what they return
    Test(Test),
    /// Say what a module imports and exports, and whether it would run
    Check(Check),
    /// Run an app on this machine
    Run(Run),
    /// Give an app to the grid
    Publish(Publish),
    /// Give up the names of apps; their runs stay
    Unpublish(Unpublish),
    /// List the grid's apps
    Apps(List),
    /// Run an app on the grid; prints the run's number
    Submit(Submit),
    /// List the grid's runs
    Ps(Ps),
    /// Tell all about a run
    Status(OfRun),
    /// Show a run's jobs, where they are and what became of them
    Tree(Tree),
    /// Wait until a run is over; the exit code is the run's
    Wait(Wait),
    /// Print what a run gave
    Result(GetResult),
    /// End a run for good
    Cancel(OfRun),
    /// Save a run's work and stop working on it
    Suspend(OfRun),
    /// Go on with a suspended run
    Resume(OfRun),
    /// Delete finished runs with their results, trees and logs
    Rm(Remove),
    /// List the grid's hosts
    Hosts(List),
    /// Watch a run, or the whole grid, as it goes
    Watch(Watch),
    /// Run one job of the grid again, here, from its key
    Replay(Replay),
}

#[derive(Args)]
pub struct New {
    /// The app's name, and its folder's
    pub name: String,
    /// What to begin with
    #[arg(long, value_enum, default_value_t = Template::Fib)]
    pub template: Template,
    /// Where the crate `sateen` is, if not in the checkout that this command was built from
    #[arg(long, value_name = "FOLDER")]
    pub sdk: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Template {
    /// Fibonacci numbers: the smallest app there is
    Fib,
    /// The N queens: a search that spawns down to a depth and then just calls
    Search,
    /// Many independent pieces of one whole: spawn over an iterator, collect in order
    Map,
    /// The cheapest assignment: branch and bound with the best plan shared by all hosts
    Optimise,
    /// One job for each line of a CSV file: input, stream, progress, output
    Bag,
}

#[derive(Args)]
pub struct Build {
    /// The app's Cargo.toml, if not the one of this folder
    #[arg(long, value_name = "FILE")]
    pub manifest_path: Option<PathBuf>,
    /// Where to put the module, if not to NAME.wasm in this folder
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// The stack that the app keeps in its own memory
    #[arg(long, value_name = "SIZE", default_value = "16M", value_parser = parse_stack)]
    pub stack: usize,
    #[command(flatten)]
    pub cargo: CargoFlags,
}

/// First `cargo test`, in which every parameter and result of a job is encoded and read back. Then each test that is marked
/// `#[sateen::test]` in sandboxes: on 1, 2 and 4 workers, and on 1 and 4 with every job in an instance of its own. What it
/// returns must be the same everywhere.
#[derive(Args)]
pub struct Test {
    /// Only tests whose names contain this
    #[arg(value_name = "NAME")]
    pub filter: Option<String>,
    /// The app's Cargo.toml, if not the one of this folder
    #[arg(long, value_name = "FILE")]
    pub manifest_path: Option<PathBuf>,
    /// The stack that the app keeps in its own memory
    #[arg(long, value_name = "SIZE", default_value = "16M", value_parser = parse_stack)]
    pub stack: usize,
    /// Wall-clock time of each run of a test, as 90, 90s, 5m or 1.5h
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = parse_duration)]
    pub time_limit: Duration,
    /// Show the log of the app's tests
    #[arg(long, short)]
    pub verbose: bool,
    #[command(flatten)]
    pub cargo: CargoFlags,
}

/// What cargo is told as it is.
#[derive(Args, Default)]
#[command(next_help_heading = "Cargo")]
pub struct CargoFlags {
    /// The app's package, in a workspace
    #[arg(long, short, value_name = "NAME")]
    pub package: Option<String>,
    /// Features of the app to switch on
    #[arg(long, short = 'F', value_name = "FEATURES")]
    pub features: Vec<String>,
    /// Switch on all features of the app
    #[arg(long)]
    pub all_features: bool,
    /// Leave the app's default features off
    #[arg(long)]
    pub no_default_features: bool,
    /// Fail if Cargo.lock would change
    #[arg(long)]
    pub locked: bool,
    /// Use no network
    #[arg(long)]
    pub offline: bool,
    /// Both --locked and --offline
    #[arg(long)]
    pub frozen: bool,
}

impl CargoFlags {
    /// Those about features, as cargo has them.
    pub fn of_features(&self) -> Vec<String> {
        let features = self.features.iter().map(|features| format!("--features={features}"));
        let switches =
            [(self.all_features, "--all-features"), (self.no_default_features, "--no-default-features")];
        features.chain(switched_on(&switches)).collect()
    }

    /// Those about where dependencies come from.
    pub fn of_dependencies(&self) -> Vec<String> {
        let switches = [(self.locked, "--locked"), (self.offline, "--offline"), (self.frozen, "--frozen")];
        switched_on(&switches)
    }
}

fn switched_on(switches: &[(bool, &str)]) -> Vec<String> {
    switches.iter().filter(|(is_on, _)| *is_on).map(|(_, flag)| (*flag).to_owned()).collect()
}

#[derive(Args)]
pub struct Check {
    /// The module
    pub app: PathBuf,
    /// One JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct Run {
    /// The app's module
    #[arg(value_name = "APP.wasm")]
    pub app: PathBuf,
    /// The app's own arguments; flags of its own, too, behind `--` if `sateen` knows them as well
    #[arg(value_name = "ARG", allow_negative_numbers = true)]
    pub arguments: Vec<String>,
    /// Workers, if not one for each core
    #[arg(long, short, value_name = "N", value_parser = parse_threads)]
    pub threads: Option<usize>,
    /// Give the file to the app as the input NAME; `-` is stdin
    #[arg(long, value_name = "NAME=FILE", value_parser = parse_input)]
    pub input: Vec<(String, PathBuf)>,
    /// Write the result to the file instead of stdout
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// One JSON object instead of the bare result, with what became of the jobs; without the result if that goes to a file
    #[arg(long)]
    pub json: bool,
    /// Call another entry point of the app
    #[arg(long, value_name = "NAME", default_value = "main")]
    pub function: String,
    /// No progress and no log of the app on stderr
    #[arg(long, short)]
    pub quiet: bool,
    /// Show the app's stack when it fails
    #[arg(long, short)]
    pub verbose: bool,
    /// Run every job in an instance of its own: slow, and shows an app that keeps state in statics
    #[arg(long)]
    pub pristine: bool,
    /// Measure the program's work and span, which bound its time on any number of workers
    #[arg(long)]
    pub profile: bool,
    /// The same NaN bits on every machine, at 2 to 7 times the time of scalar float code
    #[arg(long)]
    pub strict_nan: bool,
    /// Compile anew and keep nothing
    #[arg(long)]
    pub no_cache: bool,
    #[command(flatten)]
    pub limits: LimitFlags,
}

#[derive(Args)]
#[command(next_help_heading = "Limits")]
pub struct LimitFlags {
    /// Memory of one instance, 64K to 4G
    #[arg(long, value_name = "SIZE", default_value = "1G", value_parser = parse_memory)]
    pub memory: usize,
    /// Stack of one instance, 64K to 4G: how deep it may recurse
    #[arg(long, value_name = "SIZE", default_value = "64M", value_parser = parse_stack)]
    pub stack: usize,
    /// Jobs synced with try_sync that are within one another, over all workers
    #[arg(long, value_name = "N", default_value = "1024", value_parser = parse_attempts)]
    pub attempts: usize,
    /// Memory for the run's shared objects, one replica of each, at most 1024G
    #[arg(long, value_name = "SIZE", default_value = "1G", value_parser = parse_shared)]
    pub max_shared: usize,
    /// How long the guard of a job may be false
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_duration)]
    pub guard_limit: Duration,
    /// Size of a result, a job's parameters, or the output, at most 4G
    #[arg(long, value_name = "SIZE", default_value = "64M", value_parser = parse_output_here)]
    pub max_output: usize,
    /// Wall-clock time of the run, as 90, 90s, 5m or 1.5h
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub time_limit: Option<Duration>,
    /// Processor time of the run, over all workers
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub cpu_limit: Option<Duration>,
}

/// The command, or the exit code after help was shown or an error said.
pub fn parse() -> Result<Command, ExitCode> {
    match apps::parse::<Sateen>(std::env::args_os()) {
        Ok(sateen) => Ok(sateen.command),
        Err(error) if error.use_stderr() => {
            say(one_line(&error));
            Err(ExitCode::from(USAGE))
        }
        Err(help) => {
            let _ = help.print();
            Err(ExitCode::SUCCESS)
        }
    }
}

/// clap's message without its decoration, tips and usage.
fn one_line(error: &clap::Error) -> String {
    let text = error.to_string();
    if text.starts_with("Usage:") || !text.contains("error:") {
        return "no command; see `sateen --help`".to_owned();
    }
    let mut lines = text.lines().take_while(|line| !line.trim().is_empty());
    let mut line = lines.next().unwrap_or_default().trim_start_matches("error: ").to_owned();
    for more in lines {
        line.push(' ');
        line.push_str(more.trim());
    }
    line.push_str("; see `sateen --help`");
    line
}

fn parse_threads(text: &str) -> Result<usize, String> {
    const THREADS_MAX: usize = 1024;
    match text.parse() {
        Ok(threads @ 1..=THREADS_MAX) => Ok(threads),
        _ => Err(format!("a number of threads from 1 to {THREADS_MAX} is expected")),
    }
}

fn parse_input(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((name, file)) if !name.is_empty() && !file.is_empty() => Ok((name.to_owned(), file.into())),
        _ => Err("NAME=FILE is expected".to_owned()),
    }
}

/// A number of bytes, with K, M or G for binary multiples.
fn parse_size(text: &str) -> Result<usize, String> {
    let expected = || "a size like 65536, 64K, 16M or 1G is expected".to_owned();
    let lower = text.to_ascii_lowercase();
    let bare = lower.trim_end_matches("ib").trim_end_matches('b');
    let (digits, shift) = match bare.char_indices().last() {
        Some((at, 'k')) => (&bare[..at], 10),
        Some((at, 'm')) => (&bare[..at], 20),
        Some((at, 'g')) => (&bare[..at], 30),
        _ => (bare, 0),
    };
    let number: usize = digits.trim().parse().map_err(|_| expected())?;
    number.checked_mul(1 << shift).filter(|bytes| *bytes > 0).ok_or_else(expected)
}

/// What a grid takes.
fn parse_output(text: &str) -> Result<usize, String> {
    parse_size_within(text, &RunLimits::OUTPUT_BYTES)
}

/// What an instance can hold.
fn parse_output_here(text: &str) -> Result<usize, String> {
    parse_size_within(text, &(1..=RunLimits::INSTANCE_BYTES.end().to_owned()))
}

fn parse_attempts(text: &str) -> Result<usize, String> {
    const ATTEMPTS_MAX: usize = 1_000_000;
    let attempts = text.parse().ok().filter(|attempts| (1..=ATTEMPTS_MAX).contains(attempts));
    attempts.ok_or_else(|| format!("a number from 1 to {ATTEMPTS_MAX} is expected"))
}

fn parse_shared(text: &str) -> Result<usize, String> {
    parse_size_within(text, &RunLimits::SHARED_BYTES)
}

fn parse_size_within(text: &str, range: &RangeInclusive<u64>) -> Result<usize, String> {
    let bytes = parse_size(text)?;
    if range.contains(&(bytes as u64)) {
        Ok(bytes)
    } else {
        Err(format!("a size of at most {} is expected", size(*range.end())))
    }
}

/// A time as the coordinator takes it.
pub fn in_ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX).max(1)
}

fn parse_memory(text: &str) -> Result<usize, String> {
    let bytes = parse_size(text)?;
    if (1 << 16..=1 << 32).contains(&bytes) {
        Ok(bytes.next_multiple_of(1 << 16))
    } else {
        Err("a guest's memory is 64K to 4G".to_owned())
    }
}

fn parse_stack(text: &str) -> Result<usize, String> {
    let bytes = parse_size(text)?;
    if (64 << 10..=4 << 30).contains(&bytes) {
        Ok(bytes.next_multiple_of(4096))
    } else {
        Err("a stack is 64K to 4G".to_owned())
    }
}

fn parse_duration(text: &str) -> Result<Duration, String> {
    let (digits, factor) = match text.char_indices().last() {
        Some((at, 's')) => (text[..at].trim_end_matches('m'), if text.ends_with("ms") { 0.001 } else { 1.0 }),
        Some((at, 'm')) => (&text[..at], 60.0),
        Some((at, 'h')) => (&text[..at], 3600.0),
        _ => (text, 1.0),
    };
    let seconds: f64 =
        digits.trim().parse().map_err(|_| "a time like 90, 500ms, 90s, 5m or 1.5h is expected")?;
    let duration = Duration::try_from_secs_f64(seconds * factor)
        .ok()
        .filter(|duration| duration.as_millis() <= (*RunLimits::MS.end()).into())
        .ok_or("a time cannot be negative, or longer than a hundred years")?;
    if duration.is_zero() {
        Err("a limit of no time at all stops everything".to_owned())
    } else {
        Ok(duration)
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_flags_are_consistent() {
        Sateen::command().debug_assert();
    }

    #[test]
    fn options_may_follow_the_apps_arguments() {
        let parsed = Sateen::try_parse_from([
            "sateen",
            "run",
            "a.wasm",
            "14",
            "-3",
            "--threads",
            "2",
            "--json",
            "--",
            "-x",
        ]);
        let Ok(Sateen { command: Command::Run(run) }) = parsed else { panic!("it parses as a run") };
        assert_eq!(run.arguments, ["14", "-3", "-x"]);
        assert_eq!(run.threads, Some(2));
        assert!(run.json);
    }

    #[test]
    fn errors_are_one_line() {
        for words in [
            &["sateen", "run", "a.wasm", "--thread"][..],
            &["sateen", "run", "a.wasm", "--threads", "0"],
            &["sateen", "run"],
            &["sateen", "rum"],
        ] {
            let error = Sateen::try_parse_from(words).err().expect("it is wrong");
            let line = one_line(&error);
            assert!(!line.contains('\n') && line.len() > 30, "{line}");
        }
    }

    #[test]
    fn sizes_and_times() {
        assert_eq!(parse_size("64K"), Ok(65536));
        assert_eq!(parse_size("1GiB"), Ok(1 << 30));
        assert!(parse_size("G").is_err() && parse_size("0").is_err() && parse_size("-1").is_err());
        assert_eq!(parse_duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_duration("1.5h"), Ok(Duration::from_secs(5400)));
        assert!(
            parse_duration("-1").is_err() && parse_duration("0").is_err() && parse_duration("soon").is_err()
        );
    }
}
