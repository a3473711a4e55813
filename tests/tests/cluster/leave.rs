//! Hosts that go in order: nothing is lost.

use sateen_tests::cluster::{Cluster, count, work_of};
use serde_json::Value;

use crate::answers::QUEENS;

/// Of a run that a host left, hardly anything is computed twice.
#[track_caller]
fn assert_nothing_lost(about: &Value) {
    let redone = count(about, "redone");
    let executed = count(about, "executed");
    assert!(redone * 20 <= executed + 20, "{redone} of {executed} jobs were redone: {about:#}");
    let (work, lost) = (about["work_s"].as_f64(), about["lost_work_s"].as_f64());
    let (work, lost) = work.zip(lost).expect("the run has ended");
    assert!(lost <= work / 50.0, "{lost} of {work} s were done twice: {about:#}");
}

#[test]
fn a_host_that_is_told_to_leave_hands_over() {
    let mut cluster = Cluster::start(&[("ada", "here"), ("bob", "here"), ("cyd", "there")]);
    let run = cluster.submit(QUEENS.0, QUEENS.1);
    cluster.await_work(run, &["ada", "bob", "cyd"], 0.3);
    let told = cluster.tell_host("bob", &["leave"]);
    assert_eq!(told.code, Some(0), "{told:?}");
    assert_eq!(cluster.host_ended("bob"), Some(0));
    let about = cluster.done(run, QUEENS.2);
    assert_nothing_lost(&about);
    assert!(work_of(&about, "bob") > 0.0, "what it did counts: {about:#}");
}

#[test]
fn a_host_that_is_terminated_hands_over() {
    let mut cluster = Cluster::start(&[("ada", "here"), ("bob", "here")]);
    let run = cluster.submit(QUEENS.0, QUEENS.1);
    cluster.await_work(run, &["ada", "bob"], 0.3);
    let root = cluster.root_host(run);
    cluster.host(&root).signal("TERM");
    assert_eq!(cluster.host_ended(&root), Some(0));
    let about = cluster.done(run, QUEENS.2);
    assert_nothing_lost(&about);
}

/// Migration: a new site is added, then the old one leaves.
#[test]
fn a_run_moves_to_another_site() {
    let mut cluster = Cluster::start(&[("ada", "old"), ("bob", "old")]);
    let run = cluster.submit(QUEENS.0, QUEENS.1);
    cluster.await_work(run, &["ada", "bob"], 0.3);
    cluster.start_host("cyd", "new");
    cluster.start_host("dan", "new");
    cluster.await_hosts(4);
    for name in ["ada", "bob"] {
        cluster.host(name).signal("TERM");
    }
    for name in ["ada", "bob"] {
        assert_eq!(cluster.host_ended(name), Some(0));
    }
    let about = cluster.done(run, QUEENS.2);
    assert_nothing_lost(&about);
    assert!(work_of(&about, "cyd") + work_of(&about, "dan") > 0.1, "{about:#}");
}

#[test]
fn a_paused_host_says_why_and_takes_nothing() {
    let cluster = Cluster::start(&[("ada", "here"), ("bob", "here")]);
    let told = cluster.tell_host("bob", &["pause"]);
    assert_eq!(told.code, Some(0), "{told:?}");
    let hosts = cluster.sateen(["hosts"]);
    assert!(hosts.result().lines().any(|line| line.contains("bob") && line.contains("paused")), "{hosts:?}");
    let run = cluster.submit("nqueens", &["15"]);
    let about = cluster.done(run, "2279184\n");
    assert!(work_of(&about, "bob") < 0.01, "{about:#}");
    let told = cluster.tell_host("bob", &["resume"]);
    assert_eq!(told.code, Some(0), "{told:?}");
    let run = cluster.submit(QUEENS.0, QUEENS.1);
    let about = cluster.done(run, QUEENS.2);
    assert!(work_of(&about, "bob") > 0.1, "{about:#}");
}

/// A host that is started again at once finds its folder free.
#[test]
fn a_host_has_left_when_its_user_is_told_so() {
    let mut cluster = Cluster::start_beside_others(&[("ada", "here")]);
    for _ in 0..25 {
        let told = cluster.tell_host("ada", &["leave"]);
        assert_eq!(told.code, Some(0), "{told:?}");
        // Before its end is looked at: the next one is not kept waiting.
        let next = cluster.tell_host("ada", &["status"]);
        assert!(next.stderr.contains("no sateen-host runs"), "{next:?}");
        assert_eq!(cluster.host_ended("ada"), Some(0));
        cluster.start_host("ada", "here");
        cluster.await_hosts(1);
    }
    // Nobody is there to hear a goodbye.
    cluster.kill_coordinator();
    let told = cluster.tell_host("ada", &["leave"]);
    assert_eq!(told.code, Some(0), "{told:?}");
    assert_eq!(cluster.host_ended("ada"), Some(0));
    cluster.start_coordinator();
    cluster.start_host("ada", "here");
    cluster.await_hosts(1);
}
