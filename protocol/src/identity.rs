//! A host's identity: the public part of its key, and what it signs with the secret part.
//!
//! ```text
//! coordinator                          host
//!             ─── ToHost::Challenge ─►        32 random bytes, and the grid
//!             ◄── Hello, Proof ─────          signed: both, the version of the protocol and the whole hello
//! ```
//!
//! To the state machines, a key is a name. The reader of a link checks the signatures before it passes a hello on, and discards
//! the proof.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::GridId;

/// Rotations of keys that a host remembers and sends with its proof.
pub const ROTATIONS_MAX: usize = 8;

/// The public part of a host's ed25519 key.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PublicKey(pub [u8; 32]);

impl PublicKey {
    /// Digits of a written key.
    pub const DIGITS: usize = 64;

    /// Parses what `Display` writes.
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() != Self::DIGITS || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        let mut key = [0; 32];
        for (byte, digits) in key.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            *byte = u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()?;
        }
        Some(Self(key))
    }

    /// Its first digits, for people: enough to tell the keys of a grid apart.
    pub fn short(&self) -> String {
        self.to_string()[..16].to_owned()
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.short())
    }
}

/// An ed25519 signature.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signature(pub [u8; 32], pub [u8; 32]);

/// What the coordinator sends first on every link of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Challenge {
    /// Random bytes of this link, never used before.
    pub nonce: [u8; 32],
    /// The coordinator's grid.
    pub grid: GridId,
}

/// Proves that a hello comes from the holder of the key that it names, on the link that was challenged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    /// Of the hello, by the key in its report.
    pub signature: Signature,
    /// Drawn by the process at its start: two processes with one key are told apart by it.
    pub instance: u64,
    /// How the key came from earlier ones, the oldest first; at most [`ROTATIONS_MAX`].
    pub rotations: Vec<Rotation>,
}

/// A host's key replaces an earlier one. Both have signed that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rotation {
    /// The earlier key.
    pub from: PublicKey,
    /// The key that replaces it.
    pub to: PublicKey,
    /// By the earlier key, and by the later one.
    pub signatures: [Signature; 2],
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_key_is_parsed_and_nothing_else_is() {
        let key = PublicKey(std::array::from_fn(|place| 7 * place as u8));
        assert_eq!(PublicKey::parse(&key.to_string()), Some(key));
        assert_eq!(PublicKey::parse(&key.to_string().to_uppercase()), Some(key));
        assert!(key.to_string().starts_with(&key.short()));
        let text = key.to_string();
        for other in ["", &text[1..], &format!("{text}0"), &format!("+{}", &text[1..]), &"é".repeat(32)] {
            assert_eq!(PublicKey::parse(other), None, "{other}");
        }
    }
}
