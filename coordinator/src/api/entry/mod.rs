//! The entry of all requests: on whose behalf each is handled, and whether that is allowed.

pub mod login;
mod rules;

use std::sync::Arc;

use axum::Extension;
use axum::extract::{MatchedPath, Query, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use sateen_access::{Scope, Token};
use sateen_protocol::RunId;
use serde::Deserialize;

use super::Api;
use super::problem::{Problem, Why};
use super::runs::parse;
use crate::access::{Access, Denied, Held, Line, SESSION_COOKIE};
use crate::clock::unix_ms;
use crate::server::Connection;
use crate::store::sql;
use crate::token::TokenId;

use rules::Need;

/// Maximum bytes of a request's target in the audit log.
const TARGET_BYTES_MAX: usize = 200;
/// Time after which somebody who presented too many invalid tokens may try again, in seconds.
const WAIT_S: u32 = 60;

/// What was done, for the audit log: handlers add it to their answers if the request does not say it.
#[derive(Debug, Clone)]
pub struct Noted(pub String);

/// Lets a request pass, or refuses it; and notes it in the audit log if it changes something or is refused.
pub async fn check(
    State(api): State<Api>,
    Extension(connection): Extension<Arc<Connection>>,
    mut request: Request,
    next: Next,
) -> Response {
    if !api.guard.is_required {
        request.extensions_mut().insert(Access::Everyone);
        return next.run(request).await;
    }
    let (method, target) = (request.method().clone(), target(&request));
    let is_change = !(method == Method::GET || method == Method::HEAD);
    // A path without a route has files of the dashboard, which say nothing of this grid.
    let route = request.extensions().get::<MatchedPath>().map(|route| route.as_str().to_owned());
    let need = route.as_deref().map_or(Need::Nothing, |route| rules::need(&method, route));
    let access = match identify(&api, request.headers(), need) {
        Ok(access) => access,
        Err(_) if need == Need::Page => return Redirect::to("/login").into_response(),
        Err(denied) => return refuse(&api, &connection, &Access::Everyone, denied, &target),
    };
    if let Err(denied) = may(&access, need) {
        return refuse(&api, &connection, &access, denied, &target);
    }
    if let Err(problem) = may_see_run(&api, &access, need, request.uri().clone()).await {
        if api.guard.strike(connection.peer).is_ok() {
            note(
                &api,
                &connection,
                &access,
                (problem.status(), target, Some("the run is another's".to_owned())),
            );
        }
        return problem.into_response();
    }
    request.extensions_mut().insert(access.clone());
    let mut response = tokio::select! {
        biased;
        response = next.run(request) => response,
        denied = access.until_over() => return refuse(&api, &connection, &access, denied, &target),
    };
    let noted = response.extensions_mut().remove::<Noted>();
    let why = response.extensions_mut().remove::<Why>().map(|Why(why)| why);
    if is_change && need != Need::Nothing {
        let what = noted.map_or_else(|| target.clone(), |Noted(what)| format!("{target}: {what}"));
        note(&api, &connection, &access, (response.status(), what, why));
    }
    response
}

/// Notes a request in the audit log: the status of the answer, what was requested, and why it was refused, if it was.
fn note(
    api: &Api,
    connection: &Connection,
    access: &Access,
    (status, what, why): (StatusCode, String, Option<String>),
) {
    api.guard.audit.note(Line {
        number: 0,
        at_ms: unix_ms(),
        who: access.who(),
        address: connection.peer.to_string(),
        what,
        status: status.as_u16(),
        why,
    });
}

fn target(request: &Request) -> String {
    let target = request.uri().path_and_query().map_or("/", |target| target.as_str());
    let mut text = format!("{} {target}", request.method());
    text.truncate(text.floor_char_boundary(TARGET_BYTES_MAX));
    text
}

/// The answer to a request that is refused. Few refusals of one address are noted, so that a flood does not fill the disk.
fn refuse(api: &Api, connection: &Connection, access: &Access, denied: Denied, target: &str) -> Response {
    // Those that have no token, and know it, cost nothing.
    let is_counted = !matches!(denied, Denied::NoToken | Denied::NoKey);
    let flood = if is_counted { api.guard.strike(connection.peer).err() } else { None };
    let is_noted = is_counted && flood.is_none();
    let denied = flood.filter(|_| denied.status() == StatusCode::UNAUTHORIZED).unwrap_or(denied);
    tracing::debug!(address = %connection.peer, target, why = %denied, "a request is refused");
    if is_noted {
        note(api, connection, access, (denied.status(), target.to_owned(), Some(denied.to_string())));
    }
    refusal(&denied)
}

/// The answer that says why a request is refused.
fn refusal(denied: &Denied) -> Response {
    let status = denied.status();
    let mut response = Problem::new(status, denied.to_string()).into_response();
    let headers = response.headers_mut();
    match status {
        StatusCode::UNAUTHORIZED => {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"sateen\""));
        }
        StatusCode::TOO_MANY_REQUESTS => {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(WAIT_S));
        }
        _ => {}
    }
    response
}

/// On whose behalf a request is handled.
fn identify(api: &Api, headers: &HeaderMap, need: Need) -> Result<Access, Denied> {
    if need == Need::Nothing {
        return Ok(Access::Everyone);
    }
    if let Some(value) = headers.get(header::AUTHORIZATION) {
        let token = value.to_str().ok().and_then(bearer).ok_or(Denied::NoBearer)?;
        let token: Token = token.parse().map_err(|_| Denied::Unknown)?;
        return Ok(Access::Holder(api.guard.tokens.find(&token)?));
    }
    match cookie(headers) {
        Some(cookie) => Ok(Access::Holder(logged_in(api, cookie)?)),
        None if matches!(need, Need::Scopes(&[Scope::Volunteer]) | Need::JoinKey) => Err(Denied::NoKey),
        None => Err(Denied::NoToken),
    }
}

/// The token of a header like `Bearer TOKEN`.
fn bearer(value: &str) -> Option<&str> {
    let (kind, token) = value.split_once(' ')?;
    kind.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// The token with which a browser is logged in.
fn logged_in(api: &Api, cookie: &str) -> Result<Arc<Held>, Denied> {
    let held = api.guard.sessions.find(cookie, std::time::Instant::now())?;
    held.check()?;
    api.guard.tokens.touch(&held);
    Ok(held)
}

/// The value of the dashboard's cookie.
fn cookie(headers: &HeaderMap) -> Option<&str> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut cookies = cookies.flat_map(|cookies| cookies.split(';'));
    cookies.find_map(|cookie| cookie.trim().strip_prefix(SESSION_COOKIE)?.strip_prefix('='))
}

/// Whether the scope is enough.
fn may(access: &Access, need: Need) -> Result<(), Denied> {
    let Access::Holder(held) = access else { return Ok(()) };
    let name = held.name().to_owned();
    if held.is_join_key() && need != Need::JoinKey && need != Need::Token {
        return Err(Denied::JoinFirst(name));
    }
    let scopes: &[Scope] = match need {
        Need::Nothing | Need::Page | Need::Token => return Ok(()),
        Need::Scopes(scopes) | Need::OfRun(scopes) | Need::OfRunInQuery(scopes) => scopes,
        Need::JoinKey => &[Scope::Volunteer],
    };
    if access.has(scopes) {
        return Ok(());
    }
    let needs: Vec<&str> = scopes.iter().chain([&Scope::Admin]).map(|scope| scope.word()).collect();
    Err(Denied::Scope { name, has: held.scope(), needs: needs.join(" or ") })
}

#[derive(Deserialize)]
struct OfRun {
    run: Option<String>,
}

/// Whether the run that a request is about may be seen. Another's run looks as if it did not exist.
async fn may_see_run(api: &Api, access: &Access, need: Need, uri: Uri) -> Result<(), Problem> {
    let Some(owner) = access.only_runs_of() else { return Ok(()) };
    let run = match need {
        Need::OfRun(_) => uri.path().split('/').nth(4).unwrap_or_default().to_owned(),
        Need::OfRunInQuery(_) => {
            let of = Query::<OfRun>::try_from_uri(&uri).ok().and_then(|Query(of)| of.run);
            of.ok_or_else(|| {
                Problem::bad_request(
                    "name the run with ?run=NUMBER (`sateen replay --run`): without it, all runs are searched, which only an admin's token may do",
                )
            })?
        }
        _ => return Ok(()),
    };
    is_run_of(api, parse(&run)?, owner).await
}

/// Whether a token submitted a run.
pub async fn is_run_of(api: &Api, run: RunId, owner: TokenId) -> Result<(), Problem> {
    let found = api.store.read(move |connection| sql::run_owner(connection, run)).await?;
    if found == Some(owner) {
        return Ok(());
    }
    Err(Problem::not_found(format!(
        "there is no run {run} that this token submitted; `sateen ps --all` lists those that it did"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cookie_is_found_among_others() {
        let of = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(header::COOKIE, value.parse().expect("a value"));
            }
            cookie(&headers).map(str::to_owned)
        };
        assert_eq!(of(&["a=b; sateen_session=12ab; c=d"]).as_deref(), Some("12ab"));
        assert_eq!(of(&["a=b", "sateen_session=7"]).as_deref(), Some("7"));
        assert_eq!(of(&["xsateen_session=7; sateen_sessions=8"]), None);
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn only_bearers_hold_tokens() {
        assert_eq!(bearer("Bearer abc"), Some("abc"));
        assert_eq!(bearer("bearer  abc"), Some("abc"));
        assert_eq!(bearer("Basic abc"), None);
        assert_eq!(bearer("abc"), None);
    }
}
