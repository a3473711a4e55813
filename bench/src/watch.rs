//! What open dashboards cost a grid: the same run with fifty of them and without.

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
/// Some seconds on two hosts, and thousands of steals.
const APP: &str = "apps/nqueens.wasm";
const WORDS: [&str; 1] = ["16"];

/// Runs the benchmark.
pub fn bench() -> Result<Vec<Figure>> {
    let (mut ratios, mut bytes) = (Vec::new(), Vec::new());
    // The first round fetches and compiles.
    for round in 0..=ROUNDS {
        eprintln!("watch: round {round} of {ROUNDS}");
        // Which comes first changes from round to round.
        let is_watched_first = round % 2 == 0;
        let first = timed(is_watched_first)?;
        let second = timed(!is_watched_first)?;
        let (with, without) = if is_watched_first { (first, second) } else { (second, first) };
        if round > 0 {
            ratios.push(with.0 / without.0);
            bytes.push(with.1 as f64 / with.0 / 1000.0);
        }
    }
    let samples = |values: Vec<f64>| values.into_iter().collect::<Samples>();
    Ok(vec![
        Figure::ratio(BENCH, format!("a run that {WATCHERS} dashboards watch"), samples(ratios))
            .against("the same run, unwatched")
            .goal(1.01, 1.0),
        Figure::ratio(BENCH, "what all of them are told", samples(bytes)).unit("kB/s"),
    ])
}

/// How long the run takes, in seconds, and the bytes that dashboards were told.
fn timed(is_watched: bool) -> Result<(f64, usize)> {
    let grid = Cluster::start(&[("one", "here"), ("two", "here")]);
    let run = grid::submit(&grid, APP, &WORDS)?;
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
    let elapsed_s = grid::wait(&grid, run, None)?;
    is_over.store(true, Relaxed);
    for watcher in watchers {
        ensure!(watcher.join().is_ok(), "a dashboard was cut off");
    }
    Ok((elapsed_s, told.load(Relaxed)))
}
