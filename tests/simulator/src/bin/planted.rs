//! Plants bugs in the protocol, one at a time, and says what catches each: how many seeds, which of the
//! protocol's own tests, which stories: `cargo run --release -p sateen-simulator --bin planted [--seeds N] [--until-caught]
//! [--json] [NAME…]`. With `--until-caught` stories are told and seeds run only where nothing before caught the bug;
//! with `--json` each bug is an object on a line of its own.
//!
//! A bug is a file in `planted/`: what it is, the source file, the text that is replaced, and by what. The
//! protocol, the simulator and the stories are copied to `target/planted` and built there. The exit code is 1 if
//! nothing catches a bug, 2 if one does not fit the source any more.
#![allow(clippy::print_stdout)]

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

struct Bug {
    name: String,
    what: String,
    file: PathBuf,
    from: String,
    to: String,
}

/// What is run, and how it is told.
#[derive(Default)]
struct Wishes {
    seeds: u64,
    is_enough_once: bool,
    is_json: bool,
    names: BTreeSet<String>,
}

/// What caught a bug.
#[derive(Default)]
struct Caught {
    seeds: BTreeSet<u64>,
    tests: BTreeSet<String>,
    stories: BTreeSet<String>,
}

fn main() -> ExitCode {
    let mut wishes = Wishes { seeds: 300, ..Wishes::default() };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--seeds" => {
                wishes.seeds = words.next().and_then(|text| text.parse().ok()).unwrap_or(wishes.seeds);
            }
            "--until-caught" => wishes.is_enough_once = true,
            "--json" => wishes.is_json = true,
            _ => {
                wishes.names.insert(word);
            }
        }
    }
    match plant_all(&wishes) {
        Ok((0, 0)) => ExitCode::SUCCESS,
        Ok((missed, 0)) => {
            eprintln!("planted: {missed} bugs were not caught: a test is missing");
            ExitCode::from(1)
        }
        Ok((_, misfits)) => {
            eprintln!("planted: {misfits} bugs do not fit the source, or do not build");
            ExitCode::from(2)
        }
        Err(error) => {
            eprintln!("planted: {error}");
            ExitCode::from(2)
        }
    }
}

/// How many bugs nothing caught, and how many could not be planted.
fn plant_all(wishes: &Wishes) -> io::Result<(usize, usize)> {
    let simulator = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = simulator.ancestors().nth(2).ok_or_else(|| io::Error::other("the repo has no root"))?;
    let copy = root.join("target/planted");
    copy_sources(root, &copy)?;
    let mut bugs: Vec<Bug> = Vec::new();
    for entry in fs::read_dir(simulator.join("planted"))? {
        bugs.push(read_bug(&entry?.path())?);
    }
    bugs.retain(|bug| wishes.names.is_empty() || wishes.names.contains(&bug.name));
    bugs.sort_by(|one, other| one.name.cmp(&other.name));
    if !wishes.is_json {
        let seeds = wishes.seeds;
        println!("| bug | what | seeds of {seeds} that catch it | first | tests that do | stories that do |");
        println!("| --- | --- | --- | --- | --- | --- |");
    }
    let (mut missed, mut misfits) = (0, 0);
    for bug in &bugs {
        let original = fs::read_to_string(root.join(&bug.file))?;
        if original.matches(&bug.from).count() != 1 {
            eprintln!("planted: {} does not fit {} any more", bug.name, bug.file.display());
            misfits += 1;
            continue;
        }
        fs::write(copy.join(&bug.file), original.replacen(&bug.from, &bug.to, 1))?;
        let caught = try_bug(&copy, wishes);
        fs::write(copy.join(&bug.file), original)?;
        let caught = match caught {
            Ok(caught) => caught,
            Err(error) => {
                eprintln!("planted: {}: {error}", bug.name);
                misfits += 1;
                continue;
            }
        };
        missed += usize::from(!caught.is_any());
        println!("{}", if wishes.is_json { caught.json(bug) } else { caught.row(bug) });
    }
    Ok((missed, misfits))
}

/// Runs what may catch the bug that is planted.
fn try_bug(copy: &Path, wishes: &Wishes) -> io::Result<Caught> {
    let mut caught = Caught { tests: run_tests(copy)?, ..Caught::default() };
    let goes_on = |caught: &Caught| !(wishes.is_enough_once && caught.is_any());
    if goes_on(&caught) {
        caught.stories = run_stories(copy)?;
    }
    if wishes.seeds > 0 && goes_on(&caught) {
        caught.seeds = run_seeds(copy, wishes.seeds)?;
    }
    Ok(caught)
}

impl Caught {
    fn is_any(&self) -> bool {
        !(self.seeds.is_empty() && self.tests.is_empty() && self.stories.is_empty())
    }

    fn row(&self, bug: &Bug) -> String {
        let first = self.seeds.first().map_or_else(|| "-".to_owned(), u64::to_string);
        let (tests, stories) = (few(&self.tests), few(&self.stories));
        format!("| {} | {} | {} | {first} | {tests} | {stories} |", bug.name, bug.what, self.seeds.len())
    }

    fn json(&self, bug: &Bug) -> String {
        let (name, what) = (&bug.name, &bug.what);
        let (seeds, tests, stories) = (&self.seeds, &self.tests, &self.stories);
        serde_json::json!({ "bug": name, "what": what, "seeds": seeds, "tests": tests, "stories": stories })
            .to_string()
    }
}

fn read_bug(path: &Path) -> io::Result<Bug> {
    let text = fs::read_to_string(path)?;
    let wrong = || io::Error::other(format!("{} is not a planted bug", path.display()));
    let (head, rest) = text.split_once("\n<<<<\n").ok_or_else(wrong)?;
    let (from, rest) = rest.split_once("\n====\n").ok_or_else(wrong)?;
    let (to, _) = rest.split_once("\n>>>>").ok_or_else(wrong)?;
    let (what, file) = head.split_once('\n').ok_or_else(wrong)?;
    let name = path.file_stem().and_then(|name| name.to_str()).ok_or_else(wrong)?;
    Ok(Bug {
        name: name.to_owned(),
        what: what.to_owned(),
        file: PathBuf::from(file),
        from: from.to_owned(),
        to: to.to_owned(),
    })
}

/// Some names of what caught a bug, and how many more there are.
fn few(names: &BTreeSet<String>) -> String {
    const SHOWN_MAX: usize = 3;
    let mut shown: Vec<String> = names.iter().take(SHOWN_MAX).map(|name| format!("`{name}`")).collect();
    if names.len() > SHOWN_MAX {
        shown.push(format!("{} more", names.len() - SHOWN_MAX));
    }
    if shown.is_empty() { "-".to_owned() } else { shown.join(", ") }
}

/// The seeds that break a law.
fn run_seeds(copy: &Path, seeds: u64) -> io::Result<BTreeSet<u64>> {
    let text = test(copy, &["-p", "sateen-simulator", "--test", "seeds"], seeds)?;
    let seed = |line: &str| line.strip_prefix("seed ")?.split_once(':')?.0.parse().ok();
    Ok(text.lines().filter_map(seed).collect())
}

/// The protocol's tests that fail.
fn run_tests(copy: &Path) -> io::Result<BTreeSet<String>> {
    let text = test(copy, &["-p", "sateen-protocol", "--lib"], 0)?;
    let failed = |line: &str| {
        let path = line.strip_prefix("test ")?.strip_suffix(" ... FAILED")?;
        path.rsplit("::").next().map(str::to_owned)
    };
    Ok(text.lines().filter_map(failed).collect())
}

/// The stories that go another way. Where a machine panics, that is the one that was told last.
fn run_stories(copy: &Path) -> io::Result<BTreeSet<String>> {
    let text = test(copy, &["-p", "sateen-protocol", "--test", "stories"], 0)?;
    if text.contains("test result: ok") {
        return Ok(BTreeSet::new());
    }
    let name = |line: &str| line.split_once(".txt:").map(|(name, _)| format!("{name}.txt"));
    let mut failed: BTreeSet<String> = text.lines().filter_map(name).collect();
    if failed.is_empty() {
        let last = text.lines().filter_map(|line| line.strip_prefix("story ")).next_back();
        failed.insert(last.unwrap_or("all").to_owned());
    }
    Ok(failed)
}

/// What the tests of a package of the copy say.
fn test(copy: &Path, package: &[&str], seeds: u64) -> io::Result<String> {
    let output = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".into()))
        .args(["test", "--release"])
        .args(package)
        .current_dir(copy)
        .env("CARGO_TARGET_DIR", copy.join("target"))
        // Most of the time goes into building.
        .env("CARGO_PROFILE_RELEASE_INCREMENTAL", "true")
        .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1")
        .env("SATEEN_SEEDS", seeds.to_string())
        .output()?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    if text.contains("\nrunning ") {
        Ok(text)
    } else {
        Err(io::Error::other(format!("the tests do not build:\n{text}")))
    }
}

/// A workspace of nothing but the protocol, the simulator and the stories.
fn copy_sources(root: &Path, copy: &Path) -> io::Result<()> {
    for folder in ["protocol", "tests/simulator", "tests/driven"] {
        let place = copy.join(folder);
        if place.exists() {
            fs::remove_dir_all(&place)?;
        }
        copy_folder(&root.join(folder), &place)?;
    }
    let manifest = fs::read_to_string(root.join("Cargo.toml"))?;
    let lines: Vec<String> = (manifest.lines())
        .take_while(|line| !line.starts_with("[profile.release.package"))
        .filter(|line| !line.starts_with("default-members"))
        .map(|line| match line.starts_with("members") {
            true => "members = [\"protocol\", \"tests/driven\", \"tests/simulator\"]".to_owned(),
            false => line.to_owned(),
        })
        .collect();
    fs::write(copy.join("Cargo.toml"), lines.join("\n"))?;
    fs::copy(root.join("Cargo.lock"), copy.join("Cargo.lock"))?;
    Ok(())
}

fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let place = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &place)?;
        } else {
            fs::copy(entry.path(), place)?;
        }
    }
    Ok(())
}
