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
