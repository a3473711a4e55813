//! How long steals took from request to arrival, for the status.

use std::collections::VecDeque;

use crate::grid::control::StealStatus;

/// Number of last steals kept.
const KEPT_MAX: usize = 4096;

#[derive(Default)]
pub struct Latencies {
    count: u64,
    last_ns: VecDeque<u64>,
}

impl Latencies {
    pub fn add(&mut self, latency_ns: u64) {
        self.count += 1;
        if self.last_ns.len() == KEPT_MAX {
            self.last_ns.pop_front();
        }
        self.last_ns.push_back(latency_ns);
    }

    pub fn status(&self) -> StealStatus {
        let mut sorted: Vec<u64> = self.last_ns.iter().copied().collect();
        sorted.sort_unstable();
        let at = |hundredths: usize| {
            let index = (sorted.len() * hundredths / 100).min(sorted.len().checked_sub(1)?);
            Some(sorted[index] as f64 / 1e9)
        };
        StealStatus { count: self.count, wait_median_s: at(50), wait_p99_s: at(99) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_ones_count() {
        let mut latencies = Latencies::default();
        assert_eq!(latencies.status().wait_median_s, None);
        (1..=100).for_each(|us| latencies.add(us * 1000));
        let status = latencies.status();
        assert_eq!((status.count, status.wait_median_s, status.wait_p99_s), (100, Some(51e-6), Some(100e-6)));
        (0..KEPT_MAX).for_each(|_| latencies.add(7000));
        assert_eq!(latencies.status().wait_p99_s, Some(7e-6));
    }
}
