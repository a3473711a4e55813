//! Tokens and the audit log.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A token, without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AccessToken {
    /// Its number.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// `volunteer`: take part as a host. `submitter`: publish apps, submit runs, and read and change these. `viewer`: see
    /// hosts and all runs, without results and inputs. `admin`: everything.
    pub scope: String,
    /// `valid`, `expired`, `revoked`, or `used up` for a join key.
    #[serde(default)]
    pub state: String,
    /// The name of the token with which it was made.
    #[serde(default)]
    pub made_by: String,
    /// When it was made.
    #[serde(default)]
    pub made_at: String,
    /// When it expires, by the coordinator's clock; null if never.
    pub expires_at: Option<String>,
    /// When it was last used, to within a minute; null if never.
    pub used_at: Option<String>,
    /// When it was revoked; null if it was not.
    pub revoked_at: Option<String>,
    /// How often it may be exchanged for the token of a host; null if it is not a join key.
    pub uses_max: Option<u32>,
    /// How often it was.
    #[serde(default)]
    pub uses: u32,
    /// The weight of its holder's runs among those of other submitters, from 1 to 1000; null for the usual weight, 1.
    pub weight: Option<u16>,
    /// Maximum runs of its holder that are not over; null without a quota.
    pub runs_max: Option<u32>,
}

/// `/api/v1/runs/N/submitter`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunSubmitter {
    /// The name of the token with which the run was submitted; null if none was needed.
    pub name: Option<String>,
}

/// The body of `POST /api/v1/tokens`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenRequest {
    /// As in [`AccessToken`].
    pub scope: String,
    /// Its name, which no other valid token may have; made from the scope if not given.
    #[serde(default)]
    pub name: Option<String>,
    /// Time for which it is valid, in seconds; no expiry if not given.
    #[serde(default)]
    pub valid_s: Option<u64>,
    /// Only with the scope `volunteer`: a join key that can be exchanged this often for the token of a host.
    #[serde(default)]
    pub uses: Option<u32>,
    /// Only with the scopes `submitter` and `admin`: the weight of its holder's runs among those of other submitters, from 1 to
    /// 1000; 1 if not given.
    #[serde(default)]
    pub weight: Option<u16>,
    /// Only with the scopes `submitter` and `admin`: maximum runs of its holder that are not over, from 1 to 1,000,000; no quota
    /// if not given.
    #[serde(default)]
    pub runs_max: Option<u32>,
}

/// A new token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NewToken {
    /// The secret, which is not kept and cannot be shown again.
    pub secret: String,
    /// The token.
    pub token: AccessToken,
}

/// `/api/v1/me`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Me {
    /// Whether this coordinator needs tokens.
    pub tokens_required: bool,
    /// The token of this request; null if none is needed.
    pub token: Option<AccessToken>,
}

/// The body of `POST /api/v1/join`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JoinRequest {
    /// The host's name.
    pub name: String,
}

/// The answer to `POST /api/v1/join`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Joined {
    /// The secret of the host's own token, which it got in exchange for its join key; null if it is to use the key itself.
    pub secret: Option<String>,
}

/// A line of the audit log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditLine {
    /// Its number.
    pub number: u64,
    /// When it happened.
    pub at: String,
    /// The token; empty if there was none.
    #[serde(default)]
    pub who: String,
    /// The address.
    #[serde(default)]
    pub address: String,
    /// What was requested.
    #[serde(default)]
    pub what: String,
    /// The HTTP status of the answer.
    #[serde(default)]
    pub status: u16,
    /// Why it was refused; null if it was not.
    pub why: Option<String>,
}
