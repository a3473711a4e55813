//! Jobs of a given length, spawned flat by one parent: master and workers.
//!
//! Such a job does not spawn, so an idle worker can only get work at the parent's spawns and
//! syncs. A guest has no clock; the benchmark determines how many turns take how long.

use sateen::prelude::*;

/// Runs a random generator for `turns` steps. Each step needs the one before, so no compiler can shorten it.
#[job]
pub fn spin(turns: u64, seed: u64) -> u64 {
    // Marsaglia's xorshift, which never leaves or reaches zero.
    let mut state = seed | 1;
    for _ in 0..turns {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    state
}

/// Spawns `jobs` jobs of `turns` turns each, all from here.
#[main]
pub fn main(jobs: u64, turns: u64) -> u64 {
    let states = spin::spawn_all((0..jobs).map(|seed| (turns, seed))).sync();
    states.into_iter().fold(0, |all, state| all ^ state)
}

/// Spawns a job of `turns` turns for each of the seeds: its inputs.
#[main]
pub fn seeded(turns: u64, seeds: Vec<u64>) -> u64 {
    let states = spin::spawn_all(seeds.into_iter().map(|seed| (turns, seed))).sync();
    states.into_iter().fold(0, |all, state| all ^ state)
}

/// As `spin`, with a result of about 4,000 bytes.
#[job]
pub fn wide(turns: u64, seed: u64) -> Vec<u64> {
    /// Each takes at most 10 bytes.
    const STATES: u64 = 400;
    let last = spin(turns, seed);
    (0..STATES).map(|place| spin(1, last ^ place)).collect()
}

/// As `seeded`, with large results.
#[main]
pub fn seeded_wide(turns: u64, seeds: Vec<u64>) -> u64 {
    let states = wide::spawn_all(seeds.into_iter().map(|seed| (turns, seed))).sync();
    states.into_iter().flatten().fold(0, |all, state| all ^ state)
}

/// The work of `main`, done by calls.
#[main]
pub fn plain(jobs: u64, turns: u64) -> u64 {
    (0..jobs).map(|seed| spin(turns, seed)).fold(0, |all, state| all ^ state)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spawns_and_calls_give_the_same_result() {
        assert_eq!(main(5, 1000), plain(5, 1000));
        assert_eq!(seeded(1000, vec![0, 4, 2, 3, 1]), plain(5, 1000));
        assert_ne!(plain(1, 1000), plain(1, 1001));
    }
}
