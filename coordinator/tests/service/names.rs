//! Names in requests: of the coordinator itself, of apps, and of inputs.

use std::process::{Command, Stdio};

use sateen_protocol::message::ToHost;
use serde_json::json;

use crate::host::{Host, hello};
use crate::server::{RawRequest, Server, app, detail, program};

/// A proxy in front of a coordinator may use another of the names in a request than the coordinator does.
#[test]
fn each_name_in_a_request_is_checked() {
    let server = Server::start();
    let own = &*server.address;
    let ask = |target: &str, headers: &str| {
        let mut raw = RawRequest::open(own, "127.0.0.1");
        raw.send(format!("GET {target} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n").as_bytes());
        raw.answer()
    };
    let (good, evil) = (format!("Host: {own}\r\n"), "Host: evil.example\r\n");
    for path in ["/api/v1/runs", "/ws/host", "/ws/watch", "/"] {
        for hosts in [format!("{good}{evil}"), format!("{evil}{good}"), good.repeat(2)] {
            let (status, why) = detail(ask(path, &hosts));
            assert!(status == 400 && why.contains("more than one Host"), "{path}, {hosts:?}: {status} {why}");
        }
        for elsewhere in ["evil.example", &format!("evil.example@{own}"), "localhost.evil.example"] {
            let (status, why) = detail(ask(&format!("http://{elsewhere}{path}"), &good));
            // Only what can be the name of a machine is repeated.
            let word = if elsewhere.contains('@') {
                "is not the name or address of a machine"
            } else {
                "evil.example"
            };
            assert!(status == 421 && why.contains(word), "{path}, {elsewhere}: {status} {why}");
        }
        assert_eq!(detail(ask(&format!("http://{own}{path}"), evil)).0, 421, "{path}");
    }
    let absolute = format!("http://{own}/api/v1/runs");
    assert_eq!(ask(&absolute, &good).0, 200);
    assert_eq!(ask(&absolute, &format!("{good}Origin: http://{own}\r\n")).0, 200);
    // The page belongs to the name in the URI, which takes precedence over the header's.
    let port = own.rsplit_once(':').expect("a port").1;
    let other = format!("http://localhost:{port}");
    assert_eq!(ask(&absolute, &format!("{good}Origin: {other}\r\n")).0, 403);
    assert_eq!(ask(&format!("{other}/api/v1/runs"), &format!("{good}Origin: {other}\r\n")).0, 200);
}

/// As a path or query has it.
fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

#[test]
fn an_app_is_published_only_under_a_name_that_a_command_can_use() {
    let server = Server::start();
    for name in ["--help", "-rf", "-", "", "a b", "\u{1b}[31mred", "\u{202e}exe.fib", &"x".repeat(65)] {
        let path = format!("/api/v1/apps?name={}", encoded(name));
        let (status, why) = detail(server.post(&path, &app("")));
        assert!(status == 400 && why.contains("must not begin with `-`"), "{name:?}: {status} {why}");
    }
    assert_eq!(server.json("/api/v1/apps"), json!([]));
}

#[test]
fn an_input_has_a_visible_name() {
    let server = Server::start();
    server.publish();
    let content = b"content";
    let hash = blake3::hash(content).to_hex().to_string();
    assert_eq!(server.put(&format!("/api/v1/blobs/{hash}"), content).0, 201);
    let submit = |name: &str| {
        let app = server.json("/api/v1/apps")[0]["hash"].clone();
        let submission = json!({"app": app, "inputs": {name: hash}});
        server.post("/api/v1/runs", submission.to_string().as_bytes())
    };
    for name in ["", "\n", "a\u{1b}[2J", "\u{9b}", "\u{202e}fnc", "a\u{200b}", &"x".repeat(257)] {
        let (status, why) = detail(submit(name));
        assert!(status == 422 && why.contains("1 to 256 bytes without control"), "{name:?}: {status} {why}");
    }
    assert_eq!(submit("größe 世界").0, 201);
}

#[test]
fn problems_repeat_names_in_visible_characters() {
    let server = Server::start();
    let hostile = encoded("\u{1b}]0;x\u{7}\u{9b}2J\u{202e}\n");
    for path in [
        format!("/api/v1/apps/{hostile}"),
        format!("/api/v1/blobs/{hostile}"),
        format!("/api/v1/runs/{hostile}"),
        format!("/api/v1/jobs/{hostile}"),
        format!("/api/v1/runs?state={hostile}"),
        format!("/api/v1/runs?limit={hostile}"),
        format!("/api/v1/hosts?after={hostile}"),
        format!("/api/v1/runs/1/wait?figures={hostile}"),
    ] {
        let (status, why) = detail(server.get(&path));
        assert!(status == 400 || status == 404, "{path}: {status} {why}");
        assert!(
            !why.contains(|character: char| character.is_control() || character == '\u{202e}'),
            "{path}: {why:?}"
        );
        assert!(
            path.contains("figures") || why.contains("`\\u{1b}]0;x\\u{7}\\u{9b}2J\\u{202e}\\n`"),
            "{path}: {why}"
        );
    }
}

#[test]
fn parameters_that_an_operation_does_not_have_are_refused_with_those_that_it_has() {
    let server = Server::start();
    for (answer, why) in [
        (server.get("/api/v1/runs?stat=done"), "no parameter `stat` here; this operation has `state`, `q`"),
        (
            server.get("/api/v1/runs/1/wait?timeout=5"),
            "`timeout` here; this operation has `timeout_s`, `figures`",
        ),
        (server.get("/api/v1/status?since=1"), "no parameter `since` here; this operation has no parameters"),
        (server.post("/api/v1/runs/1/cancel?dry_run=true", b""), "no parameter `dry_run` here"),
        (server.delete("/api/v1/runs/1?force=1"), "no parameter `force` here"),
    ] {
        let (status, said) = detail(answer);
        assert!(
            status == 400 && said.starts_with("invalid query: ") && said.contains(why),
            "{status} {said}"
        );
    }
}

#[test]
fn what_a_parser_says_comes_after_a_sentence() {
    let server = Server::start();
    for (answer, sentence, parser) in [
        (server.post("/api/v1/runs", b"{}"), "invalid submission: ", "(missing field `app` "),
        (server.post("/api/v1/runs", b""), "invalid submission: ", "(EOF while parsing"),
        (server.get("/api/v1/runs?state=done&state=failed"), "invalid query: ", "duplicate"),
        (server.get("/api/v1/runs/%ff"), "invalid path: ", "UTF-8"),
    ] {
        let (status, why) = detail(answer);
        assert!(status == 400 && why.starts_with(sentence) && why.contains(parser), "{status} {why}");
    }
}

#[test]
fn a_name_made_to_point_here_is_refused_on_a_trusted_network_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(program());
    command.args(["--listen", "0.0.0.0:0", "--insecure", "--public-name", "grid.example.org", "--data-dir"]);
    let child =
        command.arg(folder.path()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("starts");
    let mut server = Server::from_child(child, folder);
    server.address = server.address.replace("0.0.0.0", "127.0.0.1");
    let port = server.address.rsplit_once(':').expect("a port").1.to_owned();
    let ask = |path: &str, host: &str, origin: &str| {
        let mut raw = RawRequest::open(&server.address, "127.0.0.1");
        raw.send(
            format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n{origin}Connection: close\r\n\r\n").as_bytes(),
        );
        raw.answer()
    };
    for path in ["/api/v1/runs", "/ws/host", "/ws/watch", "/"] {
        let host = format!("evil.example:{port}");
        let (status, why) = detail(ask(path, &host, &format!("Origin: http://{host}\r\n")));
        assert!(status == 421 && why.contains("--public-name evil.example"), "{path}: {status} {why}");
        assert_eq!(ask(path, &host, "").0, 421);
    }
    for host in ["grid.example.org", "GRID.example.org:80", "127.0.0.1", "192.0.2.1", "localhost"] {
        assert_eq!(ask("/api/v1/runs", host, "").0, 200, "{host}");
        assert_eq!(ask("/api/v1/runs", host, "Origin: http://evil.example\r\n").0, 403, "{host}");
    }
    let bad = Command::new(program()).args(["--public-name", "http://grid"]).output().expect("it starts");
    assert_eq!(bad.status.code(), Some(2));
    // A hello is still accepted.
    let mut host = Host::connect(&server.address);
    host.send(&[hello("honest", None, Vec::new())]);
    host.until(|message| matches!(message, ToHost::Welcome { .. }).then_some(()));
}
