//! Work and span of the program, independent of the schedule: `sateen run --profile`.
//!
//! The guest reports spawns, calls in place and returns (the import `measure`), and the instance's clock is read at
//! each. The chain of a child begins at the length of its parent's chain at the spawn, wherever the child runs: at a
//! call in place the chain goes back to that length, and at the return it continues from the later end of the two.
//! Costs that only a schedule causes are set aside: making an instance, encoding and decoding values that are handed
//! over, and, if another instance has already done so, making values for the sandbox and applying updates to replicas.
//!
//! The work of some programs depends on the schedule: if jobs read updates of others, or if the first job to finish
//! makes the rest useless. The profile names these reasons (`shared_objects` and `dropped` of
//! [`ProgramProfile`](super::ProgramProfile)).
//!
//! A report costs a fifth of a microsecond for each job. So jobs spawned within a call are measured only if the call is
//! long: at least `GRAIN`, and `COST_FACTOR` times the cost of reporting (`profiler.rs`). The length is estimated from
//! earlier jobs of the kind and depth, and from the sibling before it, because in a skewed tree siblings have all
//! sizes. A shorter call is one strand. If a call takes longer than expected, it is measured from the next heartbeat
//! on. What it has done until then is not a strand: it counts with the span of measured jobs of the same kind and length, and
//! jobs that it had spawned count as spawned at its beginning.

use std::time::Duration;

use sateen_abi::Moment;
use wasmtime::{Caller, StoreContextMut};

use super::Guest;
use super::aside::{self, Aside};
use super::control_words;
use super::memory::{NAME_BYTES_MAX, broken, read_text};

/// Maximum records remembered, as many as a guest's stack has room for,
const SPAWNED_MAX: usize = 1 << 16;
/// and maximum calls, as many as its stack allows.
const CALLS_MAX: usize = 1 << 22;

/// Whether what a call spawns has been reported.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Reported {
    No,
    /// Since a heartbeat.
    Late,
    #[default]
    FromBeginning,
}

/// The instance's own job, or a job that it calls in place.
#[derive(Default)]
struct Call {
    kind: usize,
    depth: u32,
    /// Whether what it spawns has been reported.
    reported: Reported,
    /// The length of the chain at its spawn,
    begin: Duration,
    /// and of its parent's chain at its call.
    parent: Duration,
    /// The work of the instance until then.
    work: Duration,
    children: u32,
    /// The time of the last child.
    sibling: Duration,
    /// The number of reported spawns of the calls around it that are still latent.
    outer_spawns: usize,
}

/// The host's measurements in one instance.
pub struct Profile {
    /// The jobs whose spawn was reported, by the addresses of their records, which rise; and the length of the chain. Those
    /// of a call come after those of the calls around it, and are dropped when it returns.
    spawned: Vec<(u32, Duration)>,
    /// The calls, the innermost last.
    calls: Vec<Call>,
    /// The instance's job.
    own: Call,
    /// The length of the chain at the spawn of the exposed job that is returned to be called in place.
    pub came_back: Option<Duration>,
    /// The length of the chain at the spawn of the job that is being exposed.
    exposed: Option<Duration>,
    /// Activities that do not count.
    pub aside: Aside,
}

/// A guest's nesting in calls and in activities that do not count.
pub struct Within {
    calls: usize,
    aside: aside::Within,
}

impl Profile {
    /// An instance's activities do not count before it has its parameters.
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

    /// The length of the chain at the spawn of the latent job at `record`, of whichever call. If the spawn was not reported,
    /// because its call was not measured then, it counts as that call's beginning.
    fn spawned_at(&self, record: u32) -> Duration {
        match self.spawned.binary_search_by_key(&record, |(address, _)| *address) {
            Ok(at) => self.spawned[at].1,
            Err(at) => {
                let is_possible =
                    |call: &&Call| call.reported != Reported::FromBeginning && call.outer_spawns <= at;
                self.calls.iter().rev().find(is_possible).map_or(Duration::ZERO, |call| call.begin)
            }
        }
    }

    /// The innermost call has ended.
    fn end_call(&mut self) -> Option<Call> {
        let call = self.calls.pop()?;
        self.spawned.truncate(call.outer_spawns);
        Some(call)
    }

    /// The start of the chain of the job that is being exposed, if it was reported.
    pub fn take_exposed(&mut self) -> Option<Duration> {
        self.exposed.take()
    }

    /// The guest's current nesting in calls in place and in activities that do not count.
    pub fn within(&self) -> Within {
        Within { calls: self.calls.len(), aside: self.aside.within() }
    }
}

impl Guest {
    /// The calls and activities that the guest was within, except those in `kept`, have failed.
    pub fn forget_within(&mut self, kept: &Within) {
        if let Some(profile) = &mut self.profile {
            while profile.calls.len() > kept.calls {
                profile.end_call();
            }
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

/// The import `measure`: the guest reports its next event.
pub fn measure(
    mut caller: Caller<'_, Guest>,
    moment: u32,
    record: u32,
    kind: u32,
    depth: u32,
) -> wasmtime::Result<u32> {
    caller.data().refuse_while_preparing("measure")?;
    let Some(moment) = Moment::of(moment) else {
        return Err(broken(caller.data(), format!("it reports the moment {moment}, which does not exist")));
    };
    if moment == Moment::Updated {
        return note_update(&caller, record, depth);
    }
    let guest = caller.data_mut();
    // Reports of a guest that was not asked are ignored.
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
            let begin = came_back.filter(|_| record == 0).unwrap_or_else(|| {
                let outer = profile.calls.last().map_or(Duration::ZERO, |call| call.begin);
                profile.spawned_at(record).clamp(outer.min(now), now)
            });
            if profile.calls.len() >= CALLS_MAX {
                return Err(broken(guest, "it reports more calls than it can have".to_owned()));
            }
            let outer = profile.calls.last_mut().unwrap_or(&mut profile.own);
            outer.children = outer.children.saturating_add(1);
            let sibling = outer.sibling;
            let kind = kind as usize;
            let below_root = guest.job.depth_below_root().saturating_add(depth);
            let level = guest.registry.profiler().and_then(|profiler| profiler.level(kind, below_root));
            let is_worth_it = level.is_some_and(|level| level.is_worth_measuring(sibling));
            profile.calls.push(Call {
                kind,
                depth,
                reported: if is_worth_it { Reported::FromBeginning } else { Reported::No },
                begin: begin.min(now),
                parent: now,
                work,
                children: 0,
                sibling: Duration::ZERO,
                outer_spawns: profile.spawned.len(),
            });
            guest.clock.set_span(begin.min(now));
            return Ok(is_worth_it.into());
        }
        Moment::Return => {
            let Some(call) = profile.end_call() else {
                return Err(broken(guest, "it returns from a job that it has not called".to_owned()));
            };
            let took = work.saturating_sub(call.work);
            profile.calls.last_mut().unwrap_or(&mut profile.own).sibling = took;
            let mut span = now.saturating_sub(call.begin);
            if let Some(profiler) = guest.registry.profiler() {
                match call.reported {
                    Reported::No => span = profiler.likely_span(call.kind, span),
                    Reported::Late => {}
                    Reported::FromBeginning => profiler.note_measured(call.kind, took, span),
                }
                let depth = guest.job.depth_below_root().saturating_add(call.depth);
                if let Some(level) = profiler.level(call.kind, depth) {
                    level.note(took, call.children);
                }
            }
            guest.clock.set_span((call.begin + span).max(call.parent));
        }
        Moment::Expose => {
            // Its call may be any around the innermost one, whose chain may be shorter or longer.
            profile.exposed = Some(profile.spawned_at(record));
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
        // Reported above.
        Moment::Updated => {}
    }
    Ok(0)
}

/// The guest updates an object of the type with this name. The root's own updates have the same order whatever the
/// schedule.
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

/// Makes the guest report everything that it does from here on. Called at the start and at each heartbeat: a job
/// that was expected to be short may be long.
pub fn measure_all(mut store: StoreContextMut<'_, Guest>) {
    let guest = store.data_mut();
    let Some(profile) = &mut guest.profile else { return };
    if let Some(call) = profile.calls.last_mut()
        && call.reported == Reported::No
        && let Some(profiler) = guest.registry.profiler()
    {
        let (_, now) = guest.clock.total_work_and_span();
        let so_far = profiler.likely_span(call.kind, now.saturating_sub(call.begin));
        guest.clock.set_span(call.begin + so_far);
        call.reported = Reported::Late;
    }
    control_words::measure_all(store);
}

#[cfg(test)]
mod tests {
    use super::*;

    const MICRO: Duration = Duration::from_micros(1);

    #[test]
    fn a_job_begins_where_it_was_spawned_whichever_call_is_innermost() {
        let call = |reported, begin: u32, outer_spawns| Call {
            reported,
            begin: begin * MICRO,
            outer_spawns,
            ..Call::default()
        };
        let mut profile = Profile { spawned: vec![(8, MICRO), (24, 5 * MICRO)], ..Profile::new() };
        assert_eq!(profile.spawned_at(24), 5 * MICRO);
        assert_eq!(profile.spawned_at(16), Duration::ZERO, "the instance's own job reports every spawn");
        profile.calls.push(call(Reported::Late, 3, 2));
        profile.calls.push(call(Reported::FromBeginning, 4, 2));
        profile.spawned.push((64, 9 * MICRO));
        assert_eq!(profile.spawned_at(8), MICRO, "the chain of the innermost call began later");
        assert_eq!(profile.spawned_at(64), 9 * MICRO);
        assert_eq!(profile.spawned_at(40), 3 * MICRO, "before the outer call was measured");
        profile.calls.push(call(Reported::No, 7, 3));
        assert_eq!(profile.spawned_at(80), 7 * MICRO, "the innermost call is not measured");
        assert_eq!(profile.spawned_at(40), 3 * MICRO);
        profile.end_call();
        profile.end_call();
        assert_eq!(
            profile.spawned,
            [(8, MICRO), (24, 5 * MICRO)],
            "what it had spawned has been called or dropped"
        );
    }
}
