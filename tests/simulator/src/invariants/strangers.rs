//! A host sends nothing to a host that has not been its peer recently, unless that host has just sent it a
//! message.

use std::collections::BTreeMap;
use std::time::Duration;

use sateen_protocol::host::Host;
use sateen_protocol::limits::IDENTITY_KEPT;
use sateen_protocol::{HostId, Time};

/// Time for which a former peer may receive messages. A host that was given up may return for half of it.
const DROPPED: Duration = IDENTITY_KEPT.saturating_mul(2);

/// The hosts that a host has known, or received messages from, each with the last time.
#[derive(Debug, Default)]
pub struct Acquaintances {
    last: BTreeMap<HostId, Time>,
}

impl Acquaintances {
    /// A message arrived.
    pub fn heard_from(&mut self, now: Time, from: HostId) {
        self.last.insert(from, now);
    }

    /// Records the hosts that it knows now, from time to time.
    pub fn look(&mut self, now: Time, host: &Host) {
        self.last.extend(host.peers().map(|info| (info.id, now)));
        self.last.retain(|_, last| now.since(*last) <= 2 * DROPPED);
    }

    /// Whether a host may send a message to another.
    pub fn allow(&self, now: Time, host: &Host, to: HostId) -> bool {
        let since = self.last.get(&to).map_or(Duration::MAX, |last| now.since(*last));
        host.peer(to).is_some() || since <= DROPPED
    }
}
