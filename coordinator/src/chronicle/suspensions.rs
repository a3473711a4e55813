//! When the run was suspended and resumed.

use sateen_protocol::RunState;

use super::waits::SUSPENDED;
use super::{Chronicle, EventKind};

impl Chronicle {
    /// The run is suspended, or was about to be, when it is restored. The event may have been lost: a run's state is
    /// saved at once, and its events a moment later.
    pub fn rests(&mut self) {
        if self.events.are_of_suspended() {
            self.was_suspended = true;
            self.tree.rest(self.now_ms());
        } else {
            self.state(RunState::Suspended);
        }
    }

    /// The run gives its place to another one: it is suspended, and then waits for another turn.
    pub fn gives_way(&mut self) {
        self.gives_way = true;
        let text = "the run gave its place to a run of a submitter that had none".to_owned();
        self.add_event(EventKind::Suspended, None, text);
    }

    /// The run's state has changed.
    pub fn state(&mut self, state: RunState) {
        match state {
            RunState::Suspended => {
                self.was_suspended = true;
                self.tree.rest(self.now_ms());
                self.idle_because(None, Some(SUSPENDED), self.now_ms());
                self.add_event(EventKind::Suspended, None, "the run was suspended".to_owned());
            }
            // Hosts take it up later.
            RunState::Queued if self.was_suspended => {
                self.idle_because(None, None, self.now_ms());
                if !std::mem::take(&mut self.gives_way) {
                    self.add_event(EventKind::Resumed, None, "the run was resumed".to_owned());
                }
            }
            RunState::Running if std::mem::take(&mut self.was_suspended) => {
                self.tree.go_on(self.now_ms());
                self.idle_because(None, None, self.now_ms());
                if self.events.are_of_suspended() {
                    self.add_event(EventKind::Resumed, None, "the run continues".to_owned());
                }
            }
            RunState::Running => {
                // Unless it was given to a host just now, one is back with the root job.
                self.timeline.begin_at(0);
                self.is_done();
                self.idle_because(None, None, self.now_ms());
            }
            _ => {}
        }
    }
}
