//! How runs stand, and what is new in their chronicles: what people look at, saved now and then.

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
    /// Adds what is newer than all that is here.
    fn add_newer(&mut self, newer: Self) {
        self.of_runs.extend(newer.of_runs);
        self.rows.extend(newer.rows);
        self.hosts.extend(newer.hosts);
    }

    /// Could not be saved: goes with the next batch. Others wait no longer than it takes to add what they added meanwhile.
    fn put_back(mut self, next: &Mutex<Self>) {
        let newer = std::mem::take(&mut *locked(next));
        self.add_newer(newer);
        let mut next = locked(next);
        self.add_newer(std::mem::take(&mut *next));
        *next = self;
    }
}

/// Whether a batch is on its way to the store; there is one at a time.
#[derive(Debug, Default)]
pub struct BatchUnderWay(AtomicU8);

/// Nothing is under way; a batch is; one is, and another is wanted after it.
const NOTHING: u8 = 0;
const ONE: u8 = 1;
const ONE_AND_ANOTHER: u8 = 2;

impl BatchUnderWay {
    /// A batch begins, unless one is under way.
    pub fn begin(&self) -> bool {
        self.0.compare_exchange(NOTHING, ONE, SeqCst, SeqCst).is_ok()
    }

    /// A batch begins; if one is under way, another follows it.
    pub fn begin_or_repeat(&self) -> bool {
        let next = |now| Some(if now == NOTHING { ONE } else { ONE_AND_ANOTHER });
        self.0.fetch_update(SeqCst, SeqCst, next) == Ok(NOTHING)
    }

    /// A batch has come to its end: whether that was the last, and not the first of two.
    pub fn end(&self) -> bool {
        let next = |now| Some(if now == ONE_AND_ANOTHER { ONE } else { NOTHING });
        self.0.fetch_update(SeqCst, SeqCst, next) != Ok(ONE_AND_ANOTHER)
    }

    /// Whether there is one.
    pub fn is_under_way(&self) -> bool {
        self.0.load(SeqCst) != NOTHING
    }
}

/// Saves standings, and what is new in chronicles; on the store's thread. What could not be saved is there again.
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
    fn what_could_not_be_saved_comes_again_but_for_what_is_newer() {
        let of = |host, since_ms| (HostId(host), Some(SavedHost { name: Arc::default(), since_ms }));
        let hosts = |hosts: Vec<_>| Standings { hosts: hosts.into_iter().collect(), ..Standings::default() };
        let next = Mutex::new(hosts(vec![of(2, 5), (HostId(3), None)]));
        hosts(vec![of(1, 4), of(2, 4), of(3, 4)]).put_back(&next);
        assert_eq!(locked(&next).hosts, hosts(vec![of(1, 4), of(2, 5), (HostId(3), None)]).hosts);
    }

    #[test]
    fn what_is_wanted_while_a_batch_is_under_way_follows_it() {
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
