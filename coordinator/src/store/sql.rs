//! The one place where SQL is spoken. Plain statements, so that another database can take SQLite's
//! place here.

use rusqlite::{Connection, OptionalExtension, Row, params};
use sateen_protocol::{BlobHash, Entry, GridId, JobKey, RunEnd, RunId, RunSpec, RunState};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::error::StoreError;
use crate::api::types::Figures;
use crate::module::About;

type Result<T> = std::result::Result<T, StoreError>;

/// A published module.
#[derive(Debug, Clone)]
pub struct AppRow {
    /// Of its bytes.
    pub hash: BlobHash,
    /// The name that it was last published under.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// When that was, in milliseconds since 1970.
    pub published_at_ms: u64,
    /// Who did that.
    pub publisher: Publisher,
    /// What it holds.
    pub about: About,
}

/// Who published a module.
#[derive(Debug, Clone, Default)]
pub struct Publisher {
    /// What they call themselves, if they do. Nobody has checked it.
    pub name: Option<String>,
    /// Where they were: an address. Older versions did not take that down.
    pub address: Option<String>,
}

/// A run.
#[derive(Debug, Clone)]
pub struct RunRow {
    /// Which.
    pub run: RunId,
    /// The app's name when it was submitted.
    pub app_name: String,
    /// What it is.
    pub spec: RunSpec,
    /// How far it is.
    pub state: RunState,
    /// In milliseconds since 1970.
    pub submitted_at_ms: u64,
    /// When its root job was first given to a host.
    pub started_at_ms: Option<u64>,
    /// When it was over.
    pub ended_at_ms: Option<u64>,
    /// What became of it, once it is over.
    pub figures: Option<Figures>,
}

/// The grid's identity and secret, made at first need; and whether they were there already.
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

const APP: &str = "SELECT apps.hash, app_names.name, apps.bytes, app_names.published_at_ms, apps.about,
    app_names.published_by, app_names.published_from
    FROM apps JOIN app_names ON app_names.hash = apps.hash";

fn app(row: &Row<'_>) -> rusqlite::Result<AppRow> {
    Ok(AppRow {
        hash: BlobHash(row.get(0)?),
        name: row.get(1)?,
        bytes: row.get::<_, i64>(2)? as u64,
        published_at_ms: row.get::<_, i64>(3)? as u64,
        about: from_json(4, &row.get::<_, String>(4)?)?,
        publisher: Publisher { name: row.get(5)?, address: row.get(6)? },
    })
}

fn from_json<'a, T: Deserialize<'a>>(column: usize, text: &'a str) -> rusqlite::Result<T> {
    serde_json::from_str(text).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, Box::new(error))
    })
}

fn to_json(value: &impl Serialize) -> String {
    // What is stored here are plain structs, which always encode.
    serde_json::to_string(value).unwrap_or_default()
}

/// Publishes a module under a name, whose newest it becomes; true if the module was not known.
pub fn publish(connection: &mut Connection, row: &AppRow) -> Result<bool> {
    let transaction = connection.transaction()?;
    let added = transaction.execute(
        "INSERT INTO apps (hash, bytes, about) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
        params![row.hash.0, row.bytes as i64, to_json(&row.about)],
    )?;
    // Times of one name are kept apart, so that which is the newest is never in doubt.
    transaction.execute(
        "INSERT INTO app_names (name, hash, published_at_ms, published_by, published_from)
         VALUES (
             ?1, ?2, max(?3, 1 + coalesce((SELECT max(published_at_ms) FROM app_names WHERE name = ?1), 0)), ?4, ?5
         )
         ON CONFLICT (name, hash) DO UPDATE SET published_at_ms = excluded.published_at_ms,
             published_by = excluded.published_by, published_from = excluded.published_from",
        params![
            row.name,
            row.hash.0,
            row.published_at_ms as i64,
            row.publisher.name,
            row.publisher.address
        ],
    )?;
    transaction.commit()?;
    Ok(added > 0)
}

/// All names of all modules, newest first.
pub fn apps(connection: &Connection) -> Result<Vec<AppRow>> {
    let mut statement =
        connection.prepare(&format!("{APP} ORDER BY app_names.published_at_ms DESC, app_names.name"))?;
    let rows = statement.query_map([], app)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The module that was last published under the name.
pub fn app_named(connection: &Connection, name: &str) -> Result<Option<AppRow>> {
    let sql = format!("{APP} WHERE app_names.name = ?1 ORDER BY app_names.published_at_ms DESC LIMIT 1");
    Ok(connection.prepare(&sql)?.query_row([name], app).optional()?)
}

/// The modules whose hash begins with these lower-case digits, at most two of them.
pub fn apps_beginning(connection: &Connection, digits: &str) -> Result<Vec<AppRow>> {
    let sql = format!(
        "{APP} WHERE substr(lower(hex(apps.hash)), 1, length(?1)) = ?1
         AND app_names.published_at_ms =
             (SELECT max(published_at_ms) FROM app_names AS newer WHERE newer.hash = apps.hash)
         GROUP BY apps.hash LIMIT 2"
    );
    let mut statement = connection.prepare(&sql)?;
    let rows = statement.query_map([digits], app)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Adds a run and gives its number.
pub fn add_run(
    connection: &Connection,
    app_name: &str,
    spec: &RunSpec,
    submitted_at_ms: u64,
) -> Result<RunId> {
    connection.execute(
        "INSERT INTO runs (app, app_name, spec, state, submitted_at_ms) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![spec.app.0, app_name, encode(spec)?, state_word(RunState::Queued), submitted_at_ms as i64],
    )?;
    Ok(RunId(connection.last_insert_rowid() as u64))
}

/// Saves how far a run is. The first time that it runs is when it was started.
pub fn set_state(connection: &Connection, run: RunId, state: RunState, now_ms: u64) -> Result<()> {
    let started_at_ms = (state == RunState::Running).then_some(now_ms as i64);
    connection.execute(
        "UPDATE runs SET state = ?2, started_at_ms = coalesce(started_at_ms, ?3) WHERE run = ?1",
        params![run.0 as i64, state_word(state), started_at_ms],
    )?;
    Ok(())
}

/// Saves how a run ended; its entries are not needed any more.
pub fn set_end(
    connection: &mut Connection,
    run: RunId,
    state: RunState,
    end: &RunEnd,
    figures: &Figures,
    now_ms: u64,
) -> Result<()> {
    let transaction = connection.transaction()?;
    transaction.execute(
        "INSERT OR REPLACE INTO ends (run, end) VALUES (?1, ?2)",
        params![run.0 as i64, encode(end)?],
    )?;
    transaction.execute(
        "UPDATE runs SET state = ?2, ended_at_ms = ?3, figures = ?4 WHERE run = ?1",
        params![run.0 as i64, state_word(state), now_ms as i64, to_json(figures)],
    )?;
    transaction.execute("DELETE FROM entries WHERE run = ?1", [run.0 as i64])?;
    transaction.execute("DELETE FROM standings WHERE run = ?1", [run.0 as i64])?;
    transaction.commit()?;
    Ok(())
}

/// Forgets a run that is over.
pub fn delete_run(connection: &mut Connection, run: RunId) -> Result<()> {
    let transaction = connection.transaction()?;
    for table in ["chronicles", "tree_jobs", "log_lines", "looks", "standings", "entries", "ends", "runs"] {
        transaction.execute(&format!("DELETE FROM {table} WHERE run = ?1"), [run.0 as i64])?;
    }
    transaction.commit()?;
    Ok(())
}

/// How a run ended, if it did.
pub fn end(connection: &Connection, run: RunId) -> Result<Option<RunEnd>> {
    let bytes: Option<Vec<u8>> = (connection.prepare("SELECT end FROM ends WHERE run = ?1")?)
        .query_row([run.0 as i64], |row| row.get(0))
        .optional()?;
    bytes.map(|bytes: Vec<u8>| decode(&bytes, "the end of a run")).transpose()
}

const RUN: &str =
    "SELECT run, app_name, spec, state, submitted_at_ms, started_at_ms, ended_at_ms, figures FROM runs";

fn run_row(row: &Row<'_>) -> rusqlite::Result<RunRow> {
    let unreadable = |column, what: &'static str| {
        rusqlite::Error::FromSqlConversionFailure(
            column,
            rusqlite::types::Type::Blob,
            Box::new(StoreError::Unreadable(what)),
        )
    };
    let figures: Option<String> = row.get(7)?;
    let spec: Vec<u8> = row.get(2)?;
    let state: String = row.get(3)?;
    let moment = |column| Ok::<_, rusqlite::Error>(row.get::<_, Option<i64>>(column)?.map(|ms| ms as u64));
    Ok(RunRow {
        run: RunId(row.get::<_, i64>(0)? as u64),
        app_name: row.get(1)?,
        spec: decode(&spec, "a run").map_err(|_| unreadable(2, "a run"))?,
        state: state_of(&state).ok_or_else(|| unreadable(3, "a run's state"))?,
        submitted_at_ms: row.get::<_, i64>(4)? as u64,
        started_at_ms: moment(5)?,
        ended_at_ms: moment(6)?,
        figures: figures.map(|text| from_json(7, &text)).transpose()?,
    })
}

/// A run.
pub fn run(connection: &Connection, run: RunId) -> Result<Option<RunRow>> {
    let sql = format!("{RUN} WHERE run = ?1");
    Ok(connection.prepare(&sql)?.query_row([run.0 as i64], run_row).optional()?)
}

/// Runs, newest first, at most `limit`; of one state, if given.
pub fn runs(connection: &Connection, state: Option<RunState>, limit: u32) -> Result<Vec<RunRow>> {
    let sql = format!("{RUN} WHERE ?1 IS NULL OR state = ?1 ORDER BY run DESC LIMIT ?2");
    let mut statement = connection.prepare(&sql)?;
    let rows = statement.query_map(params![state.map(state_word), limit], run_row)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Runs that are not over, oldest first. One that was being suspended rests now.
pub fn runs_to_restore(connection: &Connection) -> Result<Vec<RunRow>> {
    connection.execute("UPDATE runs SET state = 'suspended' WHERE state = 'suspending'", [])?;
    let sql = format!("{RUN} WHERE state NOT IN ('done', 'failed', 'cancelled') ORDER BY run");
    let mut statement = connection.prepare(&sql)?;
    let rows = statement.query_map([], run_row)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// How many runs there are in each state.
pub fn runs_by_state(connection: &Connection) -> Result<Vec<(RunState, u64)>> {
    let mut statement = connection.prepare("SELECT state, count(*) FROM runs GROUP BY state")?;
    let rows = statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?)))?;
    let counted: Vec<(String, i64)> = rows.collect::<rusqlite::Result<_>>()?;
    Ok(counted.into_iter().filter_map(|(state, count)| Some((state_of(&state)?, count as u64))).collect())
}

/// The saved entries of a run. One that cannot be read is a miss, no more.
pub fn entries(connection: &Connection, run: RunId) -> Result<Vec<Entry>> {
    let mut statement = connection.prepare("SELECT entry FROM entries WHERE run = ?1")?;
    let rows = statement.query_map([run.0 as i64], |row| row.get::<_, Vec<u8>>(0))?;
    let mut entries = Vec::new();
    for bytes in rows {
        entries.extend(decode(&bytes?, "an entry").ok());
    }
    Ok(entries)
}

/// What a batch of entries changes.
#[derive(Debug, Default, Clone)]
pub struct EntryChanges {
    /// New ones; they replace those of the same key.
    pub saved: Vec<(RunId, Entry)>,
    /// Such as are not needed any more.
    pub superfluous: Vec<(RunId, JobKey)>,
}

/// Saves a batch of entries. It is not forced to the disk: losing it costs work and nothing else, and
/// the next state that is saved takes it along.
pub fn save_entries(connection: &mut Connection, changes: &EntryChanges) -> Result<()> {
    relaxed(connection, |connection| write_entries(connection, changes))
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

fn write_entries(connection: &mut Connection, changes: &EntryChanges) -> Result<()> {
    let transaction = connection.transaction()?;
    {
        let mut insert = transaction.prepare(
            // A batch may come after the end of its run.
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

/// Whether the database can be written, found out by writing.
pub fn probe(connection: &Connection) -> Result<()> {
    // A page that does not change would not be written.
    connection.execute("UPDATE probe SET written = written + 1", [])?;
    Ok(())
}

pub(super) fn encode(value: &impl Serialize) -> Result<Vec<u8>> {
    postcard::to_allocvec(value).map_err(|_| StoreError::Unreadable("something"))
}

pub(super) fn decode<T: DeserializeOwned>(bytes: &[u8], what: &'static str) -> Result<T> {
    postcard::from_bytes(bytes).map_err(|_| StoreError::Unreadable(what))
}

const STATES: [(RunState, &str); 7] = [
    (RunState::Queued, "queued"),
    (RunState::Running, "running"),
    (RunState::Suspending, "suspending"),
    (RunState::Suspended, "suspended"),
    (RunState::Done, "done"),
    (RunState::Failed, "failed"),
    (RunState::Cancelled, "cancelled"),
];

/// A state as it is stored and shown.
pub fn state_word(state: RunState) -> &'static str {
    STATES.iter().find(|(known, _)| *known == state).map_or("unknown", |(_, word)| word)
}

/// The state that is shown like this.
pub fn state_of(word: &str) -> Option<RunState> {
    STATES.iter().find(|(_, known)| *known == word).map(|(state, _)| *state)
}
