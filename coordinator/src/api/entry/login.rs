//! The page where people log in to the dashboard. It is plain HTML: the dashboard's scripts have no part in it.

use std::sync::Arc;
use std::time::Instant;

use axum::Extension;
use axum::body::Body;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{Html, IntoResponse, Redirect, Response};
use sateen_access::{Scope, Token};
use serde::Deserialize;

use super::{cookie, logged_in, note};
use crate::access::{Access, Denied, Held, SESSION_COOKIE};
use crate::api::problem::Problem;
use crate::api::{Api, body};
use crate::limits::SESSION_MAX;
use crate::server::Connection;

/// Maximum size of the form.
const FORM_BYTES_MAX: usize = 4096;

#[derive(Deserialize)]
struct Form {
    token: String,
}

/// The page.
pub async fn page(State(api): State<Api>, headers: HeaderMap) -> Response {
    let held = cookie(&headers).and_then(|cookie| logged_in(&api, cookie).ok());
    match (api.guard.is_required, held) {
        (false, _) => Redirect::to("/").into_response(),
        (true, held) => no_store(StatusCode::OK, html(held.as_deref(), None)),
    }
}

/// Logs a browser in.
pub async fn log_in(
    State(api): State<Api>,
    Extension(connection): Extension<Arc<Connection>>,
    headers: HeaderMap,
    content: Body,
) -> Result<Response, Problem> {
    if !api.guard.is_required {
        return Ok(Redirect::to("/").into_response());
    }
    let bytes = body::in_memory(&connection, content, FORM_BYTES_MAX).await?;
    let noted = |access: &Access, denied: Option<&Denied>| {
        let status = denied.map_or(StatusCode::OK, Denied::status);
        let (what, why) = ("log in to the dashboard".to_owned(), denied.map(ToString::to_string));
        note(&api, &connection, access, (status, what, why));
    };
    match find(&api, &bytes) {
        Ok(held) => {
            noted(&Access::Holder(Arc::clone(&held)), None);
            let begun = api.guard.sessions.begin(held, Instant::now());
            let value = begun.map_err(|error| {
                Problem::new(StatusCode::INTERNAL_SERVER_ERROR, format!("there is no randomness: {error}"))
            })?;
            Ok(with_cookie(&api, &headers, &value, SESSION_MAX.as_secs()))
        }
        Err(denied) => {
            let flood = api.guard.strike(connection.peer).err();
            if flood.is_none() {
                noted(&Access::Everyone, Some(&denied));
            }
            let denied = flood.unwrap_or(denied);
            Ok(no_store(denied.status(), html(None, Some(&denied))))
        }
    }
}

/// Logs a browser out.
pub async fn log_out(State(api): State<Api>, headers: HeaderMap) -> Response {
    if let Some(cookie) = cookie(&headers) {
        api.guard.sessions.end(cookie);
    }
    let mut response = with_cookie(&api, &headers, "", 0);
    response.headers_mut().insert(header::LOCATION, header::HeaderValue::from_static("/login"));
    response
}

fn find(api: &Api, form: &[u8]) -> Result<Arc<Held>, Denied> {
    // A form has the same encoding as a query.
    let query = std::str::from_utf8(form).ok().and_then(|form| format!("/?{form}").parse::<Uri>().ok());
    let form = query.and_then(|uri| Query::<Form>::try_from_uri(&uri).ok()).ok_or(Denied::Unknown)?;
    let token: Token = form.0.token.parse().map_err(|_| Denied::Unknown)?;
    let held = api.guard.tokens.find(&token)?;
    if held.scope() == Scope::Volunteer {
        let (name, has) = (held.name().to_owned(), held.scope());
        return Err(Denied::Scope { name, has, needs: "viewer, submitter or admin".to_owned() });
    }
    Ok(held)
}

/// Scripts cannot read the cookie, and pages of others cannot have it sent. A browser that got it over TLS, from this
/// coordinator or a proxy in front of it, sends it over TLS only.
fn with_cookie(api: &Api, headers: &HeaderMap, value: &str, seconds: u64) -> Response {
    let is_https =
        headers.get(header::ORIGIN).is_some_and(|origin| origin.as_bytes().starts_with(b"https://"));
    let secure = if api.is_tls || is_https { "; Secure" } else { "" };
    let cookie =
        format!("{SESSION_COOKIE}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
    let headers = [(header::SET_COOKIE, cookie), (header::CACHE_CONTROL, "no-store".to_owned())];
    (headers, Redirect::to("/")).into_response()
}

fn no_store(status: StatusCode, html: String) -> Response {
    (status, [(header::CACHE_CONTROL, "no-store")], Html(html)).into_response()
}

fn html(held: Option<&Held>, denied: Option<&Denied>) -> String {
    let why = denied.map_or(String::new(), |denied| {
        let why = denied.to_string();
        let (first, rest) = why.split_at(why.ceil_char_boundary(1));
        let why = escaped(&format!("{}{rest}.", first.to_uppercase()));
        format!("<p class=\"refused\" role=\"alert\">{why}</p>\n")
    });
    let now = held.map_or(String::new(), |held| {
        format!(
            "<form method=\"post\" action=\"/logout\">\n<p>You are logged in with the token <b>{}</b> ({}).\n\
             <a href=\"/\">Go to the dashboard</a></p>\n<p><button>Log out</button></p>\n</form>\n",
            escaped(held.name()),
            held.scope()
        )
    });
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Log in · Sateen</title>\n<link rel=\"icon\" href=\"/icon.svg\" type=\"image/svg+xml\">\n\
         <link rel=\"stylesheet\" href=\"/login.css\">\n</head>\n<body>\n<main>\n\
         <h1><img src=\"/icon.svg\" alt=\"\" width=\"24\" height=\"24\">Sateen</h1>\n\
         {now}{why}<form method=\"post\" action=\"/login\">\n<p><label>Token\n\
         <input name=\"token\" type=\"password\" autocomplete=\"current-password\" required autofocus></label></p>\n\
         <p><button>Log in</button></p>\n</form>\n\
         <p class=\"hint\">The operator makes tokens with <code>sateen token new --scope viewer</code>.</p>\n\
         </main>\n</body>\n</html>\n"
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
