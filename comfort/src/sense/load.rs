//! The load of other programs: processor time that everything except this host uses.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

/// Maximum processes of this host.
const PROCESSES_MAX: usize = 256;
/// Less time has passed in all processors together, in hundredths of seconds: it says nothing.
const TICKS_MIN: u64 = 10;

/// A source of the load of others.
pub trait LoadSource {
    /// Their average load since the last call, in per cent of all processors; the last one if that was a moment ago.
    fn others_percent(&mut self) -> Option<f32>;

    /// Whether the machine reports load.
    fn is_known(&self) -> bool;
}

/// The load according to a file like `/proc/stat`.
pub struct Load {
    file: PathBuf,
    before: Option<Times>,
    percent: Option<f32>,
}

/// Processor time since the machine's start, in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Times {
    all: u64,
    busy: u64,
    own: u64,
}

impl Load {
    /// The load according to this file.
    pub fn new(file: PathBuf) -> Self {
        let mut load = Self { file, before: None, percent: None };
        load.before = load.times();
        load
    }

    fn times(&self) -> Option<Times> {
        let (all, busy) = parse(&fs::read_to_string(&self.file).ok()?)?;
        Some(Times { all, busy, own: own_ticks() })
    }
}

impl LoadSource for Load {
    fn others_percent(&mut self) -> Option<f32> {
        let now = self.times()?;
        let before = self.before.get_or_insert(now);
        let all = now.all.saturating_sub(before.all);
        if all < TICKS_MIN {
            return self.percent;
        }
        let busy = now.busy.saturating_sub(before.busy);
        // A child that has ended takes its time with it, if nobody waited for it.
        let own = now.own.saturating_sub(before.own);
        self.before = Some(now);
        self.percent = Some((busy.saturating_sub(own) as f32 * 100.0 / all as f32).clamp(0.0, 100.0));
        self.percent
    }

    fn is_known(&self) -> bool {
        self.before.is_some()
    }
}

/// The time of all processors, and that in which they were busy.
fn parse(text: &str) -> Option<(u64, u64)> {
    let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let fields: Vec<u64> = line.split_ascii_whitespace().map_while(|field| field.parse().ok()).collect();
    // user, nice, system, idle, iowait, irq, softirq, steal; the time of virtual machines is in that of users.
    let [user, nice, system, idle, iowait, irq, softirq, ..] = fields[..] else { return None };
    let busy = user + nice + system + irq + softirq;
    Some((busy + idle + iowait, busy))
}

/// Processor time of this process and of its children, in ticks.
fn own_ticks() -> u64 {
    let mut waiting = vec![std::process::id()];
    let mut seen = BTreeSet::new();
    let mut ticks = 0;
    while let Some(process) = waiting.pop() {
        if seen.len() >= PROCESSES_MAX || !seen.insert(process) {
            continue;
        }
        let Ok(stat) = fs::read_to_string(format!("/proc/{process}/stat")) else { continue };
        ticks += process_ticks(&stat).unwrap_or(0);
        for thread in fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten() {
            let children = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
            waiting.extend(children.split_ascii_whitespace().filter_map(|child| child.parse::<u32>().ok()));
        }
    }
    ticks
}

/// User and system time of a process and of the children that it has waited for.
fn process_ticks(stat: &str) -> Option<u64> {
    // The name, in parentheses, may contain anything.
    let (_, fields) = stat.rsplit_once(')')?;
    let times =
        fields.split_ascii_whitespace().skip(11).take(4).filter_map(|field| field.parse::<u64>().ok());
    Some(times.sum())
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn stat_files_are_read() {
        let text = "cpu  100 20 30 1000 50 5 5 7 0 0\ncpu0 1 1 1 1\nintr 5\n";
        assert_eq!(parse(text), Some((1210, 160)));
        assert_eq!(parse("cpu0 1 2 3"), None);
        assert_eq!(parse("cpu  1 2 x"), None);
        assert_eq!(process_ticks("7 (a) b) S 1 7 7 0 -1 4194560 1 2 3 4 50 6 7 8 20 0"), Some(71));
    }

    #[test]
    fn own_work_is_not_that_of_others() {
        // Loads of other tests are there before and after.
        let mut load = Load::new("/proc/stat".into());
        let own = own_ticks();
        let began = Instant::now();
        while began.elapsed() < Duration::from_millis(300) {
            std::hint::black_box(own_ticks());
        }
        assert!(own_ticks() >= own + 3, "{own}");
        let percent = load.others_percent().expect("known");
        assert!((0.0..=100.0).contains(&percent) && load.is_known());
        assert!(!Load::new("/nonexistent".into()).is_known());
    }

    #[test]
    fn others_are_what_is_busy_and_not_own() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("stat");
        fs::write(&file, "cpu  1000 0 0 1000 0 0 0 0\n").expect("written");
        let mut load = Load::new(file.clone());
        assert_eq!(load.others_percent(), None);
        fs::write(&file, "cpu  41000 0 0 61000 0 0 0 0\n").expect("written");
        let percent = load.others_percent().expect("known");
        // This process has worked for a moment, too.
        assert!((39.0..=40.0).contains(&percent), "{percent}");
        assert_eq!(load.others_percent(), Some(percent), "nothing has changed");
    }
}
