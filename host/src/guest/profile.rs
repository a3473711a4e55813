//! Work and span of the program, measured whatever the schedule: `sateen run --profile`.
//!
//! The guest tells of spawns, calls in place and returns (the import `measure`), and the instance's clock is read at
//! each. The chain of a child begins where its parent's stood at the spawn, wherever the child runs and whoever
//! exposed it: at a call in place the chain goes back to there, and at its return on from the later end of the two.
//! What only a schedule has is set aside: making an instance, encoding and decoding what is handed over, and, as soon as
//! another instance has done it, what each makes for itself and applying updates to its replicas.
//!
//! Some programs have work that depends on the schedule: where jobs read what others have updated, and where what finishes
//! first makes the rest useless. The profile says which ([`ProgramProfile::shared_objects`], [`ProgramProfile::dropped`]).
//!
//! To be told costs a fifth of a microsecond a job. So what is spawned within a call is measured only if the call takes
//! long: at least [`GRAIN`], and [`COST_FACTOR`] times what telling takes. That is known from those of the kind and
//! depth before it, and from the sibling before it, for in a skewed tree siblings are of all sizes. A call that takes
//! less is one strand. When one was thought short and is not, the next heartbeat has it measured from there on; what it
//! had spawned before counts as spawned at its beginning, which is wrong by a heartbeat at most.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::Mutex;
use wasmtime::{Caller, StoreContextMut};

use super::Guest;
use super::aside::{self, Aside, Made, PerSandbox};
use super::control_words;
use super::imports::NAME_BYTES_MAX;
use super::memory::{broken, read_text};

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
/// No more records are remembered than a guest's stack has room for,
const SPAWNED_MAX: usize = 1 << 16;
/// nor calls than its stack.
const CALLS_MAX: usize = 1 << 22;
/// Types of shared objects that are named.
const NAMES_MAX: usize = 16;

/// What is known of the jobs of one kind and depth.
#[derive(Default)]
struct Level {
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

    fn level(&self, kind: usize, depth: u32) -> Option<&Level> {
        self.levels.get(kind.checked_mul(LEVELS)? + (depth as usize).min(LEVELS - 1))
    }

    /// Jobs have updated an object of this type.
    fn note_update(&self, object: String) {
        let mut updated = self.updated.lock();
        if updated.len() < NAMES_MAX {
            updated.insert(object);
        }
    }

    /// Jobs of this kind were dropped from their set.
    fn note_dropped(&self, kind: usize) {
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
    fn note(&self, took: Duration, children: u32) {
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
    fn is_worth_measuring(&self, sibling: Duration) -> bool {
        if self.calls.load(Relaxed) == 0 {
            return true;
        }
        let expected = Duration::from_nanos(self.mean_ns.load(Relaxed)).max(sibling * SIBLING_FACTOR);
        let children = self.mean_children.load(Relaxed).min(u64::from(u32::MAX) / COST_FACTOR as u64) as u32;
        expected >= GRAIN && expected >= JOB_COST * (COST_FACTOR * children) / PARTS as u32
    }
}

/// The instance's own job, or one that it calls in place.
#[derive(Default)]
struct Call {
    kind: usize,
    depth: u32,
    /// The chain where it was spawned,
    begin: Duration,
    /// and where its parent stood when it was called.
    parent: Duration,
    /// The work of the instance until then.
    work: Duration,
    children: u32,
    /// What the last child took.
    sibling: Duration,
}

/// What the host measures in one instance.
pub struct Profile {
    /// The latent jobs whose spawn was told, by the addresses of their records, which rise; and where the chain was.
    spawned: Vec<(u32, Duration)>,
    /// The innermost last.
    calls: Vec<Call>,
    /// The instance's job.
    own: Call,
    /// Where the chain was at the spawn of the exposed job that comes back to be called in place.
    pub came_back: Option<Duration>,
    /// Where the chain was at the spawn of the job that is being exposed.
    exposed: Option<Duration>,
    /// What does not count.
    pub aside: Aside,
}

/// How far a guest was within calls and what it makes.
pub struct Within {
    calls: usize,
    aside: aside::Within,
}

impl Profile {
    /// What an instance does does not count before it has its parameters.
    pub fn new() -> Self {
        Self {
            spawned: Vec::new(),
            calls: Vec::new(),
            own: Call::default(),
            came_back: None,
            exposed: None,
            aside: Aside::from_the_start(),
        }
    }

    /// Where the chain was at the spawn of the job at `record`, which is within the innermost call.
    fn spawned_at(&self, record: u32, now: Duration) -> Duration {
        let begin = self.calls.last().map_or(Duration::ZERO, |call| call.begin);
        let found = self.spawned.binary_search_by_key(&record, |(address, _)| *address);
        found.map_or(begin, |at| self.spawned[at].1).clamp(begin.min(now), now)
    }

    /// Where the chain of the job that is being exposed begins, if that was told.
    pub fn take_exposed(&mut self) -> Option<Duration> {
        self.exposed.take()
    }

    /// How far the guest is within calls in place, and what it makes.
    pub fn within(&self) -> Within {
        Within { calls: self.calls.len(), aside: self.aside.within() }
    }
}

impl Guest {
    /// What the guest was within and `kept` was not has come to a bad end.
    pub fn forget_within(&mut self, kept: &Within) {
        if let Some(profile) = &mut self.profile {
            profile.calls.truncate(kept.calls);
        }
        self.forget_aside(&kept.aside);
    }

    /// The work and span of the instance's job.
    pub fn profiled(&mut self) -> Option<(Duration, Duration)> {
        self.end_all_aside();
        self.profile.as_ref()?;
        let (work, span) = self.clock.total_work_and_span();
        if let Some(profiler) = self.registry.profiler() {
            if self.job.is_root() {
                profiler.finish(work, span);
            } else if let Some(profile) = &self.profile
                && let Some(job) = self.job.record()
                && let Some(level) = profiler.level(job.kind, job.depth)
            {
                level.note(work, profile.own.children);
            }
        }
        Some((work, span))
    }
}

/// The import `measure`: the guest tells what comes next.
pub fn measure(
    mut caller: Caller<'_, Guest>,
    moment: u32,
    record: u32,
    kind: u32,
    depth: u32,
) -> wasmtime::Result<u32> {
    const BEGIN: u32 = 0;
    const END: u32 = 1;
    const SPAWNED: u32 = 2;
    const CALL: u32 = 3;
    const RETURN: u32 = 4;
    const EXPOSE: u32 = 5;
    const TAKEN: u32 = 6;
    const MAKING: u32 = 7;
    const KEY: u32 = 8;
    const MADE: u32 = 9;
    const UPDATED: u32 = 10;
    const DROPPED: u32 = 11;
    const CAUGHT_UP: u32 = 12;
    if moment == UPDATED {
        return note_update(&caller, record, depth);
    }
    let guest = caller.data_mut();
    // A guest that was not asked to may tell what it likes.
    let Some(profile) = &mut guest.profile else { return Ok(0) };
    let (work, now) = guest.clock.total_work_and_span();
    match moment {
        BEGIN => guest.end_aside(),
        END => guest.begin_aside(),
        SPAWNED => {
            while profile.spawned.last().is_some_and(|(address, _)| *address >= record) {
                profile.spawned.pop();
            }
            if profile.spawned.len() < SPAWNED_MAX {
                profile.spawned.push((record, now));
            }
        }
        CALL => {
            let came_back = profile.came_back.take();
            let begin = came_back.filter(|_| record == 0).unwrap_or_else(|| profile.spawned_at(record, now));
            if profile.calls.len() >= CALLS_MAX {
                return Err(broken(guest, "it tells of more calls than it can have".to_owned()));
            }
            let outer = profile.calls.last_mut().unwrap_or(&mut profile.own);
            outer.children = outer.children.saturating_add(1);
            let sibling = outer.sibling;
            let kind = kind as usize;
            profile.calls.push(Call {
                kind,
                depth,
                begin,
                parent: now,
                work,
                children: 0,
                sibling: Duration::ZERO,
            });
            guest.clock.set_span(begin.min(now));
            let depth = guest.job.depth_below_root().saturating_add(depth);
            let level = guest.registry.profiler().and_then(|profiler| profiler.level(kind, depth));
            return Ok(level.is_some_and(|level| level.is_worth_measuring(sibling)).into());
        }
        RETURN => {
            let Some(call) = profile.calls.pop() else {
                return Err(broken(guest, "it returns from a job that it has not called".to_owned()));
            };
            let took = work.saturating_sub(call.work);
            profile.calls.last_mut().unwrap_or(&mut profile.own).sibling = took;
            guest.clock.set_span(now.max(call.parent));
            let depth = guest.job.depth_below_root().saturating_add(call.depth);
            if let Some(level) =
                guest.registry.profiler().and_then(|profiler| profiler.level(call.kind, depth))
            {
                level.note(took, call.children);
            }
        }
        EXPOSE => {
            profile.exposed = Some(profile.spawned_at(record, now));
            guest.begin_aside();
        }
        TAKEN => guest.end_aside(),
        MAKING => return guest.begin_making(),
        KEY => return guest.name_making(u64::from(depth) << 32 | u64::from(kind)),
        MADE => return guest.end_making(),
        DROPPED => {
            if let Some(profiler) = guest.registry.profiler() {
                profiler.note_dropped(kind as usize);
            }
        }
        CAUGHT_UP => return guest.applied_before(record),
        _ => return Err(broken(guest, format!("it tells of a moment {moment}, which is none"))),
    }
    Ok(0)
}

/// The guest updates an object of the type with this name. What the root itself updates, it does in the same order
/// whatever the schedule.
fn note_update(caller: &Caller<'_, Guest>, name: u32, length: u32) -> wasmtime::Result<u32> {
    let guest = caller.data();
    if let Some(profiler) = guest.registry.profiler() {
        let name = read_text(caller, name, length, NAME_BYTES_MAX)?;
        if !guest.job.is_root() || control_words::depth(caller) > 0 {
            profiler.note_update(name);
        }
    }
    Ok(0)
}

/// Has the guest tell of all that it does from here on. At the start, and at each heartbeat: what was thought to be
/// short may not be.
pub fn measure_all(store: StoreContextMut<'_, Guest>) {
    if store.data().profile.is_some() {
        control_words::measure_all(store);
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
    fn a_job_begins_where_it_was_spawned_within_its_call() {
        let mut profile = Profile { spawned: vec![(8, MICRO), (24, 5 * MICRO)], ..Profile::new() };
        assert_eq!(profile.spawned_at(24, 9 * MICRO), 5 * MICRO);
        assert_eq!(profile.spawned_at(16, 9 * MICRO), Duration::ZERO, "not told: at the call's beginning");
        profile.calls.push(Call { begin: 3 * MICRO, ..Call::default() });
        assert_eq!(profile.spawned_at(8, 9 * MICRO), 3 * MICRO, "an older record was there");
        assert_eq!(profile.spawned_at(24, 4 * MICRO), 4 * MICRO);
        assert_eq!(profile.spawned_at(24, MICRO), MICRO);
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
