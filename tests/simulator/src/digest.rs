//! A running digest of everything that happens, used to compare two runs of one seed.

/// FNV-1a over words, with a final mix: cheap, and sufficient because traces are not forged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Digest(u64);

impl Default for Digest {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Digest {
    /// Adds a word.
    pub fn add(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23);
    }

    /// Adds bytes.
    pub fn add_bytes(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            self.add(u64::from_le_bytes(word));
        }
    }

    /// The digest of all that was added.
    pub fn value(&self) -> u64 {
        mix(self.0)
    }
}

/// Spreads a word over all bits (SplitMix64's finaliser).
pub fn mix(mut word: u64) -> u64 {
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_length_matter() {
        let of = |words: &[u64]| {
            let mut digest = Digest::default();
            words.iter().for_each(|word| digest.add(*word));
            digest.value()
        };
        assert_ne!(of(&[1, 2]), of(&[2, 1]));
        assert_ne!(of(&[1]), of(&[1, 0]));
        assert_eq!(of(&[7, 8]), of(&[7, 8]));
    }
}
