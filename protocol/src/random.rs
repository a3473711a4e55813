//! Randomness from a seed: equal seeds, equal traces.

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014). Every seed is a good one, and picking victims needs no more than
/// that.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The sequence of `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, which must not be zero; practically uniform.
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next_u64()) * bound as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_always_yields_the_same_numbers() {
        let mut random = Random::new(1);
        assert_eq!(random.next_u64(), 0x910a_2dec_8902_5cc1);
        assert!((0..1000).all(|_| random.below(3) < 3));
    }
}
