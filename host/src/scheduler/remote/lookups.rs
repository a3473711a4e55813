//! Which redone jobs are looked up: those whose result others may know.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};

use parking_lot::RwLock;
use sateen_protocol::JobTag;

use crate::scheduler::place::Place;

/// After this many redone jobs in a row without a known result, no more are looked up: each lookup costs some
/// microseconds.
const MISSES_MAX: usize = 100_000;

/// The results that lookups may find.
pub struct Lookups {
    /// A lookup may find something.
    is_on: AtomicBool,
    /// Results of these jobs, or of jobs below them. `None`: of any job.
    sought: RwLock<Option<HashSet<JobTag>>>,
    /// How often the driver has reported this.
    told: AtomicU64,
    /// Jobs since the last one that lookups may find.
    misses: AtomicUsize,
}

impl Lookups {
    /// Lookups may find any job, because the driver has reported nothing.
    pub fn new() -> Self {
        Self {
            is_on: AtomicBool::new(true),
            sought: RwLock::new(None),
            told: AtomicU64::new(0),
            misses: AtomicUsize::new(0),
        }
    }

    /// Adds jobs that lookups may find; if `jobs` is empty, lookups find nothing.
    pub fn set(&self, jobs: &[JobTag]) {
        let mut sought = self.sought.write();
        let known = sought.get_or_insert_default();
        if jobs.is_empty() {
            known.clear();
        }
        known.extend(jobs);
        self.told.fetch_add(1, SeqCst);
        self.misses.store(0, Relaxed);
        self.is_on.store(!jobs.is_empty(), SeqCst);
    }

    /// Whether redone jobs are looked up at all.
    pub fn are_on(&self) -> bool {
        self.is_on.load(SeqCst)
    }

    /// Whether to look a redone job up: a lookup costs ten times as much as this check. If nothing was found
    /// for a long time, the tree has changed, and nothing will be found.
    pub fn may_find(&self, job: JobTag) -> bool {
        let is_sought = self.sought.read().as_ref().is_none_or(|sought| sought.contains(&job));
        if is_sought {
            self.misses.store(0, Relaxed);
        } else if self.misses.fetch_add(1, Relaxed) >= MISSES_MAX {
            self.is_on.store(false, SeqCst);
        }
        is_sought
    }

    /// Whether a result of a job, or of one below it, was recorded, as far as the driver has reported.
    pub fn is_recorded(&self, job: impl FnOnce() -> JobTag) -> bool {
        self.sought.read().as_ref().is_some_and(|sought| !sought.is_empty() && sought.contains(&job()))
    }

    /// Notes that the job at `place` becomes open, and that nothing is known about it now.
    pub fn note_asked(&self, place: &Place) {
        place.asked.store(self.told.load(SeqCst), SeqCst);
    }

    /// Whether the driver has reported since then that a result of an open job may be known; each report is
    /// considered once.
    pub fn is_known_since(&self, place: &Place, job: impl FnOnce() -> JobTag) -> bool {
        let told = self.told.load(SeqCst);
        if place.asked.swap(told, SeqCst) == told {
            return false;
        }
        let job = job();
        self.sought.read().as_ref().is_some_and(|sought| sought.contains(&job))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_that_may_be_found_are_added_until_none_are_left() {
        let lookups = Lookups::new();
        assert!(lookups.are_on() && lookups.may_find(JobTag(1)), "anything may be found");
        assert!(!lookups.is_recorded(|| JobTag(1)), "but nothing is known to be there");
        lookups.set(&[JobTag(1)]);
        lookups.set(&[JobTag(2)]);
        assert!(lookups.may_find(JobTag(1)) && lookups.may_find(JobTag(2)) && !lookups.may_find(JobTag(3)));
        assert!(lookups.is_recorded(|| JobTag(1)));
        lookups.set(&[]);
        assert!(!lookups.are_on() && !lookups.may_find(JobTag(1)) && !lookups.is_recorded(|| JobTag(1)));
    }

    #[test]
    fn lookups_end_after_many_misses_in_a_row() {
        let lookups = Lookups::new();
        lookups.set(&[JobTag(1)]);
        for _ in 0..MISSES_MAX {
            lookups.may_find(JobTag(2));
        }
        lookups.may_find(JobTag(1));
        assert!(lookups.are_on(), "one was found in between");
        for _ in 0..=MISSES_MAX {
            lookups.may_find(JobTag(2));
        }
        assert!(!lookups.are_on());
    }
}
