//! Bags of short tasks: one parent spawns all of them, and each is too short to be handed over on its own.

use anyhow::{Result, ensure};
use sateen_tests::cluster::Cluster;

use crate::coarse::turns_of;
use crate::figure::{Figure, shown};
use crate::grid;
use crate::measure::{Samples, interleave};
use crate::sandbox::Sandbox;

const BENCH: &str = "bag";
/// Time for each bag.
const BUDGET_S: f64 = 50.0;

struct Bag {
    jobs: u64,
    job_s: f64,
    bar: f64,
    aim: f64,
}

/// As many seconds in each.
const BAGS: [Bag; 4] = [
    Bag { jobs: 500, job_s: 1e-2, bar: 1.03, aim: 1.01 },
    Bag { jobs: 5_000, job_s: 1e-3, bar: 1.03, aim: 1.01 },
    Bag { jobs: 50_000, job_s: 1e-4, bar: 1.05, aim: 1.02 },
    Bag { jobs: 500_000, job_s: 1e-5, bar: 1.10, aim: 1.05 },
];

/// The bag that is also computed by two hosts.
const HOST_ROUNDS: usize = 7;
const ON_HOSTS: Bag = Bag { jobs: 5_000, job_s: 1e-3, bar: 1.05, aim: 1.02 };

/// Runs the benchmark.
pub fn bench() -> Result<Vec<Figure>> {
    let app = Sandbox::bench_app("coarse")?;
    let mut figures: Vec<Figure> = BAGS.iter().map(|bag| of_two_workers(&app, bag)).collect::<Result<_>>()?;
    figures.push(of_two_hosts(&app)?);
    Ok(figures)
}

impl Bag {
    fn label(&self) -> String {
        format!("{} jobs of {} ms", self.jobs, self.job_s * 1e3)
    }
}

/// The time on two workers over half the time of the calls in a row.
fn of_two_workers(app: &Sandbox, bag: &Bag) -> Result<Figure> {
    let words = [bag.jobs, turns_of(app, bag.job_s)?];
    let label = bag.label();
    let [plain, both] = interleave(&format!("bag: {label}"), BUDGET_S, || {
        let plain = app.run("plain", &words, 1)?;
        let both = app.run("main", &words, 2)?;
        ensure!(plain.text == both.text, "the answers differ");
        Ok([plain.took.processor, both.took.wall])
    })?;
    Ok(Figure::ratio(BENCH, format!("{label}, two workers"), both.over(&plain.times(0.5)))
        .against(format!("half of the calls in a row, {} s", shown(plain.median())))
        .goal(bag.bar, bag.aim))
}

/// The time on two hosts of one worker over half the time of the calls in a row.
fn of_two_hosts(app: &Sandbox) -> Result<Figure> {
    let turns = turns_of(app, ON_HOSTS.job_s)?;
    let words = [ON_HOSTS.jobs.to_string(), turns.to_string()];
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let cluster = Cluster::start_to_measure(&[("a", "here"), ("b", "here")]);
    let (mut both, mut plain) = (Vec::new(), Vec::new());
    // The first round fetches and compiles.
    for round in 0..=HOST_ROUNDS {
        eprintln!("bag: two hosts, round {round} of {HOST_ROUNDS}");
        let calls = app.run("plain", &[ON_HOSTS.jobs, turns], 1)?;
        let took = grid::run(&cluster, "bench/coarse.wasm", &words, Some(&calls.text))?;
        if round > 0 {
            both.push(took);
            plain.push(calls.took.processor);
        }
    }
    let plain: Samples = plain.into_iter().collect();
    let both: Samples = both.into_iter().collect();
    Ok(Figure::ratio(BENCH, format!("{}, two hosts", ON_HOSTS.label()), both.over(&plain.times(0.5)))
        .against(format!("half of the calls in a row, {} s", shown(plain.median())))
        .goal(ON_HOSTS.bar, ON_HOSTS.aim))
}
