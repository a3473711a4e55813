//! `kill -9` of hosts.

use sateen_tests::cluster::{Cluster, count};
use serde_json::Value;

use crate::answers::{FIB, KNAPSACK, QUEENS, knapsack};

/// Checks that lost work was recovered, and that the run reports how.
#[track_caller]
fn assert_recovered(about: &Value) {
    let made_good: u64 = ["redone", "reused", "adopted"].iter().map(|name| count(about, name)).sum();
    assert!(made_good > 0, "a host was lost while it worked, and nothing is reported of it: {about:#}");
    // Equal jobs that used one result account for more work than was computed.
    let is_known = about["lost_work_s"].is_f64() && about["answer_work_s"].is_f64();
    assert!(is_known || (count(about, "reused") > 0 && about["answer_work_s"].is_null()), "{about:#}");
}

#[test]
fn one_host_is_killed() {
    let mut cluster = Cluster::start(&[("ada", "here"), ("bob", "here"), ("cyd", "here")]);
    let run = cluster.submit(FIB.0, FIB.1);
    cluster.await_work(run, &["ada", "bob", "cyd"], 0.3);
    let root = cluster.root_host(run);
    let victim = ["ada", "bob", "cyd"].into_iter().find(|name| *name != root).expect("three are not one");
    cluster.kill_host(victim);
    let about = cluster.done(run, FIB.2);
    assert_recovered(&about);
    assert_eq!(about["root_losses"], 0, "{about:#}");
    let gone = about["by_host"].as_array().into_iter().flatten().find(|host| host["name"] == victim);
    assert_eq!(gone.map(|host| &host["there"]), Some(&Value::Bool(false)), "{about:#}");
}

#[test]
fn several_hosts_are_killed_at_once() {
    let mut cluster = Cluster::start(&[("ada", "here"), ("bob", "here"), ("cyd", "here"), ("dan", "here")]);
    let run = cluster.submit(KNAPSACK.0, KNAPSACK.1);
    cluster.await_work(run, &["ada", "bob", "cyd", "dan"], 0.1);
    let root = cluster.root_host(run);
    let victims: Vec<_> = ["ada", "bob", "cyd", "dan"].into_iter().filter(|name| *name != root).collect();
    for victim in &victims[..2] {
        cluster.kill_host(victim);
    }
    assert_recovered(&cluster.done(run, knapsack()));
}

#[test]
fn a_site_is_killed() {
    let mut cluster = Cluster::start(&[("ada", "here"), ("bob", "here"), ("cyd", "there"), ("dan", "there")]);
    let run = cluster.submit(FIB.0, FIB.1);
    cluster.await_work(run, &["ada", "bob", "cyd", "dan"], 0.3);
    let root = cluster.root_host(run);
    let site = if ["ada", "bob"].contains(&root.as_str()) { ["cyd", "dan"] } else { ["ada", "bob"] };
    for victim in site {
        cluster.kill_host(victim);
    }
    assert_recovered(&cluster.done(run, FIB.2));
}

#[test]
fn the_host_of_the_root_job_is_killed() {
    let mut cluster = Cluster::start(&[("ada", "here"), ("bob", "here"), ("cyd", "there")]);
    let run = cluster.submit(QUEENS.0, QUEENS.1);
    cluster.await_work(run, &["ada", "bob", "cyd"], 0.3);
    let root = cluster.root_host(run);
    cluster.kill_host(&root);
    let about = cluster.done(run, QUEENS.2);
    assert_recovered(&about);
    assert_eq!(about["root_losses"], 1, "{about:#}");
    assert!(count(&about, "reused") + count(&about, "adopted") > 0, "nothing was saved: {about:#}");
}

/// One host after the other is killed, as soon as it has worked, and replaced by a new one.
#[test]
fn hosts_are_killed_again_and_again() {
    let mut cluster = Cluster::start(&[("ada", "here"), ("bob", "here"), ("cyd", "there")]);
    let run = cluster.submit(FIB.0, FIB.1);
    for victim in ["ada", "bob", "cyd"] {
        cluster.await_work(run, &[victim], 0.2);
        cluster.kill_host(victim);
        cluster.start_host(&format!("{victim}2"), "here");
    }
    assert_recovered(&cluster.done(run, FIB.2));
}

/// A power cut: everything is killed at once, and started again from the disks.
#[test]
fn everything_is_killed_and_started_again_on_the_old_data() {
    let mut cluster = Cluster::start(&[("ada", "here"), ("bob", "here"), ("cyd", "there")]);
    let run = cluster.submit(QUEENS.0, QUEENS.1);
    let before = cluster.await_work(run, &["ada", "bob", "cyd"], 1.0);
    assert!(count(&before, "recorded") > 0, "finished work is recorded all the time: {before:#}");
    for name in ["ada", "bob", "cyd"] {
        cluster.kill_host(name);
    }
    cluster.kill_coordinator();
    cluster.start_coordinator();
    assert_ne!(cluster.api().run(run)["state"], "done");
    for (name, site) in [("ada", "here"), ("bob", "here"), ("cyd", "there")] {
        cluster.start_host(name, site);
    }
    let about = cluster.done(run, QUEENS.2);
    assert!(count(&about, "reused") > 0, "what was on the disks was used: {about:#}");
}

/// Satin's fault tolerance, and none at all, give the same answer, only later.
#[test]
fn less_fault_tolerance_gives_the_answer_too() {
    for way in ["finished-orphans", "redo-only", "off"] {
        let mut cluster = Cluster::start(&[("ada", "here"), ("bob", "here"), ("cyd", "here")]);
        let run = cluster.submit(FIB.0, &[FIB.1[0], "--fault-tolerance", way]);
        cluster.await_work(run, &["ada", "bob", "cyd"], 0.1);
        let root = cluster.root_host(run);
        let victim = ["ada", "bob", "cyd"].into_iter().find(|name| *name != root).expect("three are not one");
        cluster.kill_host(victim);
        let about = cluster.done(run, FIB.2);
        assert!(count(&about, "redone") > 0, "{way}: {about:#}");
        assert_eq!(count(&about, "adopted"), 0, "{way}: {about:#}");
    }
}
