//! Programs whose work and span are known by construction.

use std::cell::Cell;

use sateen::JobSet;
use sateen::prelude::*;
use serde::{Deserialize, Serialize};

use crate::spin;

/// A piece of work without spawns.
#[job]
pub fn stretch(steps: u64) -> u64 {
    spin(steps)
}

/// `count` independent pieces.
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

/// `count` pieces, each of which waits for the previous one.
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

/// No work for most numbers; for the last, a tree.
#[job]
pub fn seldom_large(number: u64, levels: u64, steps: u64) -> u64 {
    if number == 0 { halves(levels, steps) } else { halves(levels, 0) }
}

/// Hundreds of small jobs, and then one of the same kind and depth that has all the work.
#[main]
pub fn surprise(levels: u64, steps: u64) -> u64 {
    let numbers = seldom_large::spawn_all((0..500).map(|number| (number, levels, steps)));
    numbers.sync().into_iter().fold(0, u64::wrapping_add)
}

/// A table that every sandbox makes for itself: about two milliseconds for each two million `steps`.
fn table(number: u64, steps: u64) -> u64 {
    thread_local! {
        static LAST: Cell<Option<(u64, u64)>> = const { Cell::new(None) };
    }
    match LAST.get() {
        Some((known, table)) if known == number => table,
        _ => {
            let table = sateen::per_sandbox(&(number, steps), || spin(steps));
            LAST.set(Some((number, table)));
            table
        }
    }
}

/// A little work with a table that takes long to make.
#[job]
pub fn look_up(number: u64, steps: u64) -> u64 {
    table(number, steps) ^ spin(steps / 16)
}

/// `count` jobs for each of `tables` tables, which the root also needs.
#[main]
pub fn tables(tables: u64, count: u64, steps: u64) -> u64 {
    (0..tables).fold(0, |sum, number| {
        let own = table(number, steps);
        let jobs = look_up::spawn_all((0..count).map(|_| (number, steps)));
        jobs.sync().into_iter().fold(sum ^ own, u64::wrapping_add)
    })
}

/// The same, without declaring that each sandbox makes its own.
#[main]
pub fn untold_tables(count: u64, steps: u64) -> u64 {
    untold::spawn_all((0..count).map(|_| steps)).sync().into_iter().fold(untold(steps), u64::wrapping_add)
}

/// As `look_up`.
#[job]
pub fn untold(steps: u64) -> u64 {
    thread_local! {
        static TABLE: Cell<Option<u64>> = const { Cell::new(None) };
    }
    let table = TABLE.get().unwrap_or_else(|| spin(steps));
    TABLE.set(Some(table));
    table ^ spin(steps / 16)
}

/// A value whose replicas take long to update.
#[derive(Debug, Serialize, Deserialize)]
pub struct Slow {
    state: u64,
}

#[shared]
impl Slow {
    #[update]
    fn turn(&mut self, steps: u64) {
        self.state = self.state.wrapping_add(spin(steps));
    }
}

/// Reads an object; each sandbox has to update its replica.
#[job]
pub fn read_slow(slow: Shared<Slow>, steps: u64) -> u64 {
    slow.read().state ^ spin(steps)
}

/// The root updates an object `turns` times, and `count` jobs read it.
#[main]
pub fn slow_replicas(turns: u64, count: u64, steps: u64) -> u64 {
    let slow = Shared::new(Slow { state: 0 });
    (0..turns).for_each(|_| slow.turn(steps));
    let jobs = read_slow::spawn_all((0..count).map(|_| (slow.clone(), steps)));
    jobs.sync().into_iter().fold(0, u64::wrapping_add)
}

fn is_turned(slow: &Shared<Slow>, _steps: &u64) -> bool {
    slow.read().state != 0
}

/// The same for an object that is new enough.
#[job(guard = is_turned)]
pub fn read_turned(slow: Shared<Slow>, steps: u64) -> u64 {
    slow.read().state ^ spin(steps)
}

/// As `slow_replicas`, with jobs that wait for the updates.
#[main]
pub fn guarded_replicas(turns: u64, count: u64, steps: u64) -> u64 {
    let slow = Shared::new(Slow { state: 0 });
    (0..turns).for_each(|_| slow.turn(steps));
    let jobs = read_turned::spawn_all((0..count).map(|_| (slow.clone(), steps)));
    jobs.sync().into_iter().fold(0, u64::wrapping_add)
}

/// Updates an object.
#[job]
pub fn turn_slow(slow: Shared<Slow>) -> u64 {
    slow.turn(1);
    0
}

/// Jobs that update an object.
#[main]
pub fn told_by_jobs(count: u64) -> u64 {
    let slow = Shared::new(Slow { state: 0 });
    turn_slow::spawn_all((0..count).map(|_| slow.clone())).sync().into_iter().sum()
}

/// The first of `count` pieces; the others are dropped.
#[main]
pub fn first_of_pieces(count: u64, steps: u64) -> u64 {
    let mut set = JobSet::new();
    for _ in 0..count {
        stretch::spawn_in(&mut set, steps);
    }
    set.next().map_or(0, |(_, state)| state)
}

/// A job that fails after it has begun to make something.
#[job]
pub fn fails(steps: u64) -> u64 {
    sateen::per_sandbox(&steps, || if steps > 0 { panic!("it cannot be made") } else { 0 })
}

/// Work after the failure of a child counts.
#[main]
pub fn goes_on_after_a_failure(steps: u64) -> u64 {
    let failed = fails::spawn(steps).try_sync().is_err();
    u64::from(failed).wrapping_add(spin(steps))
}
