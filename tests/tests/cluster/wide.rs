//! Sites far from one another.

use std::time::Duration;

use sateen_tests::cluster::namespaces::Site;
use sateen_tests::cluster::{Cluster, count, work_of};
use sateen_tests::proxy::Proxy;

use crate::answers::FIB;

#[test]
fn sites_with_slow_links_between_them_work_together() {
    let mut cluster = Cluster::start(&[("ada", "here"), ("bob", "here")]);
    let proxy = Proxy::start(cluster.address(), Duration::from_millis(20));
    cluster.start_host_with("cyd", "far", &proxy.url(), &["--direct", "off"]);
    cluster.await_hosts(3);
    let run = cluster.submit(FIB.0, FIB.1);
    let about = cluster.done(run, FIB.2);
    assert!(work_of(&about, "cyd") > 0.2, "{about:#}");
    assert!(count(&about, "stolen_wide") > 0, "{about:#}");
}

/// The same with the kernel's own delays, packet by packet.
#[test]
fn sites_in_network_namespaces_work_together() {
    let site = match Site::new(77, 10) {
        Ok(site) => site,
        Err(why) => {
            eprintln!("skipped, for this machine has no network namespaces with netem: {why}");
            return;
        }
    };
    let mut cluster = Cluster::start(&[("ada", "here")]);
    // The coordinator listens on loopback only; the proxy is its address outside.
    let proxy = Proxy::start_at(site.outside(), cluster.address(), Duration::ZERO);
    let command = cluster.host_command("bob", "far", &proxy.url());
    cluster.start_host_command("bob", site.inside(&command));
    cluster.await_hosts(2);
    let run = cluster.submit(FIB.0, FIB.1);
    let about = cluster.done(run, FIB.2);
    assert!(work_of(&about, "bob") > 0.2, "{about:#}");
}
