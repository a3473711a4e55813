//! The sender's half of parcels.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::{Contents, ParcelId, ParcelMessage};
use crate::limits::{
    CHUNK_BYTES_MAX, PARCEL_BYTES_MAX, PARCEL_UNWANTED_MAX, PARCELS_OUTGOING_BYTES_MAX, PARCELS_WITH_PEER_MAX,
};
use crate::{RunId, Time};

/// A parcel that is kept until it has arrived.
#[derive(Debug)]
struct Kept<K> {
    to: K,
    contents: Contents,
    bytes: Vec<u8>,
    /// The ranges of bytes that the receiver has asked for and was not sent, in order. They neither overlap nor touch.
    wanted: Vec<Range<usize>>,
    /// When it was last announced as new, pulled or sent.
    touched: Time,
    /// The first parcel with these contents, each of which was replaced by the next.
    first: ParcelId,
    /// Whether its receiver has asked for bytes of it, or of one that it has replaced.
    is_pulled: bool,
}

impl<K> Kept<K> {
    fn want(&mut self, asked: Range<usize>) {
        let mut merged = asked;
        self.wanted.retain(|known| {
            let is_apart = known.end < merged.start || merged.end < known.start;
            if !is_apart {
                merged = known.start.min(merged.start)..known.end.max(merged.end);
            }
            is_apart
        });
        let place = self.wanted.partition_point(|known| known.start < merged.start);
        self.wanted.insert(place, merged);
    }
}

/// Parcels that are in transit to their receivers; `K` identifies receivers.
#[derive(Debug)]
pub struct Outgoing<K> {
    parcels: BTreeMap<ParcelId, Kept<K>>,
    by_contents: BTreeMap<(K, Contents), ParcelId>,
    /// The parcels from which bytes are wanted, and the one that was served last.
    ready: BTreeSet<ParcelId>,
    served: ParcelId,
    next: u64,
    bytes: usize,
}

impl<K> Default for Outgoing<K> {
    fn default() -> Self {
        Self {
            parcels: BTreeMap::new(),
            by_contents: BTreeMap::new(),
            ready: BTreeSet::new(),
            served: ParcelId(0),
            next: 1,
            bytes: 0,
        }
    }
}

impl<K: Copy + Ord> Outgoing<K> {
    /// Whether no parcel is kept.
    pub fn is_empty(&self) -> bool {
        self.parcels.is_empty()
    }

    /// The number of parcels that are kept, and their bytes.
    pub fn size(&self) -> (usize, usize) {
        (self.parcels.len(), self.bytes)
    }

    /// When any of the parcels was last announced, pulled or sent.
    pub fn touched(&self) -> Option<Time> {
        self.parcels.values().map(|kept| kept.touched).max()
    }

    /// The parcel with contents that are under way; `None` if they are not.
    pub fn parcel_of(&self, to: K, contents: Contents) -> Option<ParcelId> {
        self.by_contents.get(&(to, contents)).copied()
    }

    /// The announcement of contents that are under way already; `None` if they are not.
    pub fn announce_again(&self, to: K, contents: Contents) -> Option<ParcelMessage> {
        let parcel = self.parcel_of(to, contents)?;
        let bytes = self.parcels.get(&parcel)?.bytes.len() as u64;
        Some(ParcelMessage::Announce { parcel, contents, bytes })
    }

    /// Keeps a parcel and returns its announcement; `None` if it is too long, or if too much is kept already. In the
    /// latter case, a message that is repeated until it is acknowledged is accepted later.
    pub fn add(&mut self, now: Time, to: K, contents: Contents, bytes: Vec<u8>) -> Option<ParcelMessage> {
        self.end_contents(to, contents);
        let of_receiver = self.bytes_for(to);
        let is_full = (self.bytes + bytes.len() > PARCELS_OUTGOING_BYTES_MAX && !self.parcels.is_empty())
            || (of_receiver + bytes.len() > PARCELS_OUTGOING_BYTES_MAX / 2 && of_receiver > 0);
        let with_peer = self.by_contents.keys().filter(|(other, _)| *other == to).count();
        if is_full || bytes.is_empty() || bytes.len() > PARCEL_BYTES_MAX || with_peer >= PARCELS_WITH_PEER_MAX
        {
            return None;
        }
        let parcel = ParcelId(self.next);
        self.next += 1;
        self.bytes += bytes.len();
        self.by_contents.insert((to, contents), parcel);
        let kept =
            Kept { to, contents, bytes, wanted: Vec::new(), touched: now, first: parcel, is_pulled: false };
        self.parcels.insert(parcel, kept);
        self.announce_again(to, contents)
    }

    /// The bytes of all parcels for a receiver.
    fn bytes_for(&self, to: K) -> usize {
        self.parcels.values().filter(|kept| kept.to == to).map(|kept| kept.bytes.len()).sum()
    }

    /// Whether contents are under way that their receiver has not begun to pull, so that newer bytes may still take
    /// their place.
    pub fn is_renewable(&self, to: K, contents: Contents) -> bool {
        let parcel = self.by_contents.get(&(to, contents));
        parcel.and_then(|parcel| self.parcels.get(parcel)).is_some_and(|kept| !kept.is_pulled)
    }

    /// Replaces a parcel by one with newer bytes, unless these are the same or there is no room for them. Returns the
    /// announcement of the parcel that is under way now.
    pub fn renew(&mut self, now: Time, to: K, contents: Contents, bytes: Vec<u8>) -> Option<ParcelMessage> {
        let before = self.parcels.get(self.by_contents.get(&(to, contents))?)?;
        let bytes_then = self.bytes - before.bytes.len() + bytes.len();
        let others = self.bytes_for(to) - before.bytes.len();
        let is_full = bytes_then > PARCELS_OUTGOING_BYTES_MAX
            || (others + bytes.len() > PARCELS_OUTGOING_BYTES_MAX / 2 && others > 0);
        let first = before.first;
        if before.bytes == bytes || is_full {
            return self.announce_again(to, contents);
        }
        let announcement = self.add(now, to, contents, bytes)?;
        let parcel = self.by_contents.get(&(to, contents))?;
        self.parcels.get_mut(parcel)?.first = first;
        Some(announcement)
    }

    /// A receiver asks for bytes of a parcel. Returns a message if the parcel is not kept.
    pub fn on_pull(
        &mut self,
        now: Time,
        by: K,
        parcel: ParcelId,
        (from, until): (u64, u64),
    ) -> Option<ParcelMessage> {
        let Some(kept) = self.parcels.get_mut(&parcel).filter(|kept| kept.to == by) else {
            // On a slow link, one renewal after another could cross the requests.
            let renewed = self.parcels.range_mut(parcel..).map(|(_, kept)| kept);
            for kept in renewed.filter(|kept| kept.to == by && kept.first <= parcel) {
                kept.is_pulled = true;
            }
            return Some(ParcelMessage::Withdrawn { parcel });
        };
        (kept.touched, kept.is_pulled) = (now, true);
        let end = |place: u64| usize::try_from(place).unwrap_or(usize::MAX).min(kept.bytes.len());
        let asked = end(from)..end(until);
        if asked.start < asked.end {
            kept.want(asked);
            self.ready.insert(parcel);
        }
        None
    }

    /// The next chunk for a receiver that `has_room`. Parcels take turns.
    pub fn poll_chunk(
        &mut self,
        now: Time,
        mut has_room: impl FnMut(K) -> bool,
    ) -> Option<(K, ParcelMessage)> {
        let later = self.ready.range((std::ops::Bound::Excluded(self.served), std::ops::Bound::Unbounded));
        let parcel = *later
            .chain(self.ready.range(..=self.served))
            .find(|parcel| self.parcels.get(parcel).is_some_and(|kept| has_room(kept.to)))?;
        let kept = self.parcels.get_mut(&parcel)?;
        let first = kept.wanted.first_mut()?;
        let end = first.end.min(first.start + CHUNK_BYTES_MAX);
        let (offset, bytes) = (first.start as u64, kept.bytes[first.start..end].into());
        first.start = end;
        if first.start == first.end {
            kept.wanted.remove(0);
        }
        if kept.wanted.is_empty() {
            self.ready.remove(&parcel);
        }
        kept.touched = now;
        self.served = parcel;
        Some((kept.to, ParcelMessage::Chunk { parcel, offset, bytes }))
    }

    /// The receiver has a parcel, or does not want it. Returns its contents.
    pub fn end(&mut self, by: K, parcel: ParcelId) -> Option<Contents> {
        self.parcels.get(&parcel).filter(|kept| kept.to == by)?;
        self.remove(parcel)
    }

    /// The contents are no longer needed. Returns their parcel.
    pub fn end_contents(&mut self, to: K, contents: Contents) -> Option<ParcelId> {
        let parcel = *self.by_contents.get(&(to, contents))?;
        self.remove(parcel);
        Some(parcel)
    }

    fn remove(&mut self, parcel: ParcelId) -> Option<Contents> {
        let kept = self.parcels.remove(&parcel)?;
        self.bytes -= kept.bytes.len();
        self.ready.remove(&parcel);
        self.by_contents.remove(&(kept.to, kept.contents));
        Some(kept.contents)
    }

    /// Whether a parcel for this receiver is kept.
    pub fn has_peer(&self, to: K) -> bool {
        self.parcels.values().any(|kept| kept.to == to)
    }

    /// A receiver is gone.
    pub fn forget_peer(&mut self, to: K) {
        self.forget(|kept| kept.to == to);
    }

    /// A run is over.
    pub fn forget_run(&mut self, run: RunId) {
        self.forget(|kept| kept.contents.run() == run);
    }

    /// Drops parcels that were not pulled for too long: their receivers have forgotten them.
    pub fn handle_timeout(&mut self, now: Time) {
        self.forget(|kept| now >= kept.touched + PARCEL_UNWANTED_MAX);
    }

    /// The time at which [`Self::handle_timeout`] has something to do.
    pub fn next_timeout(&self) -> Option<Time> {
        self.parcels.values().map(|kept| kept.touched + PARCEL_UNWANTED_MAX).min()
    }

    fn forget(&mut self, is_forgotten: impl Fn(&Kept<K>) -> bool) {
        let forgotten: Vec<ParcelId> =
            self.parcels.iter().filter(|(_, kept)| is_forgotten(kept)).map(|(parcel, _)| *parcel).collect();
        for parcel in forgotten {
            self.remove(parcel);
        }
    }
}
