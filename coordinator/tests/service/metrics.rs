//! Metrics, whatever hosts report.

use std::collections::BTreeMap;
use std::time::Duration;

use sateen_protocol::message::ToCoordinator;
use sateen_protocol::{Counts, HeldCounts, Jobs, Latencies, Scope};

use crate::host::{Host, said, text};
use crate::server::{Server, eventually};

fn samples(server: &Server) -> BTreeMap<String, f64> {
    let (status, text) = server.get("/metrics");
    assert_eq!(status, 200);
    let text = String::from_utf8(text).expect("text");
    let samples = text.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let (sample, value) = line.rsplit_once(' ').expect("a sample and a value");
        let value: f64 = value.parse().expect("a number");
        assert!(value.is_finite() && value >= 0.0, "{line}");
        (sample.to_owned(), value)
    });
    samples.collect()
}

fn grows(sample: &str) -> bool {
    let name = sample.split('{').next().unwrap_or_default();
    ["_total", "_bucket", "_count", "_sum"].iter().any(|end| name.ends_with(end))
}

/// A host's largest claims, followed by a claim that it has done next to nothing.
#[test]
fn absurd_reports_break_no_metric() {
    let server = Server::start();
    server.publish();
    let run = server.submit();
    let (mut host, _) = Host::join(&server.address, "liar");
    let (given, _) = host.take_root();
    let held = HeldCounts { begun: u64::MAX, done: u64::MAX, failed: u64::MAX, aborted: u64::MAX };
    let mut absurd = Counts {
        jobs: Jobs { spawned: u64::MAX, exposed: u64::MAX, executed: u64::MAX, ..Jobs::default() },
        work_ns: u64::MAX,
        redone_work_ns: u64::MAX,
        held: [held; 2],
        busy: u32::MAX,
        workers: u32::MAX,
        ..Counts::default()
    };
    for scope in Scope::ALL {
        let counts = absurd.steals.of(scope);
        (counts.jobs, counts.refused, counts.unanswered) = (u64::MAX, u64::MAX, u64::MAX);
        counts.latencies = Latencies { buckets: [u64::MAX; 13], sum_ns: u64::MAX };
    }
    let little = Counts { jobs: Jobs { spawned: 1, ..Jobs::default() }, ..Counts::default() };
    let mut before = samples(&server);
    for (before_it, counts) in [absurd, little, absurd].into_iter().enumerate() {
        let (counts, notes) = (Box::new(counts), Vec::new());
        let workers = Vec::new();
        let notes_dropped = 0;
        host.send(&[ToCoordinator::Counts {
            run: given,
            series: 1,
            counts,
            progress: None,
            notes,
            ahead_ns: None,
            notes_dropped,
            workers,
        }]);
        // Its next message is handled when this one was.
        host.send(&[said(given)]);
        eventually("the report is there", || {
            let log = server.json(&format!("/api/v1/runs/{run}/log"));
            (log["lines"].as_array().map(Vec::len) == Some(before_it + 1)).then_some(())
        });
        let now = samples(&server);
        for (sample, value) in before.iter().filter(|(sample, _)| grows(sample)) {
            assert!(now[sample] >= *value, "{sample} fell from {value} to {}", now[sample]);
        }
        before = now;
    }
    assert_eq!(before["sateen_jobs_spawned_total"], u64::MAX as f64);
}

/// Counts from before a restart belong to the run, and are not a jump of a new process's counter.
#[test]
fn counters_begin_at_zero_also_for_older_runs() {
    let server = Server::start();
    server.publish();
    let run = server.submit();
    let (mut host, identity) = Host::join(&server.address, "one");
    let root = host.take_root_with_proof();
    let report = |spawned| ToCoordinator::Counts {
        run: root.run,
        series: 1,
        counts: Box::new(Counts { jobs: Jobs { spawned, ..Jobs::default() }, ..Counts::default() }),
        progress: None,
        notes: Vec::new(),
        ahead_ns: None,
        notes_dropped: 0,
        workers: Vec::new(),
    };
    host.send(&[report(9)]);
    let spawned = |server: &Server| samples(server)["sateen_jobs_spawned_total"];
    eventually("the counts are there", || (spawned(&server) == 9.0).then_some(()));
    std::thread::sleep(Duration::from_millis(1500));
    let server = server.kill_and_restart();
    assert_eq!((spawned(&server), &server.run(run)["jobs"]["spawned"]), (0.0, &9.into()));
    let (mut host, _) = Host::join_as(&server.address, "one", Some(identity), vec![root]);
    host.send(&[report(12)]);
    eventually("more counts are there", || (server.run(run)["jobs"]["spawned"] == 12).then_some(()));
    assert_eq!(spawned(&server), 3.0);
    host.finish(root.run, root.number, text("42"));
    host.send(&[said(root.run)]);
    eventually("the run is over", || (server.run(run)["state"] == "done").then_some(()));
    assert_eq!(spawned(&server), 3.0);
}
