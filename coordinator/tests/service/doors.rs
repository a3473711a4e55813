//! Attacks on the service: each takes many times the memory or the slots that it is allowed, and an honest request beside
//! it is answered.

use std::time::{Duration, Instant};

use sateen_protocol::RunId;
use sateen_protocol::codec::{PROTOCOL_VERSION, encode};
use sateen_protocol::limits::FRAME_BYTES_MAX;
use sateen_protocol::message::{LogLine, ToCoordinator, ToHost};
use tokio_tungstenite::tungstenite::Message;

use crate::host::Host;
use crate::server::{RawRequest, Server, app, detail, eventually};

/// Far above what the service needs, far below what the attacks would take.
const MEMORY_MIB_MAX: u64 = 400;

#[track_caller]
pub fn assert_small(server: &Server) {
    let peak_mib = server.memory_peak_mib();
    assert!(peak_mib < MEMORY_MIB_MAX, "the coordinator took {peak_mib} MiB");
}

/// Addresses of attackers, all on this machine.
fn attackers(count: u8) -> impl Iterator<Item = String> {
    (1..=count).map(|number| format!("127.66.0.{number}"))
}

fn head(server: &Server, method_and_path: &str, content_bytes: usize) -> Vec<u8> {
    let address = &server.address;
    format!("{method_and_path} HTTP/1.1\r\nHost: {address}\r\nContent-Length: {content_bytes}\r\n\r\n")
        .into_bytes()
}

/// Whether the service has closed the connection, or does so within the time.
fn is_closed(raw: &mut RawRequest, within: Duration) -> bool {
    use std::io::Read;
    raw.0.set_read_timeout(Some(within)).expect("a socket");
    let mut bytes = [0; 4096];
    loop {
        match raw.0.read(&mut bytes) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => return error.kind() == std::io::ErrorKind::ConnectionReset,
        }
    }
}

fn honest_upload(server: &Server, content: &[u8]) {
    let hash = blake3::hash(content).to_hex();
    let path = format!("/api/v1/blobs/{hash}");
    assert_eq!(server.put(&path, content).0, 201);
    assert_eq!(server.get(&path), (200, content.to_vec()));
}

#[test]
fn slow_uploads_block_no_client() {
    let server = Server::start();
    let path = format!("PUT /api/v1/blobs/{}", "0".repeat(64));
    let mut slow: Vec<RawRequest> = attackers(3)
        .flat_map(|from| (0..100).map(move |_| from.clone()))
        .map(|from| RawRequest::open(&server.address, &from))
        .collect();
    for raw in &mut slow {
        raw.send(&head(&server, &path, 60 << 20));
        raw.send(b"x");
    }
    honest_upload(&server, b"honest");
    assert_eq!(server.publish().len(), 64);
    // They lose their slots, even if they keep sending a byte now and then.
    let began = Instant::now();
    eventually_within(Duration::from_secs(60), "the slow ones are cut off", || {
        slow.retain_mut(|raw| raw.try_send(b"x") && !is_closed(raw, Duration::from_millis(1)));
        std::thread::sleep(Duration::from_millis(200));
        slow.is_empty().then_some(())
    });
    assert!(began.elapsed() > Duration::from_secs(5), "an honest pause is not an attack");
    assert_small(&server);
    let left = std::fs::read_dir(server.folder.path().join("blobs")).expect("a folder");
    let left = left.flatten().filter(|file| file.file_name().to_string_lossy().starts_with("incoming"));
    assert_eq!(left.count(), 0, "what did not finish is removed");
}

fn eventually_within(patience: Duration, what: &str, mut condition: impl FnMut() -> Option<()>) {
    let until = Instant::now() + patience;
    while condition().is_none() {
        assert!(Instant::now() < until, "in vain: {what}");
    }
}

#[test]
fn an_honest_upload_may_take_its_time() {
    let server = Server::start();
    let content: Vec<u8> = (0..12_u32 << 18).flat_map(u32::to_le_bytes).collect();
    let hash = blake3::hash(&content).to_hex();
    let mut raw = RawRequest::open(&server.address, "127.0.0.1");
    let head = format!(
        "PUT /api/v1/blobs/{hash} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        server.address,
        content.len()
    );
    raw.send(head.as_bytes());
    // A MiB a second.
    for piece in content.chunks(128 << 10) {
        raw.send(piece);
        std::thread::sleep(Duration::from_millis(125));
    }
    assert_eq!(raw.answer().0, 201);
    assert_eq!(server.get(&format!("/api/v1/blobs/{hash}")).1, content);
}

#[test]
fn blobs_that_no_client_reads_fill_no_memory() {
    let server = Server::start();
    let content: Vec<u8> = (0..10_u32 << 20).flat_map(u32::to_le_bytes).collect();
    let hash = blake3::hash(&content).to_hex();
    assert_eq!(server.put(&format!("/api/v1/blobs/{hash}"), &content).0, 201);
    let mut deaf: Vec<RawRequest> = attackers(4)
        .flat_map(|from| (0..40).map(move |_| from.clone()))
        .map(|from| RawRequest::open(&server.address, &from))
        .collect();
    for raw in &mut deaf {
        raw.send(&head(&server, &format!("GET /api/v1/blobs/{hash}"), 0));
    }
    assert_eq!(server.get(&format!("/api/v1/blobs/{hash}")).1.len(), content.len());
    assert_small(&server);
}

#[test]
fn unfinished_requests_fill_no_memory() {
    let server = Server::start();
    let mut open: Vec<RawRequest> = attackers(4)
        .flat_map(|from| (0..200).map(move |_| from.clone()))
        .map(|from| RawRequest::open(&server.address, &from))
        .collect();
    let nearly_all = vec![b' '; (1 << 20) - 1];
    for (number, raw) in open.iter_mut().enumerate() {
        if number % 2 == 0 {
            // Nor do unfinished headers.
            raw.try_send(b"GET /api/v1/runs HTTP/1.1\r\nX-Slow: ");
        } else if raw.try_send(&head(&server, "POST /api/v1/runs", 1 << 20)) {
            raw.0.set_nonblocking(true).expect("a socket");
            raw.try_send(&nearly_all);
            raw.0.set_nonblocking(false).expect("a socket");
        }
    }
    server.publish();
    assert_eq!(server.json("/api/v1/runs"), serde_json::json!([]));
    server.submit();
    assert_small(&server);
    let mut first = open.swap_remove(0);
    assert!(is_closed(&mut first, Duration::from_secs(60)), "headers have their time");
}

#[test]
fn one_address_cannot_open_all_connections() {
    let server = Server::start();
    let mut open: Vec<RawRequest> =
        (0..700).map(|_| RawRequest::open(&server.address, "127.66.0.9")).collect();
    assert_eq!(server.get("/readyz").0, 200);
    eventually("those are closed that are too many", || {
        open.retain_mut(|raw| !is_closed(raw, Duration::from_millis(1)));
        (open.len() <= 512).then_some(())
    });
}

#[test]
fn endless_headers_are_cut_off() {
    let server = Server::start();
    let mut raw = RawRequest::open(&server.address, "127.0.0.1");
    raw.send(b"GET / HTTP/1.1\r\nX-Long: ");
    let piece = vec![b'x'; 64 << 10];
    for _ in 0..1000 {
        if !raw.try_send(&piece) {
            break;
        }
    }
    assert!(is_closed(&mut raw, Duration::from_secs(20)));
    assert_small(&server);
}

#[test]
fn little_is_read_of_a_link_before_its_hello() {
    let server = Server::start();
    let long = [&[PROTOCOL_VERSION, 0], vec![0; 20 << 10].as_slice()].concat();
    let fragment = [&[PROTOCOL_VERSION, 1], vec![0; 1000].as_slice()].concat();
    for (frame, why) in [(long, "its first frame has"), (fragment, "did not say hello first")] {
        let mut bad = Host::connect(&server.address);
        bad.try_send(Message::Binary(frame.into()));
        let (_, closed) = bad.cut_off();
        assert!(closed.contains(why), "{closed}");
    }
    // An unfinished frame.
    let mut many: Vec<Host> = (0..200).map(|_| Host::connect(&server.address)).collect();
    for host in &mut many {
        let mut frame = vec![0x82, 0xff];
        frame.extend((FRAME_BYTES_MAX as u64 - 1).to_be_bytes());
        frame.extend(vec![0; FRAME_BYTES_MAX - 64]);
        host.try_send_raw(&frame);
    }
    let (_host, _) = Host::join(&server.address, "honest");
    assert_small(&server);
}

/// As many as one address may have open files for here, each with an unfinished frame.
#[test]
fn endless_frames_fill_no_memory() {
    const LINKS: usize = 600;
    let server = Server::start();
    let mut frame = vec![0x82, 0xff];
    frame.extend((FRAME_BYTES_MAX as u64 - 1).to_be_bytes());
    frame.extend(vec![0; FRAME_BYTES_MAX - 64]);
    let mut many: Vec<Host> = (0..LINKS)
        .map(|number| {
            let (mut host, _) = Host::join(&server.address, &format!("half{number}"));
            host.try_send_raw(&frame);
            host
        })
        .collect();
    // Not before them: it answers no pings while they join.
    let (mut honest, (id, ..)) = Host::join(&server.address, "honest");
    honest.send(&[ToCoordinator::Relay { to: id, frame: vec![1] }]);
    honest.until(|message| matches!(message, ToHost::Relayed { .. }).then_some(()));
    assert_small(&server);
    // The first of them was cut off, and those after it.
    many[0].cut_off();
    many[LINKS / 2].cut_off();
}

#[test]
fn endless_messages_fill_no_memory() {
    let server = Server::start();
    let fragment = [&[PROTOCOL_VERSION, 1], vec![7; FRAME_BYTES_MAX - 2].as_slice()].concat();
    // Nearly as long as a message may be: together ten times the memory limit for them.
    let many: Vec<Host> = (0..100)
        .map(|number| {
            let (mut host, _) = Host::join(&server.address, &format!("long{number}"));
            for _ in 0..31 {
                host.try_send(Message::Binary(fragment.clone().into()));
            }
            host
        })
        .collect();
    let (mut honest, (id, ..)) = Host::join(&server.address, "honest");
    honest.send(&[ToCoordinator::Log { run: RunId(1), lines: vec![long_line(8 << 10); 256] }]);
    honest.send(&[ToCoordinator::Relay { to: id, frame: vec![1] }]);
    honest.until(|message| matches!(message, ToHost::Relayed { .. }).then_some(()));
    assert_small(&server);
    let mut cut_off = many.into_iter().map(|mut host| host.cut_off().1);
    assert!(cut_off.any(|why| why.contains("too many such messages wait")), "they get the reason");
}

fn long_line(bytes: usize) -> LogLine {
    LogLine { job: None, function: "main".to_owned(), text: "x".repeat(bytes) }
}

/// Many users behind one address, one of them hostile: the others wait no longer than for their turn.
#[test]
fn hostile_neighbours_block_no_client() {
    let server = Server::start();
    let path = format!("PUT /api/v1/blobs/{}", "0".repeat(64));
    let upgrade = format!(
        "GET /ws/host HTTP/1.1\r\nHost: {}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        server.address
    );
    let open = |bytes: &[u8]| {
        let mut raw = RawRequest::open(&server.address, "127.0.0.1");
        raw.try_send(bytes);
        raw
    };
    // All uploads, bodies, links and connections that one address may have.
    let mut hostile: Vec<RawRequest> = (0..64).map(|_| open(&head(&server, &path, 60 << 20))).collect();
    hostile.extend((0..20).map(|_| open(&head(&server, "POST /api/v1/runs", 1 << 20))));
    hostile.extend((0..256).map(|_| open(upgrade.as_bytes())));
    std::thread::sleep(Duration::from_millis(2500));
    hostile.extend((0..512).map(|_| open(b"GET / HTTP/1.1\r\nX-Slow: ")));
    std::thread::sleep(Duration::from_millis(2500));

    let began = Instant::now();
    honest_upload(&server, b"honest");
    server.publish();
    server.submit();
    let long = serde_json::json!({"app": "probe", "arguments": ["x".repeat(50 << 10)]}).to_string();
    assert_eq!(server.post("/api/v1/runs", long.as_bytes()).0, 201);
    let (_host, _) = Host::join(&server.address, "honest");
    assert!(began.elapsed() < Duration::from_secs(5), "the honest waited for {:?}", began.elapsed());
    assert_small(&server);
}

#[test]
fn a_link_without_a_hello_holds_only_its_own_slots() {
    let server = Server::start();
    let upgrade = format!(
        "GET /ws/host HTTP/1.1\r\nHost: {}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        server.address
    );
    let mut silent: Vec<RawRequest> =
        (0..400).map(|_| RawRequest::open(&server.address, "127.66.0.3")).collect();
    silent.iter_mut().for_each(|raw| raw.send(upgrade.as_bytes()));
    let (_host, _) = Host::join(&server.address, "honest");
    let mut answers = silent.iter_mut().map(|raw| {
        use std::io::Read;
        let mut bytes = [0; 64];
        let count = raw.0.read(&mut bytes).unwrap_or(0);
        String::from_utf8_lossy(&bytes[..count]).into_owned()
    });
    assert!(
        answers.any(|answer| answer.contains(" 429 ")),
        "one address has all the slots that it asked for"
    );
}

#[test]
fn many_hosts_that_read_nothing_fill_no_memory() {
    let server = Server::start();
    let deaf: Vec<_> = (0..12).map(|number| Host::join(&server.address, &format!("deaf{number}"))).collect();
    for (_, (deaf_id, ..)) in &deaf {
        let relay = ToCoordinator::Relay { to: *deaf_id, frame: vec![0; FRAME_BYTES_MAX - 64] };
        let frames = encode(&relay).expect("short");
        let (mut sender, _) = Host::join(&server.address, "sender");
        for _ in 0..300 {
            if !frames.iter().all(|frame| sender.try_send(Message::Binary(frame.clone().into()))) {
                break;
            }
        }
    }
    // Hosts that do not answer for seconds are given up.
    let (mut good, (good_id, ..)) = Host::join(&server.address, "good");
    let (mut other, _) = Host::join(&server.address, "other");
    other.send(&[ToCoordinator::Relay { to: good_id, frame: vec![1] }]);
    let frame = good.until(|message| match message {
        ToHost::Relayed { frame, .. } => Some(frame.clone()),
        _ => None,
    });
    assert_eq!(frame, [1]);
    assert_small(&server);
}

#[test]
fn modules_made_of_names_are_refused() {
    let server = Server::start();
    let names: String =
        (0..10_000).map(|n| format!(r#"(export "sateen_job_{n}\01\01\01\01" (func 0))"#)).collect();
    let (status, why) = detail(server.post("/api/v1/apps?name=names", &app(&names)));
    assert!(status == 422 && why.contains("not visible"), "{why}");
    // A manifest of newlines, as a custom section: a name and its length, then the bytes.
    let mut module = app("");
    let name = b"sateen.manifest";
    let content = vec![b'\n'; 40 << 20];
    module.push(0);
    leb128(&mut module, 1 + name.len() + content.len());
    module.push(name.len() as u8);
    module.extend(name);
    module.extend(content);
    let (status, why) = detail(server.post("/api/v1/apps?name=lines", &module));
    assert!(status == 422 && why.contains("manifest is longer"), "{why}");
    assert_small(&server);
}

fn leb128(into: &mut Vec<u8>, mut number: usize) {
    loop {
        let byte = (number & 0x7f) as u8;
        number >>= 7;
        into.push(if number == 0 { byte } else { byte | 0x80 });
        if number == 0 {
            return;
        }
    }
}
