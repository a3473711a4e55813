//! Who may do what: the tokens of this grid, the browsers that are logged in, peers that present invalid tokens, and the log
//! of what was done.
//!
//! A coordinator that only this machine can reach, or that was started with `--insecure`, asks nobody for a token, and
//! everybody is [`Access::Everyone`]. Otherwise every request is identified before anything else is done with it
//! (`api/entry/`), and long-lived ones end when their token does.

mod audit;
mod denied;
mod held;
mod sessions;
mod strikes;
mod tokens;

use std::sync::Arc;

use sateen_access::Scope;
use sateen_protocol::Share;

use crate::peer::Peer;
use crate::store::Store;
use crate::token::TokenId;

pub use audit::{Audit, Line};
pub use denied::Denied;
pub use held::Held;
pub use sessions::{SESSION_COOKIE, Sessions};
pub use tokens::{Made, MakeError, New, Tokens, check_name, is_in_names};

use strikes::Strikes;

/// What a coordinator knows of those who use it.
#[derive(Debug)]
pub struct Guard {
    /// Whether requests need a token.
    pub is_required: bool,
    /// What is missing for safety at an address that other machines reach, if anything.
    pub is_exposed: Option<&'static str>,
    /// The tokens.
    pub tokens: Tokens,
    /// Browsers that are logged in.
    pub sessions: Sessions,
    /// What was done, and what was refused.
    pub audit: Audit,
    strikes: Strikes,
}

impl Guard {
    /// For a coordinator with these tokens. `is_exposed` is what is missing for safety, if anything.
    pub fn new(is_required: bool, is_exposed: Option<&'static str>, tokens: Tokens, audit: Audit) -> Self {
        let (sessions, strikes) = (Sessions::default(), Strikes::default());
        Self { is_required, is_exposed, tokens, sessions, audit, strikes }
    }

    /// For a coordinator that asks nobody for a token.
    pub fn open(store: &Arc<Store>) -> Self {
        Self::new(false, None, Tokens::none(Arc::clone(store)), Audit::off())
    }

    /// Counts an invalid token.
    ///
    /// # Errors
    /// When the peer has presented too many.
    pub fn strike(&self, peer: Peer) -> Result<(), Denied> {
        if self.strikes.add(peer, std::time::Instant::now()) { Ok(()) } else { Err(Denied::TooMany) }
    }
}

/// On whose behalf a request is handled. Handlers find it among the request's extensions.
#[derive(Debug, Clone)]
pub enum Access {
    /// No token is needed.
    Everyone,
    /// The holder of a token.
    Holder(Arc<Held>),
}

impl Access {
    /// The token, if a host got it in exchange for a join key.
    pub fn of_join_key(&self) -> Option<TokenId> {
        match self {
            Self::Holder(held) if held.is_from_join_key() => Some(held.id()),
            Self::Holder(_) | Self::Everyone => None,
        }
    }

    /// Whether one of the scopes is needed and held. An admin has all.
    pub fn has(&self, scopes: &[Scope]) -> bool {
        match self {
            Self::Everyone => true,
            Self::Holder(held) => held.scope() == Scope::Admin || scopes.contains(&held.scope()),
        }
    }

    /// Whether it is an admin's token.
    pub fn is_admin(&self) -> bool {
        matches!(self, Self::Holder(held) if held.scope() == Scope::Admin)
    }

    /// The token to which new runs belong.
    pub fn token(&self) -> Option<TokenId> {
        match self {
            Self::Everyone => None,
            Self::Holder(held) => Some(held.id()),
        }
    }

    /// The weight of new runs.
    pub fn weight(&self) -> u16 {
        match self {
            Self::Everyone => Share::WEIGHT,
            Self::Holder(held) => held.weight(),
        }
    }

    /// The only token whose runs the request may see or change; none if it may see all of them.
    pub fn only_runs_of(&self) -> Option<TokenId> {
        match self {
            Self::Holder(held) if matches!(held.scope(), Scope::Submitter | Scope::Volunteer) => {
                Some(held.id())
            }
            _ => None,
        }
    }

    /// Who it is, for the audit log.
    pub fn who(&self) -> String {
        match self {
            Self::Everyone => String::new(),
            Self::Holder(held) => format!("{} (token {})", held.name(), held.id()),
        }
    }

    /// Waits until the token has expired or is revoked; forever if none is needed.
    pub async fn until_over(&self) -> Denied {
        match self {
            Self::Everyone => std::future::pending().await,
            Self::Holder(held) => held.until_over().await,
        }
    }
}
