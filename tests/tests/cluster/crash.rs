//! `kill -9` of hosts.

use sateen_tests::cluster::{Cluster, count};
use serde_json::Value;

use crate::answers::{FIB, KNAPSACK, QUEENS, knapsack};

/// Maximum estimate of work done again for each lost host: a worker's unreported work, and the work repeated until no
/// more results are found.
const REDONE_S_MAX: f64 = 1.5;

/// Checks that lost work was recovered, that the run reports how, and that new work is not counted as done again.
#[track_caller]
fn assert_recovered(about: &Value) {
    let made_good: u64 = ["redone", "reused", "adopted"].iter().map(|name| count(about, name)).sum();
    assert!(made_good > 0, "a host was lost while it worked, and nothing is told of it: {about:#}");
    let gone =
        about["by_host"].as_array().into_iter().flatten().filter(|host| host["there"] == false).count();
    let figure = |name: &str| about[name].as_f64().unwrap_or_else(|| panic!("no {name} in {about:#}"));
    let redone = figure("redone_work_s");
    let Some(lost) = about["lost_work_s"].as_f64() else {
        // Equal jobs that used one result account for more work than was computed.
        assert!(count(about, "reused") > 0 && about["answer_work_s"].is_null(), "{about:#}");
        return;
    };
    assert!(
        redone <= lost + REDONE_S_MAX * gone.max(1) as f64,
        "{redone} s are said to be done again, and {lost} s were lost: {about:#}"
    );
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
        if way != "finished-orphans" {
            cluster.excuse("nothing is recorded, and so all of what is redone is said to be done again");
        }
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
