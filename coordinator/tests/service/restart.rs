//! Ends of the process, and what the next one knows.

use sateen_protocol::message::ToHost;

use crate::host::{Host, text};
use crate::server::{Server, detail, eventually};

#[test]
fn what_was_acknowledged_survives_kill_9() {
    let mut server = Server::start();
    let hash = server.publish();
    let input = blake3::hash(b"input").to_hex();
    assert_eq!(server.put(&format!("/api/v1/blobs/{input}"), b"input").0, 201);
    let grid = server.json("/version")["grid"].clone();
    for round in 1..=5 {
        let run = server.submit();
        assert_eq!(run, round);
        server = server.kill_and_restart();
        assert_eq!(server.run(run)["state"], "queued");
    }
    assert_eq!(server.json("/api/v1/apps/probe")["hash"], hash.as_str());
    assert_eq!(server.get(&format!("/api/v1/blobs/{input}")), (200, b"input".to_vec()));
    assert_eq!(server.json("/version")["grid"], grid);
    assert_eq!(server.post("/api/v1/runs/2/cancel", b"").0, 202);
    server = server.kill_and_restart();
    assert_eq!(server.run(2)["state"], "cancelled");
    assert_eq!(server.submit(), 6);
}

#[test]
fn a_result_that_a_host_may_forget_survives_kill_9() {
    let server = Server::start();
    server.publish();
    let run = server.submit();
    let (mut host, _) = Host::join(&server, "one");
    let (given, number) = host.take_root();
    host.finish(given, number, text("42"));
    host.await_acknowledgement(given);
    let server = server.kill_and_restart();
    assert_eq!(server.get(&format!("/api/v1/runs/{run}/result")), (200, b"42".to_vec()));
    let over = server.run(run);
    assert_eq!((&over["state"], &over["by_host"]), (&"done".into(), &serde_json::json!([])));
}

#[test]
fn a_host_that_comes_back_goes_on_with_its_root_job() {
    let server = Server::start();
    server.publish();
    let run = server.submit();
    let (mut host, identity) = Host::join(&server, "one");
    let (given, number) = host.take_root();
    let server = server.kill_and_restart();
    assert_eq!(server.run(run)["state"], "running");
    let (mut host, again) = Host::join_as(&server, "one", Some(identity), vec![(given, number)]);
    assert_eq!(again, identity);
    host.finish(given, number, text("42"));
    host.await_acknowledgement(given);
    assert_eq!(server.get(&format!("/api/v1/runs/{run}/result")), (200, b"42".to_vec()));
}

#[test]
fn terminated_it_says_goodbye_and_leaves_one_file() {
    let mut server = Server::start();
    server.publish();
    let run = server.submit();
    let (mut host, _) = Host::join(&server, "one");
    let status = std::thread::scope(|scope| {
        let address = server.url(&format!("/api/v1/runs/{run}/wait?timeout_s=600"));
        let waiting = scope.spawn(move || {
            let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
            agent.get(address).call().map(|response| response.status().as_u16()).ok()
        });
        host.until(|message| matches!(message, ToHost::StartRun { .. }).then_some(()));
        let status = server.terminate();
        // Either it waited already and is told, or it came too late.
        assert!(matches!(waiting.join().expect("no panic"), Some(503) | None));
        status
    });
    assert_eq!(status.code(), Some(0));
    let (_, reason) = host.cut_off();
    assert_eq!(reason, "the coordinator is shutting down");
    let wal = server.folder.path().join("state.sqlite-wal");
    assert!(std::fs::metadata(wal).map_or(0, |file| file.len()) == 0, "the store was not checkpointed");
}

#[test]
fn entries_of_a_run_survive_kill_9() {
    use sateen_protocol::message::ToCoordinator;
    use sateen_protocol::{Entry, EntryState, Finished, JobKey, Lineage};
    let server = Server::start();
    server.publish();
    let run = server.submit();
    let (mut host, _) = Host::join(&server, "one");
    let (given, _) = host.take_root();
    let finished = Finished { outcome: text("1"), work_ns: 9, span_ns: 9 };
    let entry = |byte| Entry {
        key: JobKey([byte; 32]),
        depth: 1,
        lineage: Lineage::default(),
        state: EntryState::Done(finished.clone()),
    };
    host.send(&[ToCoordinator::Entries { run: given, entries: (1..=7).map(entry).collect() }]);
    let database = server.folder.path().join("state.sqlite");
    eventually("the entries are saved", || {
        let connection = rusqlite::Connection::open(&database).ok()?;
        let count: i64 = connection.query_row("SELECT count(*) FROM entries", [], |row| row.get(0)).ok()?;
        (count == 7).then_some(())
    });
    let server = server.kill_and_restart();
    assert_eq!(server.run(run)["table"]["entries"], 7);
    assert_eq!(server.post(&format!("/api/v1/runs/{run}/cancel"), b"").0, 202);
    let connection = rusqlite::Connection::open(server.folder.path().join("state.sqlite")).expect("opens");
    let count: i64 =
        connection.query_row("SELECT count(*) FROM entries", [], |row| row.get(0)).expect("counts");
    assert_eq!(count, 0);
    assert_eq!(detail(server.get(&format!("/api/v1/runs/{run}/result"))).0, 410);
}
