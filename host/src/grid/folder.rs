//! A host's data folder.
//!
//! ```text
//! version        version of the folder's format
//! lock           held by the process that uses it
//! key            this host's identity
//! control.sock   status, pause, resume, leave
//! blobs/         modules and inputs by hash
//! contributed.json  the host's work so far
//! consent.json   what the machine's owner agreed to
//! credentials.json  the host's token, and the authority that it trusts
//! preferences.toml  what the owner allows
//! transferred.json  bytes of today, if the owner limits them
//! store/         entries of result tables
//! ```

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sateen_access::write_private;
use sateen_command_line::refused;
use thiserror::Error;

use super::holder::Holder;

/// The version of the folder's contents.
const FOLDER_VERSION: u32 = 1;
/// Patience with a process that uses a folder: one that was killed keeps its lock until its memory is freed, which takes
/// longer on a busy machine, as most of its threads have idle priority.
const IN_USE_MAX: Duration = Duration::from_secs(3);
/// The same with a process that has certainly ended, on a machine that takes long to free its memory.
const KILLED_MAX: Duration = Duration::from_secs(30);
/// How often to check a folder while waiting for it.
const FREE_LOOK: Duration = Duration::from_millis(5);

/// Why a folder cannot be used. Nothing in it was changed.
#[derive(Debug, Error)]
pub enum FolderError {
    /// Another process uses it.
    #[error(
        "the data folder {} is in use by another sateen-host{who}; name another one with --data-dir",
        .folder.display()
    )]
    InUse {
        /// The folder.
        folder: PathBuf,
        /// The process, if it is known.
        who: String,
    },
    /// The folder has a later version.
    #[error(
        "the data folder {} was written by a newer sateen-host (version {version} of the folder, this one knows {FOLDER_VERSION}); update this one, or name another folder with --data-dir",
        .folder.display()
    )]
    Newer {
        /// The folder.
        folder: PathBuf,
        /// Its version.
        version: String,
    },
    /// The folder contains other files.
    #[error(
        "{} is not a host's data folder and is not empty; name another one with --data-dir",
        .0.display()
    )]
    Foreign(PathBuf),
    /// It is another user's. A host would leave files there that the user cannot change, and its key is theirs.
    #[error(
        "the data folder {} belongs to another user (number {owner}), and this program runs as user {user}; run it as that user, or name another folder with --data-dir",
        .folder.display()
    )]
    OtherUsers {
        /// The folder.
        folder: PathBuf,
        /// The number of its owner.
        owner: u32,
        /// The number of the user of this process.
        user: u32,
    },
    /// The path is not a folder.
    #[error("{} is not a folder; name another one with --data-dir", .0.display())]
    NoFolder(PathBuf),
}

/// A data folder that only this process uses, or the reason why it cannot be written.
#[derive(Debug)]
pub struct DataFolder {
    path: PathBuf,
    unwritable: Option<String>,
    /// Locked as long as it is open.
    _lock: Option<File>,
}

impl DataFolder {
    /// Takes the folder, which is made if it does not exist. A folder that cannot be written is not an error:
    /// the host works without it and saves nothing.
    ///
    /// # Errors
    /// If the folder belongs to another program or process.
    pub fn open(path: &Path) -> Result<Self, FolderError> {
        let without = |error: io::Error| {
            let unwritable = Some(refused(&format!("the data folder {}", path.display()), &error));
            Ok(Self { path: path.to_owned(), unwritable, _lock: None })
        };
        if fs::metadata(path).is_ok_and(|metadata| !metadata.is_dir()) {
            return Err(FolderError::NoFolder(path.to_owned()));
        }
        check_owner(path)?;
        check_contents(path)?;
        if let Err(error) = make_private(path) {
            return without(error);
        }
        // Another process may have had its time already.
        if !Self::await_free(path, IN_USE_MAX) && Holder::of(path).has_ended() {
            Self::await_free(path, KILLED_MAX);
        }
        let lock = match lock(path)? {
            Ok(lock) => lock,
            Err(error) => return without(error),
        };
        // Check again: only now can no other process write it.
        check_contents(path)?;
        if let Err(error) = write_version(path) {
            return without(error);
        }
        Ok(Self { path: path.to_owned(), unwritable: None, _lock: Some(lock) })
    }

    /// The default data folder of this user's hosts.
    pub fn default_path() -> Option<PathBuf> {
        Some(directories::ProjectDirs::from("", "", "sateen")?.data_local_dir().join("host"))
    }

    /// Waits until no host uses the folder at `path`, at most this long; returns whether it is free.
    pub fn await_free(path: &Path, patience: Duration) -> bool {
        Self::await_free_or(path, patience, || false)
    }

    /// The same, or until `is_enough`.
    pub fn await_free_or(path: &Path, patience: Duration, is_enough: impl Fn() -> bool) -> bool {
        let since = Instant::now();
        loop {
            let is_used = File::open(path.join("lock"))
                .is_ok_and(|lock| matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock)));
            let is_free = !is_used || is_enough();
            if is_free || since.elapsed() >= patience {
                return is_free;
            }
            std::thread::sleep(FREE_LOOK);
        }
    }

    /// Why nothing can be written.
    pub fn unwritable(&self) -> Option<&str> {
        self.unwritable.as_deref()
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of the part `name`, if the folder can be written.
    pub fn part(&self, name: &str) -> Option<PathBuf> {
        self.unwritable.is_none().then(|| self.path.join(name))
    }
}

fn check_owner(path: &Path) -> Result<(), FolderError> {
    let user = rustix::process::geteuid().as_raw();
    match fs::metadata(path).map(|metadata| metadata.uid()) {
        Ok(owner) if owner != user => Err(FolderError::OtherUsers { folder: path.to_owned(), owner, user }),
        // If it does not exist, it is made.
        _ => Ok(()),
    }
}

fn check_contents(path: &Path) -> Result<(), FolderError> {
    match fs::read_to_string(path.join("version")) {
        Ok(text) => {
            let version = text.trim();
            if version.parse::<u32>().is_ok_and(|version| version > FOLDER_VERSION) {
                return Err(FolderError::Newer { folder: path.to_owned(), version: version.to_owned() });
            }
            Ok(())
        }
        Err(_) => {
            let is_ours = |name: &std::ffi::OsStr| name == "lock" || name == "lost+found";
            let foreign = fs::read_dir(path)
                .is_ok_and(|mut entries| entries.any(|entry| entry.is_ok_and(|e| !is_ours(&e.file_name()))));
            if foreign { Err(FolderError::Foreign(path.to_owned())) } else { Ok(()) }
        }
    }
}

fn make_private(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    if fs::metadata(path)?.permissions().mode() & 0o077 != 0 {
        fs::set_permissions(path, fs::Permissions::from_mode(0o700))?;
    }
    Ok(())
}

fn lock(path: &Path) -> Result<io::Result<File>, FolderError> {
    let opened = File::options().create(true).truncate(false).read(true).write(true).open(path.join("lock"));
    let mut file = match opened {
        Ok(file) => file,
        Err(error) => return Ok(Err(error)),
    };
    match file.try_lock() {
        Ok(()) => {
            // For information only; the lock does not depend on it.
            let _ = file.set_len(0);
            let _ = file.rewind();
            let _ = write!(file, "{}", std::process::id());
            Ok(Ok(file))
        }
        Err(TryLockError::WouldBlock) => {
            let mut text = String::new();
            let _ = file.take(20).read_to_string(&mut text);
            let who = match text.trim().parse::<u32>() {
                Ok(id) if Holder::of(path).has_ended() => {
                    format!(
                        " (process {id}, which was killed, and whose memory the system still frees: try again later)"
                    )
                }
                Ok(id) => format!(" (process {id})"),
                Err(_) => String::new(),
            };
            Err(FolderError::InUse { folder: path.to_owned(), who })
        }
        Err(TryLockError::Error(error)) => Ok(Err(error)),
    }
}

/// Written completely or not at all: an incomplete version would count as missing.
fn write_version(path: &Path) -> io::Result<()> {
    let file = path.join("version");
    if fs::read_to_string(&file).is_ok_and(|text| text.trim() == FOLDER_VERSION.to_string()) {
        return Ok(());
    }
    write_private(&file, format!("{FOLDER_VERSION}\n").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_one_user() {
        let parent = tempfile::tempdir().expect("a folder");
        let path = parent.path().join("data");
        let first = DataFolder::open(&path).expect("free");
        assert_eq!(fs::metadata(&path).expect("it is there").permissions().mode() & 0o777, 0o700);
        let error = DataFolder::open(&path).expect_err("in use").to_string();
        assert!(error.contains("in use") && error.contains(&*path.to_string_lossy()), "{error}");
        assert!(error.contains(&std::process::id().to_string()) && error.contains("--data-dir"), "{error}");
        assert!(!DataFolder::await_free(&path, Duration::from_millis(20)));
        let ends = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            drop(first);
        });
        assert!(DataFolder::await_free(&path, Duration::from_secs(60)));
        ends.join().expect("it ends");
        assert!(DataFolder::open(&path).expect("free again").unwritable().is_none());
    }

    #[test]
    fn a_folder_that_others_could_read_is_mended() {
        let parent = tempfile::tempdir().expect("a folder");
        let path = parent.path().join("data");
        drop(DataFolder::open(&path).expect("free"));
        for mode in [0o755, 0o701, 0o777] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("our own");
            drop(DataFolder::open(&path).expect("free"));
            assert_eq!(
                fs::metadata(&path).expect("it is there").permissions().mode() & 0o777,
                0o700,
                "{mode:o}"
            );
        }
    }

    #[test]
    fn a_newer_folder_is_left_as_it_is() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("version"), "99\n").expect("written");
        let error = DataFolder::open(folder.path()).expect_err("newer").to_string();
        assert!(error.contains("newer") && error.contains("99"), "{error}");
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1);
    }

    #[test]
    fn the_folder_of_another_user_is_left_as_it_is() {
        let folder = tempfile::tempdir().expect("a folder");
        // Only root can give a folder away; for others, there are folders of root.
        let theirs = match std::os::unix::fs::chown(folder.path(), Some(65534), None) {
            Ok(()) => folder.path(),
            Err(_) => Path::new("/usr"),
        };
        let before = fs::metadata(theirs).expect("it is there").permissions();
        let error = DataFolder::open(theirs).expect_err("another user's").to_string();
        assert!(error.contains("another user (number ") && error.contains("--data-dir"), "{error}");
        assert!(!theirs.join("lock").exists() && !theirs.join("version").exists());
        assert_eq!(fs::metadata(theirs).expect("it is there").permissions(), before);
    }

    #[test]
    fn somebody_elses_folder_is_left_as_it_is() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("thesis.tex"), "x").expect("written");
        assert!(matches!(DataFolder::open(folder.path()), Err(FolderError::Foreign(_))));
        let file = folder.path().join("thesis.tex");
        assert!(matches!(DataFolder::open(&file), Err(FolderError::NoFolder(_))));
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1);
    }

    #[test]
    fn where_nothing_can_be_written_the_reason_is_known() {
        let folder = DataFolder::open(Path::new("/proc/sateen")).expect("no refusal");
        assert!(folder.unwritable().is_some_and(|why| why.contains("/proc/sateen")));
        assert_eq!(folder.part("store"), None);
    }
}
