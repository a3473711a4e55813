//! The disk space of blobs: by the addresses that uploaded them, and in all.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use sateen_protocol::BlobHash;

use super::error::StoreError;
use crate::limits::{BLOB_KEPT_AT_LEAST, BLOBS_PER_PEER_SHARE};
use crate::peer::Peer;

/// The disk space of blobs.
#[derive(Debug)]
pub struct Ledger {
    max_bytes: u64,
    books: Mutex<Books>,
}

#[derive(Debug, Default)]
struct Books {
    /// Includes uploads in progress.
    all_bytes: u64,
    by_peer: HashMap<Peer, u64>,
    of: HashMap<BlobHash, Kept>,
}

/// A blob that is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Kept {
    bytes: u64,
    /// The peer that uploaded it, if known.
    peer: Option<Peer>,
    used_at_ms: u64,
}

impl Books {
    fn give_back(&mut self, peer: Option<Peer>, bytes: u64) {
        self.all_bytes = self.all_bytes.saturating_sub(bytes);
        let Some(peer) = peer else { return };
        if let Some(of_peer) = self.by_peer.get_mut(&peer) {
            *of_peer = of_peer.saturating_sub(bytes);
            if *of_peer == 0 {
                self.by_peer.remove(&peer);
            }
        }
    }

    fn take(&mut self, peer: Option<Peer>, bytes: u64) {
        self.all_bytes += bytes;
        if let Some(peer) = peer {
            *self.by_peer.entry(peer).or_default() += bytes;
        }
    }

    /// The unreferenced blob to be removed first: the least recently used if it was unused for
    /// [`BLOB_KEPT_AT_LEAST`], else the least recently used of the peer that has the most bytes. Only blobs of `peer`
    /// are considered, if given.
    fn first_to_go(&self, referred: &HashSet<BlobHash>, peer: Option<Peer>, now_ms: u64) -> Option<BlobHash> {
        let superfluous = || {
            let is_it = move |(hash, kept): &(&BlobHash, &Kept)| {
                !referred.contains(*hash) && (peer.is_none() || kept.peer == peer)
            };
            self.of.iter().filter(is_it)
        };
        let (oldest, kept) = superfluous().min_by_key(|(hash, kept)| (kept.used_at_ms, **hash))?;
        if now_ms.saturating_sub(kept.used_at_ms) >= BLOB_KEPT_AT_LEAST.as_millis() as u64 {
            return Some(*oldest);
        }
        let mut of_peers: HashMap<Option<Peer>, u64> = HashMap::new();
        superfluous().for_each(|(_, kept)| *of_peers.entry(kept.peer).or_default() += kept.bytes);
        let (largest, bytes) = of_peers.into_iter().max_by_key(|(peer, bytes)| (*bytes, *peer))?;
        if peer.is_none() && bytes <= self.all_bytes / BLOBS_PER_PEER_SHARE / 2 {
            // No peer holds enough for one of its recent blobs to be removed.
            return None;
        }
        let of_largest = superfluous().filter(|(_, kept)| kept.peer == largest);
        of_largest.min_by_key(|(hash, kept)| (kept.used_at_ms, **hash)).map(|(hash, _)| *hash)
    }
}

impl Ledger {
    /// An empty ledger with a maximum.
    pub fn new(max_bytes: u64) -> Self {
        Self { max_bytes, books: Mutex::default() }
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The maximum of one peer.
    fn of_peer_max(&self) -> u64 {
        self.max_bytes / BLOBS_PER_PEER_SHARE
    }

    /// Reserves room for more bytes of an upload.
    pub fn take(&self, peer: Peer, bytes: u64) -> Result<(), StoreError> {
        let mut books = self.books();
        if books.by_peer.get(&peer).copied().unwrap_or(0) + bytes > self.of_peer_max() {
            return Err(StoreError::BlobsOfPeer { max_mib: self.of_peer_max() >> 20 });
        }
        if books.all_bytes + bytes > self.max_bytes {
            return Err(StoreError::BlobsOfAll { max_mib: self.max_bytes >> 20 });
        }
        books.take(Some(peer), bytes);
        Ok(())
    }

    /// An upload was discarded.
    pub fn give_back(&self, peer: Peer, bytes: u64) {
        self.books().give_back(Some(peer), bytes);
    }

    /// A blob existed at the start.
    pub fn found(&self, hash: BlobHash, bytes: u64, peer: Option<Peer>, used_at_ms: u64) {
        let mut books = self.books();
        books.take(peer, bytes);
        books.of.insert(hash, Kept { bytes, peer, used_at_ms });
    }

    /// An upload is kept: it belongs to the peer from now on, unless the blob existed before.
    pub fn keep(&self, hash: BlobHash, bytes: u64, peer: Peer, now_ms: u64) {
        let mut books = self.books();
        match books.of.get_mut(&hash) {
            Some(known) => {
                known.used_at_ms = now_ms;
                books.give_back(Some(peer), bytes);
            }
            None => {
                books.of.insert(hash, Kept { bytes, peer: Some(peer), used_at_ms: now_ms });
            }
        }
    }

    /// A blob is needed: it stays for some time, even if nothing refers to it.
    pub fn use_now(&self, hash: BlobHash, now_ms: u64) {
        if let Some(kept) = self.books().of.get_mut(&hash) {
            kept.used_at_ms = now_ms;
        }
    }

    /// Makes room for this many more bytes of a peer by removing unreferenced blobs; returns whether there is room now.
    pub fn make_room(
        &self,
        (peer, bytes): (Peer, u64),
        referred: &HashSet<BlobHash>,
        now_ms: u64,
        mut remove: impl FnMut(BlobHash) -> bool,
    ) -> bool {
        let mut books = self.books();
        // Somewhat more than is needed, so as not to repeat this for each piece.
        let is_full = |has: u64, max: u64| has + bytes > max - max / 8;
        let of_peer = |books: &Books| books.by_peer.get(&peer).copied().unwrap_or(0);
        loop {
            let whose = match is_full(of_peer(&books), self.of_peer_max()) {
                true => Some(peer),
                false if is_full(books.all_bytes, self.max_bytes) => None,
                false => return true,
            };
            let Some(hash) = books.first_to_go(referred, whose, now_ms) else { break };
            let Some(kept) = books.of.remove(&hash) else { break };
            books.give_back(kept.peer, kept.bytes);
            if !remove(hash) {
                break;
            }
        }
        of_peer(&books) + bytes <= self.of_peer_max() && books.all_bytes + bytes <= self.max_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEPT_MS: u64 = BLOB_KEPT_AT_LEAST.as_millis() as u64;

    fn peer(number: u8) -> Peer {
        Peer::of([192, 0, 2, number].into())
    }

    fn hash(number: u8) -> BlobHash {
        BlobHash([number; 32])
    }

    fn keep(ledger: &Ledger, of: u8, number: u8, bytes: u64, at_ms: u64) -> bool {
        let is_taken = ledger.take(peer(of), bytes).is_ok();
        if is_taken {
            ledger.keep(hash(number), bytes, peer(of), at_ms);
        }
        is_taken
    }

    fn removed(ledger: &Ledger, of: u8, referred: &[u8], now_ms: u64) -> (bool, Vec<u8>) {
        let mut removed = Vec::new();
        let referred = referred.iter().map(|number| hash(*number)).collect();
        let has_room = ledger.make_room((peer(of), 1), &referred, now_ms, |hash| {
            removed.push(hash.0[0]);
            true
        });
        (has_room, removed)
    }

    #[test]
    fn one_peer_has_a_share_and_its_own_unreferenced_blobs_make_room_for_its_own() {
        let ledger = Ledger::new(100 * BLOBS_PER_PEER_SHARE);
        assert!(keep(&ledger, 1, 1, 50, 0) && keep(&ledger, 1, 2, 50, 1) && keep(&ledger, 2, 3, 50, 0));
        assert!(matches!(ledger.take(peer(1), 1), Err(StoreError::BlobsOfPeer { .. })));
        // A blob that a run refers to stays, and so does another peer's.
        assert_eq!(removed(&ledger, 1, &[1], 2), (true, vec![2]));
        assert_eq!(removed(&ledger, 1, &[1], 2), (true, vec![]));
        assert!(keep(&ledger, 1, 4, 50, 3));
        assert_eq!(removed(&ledger, 1, &[1, 4], 2), (false, vec![]));
        // A blob that exists already takes no more room.
        ledger.give_back(peer(1), 50);
        assert!(keep(&ledger, 1, 3, 50, 4));
        assert_eq!(ledger.books().by_peer[&peer(1)], 50);
    }

    #[test]
    fn when_all_is_full_long_unused_blobs_go_first_and_then_those_of_the_largest_peer() {
        let ledger = Ledger::new(1000);
        let share = 1000 / BLOBS_PER_PEER_SHARE;
        for of in 0..BLOBS_PER_PEER_SHARE as u8 {
            assert!(keep(&ledger, of, 2 * of, share / 2, u64::from(of)));
            assert!(keep(&ledger, of, 2 * of + 1, share / 2, KEPT_MS));
        }
        assert!(matches!(ledger.take(peer(99), 9), Err(StoreError::BlobsOfAll { .. })));
        // One blob is old, and that does not suffice.
        assert_eq!(removed(&ledger, 99, &[2], KEPT_MS + 1), (true, vec![0, 14]));
        ledger.use_now(hash(4), KEPT_MS + 1);
        assert!(keep(&ledger, 98, 200, share / 2, KEPT_MS + 1));
        // None of the others is old: the peer with the most loses its oldest.
        let (has_room, gone) = removed(&ledger, 99, &[2], KEPT_MS + 1);
        assert!(has_room && gone.len() == 1 && gone != [200] && gone != [2] && gone != [4], "{gone:?}");
    }
}
