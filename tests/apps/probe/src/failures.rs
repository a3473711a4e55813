//! Jobs that panic, trap or return errors, and parents that pass failures on or catch them.

use std::error::Error;

use sateen::prelude::*;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::shapes::fib;

/// Panics if `fails`, after some work in children of its own.
#[job]
pub fn fragile(n: u64, fails: bool) -> u64 {
    let below = fib::spawn(n);
    let kept = fib::spawn(n);
    assert!(!fails, "job {n} is told to fail");
    below.sync() + kept.sync()
}

/// Syncs a `fragile` and so fails with it.
#[job]
pub fn between(n: u64) -> u64 {
    fragile::spawn(n, true).sync() + 1
}

/// A panic two levels down ends the run.
#[main]
pub fn panic_passes(n: u64) -> u64 {
    let bystander = fib::spawn(n);
    let failing = between::spawn(n);
    crate::spin(1_000_000);
    failing.sync() + bystander.sync()
}

/// The root itself panics, with a message of two lines.
#[main]
pub fn panic_in_root() -> u64 {
    panic!("the root fails\nin two lines");
}

/// A trap with only the entry point on the stack.
#[main]
pub fn trap() -> u64 {
    trap_here()
}

fn trap_here() -> u64 {
    #[cfg(target_family = "wasm")]
    core::arch::wasm32::unreachable();
    #[cfg(not(target_family = "wasm"))]
    panic!("unreachable");
}

/// A value that another version of the app cannot read.
#[derive(Debug)]
pub struct OfAnotherVersion(u64);

impl Serialize for OfAnotherVersion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            LONG => vec![0_u8; LONG as usize].serialize(serializer),
            number => number.serialize(serializer),
        }
    }
}

/// Length above which values are not checked where they are encoded.
const LONG: u64 = 2_000_000;

impl<'de> Deserialize<'de> for OfAnotherVersion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <(u64, u64)>::deserialize(deserializer).map(|(_, number)| Self(number))
    }
}

/// Returns a value that its parent cannot read.
#[job]
pub fn older(number: u64) -> OfAnotherVersion {
    OfAnotherVersion(number)
}

/// Receives a value that it cannot read.
#[job]
pub fn newer(given: OfAnotherVersion) -> u64 {
    given.0
}

/// A result of another type.
#[main]
pub fn result_of_another_version(number: u64) -> u64 {
    older::spawn(number).sync().0
}

/// Parameters of another type.
#[main]
pub fn parameters_of_another_version(number: u64) -> u64 {
    newer::spawn(OfAnotherVersion(number)).sync()
}

/// A job that traps.
#[job]
pub fn trapping(n: u64) -> u64 {
    crate::spin(n) ^ trap_here()
}

/// A failure's job and message, which are the same on every machine.
fn told(error: &JobError) -> String {
    format!("{}: {}", error.job, error.message)
}

/// A panic two levels down is caught, and the parent continues with its other jobs.
#[main]
pub fn panic_caught(n: u64) -> String {
    let before = fib::spawn(n);
    let failing = between::spawn(n);
    let after = fib::spawn(n + 1);
    crate::spin(1_000_000);
    let caught = failing.try_sync();
    let told = caught.as_ref().map_or_else(told, u64::to_string);
    format!("{told}; {} {}", after.sync(), before.sync())
}

/// The backtrace of a caught panic, innermost frame first, a line each.
#[main]
pub fn backtrace(n: u64) -> String {
    match between::spawn(n).try_sync() {
        Ok(_) => "no failure".to_owned(),
        Err(error) => error.backtrace.join("\n"),
    }
}

/// A trap is caught like a panic.
#[main]
pub fn trap_caught(n: u64) -> String {
    let failing = trapping::spawn(n);
    let good = fib::spawn(n);
    format!("{}; {}", failing.try_sync().map_or_else(|e| e.job, |n| n.to_string()), good.sync())
}

/// A job that returns a `Result`, an ordinary value.
#[job]
pub fn halved(n: u64) -> Result<u64, String> {
    if n.is_multiple_of(2) { Ok(n / 2) } else { Err(format!("{n} is odd")) }
}

/// `Ok` and `Err` of jobs, in order; `?` works on a sync.
#[main]
pub fn results(count: u64) -> Result<String, String> {
    let all = halved::spawn_all(0..count).sync();
    let texts: Vec<String> = all.into_iter().map(|half| half.map_or_else(|e| e, |n| n.to_string())).collect();
    let last = halved::spawn(count * 2).sync()?;
    Ok(format!("{}; {last}", texts.join(", ")))
}

/// The root returns the `Err` of a job.
#[main]
pub fn error_text(n: u64) -> Result<u64, String> {
    halved::spawn(n).sync()
}

/// The root returns a boxed error that is bad input.
#[main]
pub fn error_boxed(n: i64) -> Result<i64, Box<dyn Error>> {
    if n < 0 {
        return Err(BadInput(format!("{n} is negative")).into());
    }
    Ok("12x".parse::<i64>()? + n)
}

/// Catches a failure `depth` levels below, and fails with it.
#[job]
pub fn rethrow(depth: u32) -> u64 {
    if depth == 0 {
        panic!("at the bottom");
    }
    let bystander = fib::spawn(u64::from(depth));
    match rethrow::spawn(depth - 1).try_sync() {
        Ok(_) => bystander.sync(),
        Err(error) => panic!("{depth} over {}", told(&error)),
    }
}

/// `try_sync` within `try_sync`.
#[main]
pub fn nested_attempts(depth: u32) -> String {
    let caught = rethrow::spawn(depth).try_sync();
    let again = rethrow::spawn(1).try_sync();
    let all: Vec<String> =
        [caught, again].iter().map(|c| c.as_ref().map_or_else(told, u64::to_string)).collect();
    all.join("; ")
}

/// A tree in which every sync is an attempt.
#[job]
pub fn attempted_tree(depth: u32) -> u64 {
    if depth == 0 {
        crate::spin(2_000);
        return 1;
    }
    let handles = [attempted_tree::spawn(depth - 1), attempted_tree::spawn(depth - 1)];
    handles.into_iter().map(|handle| handle.try_sync().unwrap_or_default()).sum()
}

/// The leaves of a tree of this depth, with `depth` nested attempts on each path.
#[main]
pub fn attempts_everywhere(depth: u32) -> u64 {
    attempted_tree(depth)
}

/// Attempts `count` jobs that fail, one after another: none may leave anything behind.
#[main]
pub fn many_failures(count: u64) -> u64 {
    let mut failed = 0;
    for n in 0..count {
        let good = fib::spawn(n % 5);
        failed += u64::from(fragile::spawn(n % 7, n % 2 == 0).try_sync().is_err());
        good.sync();
    }
    failed
}

/// Catches a failure, or none.
#[job]
pub fn catches(fails: bool) -> u64 {
    crate::spin(20_000);
    u64::from(fragile::spawn(1, fails).try_sync().is_err())
}

/// The failures that `count` siblings catch, every third of which catches one.
#[main]
pub fn failures_of_siblings(count: u64) -> u64 {
    let handles: Vec<_> = (0..count).map(|n| catches::spawn(n % 3 == 0)).collect();
    handles.sync_all().iter().sum()
}

/// Spawns `count` good jobs, then one that fails, and catches every failure. The failing job may only
/// run at its own sync.
#[main]
pub fn failure_behind_many(count: u64) -> String {
    let mut handles: Vec<_> = (0..count).map(|n| fragile::spawn(n % 3, false)).collect();
    handles.push(fragile::spawn(1, true));
    let failed = handles.into_iter().filter_map(|handle| handle.try_sync().err()).count();
    format!("{failed} failed")
}

/// As `failure_behind_many`, but the failing job's handle is dropped: it never runs.
#[main]
pub fn dropped_failure_behind_many(count: u64) -> u64 {
    let handles: Vec<_> = (0..count).map(|n| fragile::spawn(n % 3, false)).collect();
    drop(fragile::spawn(1, true));
    handles.sync_all().iter().sum()
}

/// Under another name than its function's.
#[job(name = "renamed.job")]
pub fn other_name(n: u64) -> u64 {
    assert!(n < 5, "{n} is too many");
    n
}

/// The reported name of a job that fails in place.
#[main]
pub fn failure_of_renamed(n: u64) -> String {
    other_name::spawn(n).try_sync().map_or_else(|error| told(&error), |n| n.to_string())
}

/// A job whose records differ in size from those around it; it leaves many of them behind and fails.
#[job]
pub fn littering(count: u64) -> u64 {
    let litter: Vec<_> =
        (0..count).map(|n| crate::parameters::aligned::spawn(n as u8, u128::from(n))).collect();
    for handle in litter {
        handle.sync();
    }
    // A full stack is not swept at once, so it takes many spawns.
    let _unsynced: Vec<_> = (0..5_000).map(|n| crate::parameters::medium::spawn([n; 20])).collect();
    panic!("after {count} records");
}

/// The stack of latent jobs fills up and is swept within an attempt that fails, while the records below
/// it were synced out of order; afterwards it must still be intact.
#[main]
pub fn swept_in_attempt(below: u64, within: u64) -> u64 {
    let holes: Vec<_> = (0..below).map(|n| fib::spawn(n % 3)).collect();
    let mut sum: u64 = holes.into_iter().map(Spawned::sync).sum();
    let attempted = littering::spawn(within).try_sync();
    sum += u64::from(attempted.is_err());
    let more: Vec<_> = (0..within).map(|n| fib::spawn(n % 3)).collect();
    sum + more.into_iter().map(Spawned::sync).sum::<u64>()
}
