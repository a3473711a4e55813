//! Instances made from a seed, for measuring without a file.

use crate::instance::Instance;

/// Locations on a grid of four columns, as in the instances of Nugent, Vollmann and Ruml (1968), with
/// flows of 0 to 5 between each two facilities.
pub fn generate(size: usize, seed: u64) -> Instance {
    const COLUMNS: usize = 4;
    let mut numbers = SplitMix64(seed);
    let (mut first, mut second) = (vec![0; size * size], vec![0; size * size]);
    for i in 0..size {
        for j in 0..i {
            let distance = (i / COLUMNS).abs_diff(j / COLUMNS) + (i % COLUMNS).abs_diff(j % COLUMNS);
            let flow = numbers.below(6).cast_signed();
            for at in [i * size + j, j * size + i] {
                first[at] = distance as i64;
                second[at] = flow;
            }
        }
    }
    Instance { size, first, second }
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
