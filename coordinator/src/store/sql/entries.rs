//! Entries of result tables.

use rusqlite::{Connection, params};
use sateen_protocol::{Entry, JobKey, RunId};

use super::{Result, blob, encode, readable, relaxed};

/// The saved entries of a run. An entry that cannot be read is just a miss.
pub fn entries(connection: &Connection, run: RunId) -> Result<Vec<Entry>> {
    let mut statement = connection.prepare("SELECT entry FROM entries WHERE run = ?1")?;
    let what = || format!("an entry of run {run}, whose job is computed again");
    readable(statement.query([run.0 as i64])?, |row| blob(row, 0, "an entry"), what)
}

/// The changes of a batch of entries.
#[derive(Debug, Default, Clone)]
pub struct EntryChanges {
    /// New entries; they replace those of the same key.
    pub saved: Vec<(RunId, Entry)>,
    /// Keys of entries that are no longer needed.
    pub superfluous: Vec<(RunId, JobKey)>,
}

/// Saves a batch of entries. It is not forced to the disk: losing it only costs work, and
/// it reaches the disk with the next state that is saved.
pub fn save_entries(connection: &mut Connection, changes: &EntryChanges) -> Result<()> {
    relaxed(connection, |connection| write_entries(connection, changes))
}

fn write_entries(connection: &mut Connection, changes: &EntryChanges) -> Result<()> {
    let transaction = connection.transaction()?;
    {
        let mut insert = transaction.prepare(
            // A batch may arrive after the end of its run.
            "INSERT OR REPLACE INTO entries SELECT ?1, ?2, ?3
             WHERE EXISTS (SELECT 1 FROM runs WHERE run = ?1 AND ended_at_ms IS NULL)",
        )?;
        for (run, entry) in &changes.saved {
            insert.execute(params![run.0 as i64, entry.key.0, encode(entry)?])?;
        }
        let mut delete = transaction.prepare("DELETE FROM entries WHERE run = ?1 AND key = ?2")?;
        for (run, key) in &changes.superfluous {
            delete.execute(params![run.0 as i64, key.0])?;
        }
    }
    transaction.commit()?;
    Ok(())
}
