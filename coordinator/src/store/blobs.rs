//! Modules and inputs: files named by the blake3 hash of their bytes.

use std::fs::{self, File};
use std::io::{ErrorKind, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use sateen_protocol::BlobHash;

use super::error::StoreError;
use crate::limits::BLOB_PIECE_BYTES;

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
        super::private::create(&folder)?;
        for file in fs::read_dir(&folder).map_err(|error| StoreError::file(&folder, error))?.flatten() {
            if file.file_name().to_string_lossy().starts_with(INCOMING) {
                fs::remove_file(file.path()).map_err(|error| StoreError::file(&file.path(), error))?;
            }
        }
        Ok(Self { folder, next: AtomicU64::new(0) })
    }

    /// A file for a blob that is on its way. Blocks.
    pub fn incoming(&self) -> Result<Incoming, StoreError> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let path = self.folder.join(format!("{INCOMING}{number}"));
        let file = File::create(&path).map_err(|error| StoreError::file(&path, error))?;
        Ok(Incoming { file, path, hasher: blake3::Hasher::new(), bytes: 0 })
    }

    /// Keeps a blob that has come; on the disk when this returns; false if it was there already. Blocks.
    pub fn keep(&self, incoming: Incoming) -> Result<bool, StoreError> {
        let path = self.path(incoming.hash());
        if matches!(self.open_verified(incoming.hash()), Ok(Some(_))) {
            return Ok(false);
        }
        let kept = incoming
            .file
            .sync_all()
            .and_then(|()| fs::rename(&incoming.path, &path))
            .and_then(|()| sync_folder(&self.folder));
        kept.map_err(|error| StoreError::file(&path, error))?;
        Ok(true)
    }

    /// A blob, after all of it was read and verified once, and its length. Blocks.
    pub fn open_verified(&self, hash: BlobHash) -> Result<Option<(File, u64)>, StoreError> {
        let path = self.path(hash);
        let broken = |error| StoreError::file(&path, error);
        let mut file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(broken(error)),
        };
        let mut hasher = blake3::Hasher::new();
        let mut piece = vec![0; BLOB_PIECE_BYTES];
        loop {
            match file.read(&mut piece) {
                Ok(0) => break,
                Ok(bytes) => hasher.update(&piece[..bytes]),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(broken(error)),
            };
        }
        if hasher.finalize().as_bytes() != &hash.0 {
            return Err(StoreError::Damaged(hash.to_string()));
        }
        file.rewind().map_err(broken)?;
        Ok(Some((file, hasher.count())))
    }

    /// How long a blob is, if it is there. Blocks.
    pub fn length_bytes(&self, hash: BlobHash) -> Option<u64> {
        fs::metadata(self.path(hash)).ok().map(|file| file.len())
    }

    fn path(&self, hash: BlobHash) -> PathBuf {
        self.folder.join(hash.to_string())
    }
}

/// A blob that is on its way into the folder. What is not kept is removed.
#[derive(Debug)]
pub struct Incoming {
    file: File,
    path: PathBuf,
    hasher: blake3::Hasher,
    bytes: u64,
}

impl Incoming {
    /// Adds a piece. Blocks.
    pub fn write(&mut self, piece: &[u8]) -> Result<(), StoreError> {
        self.file.write_all(piece).map_err(|error| StoreError::file(&self.path, error))?;
        self.hasher.update(piece);
        self.bytes += piece.len() as u64;
        Ok(())
    }

    /// Of what has come so far.
    pub fn hash(&self) -> BlobHash {
        BlobHash(*self.hasher.finalize().as_bytes())
    }

    /// How much that is.
    pub fn length_bytes(&self) -> u64 {
        self.bytes
    }

    /// All of it. Blocks.
    pub fn read(&self) -> Result<Vec<u8>, StoreError> {
        fs::read(&self.path).map_err(|error| StoreError::file(&self.path, error))
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        // It has another name if it was kept; if it cannot be removed, the next start tries again.
        let _ = fs::remove_file(&self.path);
    }
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
        let save = || {
            let mut incoming = blobs.incoming().expect("a file");
            b"blob".chunks(3).for_each(|piece| incoming.write(piece).expect("written"));
            assert_eq!((incoming.hash(), incoming.length_bytes()), (hash, 4));
            blobs.keep(incoming)
        };
        let read = || {
            let (mut file, bytes) = blobs.open_verified(hash)?.expect("it is there");
            let mut blob = String::new();
            file.read_to_string(&mut blob).expect("text");
            Ok::<_, StoreError>((blob, bytes))
        };
        assert!(blobs.open_verified(hash).expect("readable").is_none());
        assert!(save().expect("saved"));
        assert!(!save().expect("known"));
        fs::write(folder.path().join(hash.to_string()), b"blub").expect("written");
        assert!(matches!(read(), Err(StoreError::Damaged(_))));
        assert!(save().expect("saved again"));
        assert_eq!(read().expect("readable"), ("blob".to_owned(), 4));
    }

    #[test]
    fn what_does_not_come_to_its_end_leaves_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let blobs = Blobs::open(folder.path().to_owned()).expect("opened");
        let mut incoming = blobs.incoming().expect("a file");
        incoming.write(b"half").expect("written");
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1);
        drop(incoming);
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0);
    }
}
