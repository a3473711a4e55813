//! Counts of a run, and figures to show.

use std::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed},
};
use std::time::{Duration, Instant};

use serde::Serialize;

use super::forecast::Forecast;
use super::objects::ObjectFigures;

/// Jobs of a run, by outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct JobCounts {
    /// Spawned jobs, including the root.
    pub spawned: u64,
    /// Jobs made visible to the scheduler.
    pub exposed: u64,
    /// Jobs run, in place or elsewhere.
    pub executed: u64,
    /// Jobs run by a worker other than the one that exposed them.
    pub stolen: u64,
    /// Jobs not run because a table of results had their result.
    pub reused: u64,
    /// Jobs begun again after a crash, as far as it is known that they had been begun.
    pub redone: u64,
    /// Jobs dropped without a sync, or stopped because they were not wanted any more, or because no job begins here any
    /// more.
    pub aborted: u64,
}

/// The current state of a run.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// Counts of jobs so far; spawns are counted once a millisecond.
    pub jobs: JobCounts,
    /// Workers that compute.
    pub busy: usize,
    /// Workers in all.
    pub threads: usize,
    /// The progress that the app reported: done and total.
    pub progress: Option<(u64, u64)>,
    /// Time that all workers together computed.
    pub work: Duration,
    /// The part of this that repeats work lost with a host.
    pub redone_work: Duration,
    /// Instances that exist, including waiting ones.
    pub instances: usize,
    /// Its shared objects.
    pub objects: ObjectFigures,
    /// Since the start.
    pub elapsed: Duration,
}

/// Counters that workers add to.
pub struct Counters {
    pub spawned: AtomicU64,
    /// Spawned jobs that only their instances know.
    pub latent: AtomicU64,
    pub exposed: AtomicU64,
    pub taken: AtomicU64,
    pub stolen: AtomicU64,
    pub aborted: AtomicU64,
    pub log_lines: AtomicU64,
    started: Instant,
    work_ns: AtomicU64,
    redone_work_ns: AtomicU64,
    progress_done: AtomicU64,
    progress_total: AtomicU64,
    /// How much work is ahead.
    pub forecast: Forecast,
}

/// Counts of jobs that involve other hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GridCounts {
    /// Roots that were begun here.
    pub roots: u64,
    /// Jobs that are executed here and were spawned elsewhere, including roots.
    pub held: u64,
    /// Jobs of this host that were run by another.
    pub away: u64,
    pub reused: u64,
    pub redone: u64,
    /// Jobs of this host that may still run elsewhere or not at all: those that are open, lent or looked up.
    pub unbegun: u64,
}

impl GridCounts {
    /// The counts of a run on one host: its root was begun here, and no job spawned it.
    pub const LOCAL: Self = Self { roots: 1, held: 1, away: 0, reused: 0, redone: 0, unbegun: 0 };
}

impl Counters {
    /// The counters of a run that begins now.
    pub fn new() -> Self {
        Self {
            spawned: AtomicU64::new(0),
            latent: AtomicU64::new(0),
            exposed: AtomicU64::new(0),
            taken: AtomicU64::new(0),
            stolen: AtomicU64::new(0),
            aborted: AtomicU64::new(0),
            log_lines: AtomicU64::new(0),
            started: Instant::now(),
            work_ns: AtomicU64::new(0),
            redone_work_ns: AtomicU64::new(0),
            progress_done: AtomicU64::new(0),
            progress_total: AtomicU64::new(0),
            forecast: Forecast::default(),
        }
    }

    /// An instance has spawned and dropped this many more jobs, and `latent` of its jobs are latent now, which were
    /// `before`.
    pub fn count(&self, spawned: u64, dropped: u64, before: u64, latent: u64) {
        // At any time, no job that is latent counts as begun.
        self.latent.fetch_add(latent.saturating_sub(before), Relaxed);
        self.spawned.fetch_add(spawned, Relaxed);
        self.aborted.fetch_add(dropped, Relaxed);
        self.latent.fetch_sub(before.saturating_sub(latent), Relaxed);
    }

    /// Adds `work` of guests, of which `repeated` was done for the second time.
    pub fn report_work(&self, work: Duration, repeated: Duration) {
        let ns = |duration: Duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        self.work_ns.fetch_add(ns(work), Relaxed);
        if !repeated.is_zero() {
            self.redone_work_ns.fetch_add(ns(repeated), Relaxed);
        }
    }

    pub fn work(&self) -> Duration {
        Duration::from_nanos(self.work_ns.load(Relaxed))
    }

    pub fn redone_work(&self) -> Duration {
        Duration::from_nanos(self.redone_work_ns.load(Relaxed))
    }

    pub fn report_progress(&self, done: u64, total: u64) {
        self.progress_done.store(done, Relaxed);
        self.progress_total.store(total, Relaxed);
    }

    /// The progress that the app reported: done and total.
    pub fn progress(&self) -> Option<(u64, u64)> {
        let total = self.progress_total.load(Relaxed);
        (total > 0).then(|| (self.progress_done.load(Relaxed), total))
    }

    /// Since the run began.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Jobs by outcome, including those that involve other hosts.
    /// `left` is the number of open jobs if no job will begin here any more: these and the latent ones count as aborted.
    pub fn jobs(&self, left: Option<u64>, grid: impl FnOnce() -> GridCounts) -> JobCounts {
        let aborted = self.aborted.load(Relaxed);
        // No job spawned the root. Jobs from other hosts are executed here and spawned there, so that sums over
        // hosts are the figures of the whole run.
        let GridCounts { roots, held, away, reused, redone, unbegun } = grid();
        // An exposed job was spawned before, whatever the guest's own counter says.
        let exposed = self.exposed.load(Acquire);
        let spawned = self.spawned.load(Relaxed).max(exposed);
        let latent = self.latent.load(Relaxed);
        JobCounts {
            spawned: spawned + roots,
            exposed,
            executed: (spawned + held).saturating_sub(aborted + away + reused + unbegun + latent),
            stolen: self.stolen.load(Relaxed),
            reused,
            redone,
            aborted: aborted + left.map_or(0, |open| open + latent),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_that_counts_no_spawns_has_spawned_what_it_exposed() {
        let counters = Counters::new();
        counters.exposed.fetch_add(290, Relaxed);
        let jobs = counters.jobs(None, || GridCounts::LOCAL);
        assert_eq!((jobs.exposed, jobs.spawned), (290, 291));
        counters.count(300, 0, 0, 0);
        let jobs = counters.jobs(None, || GridCounts::LOCAL);
        assert_eq!((jobs.exposed, jobs.spawned), (290, 301));
    }
}
