//! The cost of fault tolerance, and of faults: with real processes, then the papers' experiments in
//! virtual time.

mod tolerance;

use std::time::Duration;

use anyhow::Result;
use sateen_simulator::experiments::faults::{Happens, Row, table};
use sateen_tests::cluster::Cluster;

use crate::figure::{Figure, shown};
use crate::grid;
use crate::measure::Samples;
use crate::workloads::Workloads;

const BENCH: &str = "faults";
const ROUNDS: usize = 5;
/// Some ten seconds on two hosts.
const QUEENS: (&str, &str) = ("16", "14772512");

/// Runs the benchmark.
pub fn bench(workloads: &Workloads) -> Result<Vec<Figure>> {
    let tolerance = || tolerance::figures(workloads);
    if !workloads.are_all() {
        return tolerance();
    }
    let mut figures = simulated();
    figures.extend(tolerance()?);
    figures.push(two_of_four()?);
    figures.push(coordinator()?);
    Ok(figures)
}

// ---- real ----

fn hosts(names: &[&'static str]) -> Cluster {
    let hosts: Vec<(&str, &str)> = names.iter().map(|name| (*name, "here")).collect();
    Cluster::start_to_measure(&hosts)
}

/// Four hosts on this machine, two of which are killed at half time. The machine has as many cores after as
/// before, so if no work is lost, no time is lost.
fn two_of_four() -> Result<Figure> {
    let (mut killed, mut whole) = (Vec::new(), Vec::new());
    let (queens, answer) = QUEENS;
    for round in 0..=ROUNDS {
        eprintln!("faults: two of four hosts killed, round {round} of {ROUNDS}");
        let names = ["a", "b", "c", "d"];
        let mut cluster = hosts(&names);
        let undisturbed = grid::run(&cluster, "apps/nqueens.wasm", &[queens], Some(answer))?;
        let run = grid::submit(&cluster, "apps/nqueens.wasm", &[queens])?;
        std::thread::sleep(Duration::from_secs_f64(undisturbed / 2.0));
        // Rotating, so that the root's host is among them half of the time.
        for name in [names[round % 4], names[(round + 1) % 4]] {
            cluster.kill_host(name);
        }
        let disturbed = grid::wait(&cluster, run, Some(answer))?;
        if round > 0 {
            killed.push(disturbed);
            whole.push(undisturbed);
        }
    }
    Ok(disturbed("4 hosts, 2 killed at half time", killed, whole).goal(1.10, 1.03))
}

/// The coordinator is killed and started again five times in a run.
fn coordinator() -> Result<Figure> {
    let (mut killed, mut whole) = (Vec::new(), Vec::new());
    let (queens, answer) = QUEENS;
    let mut cluster = hosts(&["a", "b"]);
    for round in 0..=ROUNDS {
        eprintln!("faults: coordinator killed five times, round {round} of {ROUNDS}");
        let undisturbed = grid::run(&cluster, "apps/nqueens.wasm", &[queens], Some(answer))?;
        let run = grid::submit(&cluster, "apps/nqueens.wasm", &[queens])?;
        for _ in 0..5 {
            std::thread::sleep(Duration::from_secs_f64(undisturbed / 7.0));
            cluster.kill_coordinator();
            cluster.start_coordinator();
        }
        let disturbed = grid::wait(&cluster, run, Some(answer))?;
        if round > 0 {
            killed.push(disturbed);
            whole.push(undisturbed);
        }
    }
    Ok(disturbed("coordinator killed and restarted 5 times", killed, whole).goal(1.02, 1.0))
}

/// Disturbed runs over undisturbed runs, round by round.
fn disturbed(name: &str, killed: Vec<f64>, whole: Vec<f64>) -> Figure {
    let whole: Samples = whole.into_iter().collect();
    let ratio = killed.into_iter().collect::<Samples>().over(&whole);
    Figure::ratio(BENCH, name, ratio).against(format!("left alone, {} s", shown(whole.median())))
}

// ---- in virtual time ----

fn simulated() -> Vec<Figure> {
    eprintln!("faults: in virtual time");
    let rows = table(1, 1_000_000);
    let figures = rows.iter().filter_map(|row| of_row(&rows, row));
    figures.collect()
}

fn of_row(rows: &[Row], row: &Row) -> Option<Figure> {
    let sites = row.sites;
    let (what, goal) = match row.happens {
        Happens::Nothing => return None,
        Happens::Crash(lost) => (format!("{lost} of {sites} sites lost"), Some((1.05, 1.01))),
        Happens::Leave(lost) => (format!("{lost} of {sites} sites leaves"), Some((1.02, 1.005))),
        Happens::Migrate => ("migration to another site".to_owned(), Some((1.02, 1.005))),
    };
    let (way, goal) = match row.fault_tolerance.as_str() {
        "Full" => ("", goal),
        "FinishedOrphans" => (", Satin's way", None),
        _ => (", table off", None),
    };
    let name = format!("simulated, {what}{way}");
    let undisturbed = rows.iter().find(|other| other.sites == sites && other.happens == Happens::Nothing)?;
    let figure = Figure::ratio(BENCH, name, [row.ratio].into_iter().collect()).against(format!(
        "nothing lost, {} s; it took {} s, undisturbed {} s",
        shown(row.ideal_s),
        shown(row.outcome.elapsed_s),
        shown(undisturbed.outcome.elapsed_s)
    ));
    Some(match goal {
        Some((bar, aim)) => figure.goal(bar, aim),
        None => figure,
    })
}
