//! Hosts that leave in order: nothing is lost.

use std::time::{Duration, Instant};

use sateen_tests::cluster::{Cluster, SOON, count, until, work_of};
use serde_json::Value;

use crate::answers::QUEENS;

/// Checks that hardly anything of a run that a host left was computed twice.
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
fn a_host_that_leaves_hands_over() {
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
    let id = || cluster.host_status("bob")["id"].clone();
    let before = id();
    let counts = || ["joined", "gone"].map(|how| cluster.api().metric(&format!("sateen_hosts_{how}_total")));
    let came_and_went = counts();
    assert!(before.is_string() && came_and_went[0] >= 2.0, "{before} {came_and_went:?}");
    let told = cluster.tell_host("bob", &["pause"]);
    assert_eq!(told.code, Some(0), "{told:?}");
    assert_eq!(id(), before, "a pause keeps its identity");
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
    assert_eq!((id(), counts()), (before, came_and_went), "it neither left nor joined");
}

/// In the middle of a run: its jobs are handed back, and nothing is lost.
#[test]
fn a_host_that_pauses_while_it_works_keeps_its_id_and_loses_nothing() {
    let cluster = Cluster::start(&[("ada", "here"), ("bob", "here")]);
    let run = cluster.submit(QUEENS.0, QUEENS.1);
    cluster.await_work(run, &["ada", "bob"], 0.3);
    let before = cluster.host_status("bob")["id"].clone();
    for _ in 0..2 {
        let told = cluster.tell_host("bob", &["pause"]);
        assert_eq!(told.code, Some(0), "{told:?}");
        assert_eq!(cluster.host_status("bob")["id"], before);
        let told = cluster.tell_host("bob", &["resume"]);
        assert_eq!(told.code, Some(0), "{told:?}");
    }
    let about = cluster.done(run, QUEENS.2);
    assert_nothing_lost(&about);
    let rows = about["by_host"].as_array().map_or(0, Vec::len);
    assert_eq!(rows, 2, "each host has one row: {about:#}");
    assert_eq!(cluster.api().metric("sateen_hosts_gone_total"), 0.0);
}

/// It was counted as crashed, and came back as another host.
#[test]
fn a_host_that_pauses_while_the_coordinator_is_away_keeps_its_id() {
    let mut cluster = Cluster::start(&[("ada", "here"), ("bob", "here")]);
    let run = cluster.submit(QUEENS.0, QUEENS.1);
    cluster.await_work(run, &["ada", "bob"], 0.3);
    let id = |cluster: &Cluster| cluster.host_status("bob")["id"].clone();
    let before = id(&cluster);
    cluster.kill_coordinator();
    let told = cluster.tell_host("bob", &["pause"]);
    assert!(told.code == Some(0) && told.stderr.contains("paused by you"), "{told:?}");
    assert_eq!(id(&cluster), before);
    cluster.start_coordinator();
    // It said `Leaving` and came back; in between, it is not connected, and its status shows no id.
    let is_back = || cluster.host_log("bob").contains("has given back its jobs").then_some(());
    until("the host that paused is back", SOON, is_back);
    let about = cluster.done(run, QUEENS.2);
    assert_eq!(id(&cluster), before, "{about:#}");
    assert_eq!(cluster.api().metric("sateen_hosts_gone_total"), 0.0, "{about:#}");
    assert_eq!(about["by_host"].as_array().map(Vec::len), Some(2), "{about:#}");
}

/// Maximum time for a host to leave: twice the documented time, as tests share this machine with others.
const LEAVE_MAX: Duration = Duration::from_secs(10);

/// How many times a host leaves and is started again on its folder: `SATEEN_LEAVES`, or a few times.
fn leaves() -> u32 {
    std::env::var("SATEEN_LEAVES").ok().and_then(|text| text.parse().ok()).unwrap_or(8)
}

/// Asks the host to leave, and returns the time that it takes. Its folder must be free at once.
#[track_caller]
fn leave(cluster: &mut Cluster, name: &str) -> Duration {
    let since = Instant::now();
    let told = cluster.tell_host(name, &["leave"]);
    let took = since.elapsed();
    assert_eq!(told.code, Some(0), "{told:?}");
    // Before its end is checked, so that the next host does not wait for that.
    let next = cluster.tell_host(name, &["status"]);
    assert!(next.stderr.contains("no sateen-host runs"), "{next:?}");
    assert_eq!(cluster.host_ended(name), Some(0));
    took
}

fn show(what: &str, mut took: Vec<Duration>) {
    took.sort_unstable();
    let (half, most) = (took[took.len() / 2], took[took.len() - 1]);
    eprintln!("{what}: {} leaves, half within {half:?}, all within {most:?}", took.len());
    assert!(most < LEAVE_MAX, "{what}: {took:?}");
}

/// A host that is started again at once finds its folder free.
#[test]
fn an_idle_host_has_left_when_its_user_is_notified() {
    let mut cluster = Cluster::start_beside_others(&[("ada", "here")]);
    let took = (0..leaves()).map(|_| {
        let took = leave(&mut cluster, "ada");
        cluster.start_host("ada", "here");
        cluster.await_hosts(1);
        took
    });
    show("idle", took.collect());
    // There is no coordinator to notify.
    cluster.kill_coordinator();
    let took = leave(&mut cluster, "ada");
    assert!(took < Duration::from_secs(4), "without a coordinator, {took:?}");
    cluster.start_coordinator();
    cluster.start_host("ada", "here");
    cluster.await_hosts(1);
}

#[test]
fn a_busy_host_has_left_when_its_user_is_notified() {
    let mut cluster = Cluster::start(&[("ada", "here"), ("bob", "here")]);
    let run = cluster.submit("nqueens", &["19"]);
    let mut took = Vec::new();
    for _ in 0..leaves() {
        let before = cluster.api().run(run);
        let (work, executed) = (work_of(&before, "ada"), count(&before, "executed"));
        cluster.api().run_until(run, "one that ada works on", SOON, |about| {
            work_of(about, "ada") > work + 0.3 && count(about, "executed") >= executed
        });
        took.push(leave(&mut cluster, "ada"));
        cluster.start_host("ada", "here");
        cluster.await_hosts(2);
    }
    show("busy", took);
    let about = cluster.api().run(run);
    let (redone, executed) = (count(&about, "redone"), count(&about, "executed"));
    eprintln!("{redone} of {executed} jobs were redone");
    assert!(redone * 20 <= executed + 20, "{redone} of {executed} jobs were redone: {about:#}");
    assert_eq!(cluster.sateen(["cancel", &run.to_string()]).code, Some(0));
}
