//! What open dashboards cost a grid: the same run with fifty of them and without.
//!
//! Hosts tell the coordinator the same whether anybody looks or not, so the cost is the coordinator's processor time.
//! The dashboards themselves would be on other machines; here they take time from the grid's two cores, and how
//! long the run takes says more of that.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use anyhow::{Result, ensure};
use sateen_tests::cluster::Cluster;
use sateen_tests::watcher::Watcher;

use crate::figure::Figure;
use crate::grid;
use crate::measure::Samples;

const BENCH: &str = "watch";
const ROUNDS: usize = 7;
pub const WATCHERS: usize = 50;
const HOSTS: [&str; 2] = ["one", "two"];
/// Some seconds on two hosts, and thousands of steals.
const APP: &str = "apps/nqueens.wasm";
const WORDS: [&str; 1] = ["16"];

/// Runs the benchmark.
pub fn bench() -> Result<Vec<Figure>> {
    let mut grid = Cluster::start(&HOSTS.map(|name| (name, "here")));
    let (mut costs, mut ratios, mut bytes) = (Vec::new(), Vec::new(), Vec::new());
    // The first round fetches and compiles.
    for round in 0..=ROUNDS {
        eprintln!("watch: round {round} of {ROUNDS}");
        // Which comes first changes from round to round.
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

/// What a run takes.
struct Taken {
    elapsed_s: f64,
    /// Processor time, of the coordinator and of all of the grid.
    coordinator_s: f64,
    grid_s: f64,
    /// To dashboards.
    told_bytes: usize,
}

impl Taken {
    fn by_a_run(grid: &mut Cluster, is_watched: bool) -> Result<Self> {
        let coordinator = grid.coordinator().id();
        let hosts = HOSTS.map(|name| grid.host_process(name));
        let hosts_s = || hosts.iter().map(|host| grid::process_s(*host)).sum::<Result<f64>>();
        let before = (grid::process_s(coordinator)?, hosts_s()?);
        let run = grid::submit(grid, APP, &WORDS)?;
        let (is_over, told) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let watchers: Vec<_> = (0..if is_watched { WATCHERS } else { 0 })
            .map(|_| {
                let (is_over, told, address) = (Arc::clone(&is_over), Arc::clone(&told), grid.address());
                thread::spawn(move || {
                    let topics = ["grid".to_owned(), format!("run/{run}"), format!("tree/{run}")];
                    let topics: Vec<&str> = topics.iter().map(String::as_str).collect();
                    let mut watcher = Watcher::open(address, &topics);
                    while !is_over.load(Relaxed) && watcher.next_unread(Duration::from_secs(1)).is_ok() {}
                    told.fetch_add(watcher.bytes, Relaxed);
                })
            })
            .collect();
        let elapsed_s = grid::wait(grid, run, None)?;
        is_over.store(true, Relaxed);
        for watcher in watchers {
            ensure!(watcher.join().is_ok(), "a dashboard was cut off");
        }
        let coordinator_s = grid::process_s(coordinator)? - before.0;
        let grid_s = coordinator_s + hosts_s()? - before.1;
        Ok(Self { elapsed_s, coordinator_s, grid_s, told_bytes: told.load(Relaxed) })
    }
}
