//! `cargo xtask bench NAME [--json] [--save]`: measures Sateen's goals.
//!
//! Figures go to stdout, as a table or one JSON object a line; progress goes to stderr. With `--save`,
//! figures also go to `bench/results.csv` and `bench/README.md`.

mod apps;
mod audit;
mod bag;
mod checks;
mod coarse;
mod comfort;
mod copies;
mod cores;
mod crowd;
mod doors;
mod events;
mod faults;
mod figure;
mod grid;
mod hole;
mod hostile;
mod inputs;
mod leaf;
mod left;
mod liars;
mod machine;
mod measure;
mod model;
mod native;
mod parts;
mod peers;
mod profile;
mod record;
mod report;
mod reuse;
mod rewrite;
mod sandbox;
mod scale;
mod share;
mod slow;
mod soak;
mod spawn;
mod spread;
mod start;
mod steal;
mod stop;
mod tree;
mod virtual_time;
mod watch;
mod work_span;
mod workloads;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};

use figure::Figure;
use machine::Usage;
use parts::Part;
use record::Record;
use workloads::Workloads;

const USAGE: &str = "\
cargo xtask bench NAME [--json] [--save] [--app=APP[,APP…] | --part=PART[,PART…]]
  spawn   the cost of a spawn and its sync
  checks  the cost of checking encoded parameters and results
  leaf    how fast plain code is in the sandbox
  stop    how soon guests that never end are stopped
  rewrite how long it takes to add the checks that make a module stoppable
  scale   the cost of spawns to an app, and the gain from two workers
  bag     bags of short jobs on two workers and two hosts, compared with calls in a row
  model   the cost of sets of jobs, inlets and aborts
  apps    the gain from shared objects and aborts on grids, and how soon an update reaches all hosts
  profile the cost of `sateen run --profile`, and whether its figures depend on the number of workers
  share   whether submitters get their shares of a grid, and short runs end soon beside a long one
  reuse   how much of a run that was computed before is computed again, as a whole or with one input changed
  soak    whether a coordinator's and a host's memory and folders grow over 10,000 short runs
  left    whether runs end at the estimated time, with and without the loss of a host
  inputs  the cost of fresh instances to jobs that need a large input
  start   how long `sateen run` takes to start, and its memory
  steal   the time of a steal between hosts, directly and relayed
  hole    how soon steals continue over the relay when a direct path dies
  slow    how long large results take over slow links, compared with the wire, and whether that costs the grid hosts
  doors   the cost of a thousand hostile peers to a grid, in time and memory
  spread  how much the times of searches with a shared bound differ while processors are taken away
  faults  the cost of fault tolerance and of crashes, with real processes and in virtual time
  comfort how a volunteer's host keeps to its share, how soon it stops for its user, and what pauses cost
  hostile whether hostile modules disturb a volunteer's host, and how soon and how surely they are stopped
  walls   what the system refuses to a process of guests
  liars   whether answers are right with a host that lies, whether it is named, and what quorums and audits cost
  audit   how many audited runs have wrong roots if a fifth of the hosts lies, and what an audit costs, in virtual time
  watch   the cost of open dashboards to a grid
  peers   the same problems on Ray, Dask.distributed, HyperQueue, rayon and Sateen; installs the first three by pip
  tree    the cost to the coordinator of a tree of a million jobs, and of dashboards that watch it
  machine how long single events of the machines take, with 100,000 hosts and a million entries
  wide    efficiency of hundreds of hosts at five sites, in virtual time
  sim     how fast the simulator is
  all     all of them
--json prints one JSON object a line; --save writes the figures to bench/results.csv and bench/README.md;
--app measures only these apps, in the benchmarks checks, leaf, scale, profile, left and faults, and saves nothing;
--part measures only these parts of comfort (shares, latency, pauses, idle), hostile (deadlines, memory, kills, corpus)
or peers (queens, deep, uts, bag, kill)
";

/// A benchmark's function.
enum Bench {
    Whole(fn() -> Result<Vec<Figure>>),
    /// A benchmark with figures for each app. With all apps chosen, it also measures its other figures.
    Apps(fn(&Workloads) -> Result<Vec<Figure>>),
    /// A benchmark in parts.
    Parts(&'static [Part]),
}
use Bench::{Apps, Parts, Whole};

/// `start` comes first: a child's peak memory begins with that of the process that starts it, which
/// is small only before the other benchmarks have run.
const BENCHES: [(&str, Bench); 33] = [
    ("start", Whole(start::bench)),
    ("spawn", Whole(spawn::bench)),
    ("checks", Apps(checks::bench)),
    ("leaf", Apps(leaf::bench)),
    ("stop", Whole(stop::bench)),
    ("rewrite", Whole(rewrite::bench)),
    ("bag", Whole(bag::bench)),
    ("model", Whole(model::bench)),
    ("scale", Apps(scale::bench)),
    ("apps", Whole(apps::bench)),
    ("profile", Apps(work_span::bench)),
    ("inputs", Whole(inputs::bench)),
    ("steal", Whole(steal::bench)),
    ("hole", Whole(hole::bench)),
    ("slow", Whole(slow::bench)),
    ("doors", Whole(doors::bench)),
    ("spread", Whole(spread::bench)),
    ("faults", Apps(faults::bench)),
    ("left", Apps(left::bench)),
    ("share", Whole(share::bench)),
    ("reuse", Whole(reuse::bench)),
    ("soak", Whole(soak::bench)),
    ("comfort", Parts(&comfort::PARTS)),
    ("hostile", Parts(&hostile::PARTS)),
    ("walls", Whole(hostile::walls)),
    ("liars", Whole(liars::bench)),
    ("audit", Whole(audit::bench)),
    ("peers", Parts(&peers::PARTS)),
    ("watch", Whole(watch::bench)),
    ("tree", Whole(tree::bench)),
    ("machine", Whole(events::bench)),
    ("wide", Whole(virtual_time::wide)),
    ("sim", Whole(virtual_time::simulator)),
];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [copies::COMMAND, name, argument] = words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        return ended(copies::run_here(name, argument));
    }
    if let [doors::COMMAND, orders] = words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        return ended(doors::run_here(orders));
    }
    if words.iter().any(|word| ["help", "--help", "-h"].contains(&word.as_str())) {
        return match std::io::stdout().lock().write_all(USAGE.as_bytes()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        };
    }
    let (flags, names): (Vec<&str>, Vec<&str>) =
        words.iter().map(String::as_str).partition(|word| word.starts_with('-'));
    let (apps, flags): (Vec<&str>, Vec<&str>) =
        flags.into_iter().partition(|flag| flag.starts_with(workloads::FLAG));
    let (parts, flags): (Vec<&str>, Vec<&str>) =
        flags.into_iter().partition(|flag| flag.starts_with(parts::FLAG));
    if flags.iter().any(|flag| !["--json", "--save"].contains(flag)) {
        return usage();
    }
    let [name] = names[..] else { return usage() };
    let chosen: Vec<_> = BENCHES.iter().filter(|(known, _)| name == *known || name == "all").collect();
    let is_saved = flags.contains(&"--save");
    let have_apps = chosen.iter().all(|(_, bench)| matches!(bench, Apps(_)));
    let have_parts = matches!(chosen[..], [(_, Parts(_))]);
    let are_wrong = !apps.is_empty() && (is_saved || !have_apps) || !parts.is_empty() && !have_parts;
    if chosen.is_empty() || are_wrong {
        return usage();
    }
    match Workloads::chosen(&apps) {
        Ok(workloads) => ended(run(&chosen, (&workloads, &parts), flags.contains(&"--json"), is_saved)),
        Err(error) => {
            eprintln!("bench: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Runs benchmarks, one after another; the figures of each are shown, and saved, before the next begins.
fn run(
    benches: &[&(&'static str, Bench)],
    (workloads, parts): (&Workloads, &[&str]),
    is_json: bool,
    is_saved: bool,
) -> Result<()> {
    for (name, bench) in benches {
        let before = Usage::now();
        let figures = match bench {
            Whole(bench) => bench()?,
            Apps(bench) => bench(workloads)?,
            Parts(all) => parts::measure(name, &parts::chosen(all, parts)?)?,
        };
        let interference = before.and_then(|before| Some(Usage::now()?.since(&before)));
        if let Some(interference) = interference {
            eprintln!("{name}: meanwhile {interference}");
        }
        let records: Vec<Record> = figures.iter().map(|figure| Record::of(figure, interference)).collect();
        let text = if is_json {
            let lines: Result<Vec<String>> = records.iter().map(report::json).collect();
            lines?.join("\n") + "\n"
        } else {
            report::table(&records)
        };
        std::io::stdout().lock().write_all(text.as_bytes())?;
        if is_saved {
            save(name, records, parts.is_empty())?;
        }
    }
    Ok(())
}

/// Saves the records of the benchmark `name` among those of the others. If they are not all of it, the others are kept.
fn save(name: &str, mut records: Vec<Record>, are_all: bool) -> Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let file = folder.join("results.csv");
    let known = record::read(&file)?;
    if !are_all {
        records = record::with_others(&known, name, records);
    }
    let records = record::replaced(known, name, records, &BENCHES.map(|(name, _)| name));
    record::write(&file, &records)?;
    let page = folder.join("README.md");
    fs::write(&page, report::page(&records)).with_context(|| format!("{} cannot be written", page.display()))
}

fn ended(result: Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn usage() -> ExitCode {
    eprint!("{USAGE}");
    ExitCode::from(2)
}
