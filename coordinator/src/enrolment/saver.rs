//! Saving what hosts' links change of their keys.

use std::sync::Arc;

use tokio::sync::watch;

use super::Enrolment;
use crate::limits::SAVE_KEYS_EVERY;
use crate::shutdown;
use crate::store::{Store, sql};

/// Saves the keys of hosts that were seen, until shutdown.
pub async fn save(enrolment: Arc<Enrolment>, store: Arc<Store>, mut shutdown: watch::Receiver<bool>) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(SAVE_KEYS_EVERY) => {}
            () = shutdown::stopped(&mut shutdown) => return,
        }
        save_changed(&enrolment, &store).await;
    }
}

/// Saves the keys that have changed. What cannot be saved is saved later; the store says why it could not.
pub async fn save_changed(enrolment: &Enrolment, store: &Store) {
    let changes = enrolment.take_unsaved();
    if changes.is_empty() {
        return;
    }
    let keys = changes.iter().map(|(key, _)| *key).collect();
    let saved = store.write(move |connection| sql::save_host_keys(connection, &changes, true)).await;
    if saved.is_err() {
        enrolment.put_back(keys);
    }
}
