//! Lists of runs: all are found, page by page; and how long their chronicles are kept.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::host::{Host, text};
use crate::server::{Server, command, detail};

fn submit(server: &Server, arguments: &[&str]) -> u64 {
    let body = json!({"app": "probe", "arguments": arguments}).to_string();
    let (status, body) = server.post("/api/v1/runs", body.as_bytes());
    assert_eq!(status, 201, "{}", String::from_utf8_lossy(&body));
    serde_json::from_slice::<Value>(&body).expect("JSON")["run"].as_u64().expect("a number")
}

fn cancel(server: &Server, run: u64) {
    assert_eq!(server.post(&format!("/api/v1/runs/{run}/cancel"), b"").0, 202);
}

/// The numbers of the runs on all pages, and the number of pages.
fn pages(server: &Server, first: &str) -> (Vec<u64>, usize) {
    let (mut path, mut numbers, mut count) = (Some(first.to_owned()), Vec::new(), 0);
    while let Some(now) = path {
        let (body, link) = server.json_and_link(&now);
        numbers.extend(body.as_array().expect("a list").iter().filter_map(|run| run["run"].as_u64()));
        path = link.map(|link| {
            let (path, rest) = link.strip_prefix('<').and_then(|link| link.split_once('>')).expect("a path");
            assert_eq!(rest, "; rel=\"next\"");
            path.to_owned()
        });
        count += 1;
        assert!(count < 100, "pages have no end");
    }
    (numbers, count)
}

#[test]
fn all_runs_are_found_page_by_page() {
    let server = Server::start();
    server.publish();
    // The oldest run is the one that is looked for.
    let needle = submit(&server, &["Needle & thread"]);
    for number in 0..24 {
        submit(&server, &[&number.to_string()]);
    }
    cancel(&server, needle);
    let newest_first: Vec<u64> = (1..=25).rev().collect();
    assert_eq!(pages(&server, "/api/v1/runs?limit=7"), (newest_first.clone(), 4));
    assert_eq!(pages(&server, "/api/v1/runs"), (newest_first, 1));
    assert_eq!(pages(&server, "/api/v1/runs?limit=5&before=4").0, [3, 2, 1]);
    assert_eq!(pages(&server, "/api/v1/runs?limit=1&q=needle%20%26").0, [needle]);
    assert_eq!(pages(&server, "/api/v1/runs?state=cancelled,failed").0, [needle]);
    assert_eq!(pages(&server, "/api/v1/runs?limit=6&state=queued,running").0.len(), 24);
    assert_eq!(pages(&server, "/api/v1/runs?q=nowhere").0, [0; 0]);
    for (query, why) in [("state=over", "is not a state"), ("before=x", "before"), ("limit=-1", "limit")] {
        let (status, sentence) = detail(server.get(&format!("/api/v1/runs?{query}")));
        assert!(status == 400 && sentence.contains(why), "{query}: {status} {sentence}");
    }
    let (status, sentence) = detail(server.get(&format!("/api/v1/runs?q={}", "x".repeat(257))));
    assert!(status == 400 && sentence.contains("at most 256"), "{sentence}");
}

#[test]
fn at_most_the_configured_number_of_trees_is_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let child = command(folder.path()).args(["--trees-kept", "2"]).stdout(Stdio::piped()).spawn();
    let server = Server::from_child(child.expect("it starts"), folder);
    server.publish();
    let (mut host, _) = Host::join(&server.address, "one");
    let runs = [1, 2, 3].map(|_| {
        let run = server.submit();
        let (given, number) = host.take_root();
        host.finish(given, number, text("42"));
        host.await_acknowledgement(given);
        run
    });
    let kept = |server: &Server, run| server.json(&format!("/api/v1/runs/{run}/overview"))["is_kept"].clone();
    assert_eq!(runs.map(|run| kept(&server, run)), [json!(false), json!(true), json!(true)]);
    // Everything in the chronicle is gone together, and the error says where the rest is.
    let gone = ["tree", "log", "log?after=1", "timeline", "jobs.csv", "trace.json", "jobs/0000000000000001"];
    for page in gone.map(|page| format!("runs/{}/{page}", runs[0])) {
        let (status, why) = detail(server.get(&format!("/api/v1/{page}")));
        assert!(
            status == 410 && why.contains("no longer kept") && why.contains("sateen status"),
            "{page}: {why}"
        );
    }
    assert_eq!(detail(server.get(&format!("/api/v1/jobs/0000000000000001?run={}", runs[0]))).0, 410);
    assert_eq!(server.json(&format!("/api/v1/runs/{}/log", runs[1])), json!({"lines": [], "dropped": 0}));
    assert_eq!(server.get(&format!("/api/v1/runs/{}/result", runs[0])), (200, b"42".to_vec()));
}

#[test]
fn an_input_can_be_uploaded_without_its_hash() {
    let server = Server::start();
    let hash = blake3::hash(b"an input").to_hex().to_string();
    let expected = json!({"hash": hash, "bytes": 8});
    for status in [201, 200] {
        let (found, body) = server.post("/api/v1/blobs", b"an input");
        assert_eq!((found, serde_json::from_slice(&body).ok()), (status, Some(expected.clone())));
    }
    assert_eq!(server.get(&format!("/api/v1/blobs/{hash}")), (200, b"an input".to_vec()));
}
