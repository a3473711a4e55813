//! What the results of runs take.

use rusqlite::{Connection, OptionalExtension, params};
use sateen_protocol::RunId;

use super::{Result, peer};
use crate::peer::Peer;

/// Who submitted runs that are over, how many these are, and the bytes of their results.
pub fn results_by_peer(connection: &Connection) -> Result<Vec<(Option<Peer>, u64, u64)>> {
    let sql = "SELECT submitted_from, count(*), sum(length(end)) FROM ends JOIN runs USING (run) GROUP BY submitted_from";
    let mut statement = connection.prepare(sql)?;
    let rows = statement.query_map([], |row| {
        Ok((peer(row, 0)?, row.get::<_, i64>(1)? as u64, row.get::<_, i64>(2)? as u64))
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Whose the result of a run is, and its bytes; nothing if it has none.
pub fn result_of(connection: &Connection, run: RunId) -> Result<Option<(Option<Peer>, u64)>> {
    let sql = "SELECT submitted_from, length(end) FROM ends JOIN runs USING (run) WHERE run = ?1";
    let read = |row: &rusqlite::Row<'_>| Ok((peer(row, 0)?, row.get::<_, i64>(1)? as u64));
    Ok(connection.prepare(sql)?.query_row(params![run.0 as i64], read).optional()?)
}
