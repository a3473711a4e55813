//! A run's remaining time as estimated by the HTTP API at 25, 50 and 75 % of the run: checks whether the true end was
//! within the band. Real processes; with and without the loss of a host.
//!
//! If no estimate is known, the API says so, which is not an error; a band that does not hold is an error.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use sateen_tests::cluster::Cluster;
use serde_json::Value;

use crate::figure::Figure;
use crate::grid;
use crate::workloads::{Workload, Workloads};

const BENCH: &str = "left";
/// Runs of each app, both undisturbed and with a host killed.
const ROUNDS: usize = 3;
/// Parts of a run at which the estimates are compared.
const MOMENTS: [f64; 3] = [0.25, 0.5, 0.75];
/// Interval between requests to the API.
const PERIOD: Duration = Duration::from_millis(50);
/// Resolution of the API's times.
const TENTH_S: f64 = 0.1;
const HOSTS: [&str; 3] = ["a", "b", "c"];
/// The part of an undisturbed run's time after which a host is killed.
const KILLED_AT: f64 = 0.4;

/// These take longer than in other benchmarks: the end must be some seconds away.
static LONGER: [Workload; 7] = [
    Workload { name: "fib", arguments: "46", inputs: &[] },
    Workload { name: "nqueens", arguments: "17", inputs: &[] },
    Workload { name: "knapsack", arguments: "1500 2", inputs: &[] },
    Workload { name: "sat", arguments: "random 260 2", inputs: &[] },
    Workload { name: "qap", arguments: "16 1", inputs: &[] },
    Workload { name: "barneshut", arguments: "10000 100", inputs: &[] },
    Workload { name: "othello", arguments: "perft 13", inputs: &[] },
];
/// A flat bag of equal jobs, which can be predicted best.
static FLAT: Workload = Workload { name: "coarse", arguments: "400 100000000", inputs: &[] };

/// Counts of the estimates for some runs.
#[derive(Default)]
struct Said {
    moments: usize,
    known: usize,
    held: usize,
}

/// Runs the benchmark.
pub fn bench(workloads: &Workloads) -> Result<Vec<Figure>> {
    let (mut calm, mut crashed) = (Said::default(), Said::default());
    let mut figures = Vec::new();
    for workload in workloads.iter().chain(workloads.are_all().then_some(&FLAT)) {
        let workload = LONGER.iter().find(|longer| longer.name == workload.name).unwrap_or(workload);
        let (mut of_calm, mut of_crashed) = (Said::default(), Said::default());
        // Rotating, so that the root's host is among those killed.
        for name in HOSTS.iter().cycle().take(ROUNDS) {
            let mut grid = Cluster::start_to_measure(&HOSTS.map(|name| (name, "here")));
            let words = words(&grid, workload)?;
            let took_s = watch(&mut grid, workload, &words, None, &mut of_calm)?;
            watch(&mut grid, workload, &words, Some((took_s * KILLED_AT, *name)), &mut of_crashed)?;
        }
        for (all, of_app, what) in
            [(&mut calm, of_calm, "undisturbed"), (&mut crashed, of_crashed, "a host is killed")]
        {
            eprintln!(
                "left: {}, {what}: known at {} of {} moments, and {} held",
                workload.label(),
                of_app.known,
                of_app.moments,
                of_app.held
            );
            let figure =
                figure(format!("{}, {what}: moments with a band", workload.label()), of_app.known as f64);
            figures.push(
                figure
                    .unit("moments")
                    .against(format!("{} moments; the true end was within {}", of_app.moments, of_app.held)),
            );
            all.moments += of_app.moments;
            all.known += of_app.known;
            all.held += of_app.held;
        }
    }
    for (said, what) in [(calm, "undisturbed"), (crashed, "a host is killed")] {
        let Said { moments, known, held } = said;
        if known > 0 {
            let name = format!("all apps, {what}: bands that held the true end");
            let against = format!("{held} of {known}, at {moments} moments in all");
            figures.push(figure(name, held as f64 / known as f64).against(against).goal(0.9, 0.95));
        }
    }
    Ok(figures)
}

fn figure(name: String, value: f64) -> Figure {
    Figure::ratio(BENCH, name, std::iter::once(value).collect()).higher()
}

fn words(grid: &Cluster, workload: &Workload) -> Result<Vec<String>> {
    let arguments = workload.words().into_iter().map(str::to_owned);
    Ok(grid::input_words(grid, workload)?.into_iter().chain(arguments).collect())
}

fn submit(grid: &Cluster, workload: &Workload, words: &[String]) -> Result<u64> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let folder = if workload.name == FLAT.name { "bench" } else { "apps" };
    grid::submit(grid, &format!("{folder}/{}.wasm", workload.name), &words)
}

/// Records the estimates for a run until it is over; `kill` has the seconds after which a host is killed, and its name.
/// Returns the run's time in seconds.
fn watch(
    grid: &mut Cluster,
    workload: &Workload,
    words: &[String],
    mut kill: Option<(f64, &str)>,
    said: &mut Said,
) -> Result<f64> {
    let run = submit(grid, workload, words)?;
    let path = format!("/api/v1/runs/{run}/overview");
    let mut all = Vec::new();
    loop {
        let details = grid.api().get(&path);
        let about = &details["run"];
        let elapsed_s = about["elapsed_s"].as_f64().context("a run has taken some time")?;
        if !about["ended_at"].is_null() {
            ensure!(about["state"] == "done", "run {run} has failed: {about:#}");
            count(&all, elapsed_s, said);
            return Ok(elapsed_s);
        }
        all.push((elapsed_s, Band::of(&details)));
        if let Some((_, name)) = kill.take_if(|(at_s, _)| elapsed_s >= *at_s) {
            grid.kill_host(name);
        }
        std::thread::sleep(PERIOD);
    }
}

/// A band for a run's remaining time, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Band {
    low_s: f64,
    high_s: f64,
}

impl Band {
    /// `None` if there is no estimate.
    fn of(details: &Value) -> Option<Self> {
        let of = |name: &str| details["remaining"][name].as_f64();
        Some(Self { low_s: of("low_s")?, high_s: of("high_s")? })
    }
}

/// Counts the estimates at the moments of a run that took `took_s` seconds.
fn count(told: &[(f64, Option<Band>)], took_s: f64, said: &mut Said) {
    for moment in MOMENTS {
        let far = |(at_s, _): &(f64, Option<Band>)| (at_s - moment * took_s).abs();
        let Some((at_s, band)) = told.iter().min_by(|one, other| far(one).total_cmp(&far(other))) else {
            continue;
        };
        said.moments += 1;
        let Some(Band { low_s, high_s }) = band else { continue };
        said.known += 1;
        let left_s = took_s - at_s;
        said.held += usize::from((low_s - TENTH_S..=high_s + TENTH_S).contains(&left_s));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimate_nearest_to_each_moment_counts() {
        let band = |low_s, high_s| Some(Band { low_s, high_s });
        let told = [(0.1, band(0.0, 1.0)), (2.4, None), (5.0, band(4.0, 6.0)), (7.4, band(1.0, 2.0))];
        let mut said = Said::default();
        count(&told, 10.0, &mut said);
        assert_eq!((said.moments, said.known, said.held), (3, 2, 1));
        count(&[], 10.0, &mut said);
        assert_eq!(said.moments, 3, "it was over before it was asked");
    }
}
