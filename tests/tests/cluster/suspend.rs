//! A run is suspended, all hosts leave, others join, and it continues.

use sateen_tests::cluster::{Cluster, SOON, count, work_of};

use crate::answers::QUEENS;

#[test]
fn a_run_is_suspended_here_and_resumed_elsewhere() {
    let mut cluster = Cluster::start(&[("ada", "here"), ("bob", "here")]);
    let run = cluster.submit(QUEENS.0, QUEENS.1);
    let number = run.to_string();
    cluster.await_work(run, &["ada", "bob"], 0.5);
    let told = cluster.sateen(["suspend", &number]);
    assert_eq!(told.code, Some(0), "{told:?}");
    cluster.api().run_until(run, "suspended", SOON, |about| about["state"] == "suspended");
    for name in ["ada", "bob"] {
        cluster.host(name).signal("TERM");
        assert_eq!(cluster.host_ended(name), Some(0));
    }
    // The coordinator may stop meanwhile, too.
    cluster.kill_coordinator();
    cluster.start_coordinator();
    cluster.start_host("cyd", "elsewhere");
    cluster.start_host("dan", "elsewhere");
    cluster.await_hosts(2);
    let told = cluster.sateen(["resume", &number]);
    assert_eq!(told.code, Some(0), "{told:?}");
    let about = cluster.done(run, QUEENS.2);
    assert!(count(&about, "reused") > 0, "it continues from where it was: {about:#}");
    assert!(work_of(&about, "cyd") + work_of(&about, "dan") > 0.0, "{about:#}");
    let timeline = cluster.api().get(&format!("/api/v1/runs/{run}/timeline"));
    let mut reasons = timeline["idle_why"].as_array().into_iter().flatten();
    let is_told = reasons.any(|why| {
        why["text"].as_str().is_some_and(|text| text.contains("is suspended")) && why["to_ms"].is_u64()
    });
    assert!(is_told, "{:#}", timeline["idle_why"]);
}

#[test]
fn impossible_suspensions_are_reported() {
    let cluster = Cluster::start_beside_others(&[("ada", "here")]);
    let run = cluster.submit("nqueens", &["8"]);
    cluster.done(run, "92\n");
    let number = run.to_string();
    cluster.sateen(["suspend", &number]).fails_with(2, &[&number]);
    cluster.sateen(["resume", &number]).fails_with(2, &[&number]);
    cluster.sateen(["cancel", &number]).fails_with(2, &[&number]);
}
