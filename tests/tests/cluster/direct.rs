//! Direct links between the hosts of a site: paths that die alone, and peers that misuse them.

use std::net::SocketAddr;
use std::time::Duration;

use sateen_identity::Identity;
use sateen_protocol::message::direct::Caller;
use sateen_protocol::message::{HostInfo, PeerMessage, ToHost};
use sateen_protocol::{GridId, HostId, RunId};
use sateen_tests::cluster::{Cluster, PATIENCE, count, free_address, until};
use sateen_tests::forged_host::{ForgedHost, hello};
use sateen_tests::forged_peer::ForgedPeer;
use sateen_tests::memory::peak_mib;
use sateen_tests::proxy::Proxy;

use crate::answers::{FEW_QUEENS, FIB, LONG_FIB, QUEENS};

/// Two hosts, each of which reaches the other through a proxy, and the proxies.
fn behind_proxies() -> (Cluster, [Proxy; 2]) {
    let mut cluster = Cluster::start(&[]);
    let proxies = ["ada", "bob"].map(|name| cluster.start_host_behind_proxy(name, "here"));
    cluster.await_hosts(2);
    (cluster, proxies)
}

fn await_path(cluster: &Cluster, host: &str, path: &str) {
    until(&format!("{host} reaches its peer: {path}"), PATIENCE, || {
        (cluster.host_status(host)["peers"][0]["path"] == path).then_some(())
    });
}

/// Jobs of a run that a host has stolen through the relay from hosts of its site.
fn stolen_by_relay(cluster: &Cluster, host: &str, of: u64) -> u64 {
    let status = cluster.host_status(host);
    let runs = status["runs"].as_array().cloned().unwrap_or_default();
    let run = runs.iter().find(|run| run["run"] == of);
    run.and_then(|run| run["counts"]["steals"]["scopes"][1]["jobs"].as_u64()).unwrap_or_default()
}

/// The direct path dies in the middle of a run: this run and the next continue through the relay, and directly when it
/// heals.
fn survives(kill: impl Fn(&Proxy)) {
    let (cluster, proxies) = behind_proxies();
    let run = cluster.submit(QUEENS.0, QUEENS.1);
    cluster.await_work(run, &["ada", "bob"], 0.3);
    let thief = if cluster.root_host(run) == "ada" { "bob" } else { "ada" };
    await_path(&cluster, thief, "direct");
    proxies.iter().for_each(kill);
    await_path(&cluster, thief, "relayed");
    let about = cluster.done(run, QUEENS.2);
    assert_eq!(count(&about, "redone"), 0, "nobody was given up: {about:#}");

    let run = cluster.submit(LONG_FIB.0, LONG_FIB.1);
    until("a job is stolen by the relay", PATIENCE, || {
        ["ada", "bob"].iter().any(|host| stolen_by_relay(&cluster, host, run) > 0).then_some(())
    });
    proxies.iter().for_each(Proxy::heal);
    await_path(&cluster, "ada", "direct");
    await_path(&cluster, "bob", "direct");
    let about = cluster.done(run, LONG_FIB.2);
    assert_eq!(count(&about, "redone"), 0, "nobody was given up: {about:#}");
}

#[test]
fn a_direct_path_that_dies_alone_is_replaced_by_the_relay() {
    survives(Proxy::partition);
}

#[test]
fn a_direct_path_that_dies_in_one_direction_is_replaced_by_the_relay() {
    survives(Proxy::partition_to_target);
}

/// With no other route, the peer is given up as if it were dead, and both finish their work.
#[test]
fn a_direct_path_that_dies_without_a_coordinator_keeps_no_host_waiting() {
    let (mut cluster, proxies) = behind_proxies();
    let run = cluster.submit(FIB.0, FIB.1);
    cluster.await_work(run, &["ada", "bob"], 0.3);
    cluster.kill_coordinator();
    proxies.iter().for_each(Proxy::partition);
    std::thread::sleep(Duration::from_secs(2));
    cluster.start_coordinator();
    cluster.await_hosts(2);
    cluster.done(run, FIB.2);
}

/// A host that joins and does nothing, with its own identity and the hosts that it is introduced to.
fn intruder(cluster: &Cluster) -> (ForgedHost, HostId, GridId, Vec<HostInfo>) {
    let mut host = ForgedHost::connect(&cluster.address().to_string());
    host.send(&[hello("eve", None, Vec::new())]);
    let (own, grid, hosts) = host.until(|message| match message {
        ToHost::Welcome { host, grid, hosts, .. } => Some((*host, *grid, hosts.clone())),
        _ => None,
    });
    (host, own, grid, hosts)
}

fn named<'a>(hosts: &'a [HostInfo], name: &str) -> &'a HostInfo {
    hosts.iter().find(|info| info.report.name == name).expect("an acquaintance")
}

fn start_listening(cluster: &mut Cluster, name: &str) -> SocketAddr {
    let address = free_address();
    let url = format!("http://{}", cluster.address());
    cluster.start_host_with(name, "here", &url, &["--direct", &address.to_string()]);
    address
}

#[test]
fn no_peer_can_dial_as_another() {
    let mut cluster = Cluster::start_beside_others(&[("bob", "here")]);
    let ada_listens = start_listening(&mut cluster, "ada");
    cluster.await_hosts(2);
    let (eve, own, grid, hosts) = intruder(&cluster);
    let (ada, bob) = (named(&hosts, "ada"), named(&hosts, "bob"));
    let caller = |from: HostId| Caller { grid, from, to: ada.id };
    let dial =
        |caller, with: &Identity| ForgedPeer::dial(ada_listens, caller, with, &ada.report.key).is_some();
    let other = Identity::generate().expect("randomness");
    for with in [eve.key(), &other] {
        assert!(!dial(caller(bob.id), with), "eve is not bob");
        assert!(!dial(caller(ada.id), with), "eve is not ada");
    }
    assert!(!dial(Caller { to: bob.id, ..caller(own) }, eve.key()), "ada is not bob");
    assert!(!dial(caller(own), &other), "not with another key");
    assert!(dial(caller(own), eve.key()), "as itself it may");
}

/// A grid of the host ada, which listens, and the host eve, which is forged.
struct Two {
    cluster: Cluster,
    eve: ForgedHost,
    ada_listens: SocketAddr,
    ada: HostInfo,
    caller: Caller,
}

impl Two {
    fn start() -> Self {
        let mut cluster = Cluster::start_beside_others(&[]);
        let ada_listens = start_listening(&mut cluster, "ada");
        cluster.await_hosts(1);
        let (eve, own, grid, hosts) = intruder(&cluster);
        let ada = named(&hosts, "ada").clone();
        let caller = Caller { grid, from: own, to: ada.id };
        Self { cluster, eve, ada_listens, ada, caller }
    }

    /// Eve dials ada, as herself.
    fn dial(&self) -> ForgedPeer {
        let link = ForgedPeer::dial(self.ada_listens, self.caller, self.eve.key(), &self.ada.report.key);
        link.expect("she may dial")
    }
}

/// Somebody between two hosts changes a frame.
#[test]
fn a_frame_that_was_altered_in_transit_ends_the_link_and_blames_nobody() {
    let two = Two::start();
    for bytes in [vec![0; 100], vec![sateen_protocol::codec::PROTOCOL_VERSION, 0, 1], Vec::new()] {
        let mut link = two.dial();
        assert!(link.try_send(&bytes));
        assert!(link.is_closed(PATIENCE), "{bytes:?}");
    }
    assert_eq!(two.cluster.api().get("/api/v1/status")["misbehaviours"], 0);
    assert_eq!(two.cluster.host_status("ada")["peers"][0]["name"], "eve", "she is not cut off");
}

#[test]
fn links_of_one_peer_replace_one_another() {
    let two = Two::start();
    let mut links: Vec<ForgedPeer> = (0..12).map(|_| two.dial()).collect();
    let newest = links.split_off(10);
    for mut link in links {
        assert!(link.is_closed(PATIENCE), "ten older links are closed");
    }
    for mut link in newest {
        assert!(!link.is_closed(Duration::from_millis(300)), "two are left");
    }
}

/// The answers have eight times the size of its requests, and it reads none of them.
#[test]
fn a_peer_that_reads_nothing_takes_little_memory() {
    const MEMORY_MIB_MAX: u64 = 400;
    let mut cluster = Cluster::start_beside_others(&[]);
    let ada_listens = start_listening(&mut cluster, "ada");
    cluster.await_hosts(1);
    let (eve, own, grid, hosts) = intruder(&cluster);
    let ada = named(&hosts, "ada");
    let caller = Caller { grid, from: own, to: ada.id };
    let mut link = ForgedPeer::dial(ada_listens, caller, eve.key(), &ada.report.key).expect("it may dial");
    let asked = vec![PeerMessage::Lending { run: RunId(7) }; 10_000];
    for _ in 0..1000 {
        if !link.send(&asked, Duration::from_secs(2)) {
            break;
        }
    }
    let peak = peak_mib(cluster.host_process("ada"));
    assert!(peak < MEMORY_MIB_MAX, "{peak} MiB");
    let run = cluster.submit(FEW_QUEENS.0, FEW_QUEENS.1);
    cluster.done(run, FEW_QUEENS.2);
}
