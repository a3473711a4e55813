//! How long jobs take, by kind and depth, to decide whether a job is worth an instance of its own; and whether a kind
//! is spawned often.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use super::forecast::DEPTHS;

/// A spawner that may hear from other jobs does not call a job of this length in place. An instance costs some
/// 30 µs.
const LONG: Duration = Duration::from_millis(4);
/// A job is worth handing over if it takes at least this many times the cost of doing so.
const WORK_A_COST: u32 = 8;

/// The running mean of the work of jobs that had an instance of their own, including their descendants. Trees
/// are irregular, but of all free information, the depth says most about a job.
pub struct Grains {
    /// By kind and depth, in nanoseconds; 0 while nothing is known.
    mean_ns: Vec<[AtomicU64; DEPTHS]>,
    /// By kind: whether it was measured to be fine-grained.
    fine: Vec<AtomicBool>,
}

impl Grains {
    pub fn new(kinds: usize) -> Self {
        Self {
            mean_ns: (0..kinds).map(|_| [const { AtomicU64::new(0) }; DEPTHS]).collect(),
            fine: (0..kinds).map(|_| AtomicBool::new(false)).collect(),
        }
    }

    /// Jobs of this kind were measured to be spawned too often to be exposed at every spawn.
    pub fn note_fine(&self, kind: usize) {
        self.fine[kind].store(true, Relaxed);
    }

    /// Whether this kind was measured to be fine-grained.
    pub fn is_fine(&self, kind: usize) -> bool {
        self.fine[kind].load(Relaxed)
    }

    /// Adds the time of a job.
    pub fn note(&self, kind: usize, depth: u32, work: Duration) {
        let Some(mean_ns) = self.slot(kind, depth) else { return };
        let new_ns = u64::try_from(work.as_nanos()).unwrap_or(u64::MAX).max(1);
        let old_ns = mean_ns.load(Relaxed);
        // A value that another worker adds at the same moment may be lost; this is only a mean.
        mean_ns.store(if old_ns == 0 { new_ns } else { old_ns - old_ns / 4 + new_ns / 4 }, Relaxed);
    }

    fn slot(&self, kind: usize, depth: u32) -> Option<&AtomicU64> {
        Some(&self.mean_ns.get(kind)?[(depth as usize).min(DEPTHS - 1)])
    }

    fn mean(&self, kind: usize, depth: u32) -> Option<Duration> {
        let mean_ns = self.slot(kind, depth)?.load(Relaxed);
        (mean_ns > 0).then(|| Duration::from_nanos(mean_ns))
    }

    /// Whether a job of this kind and depth is expected to take long.
    pub fn is_long(&self, kind: usize, depth: u32) -> bool {
        self.mean(kind, depth).is_none_or(|mean| mean >= LONG)
    }

    /// Refuses a job of this kind and depth if it is known to take hardly longer than handing it over, which costs
    /// about `cost`, and the same again on the other side. The estimate becomes less certain with each refusal, so
    /// that a job is tried now and then: later jobs may be longer. If nothing is known, a job is expected to take no
    /// longer than jobs of its kind above it, of which it is a part, so that not every level has to be tried.
    pub fn turns_down(&self, kind: usize, depth: u32, cost: Duration) -> bool {
        let known = (0..=depth.min(DEPTHS as u32)).rev().find_map(|depth| self.mean(kind, depth));
        let Some(mean) = known.filter(|mean| *mean < cost * WORK_A_COST) else { return false };
        if let Some(mean_ns) = self.slot(kind, depth) {
            let mean = mean + mean / 4;
            mean_ns.store(u64::try_from(mean.as_nanos()).unwrap_or(u64::MAX), Relaxed);
        }
        true
    }

    /// The number of levels below `depth` with long jobs, including the first level about which nothing is
    /// known.
    pub fn long_levels(&self, depth: u32) -> u32 {
        let longest = |depth| (0..self.mean_ns.len()).filter_map(|kind| self.mean(kind, depth)).max();
        for level in 1..DEPTHS as u32 {
            match longest(depth + level) {
                None => return level,
                Some(longest) if longest < LONG => return level - 1,
                Some(_) => {}
            }
        }
        DEPTHS as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn unknown_jobs_are_long_and_measured_short_jobs_are_short() {
        let grains = Grains::new(2);
        assert!(grains.is_long(0, 3) && grains.is_long(1, 1000));
        assert_eq!(grains.long_levels(0), 1, "of the second level nothing can be known");
        grains.note(0, 1, 100 * MS);
        grains.note(1, 1, MS);
        assert!(grains.is_long(0, 1) && !grains.is_long(1, 1));
        assert_eq!(grains.long_levels(0), 2);
        grains.note(0, 2, MS);
        assert_eq!((grains.long_levels(0), grains.long_levels(1)), (1, 0));
        grains.note(usize::MAX, 1, MS);
        assert!(grains.turns_down(0, 2, MS) && !grains.turns_down(0, 2, MS / 10));
        assert!(!grains.turns_down(0, 1, MS) && !grains.turns_down(1, 0, MS), "long, and unknown");
        assert!(grains.turns_down(0, 9, MS), "unknown, and below what is short");
        let refused = (0..100).take_while(|_| grains.turns_down(0, 2, MS)).count();
        assert!((5..20).contains(&refused), "{refused} are refused, and then one is tried");
        grains.note(0, 2, Duration::from_nanos(1));
        assert!(grains.turns_down(0, 2, MS));
    }

    #[test]
    fn the_mean_follows() {
        let grains = Grains::new(1);
        grains.note(0, 1, MS);
        for _ in 0..10 {
            grains.note(0, 1, 100 * MS);
        }
        assert!(grains.is_long(0, 1));
        for _ in 0..20 {
            grains.note(0, 1, MS / 1000);
        }
        assert!(!grains.is_long(0, 1));
    }
}
