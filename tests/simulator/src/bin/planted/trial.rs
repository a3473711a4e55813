//! What is run against a bug.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::caught::Caught;
use crate::workspace::Workspace;

/// Processor time of the unit tests or the stories, in seconds: a machine that never ends is caught.
const TESTS_CPU_S_MAX: u32 = 40;
/// The same of a block of seeds.
const SEEDS_CPU_S_MAX: u32 = 400;
/// Seeds that are run at once when one that fails is enough.
const SEEDS_AT_ONCE: u64 = 50;
/// What stands for tests that did not end, or ended the process.
const ENDLESS: &str = "(does not end)";

/// What may be spent on a bug.
#[derive(Clone, Copy)]
pub struct Effort {
    /// Seeds to run, from 0.
    pub seeds: u64,
    /// What costs least comes first, and only until something catches the bug: stories, unit tests, seeds.
    pub is_once_enough: bool,
}

impl Default for Effort {
    fn default() -> Self {
        Self { seeds: 1_000, is_once_enough: false }
    }
}

impl Effort {
    /// Whether a bug for which this is known needs no more of it.
    pub fn is_spent(&self, caught: &Caught) -> bool {
        caught.seeds_run >= self.seeds || (self.is_once_enough && caught.is_any())
    }
}

/// The programs that may catch bugs, built with all that are planted.
pub struct Trial<'a> {
    workspace: &'a Workspace,
    tests: PathBuf,
    stories: PathBuf,
    seeds: Option<Seeds>,
}

/// The program that runs seeds.
struct Seeds {
    program: PathBuf,
    /// Those that break a law without any bug: they catch nothing.
    broken: BTreeSet<u64>,
}

impl<'a> Trial<'a> {
    /// Builds unit tests and stories, and checks that nothing fails while no bug is picked.
    ///
    /// # Errors
    /// When something does not build or fails.
    pub fn new(workspace: &'a Workspace) -> io::Result<Self> {
        let test = ["test", "--no-run", "-p", "sateen-protocol"];
        let tests = workspace.build(&[&test[..], &["--lib"]].concat())?;
        let stories = workspace.build(&[&test[..], &["--test", "stories"]].concat())?;
        let trial = Self { workspace, tests, stories, seeds: None };
        let failed = (trial.run_tests(0)?, trial.run_stories(0)?);
        if !failed.0.is_empty() || !failed.1.is_empty() {
            return Err(io::Error::other(format!("without any bug these fail: {failed:?}")));
        }
        Ok(trial)
    }

    /// Runs what may catch a bug, but for seeds.
    ///
    /// # Errors
    /// When something cannot be run.
    pub fn run(&self, bug: u32, effort: Effort) -> io::Result<Caught> {
        let mut caught = Caught { stories: self.run_stories(bug)?, ..Caught::default() };
        if !(effort.is_once_enough && caught.is_any()) {
            caught.tests = self.run_tests(bug)?;
        }
        Ok(caught)
    }

    /// Runs seeds against a bug.
    ///
    /// # Errors
    /// When they do not build or cannot be run.
    pub fn seek(&mut self, bug: u32, effort: Effort, caught: &mut Caught) -> io::Result<()> {
        let seeds = match &self.seeds {
            Some(seeds) => seeds,
            None => self.seeds.insert(Seeds::build(self.workspace, effort.seeds)?),
        };
        let at_once = if effort.is_once_enough { SEEDS_AT_ONCE } else { effort.seeds };
        while !effort.is_spent(caught) {
            let count = at_once.min(effort.seeds - caught.seeds_run);
            let failed = run_seeds(self.workspace, &seeds.program, bug, caught.seeds_run, count)?;
            caught.seeds.extend(failed.difference(&seeds.broken));
            caught.seeds_run += count;
        }
        Ok(())
    }

    /// The unit tests that fail.
    fn run_tests(&self, bug: u32) -> io::Result<BTreeSet<String>> {
        let output = self.workspace.run(&self.tests, &[], bug, TESTS_CPU_S_MAX)?;
        let text = String::from_utf8_lossy(&output.stdout);
        let failed = |line: &str| {
            let path = line.strip_prefix("test ")?.strip_suffix(" ... FAILED")?;
            path.rsplit("::").next().map(str::to_owned)
        };
        let mut failed: BTreeSet<String> = text.lines().filter_map(failed).collect();
        if !output.status.success() && failed.is_empty() {
            failed.insert(ENDLESS.to_owned());
        }
        Ok(failed)
    }

    /// The stories that go another way. Where a machine panics, that is the one that was told last.
    fn run_stories(&self, bug: u32) -> io::Result<BTreeSet<String>> {
        let output = self.workspace.run(&self.stories, &[], bug, TESTS_CPU_S_MAX)?;
        if output.status.success() {
            return Ok(BTreeSet::new());
        }
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text);
        let name = |line: &str| line.split_once(".txt:").map(|(name, _)| format!("{name}.txt"));
        let mut failed: BTreeSet<String> = text.lines().filter_map(name).collect();
        if failed.is_empty() {
            let last = text.lines().filter_map(|line| line.strip_prefix("story ")).next_back();
            failed.insert(last.unwrap_or(ENDLESS).to_owned());
        }
        Ok(failed)
    }
}

impl Seeds {
    /// Optimised, as seeds take longer than to build that.
    fn build(workspace: &Workspace, count: u64) -> io::Result<Self> {
        let words = ["build", "--release", "-p", "sateen-simulator", "--bin", "seeds"];
        let program = workspace.build(&words)?;
        let broken = run_seeds(workspace, &program, 0, 0, count)?;
        if !broken.is_empty() {
            eprintln!("planted: seeds that fail without any bug are left out: {broken:?}");
        }
        Ok(Self { program, broken })
    }
}

/// The seeds that break a law. A block of seeds that does not end counts as its first.
fn run_seeds(
    workspace: &Workspace,
    program: &Path,
    bug: u32,
    first: u64,
    seeds: u64,
) -> io::Result<BTreeSet<u64>> {
    let (from, number) = (first.to_string(), seeds.to_string());
    let words = ["--json", "--first", &from, "--seeds", &number];
    let output = workspace.run(program, &words, bug, SEEDS_CPU_S_MAX)?;
    let text = String::from_utf8_lossy(&output.stdout);
    let Some(line) = text.lines().find(|line| line.starts_with('{')) else {
        return Ok([first].into());
    };
    let value: Value = serde_json::from_str(line)?;
    let failures = value["failures"].as_array().cloned().unwrap_or_default();
    let seed = |text: &str| text.strip_prefix("seed ")?.split_once(':')?.0.parse().ok();
    Ok(failures.iter().filter_map(Value::as_str).filter_map(seed).collect())
}
