//! The imports for jobs that a guest exposes, syncs, or calls in place.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use sateen_abi::answer;
use sateen_protocol::Bytes;
use sateen_protocol::limits::OBJECTS_PER_JOB_MAX;
use sateen_protocol::message::NoteKind;
use wasmtime::{AsContextMut, Caller};

use super::Guest;
use super::control_words::{sound_alarm, update_lookup_below};
use super::failing::offer_failure;
use super::grain::exposure_cost;
use super::kinds::{count_before_exposure, count_now};
use super::memory::{broken, part, read};
use super::news::tell_news;
use super::offered::Offered;
use super::profile::Profile;
use super::recordings::{Ended, Recording};
use super::waiting::{Waited, wait_for};
use crate::scheduler::{Alarm, Grid, GuestGrid, Job, LazyKey, Outcome, Place};

/// Makes the guest take the slow path soon if its jobs are wanted.
pub fn sound_alarm_if_wanted(caller: &mut Caller<'_, Guest>) {
    // A host that leaves wants all latent jobs, and asks for them at each heartbeat.
    if let Some(alarm) = caller.data().alarm().filter(|alarm| *alarm == Alarm::Oldest) {
        sound_alarm(caller.as_context_mut(), alarm);
    }
}

/// Passes a job to the scheduler; returns 0 if there are enough.
pub fn expose(
    caller: &mut Caller<'_, Guest>,
    kind: u32,
    parameters: u32,
    length: u32,
    depth: u32,
) -> wasmtime::Result<u32> {
    // Also if the job stays latent: the next value has its own mentions.
    let mentioned = caller.data_mut().objects.take_mentioned();
    let guest = caller.data();
    let registry = guest.registry.clone();
    if registry.app.0.jobs.len() <= kind as usize {
        return Err(broken(guest, format!("it exposes a job of the kind {kind}, which it does not have")));
    }
    let is_sought = registry.grid.has_hosts() && depth < guest.looks_up_below();
    let is_welcome = if is_sought {
        let has_room = guest.children.outstanding() < registry.limits().exposed_jobs_max;
        has_room && registry.grid.is_lookup_possible()
    } else {
        caller.data_mut().exposes_more()
    };
    // An exposed job may be stolen, and must then fit into messages.
    let is_too_much = registry.grid.has_hosts() && mentioned.len() > OBJECTS_PER_JOB_MAX;
    if !is_welcome || is_too_much {
        return Ok(0);
    }
    if !is_sought && caller.data_mut().turns_down(kind as usize, depth, length as usize) {
        return Ok(0);
    }
    let limit = registry.limits().output_bytes_max;
    let parameters = read(caller, parameters, length, limit, "the parameters of a job are")?;
    let guest = caller.data_mut();
    guest.exposure.count_exposed(parameters.len());
    guest.kinds.count_exposed(kind as usize, parameters.len());
    // Its result may be known elsewhere: the job is not open before the lookup is answered.
    let is_looked_up = is_sought && registry.grid.may_find(kind as usize, &parameters, &mentioned);
    let spawned_at = guest.profile.as_mut().and_then(Profile::take_exposed);
    let exposed_at = spawned_at.unwrap_or_else(|| guest.clock.span());
    let mut job = Job::new(kind as usize, parameters, guest.job.task(), exposed_at);
    job.spawned_at = depth;
    job.depth = guest.job.depth_of(depth);
    job.objects = mentioned;
    job.place = guest.job.ancestry().map(|ancestry| {
        let recordings = &guest.recordings;
        let (within, redone) = (recordings.above(depth), recordings.is_redone_above(depth));
        Place::below(ancestry, depth, within, redone, recordings.lookup_bound())
    });
    count_before_exposure(&mut caller.as_context_mut());
    let guest = caller.data_mut();
    let number = if is_looked_up {
        guest.children.add(GuestGrid::look_up(&*registry, job))
    } else {
        let job = Arc::new(job);
        let number = guest.children.add(job.clone());
        registry.expose(job);
        number
    };
    guest.count_exposure();
    sound_alarm_if_wanted(caller);
    Ok(number)
}

/// Returns a job: not stolen, done or failed. Waits until this is known, and so may suspend the guest; the
/// worker continues with another task meanwhile.
pub async fn sync(mut caller: Caller<'_, Guest>, number: u32) -> wasmtime::Result<u64> {
    let guest = caller.data_mut();
    let Some(job) = guest.children.take(number) else {
        return Err(broken(guest, format!("it syncs the job number {number}, which it has not exposed")));
    };
    if let Some(parameters) = guest.reclaim(&job) {
        return Ok(come_back(&mut caller, number, job, parameters));
    }
    guest.clock.stop();
    guest.kinds.outlook.wait(job.spawned_at);
    // The instance may be dropped while it waits, and its results may have been recorded.
    count_now(&mut caller.as_context_mut());
    let guest = caller.data_mut();
    let waited = wait_for(guest, &job).await;
    let outcome = match waited {
        Ok(Waited::Outcome(outcome)) => outcome,
        Ok(Waited::Reclaimed(parameters)) => {
            guest.clock.go_on();
            guest.kinds.outlook.call();
            return Ok(come_back(&mut caller, number, job, parameters));
        }
        Err(stop) => {
            // It is no longer among the children, so it would not be abandoned with them.
            guest.registry.abandon(&job);
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
    // From here on the guest sees the child's updates, also if the child failed.
    tell_news(caller.as_context_mut());
    let guest = caller.data_mut();
    guest.children.free(number);
    guest.kinds.outlook.take(job.spawned_at, outcome.work);
    if job.was_found_again() {
        guest.catch_up.found(guest.clock.own_work());
    }
    if guest.registry.is_worth_recording(outcome.work, Duration::ZERO) {
        guest.recordings.count_saved(outcome.work);
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
            guest.failures.note_child(failure);
            Ok(answer)
        }
    }
}

/// The answer of `sync` for a job that its owner calls in place.
pub fn come_back(caller: &mut Caller<'_, Guest>, number: u32, job: Arc<Job>, parameters: Bytes) -> u64 {
    sound_alarm_if_wanted(caller);
    let guest = caller.data_mut();
    if let Some(profile) = &mut guest.profile {
        profile.came_back = Some(job.exposed_at);
    }
    let depth = job.spawned_at;
    let is_redone = job.place.as_ref().is_some_and(|place| place.redone.load(SeqCst));
    let is_noted = guest.record_every().is_some() || is_redone;
    let Some(keys) = guest.registry.grid.keys().filter(|_| is_noted) else {
        guest.children.free(number);
        return answer::with(depth, answer::RECLAIMED);
    };
    let key = Arc::new(LazyKey::new(keys.clone(), job.kind, job.objects.clone(), parameters));
    let before = if is_redone { guest.begin_repeating(&job, &key) } else { None };
    let (work, span) = guest.clock.total_work_and_span();
    let lookup_bound = guest.job.lookup_bound_of(&job);
    let recording = Recording { job, key, is_redone, before, work, span };
    guest.recordings.begin(number, recording, lookup_bound);
    update_lookup_below(caller.as_context_mut());
    answer::with(depth, answer::RECLAIMED_RECORD)
}

/// Whether a job that was called in place and may be recorded took long enough: a guest need not encode a result
/// that is not recorded.
pub fn wants_record(mut caller: Caller<'_, Guest>, number: u32) -> wasmtime::Result<u32> {
    let (work, _) = caller.data_mut().clock.total_work_and_span();
    let guest = caller.data_mut();
    let Some(recording) = guest.recordings.find(number) else {
        return Err(not_asked_to_record(guest, number));
    };
    let work = work.saturating_sub(recording.work);
    let is_wanted = guest.registry.is_worth_recording(work, exposure_cost(recording.key.parameter_bytes()));
    if !is_wanted && let Some(ended) = guest.end_recording(number, |work_ns| NoteKind::Done { work_ns }) {
        guest.recordings.count_saved(ended.saved);
    }
    Ok(is_wanted.into())
}

fn not_asked_to_record(guest: &Guest, number: u32) -> wasmtime::Error {
    broken(guest, format!("it records the job number {number}, which it was not asked to"))
}

/// Records the result of a job that was called in place and may be recorded.
pub fn record(mut caller: Caller<'_, Guest>, number: u32, result: u32, length: u32) -> wasmtime::Result<()> {
    let limit = caller.data().registry.limits().output_bytes_max;
    let ended = caller.data_mut().end_recording(number, |work_ns| NoteKind::Done { work_ns });
    let Some(Ended { recording, saved }) = ended else {
        return Err(not_asked_to_record(caller.data(), number));
    };
    let (work, span) = caller.data_mut().clock.total_work_and_span();
    let work = work.saturating_sub(recording.work);
    let bytes = part(&caller, result, length, limit, "the result of a job is")?;
    // The parameters are hashed, the result is copied.
    let cost = exposure_cost(recording.key.parameter_bytes().saturating_add(bytes.len()));
    let result = caller.data().registry.is_worth_recording(work, cost).then(|| Bytes::from(bytes));
    if result.is_some() {
        // A job whose result is known is not run again: the jobs below it are counted here or nowhere.
        count_now(&mut caller.as_context_mut());
    }
    let guest = caller.data_mut();
    let objects = guest.objects.take_mentioned();
    guest.recordings.count_saved(if result.is_some() { work } else { saved });
    if let Some(result) = result {
        let span = span.saturating_sub(recording.span);
        let outcome = Outcome { result: Ok(result), span, work, objects };
        guest.registry.record_in_place(&recording.job, &recording.key, &outcome);
    }
    Ok(())
}
