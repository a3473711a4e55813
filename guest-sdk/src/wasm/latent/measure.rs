//! Profiled runs: the host measures the program's work and span (`sateen run --profile`).
//!
//! The host has the clock, and is told what happens: spawns, calls in place and returns. That takes dozens of
//! nanoseconds each, so it is told of what takes long only. The word `measure_below` is 0 in a run that is not
//! profiled, and costs such a run nothing: as for lookups, while the depth is less, both fast paths are closed.
//! For each call in place the host says whether what is spawned within takes long enough to be measured. It
//! opens what was closed, and at a heartbeat closes what takes longer than it thought.

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
    let is_measured = abi::measure(Moment::Call, record, kind.number(), inside);
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
