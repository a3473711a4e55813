//! How many updates of each writer a replica has.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Writer;
use crate::limits::SHARED_WRITERS_MAX;

/// An upper bound of a writer's updates, far enough from overflow that counting may continue.
const COUNT_END: u64 = u64::MAX / 2;

/// For each writer of an object, the number of its updates that a replica has: all with lower numbers. Writers that are
/// not listed have none.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Versions(BTreeMap<Writer, u64>);

impl Versions {
    /// The number of `writer`'s updates.
    pub fn of(&self, writer: Writer) -> u64 {
        self.0.get(&writer).copied().unwrap_or(0)
    }

    /// Counts one more of `writer`'s updates, and returns its number.
    pub fn count(&mut self, writer: Writer) -> u64 {
        let next = self.0.entry(writer).or_default();
        *next += 1;
        *next - 1
    }

    /// Whether these versions stay sound if one more of `writer`'s updates is counted.
    pub fn has_room_for(&self, writer: Writer) -> bool {
        match self.0.get(&writer) {
            Some(count) => count + 1 < COUNT_END,
            None => self.0.len() < SHARED_WRITERS_MAX,
        }
    }

    /// Whether these versions include all updates of `other`.
    pub fn covers(&self, other: &Self) -> bool {
        other.0.iter().all(|(writer, count)| self.of(*writer) >= *count)
    }

    /// The writers, each with the number of its updates.
    pub fn iter(&self) -> impl Iterator<Item = (Writer, u64)> {
        self.0.iter().map(|(writer, count)| (*writer, *count))
    }

    /// The number of all updates.
    pub fn total(&self) -> u64 {
        self.0.values().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// Whether they keep the rules for versions from other hosts: not too many writers, no writer without updates, and
    /// none with so many that further counting could overflow.
    pub fn is_sound(&self) -> bool {
        self.0.len() <= SHARED_WRITERS_MAX && self.0.values().all(|count| (1..COUNT_END).contains(count))
    }
}

impl FromIterator<(Writer, u64)> for Versions {
    fn from_iter<I: IntoIterator<Item = (Writer, u64)>>(counts: I) -> Self {
        Self(counts.into_iter().filter(|(_, count)| *count > 0).collect())
    }
}
