//! How an instance waits: suspended, while its worker goes on with something else.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use super::Guest;
use crate::failure::Stop;
use crate::scheduler::{Job, Outcome};

/// What a wait ends with.
pub enum Waited {
    /// Somebody ran the job.
    Outcome(Outcome),
    /// It came back, and its owner has it: its parameters.
    Reclaimed(Vec<u8>),
}

/// Waits for a job that its owner cannot take back. The guest is suspended; its worker goes on with
/// something else.
pub async fn wait_for(guest: &Guest, job: &Arc<Job>) -> Result<Waited, Stop> {
    wait_until(
        guest,
        || job.is_elsewhere(),
        || match job.take_outcome() {
            Some(outcome) => Some(Waited::Outcome(outcome)),
            None => guest.reclaim(job).map(Waited::Reclaimed),
        },
    )
    .await
}

/// Waits until `look` gives something, which it may whenever one of the guest's jobs has an outcome or is
/// open again; `is_elsewhere` while that is for other hosts to bring about.
pub async fn wait_until<T>(
    guest: &Guest,
    is_elsewhere: impl Fn() -> bool,
    mut look: impl FnMut() -> Option<T>,
) -> Result<T, Stop> {
    let (registry, task) = (&guest.registry, guest.job.task());
    let result = poll_fn(|context| {
        // Registered first and looked at afterwards: whoever completes or opens the job, aborts this
        // task or ends the run does so before it wakes.
        registry.tasks.register_waiting(task, context.waker(), guest.is_unsaved() && is_elsewhere());
        if let Err(stop) = guest.check() {
            return Poll::Ready(Err(stop));
        }
        look().map_or(Poll::Pending, |found| Poll::Ready(Ok(found)))
    })
    .await;
    registry.tasks.forget_waiting(task);
    result
}

/// Waits until `look` finds what it looks for. It looks whenever something has come to an object, and now
/// and then. The guest is suspended; its worker goes on with something else.
pub async fn wait_for_objects<T>(
    guest: &Guest,
    mut look: impl FnMut() -> Option<Result<T, Stop>>,
) -> Result<T, Stop> {
    let (registry, task) = (&guest.registry, guest.job.task());
    let _waiting = registry.objects.wait(task);
    let result = poll_fn(|context| {
        // Registered first and looked at afterwards, as in `wait_for`.
        registry.tasks.register_waiting(task, context.waker(), false);
        if let Err(stop) = guest.check() {
            return Poll::Ready(Err(stop));
        }
        look().map_or(Poll::Pending, Poll::Ready)
    })
    .await;
    registry.tasks.forget_waiting(task);
    result
}
