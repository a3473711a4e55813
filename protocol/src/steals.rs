//! Metrics of steal requests: their answers, and how long the successful ones took.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Upper bounds of the buckets of [`Latencies`], in microseconds; one more bucket is for all that took longer.
pub const STEAL_LATENCY_BOUNDS_US: [u64; 12] =
    [50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 50_000, 200_000, 1_000_000, 3_000_000];

/// Where a steal request goes, and by which route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// To a host of the same site, over a direct link.
    Site,
    /// To a host of the same site, relayed by the coordinator.
    Relayed,
    /// To a host of another site.
    Remote,
}

impl Scope {
    /// All scopes, in the order of [`Steals::scopes`].
    pub const ALL: [Self; 3] = [Self::Site, Self::Relayed, Self::Remote];

    /// The scope's name in labels of metrics.
    pub fn word(self) -> &'static str {
        match self {
            Self::Site => "site",
            Self::Relayed => "relayed",
            Self::Remote => "remote",
        }
    }
}

/// Steal requests of a host, by scope.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Steals {
    /// In the order of [`Scope::ALL`].
    pub scopes: [StealCounts; 3],
}

/// The answers to the steal requests of one scope.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StealCounts {
    /// Requests that one job or several answered, of which the thief kept one at least.
    pub jobs: u64,
    /// Requests that ended without a job: the victim had none, or the thief handed it back.
    pub refused: u64,
    /// Requests that were not answered in time, or whose victim left or crashed.
    pub unanswered: u64,
    /// Time from the request to the arrival of the job. This includes the time for which the victim had no job, but not
    /// the time for which the job then waits for a worker of the thief.
    pub latencies: Latencies,
}

/// A histogram of latencies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Latencies {
    /// The number of latencies in each bucket. A latency belongs to the first bucket whose bound it does not exceed.
    pub buckets: [u64; STEAL_LATENCY_BOUNDS_US.len() + 1],
    /// The sum of all latencies, in nanoseconds.
    pub sum_ns: u64,
}

impl Steals {
    /// The counts of one scope.
    pub fn of(&mut self, scope: Scope) -> &mut StealCounts {
        match scope {
            Scope::Site => &mut self.scopes[0],
            Scope::Relayed => &mut self.scopes[1],
            Scope::Remote => &mut self.scopes[2],
        }
    }

    /// Adds another host's counts; the sums saturate.
    pub fn add(&mut self, other: &Self) {
        for (scope, more) in self.scopes.iter_mut().zip(&other.scopes) {
            scope.jobs = scope.jobs.saturating_add(more.jobs);
            scope.refused = scope.refused.saturating_add(more.refused);
            scope.unanswered = scope.unanswered.saturating_add(more.unanswered);
            scope.latencies.add(&more.latencies);
        }
    }
}

impl Latencies {
    /// Counts one more latency.
    pub fn count(&mut self, latency: Duration) {
        let latency_ns = u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX);
        let place = STEAL_LATENCY_BOUNDS_US.partition_point(|bound_us| bound_us * 1000 < latency_ns);
        self.buckets[place] += 1;
        self.sum_ns = self.sum_ns.saturating_add(latency_ns);
    }

    fn add(&mut self, other: &Self) {
        for (bucket, more) in self.buckets.iter_mut().zip(&other.buckets) {
            *bucket = bucket.saturating_add(*more);
        }
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_latency_falls_into_the_first_bucket_that_holds_it() {
        let mut latencies = Latencies::default();
        for latency_ns in [0, 50_000, 50_001, 3_000_000_000, 3_000_000_001] {
            latencies.count(Duration::from_nanos(latency_ns));
        }
        assert_eq!((latencies.buckets[0], latencies.buckets[1]), (2, 1));
        assert_eq!((latencies.buckets[11], latencies.buckets[12]), (1, 1));
        assert_eq!(latencies.sum_ns, 6_000_100_002);
    }

    #[test]
    fn no_numbers_of_a_host_make_a_sum_overflow() {
        let mut absurd = Steals::default();
        for scope in Scope::ALL {
            let counts = absurd.of(scope);
            (counts.jobs, counts.refused, counts.unanswered) = (u64::MAX, u64::MAX, u64::MAX);
            counts.latencies = Latencies { buckets: [u64::MAX; 13], sum_ns: u64::MAX };
        }
        let mut sum = absurd;
        sum.add(&absurd);
        assert_eq!(sum, absurd);
    }

    #[test]
    fn every_count_of_a_sum_is_the_sum_of_both() {
        let mut one = Steals::default();
        for (number, scope) in (1..).zip(Scope::ALL) {
            let counts = one.of(scope);
            (counts.jobs, counts.refused, counts.unanswered) = (number, 10 * number, 100 * number);
            counts.latencies = Latencies { buckets: [number; 13], sum_ns: 1_000 * number };
        }
        let mut sum = Steals::default();
        sum.add(&one);
        assert_eq!(sum, one);
        sum.add(&one);
        let twice = sum.of(Scope::Remote);
        assert_eq!((twice.jobs, twice.refused, twice.unanswered), (6, 60, 600));
        assert_eq!(twice.latencies, Latencies { buckets: [6; 13], sum_ns: 6_000 });
    }
}
