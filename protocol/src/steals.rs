//! What came of steal requests, and how long those took that gave a job: for metrics.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Upper bounds of the buckets of [`Latencies`], in microseconds; one more bucket is for what took longer.
pub const STEAL_LATENCY_BOUNDS_US: [u64; 12] =
    [50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 50_000, 200_000, 1_000_000, 3_000_000];

/// To whom a steal request goes, and by which way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// To a host of the same site, by a link of their own.
    Site,
    /// To a host of the same site, by the coordinator.
    Relayed,
    /// To a host of another site.
    Remote,
}

impl Scope {
    /// All of them, in the order of [`Steals::scopes`].
    pub const ALL: [Self; 3] = [Self::Site, Self::Relayed, Self::Remote];

    /// For labels.
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

/// What came of the steal requests of one scope.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StealCounts {
    /// A job came and was taken.
    pub jobs: u64,
    /// The victim had none, or the job was handed back.
    pub refused: u64,
    /// No answer came in time, or the victim went.
    pub unanswered: u64,
    /// From the request to the arrival of the job, the time for which its victim had none included. What it then waits
    /// for a worker of its thief is not.
    pub latencies: Latencies,
}

/// A histogram.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Latencies {
    /// How many fell into each bucket: into the first whose bound they do not exceed.
    pub buckets: [u64; STEAL_LATENCY_BOUNDS_US.len() + 1],
    /// Their sum, in nanoseconds.
    pub sum_ns: u64,
}

impl Steals {
    /// Those of one scope.
    pub fn of(&mut self, scope: Scope) -> &mut StealCounts {
        match scope {
            Scope::Site => &mut self.scopes[0],
            Scope::Relayed => &mut self.scopes[1],
            Scope::Remote => &mut self.scopes[2],
        }
    }

    /// Adds another host's; no sum overflows.
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
    /// One more.
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
    fn what_a_host_says_never_overflows() {
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
    fn a_sum_has_what_both_counted() {
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
