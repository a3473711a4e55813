//! State in statics, which violates the SDK's contract.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use sateen::prelude::*;

static CALLS: AtomicU64 = AtomicU64::new(0);

/// The number of earlier calls in this instance.
#[job]
pub fn calls_before() -> u64 {
    CALLS.fetch_add(1, Relaxed)
}

/// Not a function of its parameters: run in place it counts, with `--pristine` it does not.
#[main]
pub fn misuse(count: u64) -> u64 {
    let handles: Vec<_> = (0..count).map(|_| calls_before::spawn()).collect();
    handles.sync_all().iter().sum()
}

/// The same with larger parameters, of which fewer fit on the stack of latent jobs.
#[job]
pub fn calls_before_with(ballast: [u64; 4]) -> u64 {
    calls_before() + ballast.iter().sum::<u64>()
}

/// As `misuse`.
#[main]
pub fn misuse_in_bulk(count: u64) -> u64 {
    calls_before_with::spawn_all((0..count).map(|_| [0; 4])).sync().iter().sum()
}

/// As `misuse_in_bulk`, with a set.
#[main]
pub fn misuse_in_a_set(count: u64) -> u64 {
    let mut set: JobSet<calls_before_with> = (0..count).map(|_| ([0; 4],)).collect();
    std::iter::from_fn(|| set.next()).map(|(_, calls)| calls).sum()
}
