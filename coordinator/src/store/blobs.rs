//! Modules and inputs: files named by the blake3 hash of their bytes.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use sateen_protocol::BlobHash;

use super::error::StoreError;

const INCOMING: &str = "incoming-";

/// A folder of blobs.
#[derive(Debug)]
pub struct Blobs {
    folder: PathBuf,
    /// Numbers the temporary files.
    next: AtomicU64,
}

impl Blobs {
    /// Opens the folder, and removes what an earlier process did not bring to an end.
    pub(super) fn open(folder: PathBuf) -> Result<Self, StoreError> {
        fs::create_dir_all(&folder).map_err(|error| StoreError::file(&folder, error))?;
        for file in fs::read_dir(&folder).map_err(|error| StoreError::file(&folder, error))?.flatten() {
            if file.file_name().to_string_lossy().starts_with(INCOMING) {
                fs::remove_file(file.path()).map_err(|error| StoreError::file(&file.path(), error))?;
            }
        }
        Ok(Self { folder, next: AtomicU64::new(0) })
    }

    /// Saves a blob, on the disk when this returns; false if it was there already. Blocks.
    pub fn save(&self, hash: BlobHash, bytes: &[u8]) -> Result<bool, StoreError> {
        let path = self.path(hash);
        if matches!(self.read(hash), Ok(Some(_))) {
            return Ok(false);
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let incoming = self.folder.join(format!("{INCOMING}{number}"));
        let saved = write_through(&incoming, bytes)
            .and_then(|()| fs::rename(&incoming, &path))
            .and_then(|()| sync_folder(&self.folder));
        saved.map_err(|error| {
            // Nothing more can be done than to try: the next start tries again.
            let _ = fs::remove_file(&incoming);
            StoreError::file(&path, error)
        })?;
        Ok(true)
    }

    /// A blob, verified. Blocks.
    pub fn read(&self, hash: BlobHash) -> Result<Option<Vec<u8>>, StoreError> {
        let path = self.path(hash);
        match fs::read(&path) {
            Ok(bytes) if BlobHash::of(&bytes) == hash => Ok(Some(bytes)),
            Ok(_) => Err(StoreError::Damaged(hash.to_string())),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(StoreError::file(&path, error)),
        }
    }

    /// How long a blob is, if it is there. Blocks.
    pub fn length_bytes(&self, hash: BlobHash) -> Option<u64> {
        fs::metadata(self.path(hash)).ok().map(|file| file.len())
    }

    fn path(&self, hash: BlobHash) -> PathBuf {
        self.folder.join(hash.to_string())
    }
}

fn write_through(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// A renamed file has its new name after a power cut only if the folder is on the disk, too.
fn sync_folder(folder: &Path) -> std::io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blobs_are_verified_and_healed() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("incoming-3"), b"half").expect("written");
        let blobs = Blobs::open(folder.path().to_owned()).expect("opened");
        assert!(!folder.path().join("incoming-3").exists());
        let hash = BlobHash::of(b"blob");
        assert!(blobs.read(hash).expect("readable").is_none());
        assert!(blobs.save(hash, b"blob").expect("saved"));
        assert!(!blobs.save(hash, b"blob").expect("known"));
        fs::write(folder.path().join(hash.to_string()), b"blub").expect("written");
        assert!(matches!(blobs.read(hash), Err(StoreError::Damaged(_))));
        assert!(blobs.save(hash, b"blob").expect("saved again"));
        assert_eq!(blobs.read(hash).expect("readable").as_deref(), Some(&b"blob"[..]));
    }
}
