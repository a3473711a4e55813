//! Input on terminals. The system notes when a terminal was last read from: at each key, to about eight seconds, so that
//! the rhythm of keys is not known; a first key after more than that is noted at once.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use super::IdleSource;

/// How often new terminals are looked for.
const LIST_EVERY: Duration = Duration::from_secs(2);
/// Maximum devices that are looked at.
const DEVICES_MAX: usize = 256;
/// A time that is further in the future is not one of this clock.
const AHEAD_MAX: Duration = Duration::from_secs(20);

/// The devices of terminals, and input devices where the system notes when they are read.
pub struct Terminals {
    folder: PathBuf,
    devices: Vec<PathBuf>,
    listed: Option<Instant>,
}

impl Terminals {
    /// Those in this folder, which is `/dev`.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder, devices: Vec::new(), listed: None }
    }

    fn list(&mut self) {
        if self.listed.is_some_and(|listed| listed.elapsed() < LIST_EVERY) {
            return;
        }
        self.listed = Some(Instant::now());
        self.devices.clear();
        for (folder, start) in [("", "tty"), ("pts", ""), ("input", "event"), ("input", "mouse")] {
            let Ok(entries) = fs::read_dir(self.folder.join(folder)) else { continue };
            let devices = entries.flatten().filter(|entry| {
                let name = entry.file_name();
                let number = name.to_str().and_then(|name| name.strip_prefix(start));
                number.is_some_and(|number| {
                    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
                })
            });
            self.devices.extend(devices.map(|entry| entry.path()).take(DEVICES_MAX));
        }
    }
}

impl IdleSource for Terminals {
    fn idle(&mut self) -> Option<Duration> {
        self.list();
        let now = SystemTime::now();
        let accessed = self.devices.iter().filter_map(|device| fs::metadata(device).ok()?.accessed().ok());
        let idle = accessed.filter_map(|accessed| match now.duration_since(accessed) {
            Ok(idle) => Some(idle),
            Err(ahead) => (ahead.duration() <= AHEAD_MAX).then_some(Duration::ZERO),
        });
        idle.min()
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{File, FileTimes};

    use super::*;

    #[test]
    fn the_last_input_on_any_terminal_counts() {
        let folder = tempfile::tempdir().expect("a folder");
        let touch = |name: &str, ago_s: i64| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().expect("a parent")).expect("made");
            let file = File::create(path).expect("made");
            let ago = Duration::from_secs(ago_s.unsigned_abs());
            let at = if ago_s < 0 { SystemTime::now() + ago } else { SystemTime::now() - ago };
            file.set_times(FileTimes::new().set_accessed(at)).expect("set");
        };
        let idle = || Terminals::new(folder.path().to_owned()).idle().map(|idle| idle.as_secs());
        assert_eq!(idle(), None);
        touch("tty", 0);
        touch("pts/ptmx", 0);
        touch("ttyS0", 0);
        assert_eq!(idle(), None);
        touch("tty1", 3000);
        assert!(idle().is_some_and(|s| (3000..3100).contains(&s)));
        touch("pts/7", 500);
        assert!(idle().is_some_and(|s| (500..600).contains(&s)));
        touch("pts/8", -3600);
        assert!(idle().is_some_and(|s| (500..600).contains(&s)), "its time is in the future");
        touch("input/event3", -1);
        assert_eq!(idle(), Some(0));
    }

    #[test]
    fn terminals_that_close_and_open_are_noticed() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("pts")).expect("made");
        let mut terminals = Terminals::new(folder.path().to_owned());
        assert_eq!(terminals.idle(), None);
        File::create(folder.path().join("pts/1")).expect("made");
        assert_eq!(terminals.idle(), None);
        terminals.listed = None;
        assert!(terminals.idle().is_some());
        fs::remove_file(folder.path().join("pts/1")).expect("removed");
        assert_eq!(terminals.idle(), None);
    }
}
