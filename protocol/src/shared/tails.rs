//! The newest updates of each writer, kept for those who have missed some.

use std::collections::{BTreeMap, VecDeque};

use super::{Versions, Writer};
use crate::Bytes;
use crate::limits::SHARED_UPDATE_OVERHEAD_BYTES;

/// The updates of one writer from `first` on, without a gap.
#[derive(Debug, Clone, Default)]
struct Tail {
    first: u64,
    updates: VecDeque<Bytes>,
}

/// The newest updates of each writer.
#[derive(Debug, Clone, Default)]
pub struct Tails {
    by_writer: BTreeMap<Writer, Tail>,
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

    /// Adds `writer`'s update with the number `seq`. What was before a gap is dropped.
    pub fn push(&mut self, writer: Writer, seq: u64, update: Bytes) {
        let tail = self.by_writer.entry(writer).or_default();
        if tail.first + tail.updates.len() as u64 != seq {
            self.bytes -= tail.updates.iter().map(|update| cost(update)).sum::<usize>();
            *tail = Tail { first: seq, updates: VecDeque::new() };
        }
        self.bytes += cost(&update);
        tail.updates.push_back(update);
    }

    /// The updates of `writer` from `seq` on, if none of them was dropped.
    pub fn since(&self, writer: Writer, seq: u64) -> Option<impl Iterator<Item = &Bytes>> {
        let tail = self.by_writer.get(&writer)?;
        let skip = usize::try_from(seq.checked_sub(tail.first)?).ok()?;
        (skip <= tail.updates.len()).then(|| tail.updates.iter().skip(skip))
    }

    /// Those of them that reach `versions`, up to there.
    pub fn up_to(&self, versions: &Versions) -> Self {
        let mut tails = Self::default();
        for (writer, tail) in &self.by_writer {
            let Some(length) = versions.of(*writer).checked_sub(tail.first) else { continue };
            if length <= tail.updates.len() as u64 {
                let updates: VecDeque<Bytes> = tail.updates.iter().take(length as usize).cloned().collect();
                tails.bytes += updates.iter().map(|update| cost(update)).sum::<usize>();
                tails.by_writer.insert(*writer, Tail { first: tail.first, updates });
            }
        }
        tails
    }

    /// Drops the oldest updates below `droppable` of whoever has most of them, until not more than
    /// `bytes_max` are left of those. The updates of `kept` from its number on stay.
    pub fn trim(&mut self, droppable: &Versions, kept: Option<(Writer, u64)>, bytes_max: usize) {
        let floor = |writer: Writer| match kept {
            Some((own, stable)) if own == writer => droppable.of(writer).min(stable),
            _ => droppable.of(writer),
        };
        let old_bytes = |writer: &Writer, tail: &Tail| -> usize {
            let old = usize::try_from(floor(*writer).saturating_sub(tail.first)).unwrap_or(usize::MAX);
            tail.updates.iter().take(old).map(|update| cost(update)).sum()
        };
        let mut old: BTreeMap<Writer, usize> =
            self.by_writer.iter().map(|(writer, tail)| (*writer, old_bytes(writer, tail))).collect();
        let mut total: usize = old.values().sum();
        while total > bytes_max
            && let Some((writer, most)) = old.iter_mut().max_by_key(|(_, bytes)| **bytes)
            && let Some(tail) = self.by_writer.get_mut(writer)
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
