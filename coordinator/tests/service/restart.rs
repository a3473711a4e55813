//! Ways to stop the process, and what the next one knows.

use std::time::Duration;

use sateen_protocol::message::{JobNote, NoteKind, ToCoordinator, ToHost, WorkerTimes};
use sateen_protocol::{Counts, Entry, EntryState, Finished, JobKey, JobTag, Jobs, Lineage, ROOT_KIND};

use crate::host::{Host, said, text};
use crate::server::{Server, detail, eventually};

/// Chronicles are saved twice a second, without anyone waiting for that.
const SAVED_WITHIN: Duration = Duration::from_millis(1500);

#[test]
fn acknowledged_changes_survive_kill_9() {
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
    let (mut host, _) = Host::join(&server.address, "one");
    let (given, number) = host.take_root();
    host.finish(given, number, text("42"));
    host.await_acknowledgement(given);
    let server = server.kill_and_restart();
    assert_eq!(server.get(&format!("/api/v1/runs/{run}/result")), (200, b"42".to_vec()));
    let over = server.run(run);
    assert_eq!((&over["state"], &over["by_host"]), (&"done".into(), &serde_json::json!([])));
}

#[test]
fn a_host_that_comes_back_continues_its_root_job() {
    let server = Server::start();
    server.publish();
    let run = server.submit();
    let (mut host, identity) = Host::join(&server.address, "one");
    let root = host.take_root_with_proof();
    let server = server.kill_and_restart();
    assert_eq!(server.run(run)["state"], "running");
    let (mut host, again) = Host::join_as(&server.address, "one", Some(identity), vec![root]);
    assert_eq!(again, identity);
    host.finish(root.run, root.number, text("42"));
    host.await_acknowledgement(root.run);
    assert_eq!(server.get(&format!("/api/v1/runs/{run}/result")), (200, b"42".to_vec()));
}

#[test]
fn after_sigterm_links_are_closed_with_a_reason_and_the_store_is_one_file() {
    let mut server = Server::start();
    server.publish();
    let run = server.submit();
    let (mut host, _) = Host::join(&server.address, "one");
    let status = std::thread::scope(|scope| {
        let address = server.url(&format!("/api/v1/runs/{run}/wait?timeout_s=600"));
        let waiting = scope.spawn(move || {
            let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
            agent.get(address).call().map(|response| response.status().as_u16()).ok()
        });
        host.until(|message| matches!(message, ToHost::StartRun { .. }).then_some(()));
        let status = server.terminate();
        // Either it was waiting already and is answered, or it came too late.
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
fn chronicles_survive_kill_9() {
    let server = Server::start();
    server.publish();
    let run = server.submit();
    let (mut one, _) = Host::join(&server.address, "one");
    let (given, number) = one.take_root();
    let note = |job, kind, what, parameters| JobNote {
        job: JobTag(job),
        parent: (job > 1).then_some(JobTag(1)),
        kind,
        depth: u32::from(job > 1),
        what,
        ago_ms: 0,
        parameters,
        shares: false,
    };
    let begun = NoteKind::Begun { victim: None, redone: false, worker: 0 };
    let jobs = Jobs { spawned: 9, executed: 8, ..Jobs::default() };
    let counts = Counts { jobs, busy: 2, workers: 2, work_ns: 7, ..Counts::default() };
    let counts = Box::new(counts);
    let progress = Some((3, 4));
    let notes = vec![note(1, ROOT_KIND, begun, None), note(2, 0, begun, Some(vec![5]))];
    one.send(&[
        ToCoordinator::Counts {
            run: given,
            series: 1,
            counts: counts.clone(),
            progress,
            notes,
            ahead_ns: None,
            notes_dropped: 5,
            workers: Vec::new(),
        },
        said(given),
    ]);
    eventually("the counts are there", || (server.run(run)["jobs"]["spawned"] == 9).then_some(()));
    drop(one);
    let (mut two, identity) = Host::join(&server.address, "two");
    let root_of_two = two.take_root_with_proof();
    let number_of_two = root_of_two.number;
    assert_ne!(number, number_of_two);
    let notes = vec![note(1, ROOT_KIND, begun, None), note(2, 0, NoteKind::Done { work_ns: 7 }, None)];
    two.send(&[ToCoordinator::Counts {
        run: given,
        series: 1,
        counts: counts.clone(),
        progress: None,
        notes,
        ahead_ns: None,
        notes_dropped: 0,
        workers: Vec::new(),
    }]);
    eventually("both counts are there", || (server.run(run)["jobs"]["spawned"] == 18).then_some(()));
    let looks = |server: &Server| {
        let mut about = server.run(run);
        // Hosts have to report again what is connected and computing; until then the run waits for them.
        about["elapsed_s"].take();
        about["waiting_for"].take();
        if let Some(about) = about.as_object_mut() {
            about.remove("held_up_by");
        }
        for host in about["by_host"].as_array_mut().into_iter().flatten() {
            host["there"].take();
            host["away"].take();
            host["busy"].take();
        }
        let tree = server.json(&format!("/api/v1/runs/{run}/tree"));
        let job = server.json("/api/v1/jobs/0000000000000002");
        (about, tree, server.json(&format!("/api/v1/runs/{run}/log")), job)
    };
    let before = looks(&server);
    assert_eq!((&before.0["root_losses"], &before.0["hosts"]), (&1.into(), &2.into()));
    let database = server.folder.path().join("state.sqlite");
    eventually("it is saved", || {
        let connection = rusqlite::Connection::open(&database).ok()?;
        let saved: Vec<u8> = connection
            .query_row("SELECT standing FROM standings WHERE run = ?1", [run as i64], |row| row.get(0))
            .ok()?;
        // The name of the second host comes with its counts.
        let mut rows = connection.prepare("SELECT row FROM standing_rows WHERE run = ?1").ok()?;
        let rows = rows.query_map([run as i64], |row| row.get::<_, Vec<u8>>(0)).ok()?.flatten();
        let names = rows.filter(|row| row.windows(3).any(|bytes| bytes == b"two"));
        (!saved.is_empty() && names.count() == 1).then_some(())
    });
    std::thread::sleep(SAVED_WITHIN);
    let server = server.kill_and_restart();
    assert_eq!(looks(&server), before);

    // Its host comes back with the root: nothing was lost.
    let (mut two, _) = Host::join_as(&server.address, "two", Some(identity), vec![root_of_two]);
    assert_eq!(server.run(run)["root_losses"], 1);
    two.finish(given, number_of_two, text("42"));
    two.await_acknowledgement(given);
    // Notes after the end are recorded as well.
    let notes = vec![note(1, ROOT_KIND, NoteKind::Done { work_ns: 9 }, None)];
    let last = ToCoordinator::Counts {
        run: given,
        series: 1,
        counts: counts.clone(),
        progress: None,
        notes,
        ahead_ns: None,
        notes_dropped: 0,
        workers: Vec::new(),
    };
    two.send(&[last, ToCoordinator::Stopped { run: given }]);
    // What the first host counted last is not known.
    eventually("the root is done in the tree, and the counts are as final as they get", || {
        let tree = server.json(&format!("/api/v1/runs/{run}/tree"));
        (tree["nodes"][0]["state"] == "done" && server.run(run)["counted"] == "partial").then_some(())
    });
    let before = looks(&server);
    std::thread::sleep(SAVED_WITHIN);
    let server = server.kill_and_restart();
    assert_eq!(looks(&server), before);
}

#[test]
fn a_root_whose_host_went_while_the_coordinator_was_away_is_counted_as_lost() {
    let server = Server::start();
    server.publish();
    let run = server.submit();
    let (mut one, _) = Host::join(&server.address, "one");
    one.take_root();
    std::thread::sleep(SAVED_WITHIN);
    let server = server.kill_and_restart();
    drop(one);
    let (mut two, _) = Host::join(&server.address, "two");
    two.take_root();
    assert_eq!(server.run(run)["root_losses"], 1);
}

/// As after a power cut of both. It is known without other hosts coming, and counted once.
#[test]
fn a_host_that_never_comes_back_is_lost_with_its_root() {
    let mut server = Server::start();
    server.publish();
    let run = server.submit();
    let (mut one, _) = Host::join(&server.address, "one");
    one.take_root();
    let (mut two, _) = Host::join(&server.address, "two");
    two.send(&[ToCoordinator::Leaving]);
    eventually("the second has left", || {
        (server.json("/api/v1/hosts").as_array().map(Vec::len) == Some(1)).then_some(())
    });
    std::thread::sleep(SAVED_WITHIN);
    server = server.kill_and_restart();
    drop(one);
    let gone =
        |server: &Server, how: &str| sample(server, &format!("sateen_hosts_gone_total{{how=\"{how}\"}}"));
    eventually("the loss of the root is counted", || (server.run(run)["root_losses"] == 1).then_some(()));
    eventually("the loss of the host is counted", || (gone(&server, "crashed") == 1.0).then_some(()));
    assert_eq!((gone(&server, "left"), sample(&server, "sateen_hosts_joined_total")), (0.0, 1.0));
    assert_eq!(sample(&server, "sateen_root_losses_total"), 1.0);
    let kinds = |server: &Server| -> Vec<String> {
        let overview = server.json(&format!("/api/v1/runs/{run}/overview"));
        let events = overview["events"].as_array().expect("events");
        events.iter().filter_map(|event| Some(event["kind"].as_str()?.to_owned())).collect()
    };
    let count = |kind: &str, kinds: &[String]| kinds.iter().filter(|known| *known == kind).count();
    assert_eq!(count("root_lost", &kinds(&server)), 1, "{:?}", kinds(&server));
    std::thread::sleep(SAVED_WITHIN);
    server = server.kill_and_restart();
    std::thread::sleep(sateen_protocol::limits::RESTART_GRACE + SAVED_WITHIN);
    assert_eq!(server.run(run)["root_losses"], 1);
    assert_eq!((gone(&server, "crashed"), sample(&server, "sateen_hosts_joined_total")), (0.0, 0.0));
}

/// The coordinator and a host were killed together: nothing was said to be lost, although the host's last counts were, and
/// the run seemed to begin with the restart.
#[test]
fn counts_of_a_host_that_was_lost_with_the_coordinator_are_partial() {
    for comes_back in [true, false] {
        let server = Server::start();
        server.publish();
        let run = server.submit();
        let (mut one, identity) = Host::join(&server.address, "one");
        let root = one.take_root_with_proof();
        let counted = |work_ns| ToCoordinator::Counts {
            run: root.run,
            series: 1,
            counts: Box::new(Counts { work_ns, workers: 1, ..Counts::default() }),
            progress: None,
            notes: Vec::new(),
            ahead_ns: None,
            notes_dropped: 0,
            workers: vec![WorkerTimes::default()],
        };
        one.send(&[counted(7)]);
        std::thread::sleep(SAVED_WITHIN);
        let server = server.kill_and_restart();
        drop(one);
        let (mut host, number) = if comes_back {
            let (back, _) = Host::join_as(&server.address, "one", Some(identity), vec![root]);
            (back, root.number)
        } else {
            let (mut two, _) = Host::join(&server.address, "two");
            let number = two.take_root().1;
            (two, number)
        };
        host.send(&[counted(4_000_000_000)]);
        host.finish(root.run, number, text("42"));
        host.await_acknowledgement(root.run);
        host.send(&[ToCoordinator::Stopped { run: root.run }]);
        let about = eventually("its figures are as final as they get", || {
            let about = server.run(run);
            (about["counted"] != "so_far").then_some(about)
        });
        let expected = if comes_back { "final" } else { "partial" };
        assert_eq!(about["counted"], expected, "{about:#}");
        for figure in ["answer_work_s", "lost_work_s"] {
            assert_eq!(about[figure].is_null(), !comes_back, "{figure}: {about:#}");
        }
        let overview = server.json(&format!("/api/v1/runs/{run}/overview"));
        assert_eq!(overview["events"][0]["kind"], "submitted", "{overview:#}");
    }
}

/// A host joined when it first came, and not when the coordinator was restarted.
#[test]
fn a_host_that_comes_back_after_a_restart_keeps_its_time_of_joining() {
    let mut server = Server::start();
    let (host, identity) = Host::join(&server.address, "one");
    // Hosts whose links break leave nothing behind that could be given up before the next restart.
    let mut links = vec![host];
    let since = |server: &Server| server.json("/api/v1/hosts")[0]["since"].clone();
    let joined = since(&server);
    assert!(joined.is_string(), "{joined}");
    for _ in 0..2 {
        std::thread::sleep(SAVED_WITHIN);
        server = server.kill_and_restart();
        let (back, again) = Host::join_as(&server.address, "one", Some(identity), Vec::new());
        assert_eq!((again, since(&server)), (identity, joined.clone()));
        links.push(back);
    }
}

fn sample(server: &Server, name: &str) -> f64 {
    let (_, text) = server.get("/metrics");
    let text = String::from_utf8(text).expect("text");
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    value.unwrap_or_else(|| panic!("{name} is not in {text}"))
}

#[test]
fn a_root_whose_host_leaves_is_not_lost() {
    let server = Server::start();
    server.publish();
    let run = server.submit();
    let (mut one, _) = Host::join(&server.address, "one");
    one.take_root();
    one.send(&[ToCoordinator::Leaving]);
    let (mut two, _) = Host::join(&server.address, "two");
    two.take_root();
    assert_eq!(server.run(run)["root_losses"], 0);
}

#[test]
fn entries_of_a_run_survive_kill_9() {
    let server = Server::start();
    server.publish();
    let run = server.submit();
    let (mut host, _) = Host::join(&server.address, "one");
    let (given, _) = host.take_root();
    let finished = Finished { outcome: text("1"), work_ns: 9, span_ns: 9 };
    let entry = |byte| Entry {
        key: JobKey([byte; 32]),
        depth: 1,
        lineage: Lineage::default(),
        state: EntryState::Done(finished.clone()),
        is_earlier: false,
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
