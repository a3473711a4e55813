//! Quotas of one address: names of apps, results, places for runs.

use std::process::Stdio;

use sateen_protocol::message::{ToCoordinator, ToHost};
use sateen_protocol::{AssignmentId, RunId};
use serde_json::{Value, json};

use crate::host::{Host, text};
use crate::server::{Answer, RawRequest, Server, app, command, detail, eventually};

/// Maximum runs that are given to hosts at once.
const RUNS_ACTIVE: usize = 8;

fn start(words: &[&str]) -> Server {
    let folder = tempfile::tempdir().expect("a folder");
    let child = command(folder.path()).args(words).stdout(Stdio::piped()).spawn().expect("it starts");
    Server::from_child(child, folder)
}

fn publish(server: &Server, from: &str, name: &str, module: &[u8]) -> Answer {
    server.post_from(from, &format!("/api/v1/apps?name={name}"), module)
}

fn unpublish(server: &Server, from: &str, name: &str) -> Answer {
    let mut raw = RawRequest::open(&server.address, from);
    let request = format!(
        "DELETE /api/v1/apps/{name} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
        server.address
    );
    raw.send(request.as_bytes());
    raw.answer()
}

/// A run submitted from an address and begun by a host.
fn begin(server: &Server, from: &str, host: &mut Host) -> (RunId, AssignmentId) {
    let submission = json!({"app": "probe", "arguments": ["1"]}).to_string();
    let (status, body) = server.post_from(from, "/api/v1/runs", submission.as_bytes());
    assert_eq!(status, 201, "{}", String::from_utf8_lossy(&body));
    host.take_root()
}

fn end(server: &Server, host: &mut Host, (run, number): (RunId, AssignmentId), bytes: usize) -> Value {
    host.finish(run, number, text(&"x".repeat(bytes)));
    host.await_acknowledgement(run);
    server.run(run.0)
}

#[test]
fn results_have_a_limit_that_is_reported_and_kept_results_stay() {
    // One address may use an eighth of it.
    let server = start(&["--results-max", "2M"]);
    server.publish();
    let (mut host, _) = Host::join(&server.address, "one");
    let first = begin(&server, "127.66.0.1", &mut host);
    assert_eq!(end(&server, &mut host, first, 200 << 10)["state"], "done");
    let second = begin(&server, "127.66.0.1", &mut host);
    let over = end(&server, &mut host, second, 100 << 10);
    assert_eq!((&over["state"], &over["error"]["kind"]), (&"failed".into(), &"limit".into()), "{over}");
    let why = over["error"]["message"].as_str().unwrap_or_default();
    assert!(why.contains("was not kept") && why.contains("127.66.0.1") && why.contains("sateen rm"), "{why}");
    let (status, why) = detail(server.get(&format!("/api/v1/runs/{}/result", second.0)));
    assert!(status == 410 && why.contains("was not kept"), "{status} {why}");
    let kept = |server: &Server| server.get(&format!("/api/v1/runs/{}/result", first.0));
    assert_eq!(kept(&server).0, 200);
    // Small results are kept, until no run is accepted any more. Another address has room.
    let submission = json!({"app": "probe", "arguments": ["1"]}).to_string();
    let submit = |server: &Server, from: &str| server.post_from(from, "/api/v1/runs", submission.as_bytes());
    let mut more = 0;
    while submit(&server, "127.66.0.1").0 == 201 {
        let run = host.take_root();
        assert_eq!(end(&server, &mut host, run, 9)["state"], "done");
        more += 1;
        assert!(more < 20, "there is no limit");
    }
    let (status, why) = detail(submit(&server, "127.66.0.1"));
    assert!(status == 507 && why.contains("--results-max"), "{status} {why}");
    let other = begin(&server, "127.66.0.2", &mut host);
    assert_eq!(end(&server, &mut host, other, 200 << 10)["state"], "done");

    // Their owners are known after a restart; deleting a run makes room.
    let folder = server.kill();
    let child = command(folder.path())
        .args(["--results-max", "2M"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let server = Server::from_child(child, folder);
    assert_eq!((submit(&server, "127.66.0.1").0, kept(&server).0), (507, 200));
    assert_eq!(server.delete(&format!("/api/v1/runs/{}", first.0)).0, 204);
    assert_eq!(submit(&server, "127.66.0.1").0, 201);
}

#[test]
fn a_name_can_be_released_by_its_owner_only() {
    let server = Server::start();
    let (first, second) = (app(""), app("(func)"));
    assert_eq!(publish(&server, "127.66.0.1", "probe", &first).0, 201);
    assert_eq!(publish(&server, "127.66.0.1", "probe", &second).0, 201);
    let run = server.submit();
    let (status, why) = detail(unpublish(&server, "127.66.0.2", "probe"));
    assert!(status == 403 && why.contains("127.66.0.1"), "{status} {why}");
    assert_eq!(unpublish(&server, "127.66.0.1", "probe").0, 204);
    assert_eq!(server.json("/api/v1/apps"), json!([]));
    let (status, why) = detail(unpublish(&server, "127.66.0.1", "probe"));
    assert!(status == 404 && why.contains("no app is published under the name `probe`"), "{status} {why}");
    let (status, why) = detail(server.get("/api/v1/apps/probe"));
    assert!(status == 404 && why.contains("no app is published under the name `probe`"), "{status} {why}");
    // The run still has its app, and its jobs have their names; another owner may take the name.
    let (mut host, _) = Host::join(&server.address, "one");
    assert_eq!(host.take_root().0, RunId(run));
    assert_eq!(server.json(&format!("/api/v1/runs/{run}/overview"))["kinds"], json!(["work"]));
    assert_eq!(publish(&server, "127.66.0.2", "probe", &first).0, 201);
}

#[test]
fn a_name_that_differs_in_case_only_is_refused() {
    let server = Server::start();
    assert_eq!(publish(&server, "127.66.0.1", "probe", &app("")).0, 201);
    for from in ["127.66.0.1", "127.66.0.2"] {
        let (status, why) = detail(publish(&server, from, "Probe", &app("(func)")));
        assert!(status == 409 && why.contains("`probe`") && why.contains("case only"), "{status} {why}");
    }
    assert_eq!(publish(&server, "127.66.0.1", "probe", &app("(func)")).0, 201);
}

#[test]
fn one_address_publishes_a_limited_number_of_modules() {
    const MOST: usize = 1024;
    let server = Server::start();
    publish(&server, "127.66.0.1", "n0", &app(""));
    // As fast as possible: they are written to the database between two starts.
    let folder = server.kill();
    let database = rusqlite::Connection::open(folder.path().join("state.sqlite")).expect("opens");
    for number in 1..MOST {
        let sql = "INSERT INTO app_names (name, hash, published_at_ms, published_from)
            SELECT 'n' || ?1, hash, ?1, published_from FROM app_names WHERE name = 'n0'";
        database.execute(sql, [number as i64]).expect("inserted");
        let sql = "INSERT INTO name_owners (name, address) VALUES ('n' || ?1, '127.66.0.1')";
        database.execute(sql, [number as i64]).expect("inserted");
    }
    drop(database);
    let server = Server::start_in(folder);
    let (status, why) = detail(publish(&server, "127.66.0.1", "more", &app("")));
    assert!(status == 507 && why.contains("sateen unpublish"), "{status} {why}");
    // Another module under one of its names counts, the same one does not.
    assert_eq!(publish(&server, "127.66.0.1", "n7", &app("(func)")).0, 507);
    assert_eq!(publish(&server, "127.66.0.1", "n7", &app("")).0, 200);
    assert_eq!(publish(&server, "127.66.0.2", "more", &app("")).0, 200);
    assert_eq!(unpublish(&server, "127.66.0.1", "n9").0, 204);
    assert_eq!(publish(&server, "127.66.0.1", "less", &app("")).0, 200);
}

#[test]
fn a_run_that_waits_for_a_place_names_those_that_have_them() {
    let server = Server::start();
    server.publish();
    let (mut host, _) = Host::join(&server.address, "one");
    for _ in 0..RUNS_ACTIVE - 1 {
        begin(&server, "127.66.0.7", &mut host);
    }
    begin(&server, "127.66.0.8", &mut host);
    let waits = server.submit();
    let waiting_for =
        |server: &Server| server.run(waits)["waiting_for"].as_str().unwrap_or_default().to_owned();
    let why = eventually("what it waits for", || Some(waiting_for(&server)).filter(|why| !why.is_empty()));
    let expected = "7 runs of 127.66.0.7, 1 run of 127.66.0.8 have all places; run 1 has had its place the longest, \
                    for ";
    assert!(why.starts_with(expected), "{why}");
    // Pages show the same, also after a restart, as soon as hosts are connected.
    let listed = server.json("/api/v1/runs");
    assert!(listed[0]["waiting_for"].as_str().is_some_and(|why| why.starts_with(expected)), "{listed}");
    let server = server.kill_and_restart();
    eventually("the same", || waiting_for(&server).starts_with("7 runs of 127.66.0.7, ").then_some(()));
}

/// The bytes of the database and its log.
fn database_bytes(server: &Server) -> u64 {
    let files = std::fs::read_dir(server.folder.path()).expect("a folder").flatten();
    let of_database = files.filter(|file| file.file_name().to_string_lossy().starts_with("state.sqlite"));
    of_database.map(|file| file.metadata().map_or(0, |about| about.len())).sum()
}

#[test]
fn arguments_of_cancelled_runs_are_bounded_on_the_disk() {
    const ARGUMENT_BYTES: usize = 200 << 10;
    let server = start(&["--results-max", "8M"]);
    server.publish();
    let (mut host, _) = Host::join(&server.address, "one");
    let kept = begin(&server, "127.66.0.1", &mut host);
    assert_eq!(end(&server, &mut host, kept, 100 << 10)["state"], "done");
    let submission = json!({"app": "probe", "arguments": ["x".repeat(ARGUMENT_BYTES)]}).to_string();
    let mut runs = Vec::new();
    for _ in 0..100 {
        let (status, body) = server.post_from("127.66.0.1", "/api/v1/runs", submission.as_bytes());
        assert_eq!(status, 201, "{}", String::from_utf8_lossy(&body));
        let run = serde_json::from_slice::<Value>(&body).expect("JSON")["run"].as_u64().expect("a number");
        assert_eq!(server.post_from("127.66.0.1", &format!("/api/v1/runs/{run}/cancel"), b"").0, 202);
        eventually("the end", || (server.run(run)["counted"] != "so_far").then_some(()));
        runs.push(run);
    }
    // The newest are kept, and so is a result, however old.
    let is_kept = |run: u64| server.get(&format!("/api/v1/runs/{run}")).0 == 200;
    let newest = runs.iter().rev().take_while(|run| is_kept(**run)).count();
    assert!((2..6).contains(&newest), "{newest} are kept");
    assert!(runs.iter().rev().skip(newest).all(|run| !is_kept(*run)), "the oldest go first");
    assert_eq!(server.get(&format!("/api/v1/runs/{}/result", kept.0)).0, 200);
    // 20 MB have been submitted.
    let before = database_bytes(&server);
    assert!(before < 12 << 20, "{before} bytes");
    // A deleted run's space is given back.
    let mut server = server;
    assert!(server.terminate().success());
    let folder = std::mem::replace(&mut server.folder, tempfile::tempdir().expect("a folder"));
    let size = |folder: &std::path::Path| folder.join("state.sqlite").metadata().expect("a database").len();
    let before = size(folder.path());
    let mut server = Server::start_in(folder);
    for run in runs.iter().rev().take(newest) {
        assert_eq!(server.delete(&format!("/api/v1/runs/{run}")).0, 204);
    }
    assert!(server.terminate().success());
    let after = size(server.folder.path());
    assert!(after + (newest * ARGUMENT_BYTES) as u64 <= before, "{after} bytes of {before}");
}

#[test]
fn one_address_does_not_keep_others_from_places() {
    let server = Server::start();
    server.publish();
    let (mut host, _) = Host::join(&server.address, "one");
    let of_first: Vec<RunId> = (0..RUNS_ACTIVE).map(|_| begin(&server, "127.66.0.7", &mut host).0).collect();
    let submission = json!({"app": "probe", "arguments": ["1"]}).to_string();
    let submit = |from: &str| {
        let (status, body) = server.post_from(from, "/api/v1/runs", submission.as_bytes());
        assert_eq!(status, 201);
        RunId(serde_json::from_slice::<Value>(&body).expect("JSON")["run"].as_u64().expect("a number"))
    };
    let more_of_first = submit("127.66.0.7");
    let second = submit("127.66.0.8");
    // The first has all places, until its newest run has had its own for a while.
    let newest = of_first[RUNS_ACTIVE - 1];
    let dropped = host.until(|message| match message {
        ToHost::SuspendRun { run } => Some(*run),
        _ => None,
    });
    assert_eq!(dropped, newest);
    host.send(&[ToCoordinator::Suspended { run: newest }]);
    let (begun, number) = host.take_root();
    assert_eq!(begun, second);
    let state = |run: RunId| server.run(run.0)["state"].as_str().unwrap_or_default().to_owned();
    eventually("it waits for another turn", || (state(newest) == "queued").then_some(()));
    // It is older than the run that never had a turn, so it is next.
    host.finish(second, number, text("9"));
    assert_eq!(host.take_root().0, newest);
    assert_eq!((state(newest).as_str(), state(more_of_first).as_str()), ("running", "queued"));
    // A place that is free goes to the address with the fewest runs under way.
    let third = submit("127.66.0.9");
    assert_eq!(server.post_from("127.66.0.7", &format!("/api/v1/runs/{}/cancel", of_first[0]), b"").0, 202);
    assert_eq!(host.take_root().0, third);
}
