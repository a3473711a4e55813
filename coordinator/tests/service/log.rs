//! What the coordinator writes to its log.

use std::path::PathBuf;
use std::process::Stdio;

use sateen_protocol::message::ToCoordinator;

use crate::host::Host;
use crate::server::{Server, eventually};

/// A coordinator, and the file to which it writes its log.
fn logged() -> (Server, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("log");
    let child = crate::server::command(folder.path())
        .stdout(Stdio::piped())
        .stderr(std::fs::File::create(&log).expect("our folder"))
        .spawn()
        .expect("it starts");
    let server = Server::from_child(child, folder);
    (server, log)
}

#[test]
fn accusations_fill_no_log() {
    let (server, log) = logged();
    let (mut liar, _) = Host::join(&server.address, "liar");
    let reason = "it lies ".repeat(2000);
    for number in 0..2000 {
        let host = sateen_protocol::HostId(number);
        liar.send(&[ToCoordinator::Misbehaved { host, reason: reason.clone() }]);
    }
    // Nor do hosts that come and go.
    for _ in 0..300 {
        Host::join(&server.address, "restless");
    }
    eventually("the log says what it does not show", || {
        let text = std::fs::read_to_string(&log).expect("it is there");
        text.contains("lines of one kind are not shown").then_some(())
    });
    let bytes = std::fs::metadata(&log).expect("it is there").len();
    assert!(bytes < 256 << 10, "{bytes} bytes");
}

#[test]
fn the_log_has_the_addresses_of_hosts() {
    let (server, log) = logged();
    let logged = |what: &str| {
        eventually(what, || {
            let text = std::fs::read_to_string(&log).expect("it is there");
            text.lines().find(|line| line.contains(what)).map(str::to_owned)
        })
    };
    let (host, _) = Host::join(&server.address, "visitor");
    assert!(logged("host joined").contains("address=127.0.0.1"), "{}", logged("host joined"));
    // Its link is gone by then.
    drop(host);
    assert!(logged("host given up").contains("address=127.0.0.1"), "{}", logged("host given up"));
    let (mut host, _) = Host::join(&server.address, "leaver");
    host.send(&[ToCoordinator::Leaving]);
    assert!(logged("host left").contains("address=127.0.0.1"), "{}", logged("host left"));
}
