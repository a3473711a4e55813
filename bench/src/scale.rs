//! The cost of spawns on one worker, and the gain from a second worker.
//!
//! A second core rarely doubles a machine's speed: cores share caches, memory, heat and, on rented machines,
//! a host. So a speed-up is compared with the machine's gain with two independent copies of a native program,
//! measured in the same rounds.

use anyhow::{Result, ensure};

use sateen_tests::cluster::Cluster;

use crate::coarse::turns_of;
use crate::copies;
use crate::figure::{Figure, shown};
use crate::grid;
use crate::measure::{Samples, interleave};
use crate::sandbox::Sandbox;
use crate::workloads::{Workload, Workloads};

const BENCH: &str = "scale";
/// The name of each app's figure.
const SHARE: &str = "speed-up of 2 workers as a share of the machine's";
/// Time for each app.
const BUDGET_S: f64 = 40.0;

/// The geometric mean over all apps of the share of the machine's gain, before guests had processes of their own.
const ALL_BEFORE: f64 = 0.971;

/// Rounds with a grid.
const HOST_ROUNDS: usize = 16;

/// The flat bag of coarse jobs.
const JOBS: u64 = 64;
const JOB_S: f64 = 0.2;
const JOBS_BUDGET_S: f64 = 50.0;
/// Jobs in a row that are timed to get the length of one, before and after each bag.
const SINGLES: u64 = 5;

/// Runs the benchmark.
pub fn bench(workloads: &Workloads) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for workload in workloads.iter() {
        figures.extend(of_app(workload)?);
    }
    if workloads.are_all() {
        figures.push(all_apps(&figures));
        figures.extend(of_coarse_jobs()?);
        figures.push(of_two_hosts()?);
    }
    Ok(figures)
}

/// The mean of the apps' shares of the machine's gain; it must not fall by more than a hundredth.
fn all_apps(figures: &[Figure]) -> Figure {
    let shares = figures.iter().filter(|figure| figure.name.ends_with(SHARE));
    let shares: Vec<Samples> = shares.map(|figure| figure.samples.clone()).collect();
    Figure::ratio(BENCH, format!("all apps, {SHARE}"), Samples::geometric_mean(&shares))
        .higher()
        .against(format!("two native copies at once; {ALL_BEFORE} before guests had processes of their own"))
        .goal(ALL_BEFORE * 0.99, ALL_BEFORE)
}

/// Two hosts of one thread each against one process of two threads.
fn of_two_hosts() -> Result<Figure> {
    let (queens, answer) = ("15", "2279184");
    let cluster = Cluster::start_to_measure(&[("a", "here"), ("b", "here")]);
    let (mut hosts, mut process) = (Vec::new(), Vec::new());
    for round in 0..=HOST_ROUNDS {
        eprintln!("scale: two hosts, round {round} of {HOST_ROUNDS}");
        let alone = || grid::run_alone("apps/nqueens.wasm", &[queens], 2);
        let on_grid = || grid::run(&cluster, "apps/nqueens.wasm", &[queens], Some(answer));
        // Drift affects both alike.
        let (one, two) = if round % 2 == 0 {
            let one = alone()?;
            (one, on_grid()?)
        } else {
            let two = on_grid()?;
            (alone()?, two)
        };
        // The first run fetches and compiles.
        if round > 0 {
            hosts.push(two);
            process.push(one);
        }
    }
    let process: Samples = process.into_iter().collect();
    Ok(Figure::ratio(
        BENCH,
        "nqueens 15, two hosts of one thread",
        hosts.into_iter().collect::<Samples>().over(&process),
    )
    .against(format!("one process of two threads, {} s", shown(process.median())))
    .goal(1.05, 1.01))
}

fn of_app(workload: &Workload) -> Result<Vec<Figure>> {
    let Workload { name, arguments, .. } = workload;
    let app = Sandbox::app(name)?;
    let [plain, one_alone, one, two, copy, copies] = interleave(&format!("scale: {name}"), BUDGET_S, || {
        let plain = app.run_workload("plain", workload, 1)?;
        let one = app.run_workload("main", workload, 1)?;
        let copy = copies::run(1, name, arguments)?;
        let two = app.run_workload("main", workload, 2)?;
        let copies = copies::run(2, name, arguments)?;
        ensure!(plain.text == one.text && one.text == two.text, "{name}: the answers differ");
        let times = [plain.took.processor, one.took.processor, one.took.wall, two.took.wall, copy, copies];
        Ok(times)
    })?;
    let machine = copy.over(&copies).times(2.0);
    let speed_up = one.over(&two);
    let gain = shown(machine.median());
    let mut figures = Vec::new();
    let spawning = Figure::ratio(BENCH, format!("{name} with spawns, 1 worker"), one_alone.over(&plain))
        .against(format!("plain {name} in the sandbox, {} s", shown(plain.median())));
    // fib does nothing but spawn; the cost of its spawns is a figure of its own.
    figures.push(if *name == "fib" { spawning } else { spawning.goal(1.10, 1.03) });
    figures.push(
        Figure::ratio(BENCH, format!("{name}, {SHARE}"), speed_up.over(&machine))
            .higher()
            .against(format!("two native copies at once, {gain} times one"))
            .goal(0.93, 0.99),
    );
    figures.push(
        Figure::ratio(BENCH, format!("{name}, speed-up of 2 workers"), speed_up)
            .higher()
            .against(format!("1 worker, {} s", shown(one.median()))),
    );
    Ok(figures)
}

fn of_coarse_jobs() -> Result<Vec<Figure>> {
    let app = Sandbox::bench_app("coarse")?;
    let turns = turns_of(&app, JOB_S)?;
    let singles =
        || Ok::<_, anyhow::Error>(app.run("plain", &[SINGLES, turns], 1)?.took.processor / SINGLES as f64);
    let copy = format!("{SINGLES} {turns}");
    let [single, bag, alone, copies] = interleave("scale: coarse jobs", JOBS_BUDGET_S, || {
        let before = singles()?;
        let alone = copies::run(1, "coarse", &copy)?;
        let bag = app.run("main", &[JOBS, turns], 2)?;
        let copies = copies::run(2, "coarse", &copy)?;
        let after = singles()?;
        Ok([f64::midpoint(before, after), bag.took.wall, alone, copies])
    })?;
    let machine: Samples = alone.over(&copies).times(2.0);
    let ideal = single.times(JOBS as f64 / 2.0);
    let of_machine = bag.over(&single.times(JOBS as f64).over(&machine));
    Ok(vec![
        Figure::ratio(BENCH, format!("{JOBS} coarse jobs spawned flat, 2 workers"), bag.over(&ideal))
            .against(format!("half of {JOBS} single jobs of {} ms", shown(single.median() * 1e3)))
            .goal(1.05, 1.01),
        Figure::ratio(
            BENCH,
            format!("{JOBS} coarse jobs spawned flat, 2 workers, on this machine"),
            of_machine,
        )
        .against(format!("the same over the machine's own gain, {}", shown(machine.median()))),
    ])
}
