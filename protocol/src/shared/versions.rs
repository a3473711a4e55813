//! How much of each host's updates somebody has.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::HostId;
use crate::limits::SHARED_ORIGINS_MAX;

/// For each host that has updated an object, the number of its updates that are known: those below it are
/// all there. Hosts that are not named have none.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Versions(BTreeMap<HostId, u64>);

impl Versions {
    /// The number of `origin`'s updates.
    pub fn of(&self, origin: HostId) -> u64 {
        self.0.get(&origin).copied().unwrap_or(0)
    }

    /// Counts one more of `origin`'s updates: its number.
    pub fn count(&mut self, origin: HostId) -> u64 {
        let next = self.0.entry(origin).or_default();
        *next += 1;
        *next - 1
    }

    /// Whether one more host's updates may be counted.
    pub fn has_room_for(&self, origin: HostId) -> bool {
        self.0.len() < SHARED_ORIGINS_MAX || self.0.contains_key(&origin)
    }

    /// Whether all that `other` counts is counted here.
    pub fn covers(&self, other: &Self) -> bool {
        other.0.iter().all(|(origin, count)| self.of(*origin) >= *count)
    }

    /// The hosts that have updated the object, and how often.
    pub fn iter(&self) -> impl Iterator<Item = (HostId, u64)> {
        self.0.iter().map(|(origin, count)| (*origin, *count))
    }

    /// All updates together.
    pub fn total(&self) -> u64 {
        self.0.values().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// Whether a stranger may send it: not of more hosts than are allowed, and of none so many updates
    /// that counting on would overflow.
    pub fn is_sound(&self) -> bool {
        self.0.len() <= SHARED_ORIGINS_MAX && self.0.values().all(|count| *count < u64::MAX / 2)
    }
}

impl FromIterator<(HostId, u64)> for Versions {
    fn from_iter<I: IntoIterator<Item = (HostId, u64)>>(counts: I) -> Self {
        Self(counts.into_iter().filter(|(_, count)| *count > 0).collect())
    }
}
