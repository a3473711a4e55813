//! For how long a run has been under way.

use std::time::Duration;

use crate::Time;

/// For how long a run has been under way: its root job was at a host. Waiting for a turn or for a host does not
/// count, nor do suspensions.
#[derive(Debug, Default)]
pub struct Meter {
    /// Up to the last look.
    pub under_way: Duration,
    /// It was under way at the last look.
    since: Option<Time>,
}

impl Meter {
    /// Takes in that it was as at the last look until now.
    pub fn look(&mut self, now: Time, is_under_way: bool) {
        if let Some(since) = self.since {
            self.under_way += now.since(since);
        }
        self.since = is_under_way.then_some(now);
    }
}
