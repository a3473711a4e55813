//! This host's shared objects of a run: one replica of each, for all instances.
//!
//! An instance has a copy of the value in its own memory, and a position up to which it has applied the
//! replica's updates. It catches up when it reads. Guests see `changes` in a control word, and need not call
//! the host if there are no updates.
//!
//! In a portion, the host's state machine has the same replicas: it adds updates of other hosts, and is
//! notified of updates here.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, OnceLock, Weak};

use parking_lot::Mutex;
use sateen_protocol::shared::{Catchup, ObjectId, Replica, SharedReplica};
use sateen_protocol::{Bytes, HostId};

use super::tasks::TaskId;
use crate::failure::Stop;
use crate::limits::LimitExceeded;

/// Bytes counted for an object in addition to its own.
const OBJECT_BYTES: usize = 512;

/// One shared object. It lives as long as an instance, a job or a result on this host refers to it.
pub struct Object {
    /// The object's unique id in parameters and among hosts.
    pub id: ObjectId,
    /// The name that stands for the id in jobs' keys, if it differs from the id. It is the same when the job
    /// that created the object is redone after a crash, so that its jobs are the same as well.
    name: OnceLock<ObjectId>,
    pub replica: Arc<SharedReplica>,
    /// The position up to which a profile has counted applied updates as work. An instance at a position has applied
    /// all updates before it, or began with a value that another instance made of them, so the updates that count are
    /// always the first ones.
    profiled: AtomicU64,
    /// The bytes counted for it.
    counted: AtomicUsize,
    totals: Arc<Totals>,
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
    known: Mutex<HashMap<ObjectId, Weak<Object>>>,
    /// Objects that other objects mention, which only this list keeps reliably.
    kept: Mutex<HashMap<ObjectId, Arc<Object>>>,
    /// Objects that the next jobs of other hosts may mention.
    expected: Mutex<Vec<Arc<Object>>>,
    /// This host's id in updates.
    origin: AtomicU64,
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
    totals: Arc<Totals>,
}

impl Objects {
    pub fn new() -> Self {
        let mut own = [0; 8];
        // Without randomness, ids are still unique on this host.
        let _ = getrandom::fill(&mut own);
        Self {
            known: Mutex::default(),
            kept: Mutex::default(),
            expected: Mutex::default(),
            origin: AtomicU64::new(0),
            changes: AtomicU64::new(1),
            waiting: Mutex::default(),
            waiting_count: AtomicUsize::new(0),
            beats: AtomicU64::new(0),
            own,
            own_count: AtomicU64::new(0),
            totals: Arc::default(),
        }
    }

    pub fn figures(&self) -> ObjectFigures {
        let Totals { bytes, bytes_max, created, updates } = &*self.totals;
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

    /// Sets this host's id in updates.
    pub fn identify(&self, HostId(origin): HostId) {
        self.origin.store(origin, SeqCst);
    }

    /// This host's id in updates.
    pub(super) fn origin(&self) -> HostId {
        HostId(self.origin.load(SeqCst))
    }

    pub(super) fn count_created(&self) {
        self.totals.created.fetch_add(1, Relaxed);
    }

    pub(super) fn count_update(&self) {
        self.totals.updates.fetch_add(1, Relaxed);
    }

    /// The object `id`, and whether it is new here; a new one gets a replica or a place for one.
    pub(super) fn place(
        &self,
        id: ObjectId,
        replica: impl FnOnce() -> Arc<SharedReplica>,
    ) -> (Arc<Object>, bool) {
        let mut known = self.known.lock();
        if let Some(object) = known.get(&id).and_then(Weak::upgrade) {
            return (object, false);
        }
        let object = Arc::new(Object {
            id,
            name: OnceLock::new(),
            replica: replica(),
            profiled: AtomicU64::new(0),
            counted: AtomicUsize::new(0),
            totals: self.totals.clone(),
        });
        // Entries of dropped objects must not accumulate.
        if known.len() >= 64 && known.len() == known.capacity() {
            known.retain(|_, object| object.strong_count() > 0);
        }
        known.insert(id, Arc::downgrade(&object));
        (object, true)
    }

    /// A place for the replica of an object that the next job of another host may mention.
    pub fn expect(&self, id: ObjectId, replica: Arc<SharedReplica>) {
        let (object, _) = self.place(id, || replica);
        self.expected.lock().push(object);
    }

    /// The job that may mention these objects has arrived.
    pub fn forget_expected(&self) {
        self.expected.lock().clear();
    }

    /// The object `id`, if this host has it.
    pub(super) fn find(&self, id: ObjectId) -> Option<Arc<Object>> {
        self.known.lock().get(&id).and_then(Weak::upgrade)
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

    /// What an instance at `position` must do; `None` while there is no replica.
    pub fn behind(&self, object: &Object, position: u64) -> Option<Behind> {
        object.replica.with(|place| {
            let replica = place.as_ref()?;
            let (catchup, position) = replica.since(position);
            let wants_base = catchup != Catchup::Nothing && replica.wants_base();
            Some(Behind { catchup, position, wants_base })
        })
    }

    /// Takes the value of an instance at `position`.
    pub fn set_base(&self, object: &Object, position: u64, base: Bytes) {
        object.change(|place| place.as_mut().is_some_and(|replica| replica.set_base(position, base)));
    }

    /// Whether replicas exceed their limit.
    pub fn check(&self, limit: usize) -> Result<(), Stop> {
        if self.totals.bytes.load(Relaxed) > limit {
            return Err(Stop::Limit(LimitExceeded::SharedObjects { limit }));
        }
        Ok(())
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
        self.replica.end() > 0
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

    /// Changes the replica, and counts its bytes again.
    pub(super) fn change<R>(&self, act: impl FnOnce(&mut Option<Replica>) -> R) -> R {
        self.replica.with(|place| {
            let result = act(place);
            let now = OBJECT_BYTES + place.as_ref().map_or(0, Replica::bytes);
            let before = self.counted.swap(now, Relaxed);
            let totals = &self.totals;
            let total = if now >= before {
                totals.bytes.fetch_add(now - before, Relaxed) + (now - before)
            } else {
                totals.bytes.fetch_sub(before - now, Relaxed) - (before - now)
            };
            totals.bytes_max.fetch_max(total, Relaxed);
            result
        })
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        self.totals.bytes.fetch_sub(self.counted.load(Relaxed), Relaxed);
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
