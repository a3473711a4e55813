//! Many dashboards that watch one run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use sateen_tests::cluster::Cluster;
use sateen_tests::watcher::Watcher;

/// Dashboards in a crowd.
pub const WATCHERS: usize = 50;

/// Open dashboards.
pub struct Crowd {
    is_over: Arc<AtomicBool>,
    /// Bytes that each has received.
    bytes: Vec<Arc<AtomicUsize>>,
    pages: Vec<JoinHandle<()>>,
}

impl Crowd {
    /// Opens a crowd of dashboards, each with the grid, the run and its tree.
    pub fn open(grid: &Cluster, run: u64) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let bytes: Vec<_> = (0..WATCHERS).map(|_| Arc::new(AtomicUsize::new(0))).collect();
        let page = |bytes: &Arc<AtomicUsize>| {
            let (is_over, bytes, address) = (Arc::clone(&is_over), Arc::clone(bytes), grid.address());
            thread::spawn(move || {
                let topics = ["grid".to_owned(), format!("run/{run}"), format!("tree/{run}")];
                let topics: Vec<&str> = topics.iter().map(String::as_str).collect();
                let mut watcher = Watcher::open(address, &topics);
                while !is_over.load(Relaxed) && watcher.next_unread(Duration::from_secs(1)).is_ok() {
                    bytes.store(watcher.bytes, Relaxed);
                }
            })
        };
        let pages = bytes.iter().map(page).collect();
        Self { is_over, bytes, pages }
    }

    /// Waits until each has received `least` bytes.
    pub fn await_bytes(&self, least: usize, patience: Duration) -> Result<()> {
        let started = Instant::now();
        while self.bytes.iter().any(|bytes| bytes.load(Relaxed) < least) {
            ensure!(started.elapsed() < patience, "not all dashboards received {least} bytes");
            thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// Closes them, and returns the number of bytes that all received together.
    pub fn close(self) -> Result<usize> {
        self.is_over.store(true, Relaxed);
        for page in self.pages {
            ensure!(page.join().is_ok(), "a dashboard was cut off");
        }
        Ok(self.bytes.iter().map(|bytes| bytes.load(Relaxed)).sum())
    }
}
