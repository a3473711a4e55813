//! A process that saves entries is killed: what it had flushed is there.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use sateen_host::grid::store::{SledStore, Store, StoredRun, open};
use sateen_protocol::{Entry, EntryState, Finished, GridId, JobKey, Lineage, Outcome, RunId};

const RUN: StoredRun = StoredRun { grid: GridId(1), run: RunId(1) };
const FOLDER: &str = "SATEEN_TEST_STORE";

fn entry(job: u32) -> Entry {
    let mut key = [7; 32];
    key[..4].copy_from_slice(&job.to_be_bytes());
    let finished = Finished { outcome: Outcome::Done(vec![1; 100].into()), work_ns: 1, span_ns: 1 };
    Entry {
        key: JobKey(key),
        depth: 1,
        lineage: Lineage::default(),
        state: EntryState::Done(finished),
        is_earlier: false,
    }
}

/// Not a test by itself: the process that the test below kills.
#[test]
fn writer() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let mut store = SledStore::open(folder.as_ref()).expect("it opens");
    for job in 0.. {
        store.save(RUN, &entry(job)).expect("saved");
        if job % 100 == 99 {
            store.flush().expect("flushed");
            let mut out = std::io::stderr();
            writeln!(out, "flushed {}", job + 1).expect("read");
        }
    }
}

#[test]
fn flushed_entries_survive_a_kill() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store");
    let mut seen = 0;
    for round in 1..=3 {
        let mut child = Command::new(std::env::current_exe().expect("it has a path"))
            .args(["--exact", "kill::writer", "--nocapture"])
            .env(FOLDER, &path)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let lines = BufReader::new(child.stderr.take().expect("piped")).lines().map_while(Result::ok);
        let flushed = (lines.filter_map(|line| line.strip_prefix("flushed ")?.parse::<u32>().ok()))
            .find(|flushed| *flushed >= 500 * round)
            .expect("it flushes until it is killed");
        child.kill().expect("it runs");
        child.wait().expect("it is dead");
        seen = seen.max(flushed);

        let mut opened = open(&path).expect("it opens");
        assert!(opened.set_aside.is_none(), "{:?}", opened.set_aside);
        let entries = opened.store.restore(RUN);
        assert!((0..seen).all(|job| entries.contains(&entry(job))), "{} of {seen}", entries.len());
        assert_eq!(opened.store.broken(), 0);
    }
}
