//! A host sends nothing to one that is not its peer, and has not been for long, unless that one has just said
//! something.

use std::collections::BTreeMap;
use std::time::Duration;

use sateen_protocol::host::Host;
use sateen_protocol::limits::IDENTITY_KEPT;
use sateen_protocol::{HostId, Time};

/// A host that was given up may come back for half of this time.
const DROPPED: Duration = IDENTITY_KEPT.saturating_mul(2);

/// Whom a host has known, and who has spoken to it, each with when that was last.
#[derive(Debug, Default)]
pub struct Acquaintances {
    last: BTreeMap<HostId, Time>,
}

impl Acquaintances {
    /// A message came.
    pub fn heard_from(&mut self, now: Time, from: HostId) {
        self.last.insert(from, now);
    }

    /// Those whom it knows now are looked at, from time to time.
    pub fn look(&mut self, now: Time, host: &Host) {
        self.last.extend(host.peers().map(|info| (info.id, now)));
        self.last.retain(|_, last| now.since(*last) <= 2 * DROPPED);
    }

    /// Whether a host may say something to another.
    pub fn allow(&self, now: Time, host: &Host, to: HostId) -> bool {
        let since = self.last.get(&to).map_or(Duration::MAX, |last| now.since(*last));
        host.peer(to).is_some() || since <= DROPPED
    }
}
