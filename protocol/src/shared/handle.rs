//! A replica that guests and the host's state machine share.
#![expect(clippy::disallowed_types, reason = "guests read and append without waiting for the machine")]

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::Replica;

/// A replica, or the place of one that has not come. Hold its lock only briefly: it is all that guests wait for when
/// they read a shared object.
///
/// This lock is the only exception to the rule that this crate has none. All guests of a host must see updates in one
/// order at once, whereas the state machine that receives and sends them learns of them later.
#[derive(Debug, Default)]
pub struct SharedReplica {
    end: AtomicU64,
    replica: Mutex<Option<Replica>>,
}

/// Compares identity, not content.
impl PartialEq for SharedReplica {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for SharedReplica {}

impl SharedReplica {
    /// Makes one that holds `replica`.
    pub fn new(replica: Replica) -> Self {
        let shared = Self::default();
        shared.with(|place| *place = Some(replica));
        shared
    }

    /// The position after the replica's last update, without taking the lock: an instance that has applied all updates
    /// up to it has nothing to catch up with. 0 while there is no replica.
    pub fn end(&self) -> u64 {
        self.end.load(Ordering::Acquire)
    }

    /// Reads or changes the replica.
    pub fn with<R>(&self, access: impl FnOnce(&mut Option<Replica>) -> R) -> R {
        let mut replica = self.replica.lock().unwrap_or_else(PoisonError::into_inner);
        let result = access(&mut replica);
        self.end.store(replica.as_ref().map_or(0, Replica::end), Ordering::Release);
        result
    }
}
