//! Strangers that send forbidden messages: they are cut off, and the run continues.

use std::net::SocketAddr;

use sateen_protocol::codec::PROTOCOL_VERSION as V;
use sateen_tests::cluster::Cluster;
use sateen_tests::random::{Random, seed};
use sateen_tests::websocket::{WebSocket, shout};

use crate::answers::FIB;

/// Frames that break the rules, each in a different way.
fn garbage() -> Vec<(&'static str, Vec<u8>)> {
    let mut random = Random::new(seed(7));
    let noise = (0..4096).map(|_| random.number() as u8).collect();
    vec![
        ("nothing", Vec::new()),
        ("half a header", vec![V]),
        ("an unknown version", vec![99, 0, 0, 0]),
        ("an unknown kind", vec![V, 77, 0]),
        ("an unknown message", vec![V, 0, 250, 250, 250]),
        ("a message that is cut short", vec![V, 0, 0, 5, b'a']),
        ("a length beyond all limits", [&[V, 0, 0], &[0xff; 9][..], &[1]].concat()),
        ("noise", noise),
        ("a frame that is too long", vec![V; (256 << 10) + 1]),
        ("a message before the hello", vec![V, 0, 1, 3]),
    ]
}

#[test]
fn frames_of_garbage_at_the_coordinator() {
    let mut cluster = Cluster::start_beside_others(&[("ada", "here"), ("bob", "here")]);
    let run = cluster.submit(FIB.0, FIB.1);
    cluster.await_work(run, &["ada", "bob"], 0.1);
    let mut sockets = Vec::new();
    for (what, bytes) in garbage() {
        let mut socket = WebSocket::connect(cluster.address(), "/ws/host");
        socket.send(&bytes);
        assert!(!cluster.coordinator().has_ended(), "{what} has ended the coordinator");
        sockets.push((what, socket));
    }
    // Bytes that are not a websocket frame.
    for (what, raw) in [
        ("reserved bits", &[0xff, 0xff, 0xff, 0xff][..]),
        ("no mask", &[0x82, 0x03, 1, 0, 0]),
        ("a length without an end", &[0x82, 0xff, 0x7f, 0, 0, 0, 0, 0, 0, 0]),
    ] {
        let mut socket = WebSocket::connect(cluster.address(), "/ws/host");
        socket.send_raw(raw);
        sockets.push((what, socket));
    }
    // An incomplete message is waited for, for a while.
    for (what, socket) in sockets {
        eprintln!("{what}");
        socket.cut_off();
        assert!(!cluster.coordinator().has_ended(), "{what} has ended the coordinator");
    }
    let about = cluster.done(run, FIB.2);
    assert_eq!(about["by_host"].as_array().map(Vec::len), Some(2), "no stranger took part: {about:#}");
}

#[test]
fn many_strangers_at_once_do_not_keep_hosts_out() {
    let mut cluster = Cluster::start(&[("ada", "here")]);
    let silent: Vec<WebSocket> =
        (0..200).map(|_| WebSocket::connect(cluster.address(), "/ws/host")).collect();
    cluster.start_host("bob", "here");
    cluster.await_hosts(2);
    let run = cluster.submit("nqueens", &["15"]);
    cluster.done(run, "2279184\n");
    drop(silent);
}

#[test]
fn garbage_at_a_hosts_own_port() {
    let mut cluster = Cluster::start(&[]);
    let direct: SocketAddr = sateen_tests::cluster::free_address();
    let url = format!("http://{}", cluster.address());
    cluster.start_host_with("ada", "here", &url, &["--direct", &direct.to_string()]);
    cluster.start_host("bob", "here");
    cluster.await_hosts(2);
    let run = cluster.submit(FIB.0, FIB.1);
    cluster.await_work(run, &["ada", "bob"], 0.1);
    shout(direct, b"HELO there\r\n\r\n");
    shout(direct, &[0xff; 100_000]);
    shout(direct, b"GET /secret HTTP/1.1\r\nHost: a\r\n\r\n");
    for (what, bytes) in garbage() {
        let mut socket = WebSocket::connect(direct, "/ws/peer");
        socket.send(&bytes);
        socket.cut_off();
        assert!(!cluster.host("ada").has_ended(), "{what} has ended the host");
    }
    cluster.done(run, FIB.2);
}

#[test]
fn requests_of_garbage_at_the_api() {
    let mut cluster = Cluster::start_beside_others(&[]);
    let address = cluster.address();
    let post = |path: &str, body: &str| {
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        String::from_utf8_lossy(&shout(address, request.as_bytes())).into_owned()
    };
    for body in
        ["", "{", "[]", "7", "{\"app\":7}", "{\"app\":\"nqueens\",\"arguments\":7}", "{\"app\":\"\u{0}\"}"]
    {
        let answer = post("/api/v1/runs", body);
        assert!(answer.starts_with("HTTP/1.1 4"), "{body}: {answer}");
        assert!(answer.contains("application/problem+json"), "{body}: {answer}");
    }
    let answer = post("/api/v1/apps?name=x", "not wasm");
    assert!(answer.starts_with("HTTP/1.1 422"), "{answer}");
    // Another site's page, in a browser on this machine, is refused.
    let foreign =
        shout(address, b"GET /api/v1/runs HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n");
    assert!(foreign.starts_with(b"HTTP/1.1 4"), "{}", String::from_utf8_lossy(&foreign));
    assert!(!cluster.coordinator().has_ended());
}
