//! Whether jobs that were spawned one after another take longer and longer, and how long the next ones will take.
//!
//! A function that spawns one part of its work and calls the other spawns at the same depth in each of its calls, and so leaves
//! jobs behind that halve in size, say. They are synced in the opposite order: each takes a constant factor longer than the one
//! before.

/// Minimum jobs that show a trend.
const SEEN_MIN: f64 = 4.0;
/// Shorter jobs show no trend: heartbeats are up to 4 ms apart, so what they took is known too badly.
const WORK_NS_MIN: f64 = 8e6;
/// Minimum share of the differences that the trend explains: those between siblings of random sizes have none.
const EXPLAINED_MIN: f64 = 0.8;

/// The work of jobs, in the order of their ends: a regression of its logarithm.
#[derive(Debug, Clone, Default)]
pub struct Trend {
    seen: f64,
    x: f64,
    y: f64,
    xx: f64,
    xy: f64,
    yy: f64,
}

impl Trend {
    /// A job has ended after `before` others, and took `work_ns`.
    pub fn add(&mut self, before: u64, work_ns: f64) {
        if work_ns < WORK_NS_MIN {
            return;
        }
        let (x, y) = (before as f64, work_ns.ln());
        self.seen += 1.0;
        (self.x, self.y) = (self.x + x, self.y + y);
        (self.xx, self.xy, self.yy) = (self.xx + x * x, self.xy + x * y, self.yy + y * y);
    }

    /// The work of `jobs` that end after `before` others, in nanoseconds; none if no trend is seen.
    pub fn next_ns(&self, before: u64, jobs: u64) -> Option<f64> {
        let (of_x, of_y, of_xy) = (
            self.xx - self.x * self.x / self.seen,
            self.yy - self.y * self.y / self.seen,
            self.xy - self.x * self.y / self.seen,
        );
        let is_seen = self.seen >= SEEN_MIN && of_x > 0.0 && of_y > 0.0 && of_xy > 0.0;
        if !is_seen || of_xy * of_xy < EXPLAINED_MIN * of_x * of_y {
            return None;
        }
        let slope = of_xy / of_x;
        let first = (self.y + slope * (self.seen * before as f64 - self.x)) / self.seen;
        // The sum of a geometric series.
        let sum_ns = first.exp() * ((slope * jobs as f64).exp() - 1.0) / (slope.exp() - 1.0);
        sum_ns.is_finite().then_some(sum_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_factor_is_continued() {
        let mut trend = Trend::default();
        for (place, work_ns) in [9e6, 1.8e7, 3.6e7, 7.2e7].into_iter().enumerate() {
            assert_eq!(trend.next_ns(4, 3), None);
            trend.add(0, 1e6);
            trend.add(place as u64, work_ns);
        }
        let next_ns = trend.next_ns(4, 3).expect("a trend");
        let expected_ns = 7.2e7 * (2.0 + 4.0 + 8.0);
        assert!((next_ns / expected_ns - 1.0).abs() < 1e-6, "{next_ns}");
        assert_eq!(trend.next_ns(4, 1_000_000), None, "more than any work");
    }

    #[test]
    fn jobs_of_random_sizes_have_no_trend() {
        let mut random = sateen_protocol::Random::new(5);
        let mut seen = 0;
        for _ in 0..1000 {
            let mut trend = Trend::default();
            (0..10).for_each(|place| trend.add(place, WORK_NS_MIN * (1 + random.below(1000)) as f64));
            seen += u32::from(trend.next_ns(10, 5).is_some());
        }
        assert!(seen < 10, "{seen} of 1000");
        let mut equal = Trend::default();
        (0..10).for_each(|place| equal.add(place, WORK_NS_MIN));
        assert_eq!(equal.next_ns(10, 5), None);
    }
}
