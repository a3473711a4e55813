//! Pages of a real grid show the same as the API and the coordinator's log, despite crashes.

use std::collections::BTreeMap;

use sateen_tests::cluster::{Cluster, PATIENCE, until};
use sateen_tests::watcher::Watcher;
use serde_json::Value;

use crate::answers::QUEENS;

/// States of jobs as frames have them.
const STATES: [&str; 8] = ["running", "done", "failed", "aborted", "lost", "reused", "adopted", "given back"];

/// The number of jobs in each state, according to a page's frames, the tree and the rollups.
#[track_caller]
fn assert_same(cluster: &Cluster, watcher: &Watcher, run: u64) {
    let mut told: BTreeMap<&str, u64> = BTreeMap::new();
    for record in watcher.tree(run).records.values() {
        *told.entry(STATES[usize::from(record.state)]).or_default() += 1;
    }
    let tree = cluster.api().get(&format!("/api/v1/runs/{run}/tree"));
    let mut listed: BTreeMap<&str, u64> = BTreeMap::new();
    for node in tree["nodes"].as_array().into_iter().flatten() {
        *listed.entry(node["state"].as_str().unwrap_or_default()).or_default() += 1;
    }
    assert_eq!(told, listed, "{tree:#}");
    let details = cluster.api().get(&format!("/api/v1/runs/{run}/overview"));
    let mut sums = [0, 0, 0];
    for depth in details["depths"].as_array().into_iter().flatten() {
        for (sum, group) in sums.iter_mut().zip(["running", "done", "other"]) {
            *sum += depth[group].as_u64().unwrap_or_default();
        }
    }
    let of = |states: &[&str]| states.iter().filter_map(|state| told.get(state)).sum::<u64>();
    let expected = [
        of(&["running", "adopted"]),
        of(&["done", "reused"]),
        of(&["failed", "aborted", "lost", "given back"]),
    ];
    assert_eq!(sums, expected, "{details:#}");
    let value = watcher.value(&format!("run/{run}"));
    for part in ["run", "depths", "events", "critical_path"] {
        assert_eq!(value[part], details[part], "{part}");
    }
}

fn has_event(value: &Value, kind: &str) -> Option<()> {
    value["events"].as_array()?.iter().any(|event| event["kind"] == kind).then_some(())
}

#[test]
fn a_page_shows_the_true_state_despite_crashes() {
    let mut cluster = Cluster::start(&[("ada", "here"), ("bob", "here"), ("cyd", "here")]);
    let run = cluster.submit(QUEENS.0, QUEENS.1);
    let topics = ["grid".to_owned(), format!("run/{run}"), format!("tree/{run}"), format!("timeline/{run}")];
    let topics: Vec<&str> = topics.iter().map(String::as_str).collect();
    let mut watcher = Watcher::open(cluster.address(), &topics);
    cluster.await_work(run, &["ada", "bob", "cyd"], 0.3);
    let root = cluster.root_host(run);
    let victim = ["ada", "bob", "cyd"].into_iter().find(|name| *name != root).expect("three are not one");
    cluster.kill_host(victim);
    watcher.until("the crash is reported", |watcher| has_event(watcher.value(topics[1]), "host_lost"));
    // Lost jobs ran there, and are shown as lost or as running elsewhere.
    watcher.until("the lost jobs are reported", |watcher| {
        let mut records = watcher.tree(run).records.values();
        records.any(|record| record.state == 4 || record.flags & 1 == 1).then_some(())
    });
    cluster.kill_coordinator();
    cluster.start_coordinator();
    // A page opens another socket, and begins anew.
    let mut watcher = Watcher::open(cluster.address(), &topics);
    watcher.until("the restart is reported", |watcher| {
        has_event(watcher.value(topics[1]), "coordinator_restarted")
    });
    let about = cluster.done(run, QUEENS.2);
    watcher.until("the end is reported", |watcher| has_event(watcher.value(topics[1]), "ended"));
    watcher.settle();
    assert_same(&cluster, &watcher, run);
    assert_eq!(watcher.value(topics[1])["run"]["jobs"], about["jobs"]);
    let grid = watcher.value("grid");
    let told = grid["runs"].as_array().into_iter().flatten().find(|told| told["run"] == run);
    assert_eq!(told.map(|told| &told["state"]), Some(&Value::from("done")));
    let rows = watcher.value(topics[3])["rows"].as_array().map_or(0, Vec::len);
    assert!(rows >= 2, "each worker has a row: {rows}");
    let worked =
        |row: &Value| row["work"].as_array().into_iter().flatten().filter_map(Value::as_f64).sum::<f64>();
    let timeline = watcher.value(topics[3]);
    let work: f64 = timeline["rows"].as_array().into_iter().flatten().map(worked).sum();
    assert!(work > 1.0, "{timeline}");
}

/// Apps need not report their progress for that. How soon a range is known depends on how evenly the machine computes.
#[test]
fn hosts_tell_how_much_of_a_tree_is_ahead() {
    let cluster = Cluster::start(&[("ada", "here"), ("bob", "there")]);
    let run = cluster.submit("fib", &["50"]);
    let path = format!("/api/v1/runs/{run}/overview");
    until("the hosts report how much is ahead", PATIENCE, || {
        let details = cluster.api().get(&path);
        let why = details["remaining_why"].as_str().unwrap_or_default();
        assert_eq!(details["remaining"].is_null(), why.starts_with("not known"), "{details:#}");
        let told = &details["remaining"];
        if told.is_object() {
            let of = |name: &str| told[name].as_f64().expect("a time");
            let is_range =
                0.0 <= of("low_s") && of("low_s") <= of("likely_s") && of("likely_s") <= of("high_s");
            assert!(is_range && told["basis"] == "jobs", "{told:#}");
        }
        let is_begun = details["run"]["work_s"].as_f64() > Some(0.5);
        (is_begun && !why.contains("cannot tell how much is ahead")).then_some(())
    });
    let status = cluster.sateen(["status".to_owned(), run.to_string()]);
    assert!(status.result().contains("time left    "), "{status:?}");
    let (code, _) = cluster.api().order(&format!("/api/v1/runs/{run}/cancel"));
    assert_eq!(code, 202);
    let over = cluster.api().run_over(run, PATIENCE);
    assert_eq!(over["state"], "cancelled", "{over:#}");
}
