//! Which redone jobs are looked up: those of which others may know the result.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};

use parking_lot::RwLock;
use sateen_protocol::JobTag;

use crate::scheduler::place::Place;

/// After so many redone jobs in a row of which nothing is known, no more are looked up: they cost some
/// microseconds each.
const MISSES_MAX: usize = 100_000;

/// What lookups may find.
pub struct Lookups {
    /// A lookup may find something.
    is_on: AtomicBool,
    /// What: these jobs, or something below them. `None`: anything.
    sought: RwLock<Option<HashSet<JobTag>>>,
    /// How often that was told.
    told: AtomicU64,
    /// Jobs since the last one that was sought.
    misses: AtomicUsize,
}

impl Lookups {
    /// They may find anything, as nothing was told.
    pub fn new() -> Self {
        Self {
            is_on: AtomicBool::new(true),
            sought: RwLock::new(None),
            told: AtomicU64::new(0),
            misses: AtomicUsize::new(0),
        }
    }

    /// What lookups may find beside what they might before; nothing at all if that is empty.
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

    /// Whether to ask for a redone job: a question costs ten times as much as to look here. When nothing
    /// was found for long, something in the tree is not as it was, and nothing will be.
    pub fn may_find(&self, job: JobTag) -> bool {
        let is_sought = self.sought.read().as_ref().is_none_or(|sought| sought.contains(&job));
        if is_sought {
            self.misses.store(0, Relaxed);
        } else if self.misses.fetch_add(1, Relaxed) >= MISSES_MAX {
            self.is_on.store(false, SeqCst);
        }
        is_sought
    }

    /// Whether something was recorded of a job, or below it, as far as was told.
    pub fn is_recorded(&self, job: impl FnOnce() -> JobTag) -> bool {
        self.sought.read().as_ref().is_some_and(|sought| !sought.is_empty() && sought.contains(&job()))
    }

    /// The job at `place` becomes open, and nothing is known of it now.
    pub fn note_asked(&self, place: &Place) {
        place.asked.store(self.told.load(SeqCst), SeqCst);
    }

    /// Whether something may have come to be known of an open job since that, as far as lookups have been told; each
    /// time is looked at once.
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
    fn what_is_told_adds_up_until_nothing_is_left() {
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
    fn they_end_after_many_misses_in_a_row() {
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
