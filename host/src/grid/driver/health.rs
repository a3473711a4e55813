//! A machine that computes wrong takes no work.

use tokio::sync::mpsc;
use tracing::error;

use super::{Driver, Input};

/// Notifies a running host of what was found about its machine.
#[derive(Clone)]
pub struct Health(pub(super) mpsc::UnboundedSender<Input>);

impl Health {
    /// This machine computes wrong: the host gives back its work and takes none until it is started again. `why` is shown to its
    /// user and to the grid.
    pub fn unfit(&self, why: String) {
        let _ = self.0.send(Input::Unfit(why));
    }
}

impl Driver {
    pub(super) fn on_unfit(&mut self, why: String) {
        error!(why, "takes no work");
        self.users.be_unfit(why.clone());
        if !self.users.is_leaving() {
            self.tell(|machine, now| machine.pause(now, Some(why)));
        }
    }
}
