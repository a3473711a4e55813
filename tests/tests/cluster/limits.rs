//! Limits of runs on a grid.

use sateen_tests::cluster::{Cluster, PATIENCE, work_of};
use sateen_tests::command::app;
use serde_json::json;

/// Limits that no host grants are refused at once, not only when no host is found.
#[test]
fn limits_out_of_range_are_refused_at_once() {
    let cluster = Cluster::start_beside_others(&[]);
    let module = app("nqueens").display().to_string();
    let submit = |more: &[&str]| cluster.sateen(["submit", &module, "8"].iter().chain(more));
    for (flag, value, expected) in [
        ("--max-output", "65M", "1B to 64M"),
        ("--max-shared", "2000G", "1B to 1T"),
        ("--memory", "5G", "64K to 4G"),
        ("--stack", "1K", "64K to 4G"),
        ("--time-limit", "0", "from 1ms"),
        ("--cpu-limit", "1000000h", "36500d"),
    ] {
        submit(&[flag, value]).fails_with(2, &[flag, expected]);
    }
    submit(&["--cpu-limt", "5s"]).fails_with(2, &["--cpu-limt"]);
    // A direct request to the coordinator is refused as well.
    assert_eq!(submit(&[]).code, Some(0));
    let app = cluster.api().get("/api/v1/apps")[0]["hash"].as_str().expect("an app").to_owned();
    for (limit, value) in [("memory_bytes", 1_u64), ("output_bytes", 65 << 20), ("time_ms", 0)] {
        let submission = json!({"app": app, "arguments": ["8"], "limits": {limit: value}});
        let (status, answer) = cluster.api().post("/api/v1/runs", &submission.to_string());
        assert_eq!(status, 422, "{answer:#}");
        assert!(answer["detail"].as_str().is_some_and(|why| why.contains(&value.to_string())), "{answer:#}");
    }
}

#[test]
fn a_run_ends_at_the_limits_on_its_time() {
    let cluster = Cluster::start(&[("ada", "here"), ("bob", "here")]);
    for flag in ["--time-limit", "--cpu-limit"] {
        let run = cluster.submit("nqueens", &["20", flag, "2s"]).to_string();
        cluster.sateen(["wait", &run]).fails_with(3, &[flag, "2 s"]);
    }
    cluster.done(cluster.submit("nqueens", &["8"]), "92\n");
}

/// A host's owner may bound the resources for one run: other hosts continue the run.
#[test]
fn a_host_allows_a_run_no_more_than_its_owner_does() {
    let mut cluster = Cluster::start(&[]);
    let url = format!("http://{}", cluster.address());
    cluster.start_host_with("ada", "here", &url, &["--run-cpu-limit", "1s"]);
    cluster.await_hosts(1);
    let run = cluster.submit("nqueens", &["15", "--record-every", "50ms"]);
    let long = cluster.submit("nqueens", &["20"]);
    let is_left = |about: &serde_json::Value| {
        about["waiting_for"].as_str().is_some_and(|why| why.contains("--run-cpu-limit"))
    };
    let about = cluster.api().run_until(long, "one that ada is done with", PATIENCE, is_left);
    let work = work_of(&about, "ada");
    assert!((1.0..3.0).contains(&work), "{about:#}");
    cluster.start_host("bob", "here");
    cluster.await_hosts(2);
    cluster.await_work(long, &["bob"], 0.5);
    cluster.done(run, "2279184\n");
    assert_eq!(cluster.sateen(["cancel", &long.to_string()]).code, Some(0));
}
