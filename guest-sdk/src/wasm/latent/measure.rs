//! Profiled runs: the host measures the program's work and span (`sateen run --profile`).
//!
//! The host has the clock, and is told what happens: spawns, calls in place and returns. That takes dozens of
//! nanoseconds each, so it is told of what takes long only. The word `measure_below` is 0 in a run that is not
//! profiled, and costs such a run nothing: as for lookups, while the depth is less, both fast paths are closed.
//! For each call in place the host says whether what is spawned within takes long enough to be measured. It
//! opens what was closed, and at a heartbeat closes what takes longer than it thought.
//!
//! The host is also told what is no work of the program's, and what makes its work depend on the schedule.

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

/// What `call` leaves for `end_call`.
pub struct Call {
    outside: Option<usize>,
}

/// A job will be called in place at the depth `inside`, which was at `record`; 0 if it had been exposed.
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

/// It has returned, or failed. The caller sets the depth afterwards.
#[inline(always)]
pub fn end_call(call: Call) {
    if let Some(outside) = call.outside {
        abi::measure(Moment::Return, 0, 0, 0);
        set_measure_below(outside);
    }
}

/// Does what is no work of the program's: every sandbox does it for itself.
pub fn aside<R>(work: impl FnOnce() -> R) -> R {
    if !is_on() {
        return work();
    }
    abi::measure(Moment::Making, 0, 0, 0);
    let done = work();
    abi::measure(Moment::Made, 0, 0, 0);
    done
}

/// Makes what every sandbox makes for itself. It is the program's work once for each `place` and `key` in a run.
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

/// How many of the updates that have come to the object with this number others have applied: the first ones, which
/// are no work of the program's.
pub fn applied_before(object: u32) -> usize {
    if is_on() { abi::measure(Moment::CaughtUp, object as usize, 0, 0) as usize } else { usize::MAX }
}

/// An object of the type with this name is updated.
pub fn updated(name: &'static str) {
    if is_on() {
        abi::measure(Moment::Updated, name.as_ptr() as usize, 0, name.len());
    }
}

/// So many jobs of a set are dropped.
pub fn dropped(kind: &'static Kind, jobs: usize) {
    if is_on() && jobs > 0 {
        abi::measure(Moment::Dropped, 0, kind.number(), jobs);
    }
}
