//! The shared objects of one run that a host knows of.

use std::collections::BTreeMap;

use super::Sharing;
use crate::limits::{OBJECTS_PER_RUN_MAX, OBJECTS_UNMENTIONED_MAX, UNMENTIONED_BYTES_MAX};
use crate::shared::{ObjectId, Writer};
use crate::{HostId, Time};

/// A run's objects that no job here has mentioned.
#[derive(Debug, Default, Clone, Copy)]
pub struct Unmentioned {
    pub count: usize,
    /// Counted for their replicas.
    pub bytes: u64,
}

/// The shared objects of one run.
#[derive(Debug)]
pub struct SharedObjects {
    pub(super) objects: BTreeMap<ObjectId, Sharing>,
    /// Of these, those that no job here has mentioned.
    pub(super) unmentioned: Unmentioned,
    /// This host's updates of objects that it has forgotten: whose log, and how many.
    logs_before: BTreeMap<ObjectId, (Writer, u64)>,
    pub(super) next_sweep: Time,
}

impl SharedObjects {
    /// None is known.
    pub fn new(now: Time) -> Self {
        Self {
            objects: BTreeMap::new(),
            unmentioned: Unmentioned::default(),
            logs_before: BTreeMap::new(),
            next_sweep: now,
        }
    }

    /// How many are known.
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whether one is known.
    pub fn contains(&self, object: ObjectId) -> bool {
        self.objects.contains_key(&object)
    }

    /// What is known of one.
    pub fn get(&self, object: ObjectId) -> Option<&Sharing> {
        self.objects.get(&object)
    }

    /// Whether one that no job here has mentioned may come, and its replica is not too long.
    pub fn has_room_for(&self, bytes: u64) -> bool {
        let Unmentioned { count, bytes: before } = self.unmentioned;
        count < OBJECTS_UNMENTIONED_MAX && before.saturating_add(bytes) <= UNMENTIONED_BYTES_MAX
    }

    /// Whether that host is one of the few that this one compares a replica with.
    pub fn needs(&self, host: HostId) -> bool {
        self.objects.values().any(|sharing| sharing.sharers.needs(host))
    }

    /// Hosts that had a replica and were given up, by object.
    pub fn former_len(&self) -> usize {
        self.objects.values().map(|sharing| sharing.sharers.former_len()).sum()
    }

    /// How many logs of forgotten objects are known.
    pub fn logs_len(&self) -> usize {
        self.logs_before.len()
    }

    /// An object is forgotten of which this host has a log, and so many updates.
    pub fn keep_log(&mut self, object: ObjectId, own: (Writer, u64)) {
        if self.logs_before.len() < OBJECTS_PER_RUN_MAX || self.logs_before.contains_key(&object) {
            self.logs_before.insert(object, own);
        }
    }

    /// This host's log of an object that it has forgotten, and how many updates that had.
    pub fn log_before(&self, object: ObjectId) -> Option<(Writer, u64)> {
        self.logs_before.get(&object).copied()
    }
}
