//! A replica between guests and the host's machine.
#![expect(clippy::disallowed_types, reason = "guests read and append without waiting for the machine")]

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::Replica;

/// A replica, or the place where one will be. Whoever holds it for the shortest while is right: guests
/// wait for nothing else when they read a shared object.
///
/// The lock is the one exception to this crate's rule of none. Updates must be in one order for all guests
/// of a host, at once, while the machine that receives and ships them is told of them later.
#[derive(Debug, Default)]
pub struct SharedReplica {
    end: AtomicU64,
    replica: Mutex<Option<Replica>>,
}

/// The same one, not one that is alike.
impl PartialEq for SharedReplica {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for SharedReplica {}

impl SharedReplica {
    /// With a replica in it.
    pub fn new(replica: Replica) -> Self {
        let shared = Self::default();
        shared.with(|place| *place = Some(replica));
        shared
    }

    /// Where the replica ends, without taking the lock: an instance that has applied it up to there has
    /// nothing to catch up with. 0 while there is none.
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
