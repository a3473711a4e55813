//! How runs stand, and what is new in their chronicles: what people look at, saved now and then.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};

use rusqlite::Connection;
use sateen_protocol::coordinator::Standing;
use sateen_protocol::{HostId, RunId};

use crate::chronicle::Chronicles;
use crate::limits::SAVED_JOBS_MAX;
use crate::store::StoreError;
use crate::store::chronicle::{self, Batch, SavedHost, SavedRow};

/// How runs stand.
#[derive(Debug, Default)]
pub struct Standings {
    /// Of runs that are not over.
    pub of_runs: HashMap<RunId, Standing>,
    /// What hosts have counted; nothing in place of rows that are no more.
    pub rows: BTreeMap<(RunId, HostId), Option<SavedRow>>,
    /// Hosts that came, and nothing in place of those that went.
    pub hosts: BTreeMap<HostId, Option<SavedHost>>,
}

impl Standings {
    /// Adds what is older than all that is here.
    pub fn add_older(&mut self, older: Self) {
        for (run, standing) in older.of_runs {
            self.of_runs.entry(run).or_insert(standing);
        }
        for (host, row) in older.rows {
            self.rows.entry(host).or_insert(row);
        }
        for (host, saved) in older.hosts {
            self.hosts.entry(host).or_insert(saved);
        }
    }
}

/// Saves standings, and what is new in chronicles; on the store's thread. What could not be saved is `failed`.
pub fn save_all(
    connection: &mut Connection,
    chronicles: &Chronicles,
    standings: Standings,
    failed: &Mutex<Standings>,
    is_last: bool,
) -> Result<(), StoreError> {
    let jobs_max = if is_last { usize::MAX } else { SAVED_JOBS_MAX };
    let (changes, dropped) = chronicles.changes(jobs_max, is_last);
    let Standings { of_runs, rows, hosts } = standings;
    if of_runs.is_empty() && rows.is_empty() && hosts.is_empty() && changes.is_empty() && dropped.is_empty() {
        return Ok(());
    }
    let batch = Batch { standings: of_runs, rows, chronicles: changes, dropped, hosts };
    let saved = chronicle::save(connection, &batch);
    if saved.is_err() {
        chronicles.save_again(&batch.chronicles, batch.dropped);
        let unsaved = Standings { of_runs: batch.standings, rows: batch.rows, hosts: batch.hosts };
        failed.lock().unwrap_or_else(PoisonError::into_inner).add_older(unsaved);
    }
    saved
}
