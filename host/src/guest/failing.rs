//! The imports with which a guest fails, or makes a call that may fail.

use sateen_abi::{Fault, answer};
use wasmtime::{Caller, WasmBacktrace};

use super::Guest;
use super::memory::{broken, read_text};
use super::offered::Offered;
use super::profile::Profile;
use super::stopped::stop_of;
use crate::failure::{JobFailure, Stop, frames, innermost_job};
use crate::limits::LimitExceeded;

const MESSAGE_BYTES_MAX: usize = 16 << 10;

/// Offers the error of a job to the guest; returns the answer for that.
pub fn offer_failure(guest: &mut Guest, failure: &JobFailure) -> wasmtime::Result<u64> {
    let bytes = postcard::to_allocvec(failure).map_err(|error| broken(guest, error.to_string()))?;
    let length = bytes.len() as u32;
    guest.offered = Offered::Owned(bytes.into());
    Ok(answer::with(length, answer::FAILED))
}

/// Calls the guest's `sateen_attempt`: a failure of the job within is an answer, not a trap here.
pub async fn attempt(mut caller: Caller<'_, Guest>, argument: u32) -> wasmtime::Result<u64> {
    let guest = caller.data();
    guest.refuse_while_preparing("attempt")?;
    let registry = guest.registry.clone();
    let export =
        registry.app.0.attempt.as_ref().and_then(|export| caller.get_module_export(export)?.into_func());
    let Some(function) = export else {
        return Err(broken(caller.data(), "it attempts a job but does not export sateen_attempt".to_owned()));
    };
    let function = function
        .typed::<u32, ()>(&caller)
        .map_err(|error| broken(caller.data(), format!("sateen_attempt has another type: {error}")))?;
    let Some(permit) = registry.attempts.acquire() else {
        return Err(wasmtime::Error::new(Stop::Limit(LimitExceeded::Attempts {
            limit: registry.limits().attempts_max,
        })));
    };
    let recordings = caller.data().recordings.count();
    let within = caller.data().profile.as_ref().map(Profile::within);
    let result = function.call_async(&mut caller, argument).await;
    drop(permit);
    let Err(error) = result else { return Ok(0) };
    caller.data_mut().failures.note_caught();
    caller.data_mut().forget_recordings(recordings);
    if let Some(within) = within {
        caller.data_mut().forget_within(&within);
    }
    match stop_of(&mut caller, &error) {
        Stop::Failed(failure) => offer_failure(caller.data_mut(), &failure),
        stop => Err(wasmtime::Error::new(stop)),
    }
}

/// The guest panics: it will trap, and this is the reason of the trap.
pub fn panic(mut caller: Caller<'_, Guest>, text: u32, length: u32) -> wasmtime::Result<()> {
    let message = read_text(&caller, text, length, MESSAGE_BYTES_MAX)?;
    let backtrace = frames(&WasmBacktrace::capture(&caller));
    let guest = caller.data_mut();
    let stop = if is_address_space_full(&message) {
        Stop::Limit(LimitExceeded::AddressSpace(one_line(&message)))
    } else {
        let job = innermost_job(&backtrace, guest.registry.app.job_functions(), guest.job_name());
        Stop::Failed(JobFailure { job, message: one_line(&message), backtrace })
    };
    guest.failures.note_panic(stop);
    Ok(())
}

/// Rust's own panic when a collection would be larger than half of a 32-bit address space.
fn is_address_space_full(panic: &str) -> bool {
    panic.contains("library/alloc/") && panic.ends_with("\ncapacity overflow")
}

/// The guest gives up.
pub fn fail(mut caller: Caller<'_, Guest>, fault: u32, text: u32, length: u32) -> wasmtime::Result<()> {
    let message = read_text(&caller, text, length, MESSAGE_BYTES_MAX)?;
    let backtrace = frames(&WasmBacktrace::capture(&caller));
    let guest = caller.data_mut();
    let stop = match Fault::of(fault) {
        Some(Fault::Child) => match guest.failures.take_child() {
            Some(failure) => Stop::Failed(failure),
            None => return Err(broken(guest, "it reports a failed child, and none failed".to_owned())),
        },
        Some(fault @ (Fault::Update | Fault::Replica)) => {
            let job = innermost_job(&backtrace, guest.registry.app.job_functions(), guest.job_name());
            let (name, why) = message.split_once('\n').unwrap_or((&message, ""));
            let what = if fault == Fault::Update { "the update" } else { "the replica of the shared object" };
            let message = format!("{what} `{name}` failed: {}", one_line(why));
            Stop::Replica(JobFailure { job, message, backtrace })
        }
        Some(Fault::Encoding) | None => {
            let job = innermost_job(&backtrace, guest.registry.app.job_functions(), guest.job_name());
            Stop::Failed(JobFailure { job, message: one_line(&message), backtrace })
        }
    };
    Err(wasmtime::Error::new(stop))
}

/// `panicked at PLACE:\nMESSAGE` as one line with the message first.
fn one_line(panic: &str) -> String {
    let (place, message) = match panic.strip_prefix("panicked at ").and_then(|rest| rest.split_once(":\n")) {
        Some((place, message)) => (Some(place), message),
        None => (None, panic),
    };
    let message = message.trim_end().replace('\n', "; ");
    match place {
        Some(place) => format!("{message}, at {place}"),
        None => message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_collection_that_is_too_large_fills_the_address_space() {
        let rust = "panicked at /rustc/1234/library/alloc/src/raw_vec/mod.rs:28:5:\ncapacity overflow";
        assert!(is_address_space_full(rust));
        assert!(!is_address_space_full("panicked at src/lib.rs:3:5:\ncapacity overflow"));
    }

    #[test]
    fn panics_become_one_line() {
        assert_eq!(one_line("panicked at src/lib.rs:3:5:\nno\nmore"), "no; more, at src/lib.rs:3:5");
        assert_eq!(one_line("no"), "no");
    }
}
