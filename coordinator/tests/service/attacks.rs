//! More attacks on the service, each beside an honest client.

use std::io::Read;
use std::process::Stdio;
use std::time::{Duration, Instant};

use sateen_protocol::codec::{PROTOCOL_VERSION, encode};
use sateen_protocol::limits::{FRAME_BYTES_MAX, SILENCE_MAX};
use sateen_protocol::message::{LogLine, RootClaim, ToCoordinator, ToHost};
use sateen_protocol::{AssignmentId, JobFailure, RunId};
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use crate::host::{Host, hello, text};
use crate::server::{RawRequest, Server, app, command, detail};

/// Far above what the service needs, far below what the attacks would take.
const MEMORY_MIB_MAX: u64 = 400;

#[track_caller]
fn assert_small(server: &Server) {
    let peak_mib = server.memory_peak_mib();
    assert!(peak_mib < MEMORY_MIB_MAX, "the coordinator took {peak_mib} MiB");
}

fn relayed(host: &mut Host, wanted: &[u8]) {
    host.until(|message| match message {
        ToHost::Relayed { frame, .. } if frame == wanted => Some(()),
        _ => None,
    });
}

/// A run ends with what the host says that was given its root, and with nothing else.
#[test]
fn only_the_host_with_the_root_ends_a_run() {
    let server = Server::start();
    server.publish();
    let run = server.submit();
    let (mut honest, _) = Host::join(&server.address, "honest");
    let root = honest.take_root_with_proof();
    let (of, number) = (root.run, root.number);
    let failure = || JobFailure { job: "f".to_owned(), message: "forged".to_owned(), backtrace: Vec::new() };
    // One that takes no part at all may not even say that a job has failed.
    let (mut outsider, _) = Host::join(&server.address, "outsider");
    outsider.finish(of, number, text("forged"));
    outsider.send(&[
        ToCoordinator::Failed { run: of, failure: failure() },
        ToCoordinator::Limit { run: of, reason: "forged".to_owned() },
    ]);
    // One that takes part, but was given no root, guesses its number.
    let (mut guest, identity) = Host::join(&server.address, "guest");
    guest.until(|message| matches!(message, ToHost::StartRun { run, .. } if *run == of).then_some(()));
    guest.send(&[ToCoordinator::Ready { run: of }]);
    for guess in 0..=number.0 + 4 {
        guest.finish(of, AssignmentId(guess), text("forged"));
    }
    // And one that takes part comes back with a root that it was not given.
    drop(guest);
    let mut again = Host::connect(&server.address);
    let forged = RootClaim { proof: root.proof ^ 1, ..root };
    again.send(&[hello("guest", Some(identity), vec![forged])]);
    let (refused, _) = again.cut_off();
    assert!(refused.as_deref().is_some_and(|why| why.contains("never assigned")), "{refused:?}");
    assert_eq!(server.run(run)["state"], "running");
    honest.finish(of, number, text("right"));
    honest.await_acknowledgement(of);
    let seen = server.run(run);
    assert_eq!((&seen["state"], &seen["root_losses"]), (&json!("done"), &json!(0)));
    assert_eq!(server.get(&format!("/api/v1/runs/{run}/result")), (200, b"right".to_vec()));
}

/// A byte of an empty string takes dozens in memory.
#[test]
fn empty_strings_by_the_megabyte_fill_no_memory() {
    let server = Server::start();
    let lines = vec![LogLine { job: None, function: String::new(), text: String::new() }];
    let one = encode(&ToCoordinator::Log { run: RunId(1), lines }).expect("short").concat();
    // The header, the bytes before the list, and an element of it.
    let (before, element) = (&one[2..one.len() - 4], &one[one.len() - 3..]);
    let message = |bytes: usize| {
        let count = bytes / element.len();
        let mut message = before.to_vec();
        let mut left = count;
        while left >= 0x80 {
            message.push(left as u8 | 0x80);
            left >>= 7;
        }
        message.push(left as u8);
        message.extend(element.repeat(count));
        message
    };
    for (bytes, why) in
        [(20 << 20, "exceeds the maximum"), (7 << 20, "bytes of memory"), (7 << 20, "bytes of memory")]
    {
        let (mut bad, _) = Host::join(&server.address, "bad");
        let message = message(bytes);
        let mut parts = message.chunks(FRAME_BYTES_MAX - 2).peekable();
        while let Some(part) = parts.next() {
            let kind = if parts.peek().is_some() { 1 } else { 2 };
            bad.try_send(Message::Binary([&[PROTOCOL_VERSION, kind], part].concat().into()));
        }
        let (refused, closed) = bad.cut_off();
        let told = format!("{}{closed}", refused.unwrap_or_default());
        assert!(told.contains(why), "{told}");
    }
    let (mut honest, (id, ..)) = Host::join(&server.address, "honest");
    honest.send(&[ToCoordinator::Relay { to: id, frame: vec![1] }]);
    relayed(&mut honest, &[1]);
    assert_small(&server);
}

/// A long frame over a slow link: it takes longer than a host may be silent, and its pongs come behind it.
#[test]
fn a_host_that_sends_a_long_frame_slowly_is_not_silent() {
    let server = Server::start();
    let (mut slow, (id, ..)) = Host::join(&server.address, "slow");
    let content = vec![7; 200 << 10];
    let message = ToCoordinator::Relay { to: id, frame: content.clone() };
    let frame = encode(&message).expect("short").concat();
    let mut bytes = vec![0x82, 0xff];
    bytes.extend((frame.len() as u64).to_be_bytes());
    // The mask, which changes nothing.
    bytes.extend([0; 4]);
    bytes.extend(frame);
    let began = Instant::now();
    for part in bytes.chunks(bytes.len() / 20) {
        assert!(slow.try_send_raw(part), "it was given up after {:?}", began.elapsed());
        std::thread::sleep(Duration::from_millis(700));
    }
    // Longer than a host may be silent, and longer than the time for its hello.
    assert!(began.elapsed() > Duration::from_secs(12).max(2 * SILENCE_MAX));
    relayed(&mut slow, &content);
    let hosts = server.json("/api/v1/hosts");
    assert_eq!((hosts[0]["id"].as_str(), hosts.as_array().map(Vec::len)), (Some(&*id.to_string()), Some(1)));
}

/// Flooded by several hosts, with more than fits into its queue: it is not to blame, and hears from others.
#[test]
fn a_host_that_others_flood_is_not_cut_off() {
    let server = Server::start();
    let (mut victim, (id, ..)) = Host::join(&server.address, "victim");
    let frame = vec![0; FRAME_BYTES_MAX - 64];
    let frames = encode(&ToCoordinator::Relay { to: id, frame }).expect("short");
    let flooders: Vec<_> = (0..4)
        .map(|number| {
            let (address, frames) = (server.address.clone(), frames.clone());
            std::thread::spawn(move || {
                let (mut flooder, _) = Host::join(&address, &format!("flooder{number}"));
                // Less than one host may have queued.
                for _ in 0..60 {
                    for frame in &frames {
                        if !flooder.try_send(Message::Binary(frame.clone().into())) {
                            return None;
                        }
                    }
                }
                Some(flooder)
            })
        })
        .collect();
    let flooders: Vec<_> = flooders.into_iter().map(|flooder| flooder.join().expect("it ends")).collect();
    assert!(flooders.iter().flatten().count() > 0);
    let (mut honest, _) = Host::join(&server.address, "honest");
    honest.send(&[ToCoordinator::Relay { to: id, frame: vec![1, 2, 3] }]);
    relayed(&mut victim, &[1, 2, 3]);
    assert_small(&server);
}

/// Requests that wait for a run's end block nobody.
#[test]
fn a_client_with_many_waits_does_not_block_others() {
    let server = Server::start();
    server.publish();
    let run = server.submit();
    let wait =
        format!("GET /api/v1/runs/{run}/wait?timeout_s=3600 HTTP/1.1\r\nHost: {}\r\n\r\n", server.address);
    let open = || {
        let mut raw = RawRequest::open(&server.address, "127.0.0.1");
        raw.try_send(wait.as_bytes());
        raw
    };
    let mut hoarded: Vec<RawRequest> = (0..600).map(|_| open()).collect();
    // Within the minimum time of all waits.
    std::thread::sleep(Duration::from_millis(2500));
    let began = Instant::now();
    let waited = server.json(&format!("/api/v1/runs/{run}/wait?timeout_s=0.5"));
    assert_eq!(waited["run"], run);
    assert_eq!(server.get("/api/v1/runs").0, 200);
    // All come from one address, whose oldest waits are answered.
    assert!(began.elapsed() < Duration::from_secs(2), "the honest waited for {:?}", began.elapsed());
    let (mut first, mut answer) = (hoarded.swap_remove(0), [0; 12]);
    first.0.read_exact(&mut answer).expect("an answer");
    assert_eq!(&answer, b"HTTP/1.1 200");
    // Another hoard, and again there is room.
    hoarded.extend((0..300).map(|_| open()));
    std::thread::sleep(Duration::from_millis(2500));
    assert_eq!(server.json(&format!("/api/v1/runs/{run}/wait?timeout_s=0.1"))["run"], run);
    // All that are still waiting learn of the end.
    let waiting = std::thread::spawn({
        let (address, wait) =
            (server.address.clone(), wait.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"));
        move || {
            let mut raw = RawRequest::open(&address, "127.66.0.9");
            raw.send(wait.as_bytes());
            raw.answer()
        }
    });
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(server.post(&format!("/api/v1/runs/{run}/cancel"), b"").0, 202);
    let (status, body) = waiting.join().expect("it ends");
    assert!(status == 200 && String::from_utf8_lossy(&body).contains("cancelled"));
    assert_small(&server);
}

/// Blobs and apps have limited disk space; unreferenced ones go first.
#[test]
fn no_client_can_fill_the_disk() {
    let folder = tempfile::tempdir().expect("a folder");
    // An address may have one of eight MiB.
    let start = |folder: tempfile::TempDir| {
        let child = command(folder.path()).args(["--blobs-max", "8M"]).stdout(Stdio::piped()).spawn();
        Server::from_child(child.expect("it starts"), folder)
    };
    let server = start(folder);
    let blob = |number: u8| vec![number; 600 << 10];
    let path = |number: u8| format!("/api/v1/blobs/{}", blake3::hash(&blob(number)).to_hex());
    let put = |server: &Server, from: &str, number: u8| server.put_from(from, &path(number), &blob(number));
    assert_eq!(server.post_from("127.66.0.9", "/api/v1/apps?name=probe", &app("")).0, 201);
    assert_eq!(put(&server, "127.66.0.1", 1).0, 201);
    // The first makes room for the second.
    assert_eq!(put(&server, "127.66.0.1", 2).0, 201);
    assert_eq!((server.get(&path(1)).0, server.get(&path(2)).0), (404, 200));
    // A run refers to the second.
    let hash = blake3::hash(&blob(2)).to_hex().to_string();
    let submission = json!({"app": "probe", "inputs": {"file": hash}}).to_string();
    let (status, body) = server.post("/api/v1/runs", submission.as_bytes());
    assert_eq!(status, 201, "{}", String::from_utf8_lossy(&body));
    let (status, why) = detail(put(&server, "127.66.0.1", 3));
    assert!(status == 507 && why.contains("--blobs-max") && why.contains("delete runs"), "{status} {why}");
    assert_eq!(server.get(&path(2)).0, 200);
    // Others have their share, also after a restart.
    assert_eq!(put(&server, "127.66.0.2", 4).0, 201);
    let server = start(server.kill());
    assert_eq!(put(&server, "127.66.0.1", 3).0, 507);
    // When all is full, the address with the most makes room for one that comes later.
    for number in 10..24 {
        let (status, _) = put(&server, &format!("127.66.1.{number}"), number);
        assert_eq!(status, 201, "{number}");
    }
    assert_eq!(server.get(&path(2)).0, 200, "a run needs it");
    // Once its run is deleted, nothing refers to it.
    assert_eq!(server.post("/api/v1/runs/1/cancel", b"").0, 202);
    assert_eq!(server.delete("/api/v1/runs/1").0, 204);
    assert_eq!(put(&server, "127.66.0.1", 3).0, 201);
    assert_eq!(server.get(&path(2)).0, 404);
    let folder = server.folder.path().join("blobs");
    let bytes: u64 = std::fs::read_dir(folder)
        .expect("a folder")
        .flatten()
        .filter_map(|file| Some(file.metadata().ok()?.len()))
        .sum();
    assert!(bytes <= 8 << 20, "{bytes} bytes");
}

#[test]
fn a_connection_without_room_is_answered_with_a_problem() {
    let server = Server::start();
    let _open: Vec<RawRequest> = (0..512).map(|_| RawRequest::open(&server.address, "127.66.0.9")).collect();
    let mut answer = String::new();
    let mut one_more = RawRequest::open(&server.address, "127.66.0.9");
    one_more.0.read_to_string(&mut answer).expect("text");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
    assert!(head.starts_with("HTTP/1.1 503 ") && head.contains("\r\nRetry-After: 5\r\n"), "{head}");
    assert!(head.contains("\r\nContent-Type: application/problem+json\r\n"), "{head}");
    assert!(head.contains(&format!("\r\nContent-Length: {}", body.len())), "{head}");
    let (_, why) = detail((503, body.as_bytes().to_vec()));
    assert!(why.starts_with("the coordinator has too many open connections"), "{why}");
}
