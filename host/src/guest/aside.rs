//! What an instance does and what does not count in a profile.
//!
//! Each instance decodes its parameters, brings its replicas up to date and makes tables for itself that do not travel. How
//! many instances there are follows from the schedule. The guest tells when it begins with such a thing and when it ends. Of
//! what it says to be the same in all instances (by a digest), the first to be made counts: on one worker it is made, too.
//! So it is with the updates of a shared object: each counts where it is applied first.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::Mutex;

use super::Guest;
use super::memory::broken;
use crate::scheduler::Object;

/// Things that instances make for themselves and that are told apart; more count each time.
const MADE_MAX: usize = 1 << 16;
/// Objects of whose updates one instance remembers that it was the first to apply them.
const APPLIED_MAX: usize = 1 << 10;
/// Such things that are made within one another.
const MAKINGS_MAX: usize = 1 << 10;

/// What sandboxes have made for themselves, as they said.
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Serialize)]
pub struct PerSandbox {
    /// Different things: each counts once in work and span.
    pub made: u64,
    /// How often one was made again in another sandbox,
    pub again: u64,
    /// and how long that took in all, in seconds. It does not count.
    pub again_s: f64,
}

/// What the instances of a run have made for themselves.
#[derive(Default)]
pub struct Made {
    /// By digest.
    things: Mutex<HashSet<u64>>,
    again: AtomicU64,
    again_ns: AtomicU64,
}

impl Made {
    /// What was made so far.
    pub fn figures(&self) -> PerSandbox {
        PerSandbox {
            made: self.things.lock().len() as u64,
            again: self.again.load(Relaxed),
            again_s: self.again_ns.load(Relaxed) as f64 / 1e9,
        }
    }

    /// Whether an instance is the first to make this.
    fn is_first(&self, digest: u64) -> bool {
        let mut things = self.things.lock();
        things.len() >= MADE_MAX || things.insert(digest)
    }
}

/// What one instance does and what does not count.
pub struct Aside {
    /// Times it has begun with such a thing and not ended.
    within: usize,
    /// Work and chain when the outermost began.
    work: Duration,
    chain: Duration,
    /// What it is making for itself, the innermost last.
    makings: Vec<Making>,
    /// What it was the first to make.
    made: Vec<u64>,
    /// The objects some of whose updates it was the first to apply, with the position before these.
    applied: Vec<(Arc<Object>, u64)>,
}

/// How far a guest was within what does not count.
pub struct Within {
    within: usize,
    makings: usize,
}

/// Something that every instance makes for itself.
struct Making {
    counts: Counts,
    /// The work of the instance when it began with it.
    work: Duration,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Counts {
    Never,
    /// Nobody has made it before.
    First,
    /// Another instance counts it.
    Again,
}

impl Aside {
    /// What an instance does before it has its parameters does not count.
    pub fn from_the_start() -> Self {
        let (work, chain) = (Duration::ZERO, Duration::ZERO);
        Self { within: 1, work, chain, makings: Vec::new(), made: Vec::new(), applied: Vec::new() }
    }

    /// Whether the number of things that do not count, and that the guest is within, is this one.
    pub fn is_within(&self, things: usize) -> bool {
        self.within == things
    }

    /// The guest is the first to apply the updates of `object` from `position` on.
    pub fn note_applied(&mut self, object: &Arc<Object>, position: u64) {
        let is_known = self.applied.iter().any(|(known, _)| Arc::ptr_eq(known, object));
        if !is_known && self.applied.len() < APPLIED_MAX {
            self.applied.push((object.clone(), position));
        }
    }

    /// How far the guest is within it.
    pub fn within(&self) -> Within {
        Within { within: self.within, makings: self.makings.len() }
    }
}

impl Guest {
    /// What the guest does from here on does not count, until `end_aside`.
    pub fn begin_aside(&mut self) {
        let Some(profile) = &mut self.profile else { return };
        let Aside { within, work, chain, .. } = &mut profile.aside;
        *within += 1;
        if *within == 1 {
            (*work, *chain) = self.clock.total_work_and_span();
        }
    }

    /// What it did since `begin_aside` does not count, once all that was begun has ended.
    pub fn end_aside(&mut self) {
        let Some(profile) = &mut self.profile else { return };
        let aside = &mut profile.aside;
        if aside.within == 1 {
            self.clock.set_aside(aside.work, aside.chain);
        }
        aside.within = aside.within.saturating_sub(1);
    }

    /// The job has come to its end, whatever it was within.
    pub fn end_all_aside(&mut self) {
        self.forget_aside(&Within { within: 0, makings: 0 });
    }

    /// What the guest was within and `kept` was not has come to a bad end.
    pub fn forget_aside(&mut self, kept: &Within) {
        let Some(aside) = self.aside() else { return };
        aside.makings.truncate(kept.makings);
        if aside.within > kept.within {
            aside.within = kept.within + 1;
            self.end_aside();
        }
    }

    /// The instance has come to a bad end: others count what it was the first to make.
    pub fn forget_made(&mut self) {
        if let (Some(profile), Some(profiler)) = (&mut self.profile, self.registry.profiler()) {
            let mut things = profiler.made.things.lock();
            for digest in profile.aside.made.drain(..) {
                things.remove(&digest);
            }
        }
    }

    /// The instance was aborted, and what it did counts nowhere: others count the updates that it was the first to apply.
    pub fn forget_applied(&mut self) {
        if let Some(aside) = self.aside() {
            aside.applied.drain(..).for_each(|(object, position)| object.forget_applied(position));
        }
    }

    /// The guest begins with what every instance does for itself.
    pub fn begin_making(&mut self) -> wasmtime::Result<u32> {
        let (work, _) = self.clock.total_work_and_span();
        let Some(aside) = self.aside() else { return Ok(0) };
        if aside.makings.len() >= MAKINGS_MAX {
            return Err(broken(self, "it makes too many things within one another".to_owned()));
        }
        aside.makings.push(Making { counts: Counts::Never, work });
        self.begin_aside();
        Ok(0)
    }

    /// What it has begun with is the same in all instances that name this digest.
    pub fn name_making(&mut self, digest: u64) -> wasmtime::Result<u32> {
        let (Some(profile), Some(profiler)) = (&mut self.profile, self.registry.profiler()) else {
            return Ok(0);
        };
        let Some(making) = profile.aside.makings.last_mut() else {
            return Err(broken(self, "it names what it has not begun to make".to_owned()));
        };
        // Within what does not count anyway it is for others to count it.
        if making.counts == Counts::Never && profile.aside.within == 1 {
            let is_first = profiler.made.is_first(digest);
            making.counts = if is_first { Counts::First } else { Counts::Again };
            if is_first {
                if profile.aside.made.len() < MADE_MAX {
                    profile.aside.made.push(digest);
                }
                self.end_aside();
            }
        }
        Ok(0)
    }

    /// The guest has made what it began with last.
    pub fn end_making(&mut self) -> wasmtime::Result<u32> {
        let (now, _) = self.clock.total_work_and_span();
        let Some(aside) = self.aside() else { return Ok(0) };
        let Some(Making { counts, work }) = aside.makings.pop() else {
            return Err(broken(self, "it has made what it did not begin".to_owned()));
        };
        if let (Counts::Again, Some(profiler)) = (counts, self.registry.profiler()) {
            let took_ns = u64::try_from(now.saturating_sub(work).as_nanos()).unwrap_or(u64::MAX);
            profiler.made.again.fetch_add(1, Relaxed);
            profiler.made.again_ns.fetch_add(took_ns, Relaxed);
        }
        if counts != Counts::First {
            self.end_aside();
        }
        Ok(0)
    }

    fn aside(&mut self) -> Option<&mut Aside> {
        self.profile.as_mut().map(|profile| &mut profile.aside)
    }
}
