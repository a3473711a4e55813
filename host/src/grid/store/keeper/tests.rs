use super::super::record::tests::{RUN, entry};
use super::*;

/// Has room for this many entries.
struct SmallDisk(usize, Vec<Entry>);

impl Store for SmallDisk {
    fn restore(&mut self, _: StoredRun) -> Vec<Entry> {
        self.1.clone()
    }
    fn save(&mut self, _: StoredRun, entry: &Entry) -> Result<(), StoreError> {
        if self.1.len() == self.0 {
            return Err(StoreError("no space left on device".to_owned()));
        }
        self.1.push(entry.clone());
        Ok(())
    }
    fn flush(&mut self) -> Result<(), StoreError> {
        Ok(())
    }
    fn forget(&mut self, _: StoredRun) -> Result<(), StoreError> {
        panic!("as sled might")
    }
    fn broken(&self) -> u64 {
        0
    }
    fn bytes(&self) -> u64 {
        0
    }
}

fn restored(keeper: &Keeper, run: StoredRun) -> Vec<Entry> {
    let (sender, receiver) = channel();
    keeper.restore(run, move |entries| sender.send(entries).expect("awaited"));
    receiver.recv().expect("an answer")
}

#[test]
fn a_full_disk_costs_entries_and_nothing_else() {
    let keeper = Keeper::start(Box::new(|| Ok((Box::new(SmallDisk(5, Vec::new())), None)))).expect("started");
    for job in 0..8 {
        keeper.save(RUN, entry(job, 10));
    }
    assert!(restored(&keeper, RUN).is_empty());
    let status = keeper.status();
    assert_eq!(status.off.as_deref(), Some("no space left on device"));
    // None of them had reached the disk.
    assert_eq!(status.dropped, 8);
}

#[test]
fn a_store_that_panics_is_closed() {
    let keeper = Keeper::start(Box::new(|| Ok((Box::new(SmallDisk(5, Vec::new())), None)))).expect("started");
    keeper.save(RUN, entry(1, 10));
    assert_eq!(restored(&keeper, RUN).len(), 1);
    keeper.forget(RUN);
    assert!(restored(&keeper, RUN).is_empty());
    assert_eq!(keeper.status().off.as_deref(), Some("the database panicked"));
}

#[test]
fn a_store_that_does_not_open_is_an_empty_one() {
    let keeper = Keeper::start(Box::new(|| Err(StoreError("read-only".to_owned())))).expect("started");
    keeper.save(RUN, entry(1, 10));
    assert!(restored(&keeper, RUN).is_empty());
    assert_eq!(keeper.status().off.as_deref(), Some("read-only"));
}

#[test]
fn waiting_entries_are_written_soon_unless_their_run_is_forgotten() {
    let other = StoredRun { run: sateen_protocol::RunId(18), ..RUN };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_owned();
    let keeper = Keeper::start(Box::new(move || {
        Ok((Box::new(super::super::SledStore::open(&path).expect("it opens")), None))
    }))
    .expect("started");
    keeper.save(RUN, entry(1, 10));
    keeper.save(other, entry(2, 10));
    keeper.forget(RUN);
    let begun = Instant::now();
    while keeper.status().saved == 0 {
        assert!(begun.elapsed() < Duration::from_secs(60), "it never was");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(keeper.status().saved, 1);
    assert!(restored(&keeper, RUN).is_empty());
    assert_eq!(restored(&keeper, other), [entry(2, 10)]);
}

#[test]
fn too_much_at_once_is_dropped_and_counted() {
    let (opened, waits) = channel::<()>();
    let keeper = Keeper::start(Box::new(move || {
        let _ = waits.recv();
        Ok((Box::new(SmallDisk(100, Vec::new())), None))
    }))
    .expect("started");
    let bytes = WAITING_BYTES_MAX / 4;
    for job in 0..5 {
        keeper.save(RUN, entry(job, bytes));
    }
    assert_eq!(keeper.status().dropped, 2);
    drop(opened);
    assert_eq!(restored(&keeper, RUN).len(), 3);
}

#[test]
fn entries_count_as_saved_after_a_flush() {
    let keeper = Keeper::start(Box::new(|| Ok((Box::new(SmallDisk(5, Vec::new())), None)))).expect("started");
    keeper.save(RUN, entry(1, 10));
    assert_eq!(restored(&keeper, RUN).len(), 1);
    let status = keeper.status.clone();
    drop(keeper);
    assert_eq!(status.lock().saved, 1);
}
