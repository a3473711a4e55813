//! Entries in sled.
//!
//! One tree per run, from job key to record. The default tree knows when each run was last used, because a run
//! may end while this host is away without its knowledge: above a number of runs, the one unused for the
//! longest time is deleted.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use sateen_command_line::explained;
use sateen_protocol::{Entry, JobKey, Table};

use super::record::{decode, encode};
use super::{Store, StoreError, StoredRun};

/// Maximum runs kept.
const RUNS_MAX: usize = 32;
/// Maximum size of a run; see [`SledStore::prune`].
const RUN_BYTES_MAX: usize = 256 << 20;
/// sled's own memory.
const CACHE_BYTES: u64 = 16 << 20;
/// A database that was closed keeps its lock until its threads have ended, some moments later. (The data
/// folder has a lock of its own, so nobody else has the database open.)
const LOCKED_MAX: Duration = Duration::from_secs(5);

/// A store in a folder.
pub struct SledStore {
    database: sled::Db,
    trees: BTreeMap<StoredRun, RunTree>,
    run_bytes_max: usize,
    broken: u64,
}

struct RunTree {
    tree: sled::Tree,
    bytes: usize,
}

/// sled wraps the error of its lock in one of its own.
pub fn is_locked(error: &sled::Error) -> bool {
    matches!(error, sled::Error::Io(error) if error.to_string().contains("could not acquire lock"))
}

fn failed(error: sled::Error) -> StoreError {
    StoreError(told(&error))
}

/// The problem and its remedy, if it is the disk: sled's own errors are written for programmers.
pub fn told(error: &sled::Error) -> String {
    match error {
        sled::Error::Io(error) if error.kind() == io::ErrorKind::StorageFull => {
            "disk full: results are not saved here; free some space".to_owned()
        }
        sled::Error::Io(error) => explained(error),
        error => error.to_string(),
    }
}

impl SledStore {
    /// Opens the store in `folder`, which is made if it does not exist.
    ///
    /// # Errors
    /// sled's own errors. sled is also known to panic and to take for ever: see [`super::open()`].
    pub fn open(folder: &Path) -> Result<Self, sled::Error> {
        Self::open_bounded(folder, RUN_BYTES_MAX)
    }

    fn open_bounded(folder: &Path, run_bytes_max: usize) -> Result<Self, sled::Error> {
        // The keeper flushes, so that it knows what is on the disk.
        let config = sled::Config::new().path(folder).cache_capacity(CACHE_BYTES).flush_every_ms(None);
        let unlocked_by = Instant::now() + LOCKED_MAX;
        let database = loop {
            match config.open() {
                Err(error) if is_locked(&error) && Instant::now() < unlocked_by => {
                    std::thread::sleep(Duration::from_millis(10));
                }
                opened => break opened?,
            }
        };
        Ok(Self { database, trees: BTreeMap::new(), run_bytes_max, broken: 0 })
    }

    fn tree(&mut self, run: StoredRun) -> Result<&mut RunTree, StoreError> {
        if !self.trees.contains_key(&run) {
            self.remember(run)?;
            let tree = self.database.open_tree(run.name()).map_err(failed)?;
            let bytes = tree.iter().filter_map(Result::ok).map(|(_, record)| record.len()).sum();
            self.trees.insert(run, RunTree { tree, bytes });
        }
        self.trees.get_mut(&run).ok_or_else(|| StoreError("the run's entries are gone".to_owned()))
    }

    /// Notes that the run is in use, and drops those unused for longest.
    fn remember(&mut self, run: StoredRun) -> Result<(), StoreError> {
        let now_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        self.database.insert(run.name(), &now_s.to_be_bytes()).map_err(failed)?;
        let mut by_age: Vec<_> =
            self.database.iter().filter_map(Result::ok).map(|(name, used_s)| (used_s, name)).collect();
        by_age.sort();
        let in_use: Vec<String> = self.trees.keys().chain([&run]).map(|run| run.name()).collect();
        let excess = by_age.len().saturating_sub(RUNS_MAX);
        let old = by_age.iter().map(|(_, name)| name);
        for name in old.filter(|name| !in_use.iter().any(|used| used.as_bytes() == &name[..])).take(excess) {
            self.database.drop_tree(name).map_err(failed)?;
            self.database.remove(name).map_err(failed)?;
        }
        Ok(())
    }

    /// Keeps the most valuable results: those below others are deleted first, then those with the least work.
    fn prune(&mut self, run: StoredRun) -> Result<(), StoreError> {
        let mut table = Table::new(self.run_bytes_max / 2);
        let mut broken = 0;
        let stored = self.tree(run)?;
        let mut kept_bytes = 0;
        for (key, record) in stored.tree.iter().filter_map(Result::ok) {
            match decode(run, &key, &record) {
                Some(entry) => {
                    table.insert(entry);
                }
                None => broken += 1,
            }
        }
        for (key, record) in stored.tree.iter().filter_map(Result::ok) {
            let is_kept = <[u8; 32]>::try_from(&*key).is_ok_and(|key| table.get(&JobKey(key)).is_some());
            if is_kept {
                kept_bytes += record.len();
            } else {
                stored.tree.remove(key).map_err(failed)?;
            }
        }
        stored.bytes = kept_bytes;
        self.broken += broken;
        Ok(())
    }
}

impl Store for SledStore {
    fn restore(&mut self, run: StoredRun) -> Vec<Entry> {
        let Ok(stored) = self.tree(run) else { return Vec::new() };
        let mut entries = Vec::new();
        let mut broken = Vec::new();
        for (key, record) in stored.tree.iter().filter_map(Result::ok) {
            match decode(run, &key, &record) {
                Some(entry) => entries.push(entry),
                None => broken.push(key),
            }
        }
        for key in &broken {
            let _ = stored.tree.remove(key);
        }
        self.broken += broken.len() as u64;
        entries
    }

    fn save(&mut self, run: StoredRun, entry: &Entry) -> Result<(), StoreError> {
        let Some(record) = encode(run, entry) else { return Ok(()) };
        let bytes_max = self.run_bytes_max;
        let stored = self.tree(run)?;
        let added = record.len();
        let before = stored.tree.insert(entry.key.0, record).map_err(failed)?;
        stored.bytes = stored.bytes.saturating_sub(before.map_or(0, |record| record.len())) + added;
        if stored.bytes > bytes_max { self.prune(run) } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        self.database.flush().map(|_| ()).map_err(failed)
    }

    fn forget(&mut self, run: StoredRun) -> Result<(), StoreError> {
        self.trees.remove(&run);
        self.database.drop_tree(run.name()).map_err(failed)?;
        self.database.remove(run.name()).map_err(failed)?;
        Ok(())
    }

    fn broken(&self) -> u64 {
        self.broken
    }

    fn bytes(&self) -> u64 {
        self.database.size_on_disk().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use sateen_protocol::{GridId, RunId};

    use super::super::record::tests::{RUN, entry};
    use super::*;

    #[test]
    fn flushed_entries_are_there_after_opening_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut store = SledStore::open(folder.path()).expect("it opens");
        for job in 0..100 {
            store.save(RUN, &entry(job, 10)).expect("saved");
        }
        store.save(RUN, &entry(3, 20)).expect("replaced");
        store.flush().expect("flushed");
        drop(store);
        let mut store = SledStore::open(folder.path()).expect("it opens again");
        let entries = store.restore(RUN);
        assert_eq!(entries.len(), 100);
        assert!(entries.contains(&entry(3, 20)) && entries.contains(&entry(99, 10)));
        assert!(store.restore(StoredRun { grid: GridId(6), ..RUN }).is_empty());
        store.forget(RUN).expect("forgotten");
        assert!(store.restore(RUN).is_empty());
    }

    #[test]
    fn broken_records_are_counted_and_left_out() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut store = SledStore::open(folder.path()).expect("it opens");
        for job in 0..10 {
            store.save(RUN, &entry(job, 10)).expect("saved");
        }
        let tree = store.database.open_tree(RUN.name()).expect("a tree");
        let mut record = tree.get(entry(4, 10).key.0).expect("read").expect("there").to_vec();
        record[40] ^= 1;
        tree.insert(entry(4, 10).key.0, record).expect("written");
        tree.insert(b"no key", b"nothing").expect("written");
        assert_eq!(store.restore(RUN).len(), 9);
        assert_eq!(store.broken(), 2);
        assert_eq!(store.restore(RUN).len(), 9);
        assert_eq!(store.broken(), 2);
    }

    #[test]
    fn a_run_keeps_to_its_bound() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut store = SledStore::open_bounded(folder.path(), 100_000).expect("it opens");
        for job in 0..1000 {
            store.save(RUN, &entry(job, 1000)).expect("saved");
        }
        let kept = store.restore(RUN);
        assert!(kept.len() < 100 && kept.len() > 20, "{}", kept.len());
        assert!(kept.contains(&entry(999, 1000)));
    }

    #[test]
    fn a_lock_that_lingers_is_waited_for() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = SledStore::open(folder.path()).expect("it opens");
        let closed = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(300));
            drop(store);
        });
        let mut store = SledStore::open(folder.path()).expect("it opens when the other has closed");
        closed.join().expect("it closed");
        store.save(RUN, &entry(1, 1)).expect("saved");
    }

    #[test]
    fn old_runs_go() {
        let folder = tempfile::tempdir().expect("a folder");
        for run in 0..RUNS_MAX as u64 + 5 {
            let mut store = SledStore::open(folder.path()).expect("it opens");
            store.save(StoredRun { run: RunId(run), ..RUN }, &entry(1, 1)).expect("saved");
        }
        let store = SledStore::open(folder.path()).expect("it opens");
        assert_eq!(store.database.len(), RUNS_MAX);
        assert_eq!(store.database.tree_names().len(), RUNS_MAX + 1);
    }
}
