//! For how long a run has been under way.

use std::time::Duration;

use crate::Time;

/// How often runs with limits are checked, in addition to the moment when one reaches its limit on the time under way.
pub const METER_EVERY: Duration = Duration::from_secs(1);

/// The time for which a run has been under way: its root job was at a host, or its result was being checked. Waiting for a turn
/// or for a host that begins it does not count, nor do suspensions.
#[derive(Debug, Default)]
pub struct Meter {
    /// The total up to the last update.
    pub under_way: Duration,
    /// The run was under way at the last update.
    since: Option<Time>,
}

impl Meter {
    /// Updates the total: the run was in the same state since the last update, and is under way from now on, or not.
    pub fn look(&mut self, now: Time, is_under_way: bool) {
        if let Some(since) = self.since {
            self.under_way += now.since(since);
        }
        self.since = is_under_way.then_some(now);
    }

    /// When the total reaches this, if the run remains under way.
    pub fn reaches(&self, total: Duration) -> Option<Time> {
        self.since.map(|since| since + total.saturating_sub(self.under_way))
    }
}
