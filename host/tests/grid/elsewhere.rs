//! URLs at which something answers that is not a coordinator, and folders of another user.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::command::{Host, NOBODY, run};

/// Answers each connection with `text` after the request, or before it if that is not HTTP. Without a text, it is silent.
fn server(text: Option<&'static str>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("it accepts");
            std::thread::spawn(move || {
                let Some(text) = text else {
                    std::thread::sleep(Duration::from_secs(60));
                    return;
                };
                if text.starts_with("HTTP") {
                    let _ = stream.read(&mut [0; 4096]);
                }
                let _ = stream.write_all(text.as_bytes());
                let _ = stream.flush();
                // A client that is still sending would lose the answer.
                let _ = stream.set_read_timeout(Some(Duration::from_secs(1)));
                let _ = stream.read(&mut [0; 4096]);
            });
        }
    });
    address
}

const PAGE: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 15\r\nconnection: close\r\n\r\n<html>hi</html>";
const JSON: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 17\r\nconnection: close\r\n\r\n{\"name\":\"grafana\"";
const MISSING: &str = "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
const ELSEWHERE: &str = "HTTP/1.1 301 Moved Permanently\r\nlocation: https://grid.example.org/\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
const SHELL: &str = "SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n";
const FAILING: &str = "HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

#[test]
fn nothing_is_joined_where_something_else_answers() {
    let parent = tempfile::tempdir().expect("a folder");
    let folder = parent.path().join("data");
    for (text, said) in [
        (PAGE, "it answers, but not as a coordinator does"),
        (JSON, "it answers, but not as a coordinator does"),
        (MISSING, "it answers with 404"),
        (ELSEWHERE, "refers to https://grid.example.org/"),
        (SHELL, "not HTTP"),
    ] {
        let url = format!("http://{}", server(Some(text)));
        let (code, stdout, stderr) = run(&folder, &["join", &url, "--yes", "--no-start"]);
        assert_eq!((code, stdout.as_str()), (2, ""), "{text}: {stderr}");
        let line = stderr.lines().last().unwrap_or_default();
        assert!(
            line.contains(&format!("{url} is not a Sateen coordinator")) && line.contains(said),
            "{text}: {stderr}"
        );
        assert!(!stderr.contains("would compute"), "the owner is not asked: {stderr}");
        assert!(!folder.join("consent.json").exists(), "{text}");
    }
    let (code, _, said) = run(&folder, &["join", &format!("https://{}", server(Some(PAGE))), "--yes"]);
    assert!(code == 4 && said.contains("does not speak TLS at this port"), "{said}");
    assert!(!folder.join("consent.json").exists());
}

#[test]
fn a_grid_whose_coordinator_is_away_can_be_joined() {
    for url in [NOBODY.to_owned(), format!("http://{}", server(Some(FAILING)))] {
        let parent = tempfile::tempdir().expect("a folder");
        let folder = parent.path().join("data");
        let (code, _, said) = run(&folder, &["join", &url, "--yes", "--no-start"]);
        assert!(code == 0 && said.contains("does not answer now") && said.contains(&url), "{said}");
        assert!(folder.join("consent.json").exists());
    }
}

#[test]
fn a_host_says_that_something_else_answers() {
    let parent = tempfile::tempdir().expect("a folder");
    for (index, (text, said)) in [
        (Some(PAGE), "200 OK instead of opening a websocket"),
        (Some(MISSING), "404 Not Found instead of opening a websocket"),
        (Some(SHELL), "not HTTP"),
        (None, "no answer in 5 s"),
    ]
    .into_iter()
    .enumerate()
    {
        let folder = parent.path().join(index.to_string());
        let url = format!("http://{}", server(text));
        let mut host = Host::start(&folder, &["--coordinator", &url, "--page", "off"]);
        let line = host.line_with("cannot reach the coordinator", 1);
        assert!(line.contains(said) && line.contains(&url), "{text:?}: {line}");
        assert!(text.is_none() || line.contains("is this a coordinator's address?"), "{line}");
        let (_, status, _) = run(&folder, &["status"]);
        assert!(status.contains(said.split(' ').next().unwrap_or_default()), "{status}");
    }
}

/// A websocket server that greets in words, as a chat would.
#[test]
fn a_host_says_that_a_websocket_is_not_a_coordinators() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("bound"));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            std::thread::spawn(move || {
                let Ok(mut socket) = tokio_tungstenite::tungstenite::accept(stream.expect("it accepts"))
                else {
                    return;
                };
                let _ = socket.send("welcome to the chat".into());
                let _ = socket.send(vec![1, 2, 3].into());
                while socket.read().is_ok() {}
            });
        }
    });
    let parent = tempfile::tempdir().expect("a folder");
    let folder = parent.path().join("data");
    let _host = Host::start(&folder, &["--coordinator", &url, "--page", "off"]);
    let since = Instant::now();
    loop {
        let (_, json, _) = run(&folder, &["status", "--json"]);
        let status: serde_json::Value = serde_json::from_str(&json).unwrap_or_default();
        let why = [&status["refused"], &status["unreachable"]].into_iter().find_map(|why| why.as_str());
        if let Some(why) = why {
            assert!(why.contains("is not understood") || why.contains("coordinator"), "{why}");
            return;
        }
        assert!(since.elapsed() < Duration::from_secs(60), "{json}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn folders_of_another_user_are_refused_or_said_once() {
    use std::os::unix::fs::chown;
    use std::os::unix::process::CommandExt;
    const OTHER: u32 = 65534;
    let parent = tempfile::tempdir().expect("a folder");
    if chown(parent.path(), Some(OTHER), None).is_err() {
        eprintln!("not tried: only root can give folders to another user");
        return;
    }
    let (code, _, said) = run(parent.path(), &["--coordinator", NOBODY]);
    assert!(code == 2 && said.contains("belongs to another user (number 65534)"), "{said}");

    // Its own folder, with a store that the superuser has left there, and a cache of root's.
    let folder = parent.path().join("data");
    std::fs::create_dir_all(folder.join("store")).expect("made");
    std::fs::write(folder.join("store/db"), "x").expect("written");
    std::fs::write(folder.join("version"), "1\n").expect("written");
    for own in [folder.clone(), folder.join("version")] {
        chown(own, Some(OTHER), Some(OTHER)).expect("root can");
    }
    let locked = |path: &Path| {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700)).expect("root can");
    };
    locked(&folder.join("store"));
    let cache = parent.path().join("cache");
    std::fs::create_dir_all(cache.join("modules")).expect("made");
    let mut command = crate::command::command(&folder, &["--coordinator", NOBODY, "--page", "off"]);
    command.env("SATEEN_CACHE_DIR", &cache).uid(OTHER).gid(OTHER);
    let mut host = Host::of(command);
    let line = host.line_with("compiled apps are not kept", 1);
    assert!(line.contains("belongs to another user (number 0)"), "{line}");
    let line = host.line_with("nothing is saved on this machine", 1);
    assert!(
        line.contains("permission denied") && line.contains(&*folder.join("store").to_string_lossy()),
        "{line}"
    );
    assert!(line.contains("belongs to another user (number 0)"), "{line}");
    host.line_with("cannot reach the coordinator", 1);
    assert!(folder.join("store/db").exists() && !folder.join("store.broken-1").exists());
}
