//! Measures the cost of taking a child's result from a set, compared with a plain spawn and sync, and of an abort.

use sateen::prelude::*;

/// A nearly empty job with one parameter and a result (TOPLAS table III).
#[job]
pub fn step(n: u64) -> u64 {
    n ^ 1
}

/// Spawns and syncs `count` children, one after another.
#[main]
pub fn synced(count: u64) -> u64 {
    let mut sum = 0;
    for n in 0..count {
        sum += step::spawn(n).sync();
    }
    sum
}

/// As `synced`, but each child is taken from a set, and an inlet adds up the results.
#[main]
pub fn inlets(count: u64) -> u64 {
    let mut sum = 0;
    for n in 0..count {
        let mut set = JobSet::new();
        step::spawn_in(&mut set, n);
        if let Some((_, result)) = set.next() {
            sum += result;
        }
    }
    sum
}

/// As `synced`, eight children at a time.
#[main]
pub fn synced_by_8(count: u64) -> u64 {
    let mut sum = 0;
    for n in 0..count / 8 {
        let handles: [_; 8] = std::array::from_fn(|of_8| step::spawn(8 * n + of_8 as u64));
        for handle in handles.into_iter().rev() {
            sum += handle.sync();
        }
    }
    sum
}

/// As `inlets`, eight children in a set.
#[main]
pub fn inlets_by_8(count: u64) -> u64 {
    let mut sum = 0;
    for n in 0..count / 8 {
        let mut set = JobSet::new();
        for of_8 in 0..8 {
            step::spawn_in(&mut set, 8 * n + of_8);
        }
        while let Some((_, result)) = set.next() {
            sum += result;
        }
    }
    sum
}

/// Spawns `children` in a set, `rounds` times, and aborts them if `aborts`, else takes them.
#[main]
pub fn aborted(children: u64, rounds: u64, aborts: bool) -> u64 {
    let mut left = 0;
    for _ in 0..rounds {
        let mut set = JobSet::new();
        for n in 0..children {
            step::spawn_in(&mut set, n);
        }
        left += set.len() as u64;
        if aborts {
            set.abort();
        }
        while set.next().is_some() {}
    }
    left
}

/// Number 0 runs a random generator for `turns` steps; the others never end.
#[job]
pub fn decision(number: u64, turns: u64) -> u64 {
    let mut state = 1_u64;
    let mut turn = 0;
    while number > 0 || turn < turns {
        // Marsaglia's xorshift, which never reaches zero.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        turn += 1;
        if state == 0 {
            break;
        }
    }
    state
}

/// Number 0 decides after `turns` steps; then `others` jobs that never end are aborted, and the root continues for
/// `more` steps.
#[main]
pub fn reach(others: u64, turns: u64, more: u64) -> u64 {
    let mut set = JobSet::new();
    for number in 0..=others {
        decision::spawn_in(&mut set, number, turns);
    }
    let decided = set.next();
    set.abort();
    let (index, state) = decided.unwrap_or_default();
    assert!(state != 0 && decision(0, more) != 0, "the turns are made");
    index as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn syncs_and_sets_give_the_same_result() {
        assert_eq!(synced(800), inlets(800));
        assert_eq!(synced(800), synced_by_8(800));
        assert_eq!(synced(800), inlets_by_8(800));
        assert_eq!(aborted(10, 3, true), aborted(10, 3, false));
    }
}
