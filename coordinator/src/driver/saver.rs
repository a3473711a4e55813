//! Saving what the machine wants saved, and saving it again when the disk was full.
//!
//! States and ends are on the disk before anything that follows from them is sent. When one cannot be
//! saved, the messages that follow from it wait, all else goes on. Entries are saved in batches and
//! behind the machine's back.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rusqlite::Connection;
use sateen_protocol::coordinator::LinkId;
use sateen_protocol::message::ToHost;
use sateen_protocol::{Entry, JobKey, RunEnd, RunId, RunState};

use crate::api::types::Figures;
use crate::chronicle::Chronicles;
use crate::clock::unix_ms;

use crate::limits::{SAVED_JOBS_MAX, UNSAVED_ENTRIES_MAX};
use crate::store::chronicle::{self, Batch, NamedStanding};
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
        /// And with which figures.
        figures: Arc<Figures>,
    },
}

impl Change {
    fn run(&self) -> RunId {
        match self {
            Self::State(run, _) | Self::End { run, .. } => *run,
        }
    }
}

/// What waits to be saved.
#[derive(Debug)]
pub struct Saver {
    store: Arc<Store>,
    unsaved: VecDeque<(Change, u64)>,
    held: Vec<(LinkId, ToHost)>,
    entries: EntryChanges,
    /// Entries that the store's thread has been given and not saved yet.
    entries_under_way: Arc<AtomicUsize>,
    chronicles: Arc<Chronicles>,
    /// A batch of standings and chronicles is on its way.
    standings_under_way: Arc<AtomicBool>,
    /// What was saved last, unless that failed.
    standings: HashMap<RunId, NamedStanding>,
    standings_failed: Arc<AtomicBool>,
    entries_dropped: u64,
}

impl Saver {
    /// Nothing yet.
    pub fn new(store: Arc<Store>, chronicles: Arc<Chronicles>) -> Self {
        Self {
            store,
            unsaved: VecDeque::new(),
            held: Vec::new(),
            entries: EntryChanges::default(),
            entries_under_way: Arc::default(),
            chronicles,
            standings_under_way: Arc::default(),
            standings: HashMap::new(),
            standings_failed: Arc::default(),
            entries_dropped: 0,
        }
    }

    /// Saves a change, after those that are still unsaved. True if it is on the disk.
    pub async fn save(&mut self, change: Change) -> bool {
        if let Change::End { run, .. } = change {
            self.entries.saved.retain(|(of, _)| *of != run);
            self.entries.superfluous.retain(|(of, _)| *of != run);
        }
        self.unsaved.push_back((change, unix_ms()));
        self.save_again().await;
        self.unsaved.is_empty()
    }

    /// Tries what could not be saved before. Gives what was saved.
    pub async fn save_again(&mut self) -> Vec<Change> {
        let mut saved = Vec::new();
        while let Some((change, when_ms)) = self.unsaved.front().cloned() {
            let write = change.clone();
            let result = self.store.write(move |connection| match &write {
                Change::State(run, state) => sql::set_state(connection, *run, *state, when_ms),
                Change::End { run, state, end, figures } => {
                    sql::set_end(connection, *run, *state, end, figures, when_ms)
                }
            });
            if result.await.is_err() {
                break;
            }
            self.unsaved.pop_front();
            saved.push(change);
        }
        saved
    }

    /// How many changes could not be saved yet, and how many entries were not.
    pub fn backlog(&self) -> (usize, u64) {
        (self.unsaved.len(), self.entries_dropped)
    }

    /// Whether something could not be saved.
    pub fn is_behind(&self) -> bool {
        !self.unsaved.is_empty()
    }

    /// Whether changes of the run could not be saved.
    pub fn is_behind_with(&self, run: RunId) -> bool {
        self.unsaved.iter().any(|(change, _)| change.run() == run)
    }

    /// Gives the message back if it may be sent now. One that follows from what is not saved is kept.
    pub fn hold(&mut self, link: LinkId, message: ToHost) -> Option<(LinkId, ToHost)> {
        match follows_from(&message) {
            Some(run) if self.is_behind_with(run) => {
                // Hosts repeat themselves until they are answered.
                if !self.held.iter().any(|held| (held.0, &held.1) == (link, &message)) {
                    self.held.push((link, message));
                }
                None
            }
            _ => Some((link, message)),
        }
    }

    /// Messages that were kept and may be sent now.
    pub fn release(&mut self) -> Vec<(LinkId, ToHost)> {
        let held = std::mem::take(&mut self.held);
        held.into_iter().filter_map(|(link, message)| self.hold(link, message)).collect()
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

    /// Whether the last batch of standings is saved.
    pub fn may_save_standings(&self) -> bool {
        !self.standings_under_way.load(Ordering::Relaxed)
    }

    /// Hands how runs stand, as far as it has changed, and what is new in chronicles to the store, and does
    /// not wait for it.
    pub fn save_standings(&mut self, standings: Vec<(RunId, NamedStanding)>) {
        if self.standings_failed.swap(false, Ordering::Relaxed) {
            self.standings.clear();
        }
        let all: HashMap<RunId, NamedStanding> = standings.into_iter().collect();
        let changed = all.iter().filter(|(run, standing)| self.standings.get(run) != Some(standing));
        let changed = changed.map(|(run, standing)| (*run, standing.clone())).collect();
        self.standings = all;
        self.standings_under_way.store(true, Ordering::Relaxed);
        let (store, chronicles) = (Arc::clone(&self.store), Arc::clone(&self.chronicles));
        let (under_way, failed) = (Arc::clone(&self.standings_under_way), Arc::clone(&self.standings_failed));
        tokio::spawn(async move {
            let saved =
                store.write(move |connection| save_all(connection, &chronicles, changed, false)).await;
            // The store has logged why. All of it is tried again.
            failed.store(saved.is_err(), Ordering::Relaxed);
            under_way.store(false, Ordering::Relaxed);
        });
    }

    /// Saves all that can be saved, for the end.
    pub async fn finish(&mut self, standings: Vec<(RunId, NamedStanding)>) -> Result<(), StoreError> {
        self.save_again().await;
        let chronicles = Arc::clone(&self.chronicles);
        self.store.write(move |connection| save_all(connection, &chronicles, standings, true)).await?;
        let changes = std::mem::take(&mut self.entries);
        self.store.write(move |connection| sql::save_entries(connection, &changes)).await
    }
}

/// Saves standings, and what is new in chronicles; on the store's thread.
fn save_all(
    connection: &mut Connection,
    chronicles: &Chronicles,
    standings: Vec<(RunId, NamedStanding)>,
    is_last: bool,
) -> Result<(), StoreError> {
    let jobs_max = if is_last { usize::MAX } else { SAVED_JOBS_MAX };
    let (changes, dropped) = chronicles.changes(jobs_max, is_last);
    if standings.is_empty() && changes.is_empty() && dropped.is_empty() {
        return Ok(());
    }
    let batch = Batch { standings, chronicles: changes, dropped };
    let saved = chronicle::save(connection, &batch);
    if saved.is_err() {
        chronicles.save_again(&batch.chronicles, batch.dropped);
    }
    saved
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
