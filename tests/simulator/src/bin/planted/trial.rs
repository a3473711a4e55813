//! What is run against a bug.

use std::collections::BTreeSet;
use std::io;
use std::process::Command;

use serde_json::Value;

use crate::caught::Caught;
use crate::workspace::Workspace;

/// Processor time of a program that is run, in seconds: a machine that never ends is caught.
const CPU_S_MAX: u32 = 300;
/// Memory of a program that is run, in KiB: so is one that fills memory.
const MEMORY_KIB_MAX: u32 = 4 << 20;
/// Seeds that are run at once when one that fails is enough.
const SEEDS_AT_ONCE: u64 = 50;
/// What stands for the tests or stories of a program that was ended.
const ENDLESS: &str = "(does not end)";

/// What may be spent on a bug.
#[derive(Clone, Copy)]
pub struct Effort {
    /// Seeds to run, from 0.
    pub seeds: u64,
    /// Seeds are run only if nothing else catches the bug, until one does.
    pub is_once_enough: bool,
}

impl Default for Effort {
    fn default() -> Self {
        Self { seeds: 1_000, is_once_enough: false }
    }
}

/// Runs what may catch the bug that is planted.
///
/// # Errors
/// When something does not build or cannot be run.
pub fn run(workspace: &Workspace, effort: Effort) -> io::Result<Caught> {
    build(workspace, &["test", "--no-run", "-p", "sateen-protocol", "--lib", "--tests"])?;
    let mut caught =
        Caught { tests: run_tests(workspace)?, stories: run_stories(workspace)?, ..Caught::default() };
    if effort.seeds == 0 || (effort.is_once_enough && caught.is_any()) {
        return Ok(caught);
    }
    build(workspace, SEEDS_BUILT)?;
    let at_once = if effort.is_once_enough { SEEDS_AT_ONCE } else { effort.seeds };
    while caught.seeds_run < effort.seeds && !(effort.is_once_enough && caught.is_any()) {
        let seeds = at_once.min(effort.seeds - caught.seeds_run);
        caught.seeds.extend(run_seeds(workspace, caught.seeds_run, seeds)?);
        caught.seeds_run += seeds;
    }
    Ok(caught)
}

const SEEDS_BUILT: &[&str] = &["build", "--release", "-p", "sateen-simulator", "--bin", "seeds"];

/// The unit tests that fail, and those of other test programs but the stories'.
fn run_tests(workspace: &Workspace) -> io::Result<BTreeSet<String>> {
    let program = ["test", "-p", "sateen-protocol", "--no-fail-fast", "--lib", "--test", "golden"];
    let text = run_bounded(workspace, &program)?;
    let failed = |line: &str| {
        let path = line.strip_prefix("test ")?.strip_suffix(" ... FAILED")?;
        path.rsplit("::").next().map(str::to_owned)
    };
    let mut failed: BTreeSet<String> = text.lines().filter_map(failed).collect();
    if text.contains("(signal: ") {
        failed.insert(ENDLESS.to_owned());
    }
    Ok(failed)
}

/// The stories that go another way. Where a machine panics, that is the one that was told last.
fn run_stories(workspace: &Workspace) -> io::Result<BTreeSet<String>> {
    let text = run_bounded(workspace, &["test", "-p", "sateen-protocol", "--test", "stories"])?;
    if text.contains("test result: ok") {
        return Ok(BTreeSet::new());
    }
    let name = |line: &str| line.split_once(".txt:").map(|(name, _)| format!("{name}.txt"));
    let mut failed: BTreeSet<String> = text.lines().filter_map(name).collect();
    if failed.is_empty() {
        let last = text.lines().filter_map(|line| line.strip_prefix("story ")).next_back();
        failed.insert(last.unwrap_or(ENDLESS).to_owned());
    }
    Ok(failed)
}

/// The seeds that break a law. A block of seeds that does not end counts as its first.
fn run_seeds(workspace: &Workspace, first: u64, seeds: u64) -> io::Result<BTreeSet<u64>> {
    let (from, number) = (first.to_string(), seeds.to_string());
    let program = ["run", "--release", "-p", "sateen-simulator", "--bin", "seeds", "--"];
    let words = [&program[..], &["--json", "--first", &from, "--seeds", &number]].concat();
    let text = run_bounded(workspace, &words)?;
    let Some(line) = text.lines().find(|line| line.starts_with('{')) else {
        return Ok([first].into());
    };
    let value: Value = serde_json::from_str(line)?;
    let failures = value["failures"].as_array().cloned().unwrap_or_default();
    let seed = |text: &str| text.strip_prefix("seed ")?.split_once(':')?.0.parse().ok();
    Ok(failures.iter().filter_map(Value::as_str).filter_map(seed).collect())
}

fn build(workspace: &Workspace, words: &[&str]) -> io::Result<()> {
    let output = with_settings(Command::new(cargo()), workspace).args(words).output()?;
    match output.status.success() {
        true => Ok(()),
        false => {
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            Err(io::Error::other(format!("it does not build:\n{text}")))
        }
    }
}

/// What a program of cargo's prints that was built before, within bounds of time and memory.
fn run_bounded(workspace: &Workspace, words: &[&str]) -> io::Result<String> {
    let script = format!("ulimit -t {CPU_S_MAX}; ulimit -v {MEMORY_KIB_MAX}; exec \"$0\" \"$@\"");
    let mut shell = with_settings(Command::new("sh"), workspace);
    let output = shell.arg("-c").arg(script).arg(cargo()).args(words).output()?;
    let text = [output.stdout, output.stderr].concat();
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn cargo() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned())
}

/// Most of the time goes into building: tests are built without symbols, and seeds with little optimisation.
fn with_settings(mut command: Command, workspace: &Workspace) -> Command {
    command
        .current_dir(&workspace.folder)
        .env("CARGO_TARGET_DIR", workspace.folder.join("target"))
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .env("CARGO_PROFILE_RELEASE_INCREMENTAL", "true")
        .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1");
    command
}
