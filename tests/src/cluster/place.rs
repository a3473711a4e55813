//! How many clusters a machine runs at once: processes of many would have hardly any time each.

use std::sync::{Condvar, Mutex, PoisonError};

/// Clusters at once, unless one is alone.
const PLACES: usize = 2;

static FREE: Mutex<usize> = Mutex::new(PLACES);
static FREED: Condvar = Condvar::new();

/// A cluster's place, until it is dropped.
pub struct Place(usize);

impl Place {
    /// Waits for the place beside at most one other cluster.
    pub fn beside_one() -> Self {
        Self::take(1)
    }

    /// Waits until no other cluster has a place.
    pub fn alone() -> Self {
        Self::take(PLACES)
    }

    fn take(count: usize) -> Self {
        let free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        let mut free = FREED.wait_while(free, |free| *free < count).unwrap_or_else(PoisonError::into_inner);
        *free -= count;
        Self(count)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        *FREE.lock().unwrap_or_else(PoisonError::into_inner) += self.0;
        FREED.notify_all();
    }
}
