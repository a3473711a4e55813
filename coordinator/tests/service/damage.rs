//! Rows of the database that cannot be decoded affect nothing else.

use std::fs;
use std::process::Stdio;

use rusqlite::Connection;
use rusqlite::types::Value;
use sateen_protocol::message::{JobNote, NoteKind, ToCoordinator};
use sateen_protocol::{
    Counts, Entry, EntryState, Finished, JobKey, JobTag, Lineage, Outcome, ROOT_KIND, RunId,
};
use tempfile::TempDir;

use crate::host::{Host, said};
use crate::server::{Server, command, detail, eventually};

/// Every column that is decoded when the service starts.
const COLUMNS: [(&str, &str); 10] = [
    ("runs", "spec"),
    ("runs", "state"),
    ("runs", "app_name"),
    ("entries", "entry"),
    ("standings", "standing"),
    ("standing_rows", "row"),
    ("chronicles", "summary"),
    ("looks", "looks"),
    ("log_lines", "line"),
    ("tree_jobs", "job"),
];

/// Replacements: nothing, noise, too little, and a value of another type.
fn damages(good: &Value) -> Vec<Value> {
    let bytes = match good {
        Value::Blob(bytes) => bytes.clone(),
        Value::Text(text) => text.clone().into_bytes(),
        _ => Vec::new(),
    };
    let half = bytes[..bytes.len() / 2].to_vec();
    let noise = (0..64_u8).map(|at| at.wrapping_mul(167) ^ 0xa5).collect();
    vec![
        Value::Blob(Vec::new()),
        Value::Blob(vec![0xff; 40]),
        Value::Blob(noise),
        Value::Blob(half),
        Value::Text("neither".to_owned()),
        Value::Integer(7),
    ]
}

/// Two runs with contents in all tables; the second is the one that stays intact.
fn lived_in() -> (TempDir, u64, u64) {
    let server = Server::start();
    server.publish();
    let (damaged, whole) = (server.submit(), server.submit());
    let (mut host, _) = Host::join(&server.address, "one");
    let note = |job, kind| JobNote {
        job: JobTag(job),
        parent: (job > 1).then_some(JobTag(1)),
        kind,
        depth: u32::from(job > 1),
        what: NoteKind::Begun { victim: None, redone: false, worker: 0 },
        ago_ms: 0,
        parameters: None,
        shares: false,
    };
    for run in [RunId(damaged), RunId(whole)] {
        host.send(&[ToCoordinator::Ready { run }]);
        let finished = Finished { outcome: Outcome::Done(vec![1].into()), work_ns: 7, span_ns: 5 };
        let entry = Entry {
            key: JobKey([run.0 as u8; 32]),
            depth: 1,
            lineage: Lineage(vec![JobTag(1)]),
            state: EntryState::Done(finished),
            is_earlier: false,
        };
        host.send(&[
            ToCoordinator::Entries { run, entries: vec![entry] },
            ToCoordinator::Counts {
                run,
                series: 1,
                counts: Box::new(Counts { work_ns: 7, ..Counts::default() }),
                progress: Some((1, 2)),
                notes: vec![note(1, ROOT_KIND), note(2, 0)],
                ahead_ns: None,
                notes_dropped: 0,
                workers: Vec::new(),
            },
            said(run),
        ]);
    }
    let database = server.folder.path().join("state.sqlite");
    eventually("all of it is saved", || {
        let connection = Connection::open(&database).ok()?;
        let has = |table: &str| -> Option<i64> {
            let sql = format!("SELECT count(DISTINCT run) FROM {table}");
            connection.query_row(&sql, [], |row| row.get(0)).ok()
        };
        COLUMNS.iter().all(|(table, _)| has(table) == Some(2)).then_some(())
    });
    (server.kill(), damaged, whole)
}

fn copy(from: &TempDir) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for file in ["state.sqlite", "state.sqlite-wal"] {
        // The log may have arrived already.
        let _ = fs::copy(from.path().join(file), folder.path().join(file));
    }
    folder
}

#[test]
fn a_row_that_cannot_be_decoded_is_reported_and_left_out() {
    let (lived_in, damaged, whole) = lived_in();
    for (table, column) in COLUMNS {
        let good: Value = {
            let connection = Connection::open(lived_in.path().join("state.sqlite")).expect("opens");
            let sql = format!("SELECT {column} FROM {table} WHERE run = {damaged} LIMIT 1");
            connection.query_row(&sql, [], |row| row.get(0)).expect("a row")
        };
        for damage in damages(&good) {
            let what = format!("{table}.{column} = {damage:?}");
            let folder = copy(&lived_in);
            let connection = Connection::open(folder.path().join("state.sqlite")).expect("opens");
            let sql = format!("UPDATE {table} SET {column} = ?1 WHERE run = {damaged}");
            assert!(connection.execute(&sql, [&damage]).expect("changed") > 0, "{what}");
            drop(connection);
            let log = folder.path().join("log");
            let stderr = Stdio::from(fs::File::create(&log).expect("a file"));
            let child =
                command(folder.path()).stdout(Stdio::piped()).stderr(stderr).spawn().expect("it starts");
            let server = Server::from_child(child, folder);
            assert_eq!(server.get("/healthz").0, 200, "{what}");
            let listed = server.json("/api/v1/runs");
            let listed = listed.as_array().expect("a list");
            assert!(listed.iter().any(|run| run["run"] == whole), "{what}: {listed:?}");
            assert_eq!(server.run(whole)["app"]["name"], "probe", "{what}");
            // Some damages leave decodable data, and then nothing is reported.
            let is_listed = listed.iter().any(|run| run["run"] == damaged);
            let text = fs::read_to_string(&log).expect("text");
            assert!(is_listed || text.contains("cannot be decoded"), "{what}: {text}");
            if !is_listed {
                let (status, why) = detail(server.get(&format!("/api/v1/runs/{damaged}")));
                assert_eq!(status, 500, "{why}");
                assert_eq!(server.delete(&format!("/api/v1/runs/{damaged}")).0, 204, "{what}");
                assert_eq!(server.get(&format!("/api/v1/runs/{damaged}")).0, 404, "{what}");
            }
            assert!(table != "runs" || !is_listed || column == "app_name", "{what}");
        }
    }
}
