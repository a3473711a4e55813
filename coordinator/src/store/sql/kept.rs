//! Results that later runs may find: those of the same submitter and app.

use rusqlite::{Connection, OptionalExtension, Transaction, params};
use sateen_protocol::coordinator::Submitter;
use sateen_protocol::limits::INLINE_RESULT_BYTES_MAX;
use sateen_protocol::{BlobHash, Entry, EntryState, JobKey, RunId, RunSpec, root_job};

use super::{Result, blob, decode, encode, readable, relaxed};
use crate::limits::{EARLIER_BYTES_MAX, KEPT_ROW_BYTES};

/// Maximum results that are deleted at once to make room.
const DELETED_AT_ONCE_MAX: u64 = 4096;
/// About the maximum disk space that the result of a job takes: if all take as much, no more are deleted than must be.
const OF_JOB_BYTES_MAX: u64 = INLINE_RESULT_BYTES_MAX as u64 + KEPT_ROW_BYTES;

/// Whose results they are: only runs of the same submitter and app find them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Keeper {
    /// Who submitted the run.
    pub submitter: Submitter,
    /// The run's app.
    pub app: BlobHash,
}

impl Keeper {
    fn owner(&self) -> [u8; 16] {
        self.submitter.0.to_be_bytes()
    }
}

/// What the results of all jobs of a run depend on, in addition to its app and their parameters: the run's inputs, and its profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inputs(Vec<u8>);

impl Inputs {
    /// Those of a run.
    pub fn of(spec: &RunSpec) -> Self {
        let mut bytes = vec![u8::from(spec.strict_nan)];
        bytes.extend(spec.salt());
        Self(bytes)
    }
}

/// A result to be kept, and the run that computed it.
#[derive(Debug, Clone)]
pub struct Kept {
    /// Whose it is.
    pub keeper: Keeper,
    /// The run.
    pub run: RunId,
    /// What it depends on.
    pub inputs: Inputs,
    /// The result.
    pub entry: Entry,
}

/// Keeps results. If all together take more than `bytes_max`, the submitter with the most loses those of the app that it has not
/// used for the longest time, beginning with the results that took the least work. Not forced to the disk: losing some only
/// costs work.
pub fn keep(connection: &mut Connection, results: &[Kept], bytes_max: u64, now_ms: u64) -> Result<()> {
    relaxed(connection, |connection| {
        let transaction = connection.transaction()?;
        {
            // The run may have been deleted meanwhile.
            let mut insert = transaction.prepare(
                "INSERT OR IGNORE INTO kept_results SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7
                 WHERE EXISTS (SELECT 1 FROM runs WHERE run = ?4)",
            )?;
            let mut add = transaction.prepare(
                "INSERT INTO kept_sums VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT DO UPDATE SET bytes = bytes + ?3, used_at_ms = max(used_at_ms, ?4)",
            )?;
            for Kept { keeper, run, inputs, entry } in results {
                let EntryState::Done(finished) = &entry.state else { continue };
                let (encoded, owner, app) = (encode(entry)?, keeper.owner(), keeper.app.0);
                let bytes = encoded.len() as u64 + KEPT_ROW_BYTES;
                let work_ns = i64::try_from(finished.work_ns).unwrap_or(i64::MAX);
                let values = params![owner, app, entry.key.0, run.0 as i64, inputs.0, work_ns, encoded];
                if insert.execute(values)? == 1 {
                    add.execute(params![owner, app, bytes as i64, now_ms as i64])?;
                }
            }
        }
        make_room(&transaction, bytes_max)?;
        transaction.commit()?;
        Ok(())
    })
}

fn make_room(transaction: &Transaction<'_>, bytes_max: u64) -> Result<()> {
    let mut least = transaction.prepare(
        "SELECT owner, app FROM kept_sums WHERE owner =
             (SELECT owner FROM kept_sums GROUP BY owner ORDER BY sum(bytes) DESC LIMIT 1)
         ORDER BY used_at_ms LIMIT 1",
    )?;
    let mut delete = transaction.prepare(
        "DELETE FROM kept_results WHERE owner = ?1 AND app = ?2 AND key IN
             (SELECT key FROM kept_results WHERE owner = ?1 AND app = ?2 ORDER BY work_ns LIMIT ?3)
         RETURNING length(entry)",
    )?;
    loop {
        let excess = kept_bytes(transaction)?.saturating_sub(bytes_max);
        if excess == 0 {
            break;
        }
        let least: Option<([u8; 16], [u8; 32])> =
            least.query_row([], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
        let Some((owner, app)) = least else { break };
        let count = (excess / OF_JOB_BYTES_MAX).clamp(1, DELETED_AT_ONCE_MAX) as i64;
        let lengths = delete.query_map(params![owner, app, count], |row| row.get::<_, i64>(0))?;
        let lengths: Vec<i64> = lengths.collect::<rusqlite::Result<_>>()?;
        let freed: i64 = lengths.iter().map(|length| length + KEPT_ROW_BYTES as i64).sum();
        subtract(transaction, &owner, &app, freed)?;
        if lengths.is_empty() {
            transaction
                .execute("DELETE FROM kept_sums WHERE owner = ?1 AND app = ?2", params![owner, app])?;
        }
    }
    Ok(())
}

fn subtract(transaction: &Transaction<'_>, owner: &[u8; 16], app: &[u8; 32], bytes: i64) -> Result<()> {
    transaction.execute(
        "UPDATE kept_sums SET bytes = bytes - ?3 WHERE owner = ?1 AND app = ?2",
        params![owner, app, bytes],
    )?;
    transaction
        .execute("DELETE FROM kept_sums WHERE owner = ?1 AND app = ?2 AND bytes <= 0", params![owner, app])?;
    Ok(())
}

/// The disk space of all kept results.
fn kept_bytes(connection: &Connection) -> Result<u64> {
    let bytes: i64 = (connection.prepare("SELECT coalesce(sum(bytes), 0) FROM kept_sums")?)
        .query_row([], |row| row.get(0))?;
    Ok(u64::try_from(bytes).unwrap_or(0))
}

/// A run is about to use the results: they are not the next to be deleted.
pub fn use_kept(connection: &Connection, keeper: Keeper, now_ms: u64) -> Result<()> {
    connection.execute(
        "UPDATE kept_sums SET used_at_ms = ?3 WHERE owner = ?1 AND app = ?2",
        params![keeper.owner(), keeper.app.0, now_ms as i64],
    )?;
    Ok(())
}

/// What a run may find that other runs have computed: its own result, or if there is none, as many others as a run may be given,
/// those that took the most work first.
pub fn earlier(connection: &Connection, keeper: Keeper, run: RunId, spec: &RunSpec) -> Result<Vec<Entry>> {
    let read = |row: &rusqlite::Row<'_>| blob(row, 0, "a kept result");
    let what = || "a kept result, whose job is computed again".to_owned();
    let JobKey(root) = root_job(spec).key;
    let mut of_root = connection
        .prepare("SELECT entry FROM kept_results WHERE owner = ?1 AND app = ?2 AND key = ?3 AND run != ?4")?;
    let of_root = of_root.query(params![keeper.owner(), keeper.app.0, root, run.0 as i64])?;
    let of_root: Vec<Entry> = readable(of_root, read, what)?;
    if !of_root.is_empty() {
        return Ok(of_root);
    }
    let mut most_work = connection.prepare(
        "SELECT entry FROM kept_results WHERE owner = ?1 AND app = ?2 AND inputs = ?3 AND run != ?4 ORDER BY work_ns DESC",
    )?;
    let values = params![keeper.owner(), keeper.app.0, Inputs::of(spec).0, run.0 as i64];
    let mut rows = most_work.query_map(values, |row| row.get::<_, Vec<u8>>(0))?;
    let (mut found, mut bytes) = (Vec::new(), 0);
    while let Some(encoded) = rows.next().transpose()? {
        let Ok(entry) = decode::<Entry>(&encoded, "a kept result") else { continue };
        // A run's result is of use to the same run only.
        if entry.depth == 0 {
            continue;
        }
        bytes += encoded.len() + KEPT_ROW_BYTES as usize;
        if bytes > EARLIER_BYTES_MAX {
            break;
        }
        found.push(entry);
    }
    Ok(found)
}

/// Deletes what is kept of a run that is deleted.
pub(super) fn forget_kept(transaction: &Transaction<'_>, run: RunId) -> Result<()> {
    let run = run.0 as i64;
    let mut sums = transaction.prepare(
        "SELECT owner, app, sum(length(entry) + ?2) FROM kept_results WHERE run = ?1 GROUP BY owner, app",
    )?;
    let sums = sums.query_map(params![run, KEPT_ROW_BYTES as i64], |row| {
        Ok((row.get::<_, [u8; 16]>(0)?, row.get::<_, [u8; 32]>(1)?, row.get::<_, i64>(2)?))
    })?;
    for (owner, app, bytes) in sums.collect::<rusqlite::Result<Vec<_>>>()? {
        subtract(transaction, &owner, &app, bytes)?;
    }
    transaction.execute("DELETE FROM kept_results WHERE run = ?1", [run])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use sateen_protocol::{Finished, Lineage, Outcome};

    use super::super::super::schema::migrate;
    use super::*;

    const APP: BlobHash = BlobHash([7; 32]);
    const MINE: Keeper = Keeper { submitter: Submitter(1), app: APP };
    const THEIRS: Keeper = Keeper { submitter: Submitter(2), app: APP };
    const RUN: RunId = RunId(5);
    const LATER: RunId = RunId(6);

    fn database() -> Connection {
        let mut connection = Connection::open_in_memory().expect("a database");
        migrate(&mut connection, Path::new("folder")).expect("it is new");
        for run in [RUN, LATER] {
            let row = "INSERT INTO runs (run, app, app_name, spec, state, submitted_at_ms)
                 VALUES (?1, x'00', 'app', x'00', 'done', 0)";
            connection.execute(row, [run.0 as i64]).expect("a run");
        }
        connection
    }

    fn kept(keeper: Keeper, run: RunId, entry: Entry) -> Kept {
        Kept { keeper, run, inputs: Inputs::of(&RunSpec::new(keeper.app)), entry }
    }

    fn entry(job: u8, work_ns: u64) -> Entry {
        let finished = Finished { outcome: Outcome::Done(vec![job; 100].into()), work_ns, span_ns: 1 };
        Entry {
            key: JobKey([job; 32]),
            depth: 1,
            lineage: Lineage::default(),
            state: EntryState::Done(finished),
            is_earlier: false,
        }
    }

    fn keep_all(
        connection: &mut Connection,
        keeper: Keeper,
        entries: &[Entry],
        (bytes_max, now_ms): (u64, u64),
    ) {
        let all: Vec<Kept> = entries.iter().map(|entry| kept(keeper, RUN, entry.clone())).collect();
        keep(connection, &all, bytes_max, now_ms).expect("kept");
    }

    fn jobs(connection: &Connection, keeper: Keeper) -> Vec<u8> {
        let spec = RunSpec::new(keeper.app);
        let found = earlier(connection, keeper, LATER, &spec).expect("read");
        found.iter().map(|entry| entry.key.0[0]).collect()
    }

    fn row_bytes() -> u64 {
        encode(&entry(1, 1)).expect("encodes").len() as u64 + KEPT_ROW_BYTES
    }

    #[test]
    fn runs_find_results_of_their_submitter_and_app_and_not_their_own() {
        let mut connection = database();
        keep_all(&mut connection, MINE, &[entry(1, 10), entry(2, 30), entry(3, 20)], (1 << 20, 1));
        keep_all(&mut connection, MINE, &[entry(2, 30)], (1 << 20, 2));
        assert_eq!(jobs(&connection, MINE), [2, 3, 1], "those that took the most work first");
        assert_eq!(kept_bytes(&connection).expect("a sum"), 3 * row_bytes(), "each once");
        let other_app = Keeper { app: BlobHash([8; 32]), ..MINE };
        assert_eq!((jobs(&connection, THEIRS), jobs(&connection, other_app)), (Vec::new(), Vec::new()));
        let own = earlier(&connection, MINE, RUN, &RunSpec::new(APP)).expect("read");
        assert_eq!(own, Vec::new(), "the run has them as its own");
    }

    #[test]
    fn a_run_with_other_inputs_or_arguments_is_given_nothing_that_it_cannot_find() {
        let mut connection = database();
        let other_root = Entry { depth: 0, ..entry(9, 100) };
        keep_all(&mut connection, MINE, &[entry(1, 10), other_root], (1 << 20, 1));
        assert_eq!(jobs(&connection, MINE), [1], "the root of other arguments is not found");
        let strict = RunSpec { strict_nan: true, ..RunSpec::new(APP) };
        let fed = RunSpec { inputs: vec![("table".to_owned(), BlobHash([3; 32]))], ..RunSpec::new(APP) };
        for spec in [strict, fed] {
            assert_eq!(earlier(&connection, MINE, LATER, &spec).expect("read"), Vec::new());
        }
    }

    #[test]
    fn a_run_whose_result_is_kept_finds_only_that() {
        let mut connection = database();
        let spec = RunSpec::new(APP);
        let root = Entry { key: root_job(&spec).key, depth: 0, ..entry(1, 50) };
        keep_all(&mut connection, MINE, &[entry(2, 30), root.clone()], (1 << 20, 1));
        assert_eq!(earlier(&connection, MINE, LATER, &spec).expect("read"), [root]);
    }

    #[test]
    fn the_submitter_with_the_most_loses_what_it_has_not_used_for_the_longest_time() {
        let mut connection = database();
        let (room, old) = (5 * row_bytes() + row_bytes() / 2, Keeper { app: BlobHash([8; 32]), ..MINE });
        keep_all(&mut connection, THEIRS, &[entry(1, 2), entry(2, 1)], (room, 1));
        keep_all(&mut connection, old, &[entry(3, 5)], (room, 2));
        keep_all(&mut connection, MINE, &[entry(4, 9), entry(5, 8)], (room, 3));
        assert_eq!(kept_bytes(&connection).expect("a sum"), 5 * row_bytes());
        use_kept(&connection, old, 4).expect("noted");
        keep_all(&mut connection, old, &[entry(6, 6)], (room, 4));
        assert_eq!((jobs(&connection, THEIRS), jobs(&connection, old)), (vec![1, 2], vec![6, 3]));
        assert_eq!(
            jobs(&connection, MINE),
            [4],
            "they were used before the others, and one of them is enough"
        );
        assert!(kept_bytes(&connection).expect("a sum") <= room);
    }

    #[test]
    fn a_run_is_given_no_more_than_a_bound() {
        let mut connection = database();
        let many: Vec<Entry> = (0..200)
            .map(|job| {
                let outcome = Outcome::Done(vec![job; EARLIER_BYTES_MAX / 100].into());
                let finished = Finished { outcome, work_ns: 1 + u64::from(job), span_ns: 1 };
                Entry { state: EntryState::Done(finished), ..entry(job, 1) }
            })
            .collect();
        keep_all(&mut connection, MINE, &many, (1 << 40, 1));
        let found = jobs(&connection, MINE);
        assert_eq!((found.len(), found[0]), (99, 199));
    }

    #[test]
    fn nothing_is_left_of_a_run_that_is_deleted() {
        let mut connection = database();
        keep_all(&mut connection, MINE, &[entry(1, 10), entry(2, 30)], (1 << 20, 1));
        keep(&mut connection, &[kept(MINE, LATER, entry(3, 1))], 1 << 20, 2).expect("kept");
        let transaction = connection.transaction().expect("begun");
        forget_kept(&transaction, RUN).expect("deleted");
        transaction.execute("DELETE FROM runs WHERE run = ?1", [RUN.0 as i64]).expect("deleted");
        transaction.commit().expect("committed");
        // One that comes late.
        keep_all(&mut connection, MINE, &[entry(4, 10)], (1 << 20, 3));
        assert_eq!(kept_bytes(&connection).expect("a sum"), row_bytes());
        let found = earlier(&connection, MINE, RUN, &RunSpec::new(APP)).expect("read");
        assert_eq!(found, [entry(3, 1)]);
    }
}
