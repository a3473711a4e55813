//! An abort on a distant host, whose messages take 100 ms each way.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use sateen_tests::cluster::Cluster;
use sateen_tests::proxy::Proxy;
use serde_json::Value;

use super::BENCH;
use crate::figure::{Figure, shown};
use crate::grid;
use crate::measure::Samples;

const LATENCY: Duration = Duration::from_millis(100);
const ROUNDS: usize = 3;
const OTHERS: &str = "8";
/// Some seconds, in which the distant host joins.
const TURNS: &str = "2000000000";
/// A tenth of a second: the aborter's work afterwards.
const MORE_TURNS: &str = "35000000";
const PATIENCE: Duration = Duration::from_secs(60);

/// Times from the abort to the run's result, and until the distant host is idle.
struct Reach {
    rest_s: f64,
    stopped_s: f64,
}

pub fn figures() -> Result<Vec<Figure>> {
    let (mut near, mut far) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        eprintln!("model: reach, round {} of {ROUNDS}", round + 1);
        near.push(measure(Duration::ZERO)?);
        far.push(measure(LATENCY)?);
    }
    let rest = |all: &[Reach]| all.iter().map(|one| one.rest_s * 1e3).collect::<Samples>();
    let stopped = |all: &[Reach]| all.iter().map(|one| one.stopped_s * 1e3).collect::<Samples>();
    Ok(vec![
        Figure::ratio(
            BENCH,
            "abort of a job at 100 ms, what the aborter loses",
            rest(&far).less(&rest(&near)),
        )
        .unit("ms")
        .against(format!("from the abort to the result at 0 ms, {} ms", shown(rest(&near).median()))),
        Figure::ratio(BENCH, "abort of a job at 100 ms, until it stops", stopped(&far))
            .unit("ms")
            .against(format!("at 0 ms, {} ms; watched every 10 ms or so", shown(stopped(&near).median()))),
    ])
}

fn measure(latency: Duration) -> Result<Reach> {
    let mut cluster = Cluster::start_to_measure(&[("near", "here")]);
    let run =
        grid::submit(&cluster, "bench/model.wasm", &["--function", "reach", OTHERS, TURNS, MORE_TURNS])?;
    let submitted = Instant::now();
    let root = cluster.root_host(run);
    let proxy = Proxy::start(cluster.address(), latency);
    cluster.start_host_with("far", "there", &proxy.url(), &["--direct", "off"]);
    await_count(&cluster, "far", "/busy", |busy| busy > 0)?;
    await_count(&cluster, &root, "/jobs/aborted", |aborted| aborted > 0)?;
    let aborted = Instant::now();
    await_count(&cluster, "far", "/busy", |busy| busy == 0)?;
    let stopped_s = aborted.elapsed().as_secs_f64();
    let elapsed_s = grid::wait(&cluster, run, Some("0"))?;
    Ok(Reach { rest_s: elapsed_s - (aborted - submitted).as_secs_f64(), stopped_s })
}

fn await_count(cluster: &Cluster, host: &str, field: &str, is_enough: impl Fn(u64) -> bool) -> Result<()> {
    let since = Instant::now();
    while since.elapsed() < PATIENCE {
        let ended = cluster.tell_host(host, &["status", "--json"]);
        // A host that has just started does not answer at once.
        let Ok(status) = serde_json::from_slice::<Value>(&ended.stdout) else { continue };
        let count: u64 = (status["runs"].as_array().into_iter().flatten())
            .filter_map(|run| run["counts"].pointer(field)?.as_u64())
            .sum();
        if is_enough(count) {
            return Ok(());
        }
    }
    bail!("host {host} never has the right count {field}")
}
