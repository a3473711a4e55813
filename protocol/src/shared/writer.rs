//! Writers of updates, and digests, which distinguish replicas with the same updates from replicas that only have the
//! same number of them.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::HostId;

/// The log of one host's updates of one object.
///
/// An update is identified by its writer and its number in the writer's log. A host that has forgotten an object cannot
/// know which numbers it has used, so it begins another log, with an incarnation that it never used before. The updates
/// of a log are applied in their order everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Writer {
    /// The host whose jobs make the updates, by its id when it began the log. A host that gets another id
    /// later keeps its logs.
    pub host: HostId,
    /// Different for all logs of the host.
    pub incarnation: u64,
}

impl fmt::Display for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.host, self.incarnation)
    }
}

/// A digest of a replica's content: of the object as it was created and of all updates since, regardless of their
/// order.
///
/// Two replicas with equal [`Versions`](super::Versions) and different digests have diverged. The digest is a sum of
/// hashes, so an update costs one short hash and a comparison costs nothing. It reveals faults, not forgery: a host
/// that chooses its updates can make two of them collide.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Digest(pub u64);

impl Digest {
    /// The digest of an object without updates.
    pub fn of_new(initial: &[u8]) -> Self {
        Self(finish(absorb(0x5a7e_e4d1_6e57_0001, initial)))
    }

    /// The digest after one more update.
    #[must_use]
    pub fn with(self, writer: Writer, seq: u64, update: &[u8]) -> Self {
        Self(self.0.wrapping_add(of_update(writer, seq, update)))
    }

    /// The digest without one of its updates.
    #[must_use]
    pub fn without(self, writer: Writer, seq: u64, update: &[u8]) -> Self {
        Self(self.0.wrapping_sub(of_update(writer, seq, update)))
    }
}

fn of_update(writer: Writer, seq: u64, update: &[u8]) -> u64 {
    let named = [writer.host.0, writer.incarnation, seq].into_iter().fold(0x5a7e_e4d1_6e57_0002, step);
    finish(absorb(named, update))
}

fn absorb(state: u64, bytes: &[u8]) -> u64 {
    let mut words = bytes.chunks_exact(8);
    let state =
        words.by_ref().fold(state, |state, word| step(state, word.try_into().map_or(0, u64::from_le_bytes)));
    let mut last = [0; 8];
    last.iter_mut().zip(words.remainder()).for_each(|(to, byte)| *to = *byte);
    step(step(state, u64::from_le_bytes(last)), bytes.len() as u64)
}

/// Multiplies and folds, as wyhash does. The sum preserves the earlier state if the product is 0.
fn step(state: u64, word: u64) -> u64 {
    let product = u128::from(state ^ word) * 0x9e37_79b9_7f4a_7c15;
    (product as u64) ^ ((product >> 64) as u64).wrapping_add(state.rotate_left(23))
}

fn finish(state: u64) -> u64 {
    let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITER: Writer = Writer { host: HostId(1), incarnation: 2 };

    #[test]
    fn a_digest_depends_on_everything_but_the_order_of_updates() {
        let new = Digest::of_new(b"value");
        let both = new.with(WRITER, 0, b"one").with(WRITER, 1, b"two");
        assert_eq!(both, new.with(WRITER, 1, b"two").with(WRITER, 0, b"one"));
        assert_eq!(new.with(WRITER, 0, b"one"), both.without(WRITER, 1, b"two"));
        let others = [
            Digest::of_new(b"other").with(WRITER, 0, b"one"),
            new.with(Writer { host: HostId(2), ..WRITER }, 0, b"one"),
            new.with(Writer { incarnation: 3, ..WRITER }, 0, b"one"),
            new.with(WRITER, 1, b"one"),
            new.with(WRITER, 0, b"one\0"),
            new.with(WRITER, 0, b"onf"),
            new.with(WRITER, 0, b""),
            new,
        ];
        assert!(others.iter().all(|other| *other != new.with(WRITER, 0, b"one")));
    }

    #[test]
    fn one_changed_bit_of_a_long_update_changes_the_digest() {
        let update: Vec<u8> = (0..=255).cycle().take(1003).collect();
        let whole = Digest::default().with(WRITER, 0, &update);
        for at in 0..update.len() {
            for bit in 0..8 {
                let mut other = update.clone();
                other[at] ^= 1 << bit;
                assert_ne!(Digest::default().with(WRITER, 0, &other), whole, "bit {bit} of byte {at}");
            }
        }
    }

    #[test]
    fn a_digest_is_the_same_in_every_release() {
        let update: Vec<u8> = (0..29).collect();
        let digests = [Digest::of_new(b"value"), Digest::default().with(WRITER, 3, &update)];
        assert_eq!(digests, [Digest(4_762_360_140_154_892_064), Digest(14_012_869_608_611_592_446)]);
    }
}
