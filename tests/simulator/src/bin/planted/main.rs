//! Plants bugs in the protocol, one at a time, and reports what catches each: unit tests, stories, seeds.
//!
//! ```text
//! planted [--seeds N] [--until-caught] [--resume] [--table] [--json] [NAME…]
//! ```
//!
//! `--until-caught` runs seeds only where neither unit tests nor stories catch the bug, and only until one does.
//! What was found is kept in `target/planted/caught.jsonl`. Bugs that were never tried come first, then those that
//! nothing caught; `--resume` leaves out those that were caught before. `--table` only prints what is kept. With
//! `--json` each bug is an object on a line of its own.
//!
//! A bug is a file in `planted/`: what it is, the source file, the text that is replaced, and by what. The
//! protocol, the simulator and the stories are copied to `target/planted` and built there. The exit code is 1 if
//! nothing catches a bug, 2 if one does not fit the source any more.
#![allow(clippy::print_stdout)]

mod bug;
mod caught;
mod trial;
mod workspace;

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use bug::Bug;
use caught::Ledger;
use trial::Effort;
use workspace::Workspace;

/// What is run, and how it is reported.
#[derive(Default)]
struct Wishes {
    effort: Effort,
    is_resumed: bool,
    is_table: bool,
    is_json: bool,
    names: BTreeSet<String>,
}

/// How often what happened.
#[derive(Default)]
struct Totals {
    caught: usize,
    missed: usize,
    misfits: usize,
}

fn main() -> ExitCode {
    let mut wishes = Wishes::default();
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--seeds" => match words.next().and_then(|text| text.parse().ok()) {
                Some(seeds) => wishes.effort.seeds = seeds,
                None => return refuse("--seeds takes a number"),
            },
            "--until-caught" => wishes.effort.is_once_enough = true,
            "--resume" => wishes.is_resumed = true,
            "--table" => wishes.is_table = true,
            "--json" => wishes.is_json = true,
            flag if flag.starts_with('-') => return refuse(&format!("unknown argument {flag:?}")),
            _ => {
                wishes.names.insert(word);
            }
        }
    }
    let totals = match plant_all(&wishes) {
        Ok(totals) => totals,
        Err(error) => return refuse(&error.to_string()),
    };
    let Totals { caught, missed, misfits } = totals;
    eprintln!(
        "planted: {caught} bugs were caught, {missed} not, {misfits} do not fit the source or do not build"
    );
    match (missed, misfits) {
        (0, 0) => ExitCode::SUCCESS,
        (_, 0) => ExitCode::from(1),
        _ => ExitCode::from(2),
    }
}

fn refuse(reason: &str) -> ExitCode {
    eprintln!("planted: {reason}");
    ExitCode::from(2)
}

fn plant_all(wishes: &Wishes) -> io::Result<Totals> {
    let simulator = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = simulator.ancestors().nth(2).ok_or_else(|| io::Error::other("the repo has no root"))?;
    let mut ledger = Ledger::open(&root.join("target/planted/caught.jsonl"))?;
    let mut bugs = Bug::all(&simulator.join("planted"))?;
    bugs.retain(|bug| wishes.names.is_empty() || wishes.names.contains(&bug.name));
    let mut totals = Totals::default();
    if !wishes.is_table {
        let workspace = Workspace::copy(root)?;
        bugs.sort_by_key(|bug| ledger.caught(bug).map(|caught| caught.is_any()));
        for bug in &bugs {
            if wishes.is_resumed && ledger.caught(bug).is_some_and(|caught| caught.is_any()) {
                continue;
            }
            match workspace.with(bug, || trial::run(&workspace, wishes.effort)) {
                Ok(caught) => {
                    eprintln!("{}", caught.line(bug));
                    ledger.add(bug, caught)?;
                }
                Err(error) => {
                    eprintln!("planted: {}: {error}", bug.name);
                    totals.misfits += 1;
                }
            }
        }
    }
    bugs.sort_by(|one, other| one.name.cmp(&other.name));
    if !wishes.is_json {
        println!("{}", caught::HEADER);
    }
    for bug in &bugs {
        let Some(caught) = ledger.caught(bug) else { continue };
        println!("{}", if wishes.is_json { caught.json(bug) } else { caught.row(bug) });
        *if caught.is_any() { &mut totals.caught } else { &mut totals.missed } += 1;
    }
    Ok(totals)
}
