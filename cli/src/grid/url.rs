//! Addresses of coordinators.

use std::num::NonZeroU16;

use ureq::http::Uri;

/// A coordinator's URL and its host, from what a user writes: like `http://HOST:PORT`, or just `HOST:PORT`.
///
/// # Errors
/// A sentence that says which address is expected.
pub fn url_of(address: &str) -> Result<(String, String), String> {
    let expected = || {
        "expected the address of a coordinator, for example, http://127.0.0.1:7700 or grid:7700".to_owned()
    };
    let is_url = address.contains("://") || !has_port(address);
    let url = if is_url { address.to_owned() } else { format!("http://{address}") };
    let uri = url.parse::<Uri>().map_err(|_| expected())?;
    let authority = uri.authority().ok_or_else(expected)?.as_str();
    if authority.contains('@') {
        return Err(
            "an address must not have a user or password; `sateen login` keeps a token for a coordinator, and \
             --token-file names one"
                .to_owned(),
        );
    }
    let after_host = authority.rsplit(']').next().unwrap_or_default();
    if let Some((_, port)) = after_host.rsplit_once(':') {
        port.parse::<NonZeroU16>().map_err(|_| format!("{}, with a port from 1 to 65535", expected()))?;
    }
    let host = uri.host().filter(|host| !host.is_empty()).ok_or_else(expected)?;
    match uri.scheme_str() {
        Some("http" | "https") => Ok((url, host.to_owned())),
        _ => Err(expected()),
    }
}

fn has_port(authority: &str) -> bool {
    authority.trim_end_matches('/').rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok())
}

pub(super) fn is_this_machine(host: &str) -> bool {
    let host = host.trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_in_an_address_is_refused_and_not_repeated() {
        for address in
            ["http://u:secret@127.0.0.1:7849", "u:secret@127.0.0.1:7849", "https://token@grid.example"]
        {
            let refusal = url_of(address).expect_err(address);
            assert!(refusal.contains("--token-file") && !refusal.contains("secret"), "{refusal}");
        }
    }
}
