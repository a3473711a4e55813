//! The size of runs' results.

use rusqlite::{Connection, OptionalExtension, params};
use sateen_protocol::RunId;

use super::{Result, peer};
use crate::peer::Peer;

/// The submitters of runs that are over, the number of these runs, and the size of their results.
pub fn results_by_peer(connection: &Connection) -> Result<Vec<(Option<Peer>, u64, u64)>> {
    let sql = "SELECT submitted_from, count(*), sum(length(end)) FROM ends JOIN runs USING (run) GROUP BY submitted_from";
    let mut statement = connection.prepare(sql)?;
    let rows = statement.query_map([], |row| {
        Ok((peer(row, 0)?, row.get::<_, i64>(1)? as u64, row.get::<_, i64>(2)? as u64))
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The submitter of a run with a result, and the result's size; `None` if it has no result.
pub fn result_of(connection: &Connection, run: RunId) -> Result<Option<(Option<Peer>, u64)>> {
    let sql = "SELECT submitted_from, length(end) FROM ends JOIN runs USING (run) WHERE run = ?1";
    let read = |row: &rusqlite::Row<'_>| Ok((peer(row, 0)?, row.get::<_, i64>(1)? as u64));
    Ok(connection.prepare(sql)?.query_row(params![run.0 as i64], read).optional()?)
}
