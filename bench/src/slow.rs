//! Large results behind slow links: in virtual time, and with real processes.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use sateen_simulator::experiments::slow::{self, Row};
use sateen_tests::cluster::{Cluster, count};
use sateen_tests::probe;
use sateen_tests::proxy::Proxy;

use crate::figure::{Figure, shown};

const BENCH: &str = "slow";
/// Seeds of the simulation.
const SEEDS: u64 = 5;
/// Real hosts, each behind its own link.
const HOSTS: [&str; 3] = ["ada", "bob", "cy"];
/// Bandwidth of each link, each way.
const BYTES_PER_SECOND: usize = 1 << 20;
/// Jobs with results of 42 MB.
const JOBS: &str = "2";
const MEBIBYTES: u64 = 40;
/// A run that takes longer has failed.
const PATIENCE: Duration = Duration::from_secs(900);
/// Texts in a host's log when others reject it.
const REFUSALS: [&str; 3] = ["refused", "given this host up", "was cut off"];

/// Runs the benchmark.
pub fn bench() -> Result<Vec<Figure>> {
    let mut figures = simulated()?;
    figures.extend(real()?);
    Ok(figures)
}

/// 4 hosts, 6 MiB results, 1 MiB/s.
fn simulated() -> Result<Vec<Figure>> {
    let mut rows: Vec<Row> = Vec::new();
    for seed in 1..=SEEDS {
        eprintln!("slow: in virtual time, seed {seed} of {SEEDS}");
        rows.extend(slow::table(seed));
    }
    for row in &rows {
        ensure!(row.outcome.violations.is_empty(), "a law was broken: {:?}", row.outcome.violations);
    }
    Ok([false, true].map(|is_direct| simulated_figure(&rows, is_direct)).into())
}

fn simulated_figure(rows: &[Row], is_direct: bool) -> Figure {
    let rows: Vec<&Row> = rows.iter().filter(|row| row.is_direct == is_direct).collect();
    let sent = rows.iter().map(|row| row.sent_ratio).fold(0.0, f64::max);
    let lost: u64 = rows.iter().map(|row| row.given_up + row.outcome.lost).sum();
    let path = if is_direct { "direct" } else { "relayed" };
    let name =
        format!("simulated, 4 hosts, 6 MiB results, 1 MiB/s, {path}: time over the bound by bandwidth");
    Figure::ratio(BENCH, name, rows.iter().map(|row| row.ratio).collect())
        .against(format!(
            "bytes sent over bytes of results {}; hosts given up and jobs redone: {lost}",
            shown(sent)
        ))
        .goal(1.3, 1.1)
}

/// Jobs that other hosts take while the root's host is busy; their results share one link to it.
fn real() -> Result<Vec<Figure>> {
    eprintln!("slow: {} hosts behind 1 MiB/s, results of {MEBIBYTES} MiB", HOSTS.len());
    let mut cluster = Cluster::start_to_measure(&[]);
    let _proxies = HOSTS.map(|name| {
        let proxy = Proxy::start(cluster.address(), Duration::ZERO);
        proxy.limit(BYTES_PER_SECOND);
        cluster.start_host_with(name, name, &proxy.url(), &["--direct", "off"]);
        proxy
    });
    cluster.await_hosts(HOSTS.len());
    let size = MEBIBYTES.to_string();
    let words = ["--function", "large_results", JOBS, size.as_str()];
    let run = cluster.submit_module(probe::module_path(), &words);
    let about = cluster.api().run_over(run, PATIENCE);
    ensure!(about["state"] == "done", "the run has failed: {about:#}");
    let stolen = count(&about, "stolen");
    ensure!(stolen > 0, "nothing was stolen, so no result has travelled: {about:#}");
    let root_losses = about["root_losses"].as_u64().context("a run counts the losses of its root")?;
    let redone = count(&about, "redone");
    let mut refusals = 0;
    for name in HOSTS {
        let log = cluster.host(name).log();
        let is_refusal = |line: &&str| REFUSALS.iter().any(|words| line.contains(words));
        refusals += log.lines().filter(is_refusal).count();
        ensure!(!cluster.host(name).has_ended(), "the process of host {name} has ended:\n{log}");
    }
    // All stolen jobs' results pass the root's host's link, one after another.
    let bound_s = (stolen * (MEBIBYTES << 20)) as f64 / BYTES_PER_SECOND as f64;
    let elapsed_s = about["elapsed_s"].as_f64().context("a run that is over has taken some time")?;
    let about_run = format!("real, {MEBIBYTES} MiB results, 1 MiB/s");
    let number = |what: &str, value: f64| {
        Figure::ratio(BENCH, format!("{about_run}: {what}"), [value].into_iter().collect())
    };
    Ok(vec![
        number("time over the bound by bandwidth", elapsed_s / bound_s)
            .against(format!("{stolen} results over one link, {} s", shown(bound_s)))
            .goal(1.3, 1.1),
        number("rebirths and jobs redone", (root_losses + redone) as f64).unit("count").goal(0.0, 0.0),
        number("refusals in hosts' logs", refusals as f64).unit("count").goal(0.0, 0.0),
    ])
}
