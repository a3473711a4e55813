//! Many histories, on all processors.

use sateen_simulator::families::Family;
use sateen_simulator::sweep::{sum_of, unwound};

use crate::{History, run_with};

/// The outcomes of many histories.
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
    let one = |seed| (seed, unwound(|| run_with(seed, families)).unwrap_or_else(broken));
    sum_of(first, seeds, one, |swept: &mut Swept, (seed, history)| {
        let named = |what: &String| format!("seed {seed}: {what}");
        swept.contradictions.extend(history.contradictions.iter().map(named));
        swept.runs += history.runs;
        swept.looks += history.looks;
        swept.restarts += history.starts.saturating_sub(1) as usize;
    })
}

fn broken(panic: String) -> History {
    History { contradictions: vec![panic], ..History::default() }
}
