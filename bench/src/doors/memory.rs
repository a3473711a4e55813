//! Measures the memory of the coordinator and of the hosts.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, Result};

/// Interval between measurements.
const PERIOD: Duration = Duration::from_millis(100);

/// Repeated measurements of processes, until it is ended.
pub struct Watch {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<(f64, Vec<f64>)>,
}

impl Watch {
    /// Begins to measure these processes and their children.
    pub fn begin(processes: Vec<u32>) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&is_over);
        let thread = thread::spawn(move || {
            let (mut most, mut of_each) = (0.0_f64, vec![0.0_f64; processes.len()]);
            while !until.load(Relaxed) {
                let now: Vec<f64> = processes.iter().map(|process| with_children_mib(*process)).collect();
                most = most.max(now.iter().sum());
                of_each.iter_mut().zip(now).for_each(|(most, now)| *most = most.max(now));
                thread::sleep(PERIOD);
            }
            // Peaks between two measurements.
            for (most, process) in of_each.iter_mut().zip(&processes) {
                *most = most.max(peak_mib(*process).unwrap_or(0.0));
            }
            (most, of_each)
        });
        Self { is_over, thread }
    }

    /// The peak of all processes together, and of each, in MiB.
    pub fn end(self) -> Result<(f64, Vec<f64>)> {
        self.is_over.store(true, Relaxed);
        self.thread.join().map_err(|_| anyhow::anyhow!("the watch over memory panicked"))
    }
}

/// Current memory of a process and its children. A process that has ended counts as zero; its end is noticed elsewhere.
fn with_children_mib(process: u32) -> f64 {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let lines = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    let children: Vec<u32> = lines
        .flat_map(|line| line.split_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<_>>())
        .collect();
    let of_children: f64 = children.into_iter().map(|child| mib(child, "VmRSS").unwrap_or(0.0)).sum();
    mib(process, "VmRSS").unwrap_or(0.0) + of_children
}

/// The peak memory of a process, in MiB.
pub fn peak_mib(process: u32) -> Result<f64> {
    mib(process, "VmHWM")
}

/// A field of proc(5), in MiB.
fn mib(process: u32, field: &str) -> Result<f64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line =
        text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':')).context("a figure")?;
    let kib: f64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kib / 1024.0)
}
