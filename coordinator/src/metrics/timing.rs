//! Durations.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Upper bounds of the buckets, in microseconds; one more bucket is for longer durations.
const BOUNDS_US: [u64; 12] =
    [100, 250, 500, 1_000, 2_500, 5_000, 10_000, 50_000, 100_000, 500_000, 1_000_000, 5_000_000];

/// A histogram that many threads write to.
#[derive(Debug, Default)]
pub struct Timing {
    buckets: [AtomicU64; BOUNDS_US.len() + 1],
    sum_us: AtomicU64,
}

impl Timing {
    /// Adds a duration.
    pub fn count(&self, time: Duration) {
        let time_us = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let place = BOUNDS_US.partition_point(|bound_us| *bound_us < time_us);
        self.buckets[place].fetch_add(1, Relaxed);
        self.sum_us.fetch_add(time_us, Relaxed);
    }

    /// The buckets with their bounds in seconds; the last has none.
    pub fn buckets(&self) -> Vec<(f64, u64)> {
        let bounds = BOUNDS_US.iter().map(|bound_us| *bound_us as f64 / 1e6).chain([f64::INFINITY]);
        bounds.zip(self.buckets.iter().map(|bucket| bucket.load(Relaxed))).collect()
    }

    /// The sum, in seconds.
    pub fn sum_s(&self) -> f64 {
        self.sum_us.load(Relaxed) as f64 / 1e6
    }
}
