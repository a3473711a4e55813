//! Runs from submission to result, with simulated hosts.

use sateen_protocol::message::{JobNote, NoteKind, ToCoordinator, ToHost};
use sateen_protocol::{Counts, JobFailure, JobTag, Jobs, MainOutcome, Outcome, ROOT_KIND, RunId};
use serde_json::json;

use crate::host::{Host, main_outcome, said, text};
use crate::server::{Server, detail, eventually};

#[test]
fn a_run_ends_with_the_roots_result() {
    let server = Server::start();
    server.publish();
    let run = server.submit();
    let (mut host, (id, ..)) = Host::join(&server.address, "one");
    let (given, number) = host.take_root();
    assert_eq!(given, RunId(run));
    let seen = server.run(run);
    assert_eq!((&seen["state"], &seen["root_host"]), (&"running".into(), &id.to_string().into()));
    assert!(seen["started_at"].is_string());
    let hosts = server.json("/api/v1/hosts");
    assert_eq!((&hosts[0]["name"], &hosts[0]["connected"]), (&"one".into(), &true.into()));

    let jobs = Jobs { spawned: 9, executed: 8, ..Jobs::default() };
    let counts = Counts { jobs, busy: 1, workers: 2, work_ns: 5_000_000_000, ..Counts::default() };
    let counts = Box::new(counts);
    let note = |job, kind, what| JobNote {
        job: JobTag(job),
        parent: (job > 1).then_some(JobTag(1)),
        kind,
        depth: 0,
        what,
        ago_ms: 0,
        parameters: (job == 2).then(|| vec![1, 0xab]),
        shares: false,
    };
    let begun = NoteKind::Begun { victim: None, redone: false, worker: 0 };
    let notes = vec![note(1, ROOT_KIND, begun), note(2, 0, begun), note(2, 0, NoteKind::Done { work_ns: 7 })];
    let progress = Some((3, 4));
    host.send(&[
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
        // Of a run that does not exist.
        said(RunId(99)),
    ]);
    let tree = eventually("the tree", || {
        let tree = server.json(&format!("/api/v1/runs/{run}/tree"));
        (tree["nodes"].as_array().is_some_and(|nodes| nodes.len() == 2)).then_some(tree)
    });
    assert_eq!(tree["left_out"], 5);
    assert_eq!(
        (&tree["nodes"][0]["function"], &tree["nodes"][1]["function"]),
        (&"main".into(), &"work".into())
    );
    assert_eq!((&tree["nodes"][1]["state"], &tree["nodes"][1]["host_name"]), (&"done".into(), &"one".into()));
    let log = eventually("the log", || {
        let log = server.json(&format!("/api/v1/runs/{run}/log"));
        log["lines"][0].is_object().then_some(log)
    });
    assert_eq!(log["lines"][0]["text"], "hello");
    // The tree has the job that wrote it.
    assert_eq!(
        (&log["lines"][0]["job"], &log["lines"][0]["tag"]),
        (&tree["nodes"][1]["function"], &tree["nodes"][1]["job"])
    );
    assert_eq!(server.json(&format!("/api/v1/runs/{run}/log?after=1"))["lines"], json!([]));
    assert_eq!(server.run(run)["progress"], json!({"done": 3, "total": 4}));
    a_job_is_found_by_its_key(&server, run);

    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| server.json(&format!("/api/v1/runs/{run}/wait?timeout_s=30")));
        host.finish(given, number, text("42"));
        host.await_acknowledgement(given);
        assert_eq!(waiting.join().expect("no panic")["state"], "done");
    });
    assert_eq!(server.get(&format!("/api/v1/runs/{run}/result")), (200, b"42".to_vec()));
    let over = server.run(run);
    assert_eq!(
        (&over["jobs"]["spawned"], &over["span_s"], &over["error"]),
        (&9.into(), &2.0.into(), &json!(null))
    );
    let by_host = &over["by_host"][0];
    assert_eq!(
        (&by_host["name"], &by_host["jobs"]["executed"], &by_host["busy"]),
        (&"one".into(), &8.into(), &0.into())
    );
    assert_eq!((&over["hosts"], &over["threads"]), (&1.into(), &2.into()));
}

/// A run with the root `1` and a job `2` with parameters.
fn a_job_is_found_by_its_key(server: &Server, run: u64) {
    let job = server.json("/api/v1/jobs/0000000000000002");
    assert_eq!(
        (&job["run"], &job["function"], &job["parameters"], &job["is_root"]),
        (&run.into(), &"work".into(), &"01ab".into(), &false.into())
    );
    assert_eq!(job["app"]["name"], "probe");
    // The other 48 digits are not known to the coordinator.
    let whole = format!("{:016x}{}", 1, "7".repeat(48));
    let root = server.json(&format!("/api/v1/jobs/{whole}?run={run}"));
    assert_eq!(
        (&root["function"], &root["parameters"], &root["is_root"], &root["arguments"]),
        (&"main".into(), &json!(null), &true.into(), &json!(["1"]))
    );
    for (key, status, why) in [
        ("00000000", 409, "give more digits"),
        ("0000000000000003", 404, "sateen tree"),
        ("0000000000000002?run=9", 404, "run 9"),
        ("1234567", 400, "is not a job's key"),
        ("work", 400, "is not a job's key"),
    ] {
        let (found, sentence) = detail(server.get(&format!("/api/v1/jobs/{key}")));
        assert!(found == status && sentence.contains(why), "{key}: {found} {sentence}");
    }
}

#[test]
fn kinds_of_failures_are_distinguished() {
    let server = Server::start();
    server.publish();
    let (mut host, _) = Host::join(&server.address, "one");
    let failure = JobFailure {
        job: "work".to_owned(),
        message: "divide by zero".to_owned(),
        backtrace: vec!["work".to_owned()],
    };
    let job = Outcome::Failed(postcard::to_allocvec(&failure).expect("encodes").into());
    for (outcome, kind, message) in [
        (main_outcome(&MainOutcome::Failed("no luck".to_owned())), "app", "no luck"),
        (main_outcome(&MainOutcome::BadInput("not a number".to_owned())), "input", "not a number"),
        (job, "job", "divide by zero"),
        (Outcome::Done(vec![77].into()), "app", "the module breaks the ABI: its outcome cannot be read"),
    ] {
        let run = server.submit();
        let (given, number) = host.take_root();
        host.finish(given, number, outcome);
        host.await_acknowledgement(given);
        let over = server.run(run);
        assert_eq!((&over["state"], &over["error"]["kind"]), (&"failed".into(), &kind.into()));
        assert!(over["error"]["message"].as_str().is_some_and(|text| text.starts_with(message)), "{over}");
        let (status, why) = detail(server.get(&format!("/api/v1/runs/{run}/result")));
        assert!(status == 410 && why.contains(message), "{why}");
    }
    let run = server.submit();
    let (given, _) = host.take_root();
    host.send(&[ToCoordinator::Limit { run: given, reason: "too much memory".to_owned() }]);
    let over = server.json(&format!("/api/v1/runs/{run}/wait"));
    assert_eq!(
        over["error"],
        json!({"kind": "limit", "message": "too much memory", "job": null, "backtrace": []})
    );
}

#[test]
fn bytes_are_returned_unchanged() {
    let server = Server::start();
    server.publish();
    let run = server.submit();
    let (mut host, _) = Host::join(&server.address, "one");
    let (given, number) = host.take_root();
    // Long enough to come in fragments.
    let bytes: Vec<u8> = (0..1_000_000_u32).map(|number| (number % 251) as u8).collect();
    host.finish(given, number, main_outcome(&MainOutcome::Bytes(bytes.clone())));
    host.await_acknowledgement(given);
    assert_eq!(server.get(&format!("/api/v1/runs/{run}/result")), (200, bytes));
}

/// A host that asked for jobs and got none took part, and did not work on the run.
#[test]
fn hosts_that_computed_nothing_are_not_counted_among_those_that_worked() {
    let server = Server::start();
    server.publish();
    let run = server.submit();
    let (mut one, _) = Host::join(&server.address, "one");
    let (given, number) = one.take_root();
    let (mut two, _) = Host::join(&server.address, "two");
    two.until(|message| matches!(message, ToHost::StartRun { .. }).then_some(()));
    let counted = |counts: Counts| ToCoordinator::Counts {
        run: given,
        series: 1,
        counts: Box::new(counts),
        progress: None,
        notes: Vec::new(),
        ahead_ns: None,
        notes_dropped: 0,
        workers: Vec::new(),
    };
    let idle = Counts { workers: 8, steal_requests: 40, ..Counts::default() };
    two.send(&[ToCoordinator::Ready { run: given }, counted(idle)]);
    one.send(&[counted(Counts { workers: 2, work_ns: 3, ..Counts::default() })]);
    let about = eventually("both have counted", || {
        let about = server.run(run);
        (about["by_host"].as_array().map(Vec::len) == Some(2) && about["hosts"] == 1).then_some(about)
    });
    assert_eq!(about["threads"], 2, "{about:#}");
    one.finish(given, number, text("42"));
    one.await_acknowledgement(given);
    for host in [&mut one, &mut two] {
        host.send(&[ToCoordinator::Stopped { run: given }]);
    }
    let about = eventually("its figures are final", || {
        let about = server.run(run);
        (about["counted"] == "final").then_some(about)
    });
    assert_eq!((&about["hosts"], &about["threads"]), (&1.into(), &2.into()), "{about:#}");
    let listed = &server.json("/api/v1/runs")[0];
    assert_eq!((&listed["hosts"], &listed["threads"]), (&1.into(), &2.into()), "{listed:#}");
}
