//! Tokens, the audit log, and hosts that join.

use std::ops::RangeInclusive;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use sateen_access::Scope;
use sateen_api::limits::TOKEN_RUNS_MAX;
use sateen_api::names::quoted;
use sateen_api::{AccessToken, AuditLine, JoinRequest, Joined, Me, NewToken, TokenRequest};
use sateen_protocol::Share;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::entry::Noted;
use super::extract::{Path, Query};
use super::problem::Problem;
use super::{Api, body, ranges};
use crate::access::{Access, Denied, Held, Made, MakeError, New, check_name, is_in_names};
use crate::clock::{unix_ms, written};
use crate::limits::{JSON_BYTES_MAX, TOKEN_NAME_BYTES_MAX};
use crate::server::Connection;
use crate::store::sql;

/// A token is valid for at most a hundred years.
const VALID_S_MAX: u64 = 36_500 * 24 * 3600;
/// Maximum uses of a join key.
const USES_MAX: u32 = 100_000;

/// The token of this request.
pub async fn me(State(api): State<Api>, Extension(access): Extension<Access>) -> Json<Me> {
    let token = match &access {
        Access::Everyone => None,
        Access::Holder(held) => Some(shown(held)),
    };
    Json(Me { tokens_required: api.guard.is_required, token })
}

pub async fn list(State(api): State<Api>) -> Result<Json<Vec<AccessToken>>, Problem> {
    are_needed(&api)?;
    Ok(Json(api.guard.tokens.all().iter().map(|held| shown(held)).collect()))
}

pub async fn make(
    State(api): State<Api>,
    Extension(access): Extension<Access>,
    Extension(connection): Extension<Arc<Connection>>,
    content: Body,
) -> Result<Response, Problem> {
    are_needed(&api)?;
    let wanted: TokenRequest =
        read(&connection, content, "{\"scope\": \"submitter\", \"name\": \"ci\"}").await?;
    let made_by = match &access {
        Access::Everyone => String::new(),
        Access::Holder(held) => held.name().to_owned(),
    };
    let made = api.guard.tokens.make(new(wanted, made_by)?).await.map_err(refused)?;
    let token = shown(&made.held);
    let noted = Noted(format!("token {} `{}` with the scope {}", token.id, token.name, token.scope));
    let answer = NewToken { secret: made.secret.text().to_owned(), token };
    let headers = [(header::CACHE_CONTROL, "no-store")];
    Ok((StatusCode::CREATED, headers, Extension(noted), Json(answer)).into_response())
}

fn new(wanted: TokenRequest, made_by: String) -> Result<New, Problem> {
    let scope = Scope::parse(&wanted.scope).ok_or_else(|| {
        let scopes = Scope::ALL.map(Scope::word).join(", ");
        Problem::unprocessable(format!("{} is not a scope; the scopes are: {scopes}", quoted(&wanted.scope)))
    })?;
    if let Some(name) = &wanted.name {
        check_name(name).map_err(Problem::unprocessable)?;
    }
    if let Some(valid_s) = wanted.valid_s.filter(|valid_s| !(1..=VALID_S_MAX).contains(valid_s)) {
        let why = format!("valid_s is {valid_s}; it must be from 1 to {VALID_S_MAX}");
        return Err(Problem::unprocessable(why));
    }
    if let Some(uses) = wanted.uses {
        if scope != Scope::Volunteer {
            return Err(Problem::unprocessable("only tokens with the scope volunteer have a number of uses"));
        }
        if !(1..=USES_MAX).contains(&uses) {
            return Err(Problem::unprocessable(format!("uses is {uses}; it must be from 1 to {USES_MAX}")));
        }
    }
    let ranges = [
        ("weight", "a weight", wanted.weight.map(u32::from), widened(&Share::WEIGHTS)),
        ("runs_max", "a quota of runs", wanted.runs_max, TOKEN_RUNS_MAX),
    ];
    for (field, what, value, range) in ranges {
        let Some(value) = value else { continue };
        if !scope.submits() {
            let why = format!("{field}: only tokens with the scope submitter or admin have {what}");
            return Err(Problem::unprocessable(why));
        }
        if !range.contains(&value) {
            let (least, most) = (range.start(), range.end());
            let why = format!("{field} is {value}; it must be from {least} to {most}");
            return Err(Problem::unprocessable(why));
        }
    }
    let expires_at_ms = wanted.valid_s.map(|valid_s| unix_ms().saturating_add(valid_s * 1000));
    Ok(New {
        name: wanted.name,
        scope,
        expires_at_ms,
        uses_max: wanted.uses,
        weight: wanted.weight,
        runs_max: wanted.runs_max,
        made_by,
    })
}

fn widened(range: &RangeInclusive<u16>) -> RangeInclusive<u32> {
    u32::from(*range.start())..=u32::from(*range.end())
}

pub async fn revoke(State(api): State<Api>, Path(name): Path<String>) -> Result<Response, Problem> {
    are_needed(&api)?;
    let held = api.guard.tokens.named(&name).ok_or_else(|| {
        let why = format!("there is no token {}; `sateen token ls` lists them", quoted(&name));
        Problem::not_found(why)
    })?;
    api.guard.tokens.revoke(&held).await.map_err(|error| {
        Problem::new(
            StatusCode::INSUFFICIENT_STORAGE,
            format!("the token is revoked, but only until the coordinator is started again: {error}"),
        )
    })?;
    let noted = Noted(format!("token {} `{}`", held.id(), held.name()));
    tracing::info!(token = held.id().0, name = held.name(), "token revoked");
    Ok((Extension(noted), Json(shown(&held))).into_response())
}

/// Gives a host a token of its own in exchange for a join key that may be used a limited number of times.
pub async fn join(
    State(api): State<Api>,
    Extension(access): Extension<Access>,
    Extension(connection): Extension<Arc<Connection>>,
    content: Body,
) -> Result<Response, Problem> {
    let wanted: JoinRequest = read(&connection, content, "{\"name\": \"pc\"}").await?;
    let key = match &access {
        Access::Holder(held) if held.is_join_key() => held,
        _ => return Ok(Json(Joined { secret: None }).into_response()),
    };
    let Made { secret, held } =
        api.guard.tokens.exchange(key, &host_name(&wanted.name)).await.map_err(refused)?;
    let noted = Noted(format!("host `{}`, token {}", held.name(), held.id()));
    let answer = Joined { secret: Some(secret.text().to_owned()) };
    Ok(([(header::CACHE_CONTROL, "no-store")], Extension(noted), Json(answer)).into_response())
}

/// The name of a token like that of a host, with room for a number after it.
fn host_name(name: &str) -> String {
    let mut allowed: String = name.chars().filter(|character| is_in_names(*character)).collect();
    allowed.truncate(allowed.floor_char_boundary(TOKEN_NAME_BYTES_MAX - 12));
    let allowed = allowed.trim();
    if check_name(allowed).is_ok() { allowed.to_owned() } else { format!("host {allowed}").trim().to_owned() }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Page {
    before: Option<String>,
    limit: Option<String>,
}

/// The audit log, newest first.
pub async fn audit(
    State(api): State<Api>,
    Query(page): Query<Page>,
) -> Result<Json<Vec<AuditLine>>, Problem> {
    are_needed(&api)?;
    let before = ranges::BEFORE.whole(page.before.as_deref())?;
    let limit = ranges::AUDIT_LIMIT.whole(page.limit.as_deref())?.unwrap_or(100) as usize;
    api.guard.audit.flush().await;
    let rows = api.store.read(move |connection| sql::audit(connection, before, limit)).await?;
    Ok(Json(
        rows.into_iter()
            .map(|row| AuditLine {
                number: row.number,
                at: written(row.at_ms),
                who: row.who,
                address: row.address,
                what: row.what,
                status: row.status,
                why: row.why,
            })
            .collect(),
    ))
}

/// Where nobody needs a token, anybody could make one that is valid later, when one is needed.
fn are_needed(api: &Api) -> Result<(), Problem> {
    if api.guard.is_required {
        return Ok(());
    }
    Err(Problem::conflict(
        "this coordinator needs no tokens, and keeps no audit log: anyone who can reach it may do everything. Make a token with \
         `sateen-coordinator token new --scope admin`, and start it with --require-tokens, or with --tls-cert or \
         --tls-self-signed on an address that others reach",
    ))
}

async fn read<T: DeserializeOwned>(
    connection: &Connection,
    content: Body,
    example: &str,
) -> Result<T, Problem> {
    let bytes = body::in_memory(connection, content, JSON_BYTES_MAX).await?;
    serde_json::from_slice(&bytes)
        .map_err(|error| Problem::invalid("body", &format!("expected JSON like {example}"), &error))
}

fn refused(error: MakeError) -> Problem {
    match error {
        MakeError::NameTaken(_) | MakeError::Full => Problem::conflict(error.to_string()),
        MakeError::Denied(denied) => Problem::new(denied.status(), denied.to_string()),
        MakeError::Store(error) => Problem::unsaved(&error),
    }
}

fn shown(held: &Held) -> AccessToken {
    let row = held.row();
    let is_used_up = row.uses.is_some_and(|uses| uses.used >= uses.max);
    let state = match held.check() {
        Err(Denied::Revoked { .. }) => "revoked",
        Err(_) => "expired",
        Ok(()) if is_used_up => "used up",
        Ok(()) => "valid",
    };
    AccessToken {
        id: row.id.0,
        name: row.name,
        scope: row.scope.word().to_owned(),
        state: state.to_owned(),
        made_by: row.made_by,
        made_at: written(row.made_at_ms),
        expires_at: row.expires_at_ms.map(written),
        used_at: row.used_at_ms.map(written),
        revoked_at: row.revoked_at_ms.map(written),
        uses_max: row.uses.map(|uses| uses.max),
        uses: row.uses.map_or(0, |uses| uses.used),
        weight: row.weight,
        runs_max: row.runs_max,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hosts_token_has_a_name_like_the_host() {
        for (host, token) in [("pc", "pc"), ("42", "host 42"), ("a/b\n", "ab"), ("\u{202e}", "host")] {
            assert_eq!(host_name(host), token);
        }
        assert!(check_name(&format!("{}-1000000", host_name(&"ø".repeat(200)))).is_ok());
    }
}
