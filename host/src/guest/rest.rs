//! When the guests of a host that leaves come to rest.
//!
//! A host that continues with a job has its recorded results; the rest of the guest's work is done again. So a guest
//! continues for a while with its current calls, until next to nothing of its work is unsaved: jobs that begin from
//! here on are exposed within a heartbeat, and so are saved when they end. But if more and more work is unsaved, it
//! is the caller's own work, which is saved only with the caller's result, and the guest should rest as soon as
//! possible.

use std::sync::Arc;
use std::time::Duration;

use sateen_protocol::Bytes;
use sateen_protocol::limits::FINISHING_MAX;

use super::Guest;
use crate::scheduler::{GuestGrid, Job};

/// Less work than this need not be saved, nor less than this part of the time that was spent on saving.
const UNSAVED_MIN: Duration = Duration::from_millis(1);
const UNSAVED_PART: u32 = 400;
/// If a guest has this much more unsaved work than before, waiting does not help.
const UNSAVED_MORE_MAX: Duration = Duration::from_millis(100);

impl Guest {
    /// Takes an exposed job back to call it in place, if it is not claimed and this guest does not rest.
    pub fn reclaim(&self, job: &Arc<Job>) -> Option<Bytes> {
        if self.rests() {
            return None;
        }
        self.registry.reclaim(job)
    }

    fn drains_for(&self) -> Option<Duration> {
        self.registry.grid.drains_for()
    }

    fn rests(&self) -> bool {
        self.drains_for().is_some_and(|drains_for| drains_for >= FINISHING_MAX || !self.is_unsaved())
    }

    /// Whether work would be lost if this instance ended now, and less if it continued.
    pub fn is_unsaved(&self) -> bool {
        let unsaved = self.unsaved();
        let grows = self.recordings.least_unsaved().is_some_and(|least| unsaved > least + UNSAVED_MORE_MAX);
        let counts = UNSAVED_MIN.max(self.drains_for().unwrap_or_default() / UNSAVED_PART);
        self.record_every().is_some() && unsaved >= counts && !grows
    }

    /// Called at each heartbeat.
    pub fn look_what_is_unsaved(&mut self) {
        if self.registry.is_draining() {
            let unsaved = self.unsaved();
            self.recordings.note_unsaved(unsaved);
        }
    }

    /// Work of this instance that would have to be done again if it ended now.
    fn unsaved(&self) -> Duration {
        self.clock.work_so_far().saturating_sub(self.recordings.saved())
    }
}
