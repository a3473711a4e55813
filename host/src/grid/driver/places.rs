//! Places for portions. Each portion maps memory for its sandboxes, and the system limits how many mappings a process
//! has. A run that ends frees its place only when its portion is gone. Otherwise, a submitter who cancels hundreds of
//! runs would make a host create portions faster than it can take them down.

use std::sync::Arc;

use parking_lot::{Condvar, Mutex};
use sateen_protocol::limits::RUNS_ACTIVE_MAX;

/// Maximum portions of a process, those that are being made or taken down included.
const PORTIONS_MAX: usize = RUNS_ACTIVE_MAX + 2;

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
    /// Waits for a free place; `None` if it is not wanted any more. After that has changed, call
    /// [`look_again`](Self::look_again).
    pub fn wait(self: &Arc<Self>, is_unwanted: impl Fn() -> bool) -> Option<Place> {
        let mut taken = self.taken.lock();
        while *taken >= PORTIONS_MAX {
            if is_unwanted() {
                return None;
            }
            self.freed.wait(&mut taken);
        }
        *taken += 1;
        Some(Place(Arc::clone(self)))
    }

    /// Those that wait check whether that is still wanted. Their threads would otherwise be as many as the runs that a
    /// submitter has cancelled.
    pub fn look_again(&self) {
        // With the lock, nobody is between the check and the wait, where this would not be noticed.
        let _taken = self.taken.lock();
        self.freed.notify_all();
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        *self.0.taken.lock() -= 1;
        // One of those that wait may not want it any more.
        self.0.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
    use std::time::Duration;

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
        std::thread::sleep(Duration::from_millis(50));
        assert!(!waits.is_finished());
        all.pop();
        assert!(waits.join().expect("it ends"));
        assert_eq!(*places.taken.lock(), PORTIONS_MAX - 1, "it has given the place back");
    }

    #[test]
    fn a_load_that_is_not_wanted_any_more_does_not_wait() {
        let places = Arc::new(Places::default());
        let _all: Vec<Place> =
            (0..PORTIONS_MAX).map(|_| places.wait(|| true).expect("there is room")).collect();
        let is_cancelled = Arc::new(AtomicBool::new(false));
        let waits = std::thread::spawn({
            let (places, is_cancelled) = (Arc::clone(&places), Arc::clone(&is_cancelled));
            move || places.wait(|| is_cancelled.load(SeqCst)).is_none()
        });
        std::thread::sleep(Duration::from_millis(50));
        assert!(!waits.is_finished());
        is_cancelled.store(true, SeqCst);
        places.look_again();
        assert!(waits.join().expect("it ends"));
    }
}
