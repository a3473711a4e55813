//! The measurements of all instances of a profiled run, and the profile made of them.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::Mutex;

use super::aside::{Made, PerSandbox};

/// Spawns within shorter calls are not measured.
const GRAIN: Duration = Duration::from_micros(50);
/// The cost of reporting a job.
const JOB_COST: Duration = Duration::from_nanos(200);
/// A call must take at least this many times the cost of reporting its children.
const COST_FACTOR: u32 = 40;
/// A call may take up to this many times as long as the sibling before it.
const SIBLING_FACTOR: u32 = 3;
/// Shorter spans are not told apart: a chain of some pieces of [`GRAIN`] would be as long as what measuring it disturbs.
const SPAN_MIN: Duration = Duration::from_micros(500);
/// Number of distinct depths; deeper ones count as the last.
const LEVELS: usize = 64;
/// Means cover about this many of the last calls.
const MEMORY: u64 = 256;
/// Means of numbers of children are kept in units of one part in this many.
const PARTS: u64 = 16;
/// Number of lengths that are distinguished, each twice the one before.
const LENGTHS: usize = 40;
/// Maximum types of shared objects that are named.
const NAMES_MAX: usize = 16;

/// Measurements of the jobs of one kind and depth.
#[derive(Default)]
pub struct Level {
    calls: AtomicU64,
    work_ns: AtomicU64,
    mean_ns: AtomicU64,
    /// Mean number of jobs that one job spawns and calls, in these units.
    mean_children: AtomicU64,
}

/// Measured jobs of one kind and about one length.
#[derive(Default)]
struct Length {
    work_ns: AtomicU64,
    span_ns: AtomicU64,
}

/// The measurements of a profiled run, of all its instances.
pub struct Profiler {
    /// By kind, then by depth.
    levels: Vec<Level>,
    /// By kind, then by length.
    lengths: Vec<Length>,
    total: Mutex<Option<(Duration, Duration)>>,
    /// Values that instances make for themselves.
    pub made: Made,
    /// The types of shared objects that jobs have updated.
    updated: Mutex<BTreeSet<String>>,
    /// The kinds of which jobs in sets were dropped.
    dropped: Mutex<BTreeSet<usize>>,
}

/// Work and span of a program.
#[derive(Debug, Clone)]
pub struct ProgramProfile {
    /// The time that one worker would take.
    pub work: Duration,
    /// The longest chain of pieces that must wait for one another: the least time with any number of workers. At least
    /// half a millisecond, or all work if that is less: see [`is_span_bound`](Self::is_span_bound).
    pub span: Duration,
    /// The jobs that were measured, by kind and depth.
    pub levels: Vec<ProfileLevel>,
    /// The types of shared objects that jobs have updated. The work of a job may depend on which updates have reached
    /// it.
    pub shared_objects: Vec<String>,
    /// The kinds of jobs that were dropped from their sets. The number of jobs done by then depends on the
    /// schedule.
    pub dropped: Vec<String>,
    /// Values that sandboxes have made for themselves.
    pub per_sandbox: PerSandbox,
}

/// Jobs of one kind and depth.
#[derive(Debug, Clone, serde::Serialize)]
pub struct ProfileLevel {
    /// The kind's name.
    pub job: String,
    /// Spawns below the root; the last depth stands for all deeper ones.
    pub depth: usize,
    /// Jobs that were measured.
    pub jobs: u64,
    /// Their mean work in seconds, including all jobs below them.
    pub mean_s: f64,
}

impl ProgramProfile {
    /// Whether the true span may be less than `span`, too short to be measured.
    pub fn is_span_bound(&self) -> bool {
        self.span <= SPAN_MIN
    }

    /// Whether the whole program is too short for its span to be measured: nothing is known of its parallelism.
    pub fn is_too_short(&self) -> bool {
        self.work <= SPAN_MIN
    }

    /// The bound that Brent and Graham gave for any schedule that leaves no worker idle while there is work:
    /// work over workers, and the span.
    pub fn time_on(&self, workers: u32) -> Duration {
        self.work / workers.max(1) + self.span
    }
}

impl Profiler {
    /// A profiler for an app with this many kinds of jobs.
    pub fn new(kinds: usize) -> Self {
        Self {
            levels: std::iter::repeat_with(Level::default).take(kinds * LEVELS).collect(),
            lengths: std::iter::repeat_with(Length::default).take(kinds * LENGTHS).collect(),
            total: Mutex::default(),
            made: Made::default(),
            updated: Mutex::default(),
            dropped: Mutex::default(),
        }
    }

    pub fn level(&self, kind: usize, depth: u32) -> Option<&Level> {
        self.levels.get(kind.checked_mul(LEVELS)? + (depth as usize).min(LEVELS - 1))
    }

    fn length(&self, kind: usize, work: Duration) -> Option<&Length> {
        let at = (in_ns(work).max(1).ilog2() as usize).min(LENGTHS - 1);
        self.lengths.get(kind.checked_mul(LENGTHS)? + at)
    }

    /// A job of this kind was measured from its beginning to its end.
    pub fn note_measured(&self, kind: usize, work: Duration, span: Duration) {
        if let Some(length) = self.length(kind, work) {
            length.work_ns.fetch_add(in_ns(work), Relaxed);
            length.span_ns.fetch_add(in_ns(span), Relaxed);
        }
    }

    /// The likely span of a job of this kind that has taken `took` so far, and was not measured: that of measured jobs
    /// of its kind and length. Unless it was longer than expected, it counts as one strand.
    pub fn likely_span(&self, kind: usize, took: Duration) -> Duration {
        if took <= GRAIN {
            return took;
        }
        let Some(length) = self.length(kind, took) else { return took };
        let (work, span) = (length.work_ns.load(Relaxed), length.span_ns.load(Relaxed));
        if work == 0 {
            return took;
        }
        took.mul_f64((span as f64 / work as f64).min(1.0)).clamp(GRAIN, took)
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

    /// The root's job has ended.
    pub fn finish(&self, work: Duration, span: Duration) {
        *self.total.lock() = Some((work, span));
    }

    /// The profile, if the run has finished; `name` returns the names of kinds.
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
        let span = span.max(SPAN_MIN.min(work));
        let shared_objects = self.updated.lock().iter().cloned().collect();
        let dropped = self.dropped.lock().iter().map(|kind| name(*kind)).collect();
        let per_sandbox = self.made.figures();
        Some(ProgramProfile { work, span, levels, shared_objects, dropped, per_sandbox })
    }
}

impl Level {
    /// Adds a job with its time and number of children. If two instances do so at once, one job may be missing in
    /// the means.
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

    /// Whether spawns within a job are worth measuring, if the sibling before it took this long.
    pub fn is_worth_measuring(&self, sibling: Duration) -> bool {
        if self.calls.load(Relaxed) == 0 {
            return true;
        }
        let expected = Duration::from_nanos(self.mean_ns.load(Relaxed)).max(sibling * SIBLING_FACTOR);
        let children = self.mean_children.load(Relaxed).min(u64::from(u32::MAX) / COST_FACTOR as u64) as u32;
        expected >= GRAIN && expected >= JOB_COST * (COST_FACTOR * children) / PARTS as u32
    }
}

/// In nanoseconds, capped so that some can be added.
fn in_ns(took: Duration) -> u64 {
    u64::try_from(took.as_nanos()).unwrap_or(u64::MAX >> 8).min(u64::MAX >> 8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::ROOT;

    const MICRO: Duration = Duration::from_micros(1);

    #[test]
    fn jobs_are_measured_unless_they_are_known_to_be_short_or_expensive_to_measure() {
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
        assert!(!level(5).is_worth_measuring(Duration::ZERO), "reporting its children would cost a fifth");
        assert!(profiler.level(2, 0).is_none());
        assert!(profiler.level(ROOT, 0).is_none());
    }

    #[test]
    fn a_long_job_that_was_not_measured_has_the_span_of_others_of_its_kind_and_length() {
        let profiler = Profiler::new(2);
        assert_eq!(profiler.likely_span(1, 900 * MICRO), 900 * MICRO, "nothing is known");
        profiler.note_measured(1, 800 * MICRO, 200 * MICRO);
        profiler.note_measured(1, 1_000 * MICRO, 160 * MICRO);
        assert_eq!(profiler.likely_span(1, 900 * MICRO).as_micros(), 180);
        assert_eq!(profiler.likely_span(0, 900 * MICRO), 900 * MICRO, "of another kind");
        assert_eq!(profiler.likely_span(1, 9_000 * MICRO), 9_000 * MICRO, "of another length");
        assert_eq!(profiler.likely_span(1, 40 * MICRO), 40 * MICRO, "short ones are strands");
        profiler.note_measured(1, 60 * MICRO, 5 * MICRO);
        assert_eq!(profiler.likely_span(1, 60 * MICRO), GRAIN);
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
