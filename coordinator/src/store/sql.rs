//! All SQL. Plain statements, so that another database can take SQLite's
//! place here.

mod apps;
mod blobs;
mod entries;
mod kept;
mod keys;
mod outdated;
mod results;
mod space;
mod tokens;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Row, Rows, params};
use sateen_protocol::{GridId, RunEnd, RunId, RunSpec, RunState, Share, Trust};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::error::{StoreError, is_of_row};
use crate::figures::Figures;
use crate::peer::Peer;
use crate::token::TokenId;

pub use apps::{
    AppRow, Owner, Published, Publisher, Unpublished, about, app_named, apps, apps_beginning, owner, publish,
    unpublish,
};
pub use blobs::{referred, uploaded, uploads};
pub use entries::{EntryChanges, entries, save_entries};
pub use kept::{Inputs, Keeper, Kept, earlier, keep, use_kept};
pub use keys::{host_keys, save_host_keys};
pub use outdated::{Outdated, outdated};
pub use results::{cancelled, results_by_peer};
pub use space::{give_back_space, prepare_space, rewrite_if_useful};
pub use tokens::{
    AuditRow, add_audit, add_token, audit, exchange_token, forget_token, has_admin, revoke_token, run_owner,
    tokens, tokens_used, unfinished_of,
};

type Result<T> = std::result::Result<T, StoreError>;

/// A run.
#[derive(Debug, Clone)]
pub struct RunRow {
    /// The run.
    pub run: RunId,
    /// The app's name when it was submitted.
    pub app_name: String,
    /// What it is.
    pub spec: RunSpec,
    /// Its state.
    pub state: RunState,
    /// When it was submitted, in milliseconds since 1970.
    pub submitted_at_ms: u64,
    /// When its root job was first given to a host.
    pub started_at_ms: Option<u64>,
    /// When it ended.
    pub ended_at_ms: Option<u64>,
    /// The peer that submitted it; older versions did not record that.
    pub submitter: Option<Peer>,
    /// The token with which it was submitted, if one was needed.
    pub owner: Option<TokenId>,
    /// Its final figures, once they are saved.
    pub figures: Option<Figures>,
}

/// The grid's identity and secret, created when first needed; and whether they existed before.
pub fn grid(
    connection: &Connection,
    fresh: impl FnOnce() -> Result<(GridId, [u8; 32])>,
) -> Result<(GridId, [u8; 32], bool)> {
    let found: Option<(Vec<u8>, Vec<u8>)> = connection
        .query_row("SELECT id, secret FROM grid", [], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    if let Some((id, secret)) = found {
        let unreadable = |_| StoreError::Unreadable("an identity of the grid");
        let id = u64::from_be_bytes(id.try_into().map_err(unreadable)?);
        return Ok((GridId(id), secret.try_into().map_err(unreadable)?, true));
    }
    let (id, secret) = fresh()?;
    connection.execute(
        "INSERT INTO grid (one, id, secret) VALUES (1, ?1, ?2)",
        params![id.0.to_be_bytes().as_slice(), secret.as_slice()],
    )?;
    Ok((id, secret, false))
}

fn from_json<'a, T: Deserialize<'a>>(column: usize, text: &'a str) -> rusqlite::Result<T> {
    serde_json::from_str(text).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, Box::new(error))
    })
}

fn to_json(value: &impl Serialize) -> String {
    // The stored types are plain structs, which always encode.
    serde_json::to_string(value).unwrap_or_default()
}

/// Adds a run and returns its number. `submitter` is the address that it comes from, and the token, if one was needed.
pub fn add_run(
    connection: &Connection,
    app_name: &str,
    spec: &RunSpec,
    (submitter, owner): (Peer, Option<TokenId>),
    submitted_at_ms: u64,
) -> Result<RunId> {
    connection.execute(
        "INSERT INTO runs (app, app_name, spec, state, submitted_at_ms, submitted_from, submitted_by)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        params![
            spec.app.0,
            app_name,
            encode(spec)?,
            RunState::Queued.word(),
            submitted_at_ms as i64,
            submitter.to_string(),
            owner.map(|owner| owner.0 as i64)
        ],
    )?;
    Ok(RunId(connection.last_insert_rowid() as u64))
}

/// Saves a run's state. The first time that it is running is when it was started.
pub fn set_state(connection: &Connection, run: RunId, state: RunState, now_ms: u64) -> Result<()> {
    let started_at_ms = (state == RunState::Running).then_some(now_ms as i64);
    connection.execute(
        "UPDATE runs SET state = ?2, started_at_ms = coalesce(started_at_ms, ?3) WHERE run = ?1",
        params![run.0 as i64, state.word(), started_at_ms],
    )?;
    Ok(())
}

/// Saves how a run ended; its entries are no longer needed. Its figures follow.
pub fn set_end(
    connection: &mut Connection,
    run: RunId,
    state: RunState,
    end: &RunEnd,
    now_ms: u64,
) -> Result<()> {
    let transaction = connection.transaction()?;
    transaction.execute(
        "INSERT OR REPLACE INTO ends (run, end) VALUES (?1, ?2)",
        params![run.0 as i64, encode(end)?],
    )?;
    transaction.execute(
        "UPDATE runs SET state = ?2, ended_at_ms = ?3 WHERE run = ?1",
        params![run.0 as i64, state.word(), now_ms as i64],
    )?;
    transaction.execute("DELETE FROM entries WHERE run = ?1", [run.0 as i64])?;
    transaction.commit()?;
    Ok(())
}

/// Saves a run's final figures; its standing is no longer needed.
pub fn set_figures(connection: &mut Connection, run: RunId, figures: &Figures) -> Result<()> {
    let transaction = connection.transaction()?;
    transaction
        .execute("UPDATE runs SET figures = ?2 WHERE run = ?1", params![run.0 as i64, to_json(figures)])?;
    transaction.execute("DELETE FROM standings WHERE run = ?1", [run.0 as i64])?;
    transaction.execute("DELETE FROM standing_rows WHERE run = ?1", [run.0 as i64])?;
    transaction.commit()?;
    Ok(())
}

/// Runs that are over and have no figures: hosts had not sent their last counts when the coordinator stopped.
pub fn unsettled(connection: &Connection) -> Result<Vec<RunId>> {
    let mut statement =
        connection.prepare("SELECT run FROM runs WHERE ended_at_ms IS NOT NULL AND figures IS NULL")?;
    let rows = statement.query_map([], |row| Ok(RunId(row.get::<_, i64>(0)? as u64)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Deletes a run that is over. Returns the peer whose result is gone, and its bytes.
pub fn delete_run(connection: &mut Connection, run: RunId) -> Result<Option<(Option<Peer>, u64)>> {
    let transaction = connection.transaction()?;
    let freed = results::result_of(&transaction, run)?;
    for table in [
        "chronicles",
        "tree_jobs",
        "log_lines",
        "looks",
        "standings",
        "standing_rows",
        "entries",
        "ends",
        "runs",
    ] {
        transaction.execute(&format!("DELETE FROM {table} WHERE run = ?1"), [run.0 as i64])?;
    }
    kept::forget_kept(&transaction, run)?;
    apps::forget_unnamed(&transaction)?;
    transaction.commit()?;
    give_back_space(connection, freed.map_or(0, |(_, bytes)| bytes))?;
    Ok(freed)
}

/// The size of the end of a run; 0 before it ends.
pub fn end_length(connection: &Connection, run: RunId) -> Result<u64> {
    let length: Option<i64> = (connection.prepare("SELECT length(end) FROM ends WHERE run = ?1")?)
        .query_row([run.0 as i64], |row| row.get(0))
        .optional()?;
    Ok(length.unwrap_or(0) as u64)
}

/// How a run ended, if it has.
pub fn end(connection: &Connection, run: RunId) -> Result<Option<RunEnd>> {
    let bytes: Option<Vec<u8>> = (connection.prepare("SELECT end FROM ends WHERE run = ?1")?)
        .query_row([run.0 as i64], |row| row.get(0))
        .optional()?;
    bytes.map(|bytes: Vec<u8>| decode(&bytes, "the end of a run")).transpose()
}

pub(super) const RUN: &str =
    "SELECT run, app_name, spec, state, submitted_at_ms, started_at_ms, ended_at_ms, figures, submitted_from,
    submitted_by FROM runs";

pub(super) fn run_row(row: &Row<'_>) -> rusqlite::Result<RunRow> {
    let unreadable = |column, what: &'static str| {
        rusqlite::Error::FromSqlConversionFailure(
            column,
            rusqlite::types::Type::Blob,
            Box::new(StoreError::Unreadable(what)),
        )
    };
    let figures: Option<String> = row.get(7)?;
    let state: String = row.get(3)?;
    let moment = |column| Ok::<_, rusqlite::Error>(row.get::<_, Option<i64>>(column)?.map(|ms| ms as u64));
    Ok(RunRow {
        run: RunId(row.get::<_, i64>(0)? as u64),
        app_name: row.get(1)?,
        spec: spec_of(row, 2)?,
        state: RunState::parse(&state).ok_or_else(|| unreadable(3, "a run's state"))?,
        submitted_at_ms: row.get::<_, i64>(4)? as u64,
        started_at_ms: moment(5)?,
        ended_at_ms: moment(6)?,
        submitter: peer(row, 8)?,
        owner: row.get::<_, Option<i64>>(9)?.map(|token| TokenId(token as u64)),
        figures: figures.map(|text| from_json(7, &text)).transpose()?,
    })
}

/// A column with a peer, if known.
fn peer(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Peer>> {
    Ok(row.get::<_, Option<String>>(column)?.as_deref().and_then(Peer::parse))
}

/// A run.
pub fn run(connection: &Connection, run: RunId) -> Result<Option<RunRow>> {
    let sql = format!("{RUN} WHERE run = ?1");
    Ok(connection.prepare(&sql)?.query_row([run.0 as i64], run_row).optional()?)
}

/// Runs that are not over: the submitter of each, and the size of its specification in bytes.
pub fn unfinished(connection: &Connection) -> Result<Vec<(Option<Peer>, u64)>> {
    let states = states(|state| !state.is_over());
    let sql = format!("SELECT length(spec), submitted_from FROM runs WHERE state IN ({states})");
    let mut statement = connection.prepare(&sql)?;
    let rows = statement.query_map([], |row| Ok((peer(row, 1)?, row.get::<_, i64>(0)? as u64)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Runs that are not over, oldest first. One that was being suspended is suspended now. One that cannot be decoded is
/// left in place, with a warning.
pub fn runs_to_restore(connection: &Connection) -> Result<Vec<RunRow>> {
    connection.execute("UPDATE runs SET state = 'suspended' WHERE state = 'suspending'", [])?;
    let sql = format!("{RUN} WHERE state NOT IN ({}) ORDER BY run", states(RunState::is_over));
    let mut statement = connection.prepare(&sql)?;
    readable(statement.query([])?, run_row, || {
        "a run, which is not resumed; DELETE /api/v1/runs/NUMBER removes it".to_owned()
    })
}

/// These states as a list in SQL.
fn states(which: impl Fn(RunState) -> bool) -> String {
    let states = RunState::ALL.into_iter().filter(|state| which(*state));
    states.map(|state| format!("'{}'", state.word())).collect::<Vec<_>>().join(", ")
}

/// The number of runs in each state.
pub fn runs_by_state(connection: &Connection) -> Result<Vec<(RunState, u64)>> {
    let mut statement = connection.prepare("SELECT state, count(*) FROM runs GROUP BY state")?;
    let count = |row: &Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?));
    let counted: Vec<(String, i64)> = readable(statement.query([])?, count, || "a run's state".to_owned())?;
    Ok(counted
        .into_iter()
        .filter_map(|(state, count)| Some((RunState::parse(&state)?, count as u64)))
        .collect())
}

/// Does `work` without waiting for the disk.
pub(super) fn relaxed<T>(
    connection: &mut Connection,
    work: impl FnOnce(&mut Connection) -> Result<T>,
) -> Result<T> {
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    let done = work(connection);
    connection.pragma_update(None, "synchronous", "FULL")?;
    done
}

/// Whether the database can be written, found out by writing.
pub fn probe(connection: &Connection) -> Result<()> {
    // A page that does not change would not be written.
    connection.execute("UPDATE probe SET written = written + 1", [])?;
    Ok(())
}

/// The rows that can be decoded. Others are left out with a warning: they must not affect the rest, nor
/// keep the service from starting.
///
/// # Errors
/// When the database itself fails.
pub(super) fn readable<T>(
    mut rows: Rows<'_>,
    mut read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    what: impl Fn() -> String,
) -> Result<Vec<T>> {
    let (mut all, mut left_out, mut first) = (Vec::new(), 0_u64, None);
    while let Some(row) = rows.next()? {
        match read(row) {
            Ok(value) => all.push(value),
            Err(error) if is_of_row(&error) => {
                left_out += 1;
                first.get_or_insert_with(|| (key_of(row), error.to_string()));
            }
            Err(error) => return Err(error.into()),
        }
    }
    if let Some((key, error)) = first {
        let what = what();
        tracing::warn!(what, key, error, left_out, "the database holds rows that cannot be decoded");
    }
    Ok(all)
}

/// The contents of a row's first column, for people.
fn key_of(row: &Row<'_>) -> String {
    match row.get_ref(0) {
        Ok(ValueRef::Integer(number)) => number.to_string(),
        Ok(ValueRef::Text(text) | ValueRef::Blob(text)) => {
            text.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
        }
        _ => String::new(),
    }
}

/// A column in postcard format.
pub(super) fn blob<T: DeserializeOwned>(
    row: &Row<'_>,
    column: usize,
    what: &'static str,
) -> rusqlite::Result<T> {
    decode(&row.get::<_, Vec<u8>>(column)?, what).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Blob, Box::new(error))
    })
}

/// A run's specification. Those that older versions saved lack whether it reuses results, before that its share, and before that
/// how far hosts are trusted.
fn spec_of(row: &Row<'_>, column: usize) -> rusqlite::Result<RunSpec> {
    decode_spec(&row.get::<_, Vec<u8>>(column)?).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Blob, Box::new(error))
    })
}

/// The same from its bytes.
pub(super) fn decode_spec(bytes: &[u8]) -> Result<RunSpec> {
    let reused = encode(&false)?;
    let shared = [encode(&Share::default())?, reused.clone()].concat();
    let trusted = [encode(&Trust::default())?, shared.clone()].concat();
    let mut read = decode(bytes, "a run");
    for missing in [reused, shared, trusted] {
        read = read.or_else(|error| postcard::from_bytes(&[bytes, &missing].concat()).map_err(|_| error));
    }
    read
}

pub(super) fn encode(value: &impl Serialize) -> Result<Vec<u8>> {
    postcard::to_allocvec(value).map_err(|_| StoreError::Unreadable("something"))
}

pub(super) fn decode<T: DeserializeOwned>(bytes: &[u8], what: &'static str) -> Result<T> {
    postcard::from_bytes(bytes).map_err(|_| StoreError::Unreadable(what))
}
