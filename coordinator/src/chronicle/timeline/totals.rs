//! The activities of all workers together.

use std::ops::Bound;

use super::{Timeline, shown};

/// Workers by activity in one stretch: 2.5 of `work` is the work of two and a half workers.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Totals {
    /// Workers that were connected.
    pub workers: f64,
    /// Workers that computed.
    pub work: f64,
    /// Workers that looked for work.
    pub steal: f64,
    /// Workers that waited for results.
    pub wait: f64,
}

impl Timeline {
    /// Adds up to `most` workers to the totals, stretch by stretch from the run's submission on: those after the worker
    /// `after`. Returns the last of them, if there may be more.
    pub fn add_totals(
        &self,
        after: Option<(u32, u16)>,
        most: usize,
        totals: &mut Vec<Totals>,
    ) -> Option<(u32, u16)> {
        let first = after.map_or(Bound::Unbounded, Bound::Excluded);
        let mut last = None;
        let mut left = most;
        for (worker, lane) in self.lanes.range((first, Bound::Unbounded)).take(most) {
            (last, left) = (Some(*worker), left - 1);
            if totals.len() < lane.shares.len() {
                totals.resize(lane.shares.len(), Totals::default());
            }
            for (total, shares) in totals.iter_mut().zip(&lane.shares) {
                if shares[0].is_nan() {
                    continue;
                }
                let [work, steal, wait] = shown(*shares).map(f64::from);
                total.workers += 1.0;
                total.work += work;
                total.steal += steal;
                total.wait += wait;
            }
        }
        last.filter(|_| left == 0)
    }
}
