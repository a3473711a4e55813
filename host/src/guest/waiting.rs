//! How an instance waits: suspended, while its worker continues with another task.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use sateen_protocol::Bytes;

use super::Guest;
use crate::failure::Stop;
use crate::scheduler::{Job, Outcome};

/// The outcome of a wait.
pub enum Waited {
    /// The job was run.
    Outcome(Outcome),
    /// It came back to its owner: its parameters.
    Reclaimed(Bytes),
}

/// Waits for a job that its owner cannot take back. The guest is suspended; its worker continues with another
/// task.
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

/// Waits until `look` returns something, which it may do whenever one of the guest's jobs has an outcome or is
/// open again; `is_elsewhere` while that depends on other hosts.
pub async fn wait_until<T>(
    guest: &Guest,
    is_elsewhere: impl Fn() -> bool,
    mut look: impl FnMut() -> Option<T>,
) -> Result<T, Stop> {
    let (registry, task) = (&guest.registry, guest.job.task());
    let result = poll_fn(|context| {
        // Registers first and checks afterwards: code that completes or opens the job, aborts this task or ends
        // the run does so before it wakes the task.
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

/// Waits until `look` returns something. It is called whenever an object has changed, and now and then. The
/// guest is suspended; its worker continues with another task.
pub async fn wait_for_objects<T>(
    guest: &Guest,
    mut look: impl FnMut() -> Option<Result<T, Stop>>,
) -> Result<T, Stop> {
    let (registry, task) = (&guest.registry, guest.job.task());
    let _waiting = registry.objects.wait(task);
    let result = poll_fn(|context| {
        // Registers first and checks afterwards, as in `wait_for`.
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

/// Rounded down to whole milliseconds.
pub fn in_ms(duration: Duration) -> Duration {
    Duration::from_millis(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}
