//! What a host keeps on disk: the entries of its runs, so that even the loss of all hosts at once
//! loses little.
//!
//! Correctness never depends on it. Whatever goes wrong here (a torn write, a full disk, a store that
//! does not open) is a miss, a warning and a line in the status; never a wrong result and never a
//! host that does not start.

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

/// A run, told apart from the same number's in another grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct StoredRun {
    /// Of which grid.
    pub grid: GridId,
    /// Its number there.
    pub run: RunId,
}

impl StoredRun {
    fn name(self) -> String {
        format!("{:016x}/{}", self.grid.0, self.run)
    }
}

/// What cannot be saved, and why.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct StoreError(pub String);

/// Entries on disk. It is called on a thread of its own and may block.
pub trait Store: Send {
    /// All that is there of a run; broken entries are counted and left out.
    fn restore(&mut self, run: StoredRun) -> Vec<Entry>;

    /// Adds an entry, in place of an earlier one of the same job. It counts as saved after a flush.
    ///
    /// # Errors
    /// When it cannot be.
    fn save(&mut self, run: StoredRun, entry: &Entry) -> Result<(), StoreError>;

    /// Brings all to the disk.
    ///
    /// # Errors
    /// When that fails.
    fn flush(&mut self) -> Result<(), StoreError>;

    /// Drops all of a run.
    ///
    /// # Errors
    /// When that fails.
    fn forget(&mut self, run: StoredRun) -> Result<(), StoreError>;

    /// Entries that were found broken since it was opened.
    fn broken(&self) -> u64;

    /// How much it takes on disk.
    fn bytes(&self) -> u64;
}

/// How the store is, for people.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreStatus {
    /// Why nothing is saved, if so.
    pub off: Option<String>,
    /// Entries that are on the disk since the start.
    pub saved: u64,
    /// Entries that were not saved.
    pub dropped: u64,
    /// Entries read back since the start.
    pub restored: u64,
    /// Of the entries on disk, such as were broken.
    pub broken: u64,
    /// What it takes on disk.
    pub bytes: u64,
    /// A store that did not open, and where it was put.
    pub set_aside: Option<String>,
}
