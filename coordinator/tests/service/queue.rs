//! Runs that wait for their turn: their room, and what they cost.

use std::time::Duration;

use crate::doors::assert_small;
use crate::host::Host;
use crate::server::{Server, app, detail, eventually};

#[test]
fn queued_runs_have_limited_room() {
    let server = Server::start();
    let echo = app("");
    server.post("/api/v1/apps?name=probe", &echo);
    let long = "x".repeat(250 << 10);
    let submission = serde_json::json!({"app": "probe", "arguments": [long]}).to_string();
    let submit = |from: &str| server.post_from(from, "/api/v1/runs", submission.as_bytes());
    let mut accepted = 0;
    let refused = loop {
        let answer = submit("127.66.0.1");
        if answer.0 != 201 {
            break detail(answer);
        }
        accepted += 1;
        assert!(accepted < 500, "there is no limit");
    };
    assert!(refused.0 == 429 && refused.1.contains("sateen cancel"), "{refused:?}");
    assert!(accepted >= 32, "{accepted}");
    // Another address may still submit, and lists are short.
    server.submit();
    let (status, list) = server.get("/api/v1/runs?limit=1000");
    assert!(status == 200 && list.len() < 1 << 20, "{} bytes", list.len());
    assert_eq!(
        server.run(1)["arguments"][0].as_str().map(str::len),
        Some(250 << 10),
        "alone it has all of them"
    );
    assert_small(&server);
    // When some have ended, there is room again.
    for run in 1..=5 {
        assert_eq!(server.post(&format!("/api/v1/runs/{run}/cancel"), b"").0, 202);
    }
    eventually("there is room again", || (submit("127.66.0.1").0 == 201).then_some(()));
}

/// A run that waits its turn takes next to no work.
#[test]
fn queued_runs_take_no_processor_time() {
    let server = Server::start();
    server.post("/api/v1/apps?name=probe", &app(""));
    let long = "x".repeat(25 << 10);
    let submission = serde_json::json!({"app": "probe", "arguments": [long]}).to_string();
    for _ in 0..500 {
        assert_eq!(server.post("/api/v1/runs", submission.as_bytes()).0, 201);
    }
    // With a connected host, and runs that are given to it.
    let (mut host, _) = Host::join(&server.address, "honest");
    host.take_root();
    std::thread::sleep(Duration::from_secs(2));
    let before = processor_s(&server);
    std::thread::sleep(Duration::from_secs(4));
    let used_s = processor_s(&server) - before;
    assert!(used_s < 1.0, "{used_s} s of 4");
    assert_small(&server);
}

/// proc(5): in hundredths of a second, behind a name in parentheses.
fn processor_s(server: &Server) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", server.pid().as_raw_nonzero()));
    let stat = stat.expect("it runs");
    let (_, fields) = stat.rsplit_once(')').expect("a name");
    let ticks = fields.split_ascii_whitespace().skip(11).take(2);
    ticks.map(|ticks| ticks.parse::<f64>().expect("a number")).sum::<f64>() / 100.0
}
