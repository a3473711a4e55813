//! Plants bugs in the protocol and reports which tests catch each: unit tests, stories, seeds.
//!
//! ```text
//! planted [--seeds N] [--until-caught] [--resume] [--table] [--json] [NAME…]
//! planted --mutants N [--draw SEED] …
//! ```
//!
//! A bug is a file in `planted/`: a description, the source file, the replaced text, and the replacement. The
//! protocol, the simulator and the stories are copied to `target/planted` (mutants to `target/mutants`) and built
//! there once, with all bugs; an environment variable selects one. With `--mutants`, the bugs are a random
//! sample of cargo-mutants' mutants, or all of them with `--mutants 0`; `--draw` repeats a sample, and with
//! names only those of it are tried. Mutants that `.cargo/mutants.toml` excludes are not drawn.
//!
//! `--until-caught` runs the cheapest first, and stops when the bug is caught: stories, unit tests, seeds.
//! Results are kept in `caught.jsonl` of the folder. Bugs that were never tried come first, then those that
//! were not caught. `--resume` continues an interrupted run with the same sources; `--table` only prints
//! the kept results. With `--json`, each bug is an object on its own line, and the last line has the share of mutants
//! caught. The exit code is 1 if a bug is not caught, or fewer mutants are caught than required, and
//! 2 if a bug does not fit the source any more.
#![allow(clippy::print_stdout)]

mod bug;
mod caught;
mod mutants;
mod switch;
mod trial;
mod workspace;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::num::NonZero;
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Mutex, MutexGuard};
use std::time::{SystemTime, UNIX_EPOCH};

use bug::Bug;
use caught::{Caught, Ledger};
use trial::{Effort, Trial};
use workspace::{Planted, Workspace};

/// The share of mutants that must be caught.
const MUTANTS_CAUGHT_MIN: f64 = 0.85;

/// The command line's options.
#[derive(Default)]
struct Wishes {
    effort: Effort,
    /// The size of the sample.
    mutants: Option<usize>,
    draw: Option<u64>,
    is_resumed: bool,
    is_table: bool,
    is_json: bool,
    names: BTreeSet<String>,
}

/// Counts of outcomes.
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
        let mut number = || words.next().and_then(|text| text.parse::<u64>().ok());
        match word.as_str() {
            "--seeds" | "--mutants" | "--draw" => {
                let Some(number) = number() else { return refuse(&format!("{word} needs a number")) };
                match word.as_str() {
                    "--seeds" => wishes.effort.seeds = number,
                    "--mutants" => wishes.mutants = Some(number as usize),
                    _ => wishes.draw = Some(number),
                }
            }
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
    conclude(&wishes, &totals)
}

fn refuse(reason: &str) -> ExitCode {
    eprintln!("planted: {reason}");
    ExitCode::from(2)
}

fn conclude(wishes: &Wishes, totals: &Totals) -> ExitCode {
    let Totals { caught, missed, misfits } = *totals;
    if wishes.mutants.is_some() {
        let tried = caught + missed;
        let share = caught as f64 / tried.max(1) as f64;
        let (from, to) = mutants::interval(caught, tried);
        let is_enough = share >= MUTANTS_CAUGHT_MIN;
        if wishes.is_json {
            let interval = [from, to];
            let summary = serde_json::json!({
                "mutants": tried, "caught": caught, "share": share, "interval_95": interval,
                "share_min": MUTANTS_CAUGHT_MIN, "not_counted": misfits,
            });
            println!("{summary}");
            return if is_enough { ExitCode::SUCCESS } else { ExitCode::FAILURE };
        }
        println!(
            "mutants: {caught} of {tried} caught, {:.1} % (95 % interval {:.1} to {:.1} %, bar {:.0} %); {misfits} are not counted: they do not compile, are constants or in functions that return `impl Trait`",
            100.0 * share,
            100.0 * from,
            100.0 * to,
            100.0 * MUTANTS_CAUGHT_MIN
        );
        return if is_enough { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    eprintln!("planted: {caught} bugs were caught, {missed} not; {misfits} do not compile");
    match (missed, misfits) {
        (0, 0) => ExitCode::SUCCESS,
        (_, 0) => ExitCode::FAILURE,
        _ => ExitCode::from(2),
    }
}

/// The bugs to plant, and the name of their folder.
fn bugs(wishes: &Wishes, root: &Path) -> io::Result<(Vec<Bug>, &'static str)> {
    let Some(count) = wishes.mutants else {
        let mut bugs = Bug::all(&Path::new(env!("CARGO_MANIFEST_DIR")).join("planted"), root)?;
        bugs.retain(|bug| wishes.names.is_empty() || wishes.names.contains(&bug.name));
        return Ok((bugs, "planted"));
    };
    let all = mutants::all(root)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_err(io::Error::other)?;
    let draw = wishes.draw.unwrap_or_else(|| now.subsec_nanos().into());
    let of = all.len();
    let mut bugs = mutants::sample(all, if count == 0 { of } else { count }, draw);
    bugs.retain(|bug| wishes.names.is_empty() || wishes.names.contains(&bug.name));
    eprintln!("planted: {} of {of} mutants, drawn with --draw {draw}", bugs.len());
    Ok((bugs, "mutants"))
}

fn plant_all(wishes: &Wishes) -> io::Result<Totals> {
    let simulator = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = simulator.ancestors().nth(2).ok_or_else(|| io::Error::other("the repo has no root"))?;
    let (mut bugs, name) = bugs(wishes, root)?;
    let folder = root.join("target").join(name);
    let mut ledger = Ledger::open(&folder.join("caught.jsonl"))?;
    let mut totals = Totals::default();
    if !wishes.is_table {
        totals.misfits = try_all(wishes, Workspace::copy(root, &folder)?, &bugs, &mut ledger)?;
    }
    bugs.sort_by(|one, other| one.name.cmp(&other.name));
    if !wishes.is_json {
        println!("{}", caught::HEADER);
    }
    for bug in &bugs {
        let Some(caught) = ledger.caught(bug) else { continue };
        // Of mutants, only the survivors are of interest.
        if wishes.mutants.is_none() || !caught.is_any() {
            println!("{}", if wishes.is_json { caught.json(bug) } else { caught.row(bug) });
        }
        *if caught.is_any() { &mut totals.caught } else { &mut totals.missed } += 1;
    }
    Ok(totals)
}

/// Tries bugs, and returns the number that cannot be tried.
fn try_all(wishes: &Wishes, workspace: Workspace, bugs: &[Bug], ledger: &mut Ledger) -> io::Result<usize> {
    let effort = wishes.effort;
    let mut by_number: BTreeMap<u32, Bug> = (1..).zip(bugs.iter().cloned()).collect();
    if wishes.is_resumed {
        by_number.retain(|_, bug| !ledger.caught(bug).is_some_and(|caught| effort.is_spent(caught)));
    }
    let Planted { functions, unfit } = workspace.plant(&by_number)?;
    for bug in unfit.iter().filter_map(|number| by_number.get(number)) {
        eprintln!("planted: {} does not compile", bug.name);
    }
    by_number.retain(|number, _| !unfit.contains(number));
    let mut trial = Trial::new(&workspace, functions)?;
    let mut in_order: Vec<(u32, Bug)> = by_number.into_iter().collect();
    in_order.sort_by_key(|(_, bug)| ledger.caught(bug).map(Caught::is_any));
    // Seeds cost most, so they come last.
    let mut survivors = try_each(wishes, &trial, in_order, ledger)?;
    survivors.sort_by_key(|(number, ..)| *number);
    for (number, bug, mut caught) in survivors {
        trial.seek(number, effort, &mut caught)?;
        eprintln!("{}", caught.line(&bug));
        ledger.add(&bug, caught)?;
    }
    Ok(unfit.len())
}

/// Runs everything except seeds against each bug, on all processors, and returns those that need seeds.
fn try_each(
    wishes: &Wishes,
    trial: &Trial<'_>,
    bugs: Vec<(u32, Bug)>,
    ledger: &mut Ledger,
) -> io::Result<Vec<(u32, Bug, Caught)>> {
    let (bugs, ledger) = (Mutex::new(bugs.into_iter()), Mutex::new(ledger));
    let try_some = || -> io::Result<Vec<_>> {
        let mut survivors = Vec::new();
        while let Some((number, bug)) = locked(&bugs)?.next() {
            let before = locked(&ledger)?.caught(&bug).filter(|_| wishes.is_resumed).cloned();
            let caught = match before {
                Some(caught) => caught,
                None => {
                    let caught = trial.run(number, wishes.effort)?;
                    eprintln!("{}", caught.line(&bug));
                    locked(&ledger)?.add(&bug, caught.clone())?;
                    caught
                }
            };
            if !wishes.effort.is_spent(&caught) {
                survivors.push((number, bug, caught));
            }
        }
        Ok(survivors)
    };
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..processors).map(|_| scope.spawn(try_some)).collect();
        let mut survivors = Vec::new();
        for worker in workers {
            survivors.extend(worker.join().map_err(|_| io::Error::other("a trial panicked"))??);
        }
        Ok(survivors)
    })
}

/// # Errors
/// When another trial panicked.
fn locked<T>(mutex: &Mutex<T>) -> io::Result<MutexGuard<'_, T>> {
    mutex.lock().map_err(|_| io::Error::other("a trial panicked"))
}
