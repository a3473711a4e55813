//! Hosts that are silent for a while: stopped, or cut off. They are given up, and come back.

use std::time::Duration;

use sateen_tests::cluster::{Cluster, count, until};
use sateen_tests::proxy::Proxy;

use crate::answers::{FIB, LONG_FIB};

/// Longer than a host may be silent.
const SILENCE: Duration = Duration::from_secs(20);

#[test]
fn a_host_that_is_stopped_for_long_comes_back() {
    let mut cluster = Cluster::start(&[("ada", "here"), ("bob", "here"), ("cyd", "here")]);
    let run = cluster.submit(LONG_FIB.0, LONG_FIB.1);
    cluster.await_work(run, &["ada", "bob", "cyd"], 0.3);
    let root = cluster.root_host(run);
    let frozen = ["ada", "bob", "cyd"].into_iter().find(|name| *name != root).expect("three are not one");
    cluster.host(frozen).signal("STOP");
    until("the stopped host is given up", SILENCE, || (cluster.api().hosts().len() == 2).then_some(()));
    cluster.host(frozen).signal("CONT");
    cluster.await_hosts(3);
    let about = cluster.done(run, LONG_FIB.2);
    assert!(
        count(&about, "redone") + count(&about, "reused") + count(&about, "adopted") > 0,
        "it was given up: {about:#}"
    );
}

/// Unlike Satin's, a run ends although a host never says anything again.
#[test]
fn a_host_that_is_stopped_for_ever_keeps_nobody_waiting() {
    let mut cluster = Cluster::start(&[("ada", "here"), ("bob", "here")]);
    let run = cluster.submit(FIB.0, FIB.1);
    cluster.await_work(run, &["ada", "bob"], 0.2);
    let root = cluster.root_host(run);
    cluster.host(&root).signal("STOP");
    let about = cluster.done(run, FIB.2);
    assert_eq!(about["root_losses"], 1, "{about:#}");
}

#[test]
fn a_partition_heals() {
    let mut cluster = Cluster::start(&[("ada", "here"), ("bob", "here")]);
    let proxy = Proxy::start(cluster.address(), Duration::ZERO);
    cluster.start_host_with("cyd", "there", &proxy.url(), &["--direct", "off"]);
    cluster.await_hosts(3);
    let run = cluster.submit(LONG_FIB.0, LONG_FIB.1);
    cluster.await_work(run, &["ada", "bob", "cyd"], 0.3);
    proxy.partition();
    until("the host behind the partition is given up", SILENCE, || {
        (cluster.api().hosts().len() == 2).then_some(())
    });
    proxy.heal();
    cluster.await_hosts(3);
    cluster.done(run, LONG_FIB.2);
}

/// A link that breaks and is there again at once costs nothing.
#[test]
fn links_that_break_are_made_again() {
    let mut cluster = Cluster::start(&[("ada", "here")]);
    let proxy = Proxy::start(cluster.address(), Duration::ZERO);
    cluster.start_host_with("bob", "there", &proxy.url(), &["--direct", "off"]);
    cluster.await_hosts(2);
    let run = cluster.submit(FIB.0, FIB.1);
    for worked in [0.2, 0.5, 0.8] {
        cluster.await_work(run, &["ada", "bob"], worked);
        proxy.cut();
    }
    cluster.done(run, FIB.2);
}

/// Somebody else's firewall: the host dials for as long as it takes.
#[test]
fn a_host_without_coordinator_says_so_and_keeps_trying() {
    let mut cluster = Cluster::start(&[]);
    cluster.kill_coordinator();
    cluster.start_host("ada", "here");
    let address = cluster.address().to_string();
    until("the host says whom it cannot reach", Duration::from_secs(10), || {
        let log = cluster.host("ada").log();
        assert!(!cluster.host("ada").has_ended(), "it keeps trying: {log}");
        log.contains(&address).then_some(())
    });
    cluster.start_coordinator();
    cluster.await_hosts(1);
}
