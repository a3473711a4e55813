//! Names and addresses of machines, as they stand in URLs and in the `Host` header of requests.

use std::net::IpAddr;

/// Maximum length of a name (RFC 1035, 2.3.4).
const NAME_BYTES_MAX: usize = 253;

/// Whether this can be the name of a machine, without a port: `grid.example.org`. Such text is safe to repeat, also as
/// the value of a flag.
pub fn is_machine_name(text: &str) -> bool {
    (1..=NAME_BYTES_MAX).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
        && !text.starts_with(['-', '.'])
}

/// The address of a machine that this is, without a port; an IPv6 address may be in brackets.
pub fn machine_address(text: &str) -> Option<IpAddr> {
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    bare.parse().ok()
}

/// The name or address in a `Host` header, which may have a port after it.
pub fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_bare_and_cannot_be_taken_for_flags() {
        for name in ["grid-1.example.org", "grid", "10.0.0.1", "a_b.", &"x".repeat(NAME_BYTES_MAX)] {
            assert!(is_machine_name(name), "{name}");
        }
        for other in [
            "",
            "http://grid",
            "grid:7700",
            "a b",
            "a/b",
            "a`b",
            "a;b",
            "a@b",
            "\u{9b}2J",
            "-grid",
            "--grid",
            ".grid",
            "[grid]",
            &"x".repeat(NAME_BYTES_MAX + 1),
        ] {
            assert!(!is_machine_name(other), "{other}");
        }
    }

    #[test]
    fn addresses_of_the_newer_kind_may_be_in_brackets() {
        for address in ["127.0.0.1", "::1", "[::1]", "[fd00::1]"] {
            assert!(machine_address(address).is_some(), "{address}");
        }
        for other in ["", "grid", "127.0.0.1:7700", "[::1]:7700", "[::1", "[grid]"] {
            assert!(machine_address(other).is_none(), "{other}");
        }
    }

    #[test]
    fn a_port_is_cut_off() {
        for (host, name) in [
            ("grid:7700", "grid"),
            ("grid", "grid"),
            ("[::1]:7700", "[::1]"),
            ("[::1]", "[::1]"),
            (":7700", ""),
            ("grid:x", "grid:x"),
        ] {
            assert_eq!(without_port(host), name, "{host}");
        }
    }
}
