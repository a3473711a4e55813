//! Saves what the machine wants saved, and retries when the disk was full.
//!
//! States and ends are on the disk before anything that follows from them is sent. The driver does not wait for the disk:
//! a task writes, and until it has, or while it cannot, the messages and answers that follow from a change are
//! held back, and everything else continues. Entries are saved in batches, independently of that.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use rusqlite::Connection;
use sateen_protocol::coordinator::{LinkId, Standing};
use sateen_protocol::message::ToHost;
use sateen_protocol::{AssignmentId, Entry, HostId, JobKey, RunEnd, RunId, RunState};
use tokio::sync::oneshot;

use super::request::ChangeError;
use super::reuse::Keepers;
use super::standings::{BatchUnderWay, Standings, save_all};
use crate::chronicle::Chronicles;
use crate::clock::unix_ms;
use crate::figures::LateFigures;

use crate::limits::{CHANGES_AT_ONCE_MAX, UNSAVED_ENTRIES_MAX};
use crate::locked;
use crate::store::chronicle::{SavedHost, SavedRow};
use crate::store::sql::{self, EntryChanges};
use crate::store::{Store, StoreError};

/// A change to be saved.
#[derive(Debug, Clone)]
pub enum Change {
    /// The state of a run.
    State(RunId, RunState),
    /// The end of a run.
    End {
        /// Which run.
        run: RunId,
        /// Its state for pages.
        state: RunState,
        /// Its result or failure.
        end: Arc<RunEnd>,
    },
    /// The final figures of a run.
    Figures {
        /// Which run.
        run: RunId,
        /// Its figures.
        figures: Arc<LateFigures>,
    },
}

impl Change {
    /// The run of a change.
    pub fn run(&self) -> RunId {
        match self {
            Self::State(run, _) | Self::End { run, .. } | Self::Figures { run, .. } => *run,
        }
    }
}

/// An answer to a request, sent once the change is saved.
pub type Answer = oneshot::Sender<Result<(), ChangeError>>;

/// The outcome of a batch of changes: how many were saved, and whether the next one failed.
#[derive(Debug, Clone, Copy)]
pub struct Written {
    saved: usize,
    has_failed: bool,
}

/// Everything that waits to be saved.
#[derive(Debug)]
pub struct Saver {
    store: Arc<Store>,
    /// In order, each with the time at which it was made.
    unsaved: VecDeque<(Change, u64)>,
    /// The number of changes of each run.
    unsaved_of: HashMap<RunId, usize>,
    /// Receives the outcome of changes that are being written.
    written: Option<oneshot::Receiver<Written>>,
    held: HashMap<RunId, Held>,
    entries: EntryChanges,
    /// Results for later runs.
    pub keepers: Keepers,
    /// Entries that the store's thread has received and not saved yet.
    entries_under_way: Arc<AtomicUsize>,
    chronicles: Arc<Chronicles>,
    /// Whether a batch of standings and chronicles is being saved.
    batch: Arc<BatchUnderWay>,
    /// The standings of unfinished runs when they were last handed over to be saved.
    standings: HashMap<RunId, Standing>,
    /// The next batch, including what could not be saved of the last ones.
    next: Arc<Mutex<Standings>>,
    entries_dropped: u64,
}

/// Messages that follow from unsaved changes of one run.
#[derive(Debug, Default)]
struct Held {
    messages: Vec<(LinkId, ToHost)>,
    /// Hosts repeat results until they are acknowledged, so one acknowledgement is enough.
    acknowledged: HashSet<(LinkId, AssignmentId)>,
    answers: Vec<Answer>,
}

impl Saver {
    /// A saver without work.
    pub fn new(store: Arc<Store>, chronicles: Arc<Chronicles>) -> Self {
        Self {
            store,
            unsaved: VecDeque::new(),
            unsaved_of: HashMap::new(),
            written: None,
            held: HashMap::new(),
            entries: EntryChanges::default(),
            keepers: Keepers::default(),
            entries_under_way: Arc::default(),
            chronicles,
            batch: Arc::default(),
            standings: HashMap::new(),
            next: Arc::default(),
            entries_dropped: 0,
        }
    }

    /// Saves a change, after those that are still unsaved.
    pub fn save(&mut self, change: Change) {
        if let Change::End { run, .. } = change {
            self.entries.saved.retain(|(of, _)| *of != run);
            self.entries.superfluous.retain(|(of, _)| *of != run);
        }
        *self.unsaved_of.entry(change.run()).or_default() += 1;
        self.unsaved.push_back((change, unix_ms()));
        self.write();
    }

    /// Writes unsaved changes, unless some are being written.
    pub fn write(&mut self) {
        if self.written.is_some() || self.unsaved.is_empty() {
            return;
        }
        let changes: Vec<_> = self.unsaved.iter().take(CHANGES_AT_ONCE_MAX).cloned().collect();
        let (reply, written) = oneshot::channel();
        self.written = Some(written);
        let store = Arc::clone(&self.store);
        tokio::spawn(async move {
            // The driver that would receive the outcome is gone.
            let _ = reply.send(write_changes(&store, changes).await);
        });
    }

    /// Whether changes are being written.
    pub fn is_writing(&self) -> bool {
        self.written.is_some()
    }

    /// Waits for the outcome of a write. Cancel safe: nothing is lost if this is dropped and called again.
    pub async fn written(&mut self) -> Written {
        let Some(written) = &mut self.written else { return std::future::pending().await };
        let written = written.await.unwrap_or(Written { saved: 0, has_failed: true });
        self.written = None;
        written
    }

    /// Handles the outcome of a write, and returns what was saved. Failed changes are retried later.
    pub fn note(&mut self, written: Written) -> Vec<Change> {
        let saved: Vec<Change> = self.unsaved.drain(..written.saved).map(|(change, _)| change).collect();
        for change in &saved {
            if let Some(count) = self.unsaved_of.get_mut(&change.run()) {
                *count -= 1;
                if *count == 0 {
                    self.unsaved_of.remove(&change.run());
                }
            }
        }
        if written.has_failed {
            // Requests that wait are answered that it takes longer.
            for held in self.held.values_mut() {
                for answer in held.answers.drain(..) {
                    let _ = answer.send(Err(ChangeError::Unsaved));
                }
            }
        } else {
            self.write();
        }
        saved
    }

    /// The number of changes that are not saved yet, and of entries that were dropped.
    pub fn backlog(&self) -> (usize, u64) {
        (self.unsaved.len(), self.entries_dropped)
    }

    /// Whether changes of the run are not saved yet.
    pub fn is_behind_with(&self, run: RunId) -> bool {
        self.unsaved_of.contains_key(&run)
    }

    /// When the run ended, in milliseconds since 1970, if that is not saved yet.
    pub fn unsaved_end(&self, run: RunId) -> Option<u64> {
        let is_end =
            |(change, _): &(Change, u64)| matches!(change, Change::End { run: of, .. } if *of == run);
        let end = || self.unsaved.iter().find(|change| is_end(change)).map(|(_, at_ms)| *at_ms);
        self.is_behind_with(run).then(end).flatten()
    }

    /// Returns the message if it may be sent now. A message that follows from an unsaved change is kept.
    pub fn hold(&mut self, link: LinkId, message: ToHost) -> Option<(LinkId, ToHost)> {
        match follows_from(&message) {
            Some(run) if self.is_behind_with(run) => {
                let held = self.held.entry(run).or_default();
                let is_news = match &message {
                    ToHost::Acknowledged { number, .. } => held.acknowledged.insert((link, *number)),
                    _ => true,
                };
                if is_news {
                    held.messages.push((link, message));
                }
                None
            }
            _ => Some((link, message)),
        }
    }

    /// Answers once the run's changes are saved, or failed to be.
    pub fn answer(&mut self, run: RunId, answer: Answer) {
        if self.is_behind_with(run) {
            self.held.entry(run).or_default().answers.push(answer);
        } else {
            // The caller may have hung up.
            let _ = answer.send(Ok(()));
        }
    }

    /// Kept messages of a run that may be sent now, in order; none as long as anything of the
    /// run is unsaved. Also sends answers.
    pub fn release(&mut self, run: RunId) -> Vec<(LinkId, ToHost)> {
        if self.is_behind_with(run) {
            return Vec::new();
        }
        let Some(held) = self.held.remove(&run) else { return Vec::new() };
        for answer in held.answers {
            let _ = answer.send(Ok(()));
        }
        held.messages
    }

    /// Adds entries to the next batch.
    pub fn add_entries(&mut self, run: RunId, entries: Vec<Entry>, superfluous: Vec<JobKey>) {
        self.keepers.note_entries(run, &entries);
        let waiting = self.entries.saved.len() + self.entries_under_way.load(Ordering::Relaxed);
        let room = UNSAVED_ENTRIES_MAX.saturating_sub(waiting);
        self.entries_dropped += entries.len().saturating_sub(room) as u64;
        self.entries.saved.extend(entries.into_iter().take(room).map(|entry| (run, entry)));
        let room = UNSAVED_ENTRIES_MAX.saturating_sub(self.entries.superfluous.len());
        self.entries.superfluous.extend(superfluous.into_iter().take(room).map(|key| (run, key)));
    }

    /// Hands the results for later runs to the store, without waiting for it.
    pub fn flush_kept(&mut self) {
        let kept = self.keepers.take();
        if !kept.is_empty() {
            let store = Arc::clone(&self.store);
            // The store has logged why it could not. Losing results only costs work.
            tokio::spawn(async move { store.keep(kept).await.ok() });
        }
    }

    /// Hands the batch to the store, without waiting for it.
    pub fn flush_entries(&mut self) {
        self.flush_kept();
        let changes = std::mem::take(&mut self.entries);
        let count = changes.saved.len();
        if count + changes.superfluous.len() == 0 {
            return;
        }
        self.entries_under_way.fetch_add(count, Ordering::Relaxed);
        let (store, under_way) = (Arc::clone(&self.store), Arc::clone(&self.entries_under_way));
        tokio::spawn(async move {
            let saved = store.write(move |connection| sql::save_entries(connection, &changes)).await;
            under_way.fetch_sub(count, Ordering::Relaxed);
            // The store has logged why. Losing entries only costs work.
            drop(saved);
        });
    }

    /// The standing of a run that is not over.
    pub fn stands(&mut self, run: RunId, standing: Standing) {
        if self.standings.get(&run) != Some(&standing) {
            self.standings.insert(run, standing.clone());
            locked(&self.next).of_runs.insert(run, standing);
        }
    }

    /// A host's counts of a run; `None` if the row was removed.
    pub fn add_row(&mut self, run: RunId, host: HostId, row: Option<SavedRow>) {
        locked(&self.next).rows.insert((run, host), row);
    }

    /// A host that joined, or `None` for one that went.
    pub fn add_host(&mut self, host: HostId, saved: Option<SavedHost>) {
        locked(&self.next).hosts.insert(host, saved);
    }

    /// The run is over.
    pub fn forget_standing(&mut self, run: RunId) {
        self.standings.remove(&run);
    }

    /// Hands the standings that have changed, and what is new in chronicles, to the store, without
    /// waiting for it; unless the last batch is still being saved.
    pub fn save_standings(&mut self) {
        if self.batch.begin() {
            self.write_batch();
        }
    }

    /// The same, and if a batch is being saved, with another one right after it.
    pub fn save_standings_at_once(&mut self) {
        if self.batch.begin_or_repeat() {
            self.write_batch();
        }
    }

    fn write_batch(&self) {
        let (store, chronicles) = (Arc::clone(&self.store), Arc::clone(&self.chronicles));
        let (batch, next) = (Arc::clone(&self.batch), Arc::clone(&self.next));
        tokio::spawn(async move {
            loop {
                let (chronicles, next) = (Arc::clone(&chronicles), Arc::clone(&next));
                let save = move |connection: &mut Connection| save_all(connection, &chronicles, &next, false);
                // On failure, the store has logged why. All of it is tried again.
                drop(store.write(save).await);
                if batch.end() {
                    break;
                }
            }
        });
    }

    /// Whether a batch of standings and chronicles is being saved.
    pub fn is_saving_standings(&self) -> bool {
        self.batch.is_under_way()
    }

    /// Saves as much as possible, for the end.
    pub async fn finish(&mut self) -> Result<(), StoreError> {
        self.write();
        while self.is_writing() {
            let written = self.written().await;
            self.note(written);
        }
        let (chronicles, next) = (Arc::clone(&self.chronicles), Arc::clone(&self.next));
        let save = move |connection: &mut Connection| save_all(connection, &chronicles, &next, true);
        self.store.write(save).await?;
        self.store.keep(self.keepers.take()).await?;
        let changes = std::mem::take(&mut self.entries);
        self.store.write(move |connection| sql::save_entries(connection, &changes)).await
    }
}

/// Saves changes one after the other, until one fails.
async fn write_changes(store: &Store, changes: Vec<(Change, u64)>) -> Written {
    let mut saved = 0;
    for (change, when_ms) in changes {
        let result = store.write(move |connection| match &change {
            Change::State(run, state) => sql::set_state(connection, *run, *state, when_ms),
            Change::End { run, state, end } => sql::set_end(connection, *run, *state, end, when_ms),
            Change::Figures { run, figures } => sql::set_figures(connection, *run, figures),
        });
        if result.await.is_err() {
            return Written { saved, has_failed: true };
        }
        saved += 1;
    }
    Written { saved, has_failed: false }
}

/// The run on whose saved state a message depends.
fn follows_from(message: &ToHost) -> Option<RunId> {
    match message {
        ToHost::StartRun { run, .. }
        | ToHost::Master { run, .. }
        | ToHost::StopRun { run }
        | ToHost::SuspendRun { run }
        | ToHost::Assign { run, .. }
        | ToHost::Acknowledged { run, .. } => Some(*run),
        _ => None,
    }
}
