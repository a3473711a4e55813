//! The host's contribution so far, kept in a small file across restarts. Nothing depends on it: if the file
//! cannot be read or written, the host reports that and continues without it.

use std::collections::VecDeque;
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sateen_command_line::explained;
use sateen_protocol::{GridId, RunId, Time};
use serde::{Deserialize, Serialize};
use tracing::{debug, warn};

use super::control::Contributed;

/// Number of last runs that are remembered, so that none of them counts again.
const RUNS_KNOWN_MAX: usize = 1024;
/// Interval of saving: a crash loses at most this much.
const SAVE_EVERY: Duration = Duration::from_secs(10);

/// The sums, and the file in which they are kept.
pub struct Contribution {
    path: Option<PathBuf>,
    kept: Kept,
    is_saved: bool,
    next_save: Time,
}

/// The contents of the file.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Kept {
    #[serde(flatten)]
    so_far: Contributed,
    /// The runs that were begun last.
    #[serde(default)]
    runs_known: VecDeque<(GridId, RunId)>,
}

impl Contribution {
    /// Continues with the sums in the file.
    pub fn read(path: Option<PathBuf>) -> Self {
        let fresh = || {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let so_far = Contributed { since_s: since.as_secs(), ..Contributed::default() };
            Kept { so_far, runs_known: VecDeque::new() }
        };
        let kept = match path.as_ref().map(fs::read) {
            Some(Ok(bytes)) => serde_json::from_slice(&bytes).unwrap_or_else(|error| {
                warn!(%error, "this host's past work cannot be read, and is counted anew");
                fresh()
            }),
            _ => fresh(),
        };
        Self { path, kept, is_saved: false, next_save: Time(0) }
    }

    /// The sums.
    pub fn so_far(&self) -> Contributed {
        self.kept.so_far
    }

    /// Adds work and jobs.
    pub fn count(&mut self, work_ns: u64, jobs: u64) {
        let so_far = &mut self.kept.so_far;
        so_far.work_ns = so_far.work_ns.saturating_add(work_ns);
        so_far.jobs = so_far.jobs.saturating_add(jobs);
        self.is_saved &= work_ns == 0 && jobs == 0;
    }

    /// A run begins on this host, perhaps not for the first time.
    pub fn count_run(&mut self, grid: GridId, run: RunId) {
        if self.kept.runs_known.contains(&(grid, run)) {
            return;
        }
        self.kept.runs_known.push_back((grid, run));
        if self.kept.runs_known.len() > RUNS_KNOWN_MAX {
            self.kept.runs_known.pop_front();
        }
        self.kept.so_far.runs = self.kept.so_far.runs.saturating_add(1);
        self.is_saved = false;
    }

    /// Saves if it is time to do so.
    pub fn save_now_and_then(&mut self, now: Time) {
        if now >= self.next_save {
            self.next_save = now + SAVE_EVERY;
            self.save();
        }
    }

    /// Saves if there is anything new.
    pub fn save(&mut self) {
        let Some(path) = self.path.clone().filter(|_| !self.is_saved) else { return };
        match self.write(&path) {
            Ok(()) => self.is_saved = true,
            Err(error) => debug!(error = explained(&error), "this host's work so far is not saved"),
        }
    }

    /// Written completely or not at all. Sums lost in a power cut do not matter.
    fn write(&self, path: &std::path::Path) -> io::Result<()> {
        let folder = path.parent().ok_or(io::ErrorKind::NotFound)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(&serde_json::to_vec(&self.kept)?)?;
        file.persist(path)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_contribution_continues_from_the_saved_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("contributed.json");
        let mut first = Contribution::read(Some(path.clone()));
        first.count(5, 2);
        let run = |number| (GridId(7), RunId(number));
        [run(1), run(2), run(1)].into_iter().for_each(|(grid, run)| first.count_run(grid, run));
        first.save();
        let mut second = Contribution::read(Some(path.clone()));
        assert_eq!(second.so_far(), first.so_far());
        [run(2), run(3)].into_iter().for_each(|(grid, run)| second.count_run(grid, run));
        assert_eq!((first.so_far().runs, second.so_far().runs), (2, 3));
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
