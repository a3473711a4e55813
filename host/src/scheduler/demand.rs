//! How many jobs are kept ready for workers that will want them.
//!
//! A guest hands jobs over at its spawns and syncs, and is asked for them when a worker is hungry. If its jobs do not
//! spawn, a worker that gets one at a time waits after each, until the guest is done with its own. So jobs are exposed
//! ahead: twice as many each time a worker had to wait, or took a job and was hungry again before the next beat; and
//! fewer if more than half of them have been left for some beats. Kinds that divide their work answer hungry workers
//! at once, with jobs that last.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

/// The first number, and the least one.
const AHEAD_MIN: usize = 2;
/// The most: some milliseconds of jobs that are hardly worth handing over.
const AHEAD_MAX: usize = 1024;
/// A worker that waited for this time was not answered at once.
const WAITED: Duration = Duration::from_micros(300);
/// Beats until the number falls, if more than half of the jobs are left.
const LEFT_BEATS: u64 = 32;

/// The number of open jobs that are kept ready.
#[derive(Debug, Default)]
pub struct Demand {
    ahead: AtomicUsize,
    /// Whether a job was taken since the last beat.
    was_taken: AtomicBool,
    /// Whether the number was raised since then.
    is_raised: AtomicBool,
    /// Beats since it was raised or lowered, or few jobs were left.
    left_beats: AtomicU64,
}

impl Demand {
    /// Jobs that are kept ready; 0 if workers are answered at once.
    pub fn ahead(&self) -> usize {
        self.ahead.load(Relaxed)
    }

    /// A worker took a job of another.
    pub fn note_taken(&self) {
        self.was_taken.store(true, Relaxed);
    }

    /// A worker finds no job.
    pub fn note_hungry(&self) {
        if self.was_taken.load(Relaxed) {
            self.raise();
        }
    }

    /// A worker found no job for this time.
    pub fn note_waited(&self, waited: Duration) {
        if waited >= WAITED {
            self.raise();
        }
    }

    /// A thief elsewhere asked, and no job was ready.
    pub fn note_thief_waits(&self) {
        self.raise();
    }

    /// Thieves elsewhere take jobs together: this many should be ready.
    pub fn note_wanted(&self, jobs: usize) {
        if jobs > AHEAD_MIN {
            self.ahead.fetch_max(jobs.min(AHEAD_MAX), Relaxed);
        }
    }

    fn raise(&self) {
        if !self.is_raised.swap(true, Relaxed) {
            self.ahead.store((2 * self.ahead()).clamp(AHEAD_MIN, AHEAD_MAX), Relaxed);
            self.left_beats.store(0, Relaxed);
        }
    }

    /// These many beats have passed, and `open` jobs are ready.
    pub fn count(&self, beats: u64, open: usize) {
        self.was_taken.store(false, Relaxed);
        self.is_raised.store(false, Relaxed);
        let ahead = self.ahead();
        if ahead == 0 {
            return;
        }
        let left = if 2 * open > ahead { self.left_beats.load(Relaxed) + beats } else { 0 };
        let is_time = left >= LEFT_BEATS;
        self.left_beats.store(if is_time { 0 } else { left }, Relaxed);
        if is_time {
            let fewer = ahead - ahead.div_ceil(4);
            self.ahead.store(if fewer < AHEAD_MIN { 0 } else { fewer }, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number after beats in each of which this many jobs are taken, and a guest exposes as many as are wanted.
    fn after(demand: &Demand, beats: u64, taken: usize) -> usize {
        for _ in 0..beats {
            let had = demand.ahead().max(1);
            if taken > 0 {
                demand.note_taken();
            }
            if taken > had {
                demand.note_hungry();
                demand.note_hungry();
            }
            demand.count(1, had.saturating_sub(taken));
        }
        demand.ahead()
    }

    #[test]
    fn it_doubles_until_jobs_last_from_beat_to_beat_and_falls_when_they_are_left_over() {
        let demand = Demand::default();
        assert_eq!((after(&demand, 1, 10), after(&demand, 1, 10), after(&demand, 1, 10)), (2, 4, 8));
        assert_eq!(after(&demand, 1, 10), 16);
        assert_eq!(after(&demand, 100, 10), 16, "six are left each time, fewer than half");
        assert_eq!((after(&demand, LEFT_BEATS - 1, 0), after(&demand, 1, 0)), (16, 12));
        assert_eq!(after(&demand, 20 * LEFT_BEATS, 0), 0);
    }

    #[test]
    fn as_many_as_thieves_take_together_are_ready() {
        let demand = Demand::default();
        demand.note_wanted(AHEAD_MIN);
        assert_eq!(demand.ahead(), 0, "a thief that takes one at a time is not a reason");
        demand.note_wanted(32);
        demand.note_wanted(8);
        assert_eq!(demand.ahead(), 32);
        assert_eq!(after(&demand, LEFT_BEATS, 0), 24, "none are taken");
        demand.note_wanted(usize::MAX);
        assert_eq!(demand.ahead(), AHEAD_MAX);
        demand.note_thief_waits();
        assert_eq!(Demand::default().ahead(), 0);
        let demand = Demand::default();
        demand.note_thief_waits();
        assert_eq!(demand.ahead(), AHEAD_MIN);
    }

    #[test]
    fn it_has_a_maximum() {
        let demand = Demand::default();
        assert_eq!(after(&demand, 100, usize::MAX), AHEAD_MAX);
    }

    #[test]
    fn workers_with_long_jobs_and_fast_answers_want_none_ahead() {
        let demand = Demand::default();
        demand.note_taken();
        demand.count(1, 0);
        demand.note_hungry();
        demand.note_waited(WAITED / 2);
        demand.count(1, 0);
        assert_eq!(demand.ahead(), 0);
    }

    #[test]
    fn a_worker_that_waited_for_a_long_job_finds_the_next_one_ready() {
        let demand = Demand::default();
        demand.note_waited(WAITED);
        assert_eq!(demand.ahead(), AHEAD_MIN);
        // It takes one, and its guest exposes another after some beats.
        for _ in 0..100 {
            for beat in 0..20 {
                demand.count(1, if beat < 10 { 1 } else { 2 });
            }
        }
        assert_eq!(demand.ahead(), AHEAD_MIN);
    }
}
