//! How the workers of a run take turns with those of others.

use super::activity::Doing;
use super::registry::{Grid, Registry};
use super::turns::TurnsOfRun;
use crate::guest::forget_processor_time;

impl<G: Grid> Registry<G> {
    /// The run's part in turns, if only workers with a turn compute.
    pub fn turns(&self) -> Option<&TurnsOfRun> {
        self.settings.turns.as_ref()
    }

    /// Called before this worker computes: waits for a turn, if there are turns, unless `is_over`. A host that
    /// leaves does not wait: its guests must come to rest soon.
    pub fn begin_turn(&self, is_over: impl Fn() -> bool) {
        let Some(turns) = &self.settings.turns else { return };
        if turns.begin_at_once() {
            return;
        }
        self.grid.flush();
        let mut did = None;
        turns.begin(
            || {
                forget_processor_time();
                did = self.grid.begin_doing(Doing::Others);
            },
            || self.is_stopping() || self.is_draining() || is_over(),
        );
        if let Some(did) = did {
            self.grid.begin_doing(did);
        }
    }
}
