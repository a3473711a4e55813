//! The ABI, version 1: everything that a guest can ask of its host.

use std::sync::atomic::Ordering::Relaxed;

use sateen_abi::answer::NO_INPUT;
use sateen_abi::import::MODULE;
use sateen_protocol::message::NoteKind;
use wasmtime::{AsContextMut, Caller, Linker};

use super::any::sync_any;
use super::control_words::{update_lookup_below, update_shield_below};
use super::failing::{attempt, fail, panic};
use super::heartbeat::poll;
use super::jobs::{expose, record, sound_alarm_if_wanted, sync, wants_record};
use super::kinds;
use super::memory::{NAME_BYTES_MAX, broken, read_text};
use super::objects;
use super::offered::Offered;
use super::profile::{measure, measure_all};
use super::{Guest, LogLine};

/// A linker that offers the ABI and nothing else.
pub fn linker(engine: &wasmtime::Engine) -> wasmtime::Result<Linker<Guest>> {
    let mut linker = Linker::new(engine);
    linker
        .func_wrap(MODULE, "attach", attach)?
        .func_wrap(MODULE, "latent", kinds::show_latent)?
        .func_wrap(MODULE, "register", register)?
        .func_wrap(
            MODULE,
            "expose",
            |mut caller: Caller<'_, Guest>, kind: u32, parameters: u32, length: u32, depth: u32| {
                caller.data().refuse_while_preparing("expose")?;
                let number = expose(&mut caller, kind, parameters, length, depth);
                caller.data_mut().end_aside();
                number
            },
        )?
        .func_wrap_async(MODULE, "sync", |caller, (number,): (u32,)| Box::new(sync(caller, number)))?
        .func_wrap_async(MODULE, "sync_any", |caller, (jobs, count, waits): (u32, u32, u32)| {
            Box::new(sync_any(caller, jobs, count, waits != 0))
        })?
        .func_wrap(MODULE, "wants_record", wants_record)?
        .func_wrap(MODULE, "record", record)?
        .func_wrap(MODULE, "take", |mut caller: Caller<'_, Guest>, address: u32| {
            let offered = std::mem::replace(&mut caller.data_mut().offered, Offered::nothing());
            offered.write(&mut caller, address)
        })?
        .func_wrap(MODULE, "abandon", |mut caller: Caller<'_, Guest>, number: u32| {
            let guest = caller.data_mut();
            match guest.children.remove(number) {
                Some(job) => {
                    guest.registry.abandon(&job);
                    Ok(())
                }
                // The job was called in place, and failed.
                None if guest.end_recording(number, |_| NoteKind::Failed).is_some() => Ok(()),
                None => {
                    Err(broken(guest, format!("it drops the job number {number}, which it has not exposed")))
                }
            }
        })?
        .func_wrap_async(MODULE, "attempt", |caller, (argument,): (u32,)| {
            Box::new(attempt(caller, argument))
        })?
        .func_wrap(MODULE, "panic", panic)?
        .func_wrap(MODULE, "fail", fail)?
        .func_wrap(MODULE, "log", log)?
        .func_wrap(MODULE, "progress", |caller: Caller<'_, Guest>, done: u64, total: u64| {
            let guest = caller.data();
            guest.refuse_while_preparing("progress")?;
            // Only the root knows the total.
            if guest.job.is_root() {
                guest.registry.report_progress(done, total);
            }
            Ok(())
        })?
        .func_wrap(MODULE, "input", input)?
        .func_wrap(MODULE, "measure", measure)?;
    objects::link(&mut linker)?;
    linker.func_wrap_async(sateen_rewriter::MODULE, sateen_rewriter::POLL, |caller, (): ()| {
        Box::new(poll(caller))
    })?;
    Ok(linker)
}

/// A guest reports the address of its control words.
fn attach(mut caller: Caller<'_, Guest>, control: u32) -> wasmtime::Result<()> {
    let guest = caller.data_mut();
    guest.refuse_while_preparing("attach")?;
    guest.control.attach(control);
    let lookup_bound = guest.job.ancestry().map_or(0, |ancestry| ancestry.lookup_below_within());
    guest.recordings.set_lookup_bound(lookup_bound);
    guest.announce_begun();
    update_lookup_below(caller.as_context_mut());
    update_shield_below(caller.as_context_mut());
    measure_all(caller.as_context_mut());
    sound_alarm_if_wanted(&mut caller);
    Ok(())
}

/// A guest registers a job kind, at the first spawn of it that needs the host.
fn register(mut caller: Caller<'_, Guest>, name: u32, length: u32, address: u32) -> wasmtime::Result<u32> {
    caller.data().refuse_while_preparing("register")?;
    let name = read_text(&caller, name, length, NAME_BYTES_MAX)?;
    let guest = caller.data();
    let Some(kind) = guest.registry.app.0.jobs.iter().position(|(job, _)| *job == name) else {
        return Err(broken(guest, format!("it spawns the job `{name}`, which it does not export")));
    };
    if guest.kinds.count() >= guest.registry.app.0.jobs.len() {
        return Err(broken(guest, "it registers more kinds than it has jobs".to_owned()));
    }
    kinds::register(&mut caller, kind, address)?;
    Ok(kind as u32)
}

fn log(caller: Caller<'_, Guest>, text: u32, length: u32) -> wasmtime::Result<()> {
    let registry = &caller.data().registry;
    let limits = registry.limits();
    if registry.counters.log_lines.fetch_add(1, Relaxed) < limits.log_lines_max {
        let text = read_text(&caller, text, length, limits.log_line_bytes_max)?;
        let guest = caller.data();
        registry.log(LogLine { job: guest.job_name().to_owned(), tag: guest.job.tag(), text });
    }
    Ok(())
}

/// The length of a named input, which is offered to the guest.
fn input(mut caller: Caller<'_, Guest>, name: u32, length: u32) -> wasmtime::Result<u64> {
    let name = read_text(&caller, name, length, NAME_BYTES_MAX)?;
    let guest = caller.data_mut();
    let inputs = &guest.registry.inputs;
    // What is prepared may not be used.
    let found = if guest.job.preparing().is_some() { inputs.get(&name) } else { inputs.read(&name) };
    Ok(match found {
        Some(bytes) => {
            let length = bytes.len() as u64;
            guest.offered = Offered::Shared(bytes);
            length
        }
        None => NO_INPUT,
    })
}
