//! The thread that owns the store: the driver never waits for a disk.
//!
//! Entries wait for one another and are written together, just before they are flushed: waking this thread and
//! the database's own costs more than writing one entry.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use sateen_protocol::{Entry, EntryState};
use tracing::{info, warn};

use super::{Store, StoreError, StoreStatus, StoredRun};

/// Saved entries are on the disk after about this time.
const FLUSH_EVERY: Duration = Duration::from_secs(1);
/// If this much waits to be written, it is written at once.
const EAGER_BYTES: usize = 4 << 20;
/// Maximum bytes of entries that wait to be written; further ones are dropped and counted.
const WAITING_BYTES_MAX: usize = 64 << 20;
/// A store that failed is opened again after this time.
const REOPEN_AFTER: Duration = Duration::from_secs(30);

/// Opens the store, and returns the path of its predecessor if that did not open.
pub type Opener = Box<dyn FnMut() -> Result<(Box<dyn Store>, Option<(PathBuf, String)>), StoreError> + Send>;

enum Request {
    /// An entry waits to be written.
    Write,
    Restore(StoredRun, Box<dyn FnOnce(Vec<Entry>) + Send>),
    Forget(StoredRun),
    Flush(Sender<()>),
}

/// The entries that wait to be written, in order.
#[derive(Default)]
struct Waiting {
    entries: Vec<(StoredRun, Entry)>,
    bytes: usize,
}

impl Waiting {
    /// `false` if there is no room.
    fn push(&mut self, run: StoredRun, entry: Entry) -> bool {
        let bytes = self.bytes + entry_bytes(&entry);
        if bytes > WAITING_BYTES_MAX {
            return false;
        }
        self.bytes = bytes;
        self.entries.push((run, entry));
        true
    }

    fn forget(&mut self, run: StoredRun) {
        self.entries.retain(|(of, _)| *of != run);
        self.bytes = self.entries.iter().map(|(_, entry)| entry_bytes(entry)).sum();
    }
}

/// Approximate memory of an entry.
fn entry_bytes(entry: &Entry) -> usize {
    let result = match &entry.state {
        EntryState::Done(finished) => finished.outcome.bytes().len(),
        _ => 0,
    };
    256 + result
}

/// A handle to the store's thread. When it is dropped, the thread flushes and ends.
pub struct Keeper {
    requests: Option<Sender<Request>>,
    thread: Option<JoinHandle<()>>,
    waiting: Arc<Mutex<Waiting>>,
    status: Arc<Mutex<StoreStatus>>,
}

impl Keeper {
    /// Starts the thread, which opens the store first.
    ///
    /// # Errors
    /// If a thread cannot be started.
    pub fn start(opener: Opener) -> std::io::Result<Self> {
        let (requests, receiver) = channel();
        let waiting = Arc::new(Mutex::new(Waiting::default()));
        let status = Arc::new(Mutex::new(StoreStatus::default()));
        let work = Work {
            opener,
            store: None,
            failed_at: None,
            unflushed: 0,
            waiting: waiting.clone(),
            status: status.clone(),
        };
        let thread = std::thread::Builder::new()
            .name("sateen-store".to_owned())
            .spawn(move || work.serve(&receiver))?;
        Ok(Self { requests: Some(requests), thread: Some(thread), waiting, status })
    }

    /// Saves an entry, soon.
    pub fn save(&self, run: StoredRun, entry: Entry) {
        let mut waiting = self.waiting.lock();
        let before = waiting.bytes;
        let is_kept = waiting.push(run, entry);
        let after = waiting.bytes;
        drop(waiting);
        if !is_kept {
            self.status.lock().dropped += 1;
            return;
        }
        // The first entry starts the wait, and the one that fills the batch ends it.
        if before == 0 || (before < EAGER_BYTES && after >= EAGER_BYTES) {
            self.send(Request::Write);
        }
    }

    /// Passes all entries of a run to `then`, on the store's thread.
    pub fn restore(&self, run: StoredRun, then: impl FnOnce(Vec<Entry>) + Send + 'static) {
        self.send(Request::Restore(run, Box::new(then)));
    }

    /// Drops all of a run.
    pub fn forget(&self, run: StoredRun) {
        self.waiting.lock().forget(run);
        self.send(Request::Forget(run));
    }

    /// Waits until all entries saved before are on the disk.
    pub fn flush(&self) {
        let (done, flushed) = channel();
        self.send(Request::Flush(done));
        let _ = flushed.recv();
    }

    /// How it is.
    pub fn status(&self) -> StoreStatus {
        self.status.lock().clone()
    }

    fn send(&self, request: Request) {
        if let Some(requests) = &self.requests {
            // The thread outlives the handle.
            let _ = requests.send(request);
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.requests = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Work {
    opener: Opener,
    store: Option<Box<dyn Store>>,
    failed_at: Option<Instant>,
    /// Entries written since the last flush.
    unflushed: u64,
    waiting: Arc<Mutex<Waiting>>,
    status: Arc<Mutex<StoreStatus>>,
}

impl Work {
    fn serve(mut self, requests: &Receiver<Request>) {
        self.open();
        let mut flush_at: Option<Instant> = None;
        loop {
            let patience =
                flush_at.map_or(Duration::from_secs(60), |at| at.saturating_duration_since(Instant::now()));
            match requests.recv_timeout(patience) {
                Ok(request) => self.serve_one(request),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            let waiting_bytes = self.waiting.lock().bytes;
            if waiting_bytes >= EAGER_BYTES {
                self.write();
            }
            let is_clean = waiting_bytes == 0 && self.unflushed == 0;
            let now = Instant::now();
            match flush_at {
                _ if is_clean => flush_at = None,
                None => flush_at = Some(now + FLUSH_EVERY),
                Some(at) if at <= now => {
                    self.flush();
                    flush_at = None;
                }
                Some(_) => {}
            }
        }
        self.flush();
    }

    fn serve_one(&mut self, request: Request) {
        if self.store.is_none() && self.failed_at.is_none_or(|at| at.elapsed() > REOPEN_AFTER) {
            self.open();
        }
        match request {
            Request::Write => {}
            Request::Restore(run, then) => {
                self.write();
                let entries = self.with(|store| Ok(store.restore(run))).unwrap_or_default();
                self.status.lock().restored += entries.len() as u64;
                self.tell();
                then(entries);
            }
            Request::Flush(done) => {
                self.flush();
                let _ = done.send(());
            }
            Request::Forget(run) => {
                self.with(|store| store.forget(run));
                self.tell();
            }
        }
    }

    /// Writes waiting entries.
    fn write(&mut self) {
        let waiting = std::mem::take(&mut *self.waiting.lock());
        for (run, entry) in waiting.entries {
            match self.with(|store| store.save(run, &entry)) {
                Some(()) => self.unflushed += 1,
                None => self.status.lock().dropped += 1,
            }
        }
    }

    fn flush(&mut self) {
        self.write();
        if self.with(|store| store.flush()).is_some() {
            self.status.lock().saved += std::mem::take(&mut self.unflushed);
            self.tell();
        }
    }

    /// Calls `act` with the store, if there is one. A store that fails or panics is closed.
    fn with<T>(&mut self, act: impl FnOnce(&mut dyn Store) -> Result<T, StoreError>) -> Option<T> {
        let store = self.store.as_mut()?;
        let result = catch_unwind(AssertUnwindSafe(|| act(store.as_mut())))
            .unwrap_or_else(|_| Err(StoreError("the database panicked".to_owned())));
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                // Closing a database that has failed may panic as well.
                let store = self.store.take();
                let _ = catch_unwind(AssertUnwindSafe(|| drop(store)));
                self.fail(&error);
                None
            }
        }
    }

    fn open(&mut self) {
        match (self.opener)() {
            Ok((store, set_aside)) => {
                self.store = Some(store);
                let was_off = self.status.lock().off.take().is_some();
                if let Some((path, why)) = set_aside {
                    let path = path.display().to_string();
                    warn!(%why, path, "saved results of earlier runs cannot be opened; they were set aside and a new store begun");
                    self.status.lock().set_aside = Some(path);
                }
                if was_off {
                    info!("results are saved again");
                }
                self.tell();
            }
            Err(error) => self.fail(&error),
        }
    }

    fn fail(&mut self, error: &StoreError) {
        self.failed_at = Some(Instant::now());
        let unflushed = std::mem::take(&mut self.unflushed);
        let mut status = self.status.lock();
        // Logged once: further attempts need no line each.
        if status.off.is_none() {
            warn!(%error, "nothing is saved on this machine from now on; the host continues without saving");
        }
        status.off = Some(error.to_string());
        status.dropped += unflushed;
    }

    fn tell(&self) {
        if let Some(store) = &self.store {
            let mut status = self.status.lock();
            status.broken = store.broken();
            status.bytes = store.bytes();
        }
    }
}

#[cfg(test)]
mod tests;
