//! The size of finished runs.

use rusqlite::{Connection, OptionalExtension, params};
use sateen_protocol::{RunId, RunState};

use super::{Result, peer};
use crate::peer::Peer;

/// The submitters of runs that are over, the number of these runs, and the size of their specifications and results.
pub fn results_by_peer(connection: &Connection) -> Result<Vec<(Option<Peer>, u64, u64)>> {
    let sql = "SELECT submitted_from, count(*), sum(length(end) + length(spec)) FROM ends JOIN runs USING (run) GROUP BY submitted_from";
    let mut statement = connection.prepare(sql)?;
    let rows = statement.query_map([], |row| {
        Ok((peer(row, 0)?, row.get::<_, i64>(1)? as u64, row.get::<_, i64>(2)? as u64))
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The submitter of a run that is over, and the size of its specification and result; `None` if it is not over.
pub fn result_of(connection: &Connection, run: RunId) -> Result<Option<(Option<Peer>, u64)>> {
    let sql =
        "SELECT submitted_from, length(end) + length(spec) FROM ends JOIN runs USING (run) WHERE run = ?1";
    let read = |row: &rusqlite::Row<'_>| Ok((peer(row, 0)?, row.get::<_, i64>(1)? as u64));
    Ok(connection.prepare(sql)?.query_row(params![run.0 as i64], read).optional()?)
}

/// The oldest runs that were cancelled, and whose figures are saved: of this peer, or of all.
pub fn cancelled(connection: &Connection, peer: Option<Peer>, most: usize) -> Result<Vec<RunId>> {
    let sql = "SELECT run FROM runs WHERE state = ?1 AND figures IS NOT NULL AND (?2 IS NULL OR submitted_from = ?2)
         ORDER BY run LIMIT ?3";
    let mut statement = connection.prepare(sql)?;
    let peer = peer.map(|peer| peer.to_string());
    let rows = statement.query_map(params![RunState::Cancelled.word(), peer, most as i64], |row| {
        Ok(RunId(row.get::<_, i64>(0)? as u64))
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
