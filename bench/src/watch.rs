//! The cost of open dashboards to a grid: the same run with fifty of them and without.
//!
//! Hosts report the same to the coordinator whether it is watched or not, so the cost is the coordinator's processor
//! time. The dashboards themselves would be on other machines; here they take time from the grid's two cores, which
//! mainly shows in the run's time.

use anyhow::Result;
use sateen_tests::cluster::Cluster;

use crate::crowd::{Crowd, WATCHERS};
use crate::figure::Figure;
use crate::grid;
use crate::measure::Samples;

const BENCH: &str = "watch";
const ROUNDS: usize = 7;
const HOSTS: [&str; 2] = ["one", "two"];
/// Some seconds on two hosts, and thousands of steals.
const APP: &str = "apps/nqueens.wasm";
const WORDS: [&str; 1] = ["16"];

/// Runs the benchmark.
pub fn bench() -> Result<Vec<Figure>> {
    let mut grid = Cluster::start_to_measure(&HOSTS.map(|name| (name, "here")));
    let (mut costs, mut ratios, mut bytes) = (Vec::new(), Vec::new(), Vec::new());
    // The first round fetches and compiles.
    for round in 0..=ROUNDS {
        eprintln!("watch: round {round} of {ROUNDS}");
        // The order alternates from round to round.
        let is_watched_first = round % 2 == 0;
        let first = Taken::by_a_run(&mut grid, is_watched_first)?;
        let second = Taken::by_a_run(&mut grid, !is_watched_first)?;
        let (with, without) = if is_watched_first { (first, second) } else { (second, first) };
        if round > 0 {
            costs.push(100.0 * (with.coordinator_s - without.coordinator_s) / without.grid_s);
            ratios.push(with.elapsed_s / without.elapsed_s);
            bytes.push(with.told_bytes as f64 / with.elapsed_s / 1000.0);
        }
    }
    let samples = |values: Vec<f64>| values.into_iter().collect::<Samples>();
    Ok(vec![
        Figure::ratio(BENCH, format!("what {WATCHERS} dashboards cost a run"), samples(costs))
            .unit("% of its processor time")
            .against("the same run, unwatched")
            .goal(1.0, 0.1),
        Figure::ratio(BENCH, "time to its end, of a run that they watch from its own cores", samples(ratios))
            .against("the same run, unwatched"),
        Figure::ratio(BENCH, "what all of them are told", samples(bytes)).unit("kB/s"),
    ])
}

/// The cost of a run.
struct Taken {
    elapsed_s: f64,
    /// Processor time of the coordinator and of the whole grid.
    coordinator_s: f64,
    grid_s: f64,
    /// Bytes sent to dashboards.
    told_bytes: usize,
}

impl Taken {
    fn by_a_run(grid: &mut Cluster, is_watched: bool) -> Result<Self> {
        let coordinator = grid.coordinator().id();
        let hosts = HOSTS.map(|name| grid.host_process(name));
        let hosts_s = || hosts.iter().map(|host| grid::process_s(*host)).sum::<Result<f64>>();
        let before = (grid::process_s(coordinator)?, hosts_s()?);
        let run = grid::submit(grid, APP, &WORDS)?;
        let crowd = is_watched.then(|| Crowd::open(grid, run));
        let elapsed_s = grid::wait(grid, run, None)?;
        let told_bytes = crowd.map_or(Ok(0), Crowd::close)?;
        let coordinator_s = grid::process_s(coordinator)? - before.0;
        let grid_s = coordinator_s + hosts_s()? - before.1;
        Ok(Self { elapsed_s, coordinator_s, grid_s, told_bytes })
    }
}
