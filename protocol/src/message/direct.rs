//! The handshake of a direct link, before its first frame.
//!
//! ```text
//! dialling host                    dialled host
//!               ◄── Challenge ───
//!               ─── DirectHello ─►   proof over both nonces and both ids
//!               ◄── Greeting ────    proof over the same
//! ```
//!
//! The coordinator gives each pair of acquaintances a secret ([`HostInfo`](super::HostInfo)) that no other host has. It
//! is never sent between them. So a third host can neither dial as one of them nor answer as the other, and a handshake
//! that it overhears is of no use on another link.

use serde::{Deserialize, Serialize};

use crate::{GridId, HostId};

/// Bytes that were never used before.
pub type Nonce = [u8; 16];

/// Maximum size of each part of the handshake.
pub const HANDSHAKE_BYTES_MAX: usize = 256;

const MAGIC: u64 = u64::from_be_bytes(*b"sateen d");
const PROOF: &str = "sateen 2026-11 proof of a direct link";
const DIALS: &[u8] = b"dials";
const GREETS: &[u8] = b"greets";

/// The dialled host's first message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Challenge {
    magic: u64,
    nonce: Nonce,
}

/// The two hosts of a direct link.
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectHello {
    magic: u64,
    /// The two hosts; not to be trusted until [`DirectHello::is_proven`] returns true.
    pub caller: Caller,
    nonce: Nonce,
    proof: [u8; 32],
}

/// The dialled host's answer to a proven hello.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Greeting {
    proof: [u8; 32],
}

impl Challenge {
    /// Makes a challenge with a nonce of the dialled host.
    pub fn new(nonce: Nonce) -> Self {
        Self { magic: MAGIC, nonce }
    }

    /// The answer of the dialling host, with the pair's secret and a nonce of its own.
    pub fn answer(&self, caller: Caller, secret: u64, nonce: Nonce) -> DirectHello {
        let mut hello = DirectHello { magic: MAGIC, caller, nonce, proof: [0; 32] };
        hello.proof = *hello.prove(secret, self, DIALS).as_bytes();
        hello
    }
}

impl DirectHello {
    /// Whether the sender knows the secret of this pair of hosts and has answered this challenge.
    pub fn is_proven(&self, secret: u64, challenge: &Challenge) -> bool {
        self.prove(secret, challenge, DIALS) == self.proof
    }

    /// The answer of the dialled host.
    pub fn greeting(&self, secret: u64, challenge: &Challenge) -> Greeting {
        Greeting { proof: *self.prove(secret, challenge, GREETS).as_bytes() }
    }

    /// Whether the greeting comes from the host that was dialled.
    pub fn is_greeted(&self, secret: u64, challenge: &Challenge, greeting: &Greeting) -> bool {
        self.prove(secret, challenge, GREETS) == greeting.proof
    }

    /// A proof, whose comparison takes constant time.
    fn prove(&self, secret: u64, challenge: &Challenge, role: &[u8]) -> blake3::Hash {
        let key = blake3::derive_key(PROOF, &secret.to_le_bytes());
        let mut hasher = blake3::Hasher::new_keyed(&key);
        hasher.update(role);
        hasher.update(&self.caller.grid.0.to_le_bytes());
        hasher.update(&self.caller.from.0.to_le_bytes());
        hasher.update(&self.caller.to.0.to_le_bytes());
        hasher.update(&challenge.nonce);
        hasher.update(&self.nonce);
        hasher.finalize()
    }
}

/// Encodes a part of the handshake.
pub fn encode<M: Serialize>(part: &M) -> Vec<u8> {
    // Parts have only numbers and bytes of a fixed size, whose encoding cannot fail.
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

    const SECRET: u64 = 7;
    const CALLER: Caller = Caller { grid: GridId(1), from: HostId(2), to: HostId(3) };

    #[test]
    fn only_hosts_that_share_the_secret_complete_the_handshake() {
        let challenge = Challenge::new([4; 16]);
        let hello = challenge.answer(CALLER, SECRET, [5; 16]);
        assert!(hello.is_proven(SECRET, &challenge));
        assert!(!hello.is_proven(SECRET + 1, &challenge), "another pair's secret");
        assert!(!hello.is_proven(SECRET, &Challenge::new([9; 16])), "overheard on another link");
        let as_another = Caller { from: HostId(8), ..CALLER };
        assert!(!DirectHello { caller: as_another, ..hello }.is_proven(SECRET, &challenge));

        let greeting = hello.greeting(SECRET, &challenge);
        assert!(hello.is_greeted(SECRET, &challenge, &greeting));
        assert!(!hello.is_greeted(SECRET, &challenge, &hello.greeting(SECRET + 1, &challenge)));
        let echo = Greeting { proof: hello.proof };
        assert!(!hello.is_greeted(SECRET, &challenge, &echo), "the caller's own proof sent back");
    }

    #[test]
    fn encoded_parts_are_decoded_and_other_bytes_are_refused() {
        let challenge = Challenge::new([4; 16]);
        let hello = challenge.answer(CALLER, SECRET, [5; 16]);
        let greeting = hello.greeting(SECRET, &challenge);
        assert_eq!(decode_challenge(&encode(&challenge)), Some(challenge));
        assert_eq!(decode_hello(&encode(&hello)), Some(hello));
        assert_eq!(decode_greeting(&encode(&greeting)), Some(greeting));
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
