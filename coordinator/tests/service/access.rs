//! Tokens: what each scope may do, and how bad ones are refused.

use std::process::Command;
use std::time::Duration;

use sateen_tests::websocket::WebSocket;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::guarded::{Guarded, make_offline, start};
use crate::server::{RawRequest, Server, detail, eventually, program};

#[test]
fn without_a_token_nothing_but_the_service_itself_is_shown() {
    let guarded = Guarded::start();
    let server = &guarded.server;
    for path in ["/healthz", "/readyz", "/version", "/api/v1/openapi.json", "/login"] {
        assert_eq!(server.get(path).0, 200, "{path}");
    }
    for path in [
        "/metrics",
        "/api/v1/status",
        "/api/v1/overview",
        "/api/v1/hosts",
        "/api/v1/apps",
        "/api/v1/runs",
        "/api/v1/runs/1",
        "/api/v1/runs/1/result",
        "/api/v1/runs/1/wait",
        "/api/v1/jobs/0000000000000001?run=1",
        "/api/v1/me",
        "/api/v1/tokens",
        "/api/v1/audit",
    ] {
        let (status, why) = detail(server.get(path));
        assert_eq!(status, 401, "{path}");
        assert!(why.contains("sateen login") && why.contains("SATEEN_TOKEN"), "{why}");
    }
    for (method, path) in [
        ("POST", "/api/v1/runs"),
        ("POST", "/api/v1/apps?name=x"),
        ("POST", "/api/v1/tokens"),
        ("DELETE", "/api/v1/runs/1"),
    ] {
        assert_eq!(server.ask(method, path, &[], b"x").0, 401, "{method} {path}");
    }
    let address = server.address.parse().expect("an address");
    for path in ["/ws/host", "/ws/watch"] {
        let head = WebSocket::connect_with(address, path, "").err().expect("refused");
        assert!(
            head.starts_with("HTTP/1.1 401") && head.to_lowercase().contains("www-authenticate: bearer"),
            "{head}"
        );
    }
    let mut page = RawRequest::open(&server.address, "127.0.0.1");
    page.send(format!("GET /runs/1 HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").as_bytes());
    assert_eq!(page.answer().0, 303, "people are sent to the page where they log in");
}

#[test]
fn each_scope_may_do_its_part() {
    let guarded = Guarded::start();
    let tokens = ["volunteer", "submitter", "viewer"].map(|scope| guarded.token(scope, scope));
    let [volunteer, submitter, viewer] = &tokens;
    let hash = "0".repeat(64);
    let statuses = |method: &str, path: &str| {
        [volunteer, submitter, viewer, &guarded.admin].map(|token| guarded.ask_as(token, method, path, b"").0)
    };
    for (method, path, expected) in [
        ("GET", "/api/v1/me", [200, 200, 200, 200]),
        ("GET", "/api/v1/status", [403, 200, 200, 200]),
        ("GET", "/api/v1/overview", [403, 200, 200, 200]),
        ("GET", "/api/v1/hosts", [403, 200, 200, 200]),
        ("GET", "/api/v1/runs", [403, 200, 200, 200]),
        ("GET", "/api/v1/apps", [403, 200, 200, 200]),
        ("GET", "/metrics", [403, 403, 200, 200]),
        // There is none: 404 and 400 are answers to those who may ask.
        ("GET", &format!("/api/v1/blobs/{hash}"), [404, 404, 403, 404]),
        ("PUT", &format!("/api/v1/blobs/{hash}"), [403, 422, 403, 422]),
        ("POST", "/api/v1/runs", [403, 400, 403, 400]),
        ("GET", "/api/v1/runs/1/result", [403, 404, 403, 404]),
        ("POST", "/api/v1/runs/1/cancel", [403, 404, 403, 404]),
        ("DELETE", "/api/v1/runs/1", [403, 404, 403, 404]),
        ("GET", "/api/v1/tokens", [403, 403, 403, 200]),
        ("GET", "/api/v1/audit", [403, 403, 403, 200]),
        ("DELETE", "/api/v1/tokens/99", [403, 403, 403, 404]),
    ] {
        assert_eq!(statuses(method, path), expected, "{method} {path}");
    }
    let (_, why) = guarded.refusal(viewer, "POST", "/api/v1/runs");
    for part in ["`viewer`", "the scope viewer", "submitter or admin"] {
        assert!(why.contains(part), "{why}");
    }
    assert!(guarded.socket("/ws/host", viewer).is_err_and(|head| head.starts_with("HTTP/1.1 403")));
    assert!(guarded.socket("/ws/watch", volunteer).is_err_and(|head| head.starts_with("HTTP/1.1 403")));
    assert!(guarded.socket("/ws/host", volunteer).is_ok() && guarded.socket("/ws/watch", viewer).is_ok());
}

#[test]
fn an_expired_token_is_refused_with_the_coordinators_clock() {
    let guarded = Guarded::start();
    let made = guarded.make(&json!({"scope": "viewer", "name": "guest", "valid_s": 1}));
    let token = made["secret"].as_str().expect("a secret");
    assert_eq!(guarded.ask_as(token, "GET", "/api/v1/status", b"").0, 200);
    let mut page = guarded.socket("/ws/watch", token).expect("still valid");
    page.say(r#"{"watch":["grid"]}"#);
    let why = eventually("it expires", || {
        let (status, body) = guarded.ask_as(token, "GET", "/api/v1/status", b"");
        (status == 401).then(|| String::from_utf8(body).expect("text"))
    });
    let expires_at = made["token"]["expires_at"].as_str().expect("it expires");
    for part in ["`guest`", "expired at", expires_at, "by the coordinator's clock"] {
        assert!(why.contains(part), "{why}");
    }
    assert!(
        String::from_utf8_lossy(&page.cut_off()).contains("expired"),
        "the page is closed with the reason"
    );
    let listed = guarded.json_as(&guarded.admin, "/api/v1/tokens");
    assert_eq!(listed[1]["state"], "expired", "{listed}");
}

#[test]
fn a_revoked_token_ends_at_once_with_all_its_connections() {
    let guarded = Guarded::start();
    let (viewer, volunteer) = (guarded.token("viewer", "screen"), guarded.token("volunteer", "farm"));
    let mut page = guarded.socket("/ws/watch", &viewer).expect("a page");
    page.say(r#"{"watch":["grid"]}"#);
    page.hear(&["status"]);
    let link = guarded.socket("/ws/host", &volunteer).expect("a link");
    guarded.revoke("screen");
    guarded.revoke("farm");
    for closed in [page.cut_off(), link.cut_off()] {
        assert!(
            String::from_utf8_lossy(&closed).contains("was revoked"),
            "{}",
            String::from_utf8_lossy(&closed)
        );
    }
    for (token, path) in [(&viewer, "/api/v1/status"), (&volunteer, "/api/v1/blobs/00")] {
        let (status, why) = guarded.refusal(token, "GET", path);
        assert!(status == 401 && why.contains("was revoked at 2"), "{status} {why}");
    }
    let Guarded { server, admin } = guarded;
    let guarded = Guarded { server: start(server.kill()), admin };
    let (status, why) = guarded.refusal(&viewer, "GET", "/api/v1/status");
    assert!(status == 401 && why.contains("`screen` was revoked"), "after a restart: {status} {why}");
    // The name is free again.
    guarded.token("viewer", "screen");
    let (status, why) = detail(guarded.ask_as(
        &guarded.admin,
        "POST",
        "/api/v1/tokens",
        br#"{"scope":"viewer","name":"screen"}"#,
    ));
    assert!(status == 409 && why.contains("`screen`"), "{status} {why}");
}

#[test]
fn forged_tokens_are_refused_and_a_flood_of_them_harms_nobody_else() {
    let guarded = Guarded::start();
    let forged = format!("sateen_admin_{}", "5".repeat(64));
    let (status, why) = guarded.refusal(&forged, "GET", "/api/v1/tokens");
    assert!(status == 401 && why.contains("does not know the token"), "{status} {why}");
    let basic = guarded.server.ask("GET", "/api/v1/status", &[("authorization", "Basic cm9vdDpyb290")], b"");
    assert!(detail(basic).1.contains("Bearer TOKEN"));
    let mut statuses = Vec::new();
    for number in 0..60 {
        let token = format!("sateen_viewer_{number:064x}");
        statuses.push(guarded.ask_as(&token, "GET", "/api/v1/status", b"").0);
    }
    assert!(statuses.contains(&401) && statuses.ends_with(&[429, 429, 429]), "{statuses:?}");
    let (status, why) = guarded.refusal(&forged, "GET", "/api/v1/status");
    assert!(status == 429 && why.contains("too many invalid tokens"), "{status} {why}");
    assert_eq!(
        guarded.ask_as(&guarded.admin, "GET", "/api/v1/status", b"").0,
        200,
        "the right one is always heard"
    );
    let audit = guarded.json_as(&guarded.admin, "/api/v1/audit?limit=1000");
    assert!(audit.as_array().expect("a list").len() <= 30, "a flood is not noted: {audit}");
    assert!(audit.to_string().contains("does not know") && !audit.to_string().contains("5555"), "{audit}");
}

#[test]
fn a_join_key_is_exchanged_as_often_as_it_may_be() {
    let guarded = Guarded::start();
    let key = guarded.make(&json!({"scope": "volunteer", "name": "once", "uses": 1}));
    let key = key["secret"].as_str().expect("a secret").to_owned();
    let join =
        |guarded: &Guarded, key: &str| guarded.ask_as(key, "POST", "/api/v1/join", br#"{"name":"pc"}"#);
    let head = guarded.socket("/ws/host", &key).err().expect("it is to be exchanged first");
    assert!(head.starts_with("HTTP/1.1 403"), "{head}");
    let (status, body) = join(&guarded, &key);
    assert_eq!(status, 200);
    let joined: Value = serde_json::from_slice(&body).expect("JSON");
    let own = joined["secret"].as_str().expect("a token of its own").to_owned();
    assert!(guarded.socket("/ws/host", &own).is_ok());
    let (status, why) = detail(join(&guarded, &key));
    assert!(status == 403 && why.contains("`once` was used already: 1 of 1"), "{status} {why}");
    // Last uses are collected for a moment before they are saved.
    std::thread::sleep(Duration::from_millis(1500));
    let Guarded { server, admin } = guarded;
    let guarded = Guarded { server: start(server.kill()), admin };
    let listed = guarded.json_as(&guarded.admin, "/api/v1/tokens");
    assert!(listed[1]["used_at"].is_string() && listed[2]["used_at"].is_string(), "{listed}");
    assert_eq!(join(&guarded, &key).0, 403, "after a restart");
    assert!(guarded.socket("/ws/host", &own).is_ok(), "the host's own token is kept");
    let states: Vec<_> =
        listed.as_array().expect("a list").iter().map(|token| (&token["name"], &token["state"])).collect();
    assert_eq!(states[1..], [(&json!("once"), &json!("used up")), (&json!("pc"), &json!("valid"))]);
    assert_eq!(listed[2]["made_by"], "once");
    let fleet = guarded.token("volunteer", "fleet");
    let (_, body) = join(&guarded, &fleet);
    assert_eq!(serde_json::from_slice::<Value>(&body).expect("JSON"), json!({"secret": null}));
    let uses = br#"{"scope":"viewer","uses":1}"#;
    assert_eq!(guarded.ask_as(&guarded.admin, "POST", "/api/v1/tokens", uses).0, 422);
}

#[test]
fn where_no_token_is_needed_none_can_be_made() {
    let server = Server::start();
    for (method, path) in [("GET", "/api/v1/tokens"), ("POST", "/api/v1/tokens"), ("GET", "/api/v1/audit")] {
        let (status, why) = detail(server.ask(method, path, &[], br#"{"scope":"admin"}"#));
        assert!(
            status == 409 && why.contains("token new --scope admin") && why.contains("--require-tokens"),
            "{why}"
        );
    }
    assert_eq!(server.json("/api/v1/me"), json!({"tokens_required": false, "token": null}));
    assert_eq!(server.get("/login").0, 200, "the agent follows the way to the dashboard");
}

#[test]
fn the_first_token_is_made_before_the_first_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let refused = |folder: &TempDir, words: &[&str]| {
        let mut command = Command::new(program());
        command.args(words).arg("--data-dir").arg(folder.path());
        let output = command.output().expect("it starts");
        (output.status.code(), String::from_utf8(output.stderr).expect("text"))
    };
    let (code, why) = refused(&folder, &["--listen", "127.0.0.1:0", "--require-tokens"]);
    assert!(code == Some(4) && why.contains("token new --scope admin --data-dir"), "{why}");
    assert!(why.contains(&*folder.path().to_string_lossy()), "{why}");
    let (code, viewer, _) = make_offline(&folder, &["--scope", "viewer", "--expires", "1d"]);
    assert!(code == Some(0) && viewer.starts_with("sateen_viewer_"));
    assert_eq!(refused(&folder, &["--listen", "127.0.0.1:0", "--require-tokens"]).0, Some(4), "no admin yet");
    assert_eq!(make_offline(&folder, &[]).0, Some(0));
    let server = start(folder);
    let (code, token, why) = make_offline(&server.folder, &["--scope", "admin"]);
    assert!(code == Some(4) && token.is_empty() && why.contains("sateen token new"), "while it runs: {why}");
    let headers = [("authorization", format!("Bearer {viewer}"))];
    let headers = headers.each_ref().map(|(name, value)| (*name, value.as_str()));
    let (_, me) = server.ask("GET", "/api/v1/me", &headers, b"");
    let me: Value = serde_json::from_slice(&me).expect("JSON");
    assert_eq!((&me["token"]["scope"], &me["token"]["name"]), (&json!("viewer"), &json!("viewer")), "{me}");
}
