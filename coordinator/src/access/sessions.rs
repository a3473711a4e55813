//! Browsers that are logged in to the dashboard. Each has a random cookie of its own, so the token itself is not kept in
//! browsers. They are in memory: after a restart of the coordinator, people log in again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use super::Denied;
use super::held::Held;
use crate::limits::{SESSION_MAX, SESSIONS_MAX};

/// The name of the cookie.
pub const SESSION_COOKIE: &str = "sateen_session";

/// Browsers that are logged in, by the hash of their cookie.
#[derive(Debug, Default)]
pub struct Sessions(Mutex<HashMap<[u8; 32], Session>>);

#[derive(Debug)]
struct Session {
    held: Arc<Held>,
    since: Instant,
}

fn hash(cookie: &str) -> [u8; 32] {
    *blake3::hash(cookie.as_bytes()).as_bytes()
}

impl Sessions {
    fn all(&self) -> std::sync::MutexGuard<'_, HashMap<[u8; 32], Session>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Logs a browser in; returns the value of its cookie.
    ///
    /// # Errors
    /// When the system has no randomness.
    pub fn begin(&self, held: Arc<Held>, now: Instant) -> Result<String, getrandom::Error> {
        let mut secret = [0; 32];
        getrandom::fill(&mut secret)?;
        let cookie = blake3::Hash::from(secret).to_hex().to_string();
        let mut all = self.all();
        all.retain(|_, session| now.saturating_duration_since(session.since) < SESSION_MAX);
        if all.len() >= SESSIONS_MAX
            && let Some(oldest) = all.iter().min_by_key(|(_, session)| session.since).map(|(key, _)| *key)
        {
            all.remove(&oldest);
        }
        all.insert(hash(&cookie), Session { held, since: now });
        Ok(cookie)
    }

    /// The token with which a browser is logged in. The caller checks whether the token is still valid.
    ///
    /// # Errors
    /// When it is not logged in any more.
    pub fn find(&self, cookie: &str, now: Instant) -> Result<Arc<Held>, Denied> {
        let all = self.all();
        let session = all.get(&hash(cookie));
        let session = session.filter(|session| now.saturating_duration_since(session.since) < SESSION_MAX);
        session.map(|session| Arc::clone(&session.held)).ok_or(Denied::NoSession)
    }

    /// Logs a browser out.
    pub fn end(&self, cookie: &str) {
        self.all().remove(&hash(cookie));
    }
}
