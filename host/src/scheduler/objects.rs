//! This host's shared objects of a run: one view of each, for all instances.
//!
//! An instance has a copy of the value in its own memory, and a position up to which it has applied the
//! view's updates. It catches up when it reads. Guests see `changes` in a control word, and need not call
//! the host if there are no updates.
//!
//! In a portion, the host's state machine has replicas of its own. It is notified of places for objects that come and
//! go here, of updates and of new bases, and commands changes that come from other hosts.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, OnceLock, Weak};

use parking_lot::Mutex;
use sateen_protocol::shared::{Catchup, ObjectId, View};

use super::tasks::TaskId;
use crate::failure::Stop;
use crate::limits::LimitExceeded;
use crate::memory::HostMemory;

/// Bytes counted for an object in addition to its own.
const OBJECT_BYTES: usize = 512;

/// One shared object. It lives as long as an instance, a job or a result on this host refers to it.
pub struct Object {
    /// The object's unique id in parameters and among hosts.
    pub id: ObjectId,
    /// The name that stands for the id in jobs' keys, if it differs from the id. It is the same when the job
    /// that created the object is redone after a crash, so that its jobs are the same as well.
    name: OnceLock<ObjectId>,
    /// The number of this place for it: the state machine may speak of an earlier one.
    pub place: u64,
    view: Mutex<Option<View>>,
    /// The view's end, for instances that have nothing to catch up with; 0 while there is no view.
    end: AtomicU64,
    /// The position up to which a profile has counted applied updates as work. An instance at a position has applied
    /// all updates before it, or began with a value that another instance made of them, so the updates that count are
    /// always the first ones.
    profiled: AtomicU64,
    /// The bytes counted for it.
    counted: AtomicUsize,
    home: Arc<Home>,
}

/// Called when the last reference to an object is gone.
pub type Closed = Box<dyn Fn(ObjectId) + Send + Sync>;

/// What objects need of the run.
struct Home {
    known: Mutex<HashMap<ObjectId, Weak<Object>>>,
    /// In a portion, notifies the state machine.
    closed: Option<Closed>,
    totals: Totals,
    /// The host's memory, if it is limited.
    memory: Option<HostMemory>,
}

impl Home {
    /// An object takes `now` bytes instead of `before`.
    fn count(&self, before: usize, now: usize) {
        let Totals { bytes, bytes_max, .. } = &self.totals;
        if now >= before {
            let total = bytes.fetch_add(now - before, Relaxed) + (now - before);
            bytes_max.fetch_max(total, Relaxed);
        } else {
            bytes.fetch_sub(before - now, Relaxed);
        }
        if let Some(memory) = self.memory.as_ref().filter(|_| now != before) {
            memory.count_objects(before, now);
        }
    }
}

/// Figures over all objects of a run.
#[derive(Debug, Default)]
pub struct Totals {
    bytes: AtomicUsize,
    bytes_max: AtomicUsize,
    created: AtomicU64,
    updates: AtomicU64,
}

/// Figures of a run's shared objects on this host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct ObjectFigures {
    /// Objects that jobs of this host created.
    pub created: u64,
    /// Updates that jobs of this host made.
    pub updates: u64,
    /// Bytes that replicas take now.
    pub bytes: u64,
    /// The maximum of these bytes.
    pub bytes_max: u64,
}

/// The changes that an instance has not applied yet.
pub struct Behind {
    pub catchup: Catchup,
    /// The instance's position afterwards.
    pub position: u64,
    /// Whether its value is then wanted as a new base.
    pub wants_base: bool,
}

/// The outcome of an update.
pub struct Updated {
    /// If there was no change between the instance's position and the update: the position afterwards.
    pub next: Option<u64>,
    pub wants_base: bool,
}

/// All shared objects of a run.
pub struct Objects {
    home: Arc<Home>,
    /// Objects that other objects mention, which only this list keeps reliably.
    kept: Mutex<HashMap<ObjectId, Arc<Object>>>,
    /// How often any object has changed.
    changes: AtomicU64,
    /// Tasks to wake when an object changes.
    waiting: Mutex<HashSet<TaskId>>,
    waiting_count: AtomicUsize,
    /// Whether a task waits.
    beats: AtomicU64,
    /// Prefix of this process's ids, which no other process can make.
    own: [u8; 8],
    own_count: AtomicU64,
    /// The number of places so far.
    places: AtomicU64,
}

impl Objects {
    pub fn new(closed: Option<Closed>, memory: Option<HostMemory>) -> Self {
        let mut own = [0; 8];
        // Without randomness, ids are still unique on this host.
        let _ = getrandom::fill(&mut own);
        Self {
            home: Arc::new(Home { known: Mutex::default(), closed, totals: Totals::default(), memory }),
            kept: Mutex::default(),
            changes: AtomicU64::new(1),
            waiting: Mutex::default(),
            waiting_count: AtomicUsize::new(0),
            beats: AtomicU64::new(0),
            own,
            own_count: AtomicU64::new(0),
            places: AtomicU64::new(0),
        }
    }

    pub fn figures(&self) -> ObjectFigures {
        let Totals { bytes, bytes_max, created, updates } = &self.home.totals;
        ObjectFigures {
            created: created.load(Relaxed),
            updates: updates.load(Relaxed),
            bytes: bytes.load(Relaxed) as u64,
            bytes_max: bytes_max.load(Relaxed) as u64,
        }
    }

    /// A new unique id.
    pub(super) fn unique_id(&self) -> ObjectId {
        let mut id = [0; 16];
        id[..8].copy_from_slice(&self.own);
        id[8..].copy_from_slice(&self.own_count.fetch_add(1, Relaxed).to_le_bytes());
        ObjectId(id)
    }

    pub(super) fn count_created(&self) {
        self.home.totals.created.fetch_add(1, Relaxed);
    }

    pub(super) fn count_update(&self) {
        self.home.totals.updates.fetch_add(1, Relaxed);
    }

    /// The object `id`. If it is new here, it gets a place, which is announced before the object can be found or gone.
    pub(super) fn place(&self, id: ObjectId, announce: impl FnOnce(&Object)) -> Arc<Object> {
        let mut known = self.home.known.lock();
        if let Some(object) = known.get(&id).and_then(Weak::upgrade) {
            return object;
        }
        let object = Arc::new(Object {
            id,
            name: OnceLock::new(),
            place: self.places.fetch_add(1, Relaxed),
            view: Mutex::default(),
            end: AtomicU64::new(0),
            profiled: AtomicU64::new(0),
            counted: AtomicUsize::new(0),
            home: self.home.clone(),
        });
        known.insert(id, Arc::downgrade(&object));
        announce(&object);
        object
    }

    /// The object `id`, if this host has it.
    pub(super) fn find(&self, id: ObjectId) -> Option<Arc<Object>> {
        self.home.known.lock().get(&id).and_then(Weak::upgrade)
    }

    /// Keeps these objects to the end, because another object mentions them.
    pub fn keep(&self, mentioned: Vec<Arc<Object>>) {
        if !mentioned.is_empty() {
            self.kept.lock().extend(mentioned.into_iter().map(|object| (object.id, object)));
        }
    }

    /// How often any object has changed.
    pub fn changes(&self) -> u64 {
        self.changes.load(SeqCst)
    }

    /// Notes that an object has changed.
    pub(super) fn note_change(&self) {
        self.changes.fetch_add(1, SeqCst);
    }

    /// What an instance at `position` must do; `None` while there is no view.
    pub fn behind(&self, object: &Object, position: u64) -> Option<Behind> {
        if position > 0 && object.end.load(SeqCst) == position {
            return Some(Behind { catchup: Catchup::Nothing, position, wants_base: false });
        }
        let view = object.view.lock();
        let view = view.as_ref()?;
        let (catchup, position) = view.since(position);
        let wants_base = catchup != Catchup::Nothing && view.wants_base();
        Some(Behind { catchup, position, wants_base })
    }

    /// Whether the run's replicas exceed their limit, or those of all runs the host's memory.
    pub fn check(&self, limit: usize) -> Result<(), Stop> {
        if self.home.totals.bytes.load(Relaxed) > limit {
            return Err(Stop::Limit(LimitExceeded::SharedObjects { limit }));
        }
        let has_room = self.home.memory.as_ref().is_none_or(HostMemory::has_room_beside_objects);
        if has_room { Ok(()) } else { Err(Stop::Evicted) }
    }

    pub fn is_anybody_waiting(&self) -> bool {
        self.waiting_count.load(SeqCst) > 0
    }

    /// Lets the task wait for a change of any object, until this is dropped.
    pub fn wait(&self, task: TaskId) -> Waiting<'_> {
        self.waiting.lock().insert(task);
        self.waiting_count.fetch_add(1, SeqCst);
        Waiting(self, task)
    }

    /// Called at every beat. Returns true at regular intervals while tasks wait, for them to check the time.
    pub fn is_time_to_look(&self) -> bool {
        const BEATS: u64 = 20;
        self.is_anybody_waiting() && self.beats.fetch_add(1, Relaxed).is_multiple_of(BEATS)
    }

    /// Takes the tasks that wait for a change, to wake them.
    pub fn waiting(&self) -> Vec<TaskId> {
        self.waiting.lock().iter().copied().collect()
    }
}

impl Object {
    /// The name that stands for the object's id in keys.
    pub fn name(&self) -> ObjectId {
        *self.name.get().unwrap_or(&self.id)
    }

    /// Sets the object's name in keys, which came from the host that sent a job that mentions it.
    pub fn set_name(&self, name: ObjectId) {
        // It already has a name, which is the same.
        let _ = self.name.set(name);
    }

    /// Whether a replica has arrived, or was created here.
    pub fn has_replica(&self) -> bool {
        self.end.load(SeqCst) > 0
    }

    /// Whether too many updates are in transit to the state machine: guests that want to make more wait.
    pub fn is_crowded(&self) -> bool {
        self.view.lock().as_ref().is_some_and(View::is_crowded)
    }

    /// An instance applies the updates up to `position`, which counts as work for updates that no other has applied.
    /// Returns the position up to which others have.
    pub fn count_applied(&self, position: u64) -> u64 {
        self.profiled.fetch_max(position, SeqCst)
    }

    /// The updates that an instance has applied from `position` on do not count after all: other instances will
    /// count them.
    pub fn forget_applied(&self, position: u64) {
        self.profiled.fetch_min(position, SeqCst);
    }

    /// Changes the view, and counts its bytes again.
    pub(super) fn change<R>(&self, act: impl FnOnce(&mut Option<View>) -> R) -> R {
        let mut view = self.view.lock();
        let result = act(&mut view);
        self.end.store(view.as_ref().map_or(0, View::end), SeqCst);
        let now = OBJECT_BYTES + view.as_ref().map_or(0, View::bytes);
        let before = self.counted.swap(now, Relaxed);
        drop(view);
        self.home.count(before, now);
        result
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        self.home.count(self.counted.load(Relaxed), 0);
        let mut known = self.home.known.lock();
        // It may have got another place meanwhile.
        if known.get(&self.id).is_some_and(|current| std::ptr::eq(current.as_ptr(), self)) {
            known.remove(&self.id);
            if let Some(closed) = &self.home.closed {
                closed(self.id);
            }
        }
    }
}

/// A task that waits for a change of an object.
pub struct Waiting<'a>(&'a Objects, TaskId);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.lock().remove(&self.1);
        self.0.waiting_count.fetch_sub(1, SeqCst);
    }
}
