//! Runs tests against a bug.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::iter::once;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::Value;

use crate::caught::Caught;
use crate::switch;
use crate::workspace::Workspace;

/// Maximum processor time of all unit tests or all stories, in seconds.
const ALL_CPU_S_MAX: u32 = 60;
/// The same for a group of them: a machine that never ends is caught.
const SOME_CPU_S_MAX: u32 = 12;
/// The same for a block of seeds.
const SEEDS_CPU_S_MAX: u32 = 400;
/// Seeds that are run at once when one failure is enough.
const SEEDS_AT_ONCE: u64 = 50;
/// Stands for tests that did not end, or ended the process.
const ENDLESS: &str = "(does not end)";

/// The effort for a bug.
#[derive(Clone, Copy)]
pub struct Effort {
    /// Seeds to run, from 0.
    pub seeds: u64,
    /// Run the cheapest first, and stop when the bug is caught: stories, unit tests, seeds.
    pub is_once_enough: bool,
}

impl Default for Effort {
    fn default() -> Self {
        Self { seeds: 1_000, is_once_enough: false }
    }
}

impl Effort {
    /// Whether a bug with these results needs no more effort.
    pub fn is_spent(&self, caught: &Caught) -> bool {
        caught.seeds_run >= self.seeds || (self.is_once_enough && caught.is_any())
    }
}

/// The programs that may catch bugs, built with all planted bugs.
pub struct Trial<'a> {
    workspace: &'a Workspace,
    /// The function of each bug.
    functions: BTreeMap<u32, u32>,
    tests: Suite,
    stories: Suite,
    seeds: Option<Seeds>,
}

/// Unit tests, or stories.
struct Suite {
    program: PathBuf,
    /// The tests that reach each function, beginning with those that reach the fewest functions, as they are about it.
    by_function: BTreeMap<u32, Vec<String>>,
}

/// The program that runs seeds.
struct Seeds {
    program: PathBuf,
    /// Whether a seed breaks a law without any bug, and so catches nothing.
    is_broken: BTreeMap<u64, bool>,
}

impl<'a> Trial<'a> {
    /// Builds unit tests and stories, checks that nothing fails without a bug, and records which functions each
    /// reaches.
    ///
    /// # Errors
    /// When something does not build or fails.
    pub fn new(workspace: &'a Workspace, functions: BTreeMap<u32, u32>) -> io::Result<Self> {
        let test = ["test", "--no-run", "-p", "sateen-protocol"];
        let tests = workspace.build(&[&test[..], &["--lib"]].concat())?;
        let stories = workspace.build(&[&test[..], &["--test", "stories"]].concat())?;
        let reached = workspace.path("reached.txt");
        let suite = |program: PathBuf, words: &[&str], failed: fn(&Output) -> BTreeSet<String>| {
            if let Err(error) = fs::remove_file(&reached)
                && error.kind() != io::ErrorKind::NotFound
            {
                return Err(error);
            }
            let variables = [(switch::REACHED, reached.as_os_str())];
            let output = workspace.run(&program, words, &variables, 0, ALL_CPU_S_MAX)?;
            let failed = failed(&output);
            if !failed.is_empty() {
                return Err(io::Error::other(format!("these tests fail without any bug: {failed:?}")));
            }
            Ok(Suite { program, by_function: by_function(&fs::read_to_string(&reached)?) })
        };
        // With one thread, tests would run on the main thread, which does not have their names.
        let tests = suite(tests, &["--test-threads", "2"], failed_tests)?;
        let stories = suite(stories, &[], failed_stories)?;
        Ok(Self { workspace, functions, tests, stories, seeds: None })
    }

    /// Runs everything that may catch a bug, except seeds.
    ///
    /// # Errors
    /// When something cannot be run.
    pub fn run(&self, bug: u32, effort: Effort) -> io::Result<Caught> {
        let mut caught = Caught::default();
        for some in self.stories.reaching(self.functions.get(&bug)) {
            let names = some.join(" ");
            let variables = [("SATEEN_STORIES", OsStr::new(&names))];
            let output = self.workspace.run(&self.stories.program, &[], &variables, bug, SOME_CPU_S_MAX)?;
            caught.stories.extend(failed_stories(&output));
            if effort.is_once_enough && caught.is_any() {
                return Ok(caught);
            }
        }
        for some in self.tests.reaching(self.functions.get(&bug)) {
            let words: Vec<&str> = once("--exact").chain(some.iter().map(String::as_str)).collect();
            let output = self.workspace.run(&self.tests.program, &words, &[], bug, SOME_CPU_S_MAX)?;
            caught.tests.extend(failed_tests(&output));
            if effort.is_once_enough && caught.is_any() {
                break;
            }
        }
        Ok(caught)
    }

    /// Runs seeds against a bug.
    ///
    /// # Errors
    /// When they do not build or cannot be run.
    pub fn seek(&mut self, bug: u32, effort: Effort, caught: &mut Caught) -> io::Result<()> {
        let seeds = match &mut self.seeds {
            Some(seeds) => seeds,
            None => self.seeds.insert(Seeds::build(self.workspace)?),
        };
        let at_once = if effort.is_once_enough { SEEDS_AT_ONCE } else { effort.seeds };
        while !effort.is_spent(caught) {
            let count = at_once.min(effort.seeds - caught.seeds_run);
            for seed in run_seeds(self.workspace, &seeds.program, bug, caught.seeds_run, count)? {
                if !seeds.is_broken(self.workspace, seed)? {
                    caught.seeds.insert(seed);
                    if effort.is_once_enough {
                        break;
                    }
                }
            }
            caught.seeds_run += count;
        }
        Ok(())
    }
}

impl Suite {
    /// The tests that reach this function, in groups that are run at once: one failure may be enough.
    fn reaching(&self, function: Option<&u32>) -> impl Iterator<Item = &[String]> {
        const AT_ONCE: usize = 16;
        function
            .and_then(|function| self.by_function.get(function))
            .into_iter()
            .flat_map(|all| all.chunks(AT_ONCE))
    }
}

/// The contents of the file [`switch::REACHED`], by function.
fn by_function(reached: &str) -> BTreeMap<u32, Vec<String>> {
    let mut reach: BTreeMap<&str, usize> = BTreeMap::new();
    let mut found: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for (function, thread) in reached.lines().filter_map(|line| line.split_once(' ')) {
        if let Ok(function) = function.parse() {
            found.entry(function).or_default().push(thread.to_owned());
            *reach.entry(thread).or_default() += 1;
        }
    }
    for tests in found.values_mut() {
        tests.sort_by_key(|test| reach.get(test.as_str()).copied());
    }
    found
}

/// The unit tests that failed.
fn failed_tests(output: &Output) -> BTreeSet<String> {
    let text = String::from_utf8_lossy(&output.stdout);
    let failed = |line: &str| {
        let path = line.strip_prefix("test ")?.strip_suffix(" ... FAILED")?;
        path.rsplit("::").next().map(str::to_owned)
    };
    let mut failed: BTreeSet<String> = text.lines().filter_map(failed).collect();
    if !output.status.success() && failed.is_empty() {
        failed.insert(ENDLESS.to_owned());
    }
    failed
}

/// The stories whose outcome changed. If a machine does not end, that is the story run last.
fn failed_stories(output: &Output) -> BTreeSet<String> {
    if output.status.success() {
        return BTreeSet::new();
    }
    let text = [&output.stdout[..], &output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    let name = |line: &str| line.split_once(".txt:").map(|(name, _)| format!("{name}.txt"));
    let mut failed: BTreeSet<String> = text.lines().filter_map(name).collect();
    if failed.is_empty() {
        let last = text.lines().filter_map(|line| line.strip_prefix("story ")).next_back();
        failed.insert(last.unwrap_or(ENDLESS).to_owned());
    }
    failed
}

impl Seeds {
    /// Builds with optimisation, as seeds take longer than that build.
    fn build(workspace: &Workspace) -> io::Result<Self> {
        let words = ["build", "--release", "-p", "sateen-simulator", "--bin", "seeds"];
        Ok(Self { program: workspace.build(&words)?, is_broken: BTreeMap::new() })
    }

    fn is_broken(&mut self, workspace: &Workspace, seed: u64) -> io::Result<bool> {
        if let Some(known) = self.is_broken.get(&seed) {
            return Ok(*known);
        }
        let is_broken = !run_seeds(workspace, &self.program, 0, seed, 1)?.is_empty();
        if is_broken {
            eprintln!("planted: seed {seed} fails without any bug, and is left out");
        }
        self.is_broken.insert(seed, is_broken);
        Ok(is_broken)
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
    let output = workspace.run(program, &words, &[], bug, SEEDS_CPU_S_MAX)?;
    let text = String::from_utf8_lossy(&output.stdout);
    let Some(line) = text.lines().find(|line| line.starts_with('{')) else {
        return Ok([first].into());
    };
    let value: Value = serde_json::from_str(line)?;
    let failures = value["failures"].as_array().cloned().unwrap_or_default();
    let seed = |text: &str| text.strip_prefix("seed ")?.split_once(':')?.0.parse().ok();
    Ok(failures.iter().filter_map(Value::as_str).filter_map(seed).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_test_that_reaches_the_least_comes_first() {
        let found = by_function("7 wide\n8 wide\n9 wide\n7 other::narrow\n9 narrower\n");
        assert_eq!(found[&7], ["other::narrow", "wide"]);
        assert_eq!(found[&8], ["wide"]);
        assert_eq!(found[&9], ["narrower", "wide"]);
    }
}
