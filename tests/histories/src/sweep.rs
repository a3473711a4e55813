//! Many histories, on all processors.

use std::panic::catch_unwind;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use sateen_simulator::families::Family;

use crate::{History, run_with};

/// What many histories showed.
#[derive(Debug, Default)]
pub struct Swept {
    /// Contradictions, each with its seed.
    pub contradictions: Vec<String>,
    /// Of all.
    pub runs: usize,
    /// Of all.
    pub looks: usize,
    /// Of all: how often the coordinator was started again.
    pub restarts: usize,
}

/// Runs the seeds from `first` on.
pub fn sweep(first: u64, seeds: u64, families: &[Family]) -> Swept {
    let next = AtomicU64::new(first);
    let total = Mutex::new(Swept::default());
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= first + seeds {
                        break;
                    }
                    let history = unwound(seed, families);
                    if let Ok(mut total) = total.lock() {
                        let named = |what: &String| format!("seed {seed}: {what}");
                        total.contradictions.extend(history.contradictions.iter().map(named));
                        total.runs += history.runs;
                        total.looks += history.looks;
                        total.restarts += history.starts.saturating_sub(1) as usize;
                    }
                }
            });
        }
    });
    total.into_inner().unwrap_or_default()
}

fn unwound(seed: u64, families: &[Family]) -> History {
    catch_unwind(|| run_with(seed, families)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic");
        History { contradictions: vec![text.to_owned()], ..History::default() }
    })
}
