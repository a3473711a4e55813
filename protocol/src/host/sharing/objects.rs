//! The shared objects of one run that a host knows.

use std::collections::BTreeMap;

use super::Sharing;
use crate::limits::{OBJECTS_PER_RUN_MAX, OBJECTS_UNMENTIONED_MAX, UNMENTIONED_BYTES_MAX};
use crate::shared::{ObjectId, Writer};
use crate::{HostId, Time};

/// A run's objects that no job here has mentioned.
#[derive(Debug, Default, Clone, Copy)]
pub struct Unmentioned {
    pub count: usize,
    /// The bytes for which their replicas are counted.
    pub bytes: u64,
}

/// The shared objects of one run.
#[derive(Debug)]
pub struct SharedObjects {
    pub(super) objects: BTreeMap<ObjectId, Sharing>,
    /// Those of the objects that no job here has mentioned.
    pub(super) unmentioned: Unmentioned,
    /// This host's logs of objects that it has forgotten, and the number of updates in each.
    logs_before: BTreeMap<ObjectId, (Writer, u64)>,
    pub(super) next_sweep: Time,
}

impl SharedObjects {
    /// Makes a set without objects.
    pub fn new(now: Time) -> Self {
        Self {
            objects: BTreeMap::new(),
            unmentioned: Unmentioned::default(),
            logs_before: BTreeMap::new(),
            next_sweep: now,
        }
    }

    /// The number of known objects.
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whether an object is known.
    pub fn contains(&self, object: ObjectId) -> bool {
        self.objects.contains_key(&object)
    }

    /// The state of an object.
    pub fn get(&self, object: ObjectId) -> Option<&Sharing> {
        self.objects.get(&object)
    }

    /// Whether another object that no job here has mentioned may be taken in, with a replica of this many bytes.
    pub fn has_room_for(&self, bytes: u64) -> bool {
        let Unmentioned { count, bytes: before } = self.unmentioned;
        count < OBJECTS_UNMENTIONED_MAX && before.saturating_add(bytes) <= UNMENTIONED_BYTES_MAX
    }

    /// Whether that host is one of the few with which this one compares a replica.
    pub fn needs(&self, host: HostId) -> bool {
        self.objects.values().any(|sharing| sharing.sharers.needs(host))
    }

    /// The number of hosts that had a replica and were given up, summed over all objects.
    pub fn former_len(&self) -> usize {
        self.objects.values().map(|sharing| sharing.sharers.former.len()).sum()
    }

    /// The number of known logs of forgotten objects.
    pub fn logs_len(&self) -> usize {
        self.logs_before.len()
    }

    /// Remembers this host's log of an object that it forgets, and the number of updates.
    pub fn keep_log(&mut self, object: ObjectId, own: (Writer, u64)) {
        if self.logs_before.len() < OBJECTS_PER_RUN_MAX || self.logs_before.contains_key(&object) {
            self.logs_before.insert(object, own);
        }
    }

    /// This host's log of an object that it has forgotten, and the number of updates.
    pub fn log_before(&self, object: ObjectId) -> Option<(Writer, u64)> {
        self.logs_before.get(&object).copied()
    }
}
