//! The address of a coordinator.

use std::fmt;

use thiserror::Error;

/// The coordinator's port, if its address does not name one.
const PORT: u16 = 7700;

/// A coordinator's address, as given with `--coordinator`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoordinatorAddress {
    /// `host:port`.
    authority: String,
}

/// Why a text is not the address of a coordinator.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AddressError {
    /// The address requires TLS.
    #[error(
        "{0} asks for TLS, which this version does not speak; give an address like http://127.0.0.1:{PORT}"
    )]
    Tls(String),
    /// Something else is wrong with it.
    #[error("{0:?} is not the address of a coordinator; give one like http://127.0.0.1:{PORT}")]
    Malformed(String),
}

impl CoordinatorAddress {
    /// Reads `http://HOST[:PORT]`, `ws://HOST[:PORT]` or `HOST[:PORT]`.
    ///
    /// # Errors
    /// If the text has none of these forms.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        let malformed = || AddressError::Malformed(text.to_owned());
        let bare = match text.split_once("://") {
            Some(("http" | "ws", rest)) => rest,
            Some(("https" | "wss", _)) => return Err(AddressError::Tls(text.to_owned())),
            Some(_) => return Err(malformed()),
            None => text,
        };
        let bare = bare.strip_suffix('/').unwrap_or(bare);
        let is_odd = |c: char| c.is_whitespace() || c.is_control() || "/?#@\\".contains(c);
        if bare.is_empty() || bare.contains(is_odd) {
            return Err(malformed());
        }
        // The colons of a bare IPv6 address do not precede a port.
        let after_address = bare.rfind(']').map_or(bare, |at| &bare[at..]);
        let authority = match after_address.rsplit_once(':') {
            Some((_, port)) => {
                port.parse::<u16>().map_err(|_| malformed())?;
                bare.to_owned()
            }
            None => format!("{bare}:{PORT}"),
        };
        if authority.starts_with(':') {
            return Err(malformed());
        }
        Ok(Self { authority })
    }

    /// `host:port`, for a socket.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// The URL to which hosts connect.
    pub(super) fn websocket(&self) -> String {
        format!("ws://{}/ws/host", self.authority)
    }

    /// The URL of the bytes with this hash.
    pub(super) fn blob(&self, hash: sateen_protocol::BlobHash) -> String {
        format!("http://{}/api/v1/blobs/{hash}", self.authority)
    }
}

impl Default for CoordinatorAddress {
    fn default() -> Self {
        Self { authority: format!("127.0.0.1:{PORT}") }
    }
}

impl fmt::Display for CoordinatorAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}", self.authority)
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
        for text in ["", "http://", "ftp://a", "a b", "http://a/b", "a:port", "a:70000", ":7700", "u@a"] {
            let error = CoordinatorAddress::parse(text).expect_err(text).to_string();
            assert!(error.contains("http://127.0.0.1:7700"), "{error}");
        }
        let error = CoordinatorAddress::parse("https://a").expect_err("TLS").to_string();
        assert!(error.contains("TLS"), "{error}");
    }
}
