//! `sateen run --profile`: its cost, and whether work and span depend only on the program, not on the number of
//! workers.
//!
//! With many more workers than cores, most of them wait for a core, and many steal: the profile must not count that as
//! the program's. If the work itself depends on the schedule, the profile must say so, and its figures have no bar.

use anyhow::{Context, Result, ensure};
use sateen_host::ProgramProfile;

use crate::figure::{Figure, shown};
use crate::measure::{Samples, interleave};
use crate::sandbox::{Sandbox, Timed};
use crate::workloads::{Workload, Workloads};

const BENCH: &str = "profile";
/// Time for each app's cost.
const COST_BUDGET_S: f64 = 12.0;
/// Time for each app on different numbers of workers: a span is the length of one chain, which differs more from run to run than
/// the sum of all pieces does.
const WORKERS_BUDGET_S: f64 = 30.0;
/// Numbers of workers that are compared with one worker.
const WORKERS: [usize; 4] = [2, 4, 8, 16];
/// Maximum factor between a figure and that of one worker, in either direction.
const DIFFERENCE: f64 = 1.10;

/// Other uses of apps, and a flat bag: one app iterates with a shared object, the others search with one and with sets.
static OTHERS: [Workload; 4] = [
    Workload { name: "coarse", arguments: "64 8000000", inputs: &[] },
    Workload { name: "barneshut", arguments: "10000 12 --shared", inputs: &[] },
    Workload { name: "othello", arguments: "search 9", inputs: &[] },
    Workload { name: "tsp", arguments: "40 3", inputs: &[] },
];

/// Runs the benchmark.
pub fn bench(workloads: &Workloads) -> Result<Vec<Figure>> {
    let chosen = |workload: &&Workload| {
        workloads.are_all() || workloads.iter().any(|chosen| chosen.name == workload.name)
    };
    let mut figures = Vec::new();
    for workload in workloads.iter().chain(OTHERS.iter().filter(chosen)) {
        figures.extend(of_app(workload)?);
    }
    Ok(figures)
}

/// A run with its profile.
fn profiled(app: &Sandbox, workload: &Workload, threads: usize) -> Result<(Timed, ProgramProfile)> {
    let mut timed = app.run_workload_profiled("main", workload, threads)?;
    let profile = timed.profile.take().context("the run was not profiled")?;
    Ok((timed, profile))
}

fn of_app(workload: &Workload) -> Result<Vec<Figure>> {
    let Workload { name, .. } = workload;
    let app = if *name == "coarse" { Sandbox::bench_app(name) } else { Sandbox::app(name) }?;
    let label = workload.label();
    let mut depends = false;
    let [off, on, off_two, on_two] = interleave(&format!("profile: cost, {label}"), COST_BUDGET_S, || {
        let off = app.run_workload("main", workload, 1)?;
        let (on, profile) = profiled(&app, workload, 1)?;
        let off_two = app.run_workload("main", workload, 2)?;
        let (on_two, _) = profiled(&app, workload, 2)?;
        depends = !profile.shared_objects.is_empty() || !profile.dropped.is_empty();
        ensure!(off.text == on.text && off.text == on_two.text, "{label}: the answers differ");
        Ok([off.took.processor, on.took.processor, off_two.took.wall, on_two.took.wall])
    })?;
    let cost_on_two =
        Figure::ratio(BENCH, format!("{label} with --profile, 2 workers"), on_two.over(&off_two))
            .against(format!("without, {} s", shown(off_two.median())));
    let mut figures = vec![
        Figure::ratio(BENCH, format!("{label} with --profile, 1 worker"), on.over(&off))
            .against(format!("without, {} s", shown(off.median())))
            .goal(1.10, 1.05),
        if depends { cost_on_two } else { cost_on_two.goal(1.10, 1.05) },
    ];

    let all: [Samples; 10] = interleave(&format!("profile: workers, {label}"), WORKERS_BUDGET_S, || {
        let mut values = [0.0; 10];
        for (at, threads) in std::iter::once(1).chain(WORKERS).enumerate() {
            let (_, profile) = profiled(&app, workload, threads)?;
            [values[at], values[5 + at]] = [profile.work.as_secs_f64(), profile.span.as_secs_f64()];
        }
        Ok(values)
    })?;
    for (what, unit, factor, samples) in [("work", "s", 1.0, &all[..5]), ("span", "ms", 1e3, &all[5..])] {
        figures.push(worst(&label, what, unit, factor, samples, depends));
    }
    Ok(figures)
}

/// A figure's largest deviation over all numbers of workers, with one sample for each of these: the ratio of a single
/// round has the noise of both its runs, so medians are compared with medians.
fn worst(label: &str, what: &str, unit: &str, factor: f64, samples: &[Samples], depends: bool) -> Figure {
    let one = samples[0].median();
    let ratios: Vec<f64> = samples[1..].iter().map(|samples| samples.median() / one).collect();
    let off = ratios.iter().map(|ratio| ratio.max(1.0 / ratio)).fold(1.0, f64::max);
    let each: Vec<String> =
        WORKERS.iter().zip(&ratios).map(|(workers, ratio)| format!("{workers}: {}", shown(*ratio))).collect();
    let which = if depends { ", which depends on the schedule, as it says" } else { "" };
    let figure = Figure::ratio(
        BENCH,
        format!("{label}, {what} on 2 to 16 workers{which}"),
        std::iter::once(off).collect(),
    )
    .against(format!("on 1 worker, {} {unit}; on {}", shown(one * factor), each.join(", ")));
    if depends { figure } else { figure.goal(DIFFERENCE, 1.03) }
}
