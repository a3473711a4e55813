//! Strangers' code on a volunteer's host: whether hostile modules disturb it, how soon they are off the processor, how much
//! memory they take, and whether their process may die at any moment.

mod bombs;
mod corpus;
mod deadlines;
mod kills;
mod watched;
mod within;

pub use within::bench as walls;

use anyhow::{Context, Result, ensure};
use sateen_tests::cluster::{Api, Cluster, until};
use sateen_tests::guests::of_host;
use serde_json::{Value, json};

use crate::figure::Figure;
use crate::measure::Samples;
use crate::parts::Part;

const BENCH: &str = "hostile";
const HOST: &str = "volunteer";
/// Workers of the host.
const THREADS: &str = "2";

/// Its parts, each with a host of its own.
pub const PARTS: [Part; 4] = [
    ("deadlines", deadlines::figures),
    ("memory", bombs::figures),
    ("kills", kills::figures),
    ("corpus", corpus::figures),
];

/// A grid with one host, with these options.
fn start(options: &[&str]) -> Cluster {
    let mut grid = Cluster::start_to_measure(&[]);
    let url = format!("http://{}", grid.address());
    grid.start_host_with(HOST, "here", &url, &[&["--threads", THREADS], options].concat());
    grid.await_hosts(1);
    grid
}

/// Submits a module under these limits; returns the run's number.
fn submit(api: &Api, module: &[u8], limits: &Value) -> Result<u64> {
    let (status, answer) = api.publish("hostile", module);
    ensure!((200..300).contains(&status), "the module is refused: {answer}");
    let submission = json!({ "app": answer["hash"], "limits": limits });
    let (status, answer) = api.post("/api/v1/runs", &submission.to_string());
    ensure!((200..300).contains(&status), "the run is refused: {answer}");
    answer["run"].as_u64().context("a run has a number")
}

/// The only process of guests, as soon as there is one.
fn guests(grid: &Cluster) -> u32 {
    let host = grid.host_process(HOST);
    until("a process of guests", sateen_tests::cluster::SOON, || of_host(host).into_iter().next())
}

/// Cancels a run that is not over, and waits until the host has no guests.
fn clear(grid: &Cluster, run: u64) {
    grid.api().order(&format!("/api/v1/runs/{run}/cancel"));
    let host = grid.host_process(HOST);
    until("no guests", sateen_tests::cluster::SOON, || of_host(host).is_empty().then_some(()));
}

/// How often a host has panicked, gone from its coordinator, or ended.
fn failures(grid: &mut Cluster) -> f64 {
    let has_ended = grid.host(HOST).has_ended();
    let panics = grid.host_log(HOST).matches("panicked").count();
    grid.api().metric("sateen_hosts_gone_total") + panics as f64 + f64::from(u8::from(has_ended))
}

/// A number of things that must not happen.
fn never(name: impl Into<String>, count: f64, unit: &'static str) -> Figure {
    let samples: Samples = [count].into_iter().collect();
    Figure::ratio(BENCH, name, samples).unit(unit).against("0").goal(0.0, 0.0)
}
