//! The newest updates of each host, kept for those who have missed some.

use std::collections::{BTreeMap, VecDeque};

use super::Versions;
use crate::limits::SHARED_UPDATE_OVERHEAD_BYTES;
use crate::{Bytes, HostId};

/// The updates of one host from `first` on, without a gap.
#[derive(Debug, Clone, Default)]
struct Tail {
    first: u64,
    updates: VecDeque<Bytes>,
}

/// The newest updates of each host.
#[derive(Debug, Clone, Default)]
pub struct Tails {
    by_origin: BTreeMap<HostId, Tail>,
    bytes: usize,
}

/// What an update takes in memory.
pub fn cost(update: &[u8]) -> usize {
    update.len() + SHARED_UPDATE_OVERHEAD_BYTES
}

impl Tails {
    /// What they take in memory.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds `origin`'s update with the number `seq`. What was before a gap is dropped.
    pub fn push(&mut self, origin: HostId, seq: u64, update: Bytes) {
        let tail = self.by_origin.entry(origin).or_default();
        if tail.first + tail.updates.len() as u64 != seq {
            self.bytes -= tail.updates.iter().map(|update| cost(update)).sum::<usize>();
            *tail = Tail { first: seq, updates: VecDeque::new() };
        }
        self.bytes += cost(&update);
        tail.updates.push_back(update);
    }

    /// The updates of `origin` from `seq` on, if none of them was dropped.
    pub fn since(&self, origin: HostId, seq: u64) -> Option<impl Iterator<Item = &Bytes>> {
        let tail = self.by_origin.get(&origin)?;
        let skip = usize::try_from(seq.checked_sub(tail.first)?).ok()?;
        (skip <= tail.updates.len()).then(|| tail.updates.iter().skip(skip))
    }

    /// Those of them that reach `versions`, up to there.
    pub fn up_to(&self, versions: &Versions) -> Self {
        let mut tails = Self::default();
        for (origin, tail) in &self.by_origin {
            let Some(length) = versions.of(*origin).checked_sub(tail.first) else { continue };
            if length <= tail.updates.len() as u64 {
                let updates: VecDeque<Bytes> = tail.updates.iter().take(length as usize).cloned().collect();
                tails.bytes += updates.iter().map(|update| cost(update)).sum::<usize>();
                tails.by_origin.insert(*origin, Tail { first: tail.first, updates });
            }
        }
        tails
    }

    /// Drops the oldest updates below `droppable` of whoever has most of them, until not more than
    /// `bytes_max` are left of those. The updates of `kept` from its number on stay.
    pub fn trim(&mut self, droppable: &Versions, kept: Option<(HostId, u64)>, bytes_max: usize) {
        let floor = |origin: HostId| match kept {
            Some((own, stable)) if own == origin => droppable.of(origin).min(stable),
            _ => droppable.of(origin),
        };
        let old_bytes = |origin: &HostId, tail: &Tail| -> usize {
            let old = usize::try_from(floor(*origin).saturating_sub(tail.first)).unwrap_or(usize::MAX);
            tail.updates.iter().take(old).map(|update| cost(update)).sum()
        };
        let mut old: BTreeMap<HostId, usize> =
            self.by_origin.iter().map(|(origin, tail)| (*origin, old_bytes(origin, tail))).collect();
        let mut total: usize = old.values().sum();
        while total > bytes_max
            && let Some((origin, most)) = old.iter_mut().max_by_key(|(_, bytes)| **bytes)
            && let Some(tail) = self.by_origin.get_mut(origin)
            && let Some(update) = tail.updates.pop_front()
        {
            tail.first += 1;
            let dropped = cost(&update);
            *most -= dropped;
            total -= dropped;
            self.bytes -= dropped;
        }
    }
}
