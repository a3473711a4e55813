//! How long runs are kept after their end, with their results, trees and logs.

use std::sync::Arc;

use sateen_protocol::RunId;
use tokio::sync::watch;
use tokio::time::sleep;

use crate::clock::unix_ms;
use crate::driver::{DriverHandle, Gone, Request};
use crate::limits::{RETENTION_EVERY, RUNS_AGED_OUT_AT_ONCE_MAX, RUNS_DROPPED_AT_ONCE_MAX};
use crate::shutdown::stopped;
use crate::store::sql::{self, Outdated};
use crate::store::{Retention, Store, StoreError};

/// Why a run was not deleted.
pub enum NotDeleted {
    /// The coordinator is stopping.
    Gone,
    /// The database did not take it.
    Store(StoreError),
}

impl From<Gone> for NotDeleted {
    fn from(Gone: Gone) -> Self {
        Self::Gone
    }
}

/// Deletes a run that is over, with everything known of it.
pub async fn delete_run(driver: &DriverHandle, store: &Store, run: RunId) -> Result<(), NotDeleted> {
    driver.ask(|reply| Request::Forget(run, reply)).await?;
    let deleted = store.write(move |connection| sql::delete_run(connection, run)).await;
    if let Some((submitter, bytes)) = deleted.map_err(NotDeleted::Store)? {
        store.results.give_back(submitter, bytes);
    }
    Ok(())
}

/// Deletes runs that need not be kept, from time to time, until the coordinator stops.
pub async fn keep(
    retention: Retention,
    driver: DriverHandle,
    store: Arc<Store>,
    mut stopping: watch::Receiver<bool>,
) {
    loop {
        // If it fails, it is tried again after the interval.
        if let Err(NotDeleted::Store(error)) = sweep(retention, &driver, &store).await {
            tracing::warn!(%error, "runs that need not be kept could not be deleted");
        }
        tokio::select! {
            () = sleep(RETENTION_EVERY) => {}
            () = stopped(&mut stopping) => return,
        }
    }
}

async fn sweep(retention: Retention, driver: &DriverHandle, store: &Store) -> Result<(), NotDeleted> {
    // By age, only a few at a time: a clock that is wrong for an hour must not delete everything.
    if let Some(age_max) = retention.age_max {
        let age_ms = u64::try_from(age_max.as_millis()).unwrap_or(u64::MAX);
        let before_ms = unix_ms().saturating_sub(age_ms);
        let outdated = Outdated::EndedBefore { before_ms, most: RUNS_AGED_OUT_AT_ONCE_MAX };
        let count = delete_all(driver, store, outdated).await?;
        if count > 0 {
            tracing::info!(runs = count, kept_s = age_max.as_secs(), "runs that ended long ago were deleted");
        }
    }
    let mut count = 0;
    loop {
        let outdated = Outdated::BeyondNewest { kept: retention.runs_max, most: RUNS_DROPPED_AT_ONCE_MAX };
        match delete_all(driver, store, outdated).await? {
            0 => break,
            deleted => count += deleted,
        }
    }
    if count > 0 {
        tracing::info!(runs = count, kept = retention.runs_max, "the oldest of too many runs were deleted");
    }
    Ok(())
}

/// Returns how many runs were deleted.
async fn delete_all(driver: &DriverHandle, store: &Store, outdated: Outdated) -> Result<usize, NotDeleted> {
    let found = store.read(move |connection| sql::outdated(connection, outdated)).await;
    let found = found.map_err(NotDeleted::Store)?;
    for run in &found {
        delete_run(driver, store, *run).await?;
    }
    Ok(found.len())
}
