//! Hosts' identities: keys that wait, are revoked, copied, replaced or forged, and what the relay can see.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use sateen_identity::tunnel::{Ends, Lane, Tunnels};
use sateen_protocol::codec::{PROTOCOL_VERSION, decode_whole, encode};
use sateen_protocol::message::{PeerMessage, ToCoordinator, ToHost};
use sateen_protocol::{PublicKey, RunId, Time};
use sateen_tests::cluster::{Cluster, PATIENCE, count, until};
use sateen_tests::forged_host::{ForgedHost, hello};
use serde_json::Value;
use tokio_tungstenite::tungstenite::{Message, accept};

use crate::answers::{FEW_QUEENS, FIB, QUEENS};

/// A grid whose operator approves hosts, without hosts.
fn strict() -> Cluster {
    let mut cluster = Cluster::start_beside_others(&[]);
    cluster.kill_coordinator();
    cluster.start_coordinator_with(&["--approve"]);
    cluster
}

fn key_of(cluster: &Cluster, host: &str) -> String {
    let shown = cluster.tell_host(host, &["key", "show"]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    String::from_utf8(shown.stdout).expect("text").trim().to_owned()
}

/// What the coordinator says of a key.
fn listed(cluster: &Cluster, key: &str) -> Value {
    let keys: Value = serde_json::from_slice(&cluster.sateen(["host", "ls", "--json"]).stdout).expect("JSON");
    let keys = keys.as_array().cloned().unwrap_or_default();
    keys.into_iter().find(|listed| listed["key"] == key).unwrap_or_default()
}

fn await_refusal(cluster: &Cluster, host: &str, words: &[&str]) {
    until(&format!("{host} is refused: {words:?}"), PATIENCE, || {
        let status = cluster.host_status(host);
        let why = status["refused"].as_str().unwrap_or_default().to_owned();
        words.iter().all(|word| why.contains(word)).then_some(())
    });
}

#[track_caller]
fn decide(cluster: &Cluster, what: &str, key: &str) {
    let ended = cluster.sateen(["host", what, key]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

/// A folder with a copy of another host's key, as somebody makes who copies a machine.
fn copy_key(cluster: &Cluster, from: &str, to: &str) {
    let (from, to) = (cluster.data_folder(from), cluster.data_folder(to));
    fs::create_dir_all(&to).expect("a folder");
    for file in ["version", "key"] {
        fs::copy(from.join(file), to.join(file)).expect("it is there");
    }
}

#[test]
fn an_unknown_host_waits_until_the_operator_approves_it_and_a_revoked_one_is_cut_off() {
    let mut cluster = strict();
    cluster.start_host("ada", "here");
    await_refusal(&cluster, "ada", &["waiting for the operator's approval", "sateen host approve"]);
    let key = key_of(&cluster, "ada");
    assert_eq!(cluster.host_status("ada")["key"], key.as_str());
    let waiting = listed(&cluster, &key);
    assert_eq!((&waiting["state"], &waiting["name"]), (&"waiting".into(), &"ada".into()));
    assert!(cluster.api().hosts().is_empty());
    let table = String::from_utf8(cluster.sateen(["host", "ls"]).stdout).expect("text");
    assert!(table.contains(&key[..16]) && table.contains("waiting"), "{table}");
    decide(&cluster, "approve", &key[..8]);
    until("ada is let in", PATIENCE, || (cluster.api().hosts().len() == 1).then_some(()));
    let run = cluster.submit(FEW_QUEENS.0, FEW_QUEENS.1);
    cluster.done(run, FEW_QUEENS.2);

    // A restart of the coordinator changes nothing.
    cluster.kill_coordinator();
    cluster.start_coordinator_with(&["--approve"]);
    until("ada is back", PATIENCE, || (cluster.api().hosts().len() == 1).then_some(()));
    assert_eq!(listed(&cluster, &key)["approved"], true);

    decide(&cluster, "revoke", &key);
    await_refusal(&cluster, "ada", &["the operator has revoked", &key[..16]]);
    until("she is gone", PATIENCE, || cluster.api().hosts().is_empty().then_some(()));
    decide(&cluster, "approve", &key);
    until("ada is let in again", PATIENCE, || (cluster.api().hosts().len() == 1).then_some(()));

    for (words, why) in [
        (["host", "approve", "nobody"], "is not the key of a host"),
        (["host", "revoke", "0000000000"], "no key begins with"),
    ] {
        let ended = cluster.sateen(words);
        assert!(ended.code.is_some_and(|code| code > 0) && ended.stderr.contains(why), "{ended:?}");
    }
}

/// In the middle of a run: its jobs are done again by others.
#[test]
fn a_host_that_is_revoked_while_it_works_is_replaced() {
    let cluster = Cluster::start(&[("ada", "here"), ("bob", "here")]);
    let run = cluster.submit(QUEENS.0, QUEENS.1);
    cluster.await_work(run, &["ada", "bob"], 0.3);
    let key = key_of(&cluster, "ada");
    decide(&cluster, "revoke", &key);
    let about = cluster.done(run, QUEENS.2);
    assert_eq!(cluster.api().hosts().len(), 1, "{about:#}");
    await_refusal(&cluster, "ada", &["revoked"]);
}

#[test]
fn a_second_host_with_the_same_key_is_refused_and_the_operator_learns_of_it() {
    let mut cluster = Cluster::start_beside_others(&[("ada", "here")]);
    copy_key(&cluster, "ada", "eve");
    cluster.start_host("eve", "here");
    await_refusal(&cluster, "eve", &["same key", "as ada from 127.0.0.1", "remove the file `key`"]);
    let key = key_of(&cluster, "ada");
    assert_eq!(listed(&cluster, &key)["copied_to"], "127.0.0.1");
    let table = String::from_utf8(cluster.sateen(["host", "ls"]).stdout).expect("text");
    assert!(table.contains("copied: also used from 127.0.0.1"), "{table}");
    assert_eq!(cluster.api().hosts()[0]["name"], "ada", "she is not disturbed");
    let run = cluster.submit(FEW_QUEENS.0, FEW_QUEENS.1);
    cluster.done(run, FEW_QUEENS.2);
    // The key is not bound to a machine.
    cluster.kill_host("ada");
    until("eve takes her place", PATIENCE, || {
        cluster.api().hosts().iter().any(|host| host["name"] == "eve").then_some(())
    });
}

#[test]
fn a_host_that_is_started_again_is_the_same_and_its_key_can_be_replaced() {
    let mut cluster = strict();
    cluster.start_host("ada", "here");
    await_refusal(&cluster, "ada", &["waiting"]);
    let first = key_of(&cluster, "ada");
    decide(&cluster, "approve", &first);
    until("ada is let in", PATIENCE, || (cluster.api().hosts().len() == 1).then_some(()));
    let running = cluster.tell_host("ada", &["key", "rotate"]);
    assert_eq!(running.code, Some(4), "{running:?}");
    assert!(running.stderr.contains("a host runs with this key"), "{running:?}");
    copy_key(&cluster, "ada", "eve");
    assert_eq!(cluster.tell_host("ada", &["leave"]).code, Some(0));
    assert_eq!(cluster.host_ended("ada"), Some(0));
    let rotated = cluster.tell_host("ada", &["key", "rotate"]);
    assert_eq!(rotated.code, Some(0), "{rotated:?}");
    let second = key_of(&cluster, "ada");
    assert!(second != first && String::from_utf8_lossy(&rotated.stdout).trim() == second);
    cluster.start_host("ada", "here");
    cluster.await_hosts(1);
    assert_eq!(listed(&cluster, &first)["replaced_by"], second.as_str());
    assert_eq!(listed(&cluster, &second)["approved"], true, "without another approval");
    // The earlier key is worthless now.
    cluster.start_host("eve", "here");
    await_refusal(&cluster, "eve", &["was replaced by", &second[..16]]);
    let run = cluster.submit(FEW_QUEENS.0, FEW_QUEENS.1);
    cluster.done(run, FEW_QUEENS.2);
}

#[test]
fn a_damaged_key_is_named_and_no_host_starts_with_another() {
    let mut cluster = Cluster::start_beside_others(&[("ada", "here")]);
    assert_eq!(cluster.tell_host("ada", &["leave"]).code, Some(0));
    assert_eq!(cluster.host_ended("ada"), Some(0));
    let file = cluster.data_folder("ada").join("key");
    fs::write(&file, "sateen host key 1\nnonsense\n").expect("it can be written");
    cluster.start_host("ada", "here");
    assert_eq!(cluster.host_ended("ada"), Some(2));
    let shown = cluster.tell_host("ada", &["key", "show"]);
    assert!(shown.code == Some(2) && shown.stderr.contains("is damaged"), "{shown:?}");
    assert_eq!(fs::read_to_string(&file).expect("text"), "sateen host key 1\nnonsense\n");
    let none = cluster.tell_host("nobody", &["key", "rotate"]);
    assert!(none.code == Some(2) && none.stderr.contains("has no key yet"), "{none:?}");
    assert!(!cluster.data_folder("nobody").exists(), "nothing is made");
}

/// A coordinator of the release before waits for the host to speak first.
#[test]
fn a_coordinator_of_an_older_release_is_named() {
    let mut cluster = Cluster::start_beside_others(&[]);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("bound"));
    std::thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            std::thread::spawn(move || answer_as_before(stream));
        }
    });
    cluster.start_host_with("ada", "here", &url, &[]);
    let words = [&*format!("version {} of the protocol", PROTOCOL_VERSION - 1), "update sateen-coordinator"];
    await_refusal(&cluster, "ada", &words);
}

/// Refuses every hello in its own version, as the release before did.
fn answer_as_before(stream: TcpStream) {
    let Ok(mut socket) = accept(stream) else { return };
    let Ok(Message::Binary(frame)) = socket.read() else { return };
    assert!(frame.starts_with(&[PROTOCOL_VERSION, 0, 0]), "{frame:?}");
    let refused = ToHost::Refused { reason: "another version".to_owned() };
    let mut frames = encode(&refused).expect("it is short");
    frames[0][0] = PROTOCOL_VERSION - 1;
    let _ = socket.send(Message::binary(frames.remove(0)));
    let _ = socket.read();
}

/// A forged host sees everything that the coordinator relays to it, and the coordinator sees the same.
#[test]
fn what_is_relayed_is_opened_by_the_host_with_the_right_key_only() {
    let mut cluster = Cluster::start_beside_others(&[("ada", "here")]);
    cluster.excuse("a forged host steals and computes nothing");
    let mut eve = ForgedHost::connect(&cluster.address().to_string());
    eve.send(&[hello("eve", None, Vec::new())]);
    let (own, grid, hosts) = eve.until(|message| match message {
        ToHost::Welcome { host, grid, hosts, .. } => Some((*host, *grid, hosts.clone())),
        _ => None,
    });
    let ada = hosts.iter().find(|info| info.report.name == "ada").expect("she is there");
    assert_eq!(ada.report.key, PublicKey::parse(&key_of(&cluster, "ada")).expect("a key"));
    let run = cluster.submit(FIB.0, FIB.1);
    eve.until(|message| matches!(message, ToHost::StartRun { .. }).then_some(()));
    // In clear, or with the wrong key, nothing is answered and nobody is blamed.
    let asked = encode(&PeerMessage::Lending { run: RunId(run) }).expect("short").remove(0);
    eve.send(&[ToCoordinator::Relay { to: ada.id, frame: asked.clone() }]);
    let ends = Ends { grid, own, peer: ada.id, key: ada.report.key };
    let mut stranger = Tunnels::new(sateen_identity::Identity::generate().expect("randomness"));
    let begin = stranger.begin(Time(0), &ends).expect("the first");
    eve.send(&[ToCoordinator::Relay { to: ada.id, frame: begin }]);
    std::thread::sleep(Duration::from_millis(300));
    // With her key, eve and ada have a session.
    let mut tunnels = Tunnels::new(eve.key().clone());
    let begin = tunnels.begin(Time(0), &ends).expect("the first");
    eve.send(&[ToCoordinator::Relay { to: ada.id, frame: begin }]);
    let mut packets = Vec::new();
    while !tunnels.is_open(ada.id) {
        let packet = relayed(&mut eve);
        assert!(decode_whole::<PeerMessage>(&packet).is_err(), "in clear: {packet:?}");
        let received = tunnels.receive(Time(0), &ends, &packet);
        packets.extend(received.packets);
    }
    for frame in packets {
        eve.send(&[ToCoordinator::Relay { to: ada.id, frame }]);
    }
    // A thief asks for a job.
    let steal = PeerMessage::Steal {
        run: RunId(run),
        steal: sateen_protocol::StealId(1),
        holding: 0,
        ahead: false,
        more: 0,
    };
    let frame = encode(&steal).expect("short").remove(0);
    let sealed = tunnels.seal(ada.id, Lane::Control, &frame).expect("a session");
    eve.send(&[ToCoordinator::Ready { run: RunId(run) }]);
    eve.send(&[ToCoordinator::Relay { to: ada.id, frame: sealed.clone() }]);
    let answer = loop {
        let packet = relayed(&mut eve);
        assert!(decode_whole::<PeerMessage>(&packet).is_err(), "in clear: {packet:?}");
        if let Some(frame) = tunnels.receive(Time(0), &ends, &packet).frame {
            let messages: Vec<PeerMessage> = decode_whole(&frame).expect("a frame");
            let is_answer = |message: &PeerMessage| {
                matches!(message, PeerMessage::Job { .. } | PeerMessage::Nothing { .. })
            };
            if let Some(answer) = messages.into_iter().find(is_answer) {
                break answer;
            }
        }
    };
    assert!(matches!(answer, PeerMessage::Job { .. } | PeerMessage::Nothing { .. }));
    assert_eq!(cluster.api().get("/api/v1/status")["misbehaviours"], 0);
    drop(eve);
    let about = cluster.api().run_over(run, PATIENCE);
    assert_eq!(about["state"], "done", "{about:#}");
    assert!(count(&about, "spawned") > 0);
}

fn relayed(host: &mut ForgedHost) -> Vec<u8> {
    host.until(|message| match message {
        ToHost::Relayed { frame, .. } => Some(frame.clone()),
        _ => None,
    })
}
