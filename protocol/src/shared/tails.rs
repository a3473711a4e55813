//! The newest updates of each writer, kept for hosts that have missed some.

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

/// Memory that an update takes, in bytes.
pub fn cost(update: &[u8]) -> usize {
    update.len() + SHARED_UPDATE_OVERHEAD_BYTES
}

impl Tails {
    /// Memory that all of them take, in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds `writer`'s update with the number `seq`. If there is a gap before it, the earlier updates are dropped.
    pub fn push(&mut self, writer: Writer, seq: u64, update: Bytes) {
        let tail = self.by_writer.entry(writer).or_default();
        if tail.first + tail.updates.len() as u64 != seq {
            self.bytes -= tail.updates.iter().map(|update| cost(update)).sum::<usize>();
            *tail = Tail { first: seq, updates: VecDeque::new() };
        }
        self.bytes += cost(&update);
        tail.updates.push_back(update);
    }

    /// The updates of `writer` from `seq` on; `None` if some of them were dropped.
    pub fn since(&self, writer: Writer, seq: u64) -> Option<impl Iterator<Item = &Bytes>> {
        let tail = self.by_writer.get(&writer)?;
        let skip = usize::try_from(seq.checked_sub(tail.first)?).ok()?;
        (skip <= tail.updates.len()).then(|| tail.updates.iter().skip(skip))
    }

    /// The updates up to `versions`, of writers whose updates here reach that far.
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

    /// Drops the oldest updates below `droppable`, each time of the writer that has the most of them, until at most
    /// `bytes_max` are left of these. The updates of the writer in `kept` from the number there on stay.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HostId;

    const ONE: Writer = Writer { host: HostId(1), incarnation: 0 };
    const OTHER: Writer = Writer { host: HostId(2), incarnation: 0 };

    /// Ten updates of 100 bytes by one writer, and five by another.
    fn tails() -> Tails {
        let mut tails = Tails::default();
        for (writer, count) in [(ONE, 10), (OTHER, 5)] {
            (0..count).for_each(|seq| tails.push(writer, seq, vec![seq as u8; 100].into()));
        }
        tails
    }

    /// The number of updates left of each writer. Checks that their bytes are counted.
    fn left(tails: &Tails) -> [usize; 2] {
        let of = |writer| tails.by_writer.get(&writer).map_or(0, |tail| tail.updates.len());
        let left = [of(ONE), of(OTHER)];
        assert_eq!(tails.bytes(), left.iter().sum::<usize>() * cost(&[0; 100]));
        left
    }

    #[test]
    fn the_oldest_updates_of_the_writer_with_the_most_are_dropped() {
        let each = cost(&[0; 100]);
        let versions = |one, other| [(ONE, one), (OTHER, other)].into_iter().collect::<Versions>();
        for (droppable, kept, most, expected) in [
            (versions(10, 5), None, 15, [10, 5]),
            (versions(10, 5), None, 12, [7, 5]),
            (versions(10, 5), None, 6, [3, 3]),
            (versions(10, 5), None, 0, [0, 0]),
            // Updates from `droppable` on stay, and so do this host's own that others may lack.
            (versions(4, 0), None, 0, [6, 5]),
            (versions(10, 5), Some((ONE, 8)), 0, [2, 0]),
            (versions(3, 5), Some((ONE, 8)), 0, [7, 0]),
        ] {
            let mut tails = tails();
            tails.trim(&droppable, kept, most * each);
            let is_about =
                left(&tails).iter().zip(expected).all(|(left, expected)| left.abs_diff(expected) <= 1);
            let sums = (left(&tails).iter().sum::<usize>(), expected.iter().sum::<usize>());
            assert!(is_about && sums.0 == sums.1, "{:?} instead of {expected:?}", left(&tails));
        }
    }

    #[test]
    fn updates_that_were_dropped_or_never_came_are_not_returned() {
        let mut tails = tails();
        let since = |tails: &Tails, seq| {
            tails.since(ONE, seq).map(|updates| updates.map(|update| update[0]).collect::<Vec<_>>())
        };
        assert_eq!(since(&tails, 8), Some(vec![8, 9]));
        assert_eq!((since(&tails, 10), since(&tails, 11)), (Some(Vec::new()), None));
        tails.trim(&[(ONE, 10)].into_iter().collect(), None, 8 * cost(&[0; 100]));
        assert_eq!((since(&tails, 1), since(&tails, 2).map(|updates| updates.len())), (None, Some(8)));
        // Updates before a gap are of no use.
        tails.push(ONE, 12, vec![12; 100].into());
        assert_eq!((left(&tails), since(&tails, 12)), ([1, 5], Some(vec![12])));
    }

    #[test]
    fn updates_are_cut_off_at_given_versions() {
        let versions = |one, other| [(ONE, one), (OTHER, other)].into_iter().collect::<Versions>();
        for (upto, expected) in [
            (versions(10, 5), [10, 5]),
            (versions(3, 0), [3, 0]),
            (versions(11, 5), [0, 5]),
            (versions(10, 6), [10, 0]),
        ] {
            assert_eq!(left(&tails().up_to(&upto)), expected);
        }
    }
}
