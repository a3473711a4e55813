//! How long finished runs are kept.

use std::process::Stdio;

use tempfile::TempDir;

use crate::server::{Server, command, eventually};

fn start(folder: TempDir, words: &[&str]) -> Server {
    let child = command(folder.path()).args(words).stdout(Stdio::piped()).spawn().expect("it starts");
    Server::from_child(child, folder)
}

/// Three runs that were cancelled, the first of them long ago, and one that waits.
fn four_runs() -> (TempDir, [u64; 4]) {
    let server = Server::start();
    server.publish();
    let runs = [(); 4].map(|()| server.submit());
    for run in &runs[..3] {
        assert_eq!(server.post(&format!("/api/v1/runs/{run}/cancel"), b"").0, 202);
        eventually("its figures are saved", || (server.run(*run)["counted"] == "final").then_some(()));
    }
    let folder = server.kill();
    let database = rusqlite::Connection::open(folder.path().join("state.sqlite")).expect("opens");
    database.execute("UPDATE runs SET ended_at_ms = 1 WHERE run = ?1", [runs[0] as i64]).expect("changed");
    (folder, runs)
}

fn are_kept(server: &Server, runs: [u64; 4]) -> [bool; 4] {
    runs.map(|run| server.get(&format!("/api/v1/runs/{run}")).0 == 200)
}

#[test]
fn runs_are_deleted_a_year_after_their_end_or_never() {
    let (folder, runs) = four_runs();
    let server = start(folder, &["--runs-kept-for", "forever"]);
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert_eq!(are_kept(&server, runs), [true; 4]);
    assert!(server.json("/api/v1/overview")["runs_kept_s"].is_null());
    let server = start(server.kill(), &[]);
    eventually("the oldest is deleted", || {
        (are_kept(&server, runs) == [false, true, true, true]).then_some(())
    });
    let overview = server.json("/api/v1/overview");
    assert_eq!((&overview["runs_kept_s"], &overview["runs_kept"]), (&31_536_000.into(), &100_000.into()));
}

#[test]
fn the_newest_finished_runs_are_kept_and_all_that_are_not_over() {
    let (folder, runs) = four_runs();
    let server = start(folder, &["--runs-kept", "1", "--runs-kept-for", "forever"]);
    eventually("two are deleted", || (are_kept(&server, runs) == [false, false, true, true]).then_some(()));
    assert_eq!(server.json("/api/v1/overview")["runs_kept"], 1);
}
