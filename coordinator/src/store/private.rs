//! Access to a data folder: for its owner alone. It holds the grid's secret, and what people computed.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io;
use std::path::Path;

#[cfg(unix)]
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};

use sateen_command_line::explained;

use super::error::StoreError;

#[cfg(unix)]
const FOLDER_MODE: u32 = 0o700;
#[cfg(unix)]
const FILE_MODE: u32 = 0o600;

/// Creates the folder if it does not exist.
pub fn create(folder: &Path) -> Result<(), StoreError> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    builder.mode(FOLDER_MODE);
    builder.create(folder).map_err(|error| StoreError::file(folder, error))
}

/// Options for opening or creating a file of the folder.
pub fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true);
    #[cfg(unix)]
    options.mode(FILE_MODE);
    options
}

/// Removes other users' permissions from a folder that an older version created, or that was created by hand; and creates
/// the database's file, whose mode the database uses for those beside it.
///
/// # Errors
/// When the permissions of a file cannot be removed. The folder itself may belong to another user, like that of a mounted
/// volume: that only causes a warning, as its files are private.
pub fn mend(folder: &Path, database: &Path) -> Result<(), StoreError> {
    let is_new = !database.exists();
    let is_ours = !is_new || holds_nothing_else(folder);
    options().open(database).map_err(|error| StoreError::file(database, error))?;
    let mut mended = false;
    for entry in fs::read_dir(folder).map_err(|error| StoreError::file(folder, error))?.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_our_file = name == "lock" || name.starts_with(super::DATABASE);
        let wanted = match entry.file_type() {
            Ok(kind) if kind.is_file() && is_our_file => FILE_MODE,
            Ok(kind) if kind.is_dir() && name == super::BLOBS => FOLDER_MODE,
            _ => continue,
        };
        mended |= restrict(&entry.path(), wanted).map_err(|error| StoreError::file(&entry.path(), error))?;
    }
    if is_ours {
        match restrict(folder, FOLDER_MODE) {
            Ok(changed) => mended |= changed,
            Err(error) => tracing::warn!(
                folder = %folder.display(), error = explained(&error),
                "other users may be able to read the data folder, and its permissions cannot be changed; make it private with chmod 700"
            ),
        }
    }
    // In a new folder, there was nothing to read.
    if mended && !is_new {
        tracing::warn!(
            folder = %folder.display(),
            "other users could read the data folder; it is private now. If others use this computer, start with a \
             new folder: the old one's secret may be known"
        );
    }
    Ok(())
}

/// A folder that only happens to contain the database is left as it is.
fn holds_nothing_else(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|entries| {
        entries.flatten().all(|entry| ["lock", "lost+found"].iter().any(|known| entry.file_name() == *known))
    })
}

/// Whether something had to be changed.
#[cfg(unix)]
fn restrict(path: &Path, mode: u32) -> io::Result<bool> {
    let is_open = fs::symlink_metadata(path)?.permissions().mode() & 0o077 != 0;
    if is_open {
        fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
    }
    Ok(is_open)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).expect("it is there").permissions().mode() & 0o777
    }

    fn open_to_all(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("our own");
    }

    #[test]
    fn the_permissions_of_an_open_folder_are_removed() {
        let parent = tempfile::tempdir().expect("a folder");
        let folder = parent.path().join("data");
        fs::create_dir(&folder).expect("made");
        open_to_all(&folder, 0o755);
        for file in ["state.sqlite", "state.sqlite-wal", "lock"] {
            fs::write(folder.join(file), "").expect("written");
            open_to_all(&folder.join(file), 0o644);
        }
        fs::create_dir(folder.join("blobs")).expect("made");
        mend(&folder, &folder.join("state.sqlite")).expect("mended");
        for (path, wanted) in
            [("", 0o700), ("state.sqlite", 0o600), ("state.sqlite-wal", 0o600), ("blobs", 0o700)]
        {
            assert_eq!(mode(&folder.join(path)), wanted, "{path}");
        }
        assert!(!restrict(&folder, FOLDER_MODE).expect("readable"), "it was mended already");
    }

    #[test]
    fn a_shared_folder_stays_as_it_is_and_the_database_in_it_is_private() {
        let parent = tempfile::tempdir().expect("a folder");
        open_to_all(parent.path(), 0o755);
        fs::write(parent.path().join("thesis.tex"), "x").expect("written");
        mend(parent.path(), &parent.path().join("state.sqlite")).expect("done");
        assert_eq!(mode(parent.path()), 0o755);
        assert_eq!(mode(&parent.path().join("state.sqlite")), 0o600);
    }
}
