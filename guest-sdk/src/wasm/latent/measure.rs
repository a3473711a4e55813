//! Profiled runs: the host measures the program's work and span (`sateen run --profile`).
//!
//! The host has the clock, and the guest reports spawns, calls in place and returns. Each report takes dozens
//! of nanoseconds, so only long jobs are reported. While the depth is less than the word `measure_below`, both
//! fast paths are closed, as for lookups. The word is 0 in a run that is not profiled, and costs such a run
//! nothing. For each call in place, the host says whether the jobs spawned within take long enough to be
//! measured. It opens closed paths, and at a heartbeat closes those of jobs that take longer than it expected.
//!
//! The guest also reports what does not count as work of the program, and what makes its work depend on the
//! schedule.

use std::hash::{Hash, Hasher};
use std::panic::Location;

use rustc_hash::FxHasher;

use super::kind::Kind;
use super::stack::{depth, measure_below, set_measure_below};
use crate::wasm::abi::{self, Moment};

fn is_on() -> bool {
    measure_below() != 0
}

fn is_measured() -> bool {
    depth() < measure_below()
}

/// The instance's job begins.
pub fn begin() {
    if is_on() {
        abi::measure(Moment::Begin, 0, 0, 0);
    }
}

/// The instance's job has returned.
pub fn end() {
    if is_on() {
        abi::measure(Moment::End, 0, 0, 0);
    }
}

/// A job was spawned whose record is at this address.
#[inline(always)]
pub fn spawned(record: usize) {
    if is_measured() {
        abi::measure(Moment::Spawned, record, 0, 0);
    }
}

/// The parameters of the job at this address will be encoded, and exposed.
#[inline(always)]
pub fn exposing(record: usize) {
    if is_on() {
        abi::measure(Moment::Expose, record, 0, 0);
    }
}

/// The result of a job that ran elsewhere is decoded.
#[inline(always)]
pub fn taken() {
    if is_on() {
        abi::measure(Moment::Taken, 0, 0, 0);
    }
}

/// The state that `call` leaves for `end_call`.
pub struct Call {
    outside: Option<usize>,
}

/// The job whose record was at `record` (0 if it had been exposed) will be called in place at the depth
/// `inside`.
#[inline(always)]
pub fn call(kind: &'static Kind, record: usize, inside: usize) -> Call {
    if !is_measured() {
        return Call { outside: None };
    }
    let outside = measure_below();
    let is_measured = abi::measure(Moment::Call, record, kind.number(), inside) != 0;
    set_measure_below(if is_measured { usize::MAX } else { inside });
    Call { outside: Some(outside) }
}

/// The call has returned, or failed. The caller sets the depth afterwards.
#[inline(always)]
pub fn end_call(call: Call) {
    if let Some(outside) = call.outside {
        abi::measure(Moment::Return, 0, 0, 0);
        set_measure_below(outside);
    }
}

/// Runs code that does not count as work of the program, because every sandbox runs it for itself.
pub fn aside<R>(work: impl FnOnce() -> R) -> R {
    if !is_on() {
        return work();
    }
    abi::measure(Moment::Making, 0, 0, 0);
    let done = work();
    abi::measure(Moment::Made, 0, 0, 0);
    done
}

/// Makes a value that every sandbox makes for itself. It counts as the program's work once for each `place` and
/// `key` in a run.
pub fn make<R>(place: &Location<'static>, key: impl FnOnce() -> Vec<u8>, make: impl FnOnce() -> R) -> R {
    aside(|| {
        if is_on() {
            let mut hasher = FxHasher::default();
            place.hash(&mut hasher);
            hasher.write(&key());
            let digest = hasher.finish();
            abi::measure(Moment::Key, 0, digest as u32, (digest >> 32) as usize);
        }
        make()
    })
}

/// How many of the new updates of the object with this number others have already applied: these come first, and do
/// not count as work of the program.
pub fn applied_before(object: u32) -> usize {
    if is_on() { abi::measure(Moment::CaughtUp, object as usize, 0, 0) as usize } else { usize::MAX }
}

/// An object of the type with this name is updated.
pub fn updated(name: &'static str) {
    if is_on() {
        abi::measure(Moment::Updated, name.as_ptr() as usize, 0, name.len());
    }
}

/// Reports that this many jobs of a set are dropped.
pub fn dropped(kind: &'static Kind, jobs: usize) {
    if is_on() && jobs > 0 {
        abi::measure(Moment::Dropped, 0, kind.number(), jobs);
    }
}
