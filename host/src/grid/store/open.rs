//! Opening a store that may be broken.
//!
//! sled's users report stores that cannot be opened after a kill: sled returns an error, panics, or takes for
//! ever. So a store is opened on a thread of its own, with a time limit. A store that does not open is set
//! aside.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use sateen_command_line::explained;

use super::sled_store::{is_locked, told};
use super::{SledStore, StoreError};

/// Maximum time to open a store before it is set aside.
const OPEN_MAX: Duration = Duration::from_secs(10);
/// Maximum stores that were set aside; the oldest are deleted.
const ASIDE_MAX: usize = 3;

/// A store, and the path of its predecessor if that did not open.
pub struct Opened {
    /// The store.
    pub store: SledStore,
    /// The store that was set aside, and the reason.
    pub set_aside: Option<(PathBuf, String)>,
}

enum Attempt {
    Opened(SledStore),
    /// The disk is full or read-only: nothing is wrong with the store.
    Disk(String),
    Broken(String),
}

/// Opens the store in `folder`; if it does not open, renames it and begins a new one.
///
/// # Errors
/// If the folder cannot be written.
pub fn open(folder: &Path) -> Result<Opened, StoreError> {
    let why = match attempt(folder, SledStore::open) {
        Attempt::Opened(store) => return Ok(Opened { store, set_aside: None }),
        Attempt::Disk(error) => return Err(StoreError(unusable(folder, &error))),
        Attempt::Broken(why) => why,
    };
    let aside = set_aside(folder)
        .map_err(|error| StoreError(format!("{why}, and it cannot be set aside: {}", explained(&error))))?;
    match attempt(folder, SledStore::open) {
        Attempt::Opened(store) => Ok(Opened { store, set_aside: Some((aside, why)) }),
        Attempt::Disk(error) | Attempt::Broken(error) => Err(StoreError(unusable(folder, &error))),
    }
}

/// Why the store in this folder cannot be used, and what to do if another user has made it.
fn unusable(folder: &Path, error: &str) -> String {
    let owner = fs::metadata(folder).map(|metadata| metadata.uid());
    let whose = match owner {
        Ok(owner) if owner != rustix::process::geteuid().as_raw() => {
            format!("; it belongs to another user (number {owner}): give it to this one, or remove it")
        }
        _ => String::new(),
    };
    format!("{}: {error}{whose}", folder.display())
}

fn attempt(folder: &Path, open: fn(&Path) -> Result<SledStore, sled::Error>) -> Attempt {
    let (sender, receiver) = mpsc::channel();
    let path = folder.to_owned();
    let thread = std::thread::Builder::new().name("sateen-store-open".to_owned());
    let spawned = thread.spawn(move || {
        // A receiver that has waited too long is gone, and the store is closed again.
        let _ = sender.send(open(&path));
    });
    if let Err(error) = spawned {
        return Attempt::Disk(format!("a thread cannot be started: {}", explained(&error)));
    }
    match receiver.recv_timeout(OPEN_MAX) {
        Ok(Ok(store)) => Attempt::Opened(store),
        Ok(Err(error)) if is_locked(&error) => Attempt::Disk(told(&error)),
        Ok(Err(sled::Error::Io(error))) if is_the_disks(&error) => {
            Attempt::Disk(told(&sled::Error::Io(error)))
        }
        Ok(Err(error)) => Attempt::Broken(told(&error)),
        Err(mpsc::RecvTimeoutError::Timeout) => {
            Attempt::Broken(format!("it did not open within {} s", OPEN_MAX.as_secs()))
        }
        Err(mpsc::RecvTimeoutError::Disconnected) => {
            Attempt::Broken("the database panicked as it opened".to_owned())
        }
    }
}

fn is_the_disks(error: &io::Error) -> bool {
    use io::ErrorKind::{PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull, WouldBlock};
    let kinds = [PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull, WouldBlock];
    kinds.contains(&error.kind())
}

/// Renames the folder to the first free `NAME.broken-N`.
fn set_aside(folder: &Path) -> io::Result<PathBuf> {
    let name = |number: usize| {
        let mut name = folder.file_name().unwrap_or_default().to_owned();
        name.push(format!(".broken-{number}"));
        folder.with_file_name(name)
    };
    let number = (1..).find(|number| !name(*number).exists()).unwrap_or(usize::MAX);
    if number > ASIDE_MAX {
        // Numbers stay small: the oldest is deleted, and the others move up.
        fs::remove_dir_all(name(1))?;
        for number in 2..number {
            fs::rename(name(number), name(number - 1))?;
        }
        fs::rename(folder, name(number - 1))?;
        return Ok(name(number - 1));
    }
    fs::rename(folder, name(number))?;
    Ok(name(number))
}

#[cfg(test)]
mod tests {
    use super::super::Store;
    use super::super::record::tests::{RUN, entry};
    use super::*;

    #[test]
    fn a_store_that_does_not_open_is_set_aside() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("store");
        for round in 1..=ASIDE_MAX + 2 {
            fs::create_dir_all(&path).expect("made");
            let _ = fs::remove_dir_all(path.join("db"));
            // A folder in the place of sled's file: an error that does not come from the disk.
            fs::create_dir_all(path.join("db")).expect("made");
            fs::write(path.join("conf"), "nonsense").expect("written");
            let mut opened = open(&path).expect("a new one opens");
            let (aside, _) = opened.set_aside.take().expect("the old one is set aside");
            assert!(aside.join("conf").exists());
            assert_eq!(aside, folder.path().join(format!("store.broken-{}", round.min(ASIDE_MAX))));
            opened.store.save(RUN, &entry(1, 1)).expect("the new one works");
            drop(opened);
            fs::remove_dir_all(&path).expect("removed");
        }
    }

    #[test]
    fn panics_are_caught() {
        let folder = tempfile::tempdir().expect("a folder");
        let attempt = attempt(folder.path(), |_| panic!("as sled might"));
        assert!(matches!(attempt, Attempt::Broken(why) if why.contains("panicked")));
    }

    #[test]
    fn where_nothing_can_be_written_nothing_is_set_aside() {
        assert!(open(Path::new("/proc/sateen/store")).is_err());
    }
}
