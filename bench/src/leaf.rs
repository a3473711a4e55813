//! How fast plain code is in the sandbox: whole apps against the same functions compiled for this machine, and kernels
//! against the same code that nothing can stop.

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
            .goal(1.12, 1.05);
        let worst = relations.iter().max_by(|left, right| left.median().total_cmp(&right.median()));
        let worst = worst.map(|worst| {
            Figure::ratio(BENCH, "the slowest of the apps", worst.clone())
                .against("the same function natively")
                .goal(1.5, 1.3)
        });
        figures.splice(0..0, [Some(mean), worst].into_iter().flatten());
        figures.extend(kernels()?);
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

/// The kernels, with their arguments.
const KERNELS: [(&str, &[u64]); 9] = [
    ("matrix", &[300, 4]),
    ("mandelbrot", &[500]),
    ("bodies", &[500_000]),
    ("quicksort", &[1_500_000]),
    ("fnv", &[1 << 20, 100]),
    ("sieve", &[2_000_000, 12]),
    ("queens", &[12]),
    ("edits", &[8_000]),
    ("paths", &[500]),
];
/// Time for each kernel.
const KERNEL_BUDGET_S: f64 = 8.0;

fn kernels() -> Result<Vec<Figure>> {
    const ALONE: &str = "the same code without interruption";
    let (ours, alone) = (Sandbox::bench_app("kernels")?, Sandbox::unstoppable("kernels")?);
    let (mut relations, mut figures) = (Vec::new(), Vec::new());
    for (name, arguments) in KERNELS {
        let [ours, alone] = interleave(&format!("leaf: {name}"), KERNEL_BUDGET_S, || {
            let [ours, alone] = [&ours, &alone].map(|app| app.run(name, arguments, 1));
            let (ours, alone) = (ours?, alone?);
            ensure!(ours.text == alone.text, "{name}: the results differ");
            Ok([ours.took.processor, alone.took.processor])
        })?;
        let relation = ours.over(&alone);
        figures.push(Figure::ratio(BENCH, format!("kernel {name}"), relation.clone()).against(ALONE));
        relations.push(relation);
    }
    let mean = |name, relations: &[Samples]| {
        Figure::ratio(BENCH, name, Samples::geometric_mean(relations)).against(ALONE)
    };
    figures.insert(0, mean("geometric mean over the kernels", &relations).goal(1.06, 1.03));
    Ok(figures)
}
