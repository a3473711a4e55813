//! The API without any host.

use serde_json::Value;

use crate::server::{RawRequest, Server, app, detail};

fn body(answer: &(u16, Vec<u8>)) -> Value {
    serde_json::from_slice(&answer.1).expect("JSON")
}

#[test]
fn the_service_describes_itself() {
    let server = Server::start();
    assert_eq!(server.get("/healthz").0, 200);
    assert_eq!(server.get("/readyz").0, 200);
    let version = server.json("/version");
    assert_eq!(version["name"], "sateen-coordinator");
    assert_eq!(version["grid"].as_str().map(str::len), Some(16));
    let (status, page) = server.get("/");
    assert!(status == 200 && String::from_utf8_lossy(&page).contains("<title>Sateen"));
    let status = server.json("/api/v1/status");
    assert_eq!((status["hosts"].as_u64(), &status["trouble"]), (Some(0), &Value::Null));
    let (_, metrics) = server.get("/metrics");
    let metrics = String::from_utf8(metrics).expect("text");
    assert!(
        metrics.contains("\nsateen_hosts{state=\"idle\"} 0.0\n") && metrics.ends_with("# EOF\n"),
        "{metrics}"
    );
    assert_eq!(detail(server.get("/nothing")).0, 404);
    assert_eq!(detail(server.post("/version", b"")).0, 405);
    assert_eq!(detail(server.get("/ws/host")).0, 400);
}

#[test]
fn apps_are_found_by_name_hash_and_prefix() {
    let server = Server::start();
    let module = app("");
    let first = server.post("/api/v1/apps?name=probe", &module);
    assert_eq!(first.0, 201);
    assert_eq!(server.post("/api/v1/apps?name=probe", &module).0, 200);
    let app_json = body(&first);
    let hash = app_json["hash"].as_str().expect("a hash").to_owned();
    assert_eq!(hash, blake3::hash(&module).to_hex().to_string());
    assert_eq!(app_json["entry_points"], serde_json::json!(["main", "other"]));
    assert_eq!(app_json["jobs"], serde_json::json!(["work"]));
    assert_eq!(app_json["determinism"], "integer");
    for known in [hash.as_str(), &hash[..6], &hash[..9].to_uppercase(), "probe"] {
        assert_eq!(server.json(&format!("/api/v1/apps/{known}"))["hash"], hash.as_str(), "{known}");
    }
    for unknown in [&hash[..5], "nothing", "000000"] {
        assert_eq!(detail(server.get(&format!("/api/v1/apps/{unknown}"))).0, 404, "{unknown}");
    }
    assert_eq!(server.get(&format!("/api/v1/blobs/{hash}")), (200, module));
}

#[test]
fn a_name_stands_for_its_newest_module() {
    let server = Server::start();
    let newer = app("(func)");
    assert_eq!(server.post("/api/v1/apps?name=probe", &app("")).0, 201);
    assert_eq!(server.post("/api/v1/apps?name=probe", &newer).0, 201);
    let newer = blake3::hash(&newer).to_hex().to_string();
    assert_eq!(server.json("/api/v1/apps/probe")["hash"], newer.as_str());
    assert_eq!(server.post("/api/v1/apps?name=probe", &app("")).0, 200);
    assert_ne!(server.json("/api/v1/apps/probe")["hash"], newer.as_str());
    assert_eq!(server.json("/api/v1/apps").as_array().map(Vec::len), Some(2));
}

#[test]
fn a_name_never_stands_for_another_apps_hash() {
    let server = Server::start();
    let hash = server.publish();
    let evil = app("(func)");
    for name in [hash.as_str(), &hash[..6], &hash[..40], &hash.to_uppercase(), "facade", "123456"] {
        let (status, why) = detail(server.post(&format!("/api/v1/apps?name={name}"), &evil));
        assert!(status == 400 && why.contains("hash"), "{name}: {status} {why}");
    }
    assert_eq!(server.json(&format!("/api/v1/apps/{hash}"))["hash"], hash.as_str());

    // Older versions accepted such names: a hash still stands for its app.
    let evil_hash = blake3::hash(&evil).to_hex().to_string();
    assert_eq!(server.post("/api/v1/apps?name=evil", &evil).0, 201);
    let folder = server.kill();
    let database = rusqlite::Connection::open(folder.path().join("state.sqlite")).expect("opens");
    for (name, like) in
        [(hash.clone(), "evil"), ("decade".to_owned(), "evil"), (hash[..8].to_owned(), "evil")]
    {
        let sql = "INSERT INTO app_names (name, hash, published_at_ms) SELECT ?1, hash, 1 FROM app_names WHERE name = ?2";
        database.execute(sql, [&name, like]).expect("inserted");
    }
    drop(database);
    let server = Server::start_in(folder);
    for (asked, meant) in [(hash.as_str(), &hash), (&hash[..8], &hash), ("decade", &evil_hash)] {
        assert_eq!(server.json(&format!("/api/v1/apps/{asked}"))["hash"], meant.as_str(), "{asked}");
    }
    let submission = format!(r#"{{"app":"{hash}","arguments":["1"]}}"#);
    let (status, body) = server.post("/api/v1/runs", submission.as_bytes());
    assert_eq!(status, 201);
    let run = serde_json::from_slice::<Value>(&body).expect("JSON")["run"].as_u64().expect("a number");
    assert_eq!(server.run(run)["app"]["hash"], hash.as_str());
}

/// If there is no file `fib.wasm`, `sateen submit fib.wasm` must not run an app that a stranger published under that name.
#[test]
fn a_name_never_stands_for_a_file() {
    let server = Server::start();
    for name in ["fib.wasm", "Fib.WASM", ".wasm"] {
        let (status, why) = detail(server.post(&format!("/api/v1/apps?name={name}"), &app("")));
        assert!(status == 400 && why.contains("looks like that of a file"), "{why}");
    }
    assert_eq!(server.post("/api/v1/apps?name=wasm", &app("")).0, 201);
}

#[test]
fn a_name_belongs_to_its_first_publisher() {
    let server = Server::start();
    let (first, second) = (app(""), app("(func)"));
    let from = |address: &str, name: &str, module: &[u8]| {
        server.post_from(address, &format!("/api/v1/apps?name={name}"), module)
    };
    assert_eq!(from("127.0.0.2", "probe", &first).0, 201);
    for module in [&first, &second] {
        let (status, why) = detail(from("127.0.0.3", "probe", module));
        assert!(status == 409 && why.contains("`probe` belongs to") && why.contains("127.0.0.2"), "{why}");
    }
    assert_eq!(server.json("/api/v1/apps").as_array().map(Vec::len), Some(1));
    assert_eq!(from("127.0.0.3", "other", &second).0, 201);
    assert_eq!(from("127.0.0.2", "probe", &second).0, 200);
    // A restart does not change that.
    let server = server.kill_and_restart();
    assert_eq!(server.post_from("127.0.0.3", "/api/v1/apps?name=probe", &first).0, 409);
    assert_eq!(server.post_from("127.0.0.2", "/api/v1/apps?name=probe", &first).0, 200);
}

#[test]
fn names_of_older_versions_keep_their_owners() {
    let server = Server::start();
    server.publish();
    let folder = server.kill();
    let database = rusqlite::Connection::open(folder.path().join("state.sqlite")).expect("opens");
    let older = "DROP INDEX runs_by_end; DROP TABLE kept_results; DROP TABLE kept_sums; ALTER TABLE standings DROP COLUMN checks_work_ns; ALTER TABLE looks DROP COLUMN checking;
        DROP TABLE host_keys; DROP TABLE tokens; DROP TABLE audit; DROP INDEX runs_by_token;
        ALTER TABLE runs DROP COLUMN submitted_by; DROP TABLE name_owners;
        DROP TABLE standing_rows; DROP TABLE blobs; DROP TABLE hosts;
        ALTER TABLE chronicles DROP COLUMN latest; ALTER TABLE chronicles DROP COLUMN absences;
        ALTER TABLE chronicles DROP COLUMN lent;
        ALTER TABLE standings DROP COLUMN long_gone; DROP INDEX runs_by_app;
        ALTER TABLE runs DROP COLUMN submitted_from; UPDATE schema SET version = 4;
        INSERT INTO app_names (name, hash, published_at_ms) SELECT 'older', hash, 1 FROM app_names";
    database.execute_batch(older).expect("changed");
    drop(database);
    let server = Server::start_in(folder);
    let post = |from, name| server.post_from(from, &format!("/api/v1/apps?name={name}"), &app("")).0;
    assert_eq!((post("127.0.0.2", "probe"), post("127.0.0.1", "probe")), (409, 200));
    // The address of this one's owner is not known.
    assert_eq!(post("127.0.0.1", "older"), 200);
}

#[test]
fn invalid_apps_are_refused() {
    let server = Server::start();
    for (module, word) in [
        (b"hello".to_vec(), "magic number"),
        (wat::parse_str("(module)").expect("valid"), "sateen_abi_1"),
        (wat::parse_str(r#"(module (func (export "sateen_abi_9")))"#).expect("valid"), "version 9"),
        (app("")[..40].to_vec(), "not a valid module"),
    ] {
        let (status, why) = detail(server.post("/api/v1/apps?name=probe", &module));
        assert!(status == 422 && why.contains(word), "{status} {why}");
    }
    assert_eq!(detail(server.post("/api/v1/apps", &app(""))).0, 400);
    for name in ["", "a%20b", "..", "a%2Fb", &"x".repeat(65)] {
        assert_eq!(detail(server.post(&format!("/api/v1/apps?name={name}"), &app(""))).0, 400, "{name}");
    }
    assert_eq!(server.json("/api/v1/apps"), serde_json::json!([]));
}

#[test]
fn blobs_are_verified() {
    let server = Server::start();
    let hash = blake3::hash(b"input").to_hex();
    let path = format!("/api/v1/blobs/{hash}");
    assert_eq!(detail(server.get(&path)).0, 404);
    assert_eq!(detail(server.put(&path, b"other")).0, 422);
    assert_eq!(server.put(&path, b"input").0, 201);
    assert_eq!(server.put(&path, b"input").0, 200);
    assert_eq!(server.get(&path), (200, b"input".to_vec()));
    let head = ureq::head(server.url(&path)).call().expect("it is there");
    assert_eq!(head.headers().get("content-length").and_then(|bytes| bytes.to_str().ok()), Some("5"));
    assert_eq!(detail(server.put("/api/v1/blobs/12", b"input")).0, 400);
    std::fs::write(server.folder.path().join("blobs").join(hash.as_str()), b"inbut").expect("written");
    let (status, why) = detail(server.get(&path));
    assert!(status == 410 && why.contains("damaged"), "{why}");
    // A client that asks whether the blob has to be uploaded learns that.
    assert_eq!(detail(server.get(&path)).0, 404);
    assert_eq!(server.put(&path, b"input").0, 201);
    assert_eq!(server.get(&path), (200, b"input".to_vec()));
}

#[test]
fn a_blob_that_is_too_long_is_refused() {
    let server = Server::start();
    let bytes = vec![0; (64 << 20) + 1];
    let hash = blake3::hash(&bytes).to_hex();
    let (status, why) = detail(server.put(&format!("/api/v1/blobs/{hash}"), &bytes));
    assert!(status == 413 && why.contains("larger than 64 MiB"), "{why}");
}

/// A client sees the answer although it sends all of the body before it reads anything, and a late byte of it does not reset
/// the connection.
#[test]
fn a_body_far_beyond_the_limit_is_answered() {
    let server = Server::start();
    let piece = vec![0; 1 << 20];
    for (path, expected, why) in [
        ("/api/v1/apps?name=large", 413, "larger than 64 MiB"),
        ("/api/v1/blobs", 413, "larger than 64 MiB"),
        ("/api/v1/runs", 413, "larger than 1 MiB"),
        ("/api/v1/apps", 400, "?name=NAME"),
    ] {
        let mut raw = RawRequest::open(&server.address, "127.66.0.1");
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
            server.address,
            200 << 20
        );
        raw.send(head.as_bytes());
        (0..200).for_each(|_| raw.send(&piece));
        let (status, sentence) = detail(raw.answer());
        assert!(status == expected && sentence.contains(why), "{path}: {status} {sentence}");
    }
}

#[test]
fn a_limit_on_memory_that_is_less_than_what_the_app_begins_with_is_refused() {
    let server = Server::start();
    let text = r#"(module (memory (export "memory") 3)
        (func (export "sateen_abi_1")) (func (export "sateen_main_main")))"#;
    let module = wat::parse_str(text).expect("valid");
    assert_eq!(server.post("/api/v1/apps?name=large", &module).0, 201);
    let submit = |bytes: u64| {
        let submission = serde_json::json!({"app": "large", "limits": {"memory_bytes": bytes}});
        server.post("/api/v1/runs", submission.to_string().as_bytes())
    };
    let (status, why) = detail(submit(65_536));
    assert!(status == 422 && why.contains("begins with 192 KiB") && why.contains("64 KiB"), "{status} {why}");
    let (status, why) = detail(submit((3 << 16) - 1));
    assert!(status == 422 && why.contains("196608 bytes") && why.contains("196607 bytes"), "{status} {why}");
    let (status, why) = detail(submit(1 << 40));
    assert!(status == 422 && why.contains("limit on memory"), "{status} {why}");
    assert_eq!(submit(3 << 16).0, 201);
}

#[test]
fn wrong_submissions_are_refused_in_a_sentence() {
    let server = Server::start();
    server.publish();
    let many = format!(r#"{{"app":"probe","arguments":{}}}"#, serde_json::json!(vec!["x"; 5000]));
    let blob = "0".repeat(64);
    for (submission, status, word) in [
        (r#"{"app":"nothing"}"#, 404, "sateen publish"),
        (r#"{"app":"probe","function":"absent"}"#, 422, "main, other"),
        (&many, 422, "5000 arguments"),
        (&format!(r#"{{"app":"probe","inputs":{{"a":"{blob}"}}}}"#), 422, "upload it"),
        (r#"{"app":"probe","inputs":{"a":"no hash"}}"#, 422, "upload it"),
        (r#"{"app":"probe","record_every_ms":0}"#, 422, "record_every_ms"),
        (r#"{"app":"probe","trust":"quorum=9"}"#, 422, "N from 2 to 5"),
        (r#"{"app":"probe","priority":"urgent"}"#, 422, "expected one of low, normal, high"),
        (r#"{"app":"probe","stealing":"often"}"#, 400, "cluster-aware"),
        (r#"{"app":"probe","surprise":1}"#, 400, "surprise"),
        (r#"{"app":"#, 400, "invalid submission"),
        ("", 400, "invalid submission"),
    ] {
        let (found, why) = detail(server.post("/api/v1/runs", submission.as_bytes()));
        assert!(found == status && why.contains(word), "{submission}: {found} {why}");
    }
    assert_eq!(server.json("/api/v1/runs"), serde_json::json!([]));
}

#[test]
fn runs_that_do_not_exist_are_not_found() {
    let server = Server::start();
    for page in ["", "/wait", "/result", "/tree", "/log"] {
        assert_eq!(detail(server.get(&format!("/api/v1/runs/7{page}"))).0, 404, "{page}");
        assert_eq!(detail(server.get(&format!("/api/v1/runs/seven{page}"))).0, 400, "{page}");
    }
    for action in ["cancel", "suspend", "resume"] {
        assert_eq!(detail(server.post(&format!("/api/v1/runs/7/{action}"), b"")).0, 404);
    }
    assert_eq!(detail(server.get("/api/v1/runs?state=odd")).0, 400);
}

#[test]
fn a_run_without_hosts_waits_and_shows_the_reason() {
    let server = Server::start();
    let hash = server.publish();
    let run = server.submit();
    let seen = server.run(run);
    assert_eq!((&seen["state"], &seen["app"]["hash"]), (&"queued".into(), &hash.as_str().into()));
    assert!(seen["waiting_for"].as_str().is_some_and(|why| why.contains("sateen-host")), "{seen}");
    assert_eq!(detail(server.get(&format!("/api/v1/runs/{run}/result"))).0, 409);
    let waited = server.json(&format!("/api/v1/runs/{run}/wait?timeout_s=0.05"));
    assert_eq!(waited["state"], "queued");

    let suspended = server.post(&format!("/api/v1/runs/{run}/suspend"), b"");
    assert_eq!((suspended.0, &body(&suspended)["state"]), (202, &"suspended".into()));
    assert_eq!(detail(server.post(&format!("/api/v1/runs/{run}/suspend"), b"")).0, 409);
    assert_eq!(server.post(&format!("/api/v1/runs/{run}/resume"), b"").0, 202);
    assert_eq!(detail(server.post(&format!("/api/v1/runs/{run}/resume"), b"")).0, 409);
    assert_eq!(server.post(&format!("/api/v1/runs/{run}/cancel"), b"").0, 202);
    let (status, why) = detail(server.post(&format!("/api/v1/runs/{run}/cancel"), b""));
    assert!(status == 409 && why.ends_with("cannot be cancelled: it was cancelled"), "{why}");
    assert_eq!(detail(server.get(&format!("/api/v1/runs/{run}/result"))).0, 410);

    let other = server.submit();
    let listed = server.json("/api/v1/runs");
    assert_eq!((&listed[0]["run"], &listed[1]["run"]), (&other.into(), &run.into()));
    assert_eq!(server.json("/api/v1/runs?limit=1").as_array().map(Vec::len), Some(1));
    assert_eq!(server.json("/api/v1/runs?state=cancelled")[0]["run"], run);
}

#[test]
fn foreign_pages_may_not_use_the_api() {
    let server = Server::start();
    let own = format!("http://{}", server.address);
    assert_eq!(server.get_with("/api/v1/runs", ("Origin", &own)).0, 200);
    assert_eq!(detail(server.get_with("/api/v1/runs", ("Origin", "http://evil.example"))).0, 403);
    assert_eq!(detail(server.get_with("/api/v1/runs", ("Host", "evil.example"))).0, 421);
}
