//! The cost of the programming model beyond a plain spawn and sync.

mod reach;

use anyhow::{Result, ensure};

use crate::figure::{Figure, shown};
use crate::measure::{Samples, interleave};
use crate::sandbox::Sandbox;

const BENCH: &str = "model";
/// Children of each comparison.
const COUNT: u64 = 40_000_000;
/// Outstanding children that are aborted at once.
const OUTSTANDING: u64 = 10_000;
const ROUNDS: u64 = 300;
const BUDGET_S: f64 = 15.0;

/// Runs the benchmark.
pub fn bench() -> Result<Vec<Figure>> {
    let app = Sandbox::bench_app("model")?;
    let mut figures = inlets(&app)?;
    figures.extend(aborts(&app)?);
    figures.extend(reach::figures()?);
    Ok(figures)
}

fn inlets(app: &Sandbox) -> Result<Vec<Figure>> {
    let took = |function: &str| -> Result<f64> {
        let run = app.run(function, &[COUNT], 1)?;
        ensure!(run.spawns == COUNT, "`{function}` counts {} spawns", run.spawns);
        Ok(run.took.processor)
    };
    let [synced, taken, synced_8, taken_8] = interleave("model: inlets", BUDGET_S, || {
        Ok([took("synced")?, took("inlets")?, took("synced_by_8")?, took("inlets_by_8")?])
    })?;
    let each = |samples: &Samples| samples.times(1e9 / COUNT as f64);
    let ns = shown(each(&synced).median());
    Ok(vec![
        Figure::ratio(BENCH, "spawn, sync and inlet of a finished child", taken.over(&synced))
            .against(format!("a plain spawn and sync, {ns} ns"))
            .goal(1.5, 1.2),
        Figure::ratio(BENCH, "the same, eight children in a set, in a loop", taken_8.over(&synced_8))
            .against(format!(
                "eight plain spawns, then their syncs, {} ns each",
                shown(each(&synced_8).median())
            )),
        Figure::ratio(BENCH, "time of a spawn, sync and inlet", each(&taken))
            .unit("ns")
            .against(format!("a plain spawn and sync, {ns} ns")),
    ])
}

fn aborts(app: &Sandbox) -> Result<Vec<Figure>> {
    let took = |aborts: bool| -> Result<f64> {
        let words = [OUTSTANDING.to_string(), ROUNDS.to_string(), aborts.to_string()];
        let run = app.run("aborted", &words, 1)?;
        ensure!(run.text == (OUTSTANDING * ROUNDS).to_string(), "{} were outstanding", run.text);
        Ok(run.took.processor)
    };
    let [aborted, taken] = interleave("model: aborts", BUDGET_S / 3.0, || Ok([took(true)?, took(false)?]))?;
    let each = |samples: &Samples| samples.times(1e6 / ROUNDS as f64);
    let what = "spawn and abort of 10,000 outstanding children, local";
    Ok(vec![
        Figure::ratio(BENCH, what, each(&aborted))
            .unit("µs")
            .against(format!("spawn and sync of as many, {} µs", shown(each(&taken).median()))),
    ])
}
