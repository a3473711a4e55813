//! How often an instance exposes jobs in order to record their results, even if no worker is hungry.
//!
//! The result of a call in place can be recorded only if the job was exposed before it began. So a subtree that is
//! finished between two exposures is lost if the job above it is lost. This loss adds up over the active levels of a
//! tree, of which deep trees have a dozen: of 17 queens, a crash loses on average the work of one and a half intervals
//! with four exposures in each, and of one interval with eight.

use std::time::Duration;

use super::grain::exposure_cost;

/// Exposures in each interval of recording.
const EXPOSURES: u32 = 8;
/// Jobs exposed at a time, the oldest first, which are the largest: each costs some microseconds.
const EXPOSED_IN_BETWEEN_MAX: usize = 2;
/// Jobs exposed once in each interval; the rest follows in the next.
const EXPOSED_MAX: usize = 128;
/// Jobs exposed at a time if later runs may find their results: more than are computed until the next exposure, as only jobs of
/// some milliseconds are recorded.
const EXPOSED_TO_BE_KEPT_MAX: usize = 4096;
/// Exposing may take one part in this many of an instance's time. Jobs with large parameters are exposed less
/// often, and a crash loses more of them.
const PART: u32 = 200;

/// When an instance exposes jobs in order to record them, and how many.
#[derive(Debug, Default)]
pub struct Pace {
    /// Processor time of the instance at which the last exposure began, and at which the next may.
    began: Duration,
    next: Option<Duration>,
    exposures: u32,
    /// The cost of this exposure so far.
    spent: Duration,
    /// The last exposure ended after one job because of its cost.
    is_dear: bool,
    /// How many more jobs belong to this exposure.
    left: Option<usize>,
    /// This exposure is of all jobs, however many there are; the next may follow later for it.
    is_of_all: bool,
}

impl Pace {
    /// Whether an exposure begins, in an instance that has computed for `work`. If the run `keeps_results`, each is of all jobs.
    pub fn is_time(&mut self, every: Duration, work: Duration, keeps_results: bool) -> bool {
        let between = every / EXPOSURES;
        if work < *self.next.get_or_insert(between) {
            return false;
        }
        *self = Self {
            began: work,
            next: Some(work + between),
            exposures: self.exposures + 1,
            left: None,
            is_of_all: keeps_results,
            ..*self
        };
        self.spent = Duration::ZERO;
        let is_turn_of_all = self.exposures.is_multiple_of(EXPOSURES);
        self.left = Some(match (keeps_results, is_turn_of_all) {
            (true, _) => EXPOSED_TO_BE_KEPT_MAX,
            (false, true) => EXPOSED_MAX,
            (false, false) => EXPOSED_IN_BETWEEN_MAX,
        });
        true
    }

    /// Whether jobs are so expensive that the guest should not even offer more than one at a time: it writes the
    /// parameters of each job that it offers.
    pub fn is_one_enough(&self) -> bool {
        self.is_dear
    }

    /// Whether another job should be exposed; `None` if there is no exposure for recordings. If it should not,
    /// this exposure is over for the guest, which offers all its jobs.
    pub fn takes_more(&self) -> Option<bool> {
        self.left.map(|left| left > 0)
    }

    /// This exposure is over.
    pub fn end(&mut self) {
        self.left = None;
    }

    /// Counts a job that was exposed; `bytes` is the length of its parameters.
    pub fn count_exposed(&mut self, bytes: usize) {
        let Some(left) = &mut self.left else { return };
        let cost = exposure_cost(bytes);
        self.spent += cost;
        let rest = self.began + self.spent * PART;
        let counts = if self.is_of_all { self.began + cost * PART } else { rest };
        self.is_dear = self.next.is_some_and(|next| counts > next);
        *left = if self.is_dear { 0 } else { left.saturating_sub(1) };
        self.next = self.next.max(Some(rest));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERY: Duration = Duration::from_millis(400);

    /// The times in `ms` milliseconds at which exposures begin, and how many jobs each of them takes from a guest that
    /// offers any number of jobs of `bytes` bytes each.
    fn exposures(ms: u64, bytes: usize, keeps_results: bool) -> Vec<(u64, usize)> {
        let mut pace = Pace::default();
        let mut begun = Vec::new();
        for at in 0..ms {
            if pace.is_time(EVERY, Duration::from_millis(at), keeps_results) {
                let mut count = 0;
                while pace.takes_more() == Some(true) {
                    pace.count_exposed(bytes);
                    count += 1;
                }
                pace.end();
                begun.push((at, count));
            }
        }
        begun
    }

    #[test]
    fn the_oldest_are_exposed_often_and_all_now_and_then() {
        let between = (1..8).map(|time| (50 * time, EXPOSED_IN_BETWEEN_MAX));
        let expected: Vec<_> = between.chain([(400, EXPOSED_MAX)]).collect();
        assert_eq!(exposures(449, 8, false), expected);
    }

    #[test]
    fn all_are_exposed_at_once_if_results_are_kept() {
        let begun = exposures(10_000, 8, true);
        assert_eq!(begun[0], (50, EXPOSED_TO_BE_KEPT_MAX));
        let spent = exposure_cost(8) * begun.iter().map(|(_, count)| *count as u32).sum::<u32>();
        assert!(
            spent <= Duration::from_secs(10) / PART + exposure_cost(8) * EXPOSED_TO_BE_KEPT_MAX as u32,
            "{begun:?}"
        );
    }

    #[test]
    fn large_ones_are_exposed_one_at_a_time_and_seldom() {
        let begun = exposures(10_000, 640_000, false);
        assert!(begun.iter().all(|(_, count)| *count == 1), "{begun:?}");
        let spent = exposure_cost(640_000) * begun.len() as u32;
        assert!(spent <= Duration::from_secs(10) / PART + exposure_cost(640_000), "{begun:?}");
        assert!(spent >= Duration::from_secs(10) / PART / 2, "{begun:?}");
    }

    #[test]
    fn jobs_exposed_for_other_reasons_are_not_counted() {
        let mut pace = Pace::default();
        assert_eq!(pace.takes_more(), None);
        pace.count_exposed(1 << 20);
        assert!(pace.is_time(EVERY, Duration::from_millis(100), false));
    }
}
