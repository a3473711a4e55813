//! How much work is ahead: what the instances of this host expect, added up. Each expects what it will compute itself, and the
//! jobs that wait for a worker here. Jobs that run in other instances or on other hosts are expected there, so that the sum over
//! all hosts is that of the run, as far as it has been spawned.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Depths that are told apart. Deeper jobs count as the deepest.
pub const DEPTHS: usize = 64;

/// The expected work, and the means from which it is estimated.
pub struct Forecast {
    ahead_ns: AtomicU64,
    /// Some guests do not show their latent jobs, or the root spawns jobs in rounds.
    is_blind: AtomicBool,
    /// Jobs that have ended, by depth.
    ended: [Ended; DEPTHS],
}

#[derive(Default)]
struct Ended {
    jobs: AtomicU64,
    work_ns: AtomicU64,
}

impl Default for Forecast {
    fn default() -> Self {
        Self {
            ahead_ns: AtomicU64::new(0),
            is_blind: AtomicBool::new(false),
            ended: std::array::from_fn(|_| Ended::default()),
        }
    }
}

impl Forecast {
    fn ended(&self, depth: u32) -> &Ended {
        &self.ended[(depth as usize).min(DEPTHS - 1)]
    }

    /// Jobs of this depth below the root have ended, which took `work` together, with their descendants.
    pub fn note(&self, depth: u32, jobs: u64, work: Duration) {
        let ended = self.ended(depth);
        ended.work_ns.fetch_add(u64::try_from(work.as_nanos()).unwrap_or(u64::MAX), Relaxed);
        ended.jobs.fetch_add(jobs, Relaxed);
    }

    /// The mean work of jobs of this depth, in nanoseconds.
    pub fn mean_ns(&self, depth: u32) -> Option<f64> {
        let ended = self.ended(depth);
        let jobs = ended.jobs.load(Relaxed);
        (jobs > 0).then(|| ended.work_ns.load(Relaxed) as f64 / jobs as f64)
    }

    /// An instance expects this much work now, in nanoseconds, instead of `before`.
    pub fn expect(&self, before_ns: u64, now_ns: u64) {
        // Both in one step: the sum never is too small for a moment.
        self.ahead_ns.fetch_add(now_ns.wrapping_sub(before_ns), Relaxed);
    }

    /// A guest does not show its latent jobs, or the root spawns jobs in rounds: nothing is known from now on.
    pub fn note_blind(&self) {
        self.is_blind.store(true, Relaxed);
    }

    /// The work that all instances expect, in nanoseconds; none if it is not known.
    pub fn ahead_ns(&self) -> Option<u64> {
        (!self.is_blind.load(Relaxed)).then(|| self.ahead_ns.load(Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_instances_expect_is_added_up() {
        let forecast = Forecast::default();
        forecast.expect(0, 700);
        forecast.expect(0, 50);
        forecast.expect(700, 300);
        assert_eq!(forecast.ahead_ns(), Some(350));
        forecast.expect(300, 0);
        forecast.expect(50, 0);
        assert_eq!(forecast.ahead_ns(), Some(0));
        forecast.note_blind();
        assert_eq!(forecast.ahead_ns(), None);
    }

    #[test]
    fn the_mean_is_of_all_jobs_of_a_depth() {
        let forecast = Forecast::default();
        forecast.note(3, 1, Duration::from_nanos(100));
        forecast.note(3, 3, Duration::from_nanos(500));
        forecast.note(u32::MAX, 2, Duration::from_nanos(10));
        let means = [3, 2, 63, u32::MAX].map(|depth| forecast.mean_ns(depth));
        assert_eq!(means, [Some(150.0), None, Some(5.0), Some(5.0)]);
    }
}
