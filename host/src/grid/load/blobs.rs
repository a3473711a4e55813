//! Modules and inputs on disk, so that each is fetched once.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::SystemTime;

use parking_lot::Mutex;
use sateen_protocol::BlobHash;
use tracing::debug;

/// Maximum bytes in the folder; the files that were not used for the longest time are deleted first.
const CACHE_BYTES_MAX: u64 = 2 << 30;

/// A folder of blobs by hash; without one, no blobs are kept.
pub struct BlobCache {
    folder: Option<PathBuf>,
    bytes_max: u64,
    writing: Mutex<()>,
}

impl BlobCache {
    /// A cache in this folder, which is made if it does not exist. It may take half of the disk space that its host has, if
    /// that is limited to `disk_bytes`.
    pub fn within(folder: Option<PathBuf>, disk_bytes: Option<u64>) -> Self {
        Self::bounded(folder, disk_bytes.map_or(CACHE_BYTES_MAX, |bytes| CACHE_BYTES_MAX.min(bytes / 2)))
    }

    fn bounded(folder: Option<PathBuf>, bytes_max: u64) -> Self {
        let folder = folder.filter(|folder| fs::create_dir_all(folder).is_ok());
        Self { folder, bytes_max, writing: Mutex::new(()) }
    }

    /// The bytes with this hash, if the cache has them and they are intact.
    pub fn get(&self, hash: BlobHash) -> Option<Vec<u8>> {
        let path = self.folder.as_ref()?.join(hash.to_string());
        let bytes = fs::read(&path).ok()?;
        if BlobHash::of(&bytes) != hash {
            let _ = fs::remove_file(&path);
            return None;
        }
        if let Ok(file) = File::options().append(true).open(&path) {
            let _ = file.set_modified(SystemTime::now());
        }
        Some(bytes)
    }

    /// Stores bytes. A failure only costs fetching them again.
    pub fn put(&self, hash: BlobHash, bytes: &[u8]) {
        let _writing = self.writing.lock();
        if let Err(error) = self.try_put(hash, bytes) {
            debug!(%error, "a blob is not kept");
        }
    }

    fn try_put(&self, hash: BlobHash, bytes: &[u8]) -> io::Result<()> {
        let Some(folder) = &self.folder else { return Ok(()) };
        if bytes.len() as u64 > self.bytes_max {
            return Ok(());
        }
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(bytes)?;
        file.persist(folder.join(hash.to_string()))?;
        let mut files: Vec<(SystemTime, u64, PathBuf)> = fs::read_dir(folder)?
            .filter_map(|entry| {
                let entry = entry.ok()?;
                let metadata = entry.metadata().ok()?;
                Some((metadata.modified().ok()?, metadata.len(), entry.path()))
            })
            .collect();
        files.sort();
        let mut total: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
        for (_, bytes, path) in files {
            if total <= self.bytes_max {
                break;
            }
            fs::remove_file(path)?;
            total -= bytes;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blobs_are_verified_and_bounded() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = BlobCache::bounded(Some(folder.path().join("blobs")), 250);
        let blobs: Vec<Vec<u8>> = (0..4).map(|byte| vec![byte; 100]).collect();
        let start = SystemTime::now() - std::time::Duration::from_secs(100);
        for (age, blob) in blobs.iter().enumerate() {
            cache.put(BlobHash::of(blob), blob);
            let path = folder.path().join("blobs").join(BlobHash::of(blob).to_string());
            let file = File::options().append(true).open(path).expect("just written");
            file.set_modified(start + std::time::Duration::from_secs(age as u64)).expect("set");
        }
        let there: Vec<bool> = blobs.iter().map(|blob| cache.get(BlobHash::of(blob)).is_some()).collect();
        assert_eq!(there, [false, false, true, true]);
        let path = folder.path().join("blobs").join(BlobHash::of(&blobs[3]).to_string());
        fs::write(&path, b"something else").expect("written");
        assert_eq!(cache.get(BlobHash::of(&blobs[3])), None);
        assert!(!path.exists());
    }

    #[test]
    fn without_a_folder_nothing_is_kept() {
        let cache = BlobCache::within(None, None);
        cache.put(BlobHash::of(b"x"), b"x");
        assert_eq!(cache.get(BlobHash::of(b"x")), None);
    }
}
