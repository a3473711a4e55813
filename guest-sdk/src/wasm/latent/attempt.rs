//! Calling a job so that its failure is a value: the call goes through the host, which catches the trap.

use super::stack::{
    abort_from, attempt_base, depth, enter, kept, set_attempt_base, set_depth, set_kept, top,
};
use super::{measure, older};
use crate::error::parted;
use crate::prepared::forget_makings;
use crate::shared::forget_readers;
use crate::wasm::abi::{self, Fault};
use crate::{Job, JobError, codec};

/// The data that `try_sync` passes through the host.
#[repr(C)]
struct Attempt<J: Job> {
    /// First, so that `run_attempt` finds it whatever the job.
    run: fn(*mut u8),
    parameters: Option<J::Parameters>,
    result: Option<J::Output>,
}

/// Calls the job, whose record was at `record`, at the depth `inside` through the host, so that its trap is an
/// error here.
#[inline(never)]
pub fn attempt<J: Job>(
    parameters: J::Parameters,
    inside: usize,
    record: usize,
) -> Result<J::Output, JobError> {
    let mut attempt = Attempt::<J> {
        run: |attempt| {
            // SAFETY: `run_attempt` passes the pointer that came from the `Attempt` below.
            let attempt = unsafe { &mut *attempt.cast::<Attempt<J>>() };
            attempt.result = attempt.parameters.take().map(J::call);
        },
        parameters: Some(parameters),
        result: None,
    };
    let (outer, own, outside, serial) = (attempt_base(), top(), depth(), older::serial());
    let kept_before = kept();
    set_attempt_base(own);
    let call = measure::call(J::kind(), record, inside);
    enter(inside);
    let failed = abi::attempt((&raw mut attempt).cast());
    set_attempt_base(outer);
    measure::end_call(call);
    match failed {
        None => {
            enter(outside);
            match attempt.result {
                Some(result) => Ok(result),
                None => abi::fail(Fault::Encoding, "an attempted job left no result"),
            }
        }
        Some(length) => {
            set_depth(outside);
            let error = taken_error(length);
            older::abandon_since(serial);
            abort_from(own);
            // The handles to those that were kept since are lost with the call's frames.
            set_kept(kept_before);
            forget_readers();
            forget_makings();
            Err(error)
        }
    }
}

/// See `sateen_attempt`.
pub fn run_attempt(attempt: *mut u8) {
    // SAFETY: the host passes on what `attempt` gave it, whose first field is the function.
    let run = unsafe { *attempt.cast::<fn(*mut u8)>() };
    run(attempt);
}

/// The error that waits to be taken, `length` bytes long.
pub fn taken_error(length: usize) -> JobError {
    let (job, message, backtrace) =
        codec::decode(&abi::take(length)).unwrap_or_else(|error| (String::new(), error, Vec::new()));
    let (message, place) = parted(message);
    JobError { job, message, place, backtrace }
}
