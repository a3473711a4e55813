//! How much of a run that was computed before is computed again. Real processes.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use sateen_tests::cluster::{Cluster, until};
use serde_json::Value;

use crate::coarse::turns_of;
use crate::figure::{Figure, shown};
use crate::grid;
use crate::measure::Samples;
use crate::sandbox::Sandbox;

const BENCH: &str = "reuse";
const MODULE: &str = "bench/coarse.wasm";
const HOSTS: [(&str, &str); 2] = [("a", "here"), ("b", "here")];
/// Inputs, and the work of the job of each.
const INPUTS: usize = 1000;
const JOB_S: f64 = 0.02;
/// The entry points whose jobs have a result of some bytes, and of some kilobytes.
const SMALL: &str = "seeded";
const WIDE: &str = "seeded_wide";
/// Runs in each of which another input is changed.
const CHANGES: usize = 5;

/// Maximum wait for a run that should take seconds.
const PATIENCE: Duration = Duration::from_secs(300);

/// Runs the benchmark.
pub fn bench() -> Result<Vec<Figure>> {
    let turns = turns_of(&Sandbox::bench_app("coarse")?, JOB_S)?;
    let grid = Cluster::start(&HOSTS);
    let mut inputs: Vec<usize> = (0..INPUTS).collect();
    let first = run(&grid, SMALL, turns, &inputs)?;
    let (all_s, took_s) = (seconds(&first, "work_s")?, seconds(&first, "took_s")?);
    eprintln!("reuse: {INPUTS} inputs take {} s of work, {} s on two hosts", shown(all_s), shown(took_s));
    let again = run(&grid, SMALL, turns, &inputs)?;
    let again_s = seconds(&again, "work_s")?;
    let (works, times) = changed(&grid, SMALL, turns, &mut inputs, &first)?;
    let wide = run(&grid, WIDE, turns, &inputs)?;
    let (wide_works, _) = changed(&grid, WIDE, turns, &mut inputs, &wide)?;
    let of_all = || format!("the work of the first run, {} s", shown(all_s));
    Ok(vec![
        Figure::ratio(
            BENCH,
            "a finished problem submitted again: work",
            [100.0 * again_s / all_s].into_iter().collect(),
        )
        .unit("%")
        .against(of_all())
        .goal(1.0, 0.5),
        Figure::ratio(BENCH, format!("one input of {INPUTS} changed: work"), works)
            .unit("%")
            .against(of_all())
            .goal(2.0, 0.5),
        Figure::ratio(BENCH, format!("one input of {INPUTS} changed, results of 4 kB: work"), wide_works)
            .unit("%")
            .against("the work of the first run with such results")
            .goal(2.0, 0.5),
        Figure::ratio(BENCH, format!("one input of {INPUTS} changed: time"), times)
            .against(format!("the time of the first run, {} s", shown(took_s))),
    ])
}

fn seconds(about: &Value, name: &str) -> Result<f64> {
    about[name].as_f64().with_context(|| format!("a run has {name}"))
}

/// Changes one input after the other. Returns the work of each run in percent of the work of the `first`, and its time as a share of
/// that of the first.
fn changed(
    grid: &Cluster,
    function: &str,
    turns: u64,
    inputs: &mut [usize],
    first: &Value,
) -> Result<(Samples, Samples)> {
    let (all_s, took_s) = (seconds(first, "work_s")?, seconds(first, "took_s")?);
    let (mut works, mut times) = (Vec::new(), Vec::new());
    for change in 0..CHANGES {
        let input = &mut inputs[change * INPUTS / CHANGES];
        *input = INPUTS.max(*input) + CHANGES + change;
        let about = run(grid, function, turns, inputs)?;
        works.push(100.0 * seconds(&about, "work_s")? / all_s);
        times.push(seconds(&about, "took_s")? / took_s);
        let found = about["earlier"]["jobs"].as_u64().context("a number of jobs")?;
        eprintln!("reuse: `{function}` with one input changed: {found} jobs had results of earlier runs");
    }
    Ok((works.into_iter().collect(), times.into_iter().collect()))
}

/// Submits a run of a function with these inputs, and returns its status when it is over.
fn run(grid: &Cluster, function: &str, turns: u64, inputs: &[usize]) -> Result<Value> {
    let flags = ["--reuse", "--function", function].map(str::to_owned);
    let inputs = inputs.iter().map(ToString::to_string);
    let words: Vec<String> = flags.into_iter().chain([turns.to_string()]).chain(inputs).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    // A run that finds its own result has no start from which its time could be counted.
    let since = Instant::now();
    let run = grid::submit(grid, MODULE, &words)?;
    let took = until("a run is over", PATIENCE, || {
        (grid.api().run(run)["state"] == "done").then(|| since.elapsed().as_secs_f64())
    });
    let mut about = grid.api().run_over(run, PATIENCE);
    ensure!(about["counted"] == "final", "not all hosts have reported: {about:#}");
    about["took_s"] = took.into();
    Ok(about)
}
