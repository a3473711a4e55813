//! Compiled code, kept in a private folder so that a module is compiled once on each machine.
//!
//! Loading compiled code means trusting its bytes completely. So each file carries a keyed hash under a secret
//! that never leaves the folder, and is read whole before it is checked. A file from somebody else, or from an
//! interrupted write, counts as a miss. Compiled code never comes from elsewhere.

use std::fs::{self, File};
use std::hash::{Hash, Hasher};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use sateen_module::hidden_state;

use crate::engine::Engine;

const HASH_BYTES: usize = 32;
/// The hash, and a byte that says whether instances can be copied. The code follows.
const HEAD_BYTES: usize = HASH_BYTES + 1;
/// Maximum bytes in the folder; the files that were not used for the longest time are deleted first.
const CACHE_BYTES_MAX: u64 = 1 << 30;

/// A folder of compiled modules that only this user can read or write.
#[derive(Debug, Clone)]
pub struct ModuleCache {
    folder: PathBuf,
    secret: [u8; HASH_BYTES],
}

/// A module's code, and what else is found out only once.
pub(super) struct Compiled {
    pub code: wasmtime::Module,
    /// Whether an instance's memory and exported globals are all that it can remember.
    pub is_copyable: bool,
}

/// The same as it is passed to a process of guests: the bytes of the code. They were made by this program on this machine
/// and authenticated, or come from the supervisor of this process, which has done that.
pub struct Code {
    pub(super) bytes: Vec<u8>,
    pub(super) is_copyable: bool,
}

impl Code {
    /// The code, ready to run; `None` if it is for another engine.
    pub(super) fn load(&self, engine: &Engine) -> Option<Compiled> {
        // SAFETY: the bytes were made by `Module::serialize` on this machine: nobody else knows the
        // secret that they are authenticated with, and they were read whole before the check.
        #[allow(unsafe_code)]
        let code = unsafe { wasmtime::Module::deserialize(&engine.inner, &self.bytes) }.ok()?;
        Some(Compiled { code, is_copyable: self.is_copyable })
    }

    /// The bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether an instance's memory and exported globals are all that it can remember.
    pub(crate) fn is_copyable(&self) -> bool {
        self.is_copyable
    }
}

/// Whether that is true of the module `bytes`. Reads all of its code, which takes as long as the rest of a start.
pub(super) fn is_copyable(bytes: &[u8]) -> bool {
    hidden_state(bytes).is_none()
}

impl ModuleCache {
    /// The cache in this user's cache folder, or in the folder that `SATEEN_CACHE_DIR` names.
    ///
    /// # Errors
    /// If there is no such folder and none can be made.
    pub fn of_user() -> io::Result<Self> {
        let folder = match std::env::var_os("SATEEN_CACHE_DIR") {
            Some(folder) => PathBuf::from(folder),
            None => directories::ProjectDirs::from("", "", "sateen")
                .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "this user has no home folder"))?
                .cache_dir()
                .to_owned(),
        };
        Self::open(&folder.join("modules"))
    }

    /// The cache in `folder`, which is made if it does not exist.
    ///
    /// # Errors
    /// If it cannot be made or read, or if others may write to it.
    pub fn open(folder: &Path) -> io::Result<Self> {
        make_private(folder)?;
        let secret = read_secret(&folder.join("secret"))?;
        Ok(Self { folder: folder.to_owned(), secret })
    }

    /// The compiled code of the module with this hash, if the cache has it and it is intact.
    pub(super) fn get(&self, engine: &Engine, module_hash: &blake3::Hash) -> Option<Compiled> {
        self.read(engine, module_hash)?.load(engine)
    }

    /// The same, not loaded.
    pub(super) fn read(&self, engine: &Engine, module_hash: &blake3::Hash) -> Option<Code> {
        let path = self.path(engine, module_hash);
        let mut file = File::open(&path).ok()?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).ok()?;
        let (hash, rest) = bytes.split_at_checked(HASH_BYTES)?;
        let expected = self.authenticate(&path, rest);
        // blake3's own comparison takes the same time wherever the difference is.
        if blake3::Hash::from_slice(hash).ok()? != expected {
            let _ = fs::remove_file(&path);
            return None;
        }
        let is_copyable = *rest.first()? != 0;
        let _ = file.set_modified(SystemTime::now());
        bytes.drain(..HEAD_BYTES);
        Some(Code { bytes, is_copyable })
    }

    /// Stores the compiled code of a module. A failure only costs another compilation later.
    pub(super) fn put(
        &self,
        engine: &Engine,
        module_hash: &blake3::Hash,
        Compiled { code, is_copyable }: &Compiled,
    ) -> io::Result<()> {
        let mut file = self.new_file()?;
        file.write_all(&code.serialize().map_err(io::Error::other)?)?;
        self.keep(engine, module_hash, file, *is_copyable)
    }

    /// A new file for code, without its head; see [`keep`](Self::keep).
    pub(super) fn new_file(&self) -> io::Result<tempfile::NamedTempFile> {
        let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
        file.write_all(&[0; HEAD_BYTES])?;
        Ok(file)
    }

    /// The offset of the code in a [`new_file`](Self::new_file).
    pub(super) fn place_for_code(file: &tempfile::NamedTempFile) -> io::Result<File> {
        let mut place = file.reopen()?;
        place.seek(SeekFrom::Start(HEAD_BYTES as u64))?;
        Ok(place)
    }

    /// Stores the contents of a [`new_file`](Self::new_file) as the code of a module.
    pub(super) fn keep(
        &self,
        engine: &Engine,
        module_hash: &blake3::Hash,
        mut file: tempfile::NamedTempFile,
        is_copyable: bool,
    ) -> io::Result<()> {
        file.seek(SeekFrom::Start(HASH_BYTES as u64))?;
        file.write_all(&[u8::from(is_copyable)])?;
        let mut rest = vec![u8::from(is_copyable)];
        file.read_to_end(&mut rest)?;
        let path = self.path(engine, module_hash);
        file.seek(SeekFrom::Start(0))?;
        file.write_all(self.authenticate(&path, &rest).as_bytes())?;
        file.persist(path)?;
        self.evict()
    }

    /// The keyed hash of a file's name and of the rest of it: one module's code under another's name is a miss.
    fn authenticate(&self, path: &Path, rest: &[u8]) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new_keyed(&self.secret);
        hasher.update(path.file_name().unwrap_or_default().as_encoded_bytes());
        hasher.update(rest);
        hasher.finalize()
    }

    /// The file for a module as this engine compiles it: the name differs for another version of wasmtime,
    /// other settings or another processor.
    fn path(&self, engine: &Engine, module_hash: &blake3::Hash) -> PathBuf {
        let mut name = NameHasher(blake3::Hasher::new());
        engine.inner.precompile_compatibility_hash().hash(&mut name);
        engine.is_stoppable.then_some(sateen_rewriter::VERSION).hash(&mut name);
        name.0.update(module_hash.as_bytes());
        self.folder.join(format!("{}.code", name.0.finalize().to_hex()))
    }

    fn evict(&self) -> io::Result<()> {
        let mut files: Vec<(SystemTime, u64, PathBuf)> = fs::read_dir(&self.folder)?
            .filter_map(|entry| {
                let entry = entry.ok()?;
                let metadata = entry.metadata().ok()?;
                let path = entry.path();
                (path.extension()? == "code").then_some((metadata.modified().ok()?, metadata.len(), path))
            })
            .collect();
        files.sort();
        let mut total: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
        for (_, bytes, path) in files {
            if total <= CACHE_BYTES_MAX {
                break;
            }
            fs::remove_file(path)?;
            total -= bytes;
        }
        Ok(())
    }
}

/// Feeds the engine's hash of itself to blake3.
struct NameHasher(blake3::Hasher);

impl Hasher for NameHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        // Never used: the whole blake3 hash is read instead.
        0
    }
}

#[cfg(unix)]
fn make_private(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let metadata = fs::metadata(folder)?;
    // The parent process's umask and earlier versions aside, the folder must be this user's own.
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            format!(
                "{} belongs to another user (number {}); name another folder with SATEEN_CACHE_DIR",
                folder.display(),
                metadata.uid()
            ),
        ));
    }
    if metadata.permissions().mode() & 0o022 != 0 {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            format!(
                "others may write to {}; remove that permission, or name another folder with SATEEN_CACHE_DIR",
                folder.display()
            ),
        ));
    }
    // New code can be kept.
    tempfile::tempfile_in(folder).map(drop)
}

#[cfg(not(unix))]
fn make_private(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

/// The folder's secret, which the first process that needs it makes.
fn read_secret(path: &Path) -> io::Result<[u8; HASH_BYTES]> {
    if let Ok(bytes) = fs::read(path)
        && let Ok(secret) = bytes.try_into()
    {
        return Ok(secret);
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(&random_bytes()?)?;
    match file.persist_noclobber(path) {
        Ok(_) => {}
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
            // Another process was first, or a torn write left a secret of another length.
            if fs::metadata(path)?.len() != HASH_BYTES as u64 {
                error.file.persist(path)?;
            }
        }
        Err(error) => return Err(error.error),
    }
    fs::read(path)?
        .try_into()
        .map_err(|_| io::Error::other(format!("{} is not a secret of {HASH_BYTES} bytes", path.display())))
}

fn random_bytes() -> io::Result<[u8; HASH_BYTES]> {
    let mut bytes = [0; HASH_BYTES];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes)
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{DirBuilderExt, PermissionsExt, chown};

    use super::*;

    #[test]
    fn the_folder_of_another_user_is_refused_by_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let mine = folder.path().join("mine");
        fs::DirBuilder::new().mode(0o700).create(&mine).expect("made");
        assert!(ModuleCache::open(&mine).is_ok());
        // Only root can give a folder away; for others, there are folders of root.
        let theirs = match chown(&mine, Some(65534), None) {
            Ok(()) => mine.as_path(),
            Err(_) => Path::new("/usr"),
        };
        let error = ModuleCache::open(theirs).expect_err("another user's").to_string();
        assert!(error.contains("another user") && error.contains("SATEEN_CACHE_DIR"), "{error}");
        assert!(error.contains(&*theirs.to_string_lossy()), "{error}");
    }

    #[test]
    fn a_folder_that_others_may_write_to_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).expect("our own");
        let error = ModuleCache::open(folder.path()).expect_err("not private").to_string();
        assert!(error.contains("others may write"), "{error}");
    }
}
