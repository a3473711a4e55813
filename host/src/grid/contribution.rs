//! What the host has done so far, kept in a small file across restarts. Nothing depends on it: a file that
//! cannot be read or written is told of and gone without.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sateen_command_line::explained;
use sateen_protocol::Time;
use tracing::{debug, warn};

use super::control::Contributed;

/// A crash forgets at most so much.
const SAVE_EVERY: Duration = Duration::from_secs(10);

/// The sums, and where they are kept.
pub struct Contribution {
    path: Option<PathBuf>,
    so_far: Contributed,
    saved: Contributed,
    next_save: Time,
}

impl Contribution {
    /// Goes on from what the file says.
    pub fn read(path: Option<PathBuf>) -> Self {
        let fresh = || {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            Contributed { since_s: since.as_secs(), ..Contributed::default() }
        };
        let so_far = match path.as_ref().map(fs::read) {
            Some(Ok(bytes)) => serde_json::from_slice(&bytes).unwrap_or_else(|error| {
                warn!(%error, "what this host has done so far cannot be read, and is counted anew");
                fresh()
            }),
            _ => fresh(),
        };
        Self { path, so_far, saved: Contributed::default(), next_save: Time(0) }
    }

    /// The sums.
    pub fn so_far(&self) -> Contributed {
        self.so_far
    }

    /// More work, and more jobs.
    pub fn count(&mut self, work_ns: u64, jobs: u64) {
        self.so_far.work_ns = self.so_far.work_ns.saturating_add(work_ns);
        self.so_far.jobs = self.so_far.jobs.saturating_add(jobs);
    }

    /// One more run.
    pub fn count_run(&mut self) {
        self.so_far.runs = self.so_far.runs.saturating_add(1);
    }

    /// Saves, if that is due.
    pub fn save_now_and_then(&mut self, now: Time) {
        if now >= self.next_save {
            self.next_save = now + SAVE_EVERY;
            self.save();
        }
    }

    /// Saves, if there is anything new.
    pub fn save(&mut self) {
        let Some(path) = self.path.clone().filter(|_| self.so_far != self.saved) else { return };
        match self.write(&path) {
            Ok(()) => self.saved = self.so_far,
            Err(error) => debug!(error = explained(&error), "what this host has done so far is not saved"),
        }
    }

    /// Written whole or not at all. What a power cut forgets is no loss.
    fn write(&self, path: &std::path::Path) -> io::Result<()> {
        let folder = path.parent().ok_or(io::ErrorKind::NotFound)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(&serde_json::to_vec(&self.so_far)?)?;
        file.persist(path)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_on_where_it_was() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("contributed.json");
        let mut first = Contribution::read(Some(path.clone()));
        first.count(5, 2);
        first.count_run();
        first.save();
        let mut second = Contribution::read(Some(path.clone()));
        assert_eq!(second.so_far(), first.so_far());
        second.count(u64::MAX, 1);
        assert_eq!((second.so_far().work_ns, second.so_far().jobs), (u64::MAX, 3));
        second.save();
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1);

        fs::write(&path, b"{torn").expect("written");
        let third = Contribution::read(Some(path)).so_far();
        assert_eq!((third.work_ns, third.jobs), (0, 0));
        assert!(third.since_s >= first.so_far().since_s);
        Contribution::read(None).save();
    }
}
