//! The address of a coordinator.

use std::fmt;
use std::num::NonZeroU16;

use thiserror::Error;

/// The coordinator's port, if its address does not name one.
const PORT: u16 = 7700;
/// The same for one that speaks TLS: the port of https.
const TLS_PORT: u16 = 443;

/// A coordinator's address, as given with `--coordinator`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoordinatorAddress {
    /// `host:port`.
    authority: String,
    /// Whether it speaks TLS.
    is_tls: bool,
}

/// Why a text is not the address of a coordinator.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AddressError {
    /// It is something else.
    #[error("{0:?} is not the address of a coordinator; give one like http://127.0.0.1:{PORT}")]
    Malformed(String),
    /// It has a user or a password, which is not repeated.
    #[error("an address must not have a user or password; give a join key with --key-file")]
    Password,
}

impl CoordinatorAddress {
    /// Reads `http://HOST[:PORT]`, `https://HOST[:PORT]`, or the same with `ws` and `wss`, or `HOST[:PORT]`.
    ///
    /// # Errors
    /// If the text has none of these forms.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        let malformed = || AddressError::Malformed(text.to_owned());
        let (bare, is_tls) = match text.split_once("://") {
            Some(("http" | "ws", rest)) => (rest, false),
            Some(("https" | "wss", rest)) => (rest, true),
            Some((_, rest)) if rest.contains('@') => return Err(AddressError::Password),
            Some(_) => return Err(malformed()),
            None => (text, false),
        };
        let bare = bare.strip_suffix('/').unwrap_or(bare);
        let is_odd = |c: char| c.is_whitespace() || c.is_control() || "/?#@\\".contains(c);
        if bare.contains('@') {
            return Err(AddressError::Password);
        }
        if bare.is_empty() || bare.contains(is_odd) {
            return Err(malformed());
        }
        // The colons of a bare IPv6 address do not precede a port.
        let after_address = bare.rfind(']').map_or(bare, |at| &bare[at..]);
        let authority = match after_address.rsplit_once(':') {
            Some((_, port)) => {
                port.parse::<NonZeroU16>().map_err(|_| malformed())?;
                bare.to_owned()
            }
            None => format!("{bare}:{}", if is_tls { TLS_PORT } else { PORT }),
        };
        if authority.starts_with(':') {
            return Err(malformed());
        }
        Ok(Self { authority, is_tls })
    }

    /// Whether it speaks TLS.
    pub fn is_tls(&self) -> bool {
        self.is_tls
    }

    /// The name or address of its machine, without brackets.
    pub fn host(&self) -> &str {
        let host = self.authority.rsplit_once(':').map_or(self.authority.as_str(), |(host, _)| host);
        host.trim_matches(['[', ']'])
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.authority.rsplit_once(':').and_then(|(_, port)| port.parse().ok()).unwrap_or(PORT)
    }

    /// The URL of a path.
    pub fn url(&self, path: &str) -> String {
        format!("{self}{path}")
    }

    /// `host:port`, for a socket.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// The URL to which hosts connect.
    pub(super) fn websocket(&self) -> String {
        format!("{}://{}/ws/host", if self.is_tls { "wss" } else { "ws" }, self.authority)
    }

    /// The URL of the bytes with this hash.
    pub(super) fn blob(&self, hash: sateen_protocol::BlobHash) -> String {
        self.url(&format!("/api/v1/blobs/{hash}"))
    }
}

impl Default for CoordinatorAddress {
    fn default() -> Self {
        Self { authority: format!("127.0.0.1:{PORT}"), is_tls: false }
    }
}

impl fmt::Display for CoordinatorAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", if self.is_tls { "https" } else { "http" }, self.authority)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn authority(text: &str) -> Option<String> {
        CoordinatorAddress::parse(text).ok().map(|address| address.authority)
    }

    #[test]
    fn addresses_are_read() {
        assert_eq!(authority("http://127.0.0.1:7700").as_deref(), Some("127.0.0.1:7700"));
        assert_eq!(authority("ws://grid.example/").as_deref(), Some("grid.example:7700"));
        assert_eq!(authority("grid.example:80").as_deref(), Some("grid.example:80"));
        assert_eq!(authority("[::1]").as_deref(), Some("[::1]:7700"));
        assert_eq!(authority("[::1]:9").as_deref(), Some("[::1]:9"));
    }

    #[test]
    fn nonsense_is_refused_with_an_example() {
        for text in ["", "http://", "ftp://a", "a b", "http://a/b", "a:port", "a:70000", ":7700"] {
            let error = CoordinatorAddress::parse(text).expect_err(text).to_string();
            assert!(error.contains("http://127.0.0.1:7700"), "{error}");
        }
        for text in ["u@a", "http://u:secret@a", "odd://u:secret@a"] {
            let error = CoordinatorAddress::parse(text).expect_err(text);
            assert_eq!(error, AddressError::Password, "{text}");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }

    #[test]
    fn addresses_with_tls_are_kept_as_such() {
        for text in ["https://grid.example.org", "wss://grid.example.org:443/"] {
            let address = CoordinatorAddress::parse(text).expect("an address");
            assert!(address.is_tls());
            assert_eq!(address.to_string(), "https://grid.example.org:443");
            assert_eq!(address.websocket(), "wss://grid.example.org:443/ws/host");
            assert_eq!((address.host(), address.port()), ("grid.example.org", 443));
        }
        let address = CoordinatorAddress::parse("https://[::1]:7700").expect("an address");
        assert_eq!((address.host(), address.port()), ("::1", 7700));
        assert!(!CoordinatorAddress::default().is_tls());
    }
}
