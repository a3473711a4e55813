//! Fault tolerance on over off, without crashes: its cost on a single host, which then does the same
//! work each time.
//!
//! A run's processor time differs by some percent from that of the same run a second later, and the cost
//! is less than one percent. So the benchmark samples where the time goes: fault tolerance is only code of the
//! host, and the guests' code is the same with it and without. The ratio of the guests' shares of all samples, off over
//! on, is how much longer the same work takes, whatever the machine's momentary speed.

use anyhow::{Context, Result};
use sateen_tests::cluster::Cluster;

use super::{BENCH, hosts};
use crate::figure::{Figure, shown};
use crate::grid;
use crate::measure::Samples;
use crate::profile::{self, Profile};
use crate::workloads::{Workload, Workloads};

const ROUNDS: usize = 5;
/// Time for which an app runs, repeatedly, before the setting is switched, in seconds.
const TURN_S: f64 = 2.5;
const HOST: &str = "a";

/// Runs the apps.
pub fn figures(workloads: &Workloads) -> Result<Vec<Figure>> {
    let cluster = hosts(&[HOST]);
    let is_sampled = profile::is_possible();
    if !is_sampled {
        eprintln!("faults: without `perf` (Linux), the share of fault tolerance is not measured");
    }
    let (mut figures, mut sampled, mut timed) = (Vec::new(), Vec::new(), Vec::new());
    for workload in workloads.iter() {
        let rounds = rounds(&cluster, workload, is_sampled)?;
        let against = format!("off, {} s a run", shown(rounds.off_s));
        if let Some(shares) = rounds.by_share {
            let name = format!("{}, fault tolerance on, by samples", workload.label());
            eprintln!("faults: {name}: {}", shown(shares.median()));
            figures.push(Figure::ratio(BENCH, name, shares.clone()).against(against.clone()));
            sampled.push((workload.label(), shares));
        }
        let name = format!("{}, fault tolerance on, by processor time", workload.label());
        eprintln!("faults: {name}: {}", shown(rounds.by_time.median()));
        figures.push(Figure::ratio(BENCH, name, rounds.by_time.clone()).against(against));
        timed.push(rounds.by_time);
    }
    if !workloads.are_all() {
        return Ok(figures);
    }
    if is_sampled {
        let worst = sampled.iter().max_by(|one, other| one.1.median().total_cmp(&other.1.median()));
        let (worst, shares) = worst.context("there are apps")?;
        figures.push(
            Figure::ratio(BENCH, "fault tolerance on, worst app, by samples", shares.clone())
                .against(format!("off; it is {worst}"))
                .goal(1.01, 1.003),
        );
    }
    figures.push(
        Figure::ratio(
            BENCH,
            "fault tolerance on, geometric mean over the apps, by processor time",
            Samples::geometric_mean(&timed),
        )
        .against("off"),
    );
    Ok(figures)
}

/// The cost of fault tolerance for one app: on over off, a value per round.
struct Rounds {
    by_time: Samples,
    by_share: Option<Samples>,
    /// Processor time of a run without fault tolerance.
    off_s: f64,
}

/// The measurements of one turn.
struct Turn {
    /// Processor time of a run.
    run_s: f64,
    /// The guests' share in it.
    share: Option<f64>,
}

fn rounds(cluster: &Cluster, workload: &Workload, is_sampled: bool) -> Result<Rounds> {
    let files = grid::input_words(cluster, workload)?;
    let module = format!("apps/{}.wasm", workload.name);
    let turn = |tolerance: &str, runs: usize| -> Result<Turn> {
        let options = ["--fault-tolerance", tolerance].into_iter().chain(files.iter().map(String::as_str));
        let words: Vec<&str> = options.chain(["--"]).chain(workload.words()).collect();
        let process = cluster.host_process(HOST);
        let profile = is_sampled.then(|| Profile::begin(process, cluster.folder())).transpose()?;
        let before = grid::processor_seconds(cluster, HOST)?;
        for _ in 0..runs {
            grid::run(cluster, &module, &words, None)?;
        }
        let run_s = (grid::processor_seconds(cluster, HOST)? - before) / runs as f64;
        Ok(Turn { run_s, share: profile.map(Profile::share_of_guests).transpose()? })
    };
    // The first run fetches and compiles, the second determines the number of runs.
    turn("full", 1)?;
    let runs = ((TURN_S / turn("off", 1)?.run_s).ceil() as usize).max(1);
    let (mut by_time, mut by_share, mut off_s) = (Vec::new(), Vec::new(), Vec::new());
    for nth in 0..ROUNDS {
        // On and off, then off and on, so that drift affects both alike.
        let (on, off) = if nth % 2 == 0 {
            let on = turn("full", runs)?;
            (on, turn("off", runs)?)
        } else {
            let off = turn("off", runs)?;
            (turn("full", runs)?, off)
        };
        by_time.push(on.run_s / off.run_s);
        by_share.extend(off.share.zip(on.share).map(|(off, on)| off / on));
        off_s.push(off.run_s);
    }
    Ok(Rounds {
        by_time: by_time.into_iter().collect(),
        by_share: is_sampled.then(|| by_share.into_iter().collect()),
        off_s: off_s.into_iter().collect::<Samples>().median(),
    })
}
