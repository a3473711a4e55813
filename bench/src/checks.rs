//! The cost of checking encoded parameters and results: apps as they are against the same apps built with
//! `--cfg sateen_unchecked`, in the same rounds.

use anyhow::{Result, ensure};

use crate::figure::{Figure, shown};
use crate::measure::interleave;
use crate::sandbox::Sandbox;
use crate::workloads::{Workload, Workloads};

const BENCH: &str = "checks";
/// Time for each figure.
const BUDGET_S: f64 = 24.0;
/// All of fib(36), which hands jobs over more often than any useful program.
const FIB: u64 = 36;
const FIB_IS: &str = "14930352";

/// Runs the benchmark.
pub fn bench(workloads: &Workloads) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    if workloads.are_all() {
        for (function, what) in [("main", "fib(36)"), ("wide", "fib(36) of 64 bytes")] {
            for workers in [1, 2] {
                figures.push(of_fib(function, what, workers)?);
            }
        }
    }
    for workload in workloads.iter() {
        figures.push(of_app(workload)?);
    }
    Ok(figures)
}

fn of_fib(function: &str, what: &str, workers: usize) -> Result<Figure> {
    let (checked, unchecked) = (Sandbox::app("fib")?, Sandbox::unchecked("fib")?);
    let run = |app: &Sandbox| {
        let run = app.run(function, &[FIB], workers)?;
        ensure!(run.text == FIB_IS, "fib({FIB}) gave {}", run.text);
        Ok(run.took.processor)
    };
    let [with, without] = interleave(&format!("checks: {what}, {workers}"), BUDGET_S, || {
        Ok([run(&checked)?, run(&unchecked)?])
    })?;
    let workers = if workers == 1 { "1 worker".to_owned() } else { format!("{workers} workers") };
    Ok(Figure::ratio(BENCH, format!("{what}, {workers}"), with.over(&without))
        .against(format!("without checks, {} s of processors", shown(without.median())))
        .goal(1.01, 1.0))
}

/// On two workers, so that jobs are handed over. Where the compiler lays the app's loops differs between the two builds, and
/// can make several per cent of the time; calls in a row, which check nothing, show how much that is, and it is divided
/// out.
fn of_app(workload: &Workload) -> Result<Figure> {
    let Workload { name, .. } = workload;
    let (checked, unchecked) = (Sandbox::app(name)?, Sandbox::unchecked(name)?);
    let [with, without, laid, laid_otherwise] = interleave(&format!("checks: {name}"), BUDGET_S, || {
        let [with, without] = both(&checked, &unchecked, "main", workload, 2)?;
        let [laid, laid_otherwise] = both(&checked, &unchecked, "plain", workload, 1)?;
        Ok([with, without, laid, laid_otherwise])
    })?;
    let layout = laid.over(&laid_otherwise).median();
    Ok(Figure::ratio(BENCH, format!("{name}, 2 workers"), with.over(&without).times(1.0 / layout))
        .against(format!(
            "without checks, {} s of processors; calls in a row take {} times as long in one build as in the other",
            shown(without.median()),
            shown(layout)
        ))
        .goal(1.01, 1.0))
}

/// The processor times of both builds.
fn both(
    checked: &Sandbox,
    unchecked: &Sandbox,
    function: &str,
    workload: &Workload,
    workers: usize,
) -> Result<[f64; 2]> {
    let with = checked.run_workload(function, workload, workers)?;
    let without = unchecked.run_workload(function, workload, workers)?;
    ensure!(with.text == without.text, "{}: the answers differ", workload.name);
    Ok([with.took.processor, without.took.processor])
}
