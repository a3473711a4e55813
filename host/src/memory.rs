//! The budget of memory for the guests of all runs together.
//!
//! Each instance has a [`Claim`] on the budget, which grows with the instance's memory. When the budget is used
//! up, the app does not fail. Instead, the instance that asks for more is *evicted*: it is thrown away, and its
//! job is open again, so that its owner may call it in place, or a worker may take it that finds room later. The
//! work since the start of the instance is done again, except what was recorded.
//!
//! *Why this ends.* The oldest instance of the process is never evicted; if there is no room for it, the youngest
//! ones make room. So the oldest instance always continues, unless it waits. It may wait for a job that another
//! instance runs. That instance is younger: it continues or is evicted, and then the oldest calls the job in place.
//! Or it may wait for a job on another host. A host that evicts another host's job gives the job back at once; if
//! it finds no room to begin the job, it gives the job back after a while.
//!
//! The budget counts linear memories and tables when they grow, replicas of shared objects, images of prepared instances,
//! results as long as they wait to be delivered, and the memory of a compiler while it runs. Results and compilers disappear by
//! themselves, so even the oldest instance waits for them. Other memory (stacks, what pools keep for the next instance) is
//! measured: a thread checks the resident memory of the process. What is resident and does not count leaves less room for
//! the rest, and instances are evicted when all of it exceeds the limit. What instances share of an image counts there once
//! for each of them, as if it were copied.

mod borrowed;
mod kept;
mod measured;
mod passing;
mod resident;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Weak};
use std::time::Instant;

use parking_lot::Mutex;
use sateen_protocol::limits::PARCEL_BYTES_MIN;

use crate::limits::{HOST_OVERHEAD_BYTES, RESIDENT_LOOK, STANDSTILL_MAX};
use crate::scheduler::TaskId;

use borrowed::Borrowed;
pub use borrowed::{COPIES_OF_OBJECTS, Lease, MemoryNews};
pub use kept::Kept;
use passing::COPIES_OF_RESULT;
pub use resident::{resident_bytes, warn_unless_known};

/// A run whose guests claim memory.
pub(crate) trait Run: Send + Sync + 'static {
    /// Makes this evicted task notice its eviction.
    fn wake(&self, task: TaskId);
    /// There was no room, but there may be some now.
    fn look_for_room(&self);
}

/// The budget of a process. Clones share it.
#[derive(Clone)]
pub struct HostMemory(Arc<Budget>);

impl std::fmt::Debug for HostMemory {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("HostMemory").field(&self.0.bytes_max).finish()
    }
}

struct Budget {
    /// What one instance may have at most, and all together unless less is borrowed.
    bytes_max: usize,
    /// The part of a host's memory that this process has, if that is in another process.
    borrowed: Option<Borrowed>,
    /// Claimed by instances.
    claimed: AtomicUsize,
    /// Results in transit from the portions to the driver.
    passing: AtomicUsize,
    /// Results and parcels that the driver keeps until they are delivered.
    undelivered: AtomicUsize,
    /// Replicas of shared objects, all copies of them.
    objects: AtomicUsize,
    /// Resident memory of the process that compiles a module.
    compiling: AtomicUsize,
    /// Resident memory at the last measurement that does not count: stacks, what pools keep, and the like.
    uncounted: AtomicUsize,
    claims: Mutex<Claims>,
    runs: Mutex<Vec<Weak<dyn Run>>>,
    /// There was no room for an instance, or a run must look again for another reason.
    is_short: AtomicBool,
    /// When an instance last began, grew or ended.
    moved: Mutex<Instant>,
}

#[derive(Default)]
struct Claims {
    next: u64,
    /// Instances by age, the oldest first.
    living: BTreeMap<u64, Arc<Living>>,
}

struct Living {
    bytes: AtomicUsize,
    is_evicted: AtomicBool,
    run: Weak<dyn Run>,
    task: TaskId,
}

/// An instance's share, returned when dropped.
pub struct Claim {
    budget: Arc<Budget>,
    number: u64,
    living: Arc<Living>,
}

/// There is no room for more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoRoom;

impl HostMemory {
    /// A budget of `bytes_max`, and a thread that compares it with the resident memory.
    ///
    /// # Errors
    /// If a thread cannot be started.
    pub fn bounded(bytes_max: usize) -> std::io::Result<Self> {
        warn_unless_known();
        let memory = Self::unwatched(bytes_max);
        let budget = Arc::downgrade(&memory.0);
        std::thread::Builder::new().name("sateen-memory".to_owned()).spawn(move || {
            while let Some(budget) = budget.upgrade() {
                if let Some(resident) = resident_bytes("self") {
                    budget.see(resident.saturating_sub(HOST_OVERHEAD_BYTES));
                }
                budget.look_after_runs();
                drop(budget);
                std::thread::sleep(RESIDENT_LOOK);
            }
        })?;
        Ok(memory)
    }

    /// A budget that is not compared with this process's memory: for a host whose guests are in other processes.
    pub fn unwatched(bytes_max: usize) -> Self {
        Self::with(bytes_max, None)
    }

    fn with(bytes_max: usize, borrowed: Option<Borrowed>) -> Self {
        Self(Arc::new(Budget {
            bytes_max,
            borrowed,
            claimed: AtomicUsize::new(0),
            passing: AtomicUsize::new(0),
            undelivered: AtomicUsize::new(0),
            objects: AtomicUsize::new(0),
            compiling: AtomicUsize::new(0),
            uncounted: AtomicUsize::new(0),
            claims: Mutex::default(),
            runs: Mutex::default(),
            is_short: AtomicBool::new(false),
            moved: Mutex::new(Instant::now()),
        }))
    }

    /// The budget of all guests together, in bytes.
    pub fn bytes_max(&self) -> usize {
        self.0.bytes_max
    }

    /// Adds a run, which is notified when there is room again.
    pub(crate) fn add_run<R: Run>(&self, run: &Arc<R>) {
        let mut runs = self.0.runs.lock();
        runs.retain(|run| run.strong_count() > 0);
        runs.push(Arc::<R>::downgrade(run));
    }

    /// Whether an instance that will take about `bytes` may begin: there is room for it, or all instances have
    /// stood still for a while. Resident memory need not shrink when instances end, and all instances may wait
    /// for a job that has not begun.
    pub(crate) fn may_begin(&self, bytes: usize) -> bool {
        let is_still = || self.0.moved.lock().elapsed() >= STANDSTILL_MAX;
        self.has_room_for(bytes) || (self.0.has_room_beside_passing(bytes) && is_still())
    }

    /// Whether there is room for `bytes` more. If there is no instance at all, there is room for one, unless
    /// results that will be delivered soon take that room.
    pub(crate) fn has_room_for(&self, bytes: usize) -> bool {
        let used = self.0.used();
        let has_room = used.saturating_add(bytes) <= self.0.most()
            || (self.0.is_first()
                && self.0.has_room_beside_passing(bytes)
                && self.0.claims.lock().living.is_empty());
        if !has_room {
            self.0.ask_for(used.saturating_add(bytes));
            self.look_again();
        }
        has_room
    }

    /// Replicas of shared objects take `now` bytes instead of `before`. The youngest instances make room.
    pub(crate) fn count_objects(&self, before: usize, now: usize) {
        let [before, now] = [before, now].map(|bytes| bytes.saturating_mul(self.0.copies_of_objects()));
        if now > before {
            self.0.objects.fetch_add(now - before, SeqCst);
            self.0.evict_excess();
        } else {
            self.0.objects.fetch_sub(before - now, SeqCst);
        }
    }

    /// Whether the replicas of all runs leave any room.
    pub(crate) fn has_room_beside_objects(&self) -> bool {
        self.0.objects.load(SeqCst) < self.0.bytes_max
    }

    /// Makes runs look for room soon.
    pub(crate) fn look_again(&self) {
        self.0.is_short.store(true, SeqCst);
    }

    /// The claim of a new instance, which is empty.
    pub(crate) fn claim<R: Run>(&self, run: &Arc<R>, task: TaskId) -> Claim {
        self.claim_for(Arc::<R>::downgrade(run), task)
    }

    /// A claim of no run.
    #[cfg(test)]
    pub(crate) fn claim_for_test(&self) -> Claim {
        self.claim_for(Weak::<tests::NoRun>::new(), 0)
    }

    fn claim_for(&self, run: Weak<dyn Run>, task: TaskId) -> Claim {
        let living =
            Arc::new(Living { bytes: AtomicUsize::new(0), is_evicted: AtomicBool::new(false), run, task });
        let mut claims = self.0.claims.lock();
        let number = claims.next;
        claims.next += 1;
        claims.living.insert(number, living.clone());
        self.0.note_move();
        Claim { budget: self.0.clone(), number, living }
    }
}

/// Whether an instance was evicted.
pub struct Eviction(Arc<Living>);

impl Eviction {
    pub fn has_come(&self) -> bool {
        self.0.is_evicted.load(SeqCst)
    }
}

impl Claim {
    /// The instance's memory grows to `bytes`.
    ///
    /// # Errors
    /// If there is no room; the instance must be thrown away.
    pub fn grow_to(&self, bytes: usize) -> Result<(), NoRoom> {
        let more = bytes.saturating_sub(self.living.bytes.load(SeqCst));
        if !(self.budget.take(more) || self.budget.borrow(more) && self.budget.take(more)) {
            let mut claims = self.budget.claims.lock();
            let is_oldest = claims.oldest() == Some(self.number) && self.budget.is_first();
            if !is_oldest || !self.budget.has_room_beside_passing(self.bytes() + more) {
                self.living.is_evicted.store(true, SeqCst);
                return Err(NoRoom);
            }
            // The others go now, and their memory soon after.
            self.budget.claimed.fetch_add(more, SeqCst);
            let evicted = claims.evict(self.budget.counted().saturating_sub(self.budget.most()), true);
            drop(claims);
            wake(&evicted);
        }
        self.living.bytes.fetch_add(more, SeqCst);
        self.budget.note_move();
        Ok(())
    }

    /// The instance's result, of `bytes`, is copied out of it, and will pass to the driver. A small one has room made for it, as
    /// the instance is done. A large one needs room as a memory that grows does: it will be kept until it is delivered, and
    /// nothing could be evicted then.
    ///
    /// # Errors
    /// If there is no room; the instance must be thrown away.
    pub fn add_result(&self, bytes: usize) -> Result<(), NoRoom> {
        if bytes >= PARCEL_BYTES_MIN {
            return self.grow_to(self.bytes().saturating_add(bytes.saturating_mul(COPIES_OF_RESULT)));
        }
        self.budget.claimed.fetch_add(bytes, SeqCst);
        self.living.bytes.fetch_add(bytes, SeqCst);
        self.budget.evict_excess();
        Ok(())
    }

    /// Whether the instance must be thrown away to make room.
    pub fn is_evicted(&self) -> bool {
        self.living.is_evicted.load(SeqCst)
    }

    /// The instance's eviction, for those that see to it.
    pub fn eviction(&self) -> Eviction {
        Eviction(self.living.clone())
    }

    /// The size of the claim, in bytes.
    pub fn bytes(&self) -> usize {
        self.living.bytes.load(SeqCst)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.budget.claims.lock().living.remove(&self.number);
        self.budget.claimed.fetch_sub(self.living.bytes.load(SeqCst), SeqCst);
        self.budget.note_move();
    }
}

impl Claims {
    /// The number of the oldest instance.
    fn oldest(&self) -> Option<u64> {
        self.living.first_key_value().map(|(number, _)| *number)
    }

    /// Evicts the youngest instances that together have `bytes`, but not the oldest if that is kept.
    fn evict(&mut self, bytes: usize, keeps_oldest: bool) -> Vec<Arc<Living>> {
        let mut missing = bytes;
        let mut evicted = Vec::new();
        for living in self.living.values().skip(usize::from(keeps_oldest)).rev() {
            if missing == 0 {
                break;
            }
            missing = missing.saturating_sub(living.bytes.load(SeqCst));
            if !living.is_evicted.swap(true, SeqCst) {
                evicted.push(living.clone());
            }
        }
        evicted
    }
}

impl Budget {
    fn note_move(&self) {
        *self.moved.lock() = Instant::now();
    }

    /// What counts beside the claims.
    fn unclaimed(&self) -> usize {
        self.passing().saturating_add(self.objects.load(SeqCst))
    }

    fn counted(&self) -> usize {
        self.claimed.load(SeqCst).saturating_add(self.unclaimed())
    }

    /// Whether an instance with `bytes` fits if there is no other. It always does if no memory will be freed by
    /// itself.
    fn has_room_beside_passing(&self, bytes: usize) -> bool {
        let passing = self.passing();
        passing == 0 || passing.saturating_add(bytes) <= self.most()
    }

    fn take(&self, bytes: usize) -> bool {
        let most = self.most().saturating_sub(self.unclaimed() + self.uncounted.load(SeqCst));
        let fits =
            |claimed: usize| claimed.checked_add(bytes).filter(|claimed| *claimed <= most || bytes == 0);
        self.claimed.fetch_update(SeqCst, SeqCst, fits).is_ok()
    }

    /// Evicts the youngest if more memory is counted than allowed.
    fn evict_excess(&self) {
        let counted = self.counted();
        let excess = counted.saturating_sub(self.most());
        if excess > 0 && self.ask_for(counted) {
            self.evict(excess);
        }
    }

    /// Runs that found no room look again.
    fn look_after_runs(&self) {
        if self.is_short.swap(false, SeqCst) {
            let runs: Vec<Arc<dyn Run>> = self.runs.lock().iter().filter_map(Weak::upgrade).collect();
            for run in runs {
                run.look_for_room();
            }
        }
    }
}

/// Evicted instances stop at their next heartbeat, or now if they wait.
fn wake(evicted: &[Arc<Living>]) {
    for living in evicted {
        if let Some(run) = living.run.upgrade() {
            run.wake(living.task);
        }
    }
}

#[cfg(test)]
mod tests;
