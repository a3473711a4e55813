//! Bytes that this process sends and receives: counted, and kept below its owner's limit.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use jiff::civil::Date;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

/// Bytes up to this time's worth of the limit pass at once, so that small messages do not wait for one another.
const BURST: Duration = Duration::from_millis(50);
/// How often what was transferred today is saved.
const SAVE_EVERY: Duration = Duration::from_secs(60);

static PROCESS: Traffic = Traffic::new();

/// A direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// To others.
    Out,
    /// From others.
    In,
}

/// What passes, in both directions.
pub struct Traffic {
    bytes: AtomicU64,
    /// Bytes a second in each direction; 0 for no limit.
    limit: AtomicU64,
    /// By direction: when all that has passed would have passed at the limit.
    paid: [Mutex<Option<Instant>>; 2],
}

impl Traffic {
    const fn new() -> Self {
        Self {
            bytes: AtomicU64::new(0),
            limit: AtomicU64::new(0),
            paid: [const { Mutex::new(None) }, const { Mutex::new(None) }],
        }
    }

    /// That of this process.
    pub fn of_process() -> &'static Self {
        &PROCESS
    }

    /// Sets the limit, in bytes a second.
    pub fn set_limit(&self, bytes_s: Option<u64>) {
        self.limit.store(bytes_s.unwrap_or(0), Relaxed);
    }

    /// Bytes have passed.
    pub fn count(&self, flow: Flow, bytes: usize) {
        self.bytes.fetch_add(bytes as u64, Relaxed);
        let limit = self.limit.load(Relaxed);
        if limit == 0 || bytes == 0 {
            return;
        }
        let now = Instant::now();
        let takes = Duration::from_secs_f64(bytes as f64 / limit as f64);
        let mut paid = self.paid[flow as usize].lock();
        *paid = Some(paid.filter(|paid| *paid > now).unwrap_or(now) + takes);
    }

    /// Time until more may pass.
    pub fn wait(&self, flow: Flow) -> Option<Duration> {
        if self.limit.load(Relaxed) == 0 {
            return None;
        }
        let paid = (*self.paid[flow as usize].lock())?;
        let wait = paid.saturating_duration_since(Instant::now()).saturating_sub(BURST);
        (!wait.is_zero()).then_some(wait)
    }

    /// A function that returns the bytes of today by the machine's own clock, continuing with those in the file.
    pub fn today(&'static self, file: Option<PathBuf>) -> impl FnMut() -> u64 + Send {
        let kept = file.as_deref().and_then(read).unwrap_or_default();
        let mut today = Today { kept, file, base: self.bytes.load(Relaxed), saved: None };
        move || today.look(self.bytes.load(Relaxed), jiff::Zoned::now().date())
    }
}

/// The contents of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Kept {
    day: String,
    bytes: u64,
}

struct Today {
    kept: Kept,
    file: Option<PathBuf>,
    /// The count of this process that is part of what is kept.
    base: u64,
    saved: Option<Instant>,
}

impl Today {
    fn look(&mut self, bytes: u64, day: Date) -> u64 {
        let day = day.to_string();
        if self.kept.day != day {
            self.kept = Kept { day, bytes: 0 };
        }
        self.kept.bytes += bytes - self.base;
        self.base = bytes;
        if self.saved.is_none_or(|saved| saved.elapsed() >= SAVE_EVERY) {
            self.saved = Some(Instant::now());
            if let Some(file) = &self.file {
                // What is lost by a failure is a minute's count.
                let _ = serde_json::to_vec(&self.kept).map(|text| fs::write(file, text));
            }
        }
        self.kept.bytes
    }
}

fn read(file: &Path) -> Option<Kept> {
    serde_json::from_slice(&fs::read(file).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_the_limit_must_wait() {
        let traffic = Traffic::new();
        traffic.count(Flow::Out, 1 << 30);
        assert_eq!(traffic.wait(Flow::Out), None);
        traffic.set_limit(Some(1000));
        assert_eq!(traffic.wait(Flow::Out), None);
        traffic.count(Flow::Out, 40);
        assert_eq!(traffic.wait(Flow::Out), None, "a small message");
        traffic.count(Flow::Out, 10_000);
        let wait = traffic.wait(Flow::Out).expect("it must wait");
        assert!((Duration::from_secs(9)..Duration::from_millis(10_050)).contains(&wait), "{wait:?}");
        assert_eq!(traffic.wait(Flow::In), None);
        assert_eq!(traffic.bytes.load(Relaxed), (1 << 30) + 10_040);
    }

    #[test]
    fn a_day_is_counted_across_restarts() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("transferred.json");
        let day = |day: i8| jiff::civil::date(2026, 11, day);
        let start = |base| {
            let kept = read(&file).unwrap_or_default();
            Today { kept, file: Some(file.clone()), base, saved: None }
        };
        let mut first = start(100);
        assert_eq!((first.look(150, day(1)), first.look(170, day(1))), (50, 70));
        // A minute has not passed: the second was not saved.
        let mut second = start(0);
        assert_eq!(second.look(5, day(1)), 55);
        assert_eq!(second.look(8, day(2)), 3);
    }
}
