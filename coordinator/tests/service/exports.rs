//! Jobs one by one, and all of them as files.

use std::time::{Duration, Instant};

use sateen_protocol::message::{JobNote, NoteKind, ToCoordinator};
use sateen_protocol::{Counts, JobTag, Jobs, ROOT_KIND};
use serde_json::Value;

use crate::host::{Host, text};
use crate::server::{PATIENCE, Server, detail, eventually};

/// A run of four jobs, at a host with this name. The last reads shared objects.
fn run_at(server: &Server, name: &str) -> u64 {
    server.publish();
    let run = server.submit();
    let (mut host, _) = Host::join(&server.address, name);
    let (given, number) = host.take_root();
    let note = |job: u64, what, parameters| JobNote {
        job: JobTag(job << 32),
        parent: (job > 1).then_some(JobTag(1 << 32)),
        kind: if job == 1 { ROOT_KIND } else { 0 },
        depth: u32::from(job > 1),
        what,
        ago_ms: 0,
        parameters,
        shares: job == 4,
    };
    let begun = NoteKind::Begun { victim: None, redone: false, worker: 0 };
    let notes = vec![
        note(1, begun, None),
        note(2, begun, Some(b"\x05hello".to_vec())),
        note(2, NoteKind::Done { work_ns: 2_000_000 }, None),
        note(3, begun, None),
        note(4, begun, Some(vec![7; 16])),
    ];
    let jobs = Jobs { spawned: 4, executed: 4, ..Jobs::default() };
    let counts = Counts { jobs, ..Counts::default() };
    host.send(&[ToCoordinator::Counts {
        run: given,
        series: 1,
        counts: Box::new(counts),
        progress: None,
        notes,
        ahead_ns: None,
        notes_dropped: 0,
        workers: Vec::new(),
    }]);
    host.finish(given, number, text("42"));
    host.await_acknowledgement(given);
    eventually("the jobs", || {
        let tree = server.json(&format!("/api/v1/runs/{run}/tree"));
        (tree["nodes"].as_array()?.len() == 4).then_some(())
    });
    run
}

#[test]
fn one_job_is_shown_in_full() {
    let server = Server::start();
    let run = run_at(&server, "one");
    let root = server.json(&format!("/api/v1/runs/{run}/jobs/{:016x}", 1_u64 << 32));
    assert_eq!(
        (&root["function"], &root["is_root"], &root["parameters_text"]),
        (&"main".into(), &true.into(), &"1".into())
    );
    assert_eq!(root["children"].as_array().map(Vec::len), Some(3));
    assert_eq!(
        (&root["children"][0]["state"], &root["children"][0]["work_s"]),
        (&"done".into(), &0.002.into())
    );
    let job = server.json(&format!("/api/v1/runs/{run}/jobs/{:016x}", 2_u64 << 32));
    assert_eq!((&job["parameters"], &job["parameters_text"]), (&"0568656c6c6f".into(), &"hello".into()));
    assert_eq!((&job["parent"], &job["state"]), (&root["job"], &"done".into()));
    assert_eq!(job["replay"], format!("sateen replay {} --run {run}", job["job"].as_str().expect("a key")));
    // It did not end before the run did.
    let job = server.json(&format!("/api/v1/runs/{run}/jobs/{:016x}", 3_u64 << 32));
    assert_eq!(
        (&job["state"], &job["parameters"], &job["replay"]),
        (&"aborted".into(), &Value::Null, &Value::Null)
    );
    assert!(job["parameters_why"].is_string());
    // Only its run has the objects that it reads.
    let job = server.json(&format!("/api/v1/runs/{run}/jobs/{:016x}", 4_u64 << 32));
    assert_eq!((&job["parameters"], &job["replay"]), (&"07".repeat(16).into(), &Value::Null));
    let (status, why) = detail(server.get("/api/v1/jobs/0000000400000000"));
    assert!(status == 410 && why.contains("reads shared objects of run"), "{status}: {why}");
    for (job, status) in
        [("0000000900000000", 404), ("00000002", 200), ("00000000", 404), ("xyz", 400), ("0000", 400)]
    {
        assert_eq!(server.get(&format!("/api/v1/runs/{run}/jobs/{job}")).0, status, "{job}");
    }
    assert_eq!(detail(server.get("/api/v1/runs/99/jobs/0000000200000000")).0, 404);
}

#[test]
fn all_jobs_come_as_files() {
    let server = Server::start();
    let run = run_at(&server, "=HYPERLINK(\"http://evil\"),\"x\"");
    let (status, csv) = server.get(&format!("/api/v1/runs/{run}/jobs.csv"));
    let csv = String::from_utf8(csv).expect("text");
    let lines: Vec<&str> = csv.split("\r\n").collect();
    assert_eq!((status, lines.len()), (200, 6));
    assert!(lines[0].starts_with("job,parent,function,"));
    assert!(lines[2].starts_with("0000000200000000,0000000100000000,work,1,"), "{}", lines[2]);
    assert!(
        lines[2].contains(",\"'=HYPERLINK(\"\"http://evil\"\"),\"\"x\"\"\",here,0,done,false,"),
        "{}",
        lines[2]
    );
    let trace = server.json(&format!("/api/v1/runs/{run}/trace.json"));
    let events = trace["traceEvents"].as_array().expect("events");
    assert_eq!(events.iter().filter(|event| event["ph"] == "X").count(), 4);
    let named =
        |name: &'static str| events.iter().filter(move |event| event["ph"] == "M" && event["name"] == name);
    assert_eq!(named("process_name").count(), 1);
    let lanes: Vec<&str> = named("thread_name").filter_map(|event| event["args"]["name"].as_str()).collect();
    assert_eq!(lanes[0], "worker 0", "{lanes:?}");
    for event in events.iter().filter(|event| event["ph"] == "X") {
        assert!(
            event["ts"].is_u64() && event["dur"].is_u64() && event["pid"] == 1 && event["name"].is_string()
        );
    }
    for file in ["jobs.csv", "trace.json", "timeline", "overview"] {
        assert_eq!(detail(server.get(&format!("/api/v1/runs/99/{file}"))).0, 404, "{file}");
        assert_eq!(detail(server.get(&format!("/api/v1/runs/x/{file}"))).0, 400, "{file}");
    }
    for query in ["from_ms=9&to_ms=3", "buckets=0", "buckets=601", "buckets=many", "from_ms=-1"] {
        assert_eq!(detail(server.get(&format!("/api/v1/runs/{run}/timeline?{query}"))).0, 400, "{query}");
    }
}

#[test]
fn a_finished_run_can_be_deleted() {
    let server = Server::start();
    let run = run_at(&server, "one");
    let other = server.submit();
    let (status, why) = detail(server.delete(&format!("/api/v1/runs/{other}")));
    assert!(status == 409 && why.contains("sateen cancel"), "{why}");
    assert_eq!(server.delete(&format!("/api/v1/runs/{run}")).0, 204);
    for page in [
        "",
        "/tree",
        "/log",
        "/result",
        "/overview",
        "/timeline",
        "/jobs.csv",
        "/trace.json",
        "/wait",
        "/jobs/0000000200000000",
    ] {
        let (status, why) = detail(server.get(&format!("/api/v1/runs/{run}{page}")));
        assert!(status == 404 && why.contains(&run.to_string()), "{page}: {status} {why}");
    }
    assert_eq!(detail(server.delete(&format!("/api/v1/runs/{run}"))).0, 404);
    let of_it = format!("/api/v1/jobs/0000000200000000?run={run}");
    assert!(
        matches!(detail(server.get(&of_it)), (404, why) if why.contains(&format!("there is no run {run}")))
    );
    for action in ["cancel", "suspend", "resume"] {
        assert_eq!(detail(server.post(&format!("/api/v1/runs/{run}/{action}"), b"")).0, 404, "{action}");
    }
    let server = server.kill_and_restart();
    assert_eq!(detail(server.get(&format!("/api/v1/runs/{run}"))).0, 404);
    assert_eq!(server.json("/api/v1/runs").as_array().map(Vec::len), Some(1));
}

/// Its host has not sent its last counts, so a request is waiting for its figures when it is deleted.
#[test]
fn a_request_that_waits_for_a_deleted_run_is_answered() {
    let server = Server::start();
    server.publish();
    let run = server.submit();
    let (mut host, _) = Host::join(&server.address, "one");
    let (given, number) = host.take_root();
    host.finish(given, number, text("42"));
    host.await_acknowledgement(given);
    let begun = Instant::now();
    std::thread::scope(|threads| {
        let waiting =
            threads.spawn(|| server.get(&format!("/api/v1/runs/{run}/wait?timeout_s=600&figures=true")));
        std::thread::sleep(Duration::from_millis(100));
        let is_waiting = !waiting.is_finished();
        assert_eq!(server.delete(&format!("/api/v1/runs/{run}")).0, 204);
        let (status, why) = detail(waiting.join().expect("it is answered"));
        if is_waiting {
            assert!(status == 404 && why.contains(&format!("there is no run {run}")), "{status} {why}");
        }
    });
    assert!(begun.elapsed() < PATIENCE, "it waits for what cannot come");
}

/// One worker runs the root, which waits, and meanwhile jobs that overlap one another.
#[test]
fn slices_of_a_trace_are_nested_or_apart() {
    let server = Server::start();
    server.publish();
    let run = server.submit();
    let (mut host, _) = Host::join(&server.address, "one");
    let (given, number) = host.take_root();
    let note = |job: u64, ago_ms, what| JobNote {
        job: JobTag(job),
        parent: (job > 1).then_some(JobTag(1)),
        kind: if job == 1 { ROOT_KIND } else { 0 },
        depth: u32::from(job > 1),
        what,
        ago_ms,
        parameters: None,
        shares: false,
    };
    let begun = NoteKind::Begun { victim: None, redone: false, worker: 0 };
    let done = NoteKind::Done { work_ns: 1 };
    // Times count from the run's submission, so some time has to pass.
    std::thread::sleep(Duration::from_millis(900));
    let notes = vec![
        note(1, 800, begun),
        note(2, 700, begun),
        note(3, 600, begun),
        note(2, 500, done),
        note(4, 450, begun),
        note(3, 400, done),
        note(4, 300, done),
    ];
    host.send(&[ToCoordinator::Counts {
        run: given,
        series: 1,
        counts: Box::default(),
        progress: None,
        notes,
        ahead_ns: None,
        notes_dropped: 0,
        workers: Vec::new(),
    }]);
    host.finish(given, number, text("42"));
    host.await_acknowledgement(given);
    let trace = eventually("the trace", || {
        let trace = server.json(&format!("/api/v1/runs/{run}/trace.json"));
        let slices = trace["traceEvents"].as_array()?.iter().filter(|event| event["ph"] == "X").count();
        (slices == 4).then_some(trace)
    });
    let slices: Vec<(u64, u64, u64)> = (trace["traceEvents"].as_array().expect("events").iter())
        .filter(|event| event["ph"] == "X")
        .map(|event| {
            let (track, from) =
                (event["tid"].as_u64().expect("a number"), event["ts"].as_u64().expect("a number"));
            (track, from, from + event["dur"].as_u64().expect("a number"))
        })
        .collect();
    for (at, a) in slices.iter().enumerate() {
        for b in &slices[at + 1..] {
            let is_apart = a.2 <= b.1 || b.2 <= a.1;
            let is_within = (a.1 <= b.1 && b.2 <= a.2) || (b.1 <= a.1 && a.2 <= b.2);
            assert!(a.0 != b.0 || is_apart || is_within, "{slices:?}");
        }
    }
    let tracks: std::collections::BTreeSet<u64> = slices.iter().map(|slice| slice.0).collect();
    assert_eq!(tracks.len(), 2, "{slices:?}");
}
