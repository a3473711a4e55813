//! A process of guests as the system sees it: its processor time and its memory.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

/// Interval of looks at a processor's account.
const STEP: Duration = Duration::from_millis(2);
/// What the other threads of a process may use after its guests: to report, and to end.
const REST_NS: u64 = 3_000_000;

/// The processor time of a process, looked at until it no longer grows.
pub struct Account {
    process: u32,
    threads: BTreeMap<String, u64>,
    /// The sum over all threads, also those that have ended, at each look.
    looks: Vec<(Instant, u64)>,
}

impl Account {
    /// Nothing was looked at yet.
    pub fn of(process: u32) -> Self {
        Self { process, threads: BTreeMap::new(), looks: Vec::new() }
    }

    /// Looks at it; false if the process has ended.
    pub fn look(&mut self) -> bool {
        let folder = fs::read_dir(format!("/proc/{}/task", self.process));
        let mut is_there = false;
        for thread in folder.into_iter().flatten().flatten() {
            let text = fs::read_to_string(thread.path().join("schedstat")).unwrap_or_default();
            let Some(ns) = text.split(' ').next().and_then(|word| word.parse::<u64>().ok()) else { continue };
            is_there = true;
            let most = self.threads.entry(thread.file_name().to_string_lossy().into_owned()).or_default();
            *most = ns.max(*most);
        }
        self.looks.push((Instant::now(), self.threads.values().sum()));
        is_there && !sateen_tests::guests::has_ended(self.process)
    }

    /// Looks until `at`.
    pub fn look_until(&mut self, at: Instant) {
        while Instant::now() < at && self.look() {
            std::thread::sleep(STEP);
        }
    }

    /// The first look after which the process used no more than what its other threads may.
    pub fn last_used(&self) -> Option<Instant> {
        let total = self.looks.last()?.1;
        self.looks.iter().find(|(_, ns)| ns + REST_NS >= total).map(|(at, _)| *at)
    }
}

/// The memory of a process in bytes; what several processes share counts in part. `None` if it has ended.
pub fn memory_bytes(process: u32) -> Option<u64> {
    let rollup = fs::read_to_string(format!("/proc/{process}/smaps_rollup")).ok()?;
    let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib << 10)
}
