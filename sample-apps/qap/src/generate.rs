//! Instances made from a seed, for measuring without a file.

use crate::instance::Instance;
use sateen::SplitMix64;

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
