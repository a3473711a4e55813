//! Instances made from a seed, for measuring without a file.

use crate::tour::Ways;
use sateen::SplitMix64;

/// The side of the square in which the cities lie.
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
