//! How long steals took from request to arrival, and until a worker began the job, for the status.

use std::collections::VecDeque;

use crate::grid::control::StealStatus;

/// Number of last steals kept.
const KEPT_MAX: usize = 4096;

#[derive(Default)]
pub struct Latencies {
    count: u64,
    last: VecDeque<Latency>,
}

/// The times of one steal since its request.
struct Latency {
    arrived_ns: u64,
    /// None if the job was asked for before a worker was idle.
    begun_ns: Option<u64>,
}

impl Latencies {
    pub fn add(&mut self, arrived_ns: u64, begun_ns: Option<u64>) {
        self.count += 1;
        if self.last.len() == KEPT_MAX {
            self.last.pop_front();
        }
        self.last.push_back(Latency { arrived_ns, begun_ns });
    }

    pub fn status(&self) -> StealStatus {
        let arrived = self.sorted(|latency| Some(latency.arrived_ns));
        let begun = self.sorted(|latency| latency.begun_ns);
        StealStatus {
            count: self.count,
            wait_median_s: at(&arrived, 50),
            wait_p99_s: at(&arrived, 99),
            begun_median_s: at(&begun, 50),
            begun_p99_s: at(&begun, 99),
        }
    }

    fn sorted(&self, of: impl Fn(&Latency) -> Option<u64>) -> Vec<u64> {
        let mut sorted: Vec<u64> = self.last.iter().filter_map(of).collect();
        sorted.sort_unstable();
        sorted
    }
}

/// A percentile of sorted times, in seconds; `None` if there are no times.
fn at(sorted_ns: &[u64], hundredths: usize) -> Option<f64> {
    let index = (sorted_ns.len() * hundredths / 100).min(sorted_ns.len().checked_sub(1)?);
    Some(sorted_ns[index] as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_ones_count() {
        let mut latencies = Latencies::default();
        assert_eq!(latencies.status().wait_median_s, None);
        (1..=100).for_each(|us| latencies.add(us * 1000, None));
        let status = latencies.status();
        assert_eq!((status.count, status.wait_median_s, status.wait_p99_s), (100, Some(51e-6), Some(100e-6)));
        (0..KEPT_MAX).for_each(|_| latencies.add(7000, None));
        assert_eq!((latencies.status().wait_p99_s, latencies.status().begun_p99_s), (Some(7e-6), None));
    }

    #[test]
    fn the_wait_for_a_worker_is_apart() {
        let mut latencies = Latencies::default();
        latencies.add(2_000, Some(3_000_000_000));
        let status = latencies.status();
        assert_eq!((status.wait_median_s, status.wait_p99_s), (Some(2e-6), Some(2e-6)));
        assert_eq!((status.begun_median_s, status.begun_p99_s), (Some(3.0), Some(3.0)));
    }
}
