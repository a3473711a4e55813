//! Hosts that are silent for a while: stopped, or cut off. They are given up, and return.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use sateen_protocol::codec::PROTOCOL_VERSION;
use sateen_tests::cluster::{Cluster, count, until};
use sateen_tests::proxy::Proxy;
use tokio_tungstenite::tungstenite::{Message, accept};

use crate::answers::{FIB, LONG_FIB};

/// Longer than the allowed silence of a host.
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

/// A coordinator that has stalled reads all waiting messages before it gives up any host.
#[test]
fn a_stalled_coordinator_does_not_give_up_hosts() {
    let mut cluster = Cluster::start(&[("ada", "here"), ("bob", "here"), ("cyd", "there")]);
    let run = cluster.submit(LONG_FIB.0, LONG_FIB.1);
    cluster.await_work(run, &["ada", "bob", "cyd"], 0.2);
    let before = ids(&cluster);
    cluster.coordinator().signal("STOP");
    // Longer than a host may be silent, and than a host waits for a silent coordinator.
    std::thread::sleep(Duration::from_secs(7));
    cluster.coordinator().signal("CONT");
    cluster.await_hosts(3);
    let about = cluster.done(run, LONG_FIB.2);
    assert_eq!(ids(&cluster), before, "hosts were given up: {about:#}");
    assert_eq!((count(&about, "redone"), about["root_losses"].as_u64()), (0, Some(0)), "{about:#}");
    assert_eq!(cluster.api().metric("sateen_hosts_joined_total"), 3.0, "nobody was reborn");
    assert!(cluster.api().metric("sateen_stalls_total") >= 1.0);
}

fn ids(cluster: &Cluster) -> std::collections::BTreeSet<String> {
    let id = |host: &serde_json::Value| host["id"].as_str().expect("an id").to_owned();
    cluster.api().hosts().iter().map(id).collect()
}

/// Unlike in Satin, a run ends even if a host is silent for ever.
#[test]
fn a_host_that_is_stopped_for_ever_does_not_delay_a_run() {
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

/// A link that breaks and is reopened at once costs nothing.
#[test]
fn broken_links_are_reopened() {
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

/// The others continue without it after a moment; it keeps its id when it returns.
#[test]
fn a_host_whose_link_is_away_for_a_moment_keeps_its_id() {
    let mut cluster = Cluster::start(&[("ada", "here")]);
    let proxy = Proxy::start(cluster.address(), Duration::ZERO);
    cluster.start_host_with("bob", "there", &proxy.url(), &["--direct", "off"]);
    cluster.await_hosts(2);
    let run = cluster.submit(LONG_FIB.0, LONG_FIB.1);
    cluster.await_work(run, &["ada", "bob"], 0.3);
    let id = |cluster: &Cluster| {
        let hosts = cluster.api().get("/api/v1/hosts");
        let bob = hosts.as_array().into_iter().flatten().find(|host| host["name"] == "bob").cloned();
        bob.map(|bob| bob["id"].to_string())
    };
    let before = id(&cluster).expect("it is there");
    for _ in 0..2 {
        // Nothing passes on the new link either, for a while.
        proxy.partition();
        proxy.cut();
        until("it is given up", SILENCE, || id(&cluster).is_none().then_some(()));
        proxy.heal();
        let after = until("it is back", SILENCE, || id(&cluster));
        assert_eq!(before, after);
    }
    let about = cluster.done(run, LONG_FIB.2);
    assert_eq!(about["by_host"].as_array().map(Vec::len), Some(2), "{about:#}");
}

/// Either side may be updated while it waits.
#[test]
fn a_host_waits_for_a_coordinator_of_its_version() {
    let mut cluster = Cluster::start_beside_others(&[]);
    cluster.kill_coordinator();
    let newer = Newer::start(cluster.address());
    cluster.start_host("ada", "here");
    until("the host says which side to update", SILENCE, || {
        let log = cluster.host("ada").log();
        assert!(!cluster.host("ada").has_ended(), "it waits: {log}");
        log.contains("update sateen-host").then_some(())
    });
    let status = cluster.tell_host("ada", &["status"]);
    let told = String::from_utf8_lossy(&status.stdout).into_owned();
    assert!(told.contains("refuses this host") && told.contains("update sateen-host"), "{told}");
    newer.stop();
    cluster.start_coordinator();
    cluster.await_hosts(1);
    let status = cluster.tell_host("ada", &["status"]);
    assert!(!String::from_utf8_lossy(&status.stdout).contains("refuses"), "it is forgotten");
}

/// A server that answers like a coordinator with a later version of the protocol.
struct Newer {
    address: SocketAddr,
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Newer {
    fn start(address: SocketAddr) -> Self {
        let listener = TcpListener::bind(address).expect("nobody has the address");
        let is_over = Arc::new(AtomicBool::new(false));
        let over = is_over.clone();
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if over.load(Ordering::Relaxed) {
                    return;
                }
                stream.set_read_timeout(Some(SILENCE)).expect("a socket");
                let Ok(mut socket) = accept(stream) else { continue };
                let _ = socket.send(Message::Binary(vec![PROTOCOL_VERSION + 1, 0, 0].into()));
                while socket.read().is_ok() {}
            }
        });
        Self { address, is_over, thread }
    }

    fn stop(self) {
        self.is_over.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.address);
        self.thread.join().expect("it does not panic");
    }
}

/// Behind a firewall, for example, the host keeps dialling for as long as it takes.
#[test]
fn a_host_without_coordinator_says_so_and_keeps_trying() {
    let mut cluster = Cluster::start_beside_others(&[]);
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
