//! Instances made from a seed, for measuring without a file.

use crate::items::{Item, Items};
use sateen::SplitMix64;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_seeds_give_equal_items() {
        assert_eq!(generate(50, 3), generate(50, 3));
        assert_ne!(generate(50, 3), generate(50, 4));
        assert!(generate(50, 3).items.iter().all(|item| (1..=1000).contains(&item.weight)));
    }
}
