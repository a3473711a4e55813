//! Activities of an instance that do not count in a profile.
//!
//! Each instance decodes its parameters, brings its replicas up to date and makes its own tables, which are not sent.
//! The number of instances depends on the schedule. The guest reports the start and end of each such activity. If the
//! guest reports (by a digest) that the result is the same in all instances, the first one counts, because it is needed
//! on one worker, too. In the same way, each update of a shared object counts where it is applied first.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::Mutex;

use super::Guest;
use super::memory::broken;
use crate::scheduler::Object;

/// Maximum distinct values that instances make for themselves; further ones count each time.
const MADE_MAX: usize = 1 << 16;
/// The digest of all that an app prepares from its inputs, which is made before any job begins.
pub const PREPARED: u64 = u64::from_le_bytes(*b"prepared");
/// Maximum objects for which an instance remembers that it applied their updates first.
const APPLIED_MAX: usize = 1 << 10;
/// Maximum nesting of such activities.
const MAKINGS_MAX: usize = 1 << 10;

/// Values that sandboxes have made for themselves, as reported by them.
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Serialize)]
pub struct PerSandbox {
    /// Different values: each counts once in work and span. Those that were prepared for all sandboxes are not included.
    pub made: u64,
    /// How often one was made again in another sandbox,
    pub again: u64,
    /// and how long that took in all, in seconds. It does not count.
    pub again_s: f64,
}

/// Values that the instances of a run have made for themselves.
#[derive(Default)]
pub struct Made {
    /// By digest, and whether a job's sandbox made it for itself, rather than for all.
    things: Mutex<HashMap<u64, bool>>,
    again: AtomicU64,
    again_ns: AtomicU64,
}

impl Made {
    /// The figures so far.
    pub fn figures(&self) -> PerSandbox {
        PerSandbox {
            made: self.things.lock().values().filter(|is_own| **is_own).count() as u64,
            again: self.again.load(Relaxed),
            again_s: self.again_ns.load(Relaxed) as f64 / 1e9,
        }
    }

    /// Whether an instance is the first to make this.
    fn is_first(&self, digest: u64, is_own: bool) -> bool {
        let mut things = self.things.lock();
        let is_known = things.contains_key(&digest);
        if !is_known && things.len() < MADE_MAX {
            things.insert(digest, is_own);
        }
        !is_known
    }
}

/// Activities of one instance that do not count.
pub struct Aside {
    /// Number of such activities that have begun and not ended.
    within: usize,
    /// Work and chain when the outermost began.
    work: Duration,
    chain: Duration,
    /// The values that it is making for itself, the innermost last.
    makings: Vec<Making>,
    /// The values that it was the first to make.
    made: Vec<u64>,
    /// The objects some of whose updates it was the first to apply, with the position before these.
    applied: Vec<(Arc<Object>, u64)>,
}

/// A guest's nesting in activities that do not count.
pub struct Within {
    within: usize,
    makings: usize,
}

/// A value that every instance makes for itself.
struct Making {
    counts: Counts,
    /// The work of the instance when it began to make the value.
    work: Duration,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Counts {
    Never,
    /// No instance has made it before.
    First,
    /// Another instance counts it.
    Again,
}

impl Aside {
    /// An instance's activities before it has its parameters do not count.
    pub fn from_the_start() -> Self {
        let (work, chain) = (Duration::ZERO, Duration::ZERO);
        Self { within: 1, work, chain, makings: Vec::new(), made: Vec::new(), applied: Vec::new() }
    }

    /// Whether the guest is within this number of activities that do not count.
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

    /// The guest's current nesting.
    pub fn within(&self) -> Within {
        Within { within: self.within, makings: self.makings.len() }
    }
}

impl Guest {
    /// Activities of the guest from here on do not count, until `end_aside`.
    pub fn begin_aside(&mut self) {
        let Some(profile) = &mut self.profile else { return };
        let Aside { within, work, chain, .. } = &mut profile.aside;
        *within += 1;
        if *within == 1 {
            (*work, *chain) = self.clock.total_work_and_span();
        }
    }

    /// Its activities since `begin_aside` do not count, once all that began have ended.
    pub fn end_aside(&mut self) {
        let Some(profile) = &mut self.profile else { return };
        let aside = &mut profile.aside;
        if aside.within == 1 {
            self.clock.set_aside(aside.work, aside.chain);
        }
        aside.within = aside.within.saturating_sub(1);
    }

    /// The job has ended, whatever it was within.
    pub fn end_all_aside(&mut self) {
        self.forget_aside(&Within { within: 0, makings: 0 });
    }

    /// The activities that the guest was within, except those in `kept`, have failed.
    pub fn forget_aside(&mut self, kept: &Within) {
        let Some(aside) = self.aside() else { return };
        aside.makings.truncate(kept.makings);
        if aside.within > kept.within {
            aside.within = kept.within + 1;
            self.end_aside();
        }
    }

    /// The instance has failed: others count the values that it was the first to make.
    pub fn forget_made(&mut self) {
        if let (Some(profile), Some(profiler)) = (&mut self.profile, self.registry.profiler()) {
            let mut things = profiler.made.things.lock();
            for digest in profile.aside.made.drain(..) {
                things.remove(&digest);
            }
        }
    }

    /// The instance was aborted, and its work does not count: others count the updates that it was the first to apply.
    pub fn forget_applied(&mut self) {
        if let Some(aside) = self.aside() {
            aside.applied.drain(..).for_each(|(object, position)| object.forget_applied(position));
        }
    }

    /// The guest begins an activity that every instance does for itself.
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

    /// The current activity is the same in all instances that report this digest.
    pub fn name_making(&mut self, digest: u64) -> wasmtime::Result<u32> {
        let (Some(profile), Some(profiler)) = (&mut self.profile, self.registry.profiler()) else {
            return Ok(0);
        };
        let Some(making) = profile.aside.makings.last_mut() else {
            return Err(broken(self, "it names something that it has not begun to make".to_owned()));
        };
        // Within another activity that does not count, others count it.
        if making.counts == Counts::Never && profile.aside.within == 1 {
            let is_own = digest != PREPARED && self.job.preparing().is_none();
            let is_first = profiler.made.is_first(digest, is_own);
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

    /// The guest has ended the activity that it began last.
    pub fn end_making(&mut self) -> wasmtime::Result<u32> {
        let (now, _) = self.clock.total_work_and_span();
        let Some(aside) = self.aside() else { return Ok(0) };
        let Some(Making { counts, work }) = aside.makings.pop() else {
            return Err(broken(self, "it has made something that it did not begin".to_owned()));
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
