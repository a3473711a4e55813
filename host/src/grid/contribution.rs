//! The host's contribution so far, kept in a small file across restarts. Nothing depends on it: if the file
//! cannot be read or written, the host reports that and continues without it.

use std::collections::VecDeque;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sateen_command_line::explained;
use sateen_protocol::{GridId, RunId, Time};
use serde::{Deserialize, Serialize};
use tracing::{debug, warn};

use super::control::Contributed;

/// Number of last runs that are remembered, so that none of them counts again.
const RUNS_KNOWN_MAX: usize = 1024;
/// Interval of saving: a crash loses at most this much, and what was counted since the last tick.
const SAVE_EVERY: Duration = Duration::from_secs(1);

/// The sums, and the file in which they are kept.
pub struct Contribution {
    file: Option<Arc<SavedFile>>,
    kept: Kept,
    /// Number of changes.
    version: u64,
    next_save: Time,
}

/// The file. Two threads may write it: an older version never replaces a newer one.
struct SavedFile {
    path: PathBuf,
    /// The version that was written last; locked while another one is being written.
    saved: Mutex<Option<u64>>,
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
        let file = path.map(|path| Arc::new(SavedFile { path, saved: Mutex::default() }));
        Self { file, kept, version: 0, next_save: Time(0) }
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
        self.version += u64::from(work_ns > 0 || jobs > 0);
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
        self.version += 1;
    }

    /// What is to be saved, if it is time to do so and there is anything new. Saving it takes time.
    pub fn due(&mut self, now: Time) -> Option<impl FnOnce() + Send + use<>> {
        if now < self.next_save {
            return None;
        }
        let file = self.file.as_ref()?;
        // It is being written, which may take long; what is new then is saved the next time.
        let saved = *file.saved.try_lock().ok()?;
        if saved == Some(self.version) {
            return None;
        }
        self.next_save = now + SAVE_EVERY;
        let (file, kept, version) = (Arc::clone(file), self.kept.clone(), self.version);
        Some(move || file.save(&kept, version))
    }

    /// Saves if there is anything new.
    pub fn save(&self) {
        if let Some(file) = &self.file {
            file.save(&self.kept, self.version);
        }
    }
}

impl SavedFile {
    /// Saves this version, unless it or a newer one is saved.
    fn save(&self, kept: &Kept, version: u64) {
        let mut saved = self.saved.lock().unwrap_or_else(PoisonError::into_inner);
        if saved.is_some_and(|saved| saved >= version) {
            return;
        }
        match write(&self.path, kept) {
            Ok(()) => *saved = Some(version),
            Err(error) => debug!(error = explained(&error), "this host's work so far is not saved"),
        }
    }
}

/// Written completely or not at all. Sums lost in a power cut do not matter.
fn write(path: &Path, kept: &Kept) -> io::Result<()> {
    let folder = path.parent().ok_or(io::ErrorKind::NotFound)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(&serde_json::to_vec(kept)?)?;
    file.persist(path)?;
    Ok(())
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

        // A save that is late does not replace a newer one, and only what is new is saved, once a second.
        let mut fourth = Contribution::read(Some(path.clone()));
        fourth.count(0, 1);
        let late = fourth.due(Time(5)).expect("it is new");
        assert!(fourth.due(Time(6)).is_none(), "not again at once");
        fourth.count(0, 1);
        fourth.save();
        late();
        assert_eq!(Contribution::read(Some(path.clone())).so_far(), fourth.so_far());
        let next = Time(5) + SAVE_EVERY;
        assert!(fourth.due(next).is_none(), "nothing is new");
        fourth.count(0, 0);
        assert!(fourth.due(next).is_none());
        fourth.count(7, 0);
        assert!(fourth.due(next).is_some());

        fs::write(&path, b"{torn").expect("written");
        let third = Contribution::read(Some(path)).so_far();
        assert_eq!((third.work_ns, third.jobs), (0, 0));
        assert!(third.since_s >= first.so_far().since_s);
        Contribution::read(None).save();
    }
}
