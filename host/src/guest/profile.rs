//! Work and span of the program, measured whatever the schedule: `sateen run --profile`.
//!
//! The guest tells of spawns, calls in place and returns (the import `measure`), and the instance's clock is read at
//! each. The chain of a child begins where its parent's stood at the spawn, wherever the child runs and whoever
//! exposed it: at a call in place the chain goes back to there, and at its return on from the later end of the two.
//! What only a schedule has is set aside: making an instance, encoding and decoding what is handed over, and, as soon as
//! another instance has done it, what each makes for itself and applying updates to its replicas.
//!
//! Some programs have work that depends on the schedule: where jobs read what others have updated, and where what finishes
//! first makes the rest useless. The profile says which (`shared_objects` and `dropped` of
//! [`ProgramProfile`](super::ProgramProfile)).
//!
//! To be told costs a fifth of a microsecond a job. So what is spawned within a call is measured only if the call takes
//! long: at least `GRAIN`, and `COST_FACTOR` times what telling takes (`profiler.rs`). That is known from those of the kind and
//! depth before it, and from the sibling before it, for in a skewed tree siblings are of all sizes. A call that takes
//! less is one strand. When one was thought short and is not, the next heartbeat has it measured from there on; what it
//! had spawned before counts as spawned at its beginning, which is wrong by a heartbeat at most.

use std::time::Duration;

use sateen_abi::Moment;
use wasmtime::{Caller, StoreContextMut};

use super::Guest;
use super::aside::{self, Aside};
use super::control_words;
use super::imports::NAME_BYTES_MAX;
use super::memory::{broken, read_text};

/// No more records are remembered than a guest's stack has room for,
const SPAWNED_MAX: usize = 1 << 16;
/// nor calls than its stack.
const CALLS_MAX: usize = 1 << 22;

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
    let Some(moment) = Moment::of(moment) else {
        return Err(broken(caller.data(), format!("it tells of a moment {moment}, which is none")));
    };
    if moment == Moment::Updated {
        return note_update(&caller, record, depth);
    }
    let guest = caller.data_mut();
    // A guest that was not asked to may tell what it likes.
    let Some(profile) = &mut guest.profile else { return Ok(0) };
    let (work, now) = guest.clock.total_work_and_span();
    match moment {
        Moment::Begin => guest.end_aside(),
        Moment::End => guest.begin_aside(),
        Moment::Spawned => {
            while profile.spawned.last().is_some_and(|(address, _)| *address >= record) {
                profile.spawned.pop();
            }
            if profile.spawned.len() < SPAWNED_MAX {
                profile.spawned.push((record, now));
            }
        }
        Moment::Call => {
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
        Moment::Return => {
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
        Moment::Expose => {
            profile.exposed = Some(profile.spawned_at(record, now));
            guest.begin_aside();
        }
        Moment::Taken => guest.end_aside(),
        Moment::Making => return guest.begin_making(),
        Moment::Key => return guest.name_making(u64::from(depth) << 32 | u64::from(kind)),
        Moment::Made => return guest.end_making(),
        Moment::Dropped => {
            if let Some(profiler) = guest.registry.profiler() {
                profiler.note_dropped(kind as usize);
            }
        }
        Moment::CaughtUp => return guest.applied_before(record),
        // Told above.
        Moment::Updated => {}
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

#[cfg(test)]
mod tests {
    use super::*;

    const MICRO: Duration = Duration::from_micros(1);

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
}
