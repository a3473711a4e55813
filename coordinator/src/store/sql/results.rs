//! The size of finished runs.

use rusqlite::{Connection, OptionalExtension, params};
use sateen_protocol::{RunId, RunState};

use super::{Result, peer, states};
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

/// The oldest runs that are over and have no result, and whose figures are saved: of this peer, or of all.
pub fn without_result(connection: &Connection, peer: Option<Peer>, most: usize) -> Result<Vec<RunId>> {
    let states = states(|state| matches!(state, RunState::Failed | RunState::Cancelled));
    let sql = format!(
        "SELECT run FROM runs WHERE state IN ({states}) AND figures IS NOT NULL AND (?1 IS NULL OR submitted_from = ?1)
         ORDER BY run LIMIT ?2"
    );
    let mut statement = connection.prepare(&sql)?;
    let peer = peer.map(|peer| peer.to_string());
    let rows =
        statement.query_map(params![peer, most as i64], |row| Ok(RunId(row.get::<_, i64>(0)? as u64)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
