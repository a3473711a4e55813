//! The time of a steal between hosts, from the request to the stolen job's first instruction.

use anyhow::{Context, Result, ensure};
use sateen_tests::cluster::Cluster;

use crate::figure::{Figure, shown};
use crate::grid;
use crate::measure::Samples;

const BENCH: &str = "steal";
const ROUNDS: usize = 7;
/// Jobs so long that a thief does not ask ahead ([`AHEAD_TRIPS`](sateen_protocol::limits::AHEAD_TRIPS)): every steal is a
/// request of an idle host to a busy one, which mostly has a job exposed. If it has none, it must first reach its next
/// spawn or sync, which is in the tail.
const JOBS: &str = "500";
const TURNS: &str = "8000000";

/// Runs the benchmark.
pub fn bench() -> Result<Vec<Figure>> {
    let (mut direct, mut relayed) = (Vec::new(), Vec::new());
    // The first round fetches and compiles.
    for round in 0..=ROUNDS {
        eprintln!("steal: round {round} of {ROUNDS}");
        // As volunteers' hosts run.
        let idle = ["--priority", "idle"];
        let (one, other) = (steals(&idle)?, steals(&[&idle[..], &["--direct", "off"]].concat())?);
        if round > 0 {
            direct.push(one);
            relayed.push(other);
        }
    }
    let median = |all: &[[f64; 2]]| all.iter().map(|round| round[0]).collect::<Samples>();
    let tail = |all: &[[f64; 2]]| all.iter().map(|round| round[1]).collect::<Samples>();
    let ratio = median(&relayed).over(&median(&direct));
    let about = "two hosts of one thread on loopback, jobs of some 15 ms";
    Ok(vec![
        Figure::ratio(BENCH, "direct, median", median(&direct)).unit("µs").against(about).goal(300.0, 60.0),
        Figure::ratio(BENCH, "direct, 99 of 100 within", tail(&direct))
            .unit("µs")
            .against(about)
            .goal(2000.0, 500.0),
        Figure::ratio(BENCH, "relayed by the coordinator, median", ratio)
            .against(format!("direct, {} µs", shown(median(&direct).median())))
            .goal(2.0, 1.5),
        Figure::ratio(BENCH, "relayed, 99 of 100 within", tail(&relayed)).unit("µs").against(about),
    ])
}

/// The median and the 99th percentile of a run's steals, in microseconds.
fn steals(flags: &[&str]) -> Result<[f64; 2]> {
    let mut cluster = Cluster::start_to_measure(&[]);
    let url = format!("http://{}", cluster.address());
    for name in ["a", "b"] {
        cluster.start_host_with(name, "here", &url, flags);
    }
    cluster.await_hosts(2);
    grid::run(&cluster, "bench/coarse.wasm", &[JOBS, TURNS], None)?;
    let mut all = Vec::new();
    for name in ["a", "b"] {
        let status = grid::status(&cluster, name)?;
        let of = |field: &str| status["steals"][field].as_f64();
        if let (Some(count), Some(median), Some(tail)) =
            (of("count"), of("begun_median_s"), of("begun_p99_s"))
        {
            all.push((count, [median * 1e6, tail * 1e6]));
        }
    }
    // The host that had the root steals almost nothing.
    all.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    let (count, latencies) = all.pop().context("no host stole anything")?;
    ensure!(count >= 50.0, "only {count} steals: too few to say anything");
    Ok(latencies)
}
