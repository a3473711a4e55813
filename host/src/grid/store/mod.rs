//! A host's data on disk: the entries of its runs, so that even a crash of all hosts at once loses little.
//!
//! Correctness never depends on it. Any failure here (an interrupted write, a full disk, a store that does not
//! open) is a miss, a warning and a line in the status; it never leads to a wrong result or to a host that does
//! not start.

mod keeper;
mod open;
mod record;
mod sled_store;

use sateen_protocol::{Entry, GridId, RunId};
use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use keeper::{Keeper, Opener};
pub use open::{Opened, open};
pub use sled_store::SledStore;

/// A run, distinguished from runs with the same number in other grids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct StoredRun {
    /// Its grid.
    pub grid: GridId,
    /// Its number there.
    pub run: RunId,
}

impl StoredRun {
    fn name(self) -> String {
        format!("{:016x}/{}", self.grid.0, self.run)
    }
}

/// Why entries cannot be saved.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct StoreError(pub String);

/// Entries on disk. Methods are called on a thread of their own and may block.
pub trait Store: Send {
    /// All entries of a run; broken ones are counted and left out.
    fn restore(&mut self, run: StoredRun) -> Vec<Entry>;

    /// Adds an entry, which replaces an earlier one of the same job. It counts as saved after a flush.
    ///
    /// # Errors
    /// If this fails.
    fn save(&mut self, run: StoredRun, entry: &Entry) -> Result<(), StoreError>;

    /// Flushes all entries to the disk.
    ///
    /// # Errors
    /// When that fails.
    fn flush(&mut self) -> Result<(), StoreError>;

    /// Drops all of a run.
    ///
    /// # Errors
    /// When that fails.
    fn forget(&mut self, run: StoredRun) -> Result<(), StoreError>;

    /// Entries found broken since the store was opened.
    fn broken(&self) -> u64;

    /// Its size on disk.
    fn bytes(&self) -> u64;
}

/// The state of the store, for people.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreStatus {
    /// Why nothing is saved, if that is the case.
    pub off: Option<String>,
    /// Entries that are on the disk since the start.
    pub saved: u64,
    /// Entries that were not saved.
    pub dropped: u64,
    /// Entries read back since the start.
    pub restored: u64,
    /// Entries on disk that were broken.
    pub broken: u64,
    /// Its size on disk.
    pub bytes: u64,
    /// A store that did not open, and its new path.
    pub set_aside: Option<String>,
}
