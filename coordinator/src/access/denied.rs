//! Why somebody may not do something, and what to do.

use axum::http::StatusCode;
use sateen_access::Scope;
use thiserror::Error;

/// Why a request is refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Denied {
    /// It has no token.
    #[error(
        "this coordinator needs a token: log in with `sateen login URL`, or give one with --token-file or SATEEN_TOKEN; the operator makes tokens with `sateen token new`"
    )]
    NoToken,
    /// A host without a token.
    #[error(
        "hosts of this grid need a join key: join with `sateen-host join URL --key-file FILE`; the operator makes one with `sateen token new --scope volunteer`"
    )]
    NoKey,
    /// The header is something else.
    #[error("the header Authorization holds no token; it must be `Bearer TOKEN`")]
    NoBearer,
    /// It is not one of this grid's tokens.
    #[error(
        "this coordinator does not know the token: it is mistyped, of another grid, or was deleted; ask the operator for a new one"
    )]
    Unknown,
    /// Its time is over.
    #[error(
        "the token `{name}` expired at {at} by the coordinator's clock, which is now at {now}; ask the operator for a new one"
    )]
    Expired {
        /// The token's name.
        name: String,
        /// When it expired.
        at: String,
        /// The time here.
        now: String,
    },
    /// It was revoked.
    #[error("the token `{name}` was revoked at {at}; ask the operator for a new one")]
    Revoked {
        /// The token's name.
        name: String,
        /// When.
        at: String,
    },
    /// A join key that is to be exchanged is used directly.
    #[error(
        "the join key `{0}` may be used a limited number of times, each by one host; join with `sateen-host join URL --key-file FILE`, which exchanges it for a token of the host's own"
    )]
    JoinFirst(String),
    /// A join key was used as often as it may be.
    #[error("the join key `{name}` was used already: {used} of {max} uses; ask the operator for a new one")]
    Spent {
        /// The token's name.
        name: String,
        /// Uses so far.
        used: u32,
        /// Maximum uses.
        max: u32,
    },
    /// The scope is another.
    #[error("the token `{name}` has the scope {has}; this needs a token with the scope {needs}")]
    Scope {
        /// The token's name.
        name: String,
        /// Its scope.
        has: Scope,
        /// The scopes that would do, in words.
        needs: String,
    },
    /// The browser was logged out.
    #[error("this browser is not logged in any more; log in at /login")]
    NoSession,
    /// Too many invalid tokens.
    #[error("too many invalid tokens came from this address; wait a minute, and check the token")]
    TooMany,
}

impl Denied {
    /// The HTTP status.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Scope { .. } | Self::JoinFirst(_) | Self::Spent { .. } => StatusCode::FORBIDDEN,
            Self::TooMany => StatusCode::TOO_MANY_REQUESTS,
            _ => StatusCode::UNAUTHORIZED,
        }
    }
}
