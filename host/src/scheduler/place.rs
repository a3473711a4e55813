//! The place of a job in the tree of a run that is spread over hosts.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::SeqCst};

use sateen_protocol::{Again, HeldId, JobKey, JobTag, Lineage, RuntimeJobId};

use super::keys::LazyKey;

/// The place of an exposed job.
pub struct Place {
    pub parent: Parent,
    /// Spawns below the root.
    pub depth: u32,
    /// Distinguishes the jobs of this process; older jobs have smaller numbers.
    pub sequence: u64,
    /// The job, or one above it, was begun before by a host that crashed or gave it back.
    pub redone: AtomicBool,
    /// The host gave it back, so nothing of it was lost.
    pub given_back: AtomicBool,
    /// A host had begun the job itself, as far as is known here.
    pub is_lost: AtomicBool,
    /// Its descendants down to this depth are looked up.
    pub lookup_below: AtomicU32,
    /// The number of the driver's reports of what lookups may find, up to the moment when this job became open; see
    /// `Grid::ask_first`.
    pub asked: AtomicU64,
    /// The job's number while it is elsewhere.
    number: AtomicU64,
}

/// The task or host that will sync a job.
pub enum Parent {
    /// Another host; this host holds the job under this number.
    Elsewhere { held: HeldId, key: JobKey, lineage: Lineage },
    /// A task of this host; also those of the job's ancestors that the task calls in place and that will be
    /// recorded.
    Task(Arc<Ancestry>, Vec<Arc<LazyKey>>),
}

/// A job with an instance of its own, as its children see it.
#[derive(Debug)]
pub struct Ancestry {
    pub key: JobKey,
    /// The job of another host that this job is, or is below.
    pub held: HeldId,
    /// The jobs above it.
    pub lineage: Lineage,
    pub depth: u32,
    pub redone: bool,
    /// The same as in its [`Place`].
    pub given_back: bool,
    /// The same as in its [`Place`].
    pub is_lost: bool,
    pub lookup_below: u32,
}

impl Place {
    pub fn new(parent: Parent, depth: u32, redone: bool, lookup_below: u32) -> Self {
        static SEQUENCE: AtomicU64 = AtomicU64::new(0);
        Self {
            parent,
            depth,
            sequence: SEQUENCE.fetch_add(1, SeqCst),
            redone: AtomicBool::new(redone),
            given_back: AtomicBool::new(false),
            is_lost: AtomicBool::new(false),
            lookup_below: AtomicU32::new(lookup_below),
            asked: AtomicU64::new(0),
            number: AtomicU64::new(0),
        }
    }

    /// A child that the task `parent` exposes from the depth `spawned_at` of its instance, within the calls
    /// `within`. Spawns from less than the depth `lookup_bound` are looked up. So are the child's own spawns if
    /// it is redone: if the child was not exposed before, it is in no lineage, although entries may be below
    /// it.
    pub fn below(
        parent: &Arc<Ancestry>,
        spawned_at: u32,
        within: Vec<Arc<LazyKey>>,
        redone: bool,
        lookup_bound: u32,
    ) -> Self {
        let depth = parent.depth.saturating_add(spawned_at).saturating_add(1);
        let redone = parent.redone || redone;
        let looks_up = redone && lookup_bound > 0;
        let lookup_below = if looks_up { parent.depth.saturating_add(lookup_bound) } else { 0 };
        let place = Self::new(Parent::Task(parent.clone(), within), depth, redone, lookup_below);
        place.given_back.store(parent.given_back, SeqCst);
        place
    }

    /// Gives the job a new number for its time elsewhere; no number is used twice in this process.
    pub fn number_anew(&self) -> RuntimeJobId {
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        let number = NUMBER.fetch_add(1, SeqCst);
        self.number.store(number, SeqCst);
        RuntimeJobId(number)
    }

    pub fn number(&self) -> RuntimeJobId {
        RuntimeJobId(self.number.load(SeqCst))
    }

    /// The job's key, which `compute` computes if it is not known, and the jobs above it.
    pub fn identity(&self, compute: impl FnOnce() -> JobKey) -> (JobKey, Lineage) {
        match &self.parent {
            Parent::Elsewhere { key, lineage, .. } => (*key, lineage.clone()),
            // The task comes last: the nearest job above that has an instance of its own.
            Parent::Task(parent, within) => {
                let lineage = parent.lineage.clone();
                let above = within.iter().fold(lineage, |above, key| above.child(&key.get()));
                (compute(), above.child(&parent.key))
            }
        }
    }

    /// The job as its own children see it.
    pub fn ancestry(&self, compute: impl FnOnce() -> JobKey) -> Ancestry {
        let (key, lineage) = self.identity(compute);
        let held = match &self.parent {
            Parent::Elsewhere { held, .. } => *held,
            Parent::Task(parent, _) => parent.held,
        };
        Ancestry {
            key,
            held,
            lineage,
            depth: self.depth,
            redone: self.redone.load(SeqCst),
            given_back: self.given_back.load(SeqCst),
            is_lost: self.is_lost.load(SeqCst),
            lookup_below: self.lookup_below.load(SeqCst),
        }
    }

    /// The job comes back, to be begun as `again` says. A job that was looked up was at no other host.
    pub fn come_back(&self, again: Again, was_looked_up: bool) {
        self.redone.fetch_or(again.redone, SeqCst);
        self.given_back.store(again.given_back, SeqCst);
        self.is_lost.fetch_or(again.begun && !was_looked_up, SeqCst);
        self.lookup_below.store(again.lookup_below, SeqCst);
    }

    /// The number under which this host holds the job, if the job belongs to another host.
    pub fn held(&self) -> Option<HeldId> {
        match self.parent {
            Parent::Elsewhere { held, .. } => Some(held),
            Parent::Task(..) => None,
        }
    }

    /// The job of another host that has spawned it.
    pub fn parent_elsewhere(&self) -> Option<JobTag> {
        match &self.parent {
            Parent::Elsewhere { lineage, .. } => lineage.0.last().copied(),
            Parent::Task(..) => None,
        }
    }
}

impl Ancestry {
    /// Spawns in its instance from less than this depth are looked up.
    pub fn lookup_below_within(&self) -> u32 {
        self.lookup_below.saturating_sub(self.depth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parent(redone: bool) -> Arc<Ancestry> {
        let (key, lineage) = (JobKey([1; 32]), Lineage::default());
        Arc::new(Ancestry {
            key,
            held: HeldId(1),
            lineage,
            depth: 3,
            redone,
            given_back: false,
            is_lost: false,
            lookup_below: 7,
        })
    }

    fn bound(parent: &Arc<Ancestry>, redone: bool, lookup_bound: u32) -> (u32, u32) {
        let child = Place::below(parent, 1, Vec::new(), redone, lookup_bound);
        (child.depth, child.lookup_below.load(SeqCst))
    }

    #[test]
    fn only_a_job_that_a_host_had_begun_is_lost() {
        for (begun, was_looked_up, is_lost) in
            [(false, false, false), (false, true, false), (true, true, false), (true, false, true)]
        {
            let child = Place::below(&parent(true), 1, Vec::new(), false, 0);
            child.come_back(Again { redone: true, begun, given_back: true, lookup_below: 9 }, was_looked_up);
            let seen = child.ancestry(|| JobKey([2; 32]));
            assert_eq!((seen.redone, seen.is_lost, seen.lookup_below), (true, is_lost, 9));
            // Once it was lost, it stays so.
            child.come_back(Again { redone: true, begun: false, given_back: false, lookup_below: 0 }, false);
            assert_eq!(child.ancestry(|| JobKey([2; 32])).is_lost, is_lost);
        }
    }

    /// A worker that takes the job begins a new instance, which knows only this.
    #[test]
    fn a_redone_child_looks_up_as_deep_as_its_parent() {
        let lost = parent(true);
        assert_eq!(bound(&lost, false, lost.lookup_below_within()), (5, 7));
        // A call in place may have a bound of its own.
        assert_eq!(bound(&lost, false, 9), (5, 12));
        assert_eq!(bound(&parent(false), true, 9), (5, 12));
        assert_eq!(bound(&lost, false, 0), (5, 0));
        assert_eq!(bound(&parent(false), false, 9), (5, 0));
    }
}
