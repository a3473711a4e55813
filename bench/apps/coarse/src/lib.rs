//! Jobs of a length that is given, spawned flat by one parent: master and workers.
//!
//! Nobody spawns within such a job, so an idle worker can only be fed at the parent's spawns and
//! syncs. A guest has no clock; whoever runs this finds out how many turns take how long.

use sateen::prelude::*;

/// Turns a generator `turns` times. Each turn needs the one before, so no compiler can hurry.
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

/// The work of `main`, done by calls.
#[main]
pub fn plain(jobs: u64, turns: u64) -> u64 {
    (0..jobs).map(|seed| spin(turns, seed)).fold(0, |all, state| all ^ state)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spawned_or_called_it_is_the_same() {
        assert_eq!(main(5, 1000), plain(5, 1000));
        assert_ne!(plain(1, 1000), plain(1, 1001));
    }
}
