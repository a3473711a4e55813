//! One token.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use sateen_access::Scope;
use sateen_protocol::Share;
use tokio::sync::{Mutex, MutexGuard, watch};

use super::Denied;
use crate::clock::{unix_ms, written};
use crate::limits::TOKEN_USED_EVERY;
use crate::token::{TokenId, TokenRow, Uses};

/// Interval at which waiting connections compare the calendar with the expiry of their token: the calendar may be set.
const LOOK_EVERY: Duration = Duration::from_secs(30);

/// A token that is known here.
#[derive(Debug)]
pub struct Held {
    /// As it was made or read.
    pub(super) row: TokenRow,
    used_at_ms: AtomicU64,
    /// Uses of a join key so far.
    pub(super) uses: AtomicU32,
    /// Locked while a run is submitted, if it has a quota.
    submitting: Mutex<()>,
    /// When it was revoked.
    revoked: watch::Sender<Option<u64>>,
}

impl Held {
    pub(super) fn new(row: TokenRow) -> Arc<Self> {
        Arc::new(Self {
            used_at_ms: AtomicU64::new(row.used_at_ms.unwrap_or(0)),
            uses: AtomicU32::new(row.uses.map_or(0, |uses| uses.used)),
            submitting: Mutex::default(),
            revoked: watch::Sender::new(row.revoked_at_ms),
            row,
        })
    }

    /// Its number.
    pub fn id(&self) -> TokenId {
        self.row.id
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.row.name
    }

    /// What its holder may do.
    pub fn scope(&self) -> Scope {
        self.row.scope
    }

    /// Whether it is a join key, which can only be exchanged for a token of a host.
    pub fn is_join_key(&self) -> bool {
        self.row.uses.is_some()
    }

    /// Whether a host got it in exchange for a join key.
    pub fn is_from_join_key(&self) -> bool {
        self.row.from_join_key
    }

    /// The weight of its holder's runs.
    pub fn weight(&self) -> u16 {
        self.row.weight.unwrap_or(Share::WEIGHT)
    }

    /// Its holder submits a run: until the guard is dropped, nobody else does with this token, if it has a quota. Returns
    /// the quota, too: the maximum number of runs that are not over.
    pub async fn submits(&self) -> Option<(u32, MutexGuard<'_, ()>)> {
        let runs_max = self.row.runs_max?;
        Some((runs_max, self.submitting.lock().await))
    }

    /// What is known of it now.
    pub fn row(&self) -> TokenRow {
        let used_at_ms = self.used_at_ms.load(Relaxed);
        TokenRow {
            used_at_ms: (used_at_ms > 0).then_some(used_at_ms),
            revoked_at_ms: *self.revoked.borrow(),
            uses: self.row.uses.map(|uses| Uses { used: self.uses.load(Relaxed), ..uses }),
            ..self.row.clone()
        }
    }

    /// Whether it is valid now.
    ///
    /// # Errors
    /// When it was revoked or has expired.
    pub fn check(&self) -> Result<(), Denied> {
        let (name, now_ms) = (|| self.row.name.clone(), unix_ms());
        if let Some(at_ms) = *self.revoked.borrow() {
            return Err(Denied::Revoked { name: name(), at: written(at_ms) });
        }
        match self.row.expires_at_ms.filter(|at_ms| *at_ms <= now_ms) {
            Some(at_ms) => Err(Denied::Expired { name: name(), at: written(at_ms), now: written(now_ms) }),
            None => Ok(()),
        }
    }

    /// Waits until it is not valid any more.
    pub async fn until_over(&self) -> Denied {
        let mut revoked = self.revoked.subscribe();
        loop {
            if let Err(denied) = self.check() {
                return denied;
            }
            let left_ms = self.row.expires_at_ms.map(|at_ms| at_ms.saturating_sub(unix_ms()).max(1));
            let left = left_ms.map_or(Duration::MAX, Duration::from_millis);
            let look = async {
                match left {
                    Duration::MAX => std::future::pending().await,
                    left => tokio::time::sleep(left.min(LOOK_EVERY)).await,
                }
            };
            tokio::select! {
                _ = revoked.changed() => {}
                () = look => {}
            }
        }
    }

    /// Notes that it is used now. Returns whether this is to be saved, which is the case once in a while.
    pub(super) fn is_used(&self, now_ms: u64) -> bool {
        let before_ms = self.used_at_ms.load(Relaxed);
        now_ms.saturating_sub(before_ms) >= TOKEN_USED_EVERY.as_millis() as u64
            && self.used_at_ms.compare_exchange(before_ms, now_ms, Relaxed, Relaxed).is_ok()
    }

    /// Revokes it, and notifies the connections that it opened.
    pub(super) fn revoke(&self, now_ms: u64) {
        self.revoked.send_if_modified(|at_ms| {
            let is_new = at_ms.is_none();
            at_ms.get_or_insert(now_ms);
            is_new
        });
    }
}
