//! What pages receive.

use std::net::TcpStream;
use std::time::Duration;

use sateen_protocol::message::{JobNote, NoteKind, ToCoordinator, WorkerTimes};
use sateen_protocol::{Counts, JobTag, Jobs, ROOT_KIND, RunId};
use sateen_tests::watcher::Watcher;
use serde_json::json;
use tokio_tungstenite::tungstenite::client;

use crate::host::{Host, text};
use crate::server::{Server, eventually};

fn is_told(page: &Watcher, topic: &str) -> Option<()> {
    (!page.value(topic).is_null()).then_some(())
}

fn note(job: u64, what: NoteKind) -> JobNote {
    JobNote {
        job: JobTag(job),
        parent: (job > 1).then_some(JobTag(1)),
        kind: if job == 1 { ROOT_KIND } else { 0 },
        depth: u32::from(job > 1),
        what,
        ago_ms: 5,
        parameters: None,
        shares: false,
    }
}

const BEGUN: NoteKind = NoteKind::Begun { victim: None, redone: false, worker: 1 };

fn report(run: RunId, notes: Vec<JobNote>) -> ToCoordinator {
    let executed = notes.len() as u64;
    let jobs = Jobs { spawned: executed, executed, ..Jobs::default() };
    let counts = Counts { jobs, busy: 1, workers: 2, ..Counts::default() };
    let workers = vec![WorkerTimes { work_ms: 40, steal_ms: 7, wait_ms: 3, ..WorkerTimes::default() }; 2];
    ToCoordinator::Counts {
        run,
        series: 1,
        counts: Box::new(counts),
        progress: Some((1, 2)),
        notes,
        ahead_ns: None,
        notes_dropped: 0,
        workers,
    }
}

/// Three jobs of a run, two of which have ended.
pub fn begin_some_jobs(host: &mut Host, run: RunId) {
    let done = NoteKind::Done { work_ns: 7_000_000 };
    host.send(&[report(run, vec![note(1, BEGUN), note(2, BEGUN), note(2, done), note(3, BEGUN)])]);
}

/// A server with a run, and its host.
fn begun() -> (Server, Host, u64) {
    let server = Server::start();
    server.publish();
    let run = server.submit();
    let (host, _) = Host::join(&server.address, "one");
    (server, host, run)
}

#[test]
fn a_page_receives_the_grid() {
    let server = Server::start();
    let mut page = Watcher::open(&server.address, &["grid"]);
    page.until("the snapshot", |page| is_told(page, "grid"));
    server.publish();
    let run = server.submit();
    let (host, _) = Host::join(&server.address, "one");
    page.until("the run and the host", |page| {
        let grid = page.value("grid");
        (grid["runs"][0]["run"] == run && grid["hosts"][0]["name"] == "one").then_some(())
    });
    assert_eq!(page.value("grid")["status"]["hosts"], 1);
    drop(host);
    page.until("the host is away, which somebody should see", |page| {
        let grid = page.value("grid");
        let is_told = grid["alerts"].as_array()?.iter().any(|alert| alert["host"] == grid["hosts"][0]["id"]);
        (grid["hosts"][0]["state"] == "away" && is_told).then_some(())
    });
    assert_eq!(server.post(&format!("/api/v1/runs/{run}/cancel"), b"").0, 202);
    page.until("the end", |page| (page.value("grid")["runs"][0]["state"] == "cancelled").then_some(()));
    assert_eq!(server.delete(&format!("/api/v1/runs/{run}")).0, 204);
    page.until("the run is gone", |page| {
        page.value("grid")["runs"].as_array().is_some_and(Vec::is_empty).then_some(())
    });
}

#[test]
fn a_page_receives_a_run_and_its_tree() {
    let (server, mut host, run) = begun();
    let topics = [format!("run/{run}"), format!("tree/{run}"), format!("timeline/{run}")];
    let topics: Vec<&str> = topics.iter().map(String::as_str).collect();
    let mut page = Watcher::open(&server.address, &topics);
    page.until("an empty tree", |page| page.tree(run).is_whole.then_some(()));
    let (given, number) = host.take_root();
    host.send(&[report(given, vec![note(1, BEGUN), note(2, BEGUN), note(3, BEGUN)])]);
    page.until("three jobs", |page| (page.tree(run).records.len() == 3).then_some(()));
    host.send(&[report(given, vec![note(3, NoteKind::Done { work_ns: 5_000 }), note(2, NoteKind::Failed)])]);
    page.until("their ends", |page| (page.tree(run).records[&2].state == 1).then_some(()));
    let tree = page.tree(run);
    assert_eq!(tree.table["entry_point"], "main");
    assert_eq!((&tree.table["kinds"], &tree.table["hosts"][0]["name"]), (&json!(["work"]), &json!("one")));
    assert_eq!(
        (&tree.table["shown"], &tree.table["total"], &tree.table["left_out"]),
        (&3.into(), &3.into(), &0.into())
    );
    let root = &tree.records[&0];
    assert_eq!((root.tag, root.parent, root.kind, root.state, root.worker), (1, u32::MAX, u16::MAX, 0, 1));
    assert!(root.work_us.is_nan() && root.ended_ms == u32::MAX);
    let done = &tree.records[&2];
    assert_eq!((done.tag, done.parent, done.kind, done.depth, done.work_us), (3, 0, 0, 1, 5.0));
    assert!(done.begun_ms <= done.ended_ms && done.ended_ms < u32::MAX);
    assert_eq!((tree.records[&1].state, done.flags, done.rolled, done.host), (2, 0, 0, 0));

    let topic = format!("run/{run}");
    let expected = json!([
        {"depth": 0, "running": 1, "done": 0, "other": 0},
        {"depth": 1, "running": 0, "done": 1, "other": 1},
    ]);
    page.until("the depths", |page| (page.value(&topic)["depths"] == expected).then_some(()));
    page.until("the workers", |page| {
        let rows = page.value(&format!("timeline/{run}"))["rows"].as_array()?.len();
        (rows == 2).then_some(())
    });

    host.finish(given, number, text("42"));
    host.await_acknowledgement(given);
    page.until("the end", |page| (page.value(&topic)["run"]["state"] == "done").then_some(()));
    let kinds: Vec<String> = page.until("all events", |page| {
        let events = page.value(&topic)["events"].as_array()?;
        let kinds: Vec<String> =
            events.iter().filter_map(|event| Some(event["kind"].as_str()?.to_owned())).collect();
        kinds.contains(&"ended".to_owned()).then_some(kinds)
    });
    assert_eq!(kinds, ["submitted", "host_joined", "started", "ended"]);
    // A page's copy is what a new page would receive, and what the API returns.
    let again = server.json(&format!("/api/v1/runs/{run}/overview"));
    for part in ["run", "depths", "events", "critical_path", "kinds"] {
        assert_eq!(page.value(&topic)[part], again[part], "{part}");
    }
    let mut other = Watcher::open(&server.address, &topics);
    other.until("the tree", |page| page.tree(run).is_whole.then_some(()));
    page.until("the last states", |page| (page.tree(run).records[&0].state != 0).then_some(()));
    let (ours, theirs) = (&page.tree(run).records, &other.tree(run).records);
    assert_eq!(format!("{ours:?}"), format!("{theirs:?}"));
}

#[test]
fn a_topic_is_sent_again_on_request() {
    let (server, mut host, run) = begun();
    let (given, _) = host.take_root();
    host.send(&[report(given, vec![note(1, BEGUN)])]);
    let topic = format!("tree/{run}");
    let mut page = Watcher::open(&server.address, &["grid", &topic]);
    page.until("the root", |page| page.tree(run).records.get(&0).map(|_| ()));
    let frames = page.tree(run).frames;
    // A topic that continues is not sent anew,
    page.say(&json!({"watch": [topic]}).to_string()).expect("an open socket");
    host.send(&[report(given, vec![note(2, BEGUN)])]);
    page.until("another", |page| (page.tree(run).records.len() == 2).then_some(()));
    assert!(page.tree(run).frames > frames);
    // but one that is requested again is.
    page.say(&json!({"watch": [topic], "again": [topic]}).to_string()).expect("an open socket");
    page.until("all again", |page| {
        let tree = page.tree(run);
        (tree.frames == 1 && tree.records.len() == 2).then_some(())
    });
}

#[test]
fn a_missing_topic_is_reported_in_a_sentence() {
    let (server, _host, run) = begun();
    let mut page =
        Watcher::open(&server.address, &["run/99", "tree/99", "timeline/99", "moon", "run/x", "grid"]);
    page.until("five sentences", |page| (page.gone.len() == 5).then_some(()));
    for gone in &page.gone {
        assert_eq!(gone["kind"], "gone");
        let status = gone["problem"]["status"].as_u64();
        assert!(matches!(status, Some(404 | 400)), "{gone}");
        assert!(gone["problem"]["detail"].as_str().is_some_and(|detail| detail.len() > 20), "{gone}");
    }
    // All other topics continue.
    page.until("the grid", |page| is_told(page, "grid"));
    // A topic that goes away while it is watched.
    page.say(&json!({"watch": [format!("tree/{run}"), format!("run/{run}")]}).to_string())
        .expect("an open socket");
    page.until("the tree", |page| (page.tree(run).frames > 0).then_some(()));
    assert_eq!(server.post(&format!("/api/v1/runs/{run}/cancel"), b"").0, 202);
    eventually("the end", || (server.run(run)["state"] == "cancelled").then_some(()));
    assert_eq!(server.delete(&format!("/api/v1/runs/{run}")).0, 204);
    page.until("both are gone", |page| (page.gone.len() == 7).then_some(()));
}

#[test]
fn a_page_that_sends_nonsense_gets_the_reason_and_is_cut_off() {
    let server = Server::start();
    let nine: Vec<String> = (1..=9).map(|run| format!("run/{run}")).collect();
    let long = json!({"watch": ["x".repeat(5000)]}).to_string();
    for (said, why) in [
        ("hello", "expected {\"watch\":[TOPIC"),
        (r#"{"watch":"grid"}"#, "expected {\"watch\":[TOPIC"),
        (r#"{"watch":[],"surprise":1}"#, "surprise"),
        (&json!({"watch": nine}).to_string(), "9 topics"),
        (&long, "too long"),
    ] {
        let mut page = Watcher::connect(&server.address);
        page.say(said).expect("an open socket");
        let closed = page.closed();
        assert!(closed.contains(why), "{said}: {closed}");
        let told = page.gone.pop().expect("a sentence");
        assert!(told["problem"]["detail"].as_str().is_some_and(|detail| detail.contains(why)), "{told}");
    }
    let mut page = Watcher::connect(&server.address);
    for _ in 0..50 {
        let _ = page.say(r#"{"watch":[]}"#);
    }
    assert!(page.closed().contains("too many messages"));
    assert_eq!(server.json("/api/v1/status")["watchers"], 0);
}

#[test]
fn pages_that_watch_are_counted() {
    let server = Server::start();
    let counted = |count: u32| {
        eventually("the metric", || {
            let text = String::from_utf8(server.get("/metrics").1).expect("text");
            let values = text.lines().filter_map(|line| line.strip_prefix("sateen_watchers "));
            values
                .filter_map(|value| value.parse().ok())
                .any(|value: f64| value == f64::from(count))
                .then_some(())
        });
        assert_eq!(server.json("/api/v1/status")["watchers"], count);
    };
    counted(0);
    let page = Watcher::open(&server.address, &["grid"]);
    let other = Watcher::open(&server.address, &["grid"]);
    counted(2);
    drop(page);
    counted(1);
    drop(other);
    counted(0);
}

#[test]
fn foreign_pages_may_not_watch() {
    let server = Server::start();
    let stream = TcpStream::connect(&server.address).expect("it listens");
    let request = tokio_tungstenite::tungstenite::http::Request::builder()
        .uri(format!("ws://{}/ws/watch", server.address))
        .header("Host", &server.address)
        .header("Origin", "http://evil.example")
        .header("Connection", "Upgrade")
        .header("Upgrade", "websocket")
        .header("Sec-WebSocket-Version", "13")
        .header("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")
        .body(())
        .expect("a request");
    assert!(client(request, stream).is_err());
    assert_eq!(server.get("/ws/watch").0, 400);
}

/// A page that reads nothing: it costs others nothing, and when it reads again it receives the newest state.
#[test]
fn a_slow_page_misses_steps_and_nothing_else() {
    let (server, mut host, run) = begun();
    let (given, _) = host.take_root();
    let topic = format!("tree/{run}");
    let mut slow = Watcher::open(&server.address, &["grid", &topic]);
    let mut quick = Watcher::open(&server.address, &[&topic]);
    slow.until("the tree", |page| (page.tree(run).frames > 0).then_some(()));
    for round in 0..12_u64 {
        let jobs = (0..900).map(|job| note(1 + round * 900 + job, BEGUN));
        host.send(&[report(given, jobs.collect())]);
        std::thread::sleep(Duration::from_millis(100));
    }
    let all = 12 * 900;
    quick.until("all jobs", |page| (page.tree(run).records.len() == all).then_some(()));
    slow.until("all jobs, late", |page| (page.tree(run).records.len() == all).then_some(()));
    assert_eq!(slow.tree(run).records.len(), quick.tree(run).records.len());
}

#[test]
fn a_page_sees_the_same_after_the_coordinators_restart() {
    let (server, mut host, run) = begun();
    let (given, _) = host.take_root();
    // Its workers cannot have been busy for longer than the run is old: that would be in no row.
    std::thread::sleep(Duration::from_millis(60));
    host.send(&[report(given, vec![note(1, BEGUN), note(2, BEGUN), note(2, NoteKind::Done { work_ns: 9 })])]);
    let topics = [format!("run/{run}"), format!("tree/{run}")];
    let topics: Vec<&str> = topics.iter().map(String::as_str).collect();
    let look = |server: &Server| {
        let mut page = Watcher::open(&server.address, &topics);
        page.until("both jobs", |page| {
            let done = page.tree(run).records.get(&1).is_some_and(|record| record.state == 1);
            (done && is_told(page, topics[0]).is_some()).then_some(())
        });
        (format!("{:?}", page.tree(run).records), page.value(topics[0])["depths"].clone())
    };
    let before = look(&server);
    let rows = |server: &Server| {
        let timeline = server.json(&format!("/api/v1/runs/{run}/timeline"));
        timeline["rows"].as_array().map_or(0, Vec::len)
    };
    assert_eq!(rows(&server), 2, "{:#}", server.json(&format!("/api/v1/runs/{run}/timeline")));
    // Charts are saved every other second, or when the disk has time: one save may be under way, one waiting, and the
    // third has all that was seen.
    let database = server.folder.path().join("state.sqlite");
    let charts = || {
        let connection = rusqlite::Connection::open(&database).ok()?;
        let sql = "SELECT looks FROM looks WHERE run = ?1";
        connection.query_row(sql, [run as i64], |row| row.get::<_, Vec<u8>>(0)).ok()
    };
    for _ in 0..3 {
        let saved = charts();
        eventually("the charts are saved again", || {
            // A host that sends nothing would be given up meanwhile.
            host.send(&[ToCoordinator::Pong { ping: 0 }]);
            charts().filter(|now| Some(now) != saved.as_ref())
        });
    }
    let server = server.kill_and_restart();
    assert_eq!(look(&server), before);
    let details = server.json(&format!("/api/v1/runs/{run}/overview"));
    let kinds: Vec<&str> = details["events"]
        .as_array()
        .expect("events")
        .iter()
        .filter_map(|event| event["kind"].as_str())
        .collect();
    assert_eq!(kinds.first(), Some(&"submitted"));
    assert!(kinds.contains(&"coordinator_restarted"), "{kinds:?}");
    assert_eq!(rows(&server), 2, "{:#}", server.json(&format!("/api/v1/runs/{run}/timeline")));
}
