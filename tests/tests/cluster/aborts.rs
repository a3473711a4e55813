//! An abort stops jobs on other hosts, even if hosts crash meanwhile.

use std::time::Duration;

use sateen_tests::cluster::{Cluster, until};
use sateen_tests::probe;
use serde_json::Value;

const PATIENCE: Duration = Duration::from_secs(60);
const NAMES: [&str; 3] = ["ada", "bob", "cyd"];

/// The root has children that take `steps` each, aborts them after some seconds, and continues for some more.
fn submit(cluster: &Cluster, steps: &str) -> u64 {
    let module = probe::module_path().display().to_string();
    let function = ["submit", module.as_str(), "--function", "aborted_later"];
    let words = [&function[..], &["12", steps, "1000000000", "700000000"]].concat();
    cluster.sateen(words).result().trim().parse().expect("a run's number")
}

fn hosts() -> Cluster {
    Cluster::start(&NAMES.map(|name| (name, "here")))
}

/// The number of busy workers of a host.
fn busy(cluster: &Cluster, name: &str) -> u64 {
    let ended = cluster.tell_host(name, &["status", "--json"]);
    let status: Value = serde_json::from_str(ended.text()).expect("a status is JSON");
    let runs = status["runs"].as_array().cloned().unwrap_or_default();
    runs.iter().filter_map(|run| run["counts"]["busy"].as_u64()).sum()
}

#[test]
fn an_abort_stops_stolen_jobs_and_records_nothing_of_them() {
    let cluster = hosts();
    // Long enough that only an abort can end them in time.
    let run = submit(&cluster, "300000000000");
    let root = cluster.root_host(run);
    let far: Vec<&str> = NAMES.into_iter().filter(|name| *name != root).collect();
    cluster.await_work(run, &far, 0.5);
    until("the far hosts come to rest", PATIENCE, || {
        far.iter().all(|name| busy(&cluster, name) == 0).then_some(())
    });
    assert_eq!(cluster.api().run(run)["state"], "running", "the root continues");
    let about = cluster.done(run, "12\n");
    let tree = cluster.api().get(&format!("/api/v1/runs/{run}/tree"));
    let of_job = |node: &&Value| node["function"] == "long" && node["state"] == "done";
    let done = tree["nodes"].as_array().into_iter().flatten().filter(of_job).count();
    assert_eq!(done, 0, "none has ended: {tree:#}");
    assert!(about["jobs"]["aborted"].as_u64() >= Some(12), "{about:#}");
}

#[test]
fn the_aborting_host_crashes() {
    let mut cluster = hosts();
    let run = submit(&cluster, "700000000");
    cluster.await_work(run, &NAMES, 0.5);
    let root = cluster.root_host(run);
    cluster.kill_host(&root);
    cluster.done(run, "12\n");
    let others: Vec<&str> = NAMES.into_iter().filter(|name| *name != root).collect();
    until("they come to rest", PATIENCE, || {
        others.iter().all(|name| busy(&cluster, name) == 0).then_some(())
    });
}

#[test]
fn a_thief_crashes_at_about_the_time_of_the_abort() {
    let mut cluster = hosts();
    let run = submit(&cluster, "2000000000");
    let root = cluster.root_host(run);
    let far: Vec<&str> = NAMES.into_iter().filter(|name| *name != root).collect();
    cluster.await_work(run, &far, 0.5);
    // The other host is notified first.
    until("one far host comes to rest", PATIENCE, || (busy(&cluster, far[0]) == 0).then_some(()));
    cluster.kill_host(far[1]);
    cluster.done(run, "12\n");
}
