//! The import `hold`: a guard waits for changes of shared objects.

use std::time::{Duration, Instant};

use wasmtime::{AsContextMut, Caller};

use super::Guest;
use super::memory::{NAME_BYTES_MAX, read_text};
use super::news::tell_news;
use super::waiting::{in_ms, wait_for_objects};
use crate::failure::Stop;
use crate::limits::LimitExceeded;
use crate::scheduler::{Grid, GuestGrid};

/// How long a guard waits for late updates before other hosts' replicas are fetched.
const PATIENCE_MIN: Duration = Duration::from_millis(20);
/// They are fetched again after twice as long each time, up to this.
const PATIENCE_MAX: Duration = Duration::from_millis(500);

/// A guard that is false.
pub struct Holding {
    guard: String,
    since: Instant,
    /// The number of changes at the start of its last evaluation.
    seen: u64,
    refetch: Refetch,
}

/// When replicas are compared with others' for a waiting guard. Other updates may arrive all the time.
struct Refetch {
    after: Duration,
    next: Duration,
}

impl Refetch {
    fn new() -> Self {
        Self { after: PATIENCE_MIN, next: PATIENCE_MIN }
    }

    fn is_time(&mut self, waited: Duration) -> bool {
        let is_time = waited >= self.next;
        if is_time {
            self.after = (2 * self.after).min(PATIENCE_MAX);
            self.next = waited + self.after;
        }
        is_time
    }
}

/// A guard is false: waits until an object has changed.
pub async fn hold(mut caller: Caller<'_, Guest>, name: u32, length: u32) -> wasmtime::Result<()> {
    caller.data().refuse_while_preparing("hold")?;
    let name = read_text(&caller, name, length, NAME_BYTES_MAX)?;
    let guest = caller.data_mut();
    let known = guest.objects.holding.take().filter(|holding| holding.guard == name);
    let Some(Holding { since, seen, mut refetch, .. }) = known else {
        // An object may have changed since the guard was evaluated: it is evaluated again before it waits.
        let (since, seen) = (Instant::now(), guest.registry.objects.changes());
        guest.objects.holding = Some(Holding { guard: name, since, seen, refetch: Refetch::new() });
        tell_news(caller.as_context_mut());
        return Ok(());
    };
    let registry = guest.registry.clone();
    let limit = registry.limits().guard_wait_max;
    let job = guest.job_name().to_owned();
    let held = guest.job.ancestry().map(|ancestry| ancestry.held);
    let open = guest.objects.ids();
    guest.clock.stop();
    let waited = wait_for_objects(guest, || {
        let waited = since.elapsed();
        if let Some(held) = held.filter(|_| registry.grid.has_hosts() && refetch.is_time(waited)) {
            registry.grid.refetch_objects(held, &open);
        }
        if registry.objects.changes() != seen {
            return Some(Ok(()));
        }
        if waited >= limit {
            let (guard, job) = (name.clone(), job.clone());
            return Some(Err(Stop::Limit(LimitExceeded::Guard { guard, job, waited: in_ms(waited) })));
        }
        None
    })
    .await;
    guest.clock.go_on();
    waited.map_err(wasmtime::Error::new)?;
    let seen = registry.objects.changes();
    guest.objects.holding = Some(Holding { guard: name, since, seen, refetch });
    tell_news(caller.as_context_mut());
    Ok(())
}
