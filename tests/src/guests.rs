//! The processes of a host's guests.

use std::fs;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::thread::JoinHandle;
use std::time::Duration;

/// The processes of the guests of the host with this process, in the order in which they were started.
#[must_use]
pub fn of_host(process: u32) -> Vec<u32> {
    let parent = process.to_string();
    let folders = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = folders.filter_map(|folder| folder.file_name().to_str()?.parse::<u32>().ok());
    let mut guests: Vec<(u64, u32)> = ids
        .filter_map(|id| {
            let fields = fields(id)?;
            let words = fs::read(format!("/proc/{id}/cmdline")).ok()?;
            let is_one =
                fields.get(1) == Some(&parent) && words.split(|byte| *byte == 0).nth(1) == Some(b"guests");
            // One that has ended is there until its host has heard of it.
            (is_one && fields.first().is_some_and(|state| state != "Z"))
                .then_some((fields.get(19)?.parse().ok()?, id))
        })
        .collect();
    guests.sort_unstable();
    guests.into_iter().map(|(_, id)| id).collect()
}

/// The fields of `/proc/ID/stat` after the name (proc(5)): the state is the first, the parent the second.
fn fields(id: u32) -> Option<Vec<String>> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    Some(fields.split_whitespace().map(str::to_owned).collect())
}

/// The processor time of a process so far; `None` if it has ended.
#[must_use]
pub fn processor_time(id: u32) -> Option<Duration> {
    let fields = fields(id)?;
    let ticks: u64 = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
    Some(Duration::from_millis(10 * ticks))
}

/// Sends a signal, such as `KILL`; false if the process has ended.
pub fn signal(id: u32, name: &str) -> bool {
    let sent = Command::new("kill").args([&format!("-{name}"), &id.to_string()]).output();
    sent.expect("kill can be started").status.success()
}

/// Whether a process has ended.
#[must_use]
pub fn has_ended(id: u32) -> bool {
    fields(id).is_none_or(|fields| fields.first().is_none_or(|state| state == "Z"))
}

/// The memory of a host and all of its guests' processes, measured until this is dropped.
pub struct Memory {
    peak_kib: Arc<AtomicU64>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Memory {
    /// Begins to measure.
    #[must_use]
    pub fn of(process: u32) -> Self {
        let (peak_kib, is_over) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let thread = std::thread::spawn({
            let (peak_kib, is_over) = (peak_kib.clone(), is_over.clone());
            move || {
                while !is_over.load(SeqCst) {
                    let all = of_host(process).into_iter().chain([process]);
                    peak_kib.fetch_max(all.filter_map(proportional_kib).sum(), SeqCst);
                    std::thread::sleep(Duration::from_millis(10));
                }
            }
        });
        Self { peak_kib, is_over, thread: Some(thread) }
    }

    /// The most that they have had together so far, in KiB.
    #[must_use]
    pub fn peak_kib(&self) -> u64 {
        self.peak_kib.load(SeqCst)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.is_over.store(true, SeqCst);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The memory of a process; what several processes share counts for each of them in part, and once for all together.
fn proportional_kib(id: u32) -> Option<u64> {
    let rollup = fs::read_to_string(format!("/proc/{id}/smaps_rollup")).ok()?;
    let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    line.trim().trim_end_matches("kB").trim().parse().ok()
}
