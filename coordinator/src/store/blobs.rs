//! Modules and inputs: files named by the blake3 hash of their bytes.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{ErrorKind, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sateen_protocol::BlobHash;

use super::error::StoreError;
use super::ledger::Ledger;
use crate::clock::unix_ms;
use crate::limits::BLOB_PIECE_BYTES;
use crate::peer::Peer;

const INCOMING: &str = "incoming-";

/// The number of blobs in a folder, if the folder exists.
pub(super) fn count(folder: &Path) -> usize {
    let names = fs::read_dir(folder).into_iter().flatten().flatten().map(|file| file.file_name());
    names.filter(|name| BlobHash::parse(&name.to_string_lossy()).is_some()).count()
}

/// A folder of blobs.
#[derive(Debug)]
pub struct Blobs {
    folder: PathBuf,
    /// Numbers the temporary files.
    next: AtomicU64,
    ledger: Arc<Ledger>,
}

impl Blobs {
    /// Opens the folder, with a maximum size for all blobs, and removes unfinished files of an earlier process.
    /// `uploaded` says who uploaded each blob, and when it was used.
    pub(super) fn open(
        folder: PathBuf,
        max_bytes: u64,
        uploaded: &HashMap<BlobHash, (Peer, u64)>,
    ) -> Result<Self, StoreError> {
        let ledger = Ledger::new(max_bytes);
        super::private::create(&folder)?;
        for file in fs::read_dir(&folder).map_err(|error| StoreError::file(&folder, error))?.flatten() {
            let name = file.file_name();
            let name = name.to_string_lossy();
            if name.starts_with(INCOMING) {
                fs::remove_file(file.path()).map_err(|error| StoreError::file(&file.path(), error))?;
            } else if let (Some(hash), Ok(about)) = (BlobHash::parse(&name), file.metadata()) {
                let (peer, used_at_ms) = uploaded.get(&hash).copied().unzip();
                ledger.found(hash, about.len(), peer, used_at_ms.unwrap_or(0));
            }
        }
        Ok(Self { folder, next: AtomicU64::new(0), ledger: Arc::new(ledger) })
    }

    /// A file for a blob that a peer uploads. Blocks.
    pub fn incoming(&self, peer: Peer) -> Result<Incoming, StoreError> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let path = self.folder.join(format!("{INCOMING}{number}"));
        let file = File::create(&path).map_err(|error| StoreError::file(&path, error))?;
        let room = Room { ledger: Arc::clone(&self.ledger), peer, bytes: 0 };
        Ok(Incoming { file, path, hasher: blake3::Hasher::new(), bytes: 0, room })
    }

    /// Keeps an uploaded blob; on the disk when this returns; false if it existed already. Blocks.
    pub fn keep(&self, mut incoming: Incoming) -> Result<bool, StoreError> {
        let (hash, path) = (incoming.hash(), self.path(incoming.hash()));
        // So that it is not removed meanwhile to make room.
        self.ledger.use_now(hash, unix_ms());
        if matches!(self.open_verified(hash), Ok(Some(_))) {
            return Ok(false);
        }
        let kept = incoming
            .file
            .sync_all()
            .and_then(|()| fs::rename(&incoming.path, &path))
            .and_then(|()| sync_folder(&self.folder));
        kept.map_err(|error| StoreError::file(&path, error))?;
        let bytes = std::mem::take(&mut incoming.room.bytes);
        self.ledger.keep(hash, bytes, incoming.room.peer, unix_ms());
        Ok(true)
    }

    /// Makes room for this many more bytes of a peer by removing unreferenced blobs; returns whether there is room now. Blocks.
    pub fn make_room(&self, of: (Peer, u64), referred: &HashSet<BlobHash>) -> bool {
        self.ledger.make_room(of, referred, unix_ms(), |hash| {
            tracing::info!(%hash, "a blob that no app and no run refers to makes room");
            fs::remove_file(self.path(hash)).is_ok()
        })
    }

    /// A file for something that is being sent, deleted when it is closed. Blocks.
    pub fn passing(&self) -> Result<File, StoreError> {
        tempfile::tempfile_in(&self.folder).map_err(|error| self.error(error))
    }

    /// Something in the folder failed.
    pub fn error(&self, error: std::io::Error) -> StoreError {
        StoreError::file(&self.folder, error)
    }

    /// A blob, after all of it was read and verified once, and its length. A damaged blob is removed. Blocks.
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
            // From now on it counts as missing, so clients that need it upload it again.
            let removed = fs::remove_file(&path).is_ok();
            tracing::error!(%hash, removed, "a blob was damaged in the data folder; publish the app or upload the input again");
            return Err(StoreError::Damaged(hash.to_string()));
        }
        file.rewind().map_err(broken)?;
        Ok(Some((file, hasher.count())))
    }

    /// Whether a blob exists, intact or not. Blocks.
    pub(super) fn has(&self, hash: BlobHash) -> bool {
        self.path(hash).is_file()
    }

    /// The length of a blob, if it exists. Marks it as used, since the client is about to need it. Blocks.
    pub fn length_bytes(&self, hash: BlobHash) -> Option<u64> {
        self.ledger.use_now(hash, unix_ms());
        fs::metadata(self.path(hash)).ok().map(|file| file.len())
    }

    fn path(&self, hash: BlobHash) -> PathBuf {
        self.folder.join(hash.to_string())
    }
}

/// A blob that is being uploaded. Removed unless it is kept.
#[derive(Debug)]
pub struct Incoming {
    file: File,
    path: PathBuf,
    hasher: blake3::Hasher,
    bytes: u64,
    room: Room,
}

/// The reserved disk space, released if the blob is not kept.
#[derive(Debug)]
struct Room {
    ledger: Arc<Ledger>,
    peer: Peer,
    bytes: u64,
}

impl Drop for Room {
    fn drop(&mut self) {
        self.ledger.give_back(self.peer, self.bytes);
    }
}

impl Incoming {
    /// The peer that uploads it.
    pub fn peer(&self) -> Peer {
        self.room.peer
    }

    /// Adds a piece, if there is room. Blocks.
    pub fn write(&mut self, piece: &[u8]) -> Result<(), StoreError> {
        self.room.ledger.take(self.room.peer, piece.len() as u64)?;
        self.room.bytes += piece.len() as u64;
        self.file.write_all(piece).map_err(|error| StoreError::file(&self.path, error))?;
        self.hasher.update(piece);
        self.bytes += piece.len() as u64;
        Ok(())
    }

    /// The hash of what has come so far.
    pub fn hash(&self) -> BlobHash {
        BlobHash(*self.hasher.finalize().as_bytes())
    }

    /// The length of what has come so far.
    pub fn length_bytes(&self) -> u64 {
        self.bytes
    }

    /// Flushes all of it to the disk. Blocks.
    pub fn read(&self) -> Result<Vec<u8>, StoreError> {
        fs::read(&self.path).map_err(|error| StoreError::file(&self.path, error))
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        // A kept blob has another name by now; if removing fails, the next start tries again.
        let _ = fs::remove_file(&self.path);
    }
}

/// A renamed file has its new name after a power cut only if the folder was synced, too.
fn sync_folder(folder: &Path) -> std::io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer() -> Peer {
        Peer::of([192, 0, 2, 1].into())
    }

    #[test]
    fn blobs_are_verified_and_healed() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("incoming-3"), b"half").expect("written");
        let blobs = Blobs::open(folder.path().to_owned(), 1 << 20, &HashMap::new()).expect("opened");
        assert!(!folder.path().join("incoming-3").exists());
        let hash = BlobHash::of(b"blob");
        let save = || {
            let mut incoming = blobs.incoming(peer()).expect("a file");
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
    fn an_unfinished_blob_leaves_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let blobs = Blobs::open(folder.path().to_owned(), 1 << 20, &HashMap::new()).expect("opened");
        let mut incoming = blobs.incoming(peer()).expect("a file");
        incoming.write(b"half").expect("written");
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1);
        drop(incoming);
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0);
    }
}
