//! What is counted of a run, and shown.

use std::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed},
};
use std::time::Duration;

use serde::Serialize;

use super::{ObjectFigures, Shared};
use crate::portion::Notice;

/// Jobs of a run, by what became of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct JobCounts {
    /// Spawned, and the root.
    pub spawned: u64,
    /// Of these, made visible to the scheduler.
    pub exposed: u64,
    /// Run, in place or elsewhere.
    pub executed: u64,
    /// Run by a worker other than the one that exposed them.
    pub stolen: u64,
    /// Not run because the result was known, from a table of results.
    pub reused: u64,
    /// Begun again after a crash, as far as is known that they had been begun.
    pub redone: u64,
    /// Dropped without a sync, or stopped because nobody wanted them any more.
    pub aborted: u64,
}

/// A run as it stands.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// Its jobs so far; spawns are counted once a millisecond.
    pub jobs: JobCounts,
    /// Workers that have something to do.
    pub busy: usize,
    /// Workers in all.
    pub threads: usize,
    /// What the app reported: done, of how much.
    pub progress: Option<(u64, u64)>,
    /// Time that workers computed, summed.
    pub work: Duration,
    /// Of this, what had been done before and was lost with a host.
    pub redone_work: Duration,
    /// Instances that exist, waiting ones included.
    pub instances: usize,
    /// Its shared objects.
    pub objects: ObjectFigures,
    /// Since the start.
    pub elapsed: Duration,
}

/// Counters that workers add to.
#[derive(Default)]
pub struct Counters {
    pub spawned: AtomicU64,
    pub exposed: AtomicU64,
    pub taken: AtomicU64,
    pub stolen: AtomicU64,
    pub aborted: AtomicU64,
    pub log_lines: AtomicU64,
    work_ns: AtomicU64,
    redone_work_ns: AtomicU64,
    progress_done: AtomicU64,
    progress_total: AtomicU64,
}

impl Shared {
    /// Guests have computed for `work` more, and `repeated` of that is done for the second time.
    pub fn report_work(&self, work: Duration, repeated: Duration) {
        let ns = |duration: Duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        self.counters.work_ns.fetch_add(ns(work), Relaxed);
        if !repeated.is_zero() {
            self.counters.redone_work_ns.fetch_add(ns(repeated), Relaxed);
        }
    }

    pub fn work(&self) -> Duration {
        Duration::from_nanos(self.counters.work_ns.load(Relaxed))
    }

    pub fn report_progress(&self, done: u64, total: u64) {
        self.counters.progress_done.store(done.min(total), Relaxed);
        self.counters.progress_total.store(total, Relaxed);
        if let Some(remote) = &self.remote {
            remote.notify(Notice::Progress(done.min(total), total));
        }
    }

    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    pub fn snapshot(&self) -> Snapshot {
        let counters = &self.counters;
        let aborted = counters.aborted.load(Relaxed);
        // The root is nobody's spawn. Jobs that come from other hosts are executed here and spawned
        // there, so that sums over hosts are a whole run's figures.
        // What is open, lent or looked up may be run elsewhere yet, or by nobody.
        let (roots, held, away, reused, redone, unbegun) = match &self.remote {
            None => (1, 1, 0, 0, 0, 0),
            Some(remote) => {
                let figures = &remote.figures;
                (
                    figures.roots.load(Relaxed),
                    figures.held.load(Relaxed),
                    figures.away.load(Relaxed),
                    figures.reused.load(Relaxed),
                    figures.redone.load(Relaxed),
                    (self.open_count() + remote.away_count()) as u64,
                )
            }
        };
        // What is exposed was spawned before.
        let exposed = counters.exposed.load(Acquire);
        let spawned = counters.spawned.load(Relaxed);
        let total = counters.progress_total.load(Relaxed);
        Snapshot {
            jobs: JobCounts {
                spawned: spawned + roots,
                exposed,
                executed: (spawned + held).saturating_sub(aborted + away + reused + unbegun),
                stolen: counters.stolen.load(Relaxed),
                reused,
                redone,
                aborted,
            },
            busy: self.busy(),
            threads: self.threads(),
            progress: (total > 0).then(|| (counters.progress_done.load(Relaxed), total)),
            work: self.work(),
            redone_work: Duration::from_nanos(counters.redone_work_ns.load(Relaxed)),
            instances: self.task_count(),
            objects: self.objects.figures(),
            elapsed: self.elapsed(),
        }
    }
}
