//! A direct path that dies alone: two hosts that still reach the coordinator but no longer each other.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use sateen_tests::cluster::Cluster;
use sateen_tests::proxy::Proxy;
use serde_json::Value;

use crate::figure::{Figure, shown};
use crate::grid;
use crate::measure::Samples;

const BENCH: &str = "hole";
const ROUNDS: usize = 5;
/// Jobs of a few milliseconds, for some ten seconds of two workers.
const JOBS: &str = "6000";
const TURNS: &str = "1000000";
/// One job for each of two workers, of a second or two.
const LONG_JOBS: &str = "2";
const LONG_TURNS: &str = "500000000";
/// Steals before the path dies.
const STOLEN_FIRST: u64 = 50;
/// Time for which steals are watched afterwards.
const WATCHED: Duration = Duration::from_secs(5);
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs the benchmark.
pub fn bench() -> Result<Vec<Figure>> {
    let (mut steals, mut usual, mut results, mut unhurt) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for round in 1..=ROUNDS {
        eprintln!("hole: round {round} of {ROUNDS}");
        let (before, after) = rests()?;
        usual.push(before * 1e3);
        steals.push(after * 1e3);
        let (plain, with_hole) = (long_jobs(false)?, long_jobs(true)?);
        unhurt.push(plain);
        results.push((with_hole - plain) * 1e3);
    }
    let samples = |all: Vec<f64>| all.into_iter().collect::<Samples>();
    let (usual, unhurt) = (samples(usual), samples(unhurt));
    Ok(vec![
        Figure::ratio(BENCH, "direct path dead, until steals continue", samples(steals))
            .unit("ms")
            .against(format!("the longest rest between steals before, {} ms", shown(usual.median())))
            .goal(2000.0, 1000.0),
        Figure::ratio(BENCH, "direct path dead, delay of a stolen job's result", samples(results))
            .unit("ms")
            .against(format!("a run of one job on each of two hosts, {} s", shown(unhurt.median())))
            .goal(2000.0, 1000.0),
    ])
}

/// Two hosts, each of which reaches the other through a proxy.
fn start() -> (Cluster, [Proxy; 2]) {
    let mut cluster = Cluster::start_to_measure(&[]);
    let proxies = ["a", "b"].map(|name| cluster.start_host_behind_proxy(name, "here"));
    cluster.await_hosts(2);
    (cluster, proxies)
}

/// The longest time without a steal, in seconds: before the path dies, and after.
fn rests() -> Result<(f64, f64)> {
    let (cluster, proxies) = start();
    let run = grid::submit(&cluster, "bench/coarse.wasm", &[JOBS, TURNS])?;
    let thief = if cluster.root_host(run) == "a" { "b" } else { "a" };
    let mut watch = Watch { cluster: &cluster, thief, stolen: 0, last: Instant::now() };
    let since = Instant::now();
    while watch.stolen < STOLEN_FIRST {
        ensure!(since.elapsed() < PATIENCE, "host {thief} steals too few jobs");
        watch.look();
    }
    ensure!(path(&cluster, thief) == "direct", "the hosts do not reach each other directly");
    let before = watch.longest(Duration::from_secs(1));
    proxies.iter().for_each(Proxy::partition);
    let after = watch.longest(WATCHED);
    let stolen = watch.stolen;
    watch.look();
    ensure!(watch.stolen > stolen || after < WATCHED.as_secs_f64(), "nothing was stolen any more");
    ensure!(path(&cluster, thief) == "relayed", "the hosts still reach each other directly");
    grid::wait(&cluster, run, None)?;
    Ok((before, after))
}

/// Watches a thief's steals.
struct Watch<'a> {
    cluster: &'a Cluster,
    thief: &'a str,
    stolen: u64,
    last: Instant,
}

impl Watch<'_> {
    /// The time since the last steal, if there is a new one.
    fn look(&mut self) -> Option<Duration> {
        let status = self.cluster.host_status(self.thief);
        let stolen = status["runs"][0]["counts"]["jobs"]["stolen"].as_u64().unwrap_or(0);
        (stolen > self.stolen).then(|| {
            self.stolen = stolen;
            std::mem::replace(&mut self.last, Instant::now()).elapsed()
        })
    }

    /// The longest time between two steals during `meanwhile`, in seconds.
    fn longest(&mut self, meanwhile: Duration) -> f64 {
        let since = Instant::now();
        self.last = since;
        let mut longest = Duration::ZERO;
        while since.elapsed() < meanwhile {
            longest = longest.max(self.look().unwrap_or_default());
        }
        longest.max(self.last.elapsed()).as_secs_f64()
    }
}

fn path(cluster: &Cluster, host: &str) -> Value {
    cluster.host_status(host)["peers"][0]["path"].clone()
}

/// The time of a run of one job on each host, in seconds; the path dies while both compute.
fn long_jobs(has_hole: bool) -> Result<f64> {
    let (cluster, proxies) = start();
    let run = grid::submit(&cluster, "bench/coarse.wasm", &[LONG_JOBS, LONG_TURNS])?;
    let thief = if cluster.root_host(run) == "a" { "b" } else { "a" };
    let since = Instant::now();
    while cluster.host_status(thief)["runs"][0]["counts"]["jobs"]["stolen"].as_u64().unwrap_or(0) == 0 {
        ensure!(since.elapsed() < PATIENCE, "host {thief} steals nothing");
    }
    if has_hole {
        // The answer to the steal has been acknowledged, and no message is in transit.
        thread::sleep(Duration::from_millis(100));
        proxies.iter().for_each(Proxy::partition);
    }
    grid::wait(&cluster, run, None).context("a run of two jobs")
}
