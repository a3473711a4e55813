//! An exposed job and its states.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::SeqCst};
use std::time::Duration;

use parking_lot::Mutex;
use sateen_protocol::Bytes;

use super::objects::Object;
use super::place::{Ancestry, Place};
use super::tasks::TaskId;
use crate::failure::JobFailure;

/// The kind of a portion's root job, when it runs on this host.
pub const ROOT: usize = usize::MAX;

/// A job's result, and its cost.
#[derive(Clone)]
pub struct Outcome {
    /// Its encoded result, or how it failed.
    pub result: Result<Bytes, JobFailure>,
    /// The length of its chain.
    pub span: Duration,
    /// The job's own work and that of its descendants.
    pub work: Duration,
    /// The shared objects that its result mentions, which live at least until its owner has it.
    pub objects: Vec<Arc<Object>>,
}

/// The job is in a queue and not claimed. Exactly one of thief, owner and aborter claims it, which ends this
/// state.
const OPEN: u8 = 0;
/// A worker runs it in an instance of its own, or its outcome is known.
const TAKEN: u8 = 1;
/// Its owner calls it in place, or it is not wanted any more.
const GONE: u8 = 2;
/// Another host has it.
const LENT: u8 = 3;
/// Its result may be known elsewhere; the answer has not arrived yet.
const LOOKUP: u8 = 4;

/// A job that the scheduler knows of.
pub struct Job {
    /// The kind's number in the app, or [`ROOT`].
    pub kind: usize,
    /// The task that spawned it and will sync it; 0 if that is on another host.
    pub owner: TaskId,
    /// The length of its owner's chain at the spawn.
    pub exposed_at: Duration,
    /// The depth of in-place calls in its owner's instance.
    pub spawned_at: u32,
    /// Spawns below the root.
    pub depth: u32,
    /// Its place in a run of many hosts.
    pub place: Option<Place>,
    /// The shared objects that its parameters mention, which live at least as long as the job.
    pub objects: Vec<Arc<Object>>,
    state: AtomicU8,
    aborted: AtomicBool,
    /// It was looked up, and its result was known before a job above it was begun again.
    found_again: AtomicBool,
    /// The task that runs it, while taken.
    runner: AtomicU64,
    parameters: Mutex<Bytes>,
    outcome: Mutex<Option<Outcome>>,
}

impl Job {
    pub fn new(kind: usize, parameters: Bytes, owner: TaskId, exposed_at: Duration) -> Self {
        Self {
            kind,
            owner,
            exposed_at,
            spawned_at: 0,
            depth: 0,
            place: None,
            objects: Vec::new(),
            state: AtomicU8::new(OPEN),
            aborted: AtomicBool::new(false),
            found_again: AtomicBool::new(false),
            runner: AtomicU64::new(0),
            parameters: Mutex::new(parameters),
            outcome: Mutex::new(None),
        }
    }

    /// A job whose result may be known elsewhere.
    pub fn looked_up(mut self) -> Self {
        self.state = AtomicU8::new(LOOKUP);
        self
    }

    /// Whether one parent has spawned both, from the same function: a task of this host, or a job of another.
    pub fn is_sibling_of(&self, other: &Self) -> bool {
        let parent = |job: &Self| (job.owner, job.place.as_ref().and_then(Place::parent_elsewhere));
        self.kind == other.kind && parent(self) == parent(other) && parent(self) != (0, None)
    }

    /// Whether another host waits for it, and nothing but a worker is needed to begin it: it mentions no objects.
    pub fn begins_at_once_for_another_host(&self) -> bool {
        self.objects.is_empty() && self.place.as_ref().is_some_and(|place| place.held().is_some())
    }

    fn claim(&self, from: u8, to: u8) -> bool {
        self.state.compare_exchange(from, to, SeqCst, SeqCst).is_ok()
    }

    /// Claims the job for the task `runner`; returns its parameters.
    pub fn take(&self, runner: TaskId) -> Option<Bytes> {
        // If the job is aborted before the runner is known, the mark is set first, and the runner checks the
        // mark before it ever waits.
        self.claim(OPEN, TAKEN).then(|| {
            self.runner.store(runner, SeqCst);
            std::mem::take(&mut *self.parameters.lock())
        })
    }

    /// Like `take`, but the job keeps its parameters.
    pub fn take_copy(&self, runner: TaskId) -> Option<Bytes> {
        self.claim(OPEN, TAKEN).then(|| {
            self.runner.store(runner, SeqCst);
            self.parameters.lock().clone()
        })
    }

    /// The task that took the job was evicted: it is open again.
    pub fn put_back(&self) -> bool {
        self.claim(TAKEN, OPEN)
    }

    /// Claims the open job for its owner, or to drop it; returns its parameters. Its entry stays in a queue
    /// until a worker finds it.
    pub fn withdraw(&self) -> Option<Bytes> {
        self.claim(OPEN, GONE).then(|| std::mem::take(&mut *self.parameters.lock()))
    }

    /// Claims the open job for another host.
    pub fn lend(&self) -> bool {
        self.claim(OPEN, LENT)
    }

    /// Claims the open job for a lookup.
    pub fn look_up(&self) -> bool {
        self.claim(OPEN, LOOKUP)
    }

    /// The job that is elsewhere is not wanted any more.
    pub fn give_up(&self) -> bool {
        let given_up = self.claim(LENT, GONE) || self.claim(LOOKUP, GONE);
        if given_up {
            *self.parameters.lock() = Bytes::default();
        }
        given_up
    }

    /// The job that was elsewhere has an outcome; `is_found_again` if, supposing that it was looked up, this was known
    /// before a job above it was begun again.
    pub fn settle(&self, outcome: Outcome, is_found_again: bool) -> bool {
        let was_looked_up = self.claim(LOOKUP, TAKEN);
        let settled = was_looked_up || self.claim(LENT, TAKEN);
        if settled {
            self.found_again.store(was_looked_up && is_found_again, SeqCst);
            *self.parameters.lock() = Bytes::default();
            self.complete(outcome);
        }
        settled
    }

    /// The job that was elsewhere is open again.
    pub fn reopen(&self) -> bool {
        self.claim(LENT, OPEN) || self.claim(LOOKUP, OPEN)
    }

    /// Its parameters, if it has not begun.
    pub fn parameters(&self) -> Bytes {
        self.parameters.lock().clone()
    }

    pub fn is_open(&self) -> bool {
        self.state.load(SeqCst) == OPEN
    }

    pub fn is_taken(&self) -> bool {
        self.state.load(SeqCst) == TAKEN
    }

    pub fn is_gone(&self) -> bool {
        self.state.load(SeqCst) == GONE
    }

    /// Whether another host has the job, or may know its result.
    pub fn is_elsewhere(&self) -> bool {
        [LENT, LOOKUP].contains(&self.state.load(SeqCst))
    }

    pub fn is_looked_up(&self) -> bool {
        self.state.load(SeqCst) == LOOKUP
    }

    /// Whether a lookup returned a result that was known before a job above it was begun again.
    pub fn was_found_again(&self) -> bool {
        self.found_again.load(SeqCst)
    }

    /// The taken job's result is not wanted any more; returns the task that runs it.
    pub fn abort(&self) -> TaskId {
        self.aborted.store(true, SeqCst);
        self.runner.load(SeqCst)
    }

    pub fn is_aborted(&self) -> bool {
        self.aborted.load(SeqCst)
    }

    /// Whether it has an outcome that was not taken.
    pub fn is_finished(&self) -> bool {
        self.is_taken() && self.outcome.lock().is_some()
    }

    /// Takes its outcome.
    pub fn take_outcome(&self) -> Option<Outcome> {
        // Cheaper than the lock, and most of these jobs are not taken.
        if self.is_taken() { self.outcome.lock().take() } else { None }
    }

    pub fn complete(&self, outcome: Outcome) {
        *self.parameters.lock() = Bytes::default();
        *self.outcome.lock() = Some(outcome);
    }
}

/// A job that a worker has claimed, to be run in an instance of its own.
pub struct Task {
    pub id: TaskId,
    /// While set, the task does not wait behind others when it is ready.
    pub is_urgent: Arc<AtomicBool>,
    /// While set, the task repeats lost work.
    pub repeats: Arc<AtomicBool>,
    pub parameters: Bytes,
    /// In a portion of a run.
    pub ancestry: Option<Arc<Ancestry>>,
}

#[cfg(test)]
mod tests {
    use sateen_protocol::{HeldId, JobKey, Lineage};

    use super::super::place::Parent;
    use super::*;

    #[test]
    fn only_jobs_of_one_parent_and_of_one_function_are_siblings() {
        let job = |kind: usize, owner: TaskId| Job::new(kind, Bytes::default(), owner, Duration::ZERO);
        assert!(job(1, 7).is_sibling_of(&job(1, 7)));
        assert!(!job(1, 7).is_sibling_of(&job(2, 7)) && !job(1, 7).is_sibling_of(&job(1, 8)));
        assert!(!job(1, 0).is_sibling_of(&job(1, 0)), "their owners are on other hosts, and may be two");
        let held = |kind: usize, above: &[u8]| {
            let above =
                above.iter().fold(Lineage::default(), |above, byte| above.child(&JobKey([*byte; 32])));
            let parent = Parent::Elsewhere { held: HeldId(1), key: JobKey([9; 32]), lineage: above };
            let place = Some(Place::new(parent, 1, false, 0));
            Job { place, ..job(kind, 0) }
        };
        assert!(
            held(1, &[1, 2]).is_sibling_of(&held(1, &[1, 2]))
                && held(1, &[2]).is_sibling_of(&held(1, &[1, 2]))
        );
        assert!(
            !held(1, &[1]).is_sibling_of(&held(2, &[1]))
                && !held(1, &[1, 2]).is_sibling_of(&held(1, &[1, 3]))
        );
        assert!(!held(1, &[]).is_sibling_of(&held(1, &[])), "of the root's parent nothing is known");
        assert!(!held(1, &[1]).is_sibling_of(&job(1, 7)) && !job(1, 7).is_sibling_of(&held(1, &[1])));
    }
}
