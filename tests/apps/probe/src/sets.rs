//! Sets of jobs, whose results are taken in the order in which they finish, and aborts.

use sateen::prelude::*;

use crate::{mix, spin};

/// Takes a while, without spawning.
#[job]
pub fn item(n: u64, rounds: u64) -> u64 {
    spin(rounds);
    n
}

/// The sum of `count` items; each index must come once.
#[main]
pub fn set_sum(count: u64, rounds: u64) -> u64 {
    let mut set = JobSet::new();
    for n in 0..count {
        assert_eq!(item::spawn_in(&mut set, n, rounds) as u64, n);
    }
    let mut seen = vec![false; count as usize];
    let mut sum = 0;
    while let Some((index, n)) = set.next() {
        assert_eq!(index as u64, n, "the result of another job");
        assert!(!std::mem::replace(&mut seen[index], true), "{index} twice");
        sum += n;
    }
    assert!(seen.iter().all(|seen| *seen) && set.is_empty());
    sum
}

/// The sum of `count` items, all spawned at once.
#[main]
pub fn bag(count: u64, rounds: u64) -> u64 {
    item::spawn_all((0..count).map(|n| (n, rounds))).sync().into_iter().sum()
}

/// As `fib`, with a set in each call.
#[job]
pub fn set_fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let mut set = JobSet::new();
    set_fib::spawn_in(&mut set, n - 1);
    set_fib::spawn_in(&mut set, n - 2);
    let mut sum = 0;
    while let Some((_, part)) = set.next() {
        sum += part;
    }
    sum
}

/// As `set_fib`.
#[main]
pub fn set_balanced(n: u64) -> u64 {
    set_fib(n)
}

/// A tree in which each node spawns alternately into two sets, with single spawns in between, takes some results
/// before it spawns the others, and drops a third of them.
#[job]
pub fn thicket(seed: u64, depth: u32) -> u64 {
    if depth == 0 {
        spin(seed % 500);
        return seed;
    }
    let child = |n: u64| (mix(seed ^ n), depth - 1);
    let mut sets = [JobSet::<thicket>::new(), JobSet::new(), JobSet::new()];
    let mut single = Vec::new();
    let mut sum = 0_u64;
    for n in 0..9 {
        let set = &mut sets[(n % 3) as usize];
        set.spawn(child(n));
        if n % 4 == 3 {
            let (seed, depth) = child(n + 100);
            single.push(thicket::spawn(seed, depth));
        }
    }
    let [mut first, mut second, third] = sets;
    for n in 9..11 {
        // The order of results is irrelevant: only the sum is returned.
        first.spawn(child(n));
        second.spawn(child(n));
    }
    while let Some((_, part)) = first.next() {
        sum = sum.wrapping_add(part);
        if let Some((_, part)) = second.next() {
            sum = sum.wrapping_add(part);
        }
    }
    drop(third);
    sum = single.sync_all().into_iter().fold(sum, u64::wrapping_add);
    while let Some((_, part)) = second.next() {
        sum = sum.wrapping_add(part);
    }
    mix(sum)
}

/// As `thicket`.
#[main]
pub fn thickets(depth: u32) -> u64 {
    thicket(1, depth)
}

/// Says yes from the number `yes` upwards; the others never end.
#[job]
pub fn oracle(n: u64, yes: u64) -> bool {
    if n >= yes {
        return true;
    }
    loop {
        // A tree below it, for the abort to reach.
        let below = item::spawn(n, 1000);
        spin(1000);
        below.sync();
    }
}

/// The first yes ends it; on one worker `yes` must be 0, and otherwise less than the number of workers.
#[main]
pub fn first_yes(count: u64, yes: u64) -> u64 {
    let mut set = JobSet::new();
    for n in 0..count {
        oracle::spawn_in(&mut set, n, yes);
    }
    let answer = set.next();
    set.abort();
    assert!(set.is_empty() && set.next().is_none());
    u64::from(answer.is_some_and(|(index, answer)| answer && index as u64 >= yes))
}

/// A search for any leaf with a property: its result does not depend on which leaf is found, or on
/// aborts.
#[job]
pub fn search(seed: u64, depth: u32) -> Option<u64> {
    if depth == 0 {
        spin(seed % 3000);
        return seed.is_multiple_of(16).then_some(seed % 16);
    }
    let children = 2 + mix(seed) % 6;
    let mut set: JobSet<search> =
        (0..children).map(|n| (mix(seed.wrapping_mul(31) + n), depth - 1)).collect();
    while let Some((_, found)) = set.next() {
        if found.is_some() {
            return found;
        }
    }
    None
}

/// The number of successful searches among `count`.
#[main]
pub fn searches(count: u64, depth: u32) -> u64 {
    search::spawn_all((0..count).map(|n| (mix(n), depth))).sync().into_iter().flatten().count() as u64
}

/// Fails if its number is odd.
#[job]
pub fn even(n: u64, depth: u32) -> u64 {
    spin(2000);
    // A job that is outstanding when it fails.
    let mut set = JobSet::<even>::new();
    if depth > 0 {
        set.extend((0..6).map(|below| (2 * below, depth - 1)));
        set.next();
    }
    assert!(n.is_multiple_of(2), "{n} is odd");
    n
}

/// The failures of the odd numbers.
#[main]
pub fn odd_ones(count: u64) -> String {
    let mut set = JobSet::<even>::new();
    set.extend((0..count).map(|n| (n, 1)));
    let mut odd = Vec::new();
    while let Some((index, result)) = set.try_next() {
        match result {
            Ok(n) => assert_eq!((n, n % 2), (index as u64, 0)),
            Err(error) => {
                assert_eq!(error.job, "even");
                odd.push((index, error.message));
            }
        }
    }
    odd.sort();
    odd.iter().map(|(index, message)| format!("{index}: {message}\n")).collect()
}

/// The failure of one job ends the run.
#[main]
pub fn odd_one(count: u64) -> u64 {
    let mut set = JobSet::<even>::new();
    set.extend((0..count).map(|n| (if n == count - 1 { 1 } else { 0 }, 0)));
    let mut sum = 0;
    while let Some((_, n)) = set.next() {
        sum += n;
    }
    sum
}

/// Far more jobs than memory holds, taken as they finish.
#[main]
pub fn streamed(count: u64, rounds: u64) -> u64 {
    let mut sum = 0;
    let mut seen = 0;
    for (index, n) in item::stream((0..count).map(|n| (n, rounds))) {
        assert_eq!(index as u64, n);
        sum += n;
        seen += 1;
    }
    assert_eq!(seen, count);
    sum
}

/// Parameters that are large: a million of these are 2 GB.
#[job]
pub fn heavy_item(ballast: Vec<u64>) -> u64 {
    ballast.iter().sum()
}

/// As `streamed`, with large parameters.
#[main]
pub fn streamed_weights(count: u64) -> u64 {
    heavy_item::stream((0..count).map(|n| vec![n; 256])).map(|(_, weight)| weight / 256).sum()
}

/// A stream that is left before its end.
#[main]
pub fn left_stream(count: u64) -> u64 {
    item::stream((0..count).map(|n| (n, 100))).take(100).map(|(_, n)| n.min(1)).sum::<u64>().min(99)
}

/// Aborts `count` children at once.
#[main]
pub fn abort_many(count: u64) -> u64 {
    let mut set = JobSet::<item>::new();
    set.extend((0..count).map(|n| (n, 1)));
    let taken = u64::from(set.next().is_some());
    set.abort();
    assert!(set.is_empty());
    // The set can still be used.
    assert_eq!(item::spawn_in(&mut set, 7, 1) as u64, count);
    assert_eq!(set.next(), Some((count as usize, 7)));
    taken
}

/// A set that is kept while others come and go.
#[main]
pub fn moved_set(n: u64) -> u64 {
    let make = |from: u64| {
        let mut set = JobSet::<item>::new();
        set.extend((from..from + n).map(|n| (n, 50)));
        set
    };
    let mut sets = [make(0), make(n), make(2 * n)];
    sets.swap(0, 2);
    let mut sum = 0;
    while let Some((_, n)) = sets.iter_mut().find_map(JobSet::next) {
        sum += n;
    }
    sum
}

/// `steps` of work, and a tree below it that always lags a little.
#[job]
pub fn long(steps: u64) -> u64 {
    for _ in 0..steps / 2_000_000 {
        let below = item::spawn(steps, 1_000_000);
        spin(1_000_000);
        below.sync();
    }
    1
}

/// Spawns `others` jobs that take as many steps, and after `before` steps aborts them, logs that, and continues alone.
#[main]
pub fn aborted_later(others: u64, steps: u64, before: u64, after: u64) -> u64 {
    let mut set = JobSet::new();
    for _ in 0..others {
        long::spawn_in(&mut set, steps);
    }
    spin(before);
    set.abort();
    sateen::log!("aborted");
    spin(after);
    others
}

/// Handles whose records reuse the place of a set's records, while the set still has jobs elsewhere.
#[main]
pub fn handles_in_a_sets_place(rounds: u64) -> u64 {
    let mut sum = 0;
    for round in 0..rounds {
        let spawn =
            |from: u64| -> Vec<_> { (from..from + 3).map(|n| heavy_item::spawn(vec![n; 5])).collect() };
        let mut set: JobSet<heavy_item> = (0..3).map(|n| (vec![round + n; 5],)).collect();
        let mut taken = |set: &mut JobSet<heavy_item>| sum += set.next().map_or(0, |(_, weight)| weight);
        taken(&mut set);
        let handles = spawn(round);
        taken(&mut set);
        let more = spawn(round + 7);
        taken(&mut set);
        sum += more.sync_all().into_iter().chain(handles.sync_all()).sum::<u64>();
    }
    sum
}
