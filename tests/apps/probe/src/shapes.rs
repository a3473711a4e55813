//! Trees of extreme shapes: balanced, skewed, flat.

use sateen::prelude::*;

/// A balanced tree, one spawn for each addition.
#[job]
pub fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let left = fib::spawn(n - 1);
    let right = fib(n - 2);
    left.sync() + right
}

/// `fib(n)`, by spawns.
#[main]
pub fn balanced(n: u64) -> u64 {
    fib(n)
}

/// A leaf that returns its number.
#[job]
pub fn leaf(n: u64) -> u64 {
    n
}

/// A comb: each level spawns a leaf and calls the next level.
#[job]
pub fn comb(depth: u64) -> u64 {
    if depth == 0 {
        return 0;
    }
    let tooth = leaf::spawn(depth);
    let below = comb(depth - 1);
    tooth.sync() + below
}

/// The sum of 1 to `depth`, with all levels on the stack at once.
#[main]
pub fn skewed(depth: u64) -> u64 {
    comb(depth)
}

/// A chain: each level spawns the next and syncs it at once.
#[job]
pub fn link(depth: u64) -> u64 {
    if depth == 0 { 0 } else { link::spawn(depth - 1).sync() + 1 }
}

/// `depth`, counted by a chain of syncs.
#[main]
pub fn chain(depth: u64) -> u64 {
    link(depth)
}

/// As `link`, with syncs that would catch a failure.
#[job]
pub fn attempted_link(depth: u64) -> u64 {
    if depth == 0 {
        return 0;
    }
    match attempted_link::spawn(depth - 1).try_sync() {
        Ok(below) => below + 1,
        Err(error) => panic!("a link that cannot fail failed: {error}"),
    }
}

/// `depth`, counted by a chain of `try_sync`.
#[main]
pub fn attempted_chain(depth: u64) -> u64 {
    attempted_link(depth)
}

/// The sum below `n`, one job a number, synced all at once.
#[main]
pub fn flat(n: u64) -> u64 {
    leaf::spawn_all(0..n).sync().iter().sum()
}

/// The sum below `n`, one job a number, the first spawned synced first.
#[main]
pub fn flat_in_order(n: u64) -> u64 {
    leaf::spawn_all(0..n).into_iter().map(Spawned::sync).sum()
}

/// A job that takes a while and spawns nothing.
#[job]
pub fn coarse(number: u64, steps: u64) -> u64 {
    crate::mix(number) ^ crate::spin(steps)
}

/// `count` jobs of `steps` each, flat.
#[main]
pub fn coarse_flat(count: u64, steps: u64) -> u64 {
    coarse::spawn_all((0..count).map(|number| (number, steps))).sync().into_iter().fold(0, u64::wrapping_add)
}

/// A job of `steps` for each of these numbers.
#[main]
pub fn coarse_of(steps: u64, numbers: Vec<u64>) -> u64 {
    let all = numbers.into_iter().map(|number| (number, steps));
    coarse::spawn_all(all).sync().into_iter().fold(0, u64::wrapping_add)
}

/// The sum below `count`, one job a number, while another job of `steps` may run elsewhere.
#[main]
pub fn fine_beside_coarse(count: u64, steps: u64) -> u64 {
    let other = coarse::spawn(0, steps);
    let sum: u64 = (0..count).map(|number| leaf::spawn(number).sync()).sum();
    sum.wrapping_add(other.sync())
}
