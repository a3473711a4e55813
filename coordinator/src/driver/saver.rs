//! Saving what the machine wants saved, and saving it again when the disk was full.
//!
//! States and ends are on the disk before anything that follows from them is sent. Nobody waits for the disk:
//! a task writes, and until it has, or when it cannot, the messages and answers that follow from a change are
//! held back, and all else goes on. Entries are saved in batches and behind the machine's back.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use rusqlite::Connection;
use sateen_protocol::coordinator::{LinkId, Standing};
use sateen_protocol::message::ToHost;
use sateen_protocol::{Entry, HostId, JobKey, JobNumber, RunEnd, RunId, RunState};
use tokio::sync::oneshot;

use super::LateFigures;
use super::request::ChangeError;
use super::standings::{BatchUnderWay, Standings, save_all};
use crate::chronicle::Chronicles;
use crate::clock::unix_ms;

use crate::limits::{CHANGES_AT_ONCE_MAX, UNSAVED_ENTRIES_MAX};
use crate::locked;
use crate::store::chronicle::{SavedHost, SavedRow};
use crate::store::sql::{self, EntryChanges};
use crate::store::{Store, StoreError};

/// A change that must be saved.
#[derive(Debug, Clone)]
pub enum Change {
    /// How far a run is.
    State(RunId, RunState),
    /// How a run ended.
    End {
        /// Which run.
        run: RunId,
        /// As pages show it.
        state: RunState,
        /// How.
        end: Arc<RunEnd>,
    },
    /// Which figures a run ended with, once they are final.
    Figures {
        /// Which run.
        run: RunId,
        /// Its figures.
        figures: Arc<LateFigures>,
    },
}

impl Change {
    /// Whose it is.
    pub fn run(&self) -> RunId {
        match self {
            Self::State(run, _) | Self::End { run, .. } | Self::Figures { run, .. } => *run,
        }
    }
}

/// An answer to a request, once what it asked for is saved.
pub type Answer = oneshot::Sender<Result<(), ChangeError>>;

/// What became of a batch of changes: how many were saved, and whether the next one failed.
#[derive(Debug, Clone, Copy)]
pub struct Written {
    saved: usize,
    has_failed: bool,
}

/// What waits to be saved.
#[derive(Debug)]
pub struct Saver {
    store: Arc<Store>,
    /// In their order, each with the time at which it was made.
    unsaved: VecDeque<(Change, u64)>,
    /// How many of them each run has.
    unsaved_of: HashMap<RunId, usize>,
    /// Some are being written; what becomes of them comes back here.
    written: Option<oneshot::Receiver<Written>>,
    held: HashMap<RunId, Held>,
    entries: EntryChanges,
    /// Entries that the store's thread has been given and not saved yet.
    entries_under_way: Arc<AtomicUsize>,
    chronicles: Arc<Chronicles>,
    /// Whether a batch of standings and chronicles is on its way.
    batch: Arc<BatchUnderWay>,
    /// How runs stood that are not over when that was last to be saved.
    standings: HashMap<RunId, Standing>,
    /// What goes with the next batch, also what of the last ones could not be saved.
    next: Arc<Mutex<Standings>>,
    entries_dropped: u64,
}

/// What follows from unsaved changes of one run.
#[derive(Debug, Default)]
struct Held {
    messages: Vec<(LinkId, ToHost)>,
    /// Hosts repeat results until they are acknowledged; one acknowledgement is enough.
    acknowledged: HashSet<(LinkId, JobNumber)>,
    answers: Vec<Answer>,
}

impl Saver {
    /// Nothing yet.
    pub fn new(store: Arc<Store>, chronicles: Arc<Chronicles>) -> Self {
        Self {
            store,
            unsaved: VecDeque::new(),
            unsaved_of: HashMap::new(),
            written: None,
            held: HashMap::new(),
            entries: EntryChanges::default(),
            entries_under_way: Arc::default(),
            chronicles,
            batch: Arc::default(),
            standings: HashMap::new(),
            next: Arc::default(),
            entries_dropped: 0,
        }
    }

    /// Has a change saved, after those that are still unsaved.
    pub fn save(&mut self, change: Change) {
        if let Change::End { run, .. } = change {
            self.entries.saved.retain(|(of, _)| *of != run);
            self.entries.superfluous.retain(|(of, _)| *of != run);
        }
        *self.unsaved_of.entry(change.run()).or_default() += 1;
        self.unsaved.push_back((change, unix_ms()));
        self.write();
    }

    /// Has what is unsaved written, if that is not under way.
    pub fn write(&mut self) {
        if self.written.is_some() || self.unsaved.is_empty() {
            return;
        }
        let changes: Vec<_> = self.unsaved.iter().take(CHANGES_AT_ONCE_MAX).cloned().collect();
        let (reply, written) = oneshot::channel();
        self.written = Some(written);
        let store = Arc::clone(&self.store);
        tokio::spawn(async move {
            // The driver that would have heard is gone.
            let _ = reply.send(write_changes(&store, changes).await);
        });
    }

    /// Whether changes are being written.
    pub fn is_writing(&self) -> bool {
        self.written.is_some()
    }

    /// Waits until something was written, or could not be. Nothing is lost if this is dropped and called again.
    pub async fn written(&mut self) -> Written {
        let Some(written) = &mut self.written else { return std::future::pending().await };
        let written = written.await.unwrap_or(Written { saved: 0, has_failed: true });
        self.written = None;
        written
    }

    /// Takes note of what was written, and gives it. What could not be is tried again later.
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
            // Whoever waits learns that it takes longer.
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

    /// How many changes could not be saved yet, and how many entries were not.
    pub fn backlog(&self) -> (usize, u64) {
        (self.unsaved.len(), self.entries_dropped)
    }

    /// Whether changes of the run are not saved yet.
    pub fn is_behind_with(&self, run: RunId) -> bool {
        self.unsaved_of.contains_key(&run)
    }

    /// Whether the end of the run is not saved yet.
    pub fn is_behind_with_end(&self, run: RunId) -> bool {
        let is_end =
            |(change, _): &(Change, u64)| matches!(change, Change::End { run: of, .. } if *of == run);
        self.is_behind_with(run) && self.unsaved.iter().any(is_end)
    }

    /// Gives the message back if it may be sent now. One that follows from what is not saved is kept.
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

    /// Answers once the run's changes are saved, or cannot be.
    pub fn answer(&mut self, run: RunId, answer: Answer) {
        if self.is_behind_with(run) {
            self.held.entry(run).or_default().answers.push(answer);
        } else {
            // The caller may have hung up.
            let _ = answer.send(Ok(()));
        }
    }

    /// Messages of a run that were kept and may be sent now, in their order; none as long as anything of the
    /// run is unsaved. Answers are given.
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
        let waiting = self.entries.saved.len() + self.entries_under_way.load(Ordering::Relaxed);
        let room = UNSAVED_ENTRIES_MAX.saturating_sub(waiting);
        self.entries_dropped += entries.len().saturating_sub(room) as u64;
        self.entries.saved.extend(entries.into_iter().take(room).map(|entry| (run, entry)));
        let room = UNSAVED_ENTRIES_MAX.saturating_sub(self.entries.superfluous.len());
        self.entries.superfluous.extend(superfluous.into_iter().take(room).map(|key| (run, key)));
    }

    /// Hands the batch to the store, and does not wait for it.
    pub fn flush_entries(&mut self) {
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
            // The store has logged why. Entries that are not saved cost work and nothing else.
            drop(saved);
        });
    }

    /// How a run stands that is not over.
    pub fn stands(&mut self, run: RunId, standing: Standing) {
        if self.standings.get(&run) != Some(&standing) {
            self.standings.insert(run, standing.clone());
            locked(&self.next).of_runs.insert(run, standing);
        }
    }

    /// What a host has counted of a run; nothing if it has no row any more.
    pub fn add_row(&mut self, run: RunId, host: HostId, row: Option<SavedRow>) {
        locked(&self.next).rows.insert((run, host), row);
    }

    /// A host that came, or nothing in place of one that went.
    pub fn add_host(&mut self, host: HostId, saved: Option<SavedHost>) {
        locked(&self.next).hosts.insert(host, saved);
    }

    /// The run is over.
    pub fn forget_standing(&mut self, run: RunId) {
        self.standings.remove(&run);
    }

    /// Hands how runs stand, as far as it has changed, and what is new in chronicles to the store, and does
    /// not wait for it; unless the last batch is still under way.
    pub fn save_standings(&mut self) {
        if self.batch.begin() {
            self.write_batch();
        }
    }

    /// The same, and if a batch is under way, with another one right after it.
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
                // The store has logged why, if it fails. All of it is tried again.
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

    /// Saves all that can be saved, for the end.
    pub async fn finish(&mut self) -> Result<(), StoreError> {
        self.write();
        while self.is_writing() {
            let written = self.written().await;
            self.note(written);
        }
        let (chronicles, next) = (Arc::clone(&self.chronicles), Arc::clone(&self.next));
        let save = move |connection: &mut Connection| save_all(connection, &chronicles, &next, true);
        self.store.write(save).await?;
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

/// The run whose saved state a message tells of.
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
