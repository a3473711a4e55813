//! The owner's preferences, read again while the host runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use sateen_comfort::preferences::Resolved;
use sateen_command_line::explained;
use sateen_protocol::Time;
use tracing::{info, warn};

use super::Driver;
use crate::grid::clock::unix_s;
use crate::grid::control::PreferencesStatus;

/// Interval of looks at the file.
const LOOK: Duration = Duration::from_secs(2);

/// Reads all layers of the preferences; an error says what is wrong with them.
pub type ReadAll = Box<dyn Fn() -> Result<Resolved, String> + Send>;

/// The file of preferences, and how all layers are read when it changes.
pub struct Reread {
    file: PathBuf,
    read: ReadAll,
    /// With which the host has begun.
    begun: Resolved,
    /// What was read last.
    last: Resolved,
    /// The state of the file at that time.
    seen: Option<Seen>,
    next_look: Time,
    status: PreferencesStatus,
}

/// By which a change of a file is noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seen {
    bytes: u64,
    modified: Option<SystemTime>,
}

impl Seen {
    /// `None` if there is no such file.
    fn of(file: &Path) -> Option<Self> {
        let metadata = fs::metadata(file).ok()?;
        Some(Self { bytes: metadata.len(), modified: metadata.modified().ok() })
    }
}

impl Reread {
    /// The file, which `read` reads among other layers.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn new(file: PathBuf, read: ReadAll) -> Result<Self, String> {
        // A change from here on is noticed, if it was read or not.
        let seen = Seen::of(&file);
        let begun = read()?;
        let (last, status) = (begun.clone(), PreferencesStatus::default());
        Ok(Self { file, read, begun, last, seen, next_look: Time::default(), status })
    }

    /// Reads all layers again if the file has changed. Returns whether the host is to go by what was read.
    fn look(&mut self) -> bool {
        let seen = Seen::of(&self.file);
        if seen == self.seen {
            return false;
        }
        self.seen = seen;
        let read = match (self.read)() {
            Ok(read) => read,
            Err(why) => {
                warn!(why, "the preferences stay as they were");
                self.status.problem = Some(why);
                return false;
            }
        };
        read.warnings.iter().for_each(|warning| warn!("{warning}"));
        for (key, before, now) in read.changes(&self.last) {
            let (key, before, now) = (key.name, shown(before), shown(now));
            info!(key, %before, %now, "the file of preferences has changed");
        }
        self.last = read;
        let later = self.last.changes(&self.begun).filter(|(key, ..)| key.is_fixed());
        let later: Vec<String> = later.map(|(key, _, now)| format!("{} {}", key.name, shown(now))).collect();
        if !later.is_empty() && later != self.status.at_next_start {
            warn!("takes effect at the next start: {}", later.join(", "));
        }
        self.status = PreferencesStatus {
            read_s: Some(unix_s(Duration::ZERO)),
            at_next_start: later,
            problem: self.last.warnings.first().cloned(),
        };
        true
    }

    /// For people.
    pub fn status(&self) -> &PreferencesStatus {
        &self.status
    }
}

/// A value; a list may be empty.
fn shown(value: &sateen_comfort::preferences::Value) -> String {
    let text = value.to_string();
    if text.is_empty() { "none".to_owned() } else { text }
}

impl Driver {
    /// Goes by the owner's preferences if their file has changed.
    pub(super) fn look_at_preferences(&mut self, now: Time) {
        let Some(comfort) = &mut self.options.comfort else { return };
        let Some(reread) = comfort.reread.as_mut().filter(|reread| now >= reread.next_look) else { return };
        reread.next_look = now + LOOK;
        if !reread.look() {
            return;
        }
        let read = reread.last.preferences();
        comfort.preferences = read.for_running(&comfort.preferences);
        let threads = self.runs.threads();
        if let Err(error) = self.users.comfort.allow(comfort, &self.options.folder, threads, &self.inputs) {
            warn!(error = explained(&error), "the preferences take effect at the next start");
        }
    }
}

#[cfg(test)]
mod tests {
    use sateen_comfort::preferences::{FileLayer, Given, resolve};

    use super::*;

    #[test]
    fn a_file_is_read_when_it_changes_and_what_is_wrong_with_it_is_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("preferences.toml");
        let path = file.clone();
        let read = move || {
            let file = FileLayer::read(&path).map_err(|error| error.to_string())?;
            resolve(&Given { file: file.as_ref(), ..Given::default() }).map_err(|error| error.to_string())
        };
        let mut reread = Reread::new(file.clone(), Box::new(read)).expect("defaults");
        assert!(!reread.look(), "there is no file");
        fs::write(&file, "share-idle = 50\nthreads = 3\n").expect("written");
        assert!(reread.look() && !reread.look(), "once for each change");
        let running = resolve(&Given::default()).expect("defaults").preferences();
        let preferences = reread.last.preferences().for_running(&running);
        assert_eq!((preferences.share.idle.get(), preferences.limits.threads), (50, None));
        assert_eq!(reread.status().at_next_start, ["threads 3"]);
        fs::write(&file, "share-idle =").expect("written");
        assert!(!reread.look(), "it cannot be read");
        assert!(reread.status().problem.as_ref().is_some_and(|why| why.contains("not valid TOML")));
        assert_eq!(reread.last.preferences().share.idle.get(), 50, "it stays as it was");
        fs::remove_file(&file).expect("removed");
        assert!(reread.look());
        assert_eq!(reread.last.preferences().share.idle, running.share.idle);
        assert_eq!((reread.status().at_next_start.len(), &reread.status().problem), (0, &None));
    }
}
