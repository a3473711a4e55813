//! Plants bugs in the protocol, one at a time, and says how many seeds catch each:
//! `cargo run --release -p sateen-simulator --bin planted [--seeds N] [NAME…]`.
//!
//! A bug is a file in `planted/`: what it is, the source file, the text that is replaced, and by what. The
//! protocol and the simulator are copied to `target/planted` and built there. The exit code is 1 if a bug
//! is not caught, 2 if one does not fit the source any more.
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

fn main() -> ExitCode {
    let (mut seeds, mut names) = (300, BTreeSet::new());
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        if word == "--seeds" {
            seeds = words.next().and_then(|text| text.parse().ok()).unwrap_or(seeds);
        } else {
            names.insert(word);
        }
    }
    match plant_all(seeds, &names) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(missed) => {
            eprintln!("planted: {missed} bugs were not caught: a test is missing");
            ExitCode::from(1)
        }
        Err(error) => {
            eprintln!("planted: {error}");
            ExitCode::from(2)
        }
    }
}

fn plant_all(seeds: u64, names: &BTreeSet<String>) -> io::Result<usize> {
    let simulator = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = simulator.ancestors().nth(2).ok_or_else(|| io::Error::other("the repo has no root"))?;
    let copy = root.join("target/planted");
    copy_sources(root, &copy)?;
    let mut bugs: Vec<Bug> = Vec::new();
    for entry in fs::read_dir(simulator.join("planted"))? {
        bugs.push(read_bug(&entry?.path())?);
    }
    bugs.retain(|bug| names.is_empty() || names.contains(&bug.name));
    bugs.sort_by(|one, other| one.name.cmp(&other.name));
    println!("| bug | what | seeds of {seeds} that catch it | first |\n| --- | --- | --- | --- |");
    let mut missed = 0;
    for bug in &bugs {
        let original = fs::read_to_string(root.join(&bug.file))?;
        if original.matches(&bug.from).count() != 1 {
            let error = format!("{} does not fit {} any more", bug.name, bug.file.display());
            return Err(io::Error::other(error));
        }
        fs::write(copy.join(&bug.file), original.replacen(&bug.from, &bug.to, 1))?;
        let caught = run_seeds(&copy, seeds)?;
        fs::write(copy.join(&bug.file), original)?;
        missed += usize::from(caught.is_empty());
        let first = caught.first().map_or_else(|| "-".to_owned(), u64::to_string);
        println!("| {} | {} | {} | {first} |", bug.name, bug.what, caught.len());
    }
    Ok(missed)
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

/// The seeds that break a law.
fn run_seeds(copy: &Path, seeds: u64) -> io::Result<BTreeSet<u64>> {
    let output = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".into()))
        .args(["test", "--quiet", "--release", "-p", "sateen-simulator", "--test", "seeds"])
        .current_dir(copy)
        .env("CARGO_TARGET_DIR", copy.join("target"))
        // Most of the time goes into building.
        .env("CARGO_PROFILE_RELEASE_INCREMENTAL", "true")
        .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1")
        .env("SATEEN_SEEDS", seeds.to_string())
        .output()?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    if !text.contains("running 1 test") {
        return Err(io::Error::other(format!("the tests do not build:\n{text}")));
    }
    let seed = |line: &str| line.strip_prefix("seed ")?.split_once(':')?.0.parse().ok();
    Ok(text.lines().filter_map(seed).collect())
}

/// A workspace of nothing but the protocol and the simulator.
fn copy_sources(root: &Path, copy: &Path) -> io::Result<()> {
    for folder in ["protocol", "tests/simulator"] {
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
            true => "members = [\"protocol\", \"tests/simulator\"]".to_owned(),
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
