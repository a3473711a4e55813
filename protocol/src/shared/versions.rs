//! How much of each writer's updates somebody has.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Writer;
use crate::limits::SHARED_WRITERS_MAX;

/// No writer has so many updates; counting on does not overflow.
const COUNT_END: u64 = u64::MAX / 2;

/// For each writer of an object, the number of its updates that are known: those below it are all there.
/// Writers that are not named have none.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Versions(BTreeMap<Writer, u64>);

impl Versions {
    /// The number of `writer`'s updates.
    pub fn of(&self, writer: Writer) -> u64 {
        self.0.get(&writer).copied().unwrap_or(0)
    }

    /// Counts one more of `writer`'s updates: its number.
    pub fn count(&mut self, writer: Writer) -> u64 {
        let next = self.0.entry(writer).or_default();
        *next += 1;
        *next - 1
    }

    /// Whether one more of `writer`'s updates may be counted: so that others take these versions for sound.
    pub fn has_room_for(&self, writer: Writer) -> bool {
        match self.0.get(&writer) {
            Some(count) => count + 1 < COUNT_END,
            None => self.0.len() < SHARED_WRITERS_MAX,
        }
    }

    /// Whether all that `other` counts is counted here.
    pub fn covers(&self, other: &Self) -> bool {
        other.0.iter().all(|(writer, count)| self.of(*writer) >= *count)
    }

    /// The writers that have updated the object, and how often.
    pub fn iter(&self) -> impl Iterator<Item = (Writer, u64)> {
        self.0.iter().map(|(writer, count)| (*writer, *count))
    }

    /// All updates together.
    pub fn total(&self) -> u64 {
        self.0.values().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// Whether a stranger may send it: not of more writers than are allowed, of none without updates, and of
    /// none so many that counting on would overflow.
    pub fn is_sound(&self) -> bool {
        self.0.len() <= SHARED_WRITERS_MAX && self.0.values().all(|count| (1..COUNT_END).contains(count))
    }
}

impl FromIterator<(Writer, u64)> for Versions {
    fn from_iter<I: IntoIterator<Item = (Writer, u64)>>(counts: I) -> Self {
        Self(counts.into_iter().filter(|(_, count)| *count > 0).collect())
    }
}
