//! Standings of runs, and what is new in their chronicles: for people, and saved now and then.

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU8, Ordering::SeqCst};

use rusqlite::Connection;
use sateen_protocol::coordinator::Standing;
use sateen_protocol::{HostId, RunId};

use crate::chronicle::Chronicles;
use crate::limits::SAVED_JOBS_MAX;
use crate::locked;
use crate::store::StoreError;
use crate::store::chronicle::{self, Batch, SavedHost, SavedRow};

/// The standings of runs.
#[derive(Debug, Default)]
pub struct Standings {
    /// Of runs that are not over.
    pub of_runs: HashMap<RunId, Standing>,
    /// Hosts' counts; `None` for rows that were removed.
    pub rows: BTreeMap<(RunId, HostId), Option<SavedRow>>,
    /// Hosts that joined, and `None` for those that went.
    pub hosts: BTreeMap<HostId, Option<SavedHost>>,
}

impl Standings {
    /// Adds what is newer than the contents.
    fn add_newer(&mut self, newer: Self) {
        self.of_runs.extend(newer.of_runs);
        self.rows.extend(newer.rows);
        self.hosts.extend(newer.hosts);
    }

    /// A batch could not be saved, and becomes part of the next. The lock is held only while newer standings are added.
    fn put_back(mut self, next: &Mutex<Self>) {
        let newer = std::mem::take(&mut *locked(next));
        self.add_newer(newer);
        let mut next = locked(next);
        self.add_newer(std::mem::take(&mut *next));
        *next = self;
    }
}

/// Whether a batch is being saved; there is one at a time.
#[derive(Debug, Default)]
pub struct BatchUnderWay(AtomicU8);

/// No batch is being saved; one is; one is, and another is to follow.
const NOTHING: u8 = 0;
const ONE: u8 = 1;
const ONE_AND_ANOTHER: u8 = 2;

impl BatchUnderWay {
    /// Begins a batch, unless one is being saved.
    pub fn begin(&self) -> bool {
        self.0.compare_exchange(NOTHING, ONE, SeqCst, SeqCst).is_ok()
    }

    /// Begins a batch; if one is being saved, another follows it.
    pub fn begin_or_repeat(&self) -> bool {
        let next = |now| Some(if now == NOTHING { ONE } else { ONE_AND_ANOTHER });
        self.0.fetch_update(SeqCst, SeqCst, next) == Ok(NOTHING)
    }

    /// A batch is finished; returns whether it was the last, and not the first of two.
    pub fn end(&self) -> bool {
        let next = |now| Some(if now == ONE_AND_ANOTHER { ONE } else { NOTHING });
        self.0.fetch_update(SeqCst, SeqCst, next) != Ok(ONE_AND_ANOTHER)
    }

    /// Whether a batch is being saved.
    pub fn is_under_way(&self) -> bool {
        self.0.load(SeqCst) != NOTHING
    }
}

/// Saves standings, and what is new in chronicles; on the store's thread. What could not be saved is put back.
pub fn save_all(
    connection: &mut Connection,
    chronicles: &Chronicles,
    next: &Mutex<Standings>,
    is_last: bool,
) -> Result<(), StoreError> {
    let jobs_max = if is_last { usize::MAX } else { SAVED_JOBS_MAX };
    let (changes, dropped) = chronicles.changes(jobs_max, is_last);
    let Standings { of_runs, rows, hosts } = std::mem::take(&mut *locked(next));
    if of_runs.is_empty() && rows.is_empty() && hosts.is_empty() && changes.is_empty() && dropped.is_empty() {
        return Ok(());
    }
    let batch = Batch { standings: of_runs, rows, chronicles: changes, dropped, hosts };
    let saved = chronicle::save(connection, &batch);
    if saved.is_err() {
        chronicles.save_again(&batch.chronicles, batch.dropped);
        Standings { of_runs: batch.standings, rows: batch.rows, hosts: batch.hosts }.put_back(next);
    }
    saved
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_failed_batch_is_retried_except_for_what_is_newer() {
        let of = |host, since_ms| (HostId(host), Some(SavedHost { name: Arc::default(), since_ms }));
        let hosts = |hosts: Vec<_>| Standings { hosts: hosts.into_iter().collect(), ..Standings::default() };
        let next = Mutex::new(hosts(vec![of(2, 5), (HostId(3), None)]));
        hosts(vec![of(1, 4), of(2, 4), of(3, 4)]).put_back(&next);
        assert_eq!(locked(&next).hosts, hosts(vec![of(1, 4), of(2, 5), (HostId(3), None)]).hosts);
    }

    #[test]
    fn a_batch_requested_while_one_is_being_saved_follows_it() {
        let batch = BatchUnderWay::default();
        assert!(batch.begin());
        assert!(!batch.begin(), "now and then it is not worth another");
        assert!(!batch.begin_or_repeat());
        assert!(!batch.begin_or_repeat(), "one is enough for both");
        assert!(!batch.end(), "the other follows");
        assert!(batch.is_under_way());
        assert!(batch.end());
        assert!(!batch.is_under_way() && batch.begin_or_repeat());
    }
}
