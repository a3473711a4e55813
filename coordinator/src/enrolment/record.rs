//! What is known of a key.

use sateen_protocol::PublicKey;

use super::Arrival;
use crate::peer::Peer;
use crate::token::TokenId;

/// Whether the host with a key may take part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It waits for the operator's approval.
    Waiting,
    /// It may.
    Enrolled,
    /// The operator has revoked it.
    Revoked,
    /// Its host has this key now.
    Replaced(PublicKey),
}

impl Standing {
    /// In a word, for people and for the database.
    pub fn word(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Enrolled => "enrolled",
            Self::Revoked => "revoked",
            Self::Replaced(_) => "replaced",
        }
    }

    /// The key that has replaced it.
    pub fn replaced_by(self) -> Option<PublicKey> {
        match self {
            Self::Replaced(by) => Some(by),
            _ => None,
        }
    }

    /// From the word, and the key that has replaced it.
    pub fn parse(word: &str, replaced_by: Option<PublicKey>) -> Option<Self> {
        match (word, replaced_by) {
            ("waiting", None) => Some(Self::Waiting),
            ("enrolled", None) => Some(Self::Enrolled),
            ("revoked", None) => Some(Self::Revoked),
            ("replaced", Some(by)) => Some(Self::Replaced(by)),
            _ => None,
        }
    }
}

/// What is known of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Whether its host may take part.
    pub standing: Standing,
    /// The operator has approved it by name.
    pub approved: bool,
    /// The host's name when it was last seen; empty if it never was.
    pub name: String,
    /// Its address then.
    pub address: String,
    /// When the key became known, in milliseconds since 1970.
    pub since_ms: u64,
    /// When it was last seen.
    pub seen_ms: Option<u64>,
    /// The token with which the host came instead of waiting for approval.
    pub enrolled_by: Option<TokenId>,
}

impl Record {
    /// Of a key that was not seen yet.
    pub fn new(standing: Standing, since_ms: u64) -> Self {
        let (name, address) = (String::new(), String::new());
        Self { standing, approved: false, name, address, since_ms, seen_ms: None, enrolled_by: None }
    }

    /// Its host is seen.
    pub(super) fn meet(&mut self, arrival: &Arrival<'_>) {
        arrival.name.clone_into(&mut self.name);
        self.address = arrival.address.to_canonical().to_string();
        self.seen_ms = Some(arrival.now_ms);
    }

    pub(super) fn peer(&self) -> Option<Peer> {
        Peer::parse(&self.address)
    }
}
