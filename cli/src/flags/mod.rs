//! The command line, parsed into plain values.

mod access;
mod apps;
mod cargo;
mod grid;
mod keys;

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use sateen_api::names::check_input_name;
use sateen_command_line as values;
use sateen_protocol::RunLimits;

use crate::exit::{USAGE, say};
pub use access::{Audit, Login, Logout, NewToken, Revoke, TokenCommand};
pub use cargo::CargoFlags;
pub use grid::{
    GetResult, Grid, GridLimits, List, OfRun, OfRuns, Ps, Publish, Remove, Replay, Submit, TimeLimits, Tree,
    Unpublish, Wait, Watch,
};
pub use keys::{HostKeys, OfKeys};

/// Write divide-and-conquer programs as ordinary recursive functions, and run them on all cores of this
/// machine or on a grid of machines.
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
    ///
    /// Begins with `cargo test`, which encodes and decodes every parameter and result of a job. Then runs each test
    /// marked `#[sateen::test]` in sandboxes: on 1, 2 and 4 workers, and on 1 and 4 workers with every job in an
    /// instance of its own. A test must return the same value everywhere.
    Test(Test),
    /// Show what a module imports and exports, and whether hosts would run it
    Check(Check),
    /// Run an app on this machine
    Run(Run),
    /// Publish an app on the grid
    Publish(Publish),
    /// Give up the names of published apps; their runs are kept
    Unpublish(Unpublish),
    /// List the grid's apps
    Apps(List),
    /// Run an app on the grid, and print the run's number
    Submit(Submit),
    /// List the grid's runs
    Ps(Ps),
    /// Show a run's status
    Status(OfRun),
    /// Show a run's jobs, with their hosts and states
    Tree(Tree),
    /// Wait until a run is over; the exit code shows how it ended
    Wait(Wait),
    /// Print a run's result
    Result(GetResult),
    /// Cancel runs
    Cancel(OfRuns),
    /// Save the work of runs and suspend them
    Suspend(OfRuns),
    /// Continue suspended runs
    Resume(OfRuns),
    /// Delete finished runs with their results, trees and logs
    Rm(Remove),
    /// List the grid's hosts
    Hosts(List),
    /// Decide which hosts may take part in the grid
    #[command(subcommand)]
    Host(HostKeys),
    /// Watch a run, or the whole grid, live
    Watch(Watch),
    /// Run one job of a run again on this machine, from its key
    Replay(Replay),
    /// Keep a token for a coordinator that needs one
    Login(Login),
    /// Forget the token for a coordinator
    Logout(Logout),
    /// Make, list and revoke tokens; needs an admin's token
    #[command(subcommand)]
    Token(TokenCommand),
    /// Show what was done on the grid, and refused; needs an admin's token
    Audit(Audit),
    #[command(flatten)]
    Generate(values::Generate),
}

#[derive(Args)]
pub struct New {
    /// Folder to make; its last part is the app's name
    pub name: String,
    /// Template to begin with
    #[arg(long, value_enum, default_value_t = Template::Fib)]
    pub template: Template,
    /// Folder of the crate `sateen` [default: that of the archive or checkout of this command]
    #[arg(long, value_name = "FOLDER")]
    pub sdk: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Template {
    /// Fibonacci numbers: the smallest app there is
    Fib,
    /// The N queens: a search that spawns down to a depth and calls below it
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
    /// The app's Cargo.toml [default: that of this folder or of one above]
    #[arg(long, value_name = "FILE")]
    pub manifest_path: Option<PathBuf>,
    /// File for the module; folders above it are made [default: NAME.wasm in this folder]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Size of the stack that the app keeps in its own memory [range: 64K to 1G]
    #[arg(long, value_name = "SIZE", default_value = "16M", value_parser = parse_own_stack)]
    pub stack: usize,
    #[command(flatten)]
    pub cargo: CargoFlags,
}

#[derive(Args)]
pub struct Test {
    /// Run only tests whose names contain this
    #[arg(value_name = "NAME")]
    pub filter: Option<String>,
    /// The app's Cargo.toml [default: that of this folder or of one above]
    #[arg(long, value_name = "FILE")]
    pub manifest_path: Option<PathBuf>,
    /// Size of the stack that the app keeps in its own memory [range: 64K to 1G]
    #[arg(long, value_name = "SIZE", default_value = "16M", value_parser = parse_own_stack)]
    pub stack: usize,
    /// Wall-clock time of each run of a test, like 90s, 5m or 1.5h [range: 1ms to 36500d]
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = parse_duration)]
    pub time_limit: Duration,
    /// Show the log of the app's tests
    #[arg(long, short)]
    pub verbose: bool,
    #[command(flatten)]
    pub cargo: CargoFlags,
}

#[derive(Args)]
pub struct Check {
    /// The module
    pub app: PathBuf,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct Run {
    /// The app's module
    #[arg(value_name = "APP.wasm")]
    pub app: PathBuf,
    /// Arguments for the app, its own flags included; flags that `sateen` has as well go behind `--`
    #[arg(value_name = "ARG", allow_negative_numbers = true)]
    pub arguments: Vec<String>,
    /// Number of workers [default: one for each core] [range: 1 to 1024]
    #[arg(long, short, value_name = "N", value_parser = parse_threads)]
    pub threads: Option<usize>,
    /// File with the app's input NAME; `-` is stdin
    #[arg(long, value_name = "NAME=FILE", value_parser = parse_input)]
    pub input: Vec<(String, PathBuf)>,
    /// Write the result to the file instead of stdout
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Print one JSON object with the result and figures of the run, instead of the bare result; with --output, without the
    /// result
    #[arg(long)]
    pub json: bool,
    /// The entry point to call
    #[arg(long, value_name = "NAME", default_value = "main", value_parser = NonEmptyStringValueParser::new())]
    pub function: String,
    /// Suppress progress and app logs
    #[arg(long, short)]
    pub quiet: bool,
    /// Show the app's stack when it fails
    #[arg(long, short)]
    pub verbose: bool,
    /// Run every job in an instance of its own; slow, but detects jobs that depend on state outside their parameters
    #[arg(long)]
    pub pristine: bool,
    /// Measure the program's work and span, which bound its time on any number of workers
    #[arg(long)]
    pub profile: bool,
    /// Compute the same NaN bits on every machine; scalar float code takes 2 to 7 times as long
    #[arg(long)]
    pub strict_nan: bool,
    /// Compile the app anew, and do not cache the compiled code
    #[arg(long)]
    pub no_cache: bool,
    #[command(flatten)]
    pub limits: LimitFlags,
}

#[derive(Args)]
#[command(next_help_heading = "Limits")]
pub struct LimitFlags {
    /// Memory of one instance [range: 64K to 4G]
    #[arg(long, value_name = "SIZE", default_value = "1G", value_parser = parse_memory)]
    pub memory: usize,
    /// Stack of one instance: how deep it may recurse [range: 64K to 4G]
    #[arg(long, value_name = "SIZE", default_value = "64M", value_parser = parse_stack)]
    pub stack: usize,
    /// Maximum depth of jobs synced with `try_sync` inside one another, over all workers [range: 1 to 1000000]
    #[arg(long, value_name = "N", default_value = "1024", value_parser = parse_attempts)]
    pub attempts: usize,
    /// Memory for the run's shared objects, one replica of each [range: 1B to 1T]
    #[arg(long, value_name = "SIZE", default_value = "1G", value_parser = parse_shared)]
    pub max_shared: usize,
    /// How long the guard of a job may be false [range: 1ms to 36500d]
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_duration)]
    pub guard_limit: Duration,
    /// Size of a result, of a job's parameters, or of the output [range: 1B to 4G]
    #[arg(long, value_name = "SIZE", default_value = "64M", value_parser = parse_output_here)]
    pub max_output: usize,
    /// Wall-clock time of the run, like 90s, 5m or 1.5h [default: no limit] [range: 1ms to 36500d]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub time_limit: Option<Duration>,
    /// Processor time of the run, over all workers [default: no limit] [range: 1ms to 36500d]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub cpu_limit: Option<Duration>,
}

/// The program with all its flags, from which help, man pages and completions are generated.
pub fn program() -> clap::Command {
    Sateen::command()
}

/// The parsed command, or the exit code after help or an error was printed.
pub fn parse() -> Result<Command, ExitCode> {
    match apps::parse::<Sateen>(std::env::args_os()) {
        Ok(sateen) => Ok(sateen.command),
        Err(error) if error.use_stderr() => {
            let words: Vec<_> = std::env::args_os().skip(1).collect();
            say(values::one_line(&error, &Sateen::command(), &words));
            Err(ExitCode::from(USAGE))
        }
        Err(help) => {
            let _ = help.print();
            Err(ExitCode::SUCCESS)
        }
    }
}

fn parse_threads(text: &str) -> Result<usize, String> {
    parse_number(text, 1024)
}

fn parse_attempts(text: &str) -> Result<usize, String> {
    parse_number(text, 1_000_000)
}

/// A number from 1 to `max`.
fn parse_number(text: &str, max: u64) -> Result<usize, String> {
    values::number(text, 1..=max).map(|number| number as usize)
}

fn parse_input(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((name, file)) if !file.is_empty() => {
            check_input_name(name).map_err(|why| format!("NAME=FILE is expected, and {why}"))?;
            Ok((name.to_owned(), file.into()))
        }
        _ => Err("NAME=FILE is expected".to_owned()),
    }
}

/// An output size that a grid accepts.
fn parse_output(text: &str) -> Result<usize, String> {
    parse_size(text, RunLimits::OUTPUT_BYTES)
}

/// An output size that an instance can hold.
fn parse_output_here(text: &str) -> Result<usize, String> {
    parse_size(text, 1..=*RunLimits::INSTANCE_BYTES.end())
}

fn parse_shared(text: &str) -> Result<usize, String> {
    parse_size(text, RunLimits::SHARED_BYTES)
}

fn parse_memory(text: &str) -> Result<usize, String> {
    parse_size(text, RunLimits::INSTANCE_BYTES).map(|bytes| bytes.next_multiple_of(1 << 16))
}

fn parse_stack(text: &str) -> Result<usize, String> {
    parse_size(text, RunLimits::INSTANCE_BYTES).map(|bytes| bytes.next_multiple_of(4096))
}

/// The size of a stack in the app's own memory, which must hold the app's data as well.
fn parse_own_stack(text: &str) -> Result<usize, String> {
    const OWN_STACK_BYTES_MAX: u64 = 1 << 30;
    let range = *RunLimits::INSTANCE_BYTES.start()..=OWN_STACK_BYTES_MAX;
    parse_size(text, range).map(|bytes| bytes.next_multiple_of(4096))
}

fn parse_size(text: &str, range: RangeInclusive<u64>) -> Result<usize, String> {
    let bytes = values::size(text, range)?;
    usize::try_from(bytes).map_err(|_| "exceeds what this machine can address".to_owned())
}

fn parse_duration(text: &str) -> Result<Duration, String> {
    values::time(text, RunLimits::MS)
}

/// A duration in milliseconds, as the coordinator accepts it.
pub fn in_ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX).max(1)
}

#[cfg(test)]
mod tests {
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
}
