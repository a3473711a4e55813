//! How often an instance exposes jobs although nobody is hungry, for their results to be recorded.
//!
//! What a call in place has finished can be recorded only of jobs that were exposed before they began; so a
//! subtree that is done within the time between two exposures is lost if the job above it is. That adds up over
//! the levels of a tree that are at work, of which deep ones have a dozen: of 17 queens, a crash loses on average what
//! is done in one and a half intervals with four exposures in each, and in one with eight.

use std::time::Duration;

use super::grain::exposure_cost;

/// So many times in the interval of recording, jobs are exposed.
const EXPOSURES: u32 = 8;
/// So many are exposed at a time, the oldest first, which are the largest: each costs some microseconds.
const EXPOSED_IN_BETWEEN_MAX: usize = 2;
/// So many once in each interval; what is left follows in the next.
const EXPOSED_MAX: usize = 128;
/// Exposing may take such a part of an instance's time. Jobs with large parameters are exposed less often, and a
/// crash costs more of them.
const PART: u32 = 200;

/// When an instance exposes jobs to be recorded, and how many.
#[derive(Debug, Default)]
pub struct Pace {
    /// Processor time of the instance at which the last exposure began, and at which the next may.
    began: Duration,
    next: Option<Duration>,
    exposures: u32,
    /// What this exposure cost so far.
    spent: Duration,
    /// The last exposure was over after a job, for what that had cost.
    is_dear: bool,
    /// How many more jobs this exposure takes.
    left: Option<usize>,
}

impl Pace {
    /// Whether an exposure begins, in an instance that has computed for `work`.
    pub fn is_time(&mut self, every: Duration, work: Duration) -> bool {
        let between = every / EXPOSURES;
        if work < *self.next.get_or_insert(between) {
            return false;
        }
        *self = Self {
            began: work,
            next: Some(work + between),
            exposures: self.exposures + 1,
            left: None,
            ..*self
        };
        self.spent = Duration::ZERO;
        let is_turn_of_all = self.exposures.is_multiple_of(EXPOSURES);
        self.left = Some(if is_turn_of_all { EXPOSED_MAX } else { EXPOSED_IN_BETWEEN_MAX });
        true
    }

    /// Whether jobs are so dear that the guest should not even offer more than one at a time: it has written the
    /// parameters of what it offers.
    pub fn is_one_enough(&self) -> bool {
        self.is_dear
    }

    /// Whether another job is to be exposed; `None` when that is not for recordings to say. When it is not, the
    /// guest, which offers all that it has, has come to the end of this exposure.
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
        self.spent += exposure_cost(bytes);
        let rest = self.began + self.spent * PART;
        self.is_dear = self.next.is_some_and(|next| rest > next);
        *left = if self.is_dear { 0 } else { left.saturating_sub(1) };
        self.next = self.next.max(Some(rest));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERY: Duration = Duration::from_millis(400);

    /// When exposures begin in so many milliseconds, and how many jobs each of them takes of a guest that offers
    /// as many as are wanted, with so many bytes each.
    fn exposures(ms: u64, bytes: usize) -> Vec<(u64, usize)> {
        let mut pace = Pace::default();
        let mut begun = Vec::new();
        for at in 0..ms {
            if pace.is_time(EVERY, Duration::from_millis(at)) {
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
        assert_eq!(exposures(449, 8), expected);
    }

    #[test]
    fn large_ones_are_exposed_one_at_a_time_and_seldom() {
        let begun = exposures(10_000, 640_000);
        assert!(begun.iter().all(|(_, count)| *count == 1), "{begun:?}");
        let spent = exposure_cost(640_000) * begun.len() as u32;
        assert!(spent <= Duration::from_secs(10) / PART + exposure_cost(640_000), "{begun:?}");
        assert!(spent >= Duration::from_secs(10) / PART / 2, "{begun:?}");
    }

    #[test]
    fn what_others_ask_for_is_not_counted() {
        let mut pace = Pace::default();
        assert_eq!(pace.takes_more(), None);
        pace.count_exposed(1 << 20);
        assert!(pace.is_time(EVERY, Duration::from_millis(100)));
    }
}
