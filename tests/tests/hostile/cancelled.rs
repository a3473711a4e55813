//! Hundreds of runs that are submitted and cancelled at once.

use std::fs;
use std::time::{Duration, Instant};

use sateen_tests::cluster::{Cluster, PATIENCE};

/// Each portion maps memory in thousands of pieces, and a process may have 65,530 of them.
#[test]
fn a_host_makes_no_portion_before_earlier_ones_are_gone() {
    const RUNS: usize = 300;
    let mut cluster = Cluster::start(&[("ada", "here")]);
    let first = cluster.submit("nqueens", &["18"]);
    let app = cluster.api().run(first)["app"]["hash"].as_str().expect("a hash").to_owned();
    let submission = serde_json::json!({"app": app, "arguments": ["18"]}).to_string();
    let mut runs = vec![first];
    for _ in 1..RUNS {
        let (status, run) = cluster.api().post("/api/v1/runs", &submission);
        assert_eq!(status, 201, "{run}");
        runs.push(run["run"].as_u64().expect("its number"));
    }
    std::thread::sleep(Duration::from_secs(1));
    let maps = format!("/proc/{}/maps", cluster.host("ada").id());
    let count = || fs::read_to_string(&maps).map_or(0, |maps| maps.lines().count());
    // Eight runs are under way, which is all that one host has at a time.
    let usual = count();
    let mut most = usual;
    for run in runs {
        let (status, answer) = cluster.api().order(&format!("/api/v1/runs/{run}/cancel"));
        assert!(status == 202 || status == 200, "{answer}");
        most = most.max(count());
    }
    let until = Instant::now() + Duration::from_secs(3);
    while Instant::now() < until {
        most = most.max(count());
    }
    assert!(most <= usual + usual / 2, "{most} pieces of memory were mapped, {usual} before");
    assert!(!cluster.host("ada").has_ended());
    let run = cluster.submit("nqueens", &["8"]);
    assert_eq!(cluster.api().run_over(run, PATIENCE)["state"], "done");
}
