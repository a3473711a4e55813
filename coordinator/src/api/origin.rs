//! Who may ask: nobody's web page but the coordinator's own.
//!
//! A page from anywhere can have a browser send requests, and open websockets, to this machine. Such a
//! request names its page as `Origin`; and one that got here by a name that was made to point here
//! (DNS rebinding) has that name as `Host`.

use std::net::IpAddr;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::Api;
use super::problem::Problem;

/// Lets a request pass, or refuses it.
pub async fn check(State(api): State<Api>, request: Request, next: Next) -> Response {
    match refusal(request.headers(), api.trusted_network) {
        Some(why) => Problem::new(StatusCode::FORBIDDEN, why).into_response(),
        None => next.run(request).await,
    }
}

fn refusal(headers: &HeaderMap, trusted_network: bool) -> Option<String> {
    let text = |name| headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    let host = text(header::HOST).unwrap_or_default();
    if !trusted_network && !is_loopback(&host) {
        return Some(format!(
            "the request is for `{host}`, and this coordinator answers to localhost and loopback addresses only"
        ));
    }
    let origin = text(header::ORIGIN)?;
    (origin.strip_prefix("http://") != Some(host.as_str()))
        .then(|| format!("a web page from `{origin}` may not use this coordinator"))
}

fn is_loopback(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let address = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost")
        || address.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(host: &str, origin: Option<&str>, trusted_network: bool) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().expect("a value"));
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, origin.parse().expect("a value"));
        }
        refusal(&headers, trusted_network).is_some()
    }

    #[test]
    fn foreign_pages_are_refused() {
        assert!(!refused("127.0.0.1:7700", None, false));
        assert!(!refused("localhost:7700", Some("http://localhost:7700"), false));
        assert!(!refused("[::1]:7700", None, false));
        assert!(refused("127.0.0.1:7700", Some("http://evil.example"), false));
        assert!(refused("127.0.0.1:7700", Some("null"), false));
        assert!(refused("evil.example:7700", Some("http://evil.example:7700"), false));
        assert!(!refused("10.0.0.1:7700", None, true));
        assert!(refused("10.0.0.1:7700", Some("http://evil.example"), true));
    }
}
