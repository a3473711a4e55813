//! The import `sync_any`: of several exposed jobs, the one that comes first.

use std::sync::Arc;

use wasmtime::Caller;

use super::Guest;
use super::imports::{answer_with, come_back};
use super::memory::{broken, read};
use crate::scheduler::{Job, Waited, wait_until};

/// Where the place of the chosen job is in the answer, above an answer of `sync`.
const PLACE: u32 = 40;
/// Nothing can be had without a wait.
const NONE: u64 = u64::MAX;
/// Places that fit above it.
const COUNT_MAX: u32 = 1 << 23;

/// The first of the jobs that is done; else the first that nobody has taken; else, if the guest `waits`,
/// whichever is done or comes back first.
pub async fn sync_any(
    mut caller: Caller<'_, Guest>,
    jobs: u32,
    count: u32,
    waits: bool,
) -> wasmtime::Result<u64> {
    let guest = caller.data();
    if count == 0 || count >= COUNT_MAX || count as usize > guest.outstanding() {
        let outstanding = guest.outstanding();
        return Err(broken(guest, format!("it syncs any of {count} jobs and has exposed {outstanding}")));
    }
    let bytes = read(&caller, jobs, count * 4, 4 * COUNT_MAX as usize, "a list of jobs")?;
    let guest = caller.data_mut();
    let numbers: Vec<u32> =
        bytes.as_chunks::<4>().0.iter().map(|number| u32::from_le_bytes(*number)).collect();
    if let Some(unknown) = numbers.iter().find(|number| guest.child(**number).is_none()) {
        return Err(broken(guest, format!("it syncs the job number {unknown}, which it has not exposed")));
    }

    let now = look(guest, &numbers);
    let (place, waited) = match now {
        Some(found) => found,
        None if !waits => return Ok(NONE),
        None => {
            guest.clock.stop();
            // Until one is chosen all stay among the guest's, with which they are given up.
            let found = wait_until(guest, || look(guest, &numbers)).await;
            guest.clock.go_on();
            found.map_err(wasmtime::Error::new)?
        }
    };
    let number = numbers[place];
    let Some(job) = guest.take_child(number) else {
        return Err(broken(guest, format!("the job number {number} has vanished")));
    };
    let answer = match waited {
        Waited::Outcome(outcome) => {
            guest.clock.stop();
            guest.clock.resume(job.exposed_at + outcome.span, outcome.work);
            answer_with(guest, number, outcome.result)?
        }
        Waited::Reclaimed(parameters) => come_back(&mut caller, number, job, parameters),
    };
    Ok(((place as u64) << PLACE) | answer)
}

/// The job that can be had now, by its place.
fn look(guest: &Guest, numbers: &[u32]) -> Option<(usize, Waited)> {
    let jobs = || numbers.iter().enumerate().filter_map(|(place, number)| Some((place, guest.child(*number)?)));
    let done = |(place, job): (usize, &Arc<Job>)| Some((place, Waited::Outcome(job.take_outcome()?)));
    let back =
        |(place, job): (usize, &Arc<Job>)| Some((place, Waited::Reclaimed(guest.shared.reclaim(job)?)));
    jobs().find_map(done).or_else(|| jobs().find_map(back))
}
