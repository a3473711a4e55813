//! Pages that read nothing, and hosts with texts that are long on purpose.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::Duration;

use sateen_protocol::codec::encode;
use sateen_protocol::message::{ToCoordinator, ToHost};
use sateen_tests::watcher::Watcher;
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use crate::host::{Host, hello};
use crate::server::{RawRequest, Server, detail, eventually};

/// A hello whose texts have the maximum length, and would be six times as long in JSON.
fn hostile_hello(number: usize, character: &str) -> ToCoordinator {
    let ToCoordinator::Hello { mut report, was, incarnation, roots, .. } = hello("", None, Vec::new()) else {
        unreachable!("a hello")
    };
    let text = || format!("{number:04}{}", character.repeat(240));
    (report.name, report.site, report.version) = (text(), text(), text());
    ToCoordinator::Hello { report, was, incarnation, roots, paused: Some(text()) }
}

/// Hosts with such texts, connected as long as this lives.
struct Crowd {
    leaves: mpsc::Sender<()>,
    alive: Option<JoinHandle<()>>,
}

impl Crowd {
    fn join(server: &Server, count: usize, character: impl Fn(usize) -> &'static str) -> Self {
        let hosts = (0..count).map(|number| {
            let mut host = Host::connect(&server.address);
            host.send(&[hostile_hello(number, character(number))]);
            host
        });
        let mut hosts: Vec<Host> = hosts.collect();
        for host in &mut hosts {
            host.until(|message| matches!(message, ToHost::Welcome { .. }).then_some(()));
        }
        let (leaves, is_left) = mpsc::channel();
        let alive = std::thread::spawn(move || {
            while is_left.recv_timeout(Duration::from_secs(1)) == Err(RecvTimeoutError::Timeout) {
                let pong = encode(&ToCoordinator::Pong { ping: 0 }).expect("short").concat();
                for host in &mut hosts {
                    host.try_send(Message::Binary(pong.clone().into()));
                }
            }
        });
        Self { leaves, alive: Some(alive) }
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        // A host that has ended hears nothing.
        let _ = self.leaves.send(());
        if let Some(alive) = self.alive.take() {
            let _ = alive.join();
        }
    }
}

fn resident_mib(server: &Server) -> u64 {
    sateen_tests::memory::resident_kib(server.pid().as_raw_nonzero().get().unsigned_abs()) >> 10
}

/// A page from an address of this machine that asks for a topic and reads nothing.
fn deaf_page(server: &Server, from: &str, topics: &[&str]) -> RawRequest {
    let mut raw = RawRequest::open(&server.address, from);
    raw.send(
        format!(
            "GET /ws/watch HTTP/1.1\r\nHost: {}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
            server.address
        )
        .as_bytes(),
    );
    let request = json!({ "watch": topics }).to_string();
    // Masked by zeros, which change nothing.
    let mut frame = vec![0x81, 0x80 | request.len() as u8, 0, 0, 0, 0];
    frame.extend(request.as_bytes());
    raw.send(&frame);
    raw
}

#[test]
fn hosts_texts_are_plain_and_listed_page_by_page() {
    let server = Server::start();
    let _hosts = Crowd::join(&server, 5, |_| "\u{1}");
    let (first, link) = server.json_and_link("/api/v1/hosts?limit=3");
    let link = link.expect("there are more");
    let path = link.strip_prefix('<').and_then(|link| link.split_once(">; rel=\"next\"")).expect("a link").0;
    let (second, last) = server.json_and_link(path);
    let pages = [&first, &second].map(|page| page.as_array().expect("a list").clone());
    assert_eq!((pages[0].len(), pages[1].len(), last), (3, 2, None));
    let mut names = Vec::new();
    for host in pages.iter().flatten() {
        for field in ["name", "site", "version", "paused"] {
            let text = host[field].as_str().expect("text");
            assert!(text.len() == 244 && !text.contains(char::is_control), "{field}: {text:?}");
        }
        names.push(host["name"].as_str().expect("text").trim().to_owned());
    }
    names.sort();
    assert_eq!(names, ["0000", "0001", "0002", "0003", "0004"]);
    let (status, why) = detail(server.get("/api/v1/hosts?after=nobody"));
    assert!(status == 400 && why.contains("nobody"), "{status} {why}");
}

/// For pages that read nothing, nothing is kept, and an honest page beside them receives everything.
#[test]
fn pages_that_read_nothing_fill_no_memory() {
    const HOSTS: usize = 1000;
    let server = Server::start();
    // Trailing spaces, and characters that JSON still has to escape.
    let _hosts = Crowd::join(&server, HOSTS, |number| ["\u{1}", "\\"][number % 2]);
    let (_, body) = server.get("/api/v1/hosts");
    assert!(body.len() < 3 << 20, "{} bytes", body.len());
    let mut page = Watcher::open(&server.address, &["grid"]);
    let knows = |page: &Watcher, name: &str| {
        let hosts = page.value("grid")["hosts"].as_array()?;
        hosts
            .iter()
            .any(|host| host["name"].as_str().is_some_and(|known| known.starts_with(name)))
            .then_some(())
    };
    page.until("all hosts", |page| (page.value("grid")["hosts"].as_array()?.len() == HOSTS).then_some(()));
    let before = resident_mib(&server);
    let deaf: Vec<RawRequest> = (1..=4)
        .flat_map(|address| {
            (0..if address == 4 { 10 } else { 90 }).map(move |_| format!("127.66.0.{address}"))
        })
        .map(|from| deaf_page(&server, &from, &["grid"]))
        .chain((0..90).map(|_| deaf_page(&server, "127.0.0.1", &["grid"])))
        .collect();
    // All of them are sent something, while hosts come and go.
    let mut most = 0;
    for number in 0..16 {
        let name = format!("honest{number}");
        let (_host, _) = Host::join(&server.address, &name);
        page.until("another host", |page| knows(page, &name));
        most = most.max(resident_mib(&server));
    }
    assert!(most < before + 100, "{before} MiB before, {most} MiB with {} deaf pages", deaf.len());
    // Those that read nothing are closed after a while.
    eventually("there are no deaf pages", || (server.json("/api/v1/status")["watchers"] == 1).then_some(()));
    page.until("the page is still notified", |page| {
        (page.value("grid")["status"]["watchers"] == 1).then_some(())
    });
}
