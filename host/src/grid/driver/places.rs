//! Places for portions. Each portion maps memory for its sandboxes, and the system limits how many mappings a process
//! has. A run that ends frees its place only when its portion is gone. Otherwise, a submitter who cancels hundreds of
//! runs would make a host create portions faster than it can take them down.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use sateen_protocol::limits::RUNS_ACTIVE_MAX;

/// Maximum portions of a process, those that are being made or taken down included.
const PORTIONS_MAX: usize = RUNS_ACTIVE_MAX + 2;
/// How often somebody who waits checks whether that is still wanted.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The places of a process.
#[derive(Debug, Default)]
pub struct Places {
    taken: Mutex<usize>,
    freed: Condvar,
}

/// A portion's place, which is free again when this is dropped.
#[derive(Debug)]
pub struct Place(Arc<Places>);

impl Places {
    /// Waits for a free place; `None` if it is not wanted any more.
    pub fn wait(self: &Arc<Self>, is_unwanted: impl Fn() -> bool) -> Option<Place> {
        let mut taken = self.taken.lock();
        while *taken >= PORTIONS_MAX {
            if is_unwanted() {
                return None;
            }
            self.freed.wait_for(&mut taken, LOOK_EVERY);
        }
        *taken += 1;
        Some(Place(Arc::clone(self)))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        *self.0.taken.lock() -= 1;
        self.0.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_more_portion_waits_until_another_is_gone() {
        let places = Arc::new(Places::default());
        let mut all: Vec<Place> =
            (0..PORTIONS_MAX).map(|_| places.wait(|| true).expect("there is room")).collect();
        assert!(places.wait(|| true).is_none(), "nobody wants it any more");
        let waits = std::thread::spawn({
            let places = Arc::clone(&places);
            move || places.wait(|| false).is_some()
        });
        std::thread::sleep(3 * LOOK_EVERY);
        assert!(!waits.is_finished());
        all.pop();
        assert!(waits.join().expect("it ends"));
        assert_eq!(*places.taken.lock(), PORTIONS_MAX - 1, "it has given the place back");
    }
}
