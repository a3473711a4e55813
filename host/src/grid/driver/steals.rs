//! How long steals took, for the status.

use std::collections::VecDeque;

use crate::grid::control::StealStatus;

/// The last ones are kept.
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
            Some(sorted[index] as f64 / 1000.0)
        };
        StealStatus { count: self.count, median_us: at(50), p99_us: at(99) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_ones_count() {
        let mut latencies = Latencies::default();
        assert_eq!(latencies.status().median_us, None);
        (1..=100).for_each(|us| latencies.add(us * 1000));
        let status = latencies.status();
        assert_eq!((status.count, status.median_us, status.p99_us), (100, Some(51.0), Some(100.0)));
        (0..KEPT_MAX).for_each(|_| latencies.add(7000));
        assert_eq!(latencies.status().p99_us, Some(7.0));
    }
}
