//! The memory of the coordinator and of the hosts.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, Result};

/// How often it is looked at.
const PERIOD: Duration = Duration::from_millis(100);

/// A look at processes, again and again, until it is ended.
pub struct Watch {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<f64>,
}

impl Watch {
    /// Looks at these processes.
    pub fn begin(processes: Vec<u32>) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&is_over);
        let thread = thread::spawn(move || {
            let mut most: f64 = 0.0;
            while !until.load(Relaxed) {
                // One that has ended takes none; that it has is noticed elsewhere.
                let all = processes.iter().filter_map(|process| mib(*process, "VmRSS").ok());
                most = most.max(all.sum());
                thread::sleep(PERIOD);
            }
            most
        });
        Self { is_over, thread }
    }

    /// The most that all of them had at one time, in MiB.
    pub fn end(self) -> Result<f64> {
        self.is_over.store(true, Relaxed);
        self.thread.join().map_err(|_| anyhow::anyhow!("the watch over memory panicked"))
    }
}

/// The most that a process ever had, in MiB.
pub fn peak_mib(process: u32) -> Result<f64> {
    mib(process, "VmHWM")
}

/// proc(5), in MiB.
fn mib(process: u32, field: &str) -> Result<f64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line =
        text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':')).context("a figure")?;
    let kib: f64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kib / 1024.0)
}
