//! The tables, and the migration of older data folders to this version.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension};

use super::error::StoreError;

/// Each entry migrates the tables to the next version. Entries that were released are never changed here, only
/// followed by more.
const MIGRATIONS: [&str; 19] = [
    "
    CREATE TABLE grid (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        id BLOB NOT NULL,
        secret BLOB NOT NULL
    );
    CREATE TABLE apps (
        hash BLOB PRIMARY KEY,
        bytes INTEGER NOT NULL,
        about TEXT NOT NULL -- JSON
    );
    CREATE TABLE app_names (
        name TEXT NOT NULL,
        hash BLOB NOT NULL REFERENCES apps (hash),
        published_at_ms INTEGER NOT NULL,
        PRIMARY KEY (name, hash)
    );
    CREATE INDEX app_names_by_hash ON app_names (hash);
    CREATE TABLE runs (
        run INTEGER PRIMARY KEY AUTOINCREMENT,
        app BLOB NOT NULL,
        app_name TEXT NOT NULL,
        spec BLOB NOT NULL, -- postcard
        state TEXT NOT NULL,
        submitted_at_ms INTEGER NOT NULL,
        started_at_ms INTEGER,
        ended_at_ms INTEGER,
        figures TEXT -- JSON, once it is over
    );
    CREATE INDEX runs_by_state ON runs (state, run);
    CREATE TABLE ends (
        run INTEGER PRIMARY KEY REFERENCES runs (run),
        end BLOB NOT NULL -- postcard
    );
    CREATE TABLE entries (
        run INTEGER NOT NULL,
        key BLOB NOT NULL,
        entry BLOB NOT NULL, -- postcard
        PRIMARY KEY (run, key)
    ) WITHOUT ROWID;
    CREATE TABLE probe (written INTEGER NOT NULL);
    INSERT INTO probe (written) VALUES (0);
",
    "
    CREATE TABLE standings (
        run INTEGER PRIMARY KEY REFERENCES runs (run),
        standing BLOB NOT NULL -- postcard; while the run is not over
    );
    CREATE TABLE chronicles (
        run INTEGER PRIMARY KEY REFERENCES runs (run),
        summary BLOB NOT NULL -- postcard
    );
    CREATE TABLE tree_jobs (
        run INTEGER NOT NULL,
        place INTEGER NOT NULL, -- in the order in which they became known
        job BLOB NOT NULL, -- postcard
        PRIMARY KEY (run, place)
    ) WITHOUT ROWID;
    CREATE TABLE log_lines (
        run INTEGER NOT NULL,
        number INTEGER NOT NULL,
        line BLOB NOT NULL, -- postcard
        PRIMARY KEY (run, number)
    ) WITHOUT ROWID;
",
    "
    -- Jobs have more to them now; what was known of older ones is not enough.
    DELETE FROM tree_jobs;
    CREATE TABLE looks (
        run INTEGER PRIMARY KEY REFERENCES runs (run),
        looks BLOB NOT NULL -- postcard; what charts are made of
    );
",
    "
    ALTER TABLE app_names ADD COLUMN published_by TEXT; -- what they call themselves
    ALTER TABLE app_names ADD COLUMN published_from TEXT; -- their address
",
    "
    -- Whose a name is: of the address that it was first published from, as far as that is known.
    CREATE TABLE name_owners (
        name TEXT PRIMARY KEY,
        address TEXT
    );
    INSERT INTO name_owners (name, address)
        SELECT name, published_from FROM app_names AS first WHERE published_at_ms =
            (SELECT min(published_at_ms) FROM app_names WHERE name = first.name);
",
    "
    CREATE TABLE standing_rows (
        run INTEGER NOT NULL,
        host INTEGER NOT NULL,
        row BLOB NOT NULL, -- postcard; what the host has counted, while the run is not over
        PRIMARY KEY (run, host)
    ) WITHOUT ROWID;
",
    "
    -- Who uploaded what, so that nobody fills the disk. Blobs of older versions are nobody's.
    CREATE TABLE blobs (
        hash BLOB PRIMARY KEY,
        bytes INTEGER NOT NULL,
        address TEXT NOT NULL,
        used_at_ms INTEGER NOT NULL
    ) WITHOUT ROWID;
",
    "
    -- Who submitted a run, so that nobody's results fill the disk. Those of older versions are nobody's.
    ALTER TABLE runs ADD COLUMN submitted_from TEXT;
    CREATE INDEX runs_by_app ON runs (app);
    CREATE INDEX name_owners_by_letters ON name_owners (name COLLATE NOCASE);
",
    "
    -- Hosts that are there: should they not come back after a restart, they are lost.
    CREATE TABLE hosts (
        host INTEGER PRIMARY KEY,
        name TEXT NOT NULL,
        site TEXT NOT NULL,
        since_ms INTEGER NOT NULL
    );
    ALTER TABLE standings ADD COLUMN long_gone INTEGER NOT NULL DEFAULT 0; -- hosts without a row that worked on it
",
    "
    ALTER TABLE chronicles ADD COLUMN latest BLOB; -- postcard; what is newer than the looks
",
    "
    ALTER TABLE chronicles ADD COLUMN absences BLOB; -- postcard; which hosts of the run are away, since when and why
",
    "
    ALTER TABLE chronicles ADD COLUMN lent BLOB; -- postcard; how many jobs of the run others got from each host
",
    "
    CREATE TABLE tokens (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        hash BLOB NOT NULL UNIQUE, -- blake3 of the secret
        name TEXT NOT NULL,
        scope TEXT NOT NULL,
        made_by TEXT NOT NULL,
        made_at_ms INTEGER NOT NULL,
        expires_at_ms INTEGER,
        used_at_ms INTEGER,
        revoked_at_ms INTEGER,
        uses_max INTEGER, -- of join keys that are exchanged for tokens of hosts
        uses INTEGER
    );
    CREATE TABLE audit (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        at_ms INTEGER NOT NULL,
        who TEXT NOT NULL,
        address TEXT NOT NULL,
        what TEXT NOT NULL,
        status INTEGER NOT NULL,
        why TEXT,
        refused INTEGER NOT NULL
    );
    CREATE INDEX audit_by_kind ON audit (refused, number);
    ALTER TABLE runs ADD COLUMN submitted_by INTEGER; -- a token; none if none was needed
    CREATE INDEX runs_by_token ON runs (submitted_by, run);
",
    "
    -- Hosts that may take part, and those that may not, by the public parts of their keys.
    CREATE TABLE host_keys (
        key BLOB PRIMARY KEY,
        standing TEXT NOT NULL,
        replaced_by BLOB,
        approved INTEGER NOT NULL,
        name TEXT NOT NULL,
        address TEXT NOT NULL,
        since_ms INTEGER NOT NULL,
        seen_ms INTEGER,
        enrolled_by INTEGER -- the token for which a join key was exchanged
    ) WITHOUT ROWID;
    ALTER TABLE tokens ADD COLUMN from_join_key INTEGER NOT NULL DEFAULT FALSE; -- a host's own, for which a join key was exchanged
",
    "
    -- What checks of a run's results took, and how many workers did that over time.
    ALTER TABLE standings ADD COLUMN checks_work_ns INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE looks ADD COLUMN checking BLOB; -- postcard
",
    "
    -- What submitters get of the grid.
    ALTER TABLE tokens ADD COLUMN weight INTEGER;
    ALTER TABLE tokens ADD COLUMN runs_max INTEGER; -- runs that are not over
",
    "
    -- Results that later runs of the same submitter and app may find.
    CREATE TABLE kept_results (
        owner BLOB NOT NULL, -- the submitter, 16 bytes
        app BLOB NOT NULL,
        key BLOB NOT NULL,
        run INTEGER NOT NULL, -- that computed it
        inputs BLOB NOT NULL, -- what all jobs of that run depend on
        work_ns INTEGER NOT NULL,
        entry BLOB NOT NULL, -- postcard
        PRIMARY KEY (owner, app, key)
    ) WITHOUT ROWID;
    CREATE INDEX kept_results_by_work ON kept_results (owner, app, work_ns);
    CREATE INDEX kept_results_by_inputs ON kept_results (owner, app, inputs, work_ns);
    CREATE INDEX kept_results_by_run ON kept_results (run);
    CREATE TABLE kept_sums (
        owner BLOB NOT NULL,
        app BLOB NOT NULL,
        bytes INTEGER NOT NULL, -- of all its results
        used_at_ms INTEGER NOT NULL,
        PRIMARY KEY (owner, app)
    ) WITHOUT ROWID;
",
    "
    -- Runs are deleted some time after their end.
    CREATE INDEX runs_by_end ON runs (ended_at_ms, run);
",
    "
    -- The index answers which runs to delete without reading any: runs whose figures are not known yet have no end in it.
    DROP INDEX runs_by_end;
    CREATE INDEX runs_by_end ON runs (iif(figures IS NULL, NULL, ended_at_ms), run);
",
];

/// The version that this program writes.
pub const VERSION: u32 = MIGRATIONS.len() as u32;

/// Migrates the tables to this program's version, all at once or not at all.
pub fn migrate(connection: &mut Connection, folder: &Path) -> Result<(), StoreError> {
    let transaction = connection.transaction()?;
    transaction.execute_batch("CREATE TABLE IF NOT EXISTS schema (version INTEGER NOT NULL)")?;
    let found: Option<u32> =
        transaction.query_row("SELECT version FROM schema", [], |row| row.get(0)).optional()?;
    let version = found.unwrap_or(0);
    if version > VERSION {
        return Err(StoreError::Newer { folder: folder.to_owned(), found: version, known: VERSION });
    }
    for migration in &MIGRATIONS[version as usize..] {
        transaction.execute_batch(migration)?;
    }
    if found.is_none() {
        transaction.execute("INSERT INTO schema (version) VALUES (?1)", [VERSION])?;
    } else {
        transaction.execute("UPDATE schema SET version = ?1", [VERSION])?;
    }
    transaction.commit()?;
    Ok(())
}
