//! Handles synced in any order, dropped, and moved about.

use sateen::prelude::*;

use crate::shapes::{fib, leaf};

/// Handles that are permuted.
const HANDLES: usize = 5;

/// All orders of `0..HANDLES`, by Heap's algorithm.
fn permutations() -> Vec<[usize; HANDLES]> {
    fn permute(length: usize, order: &mut [usize; HANDLES], all: &mut Vec<[usize; HANDLES]>) {
        if length == 1 {
            all.push(*order);
            return;
        }
        for last in 0..length {
            permute(length - 1, order, all);
            order.swap(if length.is_multiple_of(2) { last } else { 0 }, length - 1);
        }
    }
    let mut all = Vec::new();
    permute(HANDLES, &mut std::array::from_fn(|index| index), &mut all);
    all
}

/// Syncs five jobs in each of their 120 orders. Every job's result depends on its place, so that no
/// two can be confused.
#[main]
pub fn every_order(n: u64) -> u64 {
    let mut digest = 0;
    for order in permutations() {
        let mut handles: Vec<Option<Spawned<fib>>> =
            (0..HANDLES).map(|index| Some(fib::spawn(n + index as u64))).collect();
        for index in order {
            let result = handles[index].take().map_or(0, Spawned::sync);
            digest = crate::mix(digest ^ crate::mix(result + index as u64));
        }
    }
    digest
}

/// Spawns while earlier jobs are half synced: a window that slides over `count` jobs.
#[main]
pub fn sliding_window(count: u64, width: usize) -> u64 {
    let mut window = std::collections::VecDeque::new();
    let mut sum = 0;
    for n in 0..count {
        window.push_back(leaf::spawn(n));
        if window.len() > width {
            sum += window.pop_front().map_or(0, Spawned::sync);
        }
    }
    sum + window.into_iter().map(Spawned::sync).sum::<u64>()
}

/// Spawns `count` jobs and drops all but every third.
#[main]
pub fn dropped(count: u64) -> u64 {
    let kept: Vec<Spawned<fib>> = (0..count)
        .map(|n| fib::spawn(n % 12))
        .enumerate()
        .filter(|(n, _)| n % 3 == 0)
        .map(|(_, h)| h)
        .collect();
    kept.sync_all().iter().sum()
}

/// Spawns jobs that never end and drops them: the run still ends.
#[main]
pub fn dropped_while_running(count: u64) -> u64 {
    for n in 0..count {
        drop(crate::limits::endless::spawn(n));
    }
    crate::spin(20_000_000);
    count
}

/// Never ends, and waits for a child that never ends.
#[job]
pub fn endless_family(n: u64) -> u64 {
    let child = crate::limits::endless::spawn(n);
    sateen::log!("family spawned");
    child.sync()
}

/// Drops a job that never ends and one that waits for such a child; then logs that and continues for ever.
/// A test blocks it in its log lines until all of them were taken.
#[main]
pub fn drop_and_go_on() -> u64 {
    let family = endless_family::spawn(1);
    let single = crate::limits::endless::spawn(2);
    sateen::log!("root spawned");
    drop(single);
    drop(family);
    sateen::log!("root dropped");
    crate::limits::endless(3)
}

/// A handle in a struct, and another behind a pointer.
struct Pair {
    first: Spawned<fib>,
    second: Box<Spawned<fib>>,
}

fn make(n: u64) -> Pair {
    Pair { first: fib::spawn(n), second: Box::new(fib::spawn(n + 1)) }
}

fn consume(handle: Spawned<fib>) -> u64 {
    handle.sync()
}

/// Handles moved through structs, boxes, calls, vectors and swaps.
#[main]
pub fn moved(n: u64) -> u64 {
    let mut pairs: Vec<Pair> = (0..8).map(|more| make(n + more)).collect();
    pairs.swap(0, 7);
    let mut last = pairs.remove(3);
    std::mem::swap(&mut last.first, &mut pairs[2].first);
    let mut digest = consume(last.first);
    digest = crate::mix(digest ^ consume(*last.second));
    for pair in pairs {
        digest = crate::mix(digest ^ consume(*pair.second));
        digest = crate::mix(digest ^ consume(pair.first));
    }
    digest
}

/// A job keeps its handles while it recurses, so that records of different frames are interleaved.
#[job]
pub fn braided(depth: u64) -> u64 {
    if depth == 0 {
        return 1;
    }
    let first = braided::spawn(depth - 1);
    let unwanted = fib::spawn(depth);
    let second = braided::spawn(depth - 1);
    let middle = braided(depth - 1);
    let sum = crate::mix(first.sync()) ^ middle;
    drop(unwanted);
    crate::mix(sum ^ second.sync())
}

/// Records synced, dropped and kept across many frames.
#[main]
pub fn braid(depth: u64) -> u64 {
    braided(depth)
}
