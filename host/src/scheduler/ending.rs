//! The end of a run, which comes once.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use sateen_protocol::Bytes;

use crate::failure::JobFailure;
use crate::limits::LimitExceeded;

/// How a run ended.
#[derive(Debug, Clone)]
pub enum Ending {
    /// The root job's encoded outcome, and the length of its chain.
    Finished(Bytes, Duration),
    /// The root job failed.
    Failed(JobFailure),
    Limit(LimitExceeded),
    Cancelled,
    /// This machine could not continue.
    Host(String),
}

/// Whether a run has ended, and how.
#[derive(Default)]
pub struct End {
    stopping: AtomicBool,
    ending: Mutex<Option<Ending>>,
    ended: Condvar,
}

impl End {
    /// Ends the run with this ending, unless it has ended already.
    pub fn begin(&self, ending: Ending) {
        let mut slot = self.ending.lock();
        if slot.is_none() {
            *slot = Some(ending);
        }
        drop(slot);
        self.stopping.store(true, SeqCst);
    }

    /// Wakes all threads that wait for the end.
    pub fn announce(&self) {
        self.ended.notify_all();
    }

    pub fn has_come(&self) -> bool {
        self.stopping.load(SeqCst)
    }

    /// Waits for the end, at most for `patience`.
    pub fn wait(&self, patience: Duration) -> Option<Ending> {
        let mut slot = self.ending.lock();
        if slot.is_none() {
            self.ended.wait_for(&mut slot, patience);
        }
        slot.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_ending_counts() {
        let end = End::default();
        assert!(end.wait(Duration::ZERO).is_none() && !end.has_come());
        end.begin(Ending::Cancelled);
        end.begin(Ending::Host("too late".to_owned()));
        assert!(end.has_come());
        assert!(matches!(end.wait(Duration::MAX), Some(Ending::Cancelled)));
    }
}
