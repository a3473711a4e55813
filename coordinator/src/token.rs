//! What a coordinator knows of a token.

use std::fmt::{self, Display};

use sateen_access::{Scope, TokenHash};

/// The number of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TokenId(pub u64);

impl Display for TokenId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// How often a join key may be exchanged for the token of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Uses {
    /// Maximum uses.
    pub max: u32,
    /// Uses so far.
    pub used: u32,
}

/// A token as it is saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRow {
    /// Its number.
    pub id: TokenId,
    /// The hash of its secret.
    pub hash: TokenHash,
    /// Its name, for people.
    pub name: String,
    /// What its holder may do.
    pub scope: Scope,
    /// The name of the token with which it was made.
    pub made_by: String,
    /// When it was made, in milliseconds since 1970.
    pub made_at_ms: u64,
    /// When it expires, by this machine's clock; never if none.
    pub expires_at_ms: Option<u64>,
    /// When it was last used, to within a minute or so.
    pub used_at_ms: Option<u64>,
    /// When it was revoked, if it was.
    pub revoked_at_ms: Option<u64>,
    /// How often it may be exchanged. With a limit, it can be used for nothing else.
    pub uses: Option<Uses>,
    /// It is a host's own, for which a join key was exchanged.
    pub from_join_key: bool,
    /// The weight of its holder's runs among those of others; the usual one if none.
    pub weight: Option<u16>,
    /// Maximum runs of its holder that are not over; no quota if none.
    pub runs_max: Option<u32>,
}
