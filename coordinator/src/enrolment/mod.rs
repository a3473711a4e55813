//! Which hosts may take part: the keys of hosts, and what the operator has decided about them.
//!
//! The readers of links ask here when the proof of a hello is right, before the state machine hears of the host. Decisions of
//! the operator are saved before they are acknowledged; keys that were enrolled by themselves are saved within a second.

mod record;
mod refusal;
mod saver;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard};

use sateen_protocol::coordinator::LinkId;
use sateen_protocol::identity::Rotation;
use sateen_protocol::{GridId, PublicKey};

use crate::limits::{KEY_DIGITS_MIN, KEYS_FORGOTTEN, KEYS_MAX, KEYS_WAITING_MAX, KEYS_WAITING_PER_PEER_MAX};
use crate::locked;
use crate::peer::Peer;
use crate::release::MinimumVersion;
use crate::token::TokenId;

pub use record::{Record, Standing};
pub use refusal::{NoSuchKey, Refusal};
pub use saver::{save, save_changed};

/// A host whose hello is proven.
#[derive(Debug, Clone, Copy)]
pub struct Arrival<'a> {
    /// Its key.
    pub key: PublicKey,
    /// How the key came from earlier ones, the oldest first; checked.
    pub rotations: &'a [Rotation],
    /// Its process.
    pub instance: u64,
    /// Its name, for people.
    pub name: &'a str,
    /// Its release.
    pub version: &'a str,
    /// Its address.
    pub address: IpAddr,
    /// Its link.
    pub link: LinkId,
    /// The token with which it came, if it got that in exchange for a join key.
    pub token: Option<TokenId>,
    /// When it arrives, in milliseconds since 1970.
    pub now_ms: u64,
}

/// A host that is connected.
#[derive(Debug, Clone)]
struct Live {
    link: LinkId,
    instance: u64,
    name: String,
    address: IpAddr,
}

#[derive(Debug, Default)]
struct State {
    /// In the order in which they are listed.
    known: BTreeMap<PublicKey, Record>,
    /// Keys that wait for approval. They are not saved: their hosts try again.
    waiting: BTreeMap<PublicKey, Record>,
    live: HashMap<PublicKey, Live>,
    /// Keys that a second host had.
    copied: HashMap<PublicKey, IpAddr>,
    unsaved: HashSet<PublicKey>,
}

/// A key, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The key.
    pub key: PublicKey,
    /// What is known of it.
    pub record: Record,
    /// Whether a host with it is connected.
    pub is_live: bool,
    /// Where else it was used.
    pub copied_to: Option<IpAddr>,
}

/// The keys of a grid's hosts.
#[derive(Debug)]
pub struct Enrolment {
    /// The grid, which is part of what hosts sign.
    pub grid: GridId,
    /// Unknown keys wait for the operator's approval.
    must_approve: bool,
    /// Hosts of earlier releases are refused.
    minimum: Option<MinimumVersion>,
    state: Mutex<State>,
}

impl Default for Enrolment {
    fn default() -> Self {
        Self::new(GridId(0), false, Vec::new())
    }
}

impl Enrolment {
    /// With the keys that were saved.
    pub fn new(grid: GridId, must_approve: bool, saved: Vec<(PublicKey, Record)>) -> Self {
        let state = State { known: saved.into_iter().collect(), ..State::default() };
        Self { grid, must_approve, minimum: None, state: Mutex::new(state) }
    }

    /// Refuses hosts of releases before this one.
    pub fn accepting(self, minimum: Option<MinimumVersion>) -> Self {
        Self { minimum, ..self }
    }

    /// The oldest release that is accepted, if the operator has set one.
    pub fn minimum(&self) -> Option<&MinimumVersion> {
        self.minimum.as_ref()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        locked(&self.state)
    }

    /// A host has proven its key. It is connected from now on, unless it is refused.
    ///
    /// # Errors
    /// Why it is refused.
    pub fn admit(&self, arrival: &Arrival<'_>) -> Result<(), Refusal> {
        if let Some(minimum) = &self.minimum {
            minimum.check("sateen-host", arrival.version)?;
        }
        let mut state = self.state();
        let Arrival { key, now_ms, .. } = *arrival;
        state.rotate(arrival)?;
        state.check_copies(arrival)?;
        if !state.known.contains_key(&key) {
            // A join key is the operator's word for one host.
            let enrolled_by = arrival.token.filter(|token| !state.has_enrolled(*token));
            if self.must_approve && enrolled_by.is_none() {
                return Err(state.wait(arrival));
            }
            state.forget_some();
            state.waiting.remove(&key);
            state.known.insert(key, Record { enrolled_by, ..Record::new(Standing::Enrolled, now_ms) });
        }
        let Some(record) = state.known.get_mut(&key) else { return Ok(()) };
        match record.standing {
            Standing::Revoked => return Err(Refusal::Revoked(key)),
            Standing::Replaced(by) => return Err(Refusal::Replaced { key, by }),
            Standing::Waiting | Standing::Enrolled => {}
        }
        record.meet(arrival);
        let Arrival { link, instance, address, name, .. } = *arrival;
        state.live.insert(key, Live { link, instance, name: name.to_owned(), address });
        state.unsaved.insert(key);
        Ok(())
    }

    /// The link of a host is closed.
    pub fn leave(&self, key: &PublicKey, link: LinkId, now_ms: u64) {
        let mut state = self.state();
        // The same process may have another link by now.
        if state.live.get(key).is_none_or(|live| live.link != link) {
            return;
        }
        state.live.remove(key);
        if let Some(record) = state.known.get_mut(key) {
            record.seen_ms = Some(now_ms);
            state.unsaved.insert(*key);
        }
    }

    /// At most `limit` keys behind `after`, in their order; and whether there are more.
    pub fn list(&self, after: Option<PublicKey>, limit: usize) -> (Vec<Listed>, bool) {
        let state = self.state();
        let behind = |key: &&PublicKey| after.is_none_or(|after| **key > after);
        let mut keys: Vec<PublicKey> = (state.known.keys().filter(behind).take(limit + 1))
            .chain(state.waiting.keys().filter(behind).take(limit + 1))
            .copied()
            .collect();
        keys.sort_unstable();
        let has_more = keys.len() > limit;
        keys.truncate(limit);
        (keys.iter().filter_map(|key| state.listed(key)).collect(), has_more)
    }

    /// The key that the text means: a whole key, or the first digits of one that is known.
    ///
    /// # Errors
    /// If none is meant, or several are.
    pub fn find(&self, text: &str) -> Result<PublicKey, NoSuchKey> {
        if let Some(key) = PublicKey::parse(text) {
            return Ok(key);
        }
        let digits = text.to_ascii_lowercase();
        if digits.len() < KEY_DIGITS_MIN || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(NoSuchKey::NotAKey(text.to_owned()));
        }
        let state = self.state();
        let mut found =
            state.known.keys().chain(state.waiting.keys()).filter(|key| key.to_string().starts_with(&digits));
        match (found.next(), found.next()) {
            (Some(key), None) => Ok(*key),
            (Some(_), Some(_)) => Err(NoSuchKey::Several(digits)),
            (None, _) => Err(NoSuchKey::Unknown(digits)),
        }
    }

    /// The operator lets the host with this key take part.
    ///
    /// # Errors
    /// If the key was replaced by another one.
    pub fn approve(&self, key: PublicKey, now_ms: u64) -> Result<Listed, Refusal> {
        let mut state = self.state();
        let record = state.of_operator(key, now_ms);
        if let Standing::Replaced(by) = record.standing {
            return Err(Refusal::Replaced { key, by });
        }
        (record.standing, record.approved) = (Standing::Enrolled, true);
        Ok(state.changed(key))
    }

    /// The operator revokes a key. Returns the link that must be cut off as well, if a host with it is connected.
    pub fn revoke(&self, key: PublicKey, now_ms: u64) -> (Listed, Option<LinkId>) {
        let mut state = self.state();
        let record = state.of_operator(key, now_ms);
        (record.standing, record.approved) = (Standing::Revoked, false);
        let link = state.live.remove(&key).map(|live| live.link);
        (state.changed(key), link)
    }

    /// What must be saved of keys that have changed: their records, or that they are forgotten.
    pub fn take_unsaved(&self) -> Vec<(PublicKey, Option<Record>)> {
        let mut state = self.state();
        let unsaved = std::mem::take(&mut state.unsaved);
        unsaved.into_iter().map(|key| (key, state.known.get(&key).cloned())).collect()
    }

    /// These could not be saved.
    pub fn put_back(&self, unsaved: Vec<PublicKey>) {
        self.state().unsaved.extend(unsaved);
    }
}

impl State {
    fn listed(&self, key: &PublicKey) -> Option<Listed> {
        let record = self.known.get(key).or_else(|| self.waiting.get(key))?.clone();
        let (is_live, copied_to) = (self.live.contains_key(key), self.copied.get(key).copied());
        Some(Listed { key: *key, record, is_live, copied_to })
    }

    /// Whether a host has come with this token; another one with it is unknown.
    fn has_enrolled(&self, token: TokenId) -> bool {
        self.known.values().any(|record| record.enrolled_by == Some(token))
    }

    /// A record that the operator changes; it need not be known yet.
    fn of_operator(&mut self, key: PublicKey, now_ms: u64) -> &mut Record {
        let waiting = self.waiting.remove(&key);
        let new = || waiting.unwrap_or_else(|| Record::new(Standing::Enrolled, now_ms));
        self.known.entry(key).or_insert_with(new)
    }

    fn changed(&mut self, key: PublicKey) -> Listed {
        self.unsaved.insert(key);
        let nothing =
            || Listed { key, record: Record::new(Standing::Revoked, 0), is_live: false, copied_to: None };
        self.listed(&key).unwrap_or_else(nothing)
    }

    /// A host has a key that replaces another one: what was decided about that holds for the new key.
    fn rotate(&mut self, arrival: &Arrival<'_>) -> Result<(), Refusal> {
        for step in arrival.rotations {
            let Some(earlier) = self.known.get(&step.from).cloned() else { continue };
            match earlier.standing {
                // So is the new one, unless the operator approves that by name.
                Standing::Revoked => {
                    self.known.entry(step.to).or_insert(earlier);
                }
                Standing::Replaced(by) if by != step.to => {
                    return Err(Refusal::Replaced { key: step.from, by });
                }
                Standing::Replaced(_) => continue,
                Standing::Waiting | Standing::Enrolled => {
                    if let Some(live) = self.live.get(&step.from) {
                        return Err(Refusal::InUse { key: step.from, name: live.name.clone() });
                    }
                    self.known.entry(step.to).or_insert(earlier);
                    self.waiting.remove(&step.to);
                    if let Some(earlier) = self.known.get_mut(&step.from) {
                        earlier.standing = Standing::Replaced(step.to);
                    }
                }
            }
            self.unsaved.extend([step.from, step.to]);
        }
        Ok(())
    }

    /// A key belongs to one process at a time.
    fn check_copies(&mut self, arrival: &Arrival<'_>) -> Result<(), Refusal> {
        let Some(live) = self.live.get(&arrival.key).filter(|live| live.instance != arrival.instance) else {
            return Ok(());
        };
        let refusal = Refusal::Copied { key: arrival.key, name: live.name.clone(), address: live.address };
        self.copied.insert(arrival.key, arrival.address);
        Err(refusal)
    }

    /// An unknown key waits for the operator.
    fn wait(&mut self, arrival: &Arrival<'_>) -> Refusal {
        let Arrival { key, address, now_ms, .. } = *arrival;
        if !self.waiting.contains_key(&key) {
            let peer = Peer::of(address);
            let of_peer = self.waiting.values().filter(|record| record.peer() == Some(peer));
            if self.waiting.len() >= KEYS_WAITING_MAX || of_peer.count() >= KEYS_WAITING_PER_PEER_MAX {
                return Refusal::Crowd(key);
            }
        }
        let record = self.waiting.entry(key).or_insert_with(|| Record::new(Standing::Waiting, now_ms));
        record.meet(arrival);
        Refusal::Waiting(key)
    }

    /// If there are too many keys, forgets those that were not seen for the longest and about which nobody has decided.
    fn forget_some(&mut self) {
        if self.known.len() < KEYS_MAX {
            return;
        }
        let is_decided = |record: &Record| record.approved || record.standing != Standing::Enrolled;
        let undecided =
            self.known.iter().filter(|(key, record)| !is_decided(record) && !self.live.contains_key(*key));
        let mut oldest: Vec<(Option<u64>, PublicKey)> =
            undecided.map(|(key, record)| (record.seen_ms, *key)).collect();
        oldest.sort_unstable();
        for (_, key) in oldest.into_iter().take(KEYS_FORGOTTEN) {
            self.known.remove(&key);
            self.copied.remove(&key);
            self.unsaved.insert(key);
        }
    }
}
