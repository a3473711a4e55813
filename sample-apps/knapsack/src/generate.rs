//! Instances made from a seed, for measuring without a file.

use crate::items::{Item, Items};

/// Weights are from 1 to this.
const WEIGHT_MAX: u64 = 1000;

/// `count` items of Pisinger's family of *multiple strongly correlated* instances, mstr(300, 200, 6)
/// of "Where are the hard knapsack problems?" (2005): an item is worth 300 more than it weighs if 6
/// divides its weight, else 200 more. The capacity is half of all weight, or the heaviest item's.
///
/// No simple bound closes this family's gap, so branch and bound has much to do; the weights are so
/// small that dynamic programming can check the result.
pub fn generate(count: usize, seed: u64) -> Items {
    let mut numbers = SplitMix64(seed);
    let items: Vec<Item> = (0..count)
        .map(|_| {
            let weight = 1 + numbers.below(WEIGHT_MAX).cast_signed();
            Item { weight, profit: weight + if weight % 6 == 0 { 300 } else { 200 } }
        })
        .collect();
    let half: i64 = items.iter().map(|item| item.weight).sum::<i64>() / 2;
    let heaviest = items.iter().map(|item| item.weight).max().unwrap_or(0);
    Items { capacity: half.max(heaviest), items }
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

    #[test]
    fn equal_seeds_give_equal_items() {
        assert_eq!(generate(50, 3), generate(50, 3));
        assert_ne!(generate(50, 3), generate(50, 4));
        assert!(generate(50, 3).items.iter().all(|item| (1..=1000).contains(&item.weight)));
    }
}
