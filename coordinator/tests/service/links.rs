//! Hosts' websockets: what is passed on, and which hosts are cut off.

use std::net::TcpStream;

use sateen_protocol::codec::{PROTOCOL_VERSION as V, encode};
use sateen_protocol::limits::FRAME_BYTES_MAX;
use sateen_protocol::message::{RootClaim, ToCoordinator, ToHost};
use sateen_protocol::{AssignmentId, HostId, RunId};
use tokio_tungstenite::tungstenite::{Message, client};

use crate::host::{Host, hello};
use crate::server::{Server, detail, eventually};

fn relayed(host: &mut Host) -> (HostId, Vec<u8>) {
    host.until(|message| match message {
        ToHost::Relayed { from, frame } => Some((*from, frame.clone())),
        _ => None,
    })
}

#[test]
fn frames_go_from_host_to_host_in_order() {
    let server = Server::start();
    let (mut one, (one_id, ..)) = Host::join(&server.address, "one");
    let (mut two, (two_id, ..)) = Host::join(&server.address, "two");
    let frames: Vec<Vec<u8>> = (0..1000_u32).map(|number| number.to_le_bytes().to_vec()).collect();
    for frame in &frames {
        one.send(&[ToCoordinator::Relay { to: two_id, frame: frame.clone() }]);
    }
    for frame in frames {
        assert_eq!(relayed(&mut two), (one_id, frame));
    }
    // The longest frame takes two frames to be passed on.
    let long = vec![7; FRAME_BYTES_MAX];
    two.send(&[ToCoordinator::Relay { to: one_id, frame: long.clone() }]);
    assert_eq!(relayed(&mut one), (two_id, long));
    let status = server.json("/api/v1/status");
    assert_eq!(status["relayed_frames"], 1001);
}

#[test]
fn an_unknown_host_is_unreachable() {
    let server = Server::start();
    let (mut one, _) = Host::join(&server.address, "one");
    let (mut two, (two_id, ..)) = Host::join(&server.address, "two");
    two.send(&[ToCoordinator::Leaving]);
    two.until(|message| matches!(message, ToHost::Farewell).then_some(()));
    // What comes between the farewell and the end of the link still reaches the host.
    while two.next_message().is_ok() {}
    for gone in [HostId(1), two_id] {
        one.send(&[ToCoordinator::Relay { to: gone, frame: vec![1] }]);
        let unreachable = one.until(|message| match message {
            ToHost::Unreachable { host } => Some(*host),
            _ => None,
        });
        assert_eq!(unreachable, gone);
    }
}

/// Other hosts connect to this address, so hosts cannot name just any.
#[test]
fn a_direct_address_is_passed_on_only_if_the_host_connects_from_there() {
    let server = Server::start();
    for (reported, expected) in
        [("127.0.0.1:4321", Some("127.0.0.1:4321")), ("192.0.2.7:4321", None), ("localhost:4321", None)]
    {
        let mut host = Host::connect(&server.address);
        let mut message = hello(reported, None, Vec::new());
        if let ToCoordinator::Hello { report, .. } = &mut message {
            report.direct = Some(reported.to_owned());
        }
        host.send(&[message]);
        host.until(|message| matches!(message, ToHost::Welcome { .. }).then_some(()));
        let mut other = Host::connect(&server.address);
        other.send(&[hello("other", None, Vec::new())]);
        let told = other.until(|message| match message {
            ToHost::Welcome { hosts, .. } => {
                hosts.iter().find(|info| info.report.name == reported).map(|info| info.report.direct.clone())
            }
            _ => None,
        });
        assert_eq!(told.as_deref(), expected);
    }
}

#[test]
fn a_frame_right_after_the_hello_is_passed_on() {
    let server = Server::start();
    let (mut one, (one_id, ..)) = Host::join(&server.address, "one");
    let mut two = Host::connect(&server.address);
    two.send(&[hello("two", None, Vec::new()), ToCoordinator::Relay { to: one_id, frame: vec![5] }]);
    assert_eq!(relayed(&mut one).1, vec![5]);
}

/// Advice to update something would mislead.
#[test]
fn only_a_host_can_have_another_version() {
    let server = Server::start();
    let hello = encode(&hello("other", None, Vec::new())).expect("it is short").remove(0);
    for (version, advice) in [(V - 1, "update sateen-host to"), (V + 1, "update sateen-coordinator to")] {
        let mut host = Host::connect(&server.address);
        host.send_frame([&[version], &hello[1..]].concat());
        let refused = host.cut_off().0.expect("a refusal");
        assert!(
            refused.contains(&format!("speaks version {version} ")) && refused.contains(advice),
            "{refused}"
        );
    }
    for frame in [
        b"garbage".to_vec(),
        b"\x09".to_vec(),
        b"GET / HTTP/1.1".to_vec(),
        vec![V + 1, 0, 7, 1, 2, 3],
        vec![0, 0, 0, 0],
        vec![0xff; 300],
        vec![V, 9, 1],
        vec![],
    ] {
        let mut stranger = Host::connect(&server.address);
        stranger.send_frame(frame.clone());
        let refused = stranger.cut_off().0.expect("a refusal");
        assert!(refused.contains("not a Sateen host"), "{frame:?}: {refused}");
        assert!(!refused.contains("version") && !refused.contains("update"), "{frame:?}: {refused}");
    }
}

#[test]
fn a_host_that_breaks_the_protocol_gets_the_reason_and_is_cut_off() {
    let server = Server::start();
    let (mut good, (good_id, ..)) = Host::join(&server.address, "good");
    let joined = |server: &Server| Host::join(&server.address, "bad").0;
    let mut cases = 0;
    let mut check = |mut bad: Host, word: &str| {
        let (refused, closed) = bad.cut_off();
        let refused = refused.unwrap_or_else(|| panic!("no refusal with `{word}`; closed: {closed}"));
        assert!(refused.contains(word), "{refused}");
        assert!(closed.contains(&word[..word.len().min(20)]), "{closed}");
        cases += 1;
    };
    let newer = format!("version {}", V + 1);
    for (frame, word) in [
        (vec![], "contains no message"),
        (vec![V + 1, 0, 1], newer.as_str()),
        (vec![V, 9, 1], "unknown kind 9"),
        (vec![V, 0, 200], "cannot be read"),
        (vec![V, 0, 2, 255, 255], "cannot be read"),
    ] {
        let mut bad = joined(&server);
        bad.send_frame(frame);
        check(bad, word);
    }
    let mut bad = joined(&server);
    assert!(bad.try_send(Message::Text("hello".into())));
    check(bad, "binary frames");

    let mut bad = joined(&server);
    bad.send(&[hello("bad", None, Vec::new())]);
    check(bad, "hello twice");

    let mut bad = Host::connect(&server.address);
    bad.send(&[ToCoordinator::Relay { to: good_id, frame: vec![1] }]);
    check(bad, "did not say hello");

    let mut bad = Host::connect(&server.address);
    bad.send(&[ToCoordinator::Leaving]);
    check(bad, "did not say hello");

    let (_, (_, _, grid)) = Host::join(&server.address, "other");
    let mut bad = Host::connect(&server.address);
    bad.send(&[hello("bad", Some((good_id, 1, grid)), Vec::new())]);
    check(bad, "claims the identity");

    let mut bad = Host::connect(&server.address);
    let root = RootClaim { run: RunId(1), number: AssignmentId(1), proof: 1 };
    let (_, identity) = Host::join(&server.address, "claimant");
    bad.send(&[hello("bad", Some(identity), vec![root])]);
    check(bad, "never assigned");

    // These are counted, and nobody else is affected.
    assert_eq!(cases, 11);
    let (mut peer, (peer_id, ..)) = Host::join(&server.address, "peer");
    good.send(&[ToCoordinator::Relay { to: peer_id, frame: vec![3] }]);
    assert_eq!(relayed(&mut peer), (good_id, vec![3]));
    assert_eq!(server.json("/api/v1/status")["misbehaviours"], cases);
}

#[test]
fn a_host_of_another_version_learns_which_program_to_update() {
    let server = Server::start();
    let release = env!("CARGO_PKG_VERSION");
    for (version, what) in [
        (V - 1, format!("update sateen-host to {release}, the release of this sateen-coordinator")),
        (V + 1, "update sateen-coordinator to the release of the sateen-host".to_owned()),
    ] {
        let mut stranger = Host::connect(&server.address);
        let mut frames = encode(&hello("stranger", None, Vec::new())).expect("it is short");
        frames[0][0] = version;
        stranger.send_frame(frames.remove(0));
        let (refused, closed) = stranger.cut_off();
        let refused = refused.unwrap_or_else(|| panic!("no refusal; closed: {closed}"));
        assert!(refused.contains(&format!("version {version} of the protocol")), "{refused}");
        assert!(refused.ends_with(&what), "{refused}");
        // The host cannot read the refusal, which is of this version, but it can read the reason for closing its link.
        assert!(closed.contains(&format!("version {version}")), "{closed}");
    }
    assert_eq!(server.json("/api/v1/status")["hosts"], 0);
}

#[test]
fn a_message_longer_than_a_frame_is_refused_unread() {
    let server = Server::start();
    let (mut bad, _) = Host::join(&server.address, "bad");
    bad.try_send(Message::Binary(vec![1; FRAME_BYTES_MAX + 1].into()));
    let (refused, _) = bad.cut_off();
    assert!(
        refused.as_deref().is_some_and(|why| why.contains("too long") || why.contains("larger")),
        "{refused:?}"
    );
    assert_eq!(server.get("/readyz").0, 200);
}

#[test]
fn a_host_that_floods_is_cut_off() {
    let server = Server::start();
    let (mut bad, _) = Host::join(&server.address, "bad");
    let pongs: Vec<ToCoordinator> = (0..1000).map(|ping| ToCoordinator::Pong { ping }).collect();
    let (mut good, _) = Host::join(&server.address, "good");
    for _ in 0..1000 {
        let mut encoder = sateen_protocol::codec::Encoder::default();
        pongs.iter().for_each(|pong| encoder.push(pong).expect("short"));
        if !encoder.finish().into_iter().all(|frame| bad.try_send(Message::Binary(frame.into()))) {
            break;
        }
    }
    let (refused, closed) = bad.cut_off();
    assert!(refused.as_deref().is_some_and(|why| why.contains("floods")), "{refused:?} {closed}");
    good.until(|message| matches!(message, ToHost::Hosts { gone, .. } if gone.len() == 1).then_some(()));
}

#[test]
fn a_host_that_reads_nothing_does_not_block_others() {
    let server = Server::start();
    let (mut sender, _) = Host::join(&server.address, "sender");
    let (_deaf, (deaf_id, ..)) = Host::join(&server.address, "deaf");
    let (mut good, (good_id, ..)) = Host::join(&server.address, "good");
    // More than a socket's buffers hold, less than may be queued.
    for _ in 0..50 {
        sender.send(&[ToCoordinator::Relay { to: deaf_id, frame: vec![0; FRAME_BYTES_MAX - 64] }]);
    }
    sender.send(&[ToCoordinator::Relay { to: good_id, frame: vec![1] }]);
    assert_eq!(relayed(&mut good).1, vec![1]);
}

#[test]
fn a_host_that_sends_endlessly_to_one_that_reads_nothing_is_cut_off() {
    let server = Server::start();
    let (mut sender, _) = Host::join(&server.address, "sender");
    let (_deaf, (deaf_id, ..)) = Host::join(&server.address, "deaf");
    let relay = ToCoordinator::Relay { to: deaf_id, frame: vec![0; FRAME_BYTES_MAX - 64] };
    let frames = encode(&relay).expect("short");
    for _ in 0..1000 {
        if !frames.iter().all(|frame| sender.try_send(Message::Binary(frame.clone().into()))) {
            break;
        }
    }
    let (refused, closed) = sender.cut_off();
    assert!(refused.as_deref().is_some_and(|why| why.contains("under way")), "{refused:?} {closed}");
}

#[test]
fn a_web_page_cannot_open_a_link() {
    let server = Server::start();
    let stream = TcpStream::connect(&server.address).expect("it listens");
    let request = tokio_tungstenite::tungstenite::ClientRequestBuilder::new(
        format!("ws://{}/ws/host", server.address).parse().expect("an address"),
    )
    .with_header("Origin", "http://evil.example");
    assert!(client(request, stream).is_err());
    assert_eq!(detail(server.get_with("/ws/host", ("Origin", "http://evil.example"))).0, 403);
}

#[test]
fn closed_links_are_forgotten() {
    let server = Server::start();
    for _ in 0..20 {
        drop(Host::join(&server.address, "brief"));
    }
    eventually("no link is left", || (server.json("/api/v1/status")["links"] == 0).then_some(()));
    eventually("no host is left", || (server.json("/api/v1/status")["hosts"] == 0).then_some(()));
}
