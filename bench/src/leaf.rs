//! How fast plain code is in the sandbox, against the same function compiled for this machine.

use anyhow::{Result, ensure};

use crate::figure::{Figure, shown};
use crate::measure::{Samples, interleave, time};
use crate::sandbox::Sandbox;
use crate::workloads::{Workload, Workloads, native};

const BENCH: &str = "leaf";
/// Time for each app.
const BUDGET_S: f64 = 12.0;

/// Runs the benchmark.
pub fn bench(workloads: &Workloads) -> Result<Vec<Figure>> {
    let mut relations = Vec::new();
    let mut figures = Vec::new();
    for workload in workloads.iter() {
        let [sandboxed, native] = measure(workload)?;
        let relation = sandboxed.over(&native);
        let name = workload.label();
        figures.push(
            Figure::ratio(BENCH, format!("plain {name}"), relation.clone())
                .against(format!("the same function natively, {} s", shown(native.median()))),
        );
        relations.push(relation);
    }
    if workloads.are_all() {
        let mean = Figure::ratio(BENCH, "geometric mean over the apps", Samples::geometric_mean(&relations))
            .against("the same functions natively")
            .goal(1.35, 1.10);
        figures.insert(0, mean);
    }
    Ok(figures)
}

fn measure(workload: &Workload) -> Result<[Samples; 2]> {
    let app = Sandbox::app(workload.name)?;
    interleave(&format!("leaf: {}", workload.name), BUDGET_S, || {
        let run = app.run_workload("plain", workload, 1)?;
        let (took, answer) = time(|| native(workload.name, workload.arguments));
        ensure!(run.text == answer?, "{}: the sandbox and the machine disagree", workload.name);
        Ok([run.took.processor, took.processor])
    })
}
