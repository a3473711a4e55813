//! The grid's tokens, in memory and saved.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sateen_access::{Scope, Token, TokenHash};
use thiserror::Error;

use super::Denied;
use super::held::Held;
use crate::clock::unix_ms;
use crate::limits::{TOKEN_NAME_BYTES_MAX, TOKEN_USED_SAVE_AFTER, TOKENS_MAX};
use crate::store::{Store, StoreError, sql};
use crate::token::{TokenId, TokenRow, Uses};

/// A new token, with its secret, which is not kept.
#[derive(Debug)]
pub struct Made {
    /// The secret.
    pub secret: Token,
    /// What is kept.
    pub held: Arc<Held>,
}

/// Why a token was not made.
#[derive(Debug, Error)]
pub enum MakeError {
    /// Another valid token has that name.
    #[error("there is a token with the name `{0}`; revoke it first, or choose another name with --name")]
    NameTaken(String),
    /// There are too many.
    #[error("there are {TOKENS_MAX} tokens, which is the maximum; revoke some")]
    Full,
    /// A join key was used as often as it may be.
    #[error(transparent)]
    Denied(#[from] Denied),
    /// It cannot be saved.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What a new token is to be.
#[derive(Debug, Clone)]
pub struct New {
    /// Its name; made from the scope if none.
    pub name: Option<String>,
    /// What its holder may do.
    pub scope: Scope,
    /// When it expires, in milliseconds since 1970.
    pub expires_at_ms: Option<u64>,
    /// How often it may be exchanged.
    pub uses_max: Option<u32>,
    /// The weight of its holder's runs; the usual one if none.
    pub weight: Option<u16>,
    /// Maximum runs of its holder that are not over; no quota if none.
    pub runs_max: Option<u32>,
    /// The name of the token with which it is made.
    pub made_by: String,
}

#[derive(Debug, Default)]
struct Known {
    by_hash: HashMap<TokenHash, Arc<Held>>,
    by_id: BTreeMap<TokenId, Arc<Held>>,
}

impl Known {
    fn add(&mut self, row: TokenRow) -> Arc<Held> {
        let held = Held::new(row);
        self.by_hash.insert(held.row.hash, Arc::clone(&held));
        self.by_id.insert(held.id(), Arc::clone(&held));
        held
    }

    fn valid(&self) -> impl Iterator<Item = &Arc<Held>> {
        self.by_id.values().filter(|held| held.check().is_ok())
    }
}

/// All tokens of the grid.
#[derive(Debug)]
pub struct Tokens {
    store: Arc<Store>,
    known: Mutex<Known>,
    /// Tokens whose last use is to be saved, and when that was.
    used: Arc<Mutex<Vec<(TokenId, u64)>>>,
    /// Locked while a token is made, so that names stay unique.
    making: tokio::sync::Mutex<()>,
}

impl Tokens {
    /// No tokens.
    pub fn none(store: Arc<Store>) -> Self {
        Self { store, known: Mutex::default(), used: Arc::default(), making: tokio::sync::Mutex::default() }
    }

    /// The tokens that are saved.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn load(store: Arc<Store>) -> Result<Self, StoreError> {
        let rows = store.read(|connection| sql::tokens(connection)).await?;
        let tokens = Self::none(store);
        rows.into_iter().for_each(|row| drop(tokens.known().add(row)));
        Ok(tokens)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All tokens, in the order in which they were made.
    pub fn all(&self) -> Vec<Arc<Held>> {
        self.known().by_id.values().cloned().collect()
    }

    /// A token by its number; also one that is not valid any more.
    pub fn with_id(&self, id: TokenId) -> Option<Arc<Held>> {
        self.known().by_id.get(&id).cloned()
    }

    /// The name of a token that is kept.
    pub fn name_of(&self, id: TokenId) -> Option<String> {
        self.with_id(id).map(|held| held.name().to_owned())
    }

    /// A token by its secret. Tokens are found by their hashes, so the time that this takes says nothing of any secret.
    ///
    /// # Errors
    /// When it is not known, or not valid any more.
    pub fn find(&self, secret: &Token) -> Result<Arc<Held>, Denied> {
        let held = self.known().by_hash.get(&secret.hash()).cloned().ok_or(Denied::Unknown)?;
        held.check()?;
        self.touch(&held);
        Ok(held)
    }

    /// Notes that a token was used.
    pub fn touch(&self, held: &Arc<Held>) {
        let (now_ms, id) = (unix_ms(), held.id());
        if !held.is_used(now_ms) {
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let is_first = {
            let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
            used.push((id, now_ms));
            used.len() == 1
        };
        if !is_first {
            return;
        }
        let (store, used) = (Arc::clone(&self.store), Arc::clone(&self.used));
        runtime.spawn(async move {
            tokio::time::sleep(TOKEN_USED_SAVE_AFTER).await;
            let used = std::mem::take(&mut *used.lock().unwrap_or_else(PoisonError::into_inner));
            if let Err(error) = store.write(move |connection| sql::tokens_used(connection, &used)).await {
                tracing::debug!(%error, "when tokens were last used is not saved");
            }
        });
    }

    /// Makes a token.
    ///
    /// # Errors
    /// When the name is taken, there are too many, or it cannot be saved.
    pub async fn make(&self, new: New) -> Result<Made, MakeError> {
        let _alone = self.making.lock().await;
        let name = {
            let known = self.known();
            let names: HashSet<&str> = known.valid().map(|held| held.name()).collect();
            match new.name {
                Some(name) if names.contains(name.as_str()) => return Err(MakeError::NameTaken(name)),
                Some(name) => name,
                None => unique(new.scope.word(), &names),
            }
        };
        self.make_room().await?;
        let secret = Token::new(new.scope).map_err(StoreError::Randomness)?;
        let row = TokenRow {
            id: TokenId(0),
            hash: secret.hash(),
            name,
            scope: new.scope,
            made_by: new.made_by,
            made_at_ms: unix_ms(),
            expires_at_ms: new.expires_at_ms,
            used_at_ms: None,
            revoked_at_ms: None,
            uses: new.uses_max.map(|max| Uses { max, used: 0 }),
            from_join_key: false,
            weight: new.weight,
            runs_max: new.runs_max,
        };
        let to_save = row.clone();
        let id = self.store.write(move |connection| sql::add_token(connection, &to_save)).await?;
        let held = self.known().add(TokenRow { id, ..row });
        Ok(Made { secret, held })
    }

    /// Exchanges a join key for a token of a host.
    ///
    /// # Errors
    /// When the key was used as often as it may be, there are too many tokens, or it cannot be saved.
    pub async fn exchange(&self, key: &Arc<Held>, host: &str) -> Result<Made, MakeError> {
        let _alone = self.making.lock().await;
        let max = key.row.uses.map_or(0, |uses| uses.max);
        let spent = || Denied::Spent { name: key.name().to_owned(), used: key.uses.load(Relaxed), max };
        if key.uses.load(Relaxed) >= max {
            return Err(spent().into());
        }
        self.make_room().await?;
        let secret = Token::new(Scope::Volunteer).map_err(StoreError::Randomness)?;
        let row = TokenRow {
            id: TokenId(0),
            hash: secret.hash(),
            name: unique(host, &self.known().valid().map(|held| held.name()).collect()),
            scope: Scope::Volunteer,
            made_by: key.name().to_owned(),
            made_at_ms: unix_ms(),
            // It is revoked when the host is not wanted any more; until when the key can be used says nothing of that.
            expires_at_ms: None,
            used_at_ms: None,
            revoked_at_ms: None,
            uses: None,
            from_join_key: true,
            weight: None,
            runs_max: None,
        };
        let (to_save, id) = (row.clone(), key.id());
        let work = move |connection: &mut _| sql::exchange_token(connection, id, &to_save);
        let id = self.store.write(work).await?.ok_or_else(spent)?;
        key.uses.fetch_add(1, Relaxed);
        let held = self.known().add(TokenRow { id, ..row });
        Ok(Made { secret, held })
    }

    /// Forgets the token that has not been valid for longest, if there is no room for another.
    async fn make_room(&self) -> Result<(), MakeError> {
        let oldest = {
            let known = self.known();
            if known.by_id.len() < TOKENS_MAX {
                return Ok(());
            }
            known.by_id.values().find(|held| held.check().is_err()).cloned().ok_or(MakeError::Full)?
        };
        let id = oldest.id();
        self.store.write(move |connection| sql::forget_token(connection, id)).await?;
        let mut known = self.known();
        known.by_id.remove(&id);
        known.by_hash.remove(&oldest.row.hash);
        Ok(())
    }

    /// A token by its number, or by its name; of several with that name, the one that is valid, or was made last.
    pub fn named(&self, name: &str) -> Option<Arc<Held>> {
        let known = self.known();
        if let Ok(id) = name.parse() {
            return known.by_id.get(&TokenId(id)).cloned();
        }
        let of_name = known.by_id.values().filter(|held| held.name() == name);
        of_name.max_by_key(|held| (held.check().is_ok(), held.id())).cloned()
    }

    /// Revokes a token, at once: connections that it opened are closed.
    ///
    /// # Errors
    /// When this cannot be saved. Then the token is revoked until the coordinator is started again.
    pub async fn revoke(&self, held: &Arc<Held>) -> Result<(), StoreError> {
        let (id, now_ms) = (held.id(), unix_ms());
        held.revoke(now_ms);
        self.store.write(move |connection| sql::revoke_token(connection, id, now_ms)).await
    }
}

/// A name like `base` that is not among these.
fn unique(base: &str, names: &HashSet<&str>) -> String {
    if !names.contains(base) {
        return base.to_owned();
    }
    let numbered = |number: u64| format!("{base}-{number}");
    (2..).map(numbered).find(|name| !names.contains(name.as_str())).unwrap_or_default()
}

/// Whether names of tokens may have this character.
pub fn is_in_names(character: char) -> bool {
    character.is_alphanumeric() || "-_.@ ".contains(character)
}

/// Whether this can be the name of a token.
///
/// # Errors
/// Says what is expected.
pub fn check_name(name: &str) -> Result<(), String> {
    let is_name = (1..=TOKEN_NAME_BYTES_MAX).contains(&name.len())
        && name.chars().all(is_in_names)
        && name.trim() == name
        && !name.bytes().all(|byte| byte.is_ascii_digit());
    if is_name {
        return Ok(());
    }
    Err(format!(
        "a token's name has 1 to {TOKEN_NAME_BYTES_MAX} bytes of letters, digits, spaces and -_.@, and not digits alone"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_words_and_no_numbers() {
        for name in ["ci", "Ada Løvelace", "host-7", "a@b.example", "7up"] {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
        for name in ["", " ci", "7", "a/b", "a\nb", "\u{202e}x", &"x".repeat(TOKEN_NAME_BYTES_MAX + 1)] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn names_of_hosts_that_are_alike_are_numbered() {
        let names = HashSet::from(["pc", "pc-2"]);
        assert_eq!([unique("pc", &names), unique("mac", &names)], ["pc-3", "mac"]);
    }
}
