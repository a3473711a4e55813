//! The ABI, version 1: all that a guest can ask of its host.

use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::time::Duration;

use sateen_module::IMPORT_MODULE;
use sateen_protocol::limits::OBJECTS_PER_JOB_MAX;
use sateen_protocol::message::NoteKind;
use wasmtime::{AsContextMut, Caller, Linker, WasmBacktrace};

use super::any::sync_any;
use super::grain::{Grain, exposure_cost};
use super::heartbeat::{KIND_BYTES, count_jobs};
use super::memory::{broken, part, read, read_text, write};
use super::objects::{self, tell_news};
use super::profile::{Profile, measure, measure_all};
use super::state::{
    Guest, LiveKind, LogLine, Offered, Recording, sound_alarm, update_lookup_below, update_shield_below,
};
use super::stopped::stop_of;
use crate::failure::{JobFailure, Stop, frames, innermost_job};
use crate::limits::LimitExceeded;
use crate::scheduler::{Alarm, Job, LazyKey, Outcome, Place, Waited, wait_for};

/// Names of jobs and inputs are short.
pub const NAME_BYTES_MAX: usize = 256;
const MESSAGE_BYTES_MAX: usize = 16 << 10;

/// Answers of `sync` and `attempt`, above a length; above a depth if the job comes back.
const RECLAIMED: u64 = 1 << 32;
const FAILED: u64 = 2 << 32;
/// The job comes back, and `record` is to be called with its result.
const RECLAIMED_RECORD: u64 = 3 << 32;
const NO_INPUT: u64 = u64::MAX;

/// A linker that offers the ABI and nothing else.
pub fn linker(engine: &wasmtime::Engine) -> wasmtime::Result<Linker<Guest>> {
    let mut linker = Linker::new(engine);
    linker
        .func_wrap(IMPORT_MODULE, "attach", attach)?
        .func_wrap(IMPORT_MODULE, "register", register)?
        .func_wrap(
            IMPORT_MODULE,
            "expose",
            |mut caller: Caller<'_, Guest>, kind: u32, parameters: u32, length: u32, depth: u32| {
                let number = expose(&mut caller, kind, parameters, length, depth);
                caller.data_mut().end_aside();
                number
            },
        )?
        .func_wrap_async(IMPORT_MODULE, "sync", |caller, (number,): (u32,)| Box::new(sync(caller, number)))?
        .func_wrap_async(IMPORT_MODULE, "sync_any", |caller, (jobs, count, waits): (u32, u32, u32)| {
            Box::new(sync_any(caller, jobs, count, waits != 0))
        })?
        .func_wrap(IMPORT_MODULE, "wants_record", wants_record)?
        .func_wrap(IMPORT_MODULE, "record", record)?
        .func_wrap(IMPORT_MODULE, "take", |mut caller: Caller<'_, Guest>, address: u32| {
            let offered = std::mem::replace(&mut caller.data_mut().offered, Offered::Owned(Vec::new()));
            offered.write(&mut caller, address)
        })?
        .func_wrap(IMPORT_MODULE, "abandon", |mut caller: Caller<'_, Guest>, number: u32| {
            let guest = caller.data_mut();
            match guest.remove_child(number) {
                Some(job) => {
                    guest.shared.abandon(&job);
                    Ok(())
                }
                // It was called in place, and failed.
                None if guest.end_recording(number, |_| NoteKind::Failed).is_some() => Ok(()),
                None => {
                    Err(broken(guest, format!("it drops the job number {number}, which it has not exposed")))
                }
            }
        })?
        .func_wrap_async(IMPORT_MODULE, "attempt", |caller, (argument,): (u32,)| {
            Box::new(attempt(caller, argument))
        })?
        .func_wrap(IMPORT_MODULE, "panic", panic)?
        .func_wrap(IMPORT_MODULE, "fail", fail)?
        .func_wrap(IMPORT_MODULE, "log", log)?
        .func_wrap(IMPORT_MODULE, "progress", |caller: Caller<'_, Guest>, done: u64, total: u64| {
            // Other jobs do not know how much there is in all.
            if caller.data().is_root() {
                caller.data().shared.report_progress(done, total);
            }
        })?
        .func_wrap(IMPORT_MODULE, "input", input)?
        .func_wrap(IMPORT_MODULE, "measure", measure)?;
    objects::link(&mut linker)?;
    Ok(linker)
}

/// A guest shows where its control words are.
fn attach(mut caller: Caller<'_, Guest>, control: u32) {
    let guest = caller.data_mut();
    guest.control = Some(control);
    guest.lookup_bound = guest.ancestry.as_ref().map_or(0, |ancestry| ancestry.lookup_below_within());
    guest.announce_begun();
    update_lookup_below(caller.as_context_mut());
    update_shield_below(caller.as_context_mut());
    measure_all(caller.as_context_mut());
    sound_alarm_if_wanted(&mut caller);
}

fn sound_alarm_if_wanted(caller: &mut Caller<'_, Guest>) {
    // What a host that leaves wants is all that is latent: that is asked for at each heartbeat.
    if let Some(alarm) = caller.data().alarm().filter(|alarm| *alarm == Alarm::Oldest) {
        sound_alarm(caller.as_context_mut(), alarm);
    }
}

/// A job kind shows itself, at its first spawn that needs the host.
fn register(mut caller: Caller<'_, Guest>, name: u32, length: u32, address: u32) -> wasmtime::Result<u32> {
    let name = read_text(&caller, name, length, NAME_BYTES_MAX)?;
    let guest = caller.data();
    let Some(kind) = guest.shared.app.0.jobs.iter().position(|(job, _)| *job == name) else {
        return Err(broken(guest, format!("it spawns the job `{name}`, which it does not export")));
    };
    if guest.kinds.len() >= guest.shared.app.0.jobs.len() {
        return Err(broken(guest, "it registers more kinds than it has jobs".to_owned()));
    }
    let coarse = guest.shared.starts_coarse(kind);
    // The whole record must be there, so that the heartbeat may read it.
    read(&caller, address, KIND_BYTES as u32, KIND_BYTES, "a job kind")?;
    write(&mut caller, address, &u32::from(coarse).to_le_bytes())?;
    caller.data_mut().kinds.push(LiveKind {
        kind,
        address,
        spawned: 0,
        dropped: 0,
        unjudged: 0,
        grain: Grain::new(coarse),
    });
    Ok(kind as u32)
}

/// A job goes to the scheduler, or 0 when enough are there.
fn expose(
    caller: &mut Caller<'_, Guest>,
    kind: u32,
    parameters: u32,
    length: u32,
    depth: u32,
) -> wasmtime::Result<u32> {
    // Also when the job stays latent: what comes next mentions its own.
    let mentioned = caller.data_mut().objects.take_mentioned();
    let guest = caller.data();
    let shared = guest.shared.clone();
    if shared.app.0.jobs.len() <= kind as usize {
        return Err(broken(guest, format!("it exposes a job of the kind {kind}, which it has not")));
    }
    let lookup = shared.remote.as_ref().filter(|_| depth < guest.looks_up_below());
    let is_welcome = match lookup {
        Some(remote) => guest.outstanding() < shared.limits().exposed_jobs_max && remote.is_lookup_possible(),
        None => caller.data_mut().exposes_more(),
    };
    // What is exposed may be stolen, and must then fit into messages.
    let is_too_much = shared.remote.is_some() && mentioned.len() > OBJECTS_PER_JOB_MAX;
    if !is_welcome || is_too_much {
        return Ok(0);
    }
    if lookup.is_none() && caller.data_mut().turns_down(kind as usize, depth, length as usize) {
        return Ok(0);
    }
    let limit = shared.limits().output_bytes_max;
    let parameters = read(caller, parameters, length, limit, "the parameters of a job")?;
    let guest = caller.data_mut();
    guest.pace.count_exposed(parameters.len());
    if let Some(live) = guest.kinds.iter_mut().find(|live| live.kind == kind as usize) {
        live.grain.count_exposed(parameters.len());
    }
    // Its result may be known elsewhere: it is not open before that is settled.
    let lookup = lookup.filter(|remote| remote.may_find(&remote.key(kind as usize, &parameters, &mentioned)));
    let spawned_at = guest.profile.as_mut().and_then(Profile::take_exposed);
    let exposed_at = spawned_at.unwrap_or_else(|| guest.clock.span());
    let mut job = Job::new(kind as usize, parameters, guest.task, exposed_at);
    job.spawned_at = depth;
    job.depth = guest.depth_of(depth);
    job.objects = mentioned;
    job.place = guest.ancestry.as_ref().map(|ancestry| {
        let (within, redone) = (guest.recorded_above(depth), guest.is_redone_above(depth));
        Place::below(ancestry, depth, within, redone, guest.lookup_bound)
    });
    // A job is spawned before it is exposed, whenever somebody looks.
    count_jobs(&mut caller.as_context_mut(), 0);
    let guest = caller.data_mut();
    let number = match lookup {
        Some(remote) => guest.add_child(shared.look_up(remote, job)),
        None => {
            let job = Arc::new(job);
            let number = guest.add_child(job.clone());
            shared.expose(job);
            number
        }
    };
    sound_alarm_if_wanted(caller);
    Ok(number)
}

/// A job comes back: unstolen, done or failed. Waits until that is known, and so may suspend the
/// guest; the worker does something else meanwhile.
async fn sync(mut caller: Caller<'_, Guest>, number: u32) -> wasmtime::Result<u64> {
    let guest = caller.data_mut();
    let Some(job) = guest.take_child(number) else {
        return Err(broken(guest, format!("it syncs the job number {number}, which it has not exposed")));
    };
    if let Some(parameters) = guest.reclaim(&job) {
        return Ok(come_back(&mut caller, number, job, parameters));
    }
    guest.clock.stop();
    let waited = wait_for(guest, &job).await;
    let outcome = match waited {
        Ok(Waited::Outcome(outcome)) => outcome,
        Ok(Waited::Reclaimed(parameters)) => {
            guest.clock.go_on();
            return Ok(come_back(&mut caller, number, job, parameters));
        }
        Err(stop) => {
            // It is no longer among the children, with which it would be abandoned.
            guest.shared.abandon(&job);
            return Err(wasmtime::Error::new(stop));
        }
    };
    guest.clock.resume(job.exposed_at + outcome.span, outcome.work);
    answer_with(&mut caller, number, &job, outcome)
}

/// The answer of `sync` for a job that ran elsewhere.
pub fn answer_with(
    caller: &mut Caller<'_, Guest>,
    number: u32,
    job: &Job,
    outcome: Outcome,
) -> wasmtime::Result<u64> {
    // What the child has updated is seen from here on, also if it failed.
    tell_news(caller.as_context_mut());
    let guest = caller.data_mut();
    guest.free_number(number);
    if job.was_found() {
        guest.catch_up.found(guest.clock.own_work());
    }
    if guest.shared.is_worth_recording(outcome.work, Duration::ZERO) {
        guest.count_saved(outcome.work);
    }
    match outcome.result {
        Ok(result) => {
            guest.begin_aside();
            let length = result.len() as u64;
            guest.offered = Offered::Owned(result);
            guest.objects.offered = outcome.objects;
            Ok(length)
        }
        Err(failure) => {
            let answer = offer_failure(guest, &failure)?;
            guest.child_failure = Some(failure);
            Ok(answer)
        }
    }
}

/// The answer of `sync` for a job that its owner calls in place.
pub fn come_back(caller: &mut Caller<'_, Guest>, number: u32, job: Arc<Job>, parameters: Vec<u8>) -> u64 {
    sound_alarm_if_wanted(caller);
    let guest = caller.data_mut();
    if let Some(profile) = &mut guest.profile {
        profile.came_back = Some(job.exposed_at);
    }
    let depth = u64::from(job.spawned_at);
    let is_redone = job.place.as_ref().is_some_and(|place| place.redone.load(SeqCst));
    let Some(remote) = guest.shared.remote.as_ref().filter(|_| guest.record_every().is_some() || is_redone)
    else {
        guest.free_number(number);
        return RECLAIMED | depth;
    };
    let key = Arc::new(LazyKey::of(remote.parts.keys.clone(), &job, parameters));
    let before = if is_redone { guest.begin_repeating(&job, &key) } else { None };
    let (work, span) = guest.clock.total_work_and_span();
    let lookup_bound = guest.lookup_bound;
    guest.lookup_bound = lookup_bound.max(guest.own_lookup_bound(&job));
    guest.recordings.push(Recording {
        number,
        job,
        key,
        is_redone,
        before,
        lookup_bound,
        work,
        span,
        saved: Duration::ZERO,
    });
    update_lookup_below(caller.as_context_mut());
    RECLAIMED_RECORD | depth
}

/// Whether a job that was called in place, and that was to be recorded, took long enough for that: a guest need not
/// encode what is not recorded.
fn wants_record(mut caller: Caller<'_, Guest>, number: u32) -> wasmtime::Result<u32> {
    let (work, _) = caller.data_mut().clock.total_work_and_span();
    let guest = caller.data_mut();
    let Some(recording) = guest.recordings.iter().rfind(|recording| recording.number == number) else {
        return Err(not_asked_to_record(guest, number));
    };
    let work = work.saturating_sub(recording.work);
    let is_wanted = guest.shared.is_worth_recording(work, exposure_cost(recording.key.parameter_bytes()));
    if !is_wanted && let Some(recording) = guest.end_recording(number, |work_ns| NoteKind::Done { work_ns }) {
        guest.count_saved(recording.saved);
    }
    Ok(is_wanted.into())
}

fn not_asked_to_record(guest: &Guest, number: u32) -> wasmtime::Error {
    broken(guest, format!("it records the job number {number}, which it was not asked to"))
}

/// What a job gave that was called in place, and that was to be recorded.
fn record(mut caller: Caller<'_, Guest>, number: u32, result: u32, length: u32) -> wasmtime::Result<()> {
    let limit = caller.data().shared.limits().output_bytes_max;
    let ended = caller.data_mut().end_recording(number, |work_ns| NoteKind::Done { work_ns });
    let Some(recording) = ended else {
        return Err(not_asked_to_record(caller.data(), number));
    };
    let (work, span) = caller.data_mut().clock.total_work_and_span();
    let work = work.saturating_sub(recording.work);
    let bytes = part(&caller, result, length, limit, "the result of a job")?;
    // The parameters are hashed, the result is copied.
    let cost = exposure_cost(recording.key.parameter_bytes().saturating_add(bytes.len()));
    let result = caller.data().shared.is_worth_recording(work, cost).then(|| bytes.to_vec());
    let guest = caller.data_mut();
    let objects = guest.objects.take_mentioned();
    guest.count_saved(if result.is_some() { work } else { recording.saved });
    if let Some(result) = result {
        let span = span.saturating_sub(recording.span);
        let outcome = Outcome { result: Ok(result), span, work, objects };
        guest.shared.record_in_place(&recording.job, &recording.key, &outcome);
    }
    Ok(())
}

fn offer_failure(guest: &mut Guest, failure: &JobFailure) -> wasmtime::Result<u64> {
    let bytes = postcard::to_allocvec(failure).map_err(|error| broken(guest, error.to_string()))?;
    let length = bytes.len() as u64;
    guest.offered = Offered::Owned(bytes);
    Ok(FAILED | length)
}

/// Calls the guest's `sateen_attempt`: a failure of the job within is an answer, not a trap here.
async fn attempt(mut caller: Caller<'_, Guest>, argument: u32) -> wasmtime::Result<u64> {
    let guest = caller.data();
    let shared = guest.shared.clone();
    let export =
        shared.app.0.attempt.as_ref().and_then(|export| caller.get_module_export(export)?.into_func());
    let Some(function) = export else {
        return Err(broken(caller.data(), "it attempts a job but does not export sateen_attempt".to_owned()));
    };
    let function = function
        .typed::<u32, ()>(&caller)
        .map_err(|error| broken(caller.data(), format!("sateen_attempt has another type: {error}")))?;
    let Some(permit) = shared.attempts.acquire() else {
        return Err(wasmtime::Error::new(Stop::Limit(LimitExceeded::Attempts {
            limit: shared.limits().attempts_max,
        })));
    };
    let recordings = caller.data().recordings.len();
    let within = caller.data().profile.as_ref().map(Profile::within);
    let result = function.call_async(&mut caller, argument).await;
    drop(permit);
    let Err(error) = result else { return Ok(0) };
    caller.data_mut().forget_recordings(recordings);
    if let Some(within) = within {
        caller.data_mut().forget_within(&within);
    }
    match stop_of(&mut caller, &error) {
        Stop::Failed(failure) => offer_failure(caller.data_mut(), &failure),
        stop => Err(wasmtime::Error::new(stop)),
    }
}

/// The guest panics: it will trap, and this is what the trap means.
fn panic(mut caller: Caller<'_, Guest>, text: u32, length: u32) -> wasmtime::Result<()> {
    let message = read_text(&caller, text, length, MESSAGE_BYTES_MAX)?;
    let backtrace = frames(&WasmBacktrace::capture(&caller));
    let guest = caller.data_mut();
    guest.panic = Some(if is_address_space_full(&message) {
        Stop::Limit(LimitExceeded::AddressSpace(one_line(&message)))
    } else {
        let job = innermost_job(&backtrace, guest.shared.app.job_functions(), guest.job_name());
        Stop::Failed(JobFailure { job, message: one_line(&message), backtrace })
    });
    Ok(())
}

/// Rust's own panic when a collection would be larger than half of a 32-bit address space.
fn is_address_space_full(panic: &str) -> bool {
    panic.contains("library/alloc/") && panic.ends_with("\ncapacity overflow")
}

/// The guest gives up.
fn fail(mut caller: Caller<'_, Guest>, fault: u32, text: u32, length: u32) -> wasmtime::Result<()> {
    const CHILD: u32 = 1;
    const UPDATE: u32 = 3;
    const REPLICA: u32 = 4;
    let message = read_text(&caller, text, length, MESSAGE_BYTES_MAX)?;
    let backtrace = frames(&WasmBacktrace::capture(&caller));
    let guest = caller.data_mut();
    let stop = match fault {
        CHILD => match guest.child_failure.take() {
            Some(failure) => Stop::Failed(failure),
            None => return Err(broken(guest, "it reports a failed child, and none failed".to_owned())),
        },
        UPDATE | REPLICA => {
            let job = innermost_job(&backtrace, guest.shared.app.job_functions(), guest.job_name());
            let (name, why) = message.split_once('\n').unwrap_or((&message, ""));
            let what = if fault == UPDATE { "the update" } else { "the replica of the shared object" };
            let message = format!("{what} `{name}` failed: {}", one_line(why));
            Stop::Replica(JobFailure { job, message, backtrace })
        }
        _ => {
            let job = innermost_job(&backtrace, guest.shared.app.job_functions(), guest.job_name());
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

fn log(caller: Caller<'_, Guest>, text: u32, length: u32) -> wasmtime::Result<()> {
    let shared = &caller.data().shared;
    let limits = shared.limits();
    if shared.counters.log_lines.fetch_add(1, Relaxed) < limits.log_lines_max {
        let text = read_text(&caller, text, length, limits.log_line_bytes_max)?;
        let guest = caller.data();
        let tag = guest.ancestry.as_ref().map(|ancestry| ancestry.key.tag());
        shared.log(LogLine { job: guest.job_name().to_owned(), tag, text });
    }
    Ok(())
}

/// The length of a named input, which is offered to be taken.
fn input(mut caller: Caller<'_, Guest>, name: u32, length: u32) -> wasmtime::Result<u64> {
    let name = read_text(&caller, name, length, NAME_BYTES_MAX)?;
    let guest = caller.data_mut();
    Ok(match guest.shared.input(&name) {
        Some(bytes) => {
            let length = bytes.len() as u64;
            guest.offered = Offered::Shared(bytes);
            length
        }
        None => NO_INPUT,
    })
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
