//! Instances made from a seed, for measuring without a file.

use crate::tour::Ways;

/// The side of the square that the cities lie in.
const SIDE: u64 = 1000;

/// `count` cities anywhere in a square, with the lengths of TSPLIB's `EUC_2D`.
pub fn generate(count: usize, seed: u64) -> Ways {
    let mut numbers = SplitMix64(seed);
    let places: Vec<(f64, f64)> =
        (0..count).map(|_| (numbers.below(SIDE) as f64, numbers.below(SIDE) as f64)).collect();
    Ways::new(count, |from, to| {
        let (x, y) = (places[from].0 - places[to].0, places[from].1 - places[to].1);
        ((x * x + y * y).sqrt() + 0.5) as i64
    })
}

/// Steele, Lea and Flood's generator (OOPSLA 2014): a job has no randomness but what it computes.
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, a small one.
    fn below(&mut self, bound: u64) -> u64 {
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
