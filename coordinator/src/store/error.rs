//! Errors of a data folder.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;
use sateen_command_line::{explained, refused};
use thiserror::Error;

/// Why something could not be saved or read.
#[derive(Debug, Error)]
pub enum StoreError {
    /// Another process uses the folder.
    #[error(
        "the data folder {0} is in use by another sateen-coordinator; stop it, or name another folder with --data-dir"
    )]
    InUse(PathBuf),
    /// The folder is of a newer version of this program.
    #[error(
        "the data folder {folder} is of version {found} and this sateen-coordinator knows versions up to {known}; update it, or name another folder with --data-dir"
    )]
    Newer {
        /// The folder.
        folder: PathBuf,
        /// Its version.
        found: u32,
        /// The newest version that this program knows.
        known: u32,
    },
    /// The folder belongs to a grid whose database is gone.
    #[error(
        "the data folder {folder} has {} of a grid in blobs/, and its database state.sqlite is missing or empty: the grid's identity, apps, runs and results are lost with it; restore state.sqlite from a backup, name another folder with --data-dir, or begin a new grid with what is left by starting once with --new-grid", left(*.blobs)
    )]
    Lost {
        /// The folder.
        folder: PathBuf,
        /// The number of its blobs.
        blobs: usize,
    },
    /// The folder, or a file in it, cannot be used.
    #[error("{}", unusable(.path, .why))]
    File {
        /// The path.
        path: PathBuf,
        /// The reason.
        why: io::Error,
    },
    /// The database cannot be opened.
    #[error("{}", unopened(.path, .why))]
    Open {
        /// The path.
        path: PathBuf,
        /// The reason.
        why: rusqlite::Error,
    },
    /// The disk is full or fails, according to the database.
    #[error("{}", unwritten(.folder, .why))]
    Disk {
        /// The data folder; empty as long as it is not known.
        folder: PathBuf,
        /// The reason.
        why: rusqlite::Error,
    },
    /// The database failed.
    #[error("the database failed: {0}")]
    Sql(rusqlite::Error),
    /// A blob's contents do not match its name.
    #[error("the blob {0} was damaged in the data folder and is gone; upload it again")]
    Damaged(String),
    /// The blobs of one peer have reached their maximum size.
    #[error(
        "the blobs that were uploaded from this address take all of the {max_mib} MiB that are allowed; delete runs that are over, whose inputs are not needed then, or start the coordinator with a larger --blobs-max"
    )]
    BlobsOfPeer {
        /// The maximum, in MiB.
        max_mib: u64,
    },
    /// All blobs together have reached their maximum size.
    #[error(
        "all blobs together take the {max_mib} MiB that are allowed; delete runs that are over, whose inputs are not needed then, or start the coordinator with a larger --blobs-max"
    )]
    BlobsOfAll {
        /// The maximum, in MiB.
        max_mib: u64,
    },
    /// Something that this program wrote cannot be read.
    #[error("the database holds {0} that cannot be read")]
    Unreadable(&'static str),
    /// The system could not start a thread for the database.
    #[error("no thread can be started for the database: {}; raise the limit on the user's processes", explained(.0))]
    Thread(io::Error),
    /// The system has no randomness for a grid's secrets.
    #[error("the system provides no randomness: {0}")]
    Randomness(getrandom::Error),
    /// The service is stopping.
    #[error("the coordinator is shutting down")]
    Stopped,
}

fn left(blobs: usize) -> String {
    if blobs == 1 { "one module or input".to_owned() } else { format!("{blobs} modules and inputs") }
}

fn unusable(path: &Path, why: &io::Error) -> String {
    if why.kind() == io::ErrorKind::StorageFull {
        refused(&path.display(), why)
    } else {
        format!("{} cannot be used: {}; the data folder must be writable", path.display(), explained(why))
    }
}

fn unopened(path: &Path, why: &rusqlite::Error) -> String {
    let path = path.display();
    if is_full(why) {
        return format!("disk full: the database {path} cannot be opened; free some space");
    }
    format!(
        "the database {path} cannot be opened: {why}; the data folder must be writable, and its files must belong to this program"
    )
}

fn unwritten(folder: &Path, why: &rusqlite::Error) -> String {
    let is_known = !folder.as_os_str().is_empty();
    let folder =
        if is_known { format!("the data folder {}", folder.display()) } else { "the data folder".to_owned() };
    if is_full(why) {
        format!(
            "disk full: {folder} cannot be written; free some space; waiting changes are then saved automatically"
        )
    } else {
        format!(
            "the disk of {folder} fails ({why}); once it can be written, waiting changes are saved automatically"
        )
    }
}

/// SQLite reports some systems' full disks as I/O errors.
fn is_full(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DiskFull)
}

impl StoreError {
    pub(super) fn file(path: &Path, why: io::Error) -> Self {
        Self::File { path: path.to_owned(), why }
    }

    /// The same error, with a known data folder.
    pub(super) fn in_folder(self, folder: &Path) -> Self {
        match self {
            Self::Disk { why, .. } => Self::Disk { folder: folder.to_owned(), why },
            other => other,
        }
    }

    /// Whether the requested row cannot be decoded; the database itself works.
    pub fn is_of_row(&self) -> bool {
        matches!(self, Self::Sql(error) if is_of_row(error))
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull | ErrorCode::SystemIoFailure | ErrorCode::ReadOnly) => {
                Self::Disk { folder: PathBuf::new(), why: error }
            }
            _ => Self::Sql(error),
        }
    }
}

/// Whether a row cannot be decoded; the database itself works.
pub(super) fn is_of_row(error: &rusqlite::Error) -> bool {
    use rusqlite::Error as E;
    matches!(
        error,
        E::FromSqlConversionFailure(..)
            | E::IntegralValueOutOfRange(..)
            | E::Utf8Error(..)
            | E::InvalidColumnType(..)
    )
}
