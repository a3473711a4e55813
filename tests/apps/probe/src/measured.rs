//! Programs whose work and span are known by how they are made.

use sateen::JobSet;
use sateen::prelude::*;

use crate::spin;

/// A piece of work without spawns.
#[job]
pub fn stretch(steps: u64) -> u64 {
    spin(steps)
}

/// `count` pieces that need not wait for one another.
#[main]
pub fn pieces(count: u64, steps: u64) -> u64 {
    stretch::spawn_all((0..count).map(|_| steps)).sync().into_iter().fold(0, u64::wrapping_add)
}

/// The same, taken from a set.
#[main]
pub fn pieces_in_a_set(count: u64, steps: u64) -> u64 {
    let mut set = JobSet::new();
    for _ in 0..count {
        stretch::spawn_in(&mut set, steps);
    }
    let mut sum = 0_u64;
    while let Some((_, state)) = set.next() {
        sum = sum.wrapping_add(state);
    }
    sum
}

/// `count` pieces, each of which waits for the one before.
#[main]
pub fn pieces_in_a_row(count: u64, steps: u64) -> u64 {
    (0..count).fold(0, |sum: u64, _| sum.wrapping_add(stretch::spawn(steps).sync()))
}

/// A job of two halves at the same depth: with `levels`, 2 to that power pieces.
#[job]
pub fn halves(levels: u64, steps: u64) -> u64 {
    if levels == 0 {
        return spin(steps);
    }
    let one = halves::spawn(levels - 1, steps);
    let other = halves(levels - 1, steps);
    one.sync().wrapping_add(other)
}

/// A tree of `levels` levels, spawned as `fib` is.
#[main]
pub fn tree(levels: u64, steps: u64) -> u64 {
    halves(levels, steps)
}

/// Nothing for most numbers; for the last, a tree.
#[job]
pub fn seldom_large(number: u64, levels: u64, steps: u64) -> u64 {
    if number == 0 { halves(levels, steps) } else { halves(levels, 0) }
}

/// Hundreds of jobs that are small, and then one of their kind and depth that has all the work.
#[main]
pub fn surprise(levels: u64, steps: u64) -> u64 {
    let numbers = seldom_large::spawn_all((0..500).map(|number| (number, levels, steps)));
    numbers.sync().into_iter().fold(0, u64::wrapping_add)
}
