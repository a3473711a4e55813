//! Records which tests caught each bug, in a file that is kept from run to run.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::bug::Bug;

/// Header of the rows of [`Caught::row`].
pub const HEADER: &str = "| bug | unit tests | stories | first seed |\n| --- | --- | --- | --- |";

/// The tests that caught a bug.
#[derive(Debug, Clone, Default)]
pub struct Caught {
    /// Unit tests.
    pub tests: BTreeSet<String>,
    /// Stories.
    pub stories: BTreeSet<String>,
    /// Seeds that broke a law.
    pub seeds: BTreeSet<u64>,
    /// The number of seeds that were run.
    pub seeds_run: u64,
}

impl Caught {
    /// Whether anything caught it.
    pub fn is_any(&self) -> bool {
        !(self.seeds.is_empty() && self.tests.is_empty() && self.stories.is_empty())
    }

    /// A row of the table of `tests/README.md`.
    pub fn row(&self, bug: &Bug) -> String {
        let what = &bug.what;
        format!("| {what} | {} | {} | {} |", few(&self.tests), few(&self.stories), self.first_seed())
    }

    /// A line for the terminal.
    pub fn line(&self, bug: &Bug) -> String {
        let Self { tests, stories, .. } = self;
        let verdict = if self.is_any() { "caught" } else { "MISSED" };
        let seed = self.first_seed();
        format!("{verdict} {}: {} tests, {} stories, first seed {seed}", bug.name, tests.len(), stories.len())
    }

    fn first_seed(&self) -> String {
        match (self.seeds.first(), self.seeds_run) {
            (Some(seed), _) => seed.to_string(),
            (None, 0) => String::new(),
            (None, run) => format!("none of {run}"),
        }
    }

    /// As a JSON object.
    pub fn json(&self, bug: &Bug) -> String {
        let Self { tests, stories, seeds, seeds_run } = self;
        serde_json::json!({
            "bug": bug.name, "what": bug.what, "tests": tests, "stories": stories, "seeds": seeds,
            "seeds_run": seeds_run,
        })
        .to_string()
    }

    fn read(value: &Value) -> Self {
        let items = |name: &str| value[name].as_array().cloned().unwrap_or_default();
        let texts = |name: &str| items(name).iter().filter_map(Value::as_str).map(str::to_owned).collect();
        Self {
            tests: texts("tests"),
            stories: texts("stories"),
            seeds: items("seeds").iter().filter_map(Value::as_u64).collect(),
            seeds_run: value["seeds_run"].as_u64().unwrap_or(0),
        }
    }
}

/// Some of the tests that caught a bug, and the number of others.
fn few(names: &BTreeSet<String>) -> String {
    const SHOWN_MAX: usize = 2;
    let mut shown: Vec<String> = names.iter().take(SHOWN_MAX).map(|name| format!("`{name}`")).collect();
    if names.len() > SHOWN_MAX {
        shown.push(format!("{} more", names.len() - SHOWN_MAX));
    }
    shown.join(", ")
}

/// The tests that caught each bug when it was last tried.
pub struct Ledger {
    path: PathBuf,
    by_bug: BTreeMap<String, Caught>,
}

impl Ledger {
    /// Opens the ledger in a file, which need not exist.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn open(path: &Path) -> io::Result<Self> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error),
        };
        let mut by_bug = BTreeMap::new();
        for line in text.lines() {
            let value: Value = serde_json::from_str(line)?;
            if let Some(name) = value["bug"].as_str() {
                by_bug.insert(name.to_owned(), Caught::read(&value));
            }
        }
        Ok(Self { path: path.to_owned(), by_bug })
    }

    /// The tests that caught a bug; `None` if it was never tried.
    pub fn caught(&self, bug: &Bug) -> Option<&Caught> {
        self.by_bug.get(&bug.name)
    }

    /// Records the tests that caught a bug.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn add(&mut self, bug: &Bug, caught: Caught) -> io::Result<()> {
        let mut file = fs::OpenOptions::new().create(true).append(true).open(&self.path)?;
        writeln!(file, "{}", caught.json(bug))?;
        self.by_bug.insert(bug.name.clone(), caught);
        Ok(())
    }
}
