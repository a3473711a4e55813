//! The import `sync_any`: returns the first of several exposed jobs to finish.
//!
//! While a guest calls a job in place, it cannot learn of the other jobs, and could not stop that job if one of
//! them made it useless. So long jobs are not called in place: each gets an instance of its own, in which it
//! can be stopped. The scheduler's `README.md` gives the reasons.

use std::sync::Arc;

use sateen_abi::answer::{NOTHING_YET, PLACE_BIT};
use wasmtime::{AsContextMut, Caller};

use super::Guest;
use super::jobs::{answer_with, come_back};
use super::kinds::count_now;
use super::memory::{broken, read};
use super::own_job::Assignment;
use super::waiting::{Waited, wait_until};
use crate::scheduler::{Grid, Job, begin_task};

/// Maximum indices that fit above it.
const COUNT_MAX: u32 = 1 << 23;

/// The first of the jobs that is done; else the first that no worker has taken; else, if the guest `waits`, the
/// one that is done or comes back first.
pub async fn sync_any(
    mut caller: Caller<'_, Guest>,
    jobs: u32,
    count: u32,
    waits: bool,
) -> wasmtime::Result<u64> {
    let guest = caller.data();
    if count == 0 || count >= COUNT_MAX || count as usize > guest.children.outstanding() {
        let outstanding = guest.children.outstanding();
        return Err(broken(guest, format!("it syncs any of {count} jobs and has exposed {outstanding}")));
    }
    let bytes = read(&caller, jobs, count * 4, 4 * COUNT_MAX as usize, "a list of jobs is")?;
    let guest = caller.data_mut();
    let numbers: Vec<u32> =
        bytes.as_chunks::<4>().0.iter().map(|number| u32::from_le_bytes(*number)).collect();
    if let Some(unknown) = numbers.iter().find(|number| guest.children.get(**number).is_none()) {
        return Err(broken(guest, format!("it syncs the job number {unknown}, which it has not exposed")));
    }

    // A single worker has no other worker to hear from, and a single job has no sibling.
    let hears = guest.registry.hears() && (count > 1 || !waits);
    let is_apart = hears && begin_apart(guest, &numbers);
    let (place, waited) = match find(guest, &numbers, is_apart) {
        Look::Found(place, waited) => (place, waited),
        Look::Nothing if !waits => return Ok(NOTHING_YET),
        Look::Apart | Look::Nothing => {
            guest.clock.stop();
            guest.job.set_urgent(true);
            // As in `sync`.
            count_now(&mut caller.as_context_mut());
            let guest = caller.data_mut();
            // Until one is chosen, all stay among the guest's jobs, and are given up with them.
            let found = wait_until(
                guest,
                || self::jobs(guest, &numbers).any(|(_, job)| job.is_elsewhere()),
                || match find(guest, &numbers, hears) {
                    Look::Found(place, waited) => Some((place, waited)),
                    Look::Apart | Look::Nothing => None,
                },
            );
            let found = found.await;
            guest.job.set_urgent(false);
            guest.clock.go_on();
            found.map_err(wasmtime::Error::new)?
        }
    };
    let number = numbers[place];
    let guest = caller.data_mut();
    let Some(job) = guest.children.take(number) else {
        return Err(broken(guest, format!("the job number {number} has vanished")));
    };
    let answer = match waited {
        Waited::Outcome(outcome) => {
            guest.clock.stop();
            guest.clock.resume(job.exposed_at + outcome.span, outcome.work);
            answer_with(&mut caller, number, &job, outcome)?
        }
        Waited::Reclaimed(parameters) => come_back(&mut caller, number, job, parameters),
    };
    Ok(((place as u64) << PLACE_BIT) | answer)
}

enum Look {
    /// The index of a job that can be returned now.
    Found(usize, Waited),
    /// No job is done, and one that could be called in place should have an instance of its own.
    Apart,
    /// There is none.
    Nothing,
}

/// A job that is done; else one that comes back. While others are under way and the guest `hears` of them, no
/// long job comes back: during a call in place, the guest could not hear of them.
fn find(guest: &Guest, numbers: &[u32], hears: bool) -> Look {
    if let Some((place, outcome)) =
        jobs(guest, numbers).find_map(|(place, job)| Some((place, job.take_outcome()?)))
    {
        return Look::Found(place, Waited::Outcome(outcome));
    }
    // Never wait only for open jobs: there may be no instance for any of them.
    let hears = hears && jobs(guest, numbers).any(|(_, job)| !job.is_open());
    for (place, job) in jobs(guest, numbers).filter(|(_, job)| job.is_open()) {
        if hears && is_apart(guest, job) {
            return Look::Apart;
        }
        if let Some(parameters) = guest.reclaim(job) {
            return Look::Found(place, Waited::Reclaimed(parameters));
        }
    }
    Look::Nothing
}

/// Makes sure that one of the jobs runs here although the guest waits: if the first that no worker has taken is
/// long, it begins in an instance of its own. Returns false if that is impossible.
fn begin_apart(guest: &mut Guest, numbers: &[u32]) -> bool {
    if jobs(guest, numbers).any(|(_, job)| job.is_finished()) {
        return true;
    }
    if jobs(guest, numbers).any(|(_, job)| guest.children.is_begun(job)) {
        return true;
    }
    let Some(job) = jobs(guest, numbers).map(|(_, job)| job).find(|job| job.is_open()).cloned() else {
        return true;
    };
    if !is_apart(guest, &job) {
        return true;
    }
    let registry = guest.registry.clone();
    if Grid::ask_first(&*registry, &job) {
        return true;
    }
    if !registry.room.may_begin() {
        return false;
    }
    let Some(instance) = registry.instances.acquire_above(registry.reserve()) else { return false };
    if let Some(task) = registry.take(&job) {
        begin_task(&registry, task, Assignment::Job(job.clone()), instance);
        guest.children.note_begun(job);
    }
    true
}

fn jobs<'a>(guest: &'a Guest, numbers: &'a [u32]) -> impl Iterator<Item = (usize, &'a Arc<Job>)> {
    numbers.iter().enumerate().filter_map(|(place, number)| Some((place, guest.children.get(*number)?)))
}

/// Whether a job must not be called in place although its owner could.
fn is_apart(guest: &Guest, job: &Job) -> bool {
    let registry = &guest.registry;
    !registry.is_draining() && (registry.is_pristine() || registry.grains.is_long(job.kind, job.depth))
}
