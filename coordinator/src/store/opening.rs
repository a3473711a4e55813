//! Opening the files of a data folder.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;
use sateen_protocol::GridId;

use super::{BLOBS, StoreError, blobs, private, schema, sql};

/// Whether a grid may begin in the folder. Blobs are added only once it has a database: an interrupted first start
/// leaves none.
pub fn check_new(folder: &Path) -> Result<(), StoreError> {
    let blobs = blobs::count(&folder.join(BLOBS));
    if blobs == 0 { Ok(()) } else { Err(StoreError::Lost { folder: folder.to_owned(), blobs }) }
}

/// Locks the folder for this process.
pub fn lock(folder: &Path) -> Result<File, StoreError> {
    let path = folder.join("lock");
    let file = private::options().open(&path);
    let file = file.map_err(|error| StoreError::file(&path, error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StoreError::InUse(folder.to_owned())),
        Err(TryLockError::Error(error)) => Err(StoreError::file(&path, error)),
    }
}

/// The database for reading and writing, with the newest schema.
pub fn open(path: &Path, folder: &Path) -> Result<Connection, StoreError> {
    let set_up = || {
        let connection = Connection::open(path)?;
        sql::prepare_space(&connection)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.pragma_update(None, "foreign_keys", true)?;
        connection.busy_timeout(Duration::from_secs(5))?;
        Ok(connection)
    };
    let unusable = |why| StoreError::Open { path: path.to_owned(), why };
    let mut connection = set_up().map_err(unusable)?;
    schema::migrate(&mut connection, folder).map_err(|error| match error {
        StoreError::Sql(why) | StoreError::Disk { why, .. } => unusable(why),
        error => error,
    })?;
    // Otherwise a folder that can be read and not written would be noticed only later.
    sql::probe(&connection).map_err(|error| match error {
        StoreError::Sql(why) | StoreError::Disk { why, .. } => unusable(why),
        error => error,
    })?;
    Ok(connection)
}

/// The same database for reading.
pub fn open_reader(path: &PathBuf) -> Result<Connection, StoreError> {
    let connection = Connection::open(path)?;
    connection.pragma_update(None, "query_only", true)?;
    connection.busy_timeout(Duration::from_secs(5))?;
    Ok(connection)
}

/// What a new grid is known by, and its secret.
pub fn fresh_identity() -> Result<(GridId, [u8; 32]), StoreError> {
    let mut bytes = [0; 40];
    getrandom::fill(&mut bytes).map_err(StoreError::Randomness)?;
    let (id, secret) = bytes.split_at(8);
    // The arrays' types give both lengths.
    let id = id.try_into().map_or(0, u64::from_be_bytes);
    Ok((GridId(id), secret.try_into().unwrap_or([0; 32])))
}
