//! Pseudorandom numbers from a seed.

/// Steele, Lea and Flood's generator ("Fast splittable pseudorandom number generators", OOPSLA 2014), started
/// with a seed. A job has no randomness except what it computes: equal seeds lead to equal numbers on every
/// machine.
#[derive(Debug, Clone)]
pub struct SplitMix64(pub u64);

impl SplitMix64 {
    /// The next number; all 64 bits are random.
    #[allow(clippy::should_implement_trait)] // It has no end.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, which is at most 2³².
    pub fn below(&mut self, bound: u64) -> u64 {
        ((self.next() >> 32) * bound) >> 32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_gives_the_reference_numbers() {
        // The first outputs for seed 1234567, as the reference implementation prints them.
        let mut numbers = SplitMix64(1_234_567);
        assert_eq!(numbers.next(), 6_457_827_717_110_365_317);
        assert_eq!(numbers.next(), 3_203_168_211_198_807_973);
    }
}
