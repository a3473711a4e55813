//! What all instances of a profiled run measure together, and what comes of it.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::Mutex;

use super::aside::{Made, PerSandbox};

/// Spawns within calls that take less are not measured.
const GRAIN: Duration = Duration::from_micros(50);
/// What it takes to tell of a job.
const JOB_COST: Duration = Duration::from_nanos(200);
/// A call must take so many times what telling of its children takes.
const COST_FACTOR: u32 = 40;
/// A call may take so many times what the sibling before it took.
const SIBLING_FACTOR: u32 = 3;
/// Depths that are told apart; deeper ones count as the last.
const LEVELS: usize = 64;
/// Means follow the last calls, about so many.
const MEMORY: u64 = 256;
/// Means of children are kept in so many parts of one.
const PARTS: u64 = 16;
/// Types of shared objects that are named.
const NAMES_MAX: usize = 16;

/// What is known of the jobs of one kind and depth.
#[derive(Default)]
pub struct Level {
    calls: AtomicU64,
    work_ns: AtomicU64,
    mean_ns: AtomicU64,
    /// Jobs that one spawns and calls, in parts.
    mean_children: AtomicU64,
}

/// What a profiled run has measured, by all of its instances.
pub struct Profiler {
    /// By kind, then by depth.
    levels: Vec<Level>,
    total: Mutex<Option<(Duration, Duration)>>,
    /// What instances make for themselves.
    pub made: Made,
    /// The types of shared objects that jobs have updated.
    updated: Mutex<BTreeSet<String>>,
    /// The kinds of which jobs in sets were dropped.
    dropped: Mutex<BTreeSet<usize>>,
}

/// Work and span of a program.
#[derive(Debug, Clone)]
pub struct ProgramProfile {
    /// What one worker would take for it.
    pub work: Duration,
    /// The longest chain of what must wait for one another: what it would take with any number of workers.
    pub span: Duration,
    /// The jobs that were measured, by kind and depth.
    pub levels: Vec<ProfileLevel>,
    /// The types of shared objects that jobs have updated. What a job does may depend on which updates have come to it.
    pub shared_objects: Vec<String>,
    /// The kinds of jobs that were dropped from their sets. How many had been done by then depends on the schedule.
    pub dropped: Vec<String>,
    /// What sandboxes have made for themselves.
    pub per_sandbox: PerSandbox,
}

/// Jobs of one kind and depth.
#[derive(Debug, Clone, serde::Serialize)]
pub struct ProfileLevel {
    /// The kind's name.
    pub job: String,
    /// Spawns below the root; the last stands for all deeper ones.
    pub depth: usize,
    /// Jobs that were measured.
    pub jobs: u64,
    /// How long these took on average, with all below them, in seconds of work.
    pub mean_s: f64,
}

impl ProgramProfile {
    /// The bound that Brent and Graham gave for any schedule that leaves no worker idle while there is work:
    /// work over workers, and the span.
    pub fn time_on(&self, workers: u32) -> Duration {
        self.work / workers.max(1) + self.span
    }
}

impl Profiler {
    /// For an app with so many kinds of jobs.
    pub fn new(kinds: usize) -> Self {
        Self {
            levels: std::iter::repeat_with(Level::default).take(kinds * LEVELS).collect(),
            total: Mutex::default(),
            made: Made::default(),
            updated: Mutex::default(),
            dropped: Mutex::default(),
        }
    }

    pub fn level(&self, kind: usize, depth: u32) -> Option<&Level> {
        self.levels.get(kind.checked_mul(LEVELS)? + (depth as usize).min(LEVELS - 1))
    }

    /// Jobs have updated an object of this type.
    pub fn note_update(&self, object: String) {
        let mut updated = self.updated.lock();
        if updated.len() < NAMES_MAX {
            updated.insert(object);
        }
    }

    /// Jobs of this kind were dropped from their set.
    pub fn note_dropped(&self, kind: usize) {
        if kind < self.levels.len() / LEVELS {
            self.dropped.lock().insert(kind);
        }
    }

    /// The root's job has come to its end.
    pub fn finish(&self, work: Duration, span: Duration) {
        *self.total.lock() = Some((work, span));
    }

    /// What was measured, if the run has finished; `name` names the kinds.
    pub fn profile(&self, name: impl Fn(usize) -> String) -> Option<ProgramProfile> {
        let (work, span) = (*self.total.lock())?;
        let measured = self.levels.iter().enumerate().filter_map(|(at, level)| {
            let jobs = level.calls.load(Relaxed);
            (jobs > 0).then(|| ProfileLevel {
                job: name(at / LEVELS),
                depth: at % LEVELS,
                jobs,
                mean_s: level.work_ns.load(Relaxed) as f64 / 1e9 / jobs as f64,
            })
        });
        let levels = measured.collect();
        let shared_objects = self.updated.lock().iter().cloned().collect();
        let dropped = self.dropped.lock().iter().map(|kind| name(*kind)).collect();
        let per_sandbox = self.made.figures();
        Some(ProgramProfile { work, span, levels, shared_objects, dropped, per_sandbox })
    }
}

impl Level {
    /// Counts a job that took so long with so many children. Others may do so at once: then one is not in the means.
    pub fn note(&self, took: Duration, children: u32) {
        let took = in_ns(took);
        let calls = self.calls.fetch_add(1, Relaxed) + 1;
        self.work_ns.fetch_add(took, Relaxed);
        let weight = calls.min(MEMORY) as i64;
        for (mean, value) in [(&self.mean_ns, took), (&self.mean_children, u64::from(children) * PARTS)] {
            let before = mean.load(Relaxed) as i64;
            mean.store((before + (value as i64 - before) / weight).max(0) as u64, Relaxed);
        }
    }

    /// Whether it is worth its cost to measure what is spawned within a job that comes after a sibling which
    /// took so long.
    pub fn is_worth_measuring(&self, sibling: Duration) -> bool {
        if self.calls.load(Relaxed) == 0 {
            return true;
        }
        let expected = Duration::from_nanos(self.mean_ns.load(Relaxed)).max(sibling * SIBLING_FACTOR);
        let children = self.mean_children.load(Relaxed).min(u64::from(u32::MAX) / COST_FACTOR as u64) as u32;
        expected >= GRAIN && expected >= JOB_COST * (COST_FACTOR * children) / PARTS as u32
    }
}

/// In nanoseconds; so many that some can be added.
fn in_ns(took: Duration) -> u64 {
    u64::try_from(took.as_nanos()).unwrap_or(u64::MAX >> 8).min(u64::MAX >> 8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::ROOT;

    const MICRO: Duration = Duration::from_micros(1);

    #[test]
    fn what_is_unknown_or_long_is_measured_and_what_is_short_or_dear_is_not() {
        let profiler = Profiler::new(2);
        let level = |depth| profiler.level(1, depth).expect("there is such a kind");
        assert!(level(3).is_worth_measuring(Duration::ZERO), "nothing is known");
        for _ in 0..10 {
            level(3).note(10 * MICRO, 2);
            level(4).note(1_000 * MICRO, 20);
            level(5).note(1_000 * MICRO, 1_000);
        }
        assert!(!level(3).is_worth_measuring(Duration::ZERO));
        assert!(level(3).is_worth_measuring(20 * MICRO), "after a longer sibling it may be long");
        assert!(level(4).is_worth_measuring(Duration::ZERO));
        assert!(!level(5).is_worth_measuring(Duration::ZERO), "telling of its children would cost a fifth");
        assert!(profiler.level(2, 0).is_none());
        assert!(profiler.level(ROOT, 0).is_none());
    }

    #[test]
    fn more_workers_take_work_over_workers_and_the_span() {
        let profile = ProgramProfile {
            work: Duration::from_secs(10),
            span: Duration::from_secs(1),
            levels: Vec::new(),
            shared_objects: Vec::new(),
            dropped: Vec::new(),
            per_sandbox: PerSandbox::default(),
        };
        assert_eq!([1, 10, 1000].map(|workers| profile.time_on(workers).as_millis()), [11_000, 2_000, 1_010]);
    }
}
