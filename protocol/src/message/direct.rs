//! The handshake of a direct link, before its first frame.
//!
//! ```text
//! dialling host                    dialled host
//!               ◄── Challenge ───
//!               ─── DirectHello ─►   Noise KK, first message
//!               ◄── Greeting ────    Noise KK, second message
//! ```
//!
//! Each host knows the other's key from the coordinator ([`HostInfo`](super::HostInfo)). Both Noise messages are bound to
//! the two ids, the grid and the challenge, so a third host can neither dial as one of them nor answer as the other, and a
//! handshake that it overhears is of no use on another link. Frames that follow are encrypted with the session's keys.

use serde::{Deserialize, Serialize};

use crate::{GridId, HostId};

/// Bytes that were never used before.
pub type Nonce = [u8; 16];

/// Maximum size of each part of the handshake.
pub const HANDSHAKE_BYTES_MAX: usize = 256;

const MAGIC: u64 = u64::from_be_bytes(*b"sateen n");

/// The dialled host's first message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Challenge {
    magic: u64,
    /// Of this link.
    pub nonce: Nonce,
}

/// The two hosts of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caller {
    /// The grid of both.
    pub grid: GridId,
    /// The host that dials.
    pub from: HostId,
    /// The host that it dials.
    pub to: HostId,
}

/// The dialling host's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectHello {
    magic: u64,
    /// The two hosts; not to be trusted until the handshake is complete.
    pub caller: Caller,
    /// The first message of the Noise handshake.
    #[serde(with = "crate::bytes")]
    pub noise: Vec<u8>,
}

/// The dialled host's answer to a proven hello.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Greeting {
    /// The second message of the Noise handshake.
    #[serde(with = "crate::bytes")]
    pub noise: Vec<u8>,
}

impl Challenge {
    /// Makes a challenge with a nonce of the dialled host.
    pub fn new(nonce: Nonce) -> Self {
        Self { magic: MAGIC, nonce }
    }
}

impl DirectHello {
    /// The hello of the dialling host, with its first Noise message.
    pub fn new(caller: Caller, noise: Vec<u8>) -> Self {
        Self { magic: MAGIC, caller, noise }
    }
}

/// Encodes a part of the handshake.
pub fn encode<M: Serialize>(part: &M) -> Vec<u8> {
    // Parts have only numbers and bytes, whose encoding cannot fail.
    postcard::to_allocvec(part).unwrap_or_default()
}

/// Decodes a challenge; `None` if the bytes are not one.
pub fn decode_challenge(bytes: &[u8]) -> Option<Challenge> {
    decode::<Challenge>(bytes).filter(|challenge| challenge.magic == MAGIC)
}

/// Decodes a hello; `None` if the bytes are not one.
pub fn decode_hello(bytes: &[u8]) -> Option<DirectHello> {
    decode::<DirectHello>(bytes).filter(|hello| hello.magic == MAGIC)
}

/// Decodes a greeting; `None` if the bytes are not one.
pub fn decode_greeting(bytes: &[u8]) -> Option<Greeting> {
    decode(bytes)
}

fn decode<M: for<'a> Deserialize<'a>>(bytes: &[u8]) -> Option<M> {
    if bytes.len() > HANDSHAKE_BYTES_MAX {
        return None;
    }
    postcard::from_bytes(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALLER: Caller = Caller { grid: GridId(1), from: HostId(2), to: HostId(3) };

    #[test]
    fn encoded_parts_are_decoded_and_other_bytes_are_refused() {
        let challenge = Challenge::new([4; 16]);
        let hello = DirectHello::new(CALLER, vec![5; 48]);
        let greeting = Greeting { noise: vec![6; 48] };
        assert_eq!(decode_challenge(&encode(&challenge)), Some(challenge));
        assert_eq!(decode_hello(&encode(&hello)), Some(hello));
        assert_eq!(decode_greeting(&encode(&greeting)), Some(greeting.clone()));
        for (length, is_read) in [(HANDSHAKE_BYTES_MAX, true), (HANDSHAKE_BYTES_MAX + 1, false)] {
            let mut padded = encode(&greeting);
            padded.resize(length, 0);
            assert_eq!(decode_greeting(&padded).is_some(), is_read, "{length} bytes");
        }
        assert_eq!(decode_hello(&[0xff; 200]), None);
        assert_eq!(decode_hello(&[0; HANDSHAKE_BYTES_MAX + 1]), None);
        assert_eq!(decode_challenge(&[0; 24]), None);
    }
}
