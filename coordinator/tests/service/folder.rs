//! Unusable data folders, and disks that fill up.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};

use crate::host::{Host, text};
use crate::server::{Server, command, detail, eventually, program};

/// Exit code and output.
fn refused(command: &mut Command) -> (Option<i32>, String) {
    let output = command.stderr(Stdio::piped()).output().expect("the program starts");
    (output.status.code(), String::from_utf8(output.stderr).expect("text"))
}

fn refused_in(folder: &Path) -> (Option<i32>, String) {
    refused(&mut command(folder))
}

#[test]
fn a_folder_in_use_is_left_alone() {
    let server = Server::start();
    let (code, why) = refused_in(server.folder.path());
    assert!(code == Some(4) && why.contains("in use by another sateen-coordinator"), "{why}");
    assert_eq!(why.lines().count(), 1, "{why}");
    server.publish();
    server.submit();
}

#[test]
fn a_folder_with_open_permissions_is_made_private() {
    let folder = Server::start().kill();
    let mode = |name: &str| {
        let file = fs::metadata(folder.path().join(name)).expect("it is there");
        file.permissions().mode() & 0o777
    };
    let open = |name: &str, mode| {
        fs::set_permissions(folder.path().join(name), fs::Permissions::from_mode(mode)).expect("our own");
    };
    assert_eq!((mode(""), mode("state.sqlite"), mode("blobs")), (0o700, 0o600, 0o700));
    // As an older version left it.
    for (name, mode) in [("", 0o755), ("blobs", 0o755), ("state.sqlite", 0o644), ("lock", 0o644)] {
        open(name, mode);
    }
    let mut child =
        command(folder.path()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("readable");
    assert!(line.contains("listens on"), "{line}");
    for (name, wanted) in
        [("", 0o700), ("blobs", 0o700), ("state.sqlite", 0o600), ("state.sqlite-wal", 0o600)]
    {
        assert_eq!(mode(name), wanted, "{name}");
    }
    kill_process(Pid::from_child(&child), Signal::TERM).expect("it runs");
    let log = child.wait_with_output().expect("it ends").stderr;
    let log = String::from_utf8_lossy(&log);
    assert!(log.contains("other users could read the data folder"), "{log}");
}

#[test]
fn a_folder_of_a_newer_version_is_left_alone() {
    let folder = Server::start().kill();
    let database = folder.path().join("state.sqlite");
    let connection = rusqlite::Connection::open(&database).expect("opens");
    connection
        .execute_batch("UPDATE schema SET version = 999; PRAGMA wal_checkpoint(TRUNCATE)")
        .expect("changed");
    drop(connection);
    let before = fs::read(&database).expect("readable");
    let (code, why) = refused_in(folder.path());
    assert!(code == Some(4) && why.contains("version 999") && why.contains("--data-dir"), "{why}");
    assert_eq!(fs::read(&database).expect("readable"), before);
}

/// The rest of the folder is not taken for a new grid; but after an interrupted first start a grid may begin.
#[test]
fn a_folder_whose_database_is_lost_is_left_alone_unless_a_new_grid_is_requested() {
    let server = Server::start();
    let app = server.publish();
    let folder = server.kill();
    let database = folder.path().join("state.sqlite");
    type Lose = fn(&Path);
    let losses: [(Lose, bool); 3] = [
        (|database| fs::remove_file(database).expect("removed"), true),
        (|database| fs::write(database, "").expect("emptied"), true),
        // Another program's database, without a table.
        (
            |database| {
                let connection = rusqlite::Connection::open(database).expect("opens");
                connection.execute_batch("PRAGMA user_version = 1").expect("a database");
            },
            false,
        ),
    ];
    for (lose, is_left_alone) in losses {
        for file in ["state.sqlite-wal", "state.sqlite-shm"] {
            let _ = fs::remove_file(folder.path().join(file));
        }
        lose(&database);
        let before = fs::read(&database).ok();
        let (code, why) = refused_in(folder.path());
        assert!(code == Some(4) && why.contains("one module or input"), "{code:?} {why}");
        assert!(why.contains("state.sqlite is missing or empty") && why.contains("--new-grid"), "{why}");
        assert!(!is_left_alone || fs::read(&database).ok() == before);
    }
    let child = command(folder.path()).arg("--new-grid").stdout(Stdio::piped()).spawn().expect("it starts");
    let server = Server::from_child(child, folder);
    assert_eq!(server.json("/api/v1/apps"), serde_json::json!([]));
    assert_eq!(server.publish(), app);
    let server = server.kill_and_restart();
    assert_eq!(server.publish(), app);

    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("blobs")).expect("made");
    fs::write(folder.path().join("state.sqlite"), "").expect("written");
    Server::start_in(folder).publish();
}

#[test]
fn a_read_only_folder_is_reported() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("file");
    fs::write(&file, "not a folder").expect("written");
    for unusable in [file.as_path(), Path::new("/proc/sateen-coordinator")] {
        let (code, why) = refused_in(unusable);
        assert!(code == Some(4) && why.contains(&*unusable.to_string_lossy()), "{why}");
        assert!(why.contains("must be writable"), "{why}");
    }
    assert_eq!(fs::read(&file).expect("readable"), b"not a folder");
}

#[test]
fn a_file_that_is_not_a_database_is_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = folder.path().join("state.sqlite");
    let foreign = "somebody's diary\n".repeat(1000);
    fs::write(&database, &foreign).expect("written");
    let (code, why) = refused_in(folder.path());
    assert!(code == Some(4) && why.contains("state.sqlite cannot be opened"), "{why}");
    assert_eq!(fs::read_to_string(&database).expect("readable"), foreign);
}

#[test]
fn wrong_usage_is_distinguished_from_failures() {
    let folder = tempfile::tempdir().expect("a folder");
    let with = |listen: &str| {
        refused(Command::new(program()).args(["--listen", listen, "--data-dir"]).arg(folder.path()))
    };
    let (code, why) = with("0.0.0.0:0");
    assert!(code == Some(2) && why.contains("--insecure") && why.contains("--tls-cert"), "{why}");
    let (code, _) = with("nowhere");
    assert_eq!(code, Some(2));
    assert_eq!(refused(Command::new(program()).arg("--surprise")).0, Some(2));
    assert_eq!(refused(Command::new(program()).arg("--version")).0, Some(0));
    let server = Server::start();
    let (code, why) = with(&server.address);
    assert!(code == Some(4) && why.contains("--listen"), "{why}");
}

/// The limit on a file's size stands for a full disk. When it is reached, the kernel also sends a signal,
/// which the shell ignores for its child.
#[test]
fn a_disk_that_fills_up_and_is_emptied_loses_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let child = Command::new("sh")
        .args(["-c", r#"trap "" XFSZ; exec "$0" --listen 127.0.0.1:0 --data-dir "$1""#])
        .args([program().as_path(), folder.path()])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("a shell");
    let server = Server::from_child(child, folder);
    server.publish();
    let run = server.submit();
    let (mut host, _) = Host::join(&server.address, "one");
    let (given, number) = host.take_root();

    let limit = |bytes| {
        prlimit(Some(server.pid()), Resource::Fsize, Rlimit { current: bytes, maximum: None })
            .expect("a limit");
    };
    limit(Some(1));
    let folder = server.folder.path().display().to_string();
    let is_explained = |why: &str| {
        let is_named = why.contains(&folder) && !why.contains("os error");
        is_named && (why.contains("free some space") || why.contains("once it can be written"))
    };
    let (status, why) = detail(server.post("/api/v1/runs", br#"{"app":"probe"}"#));
    assert!(status == 507 && is_explained(&why), "{status} {why}");
    let (status, why) = detail(server.get("/readyz"));
    assert!(status == 503 && is_explained(&why), "{why}");
    assert_eq!(server.get("/healthz").0, 200);
    let hash = blake3::hash(b"input").to_hex();
    assert_eq!(detail(server.put(&format!("/api/v1/blobs/{hash}"), b"input")).0, 507);
    host.finish(given, number, text("42"));
    let seen = eventually("the end that cannot be saved", || {
        let seen = server.run(run);
        seen["waiting_for"].is_string().then_some(seen)
    });
    assert_eq!(seen["state"], "running");
    let why = seen["waiting_for"].as_str().unwrap_or_default();
    assert!(why.starts_with("it is over"), "{why}");
    assert_eq!(detail(server.get(&format!("/api/v1/runs/{run}/result"))).0, 409);
    let (status, why) = detail(server.post(&format!("/api/v1/runs/{run}/cancel"), b""));
    assert!(status == 409 && why.contains("is over") && !why.contains("there is no run"), "{status} {why}");

    limit(None);
    host.await_acknowledgement(given);
    assert_eq!(server.get(&format!("/api/v1/runs/{run}/result")), (200, b"42".to_vec()));
    assert_eq!(server.get("/readyz").0, 200);
    assert_eq!(server.put(&format!("/api/v1/blobs/{hash}"), b"input").0, 201);
    let server = server.kill_and_restart();
    assert_eq!(server.run(run)["state"], "done");
}

/// Needed blobs were deleted by hand: they are reported at the start, and can be uploaded again.
#[test]
fn deleted_blobs_are_reported_and_can_be_uploaded_again() {
    let server = Server::start();
    let app = server.publish();
    let input = blake3::hash(b"input").to_hex().to_string();
    assert_eq!(server.put(&format!("/api/v1/blobs/{input}"), b"input").0, 201);
    let submission = format!(r#"{{"app":"probe","inputs":{{"formula":"{input}"}}}}"#);
    let (status, _) = server.post("/api/v1/runs", submission.as_bytes());
    assert_eq!(status, 201);
    let folder = server.kill();
    for hash in [&app, &input] {
        fs::remove_file(folder.path().join("blobs").join(hash)).expect("it was there");
    }
    let log = folder.path().join("log");
    let stderr = Stdio::from(fs::File::create(&log).expect("a file"));
    let child = command(folder.path()).stdout(Stdio::piped()).stderr(stderr).spawn().expect("it starts");
    let server = Server::from_child(child, folder);
    // It listens before it reports them.
    eventually("what is missing is named", || {
        let text = fs::read_to_string(&log).ok()?;
        let named = |hash: &str, how: &str| {
            text.lines().any(|line| line.contains("missing") && line.contains(hash) && line.contains(how))
        };
        (named(&app, "sateen publish") && named(&input, "formula")).then_some(())
    });
    // No run is begun that no host could load.
    let (status, why) = detail(server.post("/api/v1/runs", br#"{"app":"probe"}"#));
    assert!(status == 422 && why.contains("publish it again"), "{status} {why}");
    let (status, why) = detail(server.post("/api/v1/runs", submission.as_bytes()));
    assert!(status == 422, "{status} {why}");
    assert_eq!(server.publish(), app);
    let (status, why) = detail(server.post("/api/v1/runs", submission.as_bytes()));
    assert!(status == 422 && why.contains("formula"), "{status} {why}");
    assert_eq!(server.put(&format!("/api/v1/blobs/{input}"), b"input").0, 201);
    assert_eq!(server.post("/api/v1/runs", submission.as_bytes()).0, 201);
    assert!(server.run(1)["queued_s"].as_f64().is_some_and(|queued_s| queued_s > 0.0), "{}", server.run(1));
}
