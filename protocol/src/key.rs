//! A job's identity.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The start of every key's hash input, so that no other use of blake3 yields an equal hash.
const DOMAIN: &[u8] = b"sateen job key 1";

/// `blake3(domain ‖ ABI version ‖ determinism profile ‖ module hash ‖ function ‖ salt ‖ canonical
/// parameters)`. Jobs with equal keys are the same job, wherever they are in whichever tree of jobs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct JobKey(pub [u8; 32]);

impl JobKey {
    /// The first eight bytes: they suffice to distinguish the jobs of a lineage, but are never used to find a result.
    pub fn tag(&self) -> JobTag {
        let mut tag = [0; 8];
        tag.copy_from_slice(&self.0[..8]);
        JobTag(u64::from_be_bytes(tag))
    }

    /// Parses the 64 digits that `Display` writes.
    pub fn parse(text: &str) -> Option<Self> {
        parse_hex(text).map(Self)
    }
}

/// Parses 64 hexadecimal digits into 32 bytes.
fn parse_hex(text: &str) -> Option<[u8; 32]> {
    let digits = text.as_bytes();
    if digits.len() != 64 {
        return None;
    }
    let mut bytes = [0; 32];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let digit = |digit: u8| (digit as char).to_digit(16);
        *byte = (digit(pair[0])? * 16 + digit(pair[1])?) as u8;
    }
    Some(bytes)
}

fn write_hex(bytes: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
}

impl fmt::Display for JobKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(&self.0, f)
    }
}

impl fmt::Debug for JobKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(&self.0[..6], f)
    }
}

/// The first eight bytes of a job's key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct JobTag(pub u64);

impl fmt::Display for JobTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for JobTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", self.0 >> 32)
    }
}

/// The blake3 hash of a blob's bytes: a module, an input, a large result.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BlobHash(pub [u8; 32]);

impl BlobHash {
    /// The hash of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// Parses the 64 digits that `Display` writes.
    pub fn parse(text: &str) -> Option<Self> {
        parse_hex(text).map(Self)
    }
}

impl fmt::Display for BlobHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(&self.0, f)
    }
}

impl fmt::Debug for BlobHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(&self.0[..6], f)
    }
}

/// Makes the keys of one function's jobs; the part that they have in common is hashed once.
#[derive(Clone)]
pub struct KeyMaker(blake3::Hasher);

impl KeyMaker {
    /// Makes keys for jobs that call `function` of the module with the hash `module`. `profile` is the determinism
    /// profile, one byte; `salt` is empty for a job that reads nothing but its parameters.
    pub fn new(abi_version: u32, profile: u8, module: BlobHash, function: &str, salt: &[u8]) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(DOMAIN);
        hasher.update(&abi_version.to_le_bytes());
        hasher.update(&[profile]);
        hasher.update(&module.0);
        for part in [function.as_bytes(), salt] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        Self(hasher)
    }

    /// The key of the job with these encoded parameters.
    pub fn key(&self, parameters: &[u8]) -> JobKey {
        JobKey(*self.0.clone().update(parameters).finalize().as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_differ_if_any_part_differs() {
        let module = BlobHash::of(b"module");
        let base = KeyMaker::new(1, 0, module, "f", b"").key(b"p");
        assert_eq!(base, KeyMaker::new(1, 0, module, "f", b"").key(b"p"));
        for other in [
            KeyMaker::new(2, 0, module, "f", b"").key(b"p"),
            KeyMaker::new(1, 1, module, "f", b"").key(b"p"),
            KeyMaker::new(1, 0, BlobHash::of(b"other"), "f", b"").key(b"p"),
            KeyMaker::new(1, 0, module, "g", b"").key(b"p"),
            KeyMaker::new(1, 0, module, "f", b"s").key(b"p"),
            KeyMaker::new(1, 0, module, "f", b"").key(b"q"),
            KeyMaker::new(1, 0, module, "fp", b"").key(b""),
        ] {
            assert_ne!(base, other);
        }
    }

    #[test]
    fn a_key_is_the_same_in_every_release() {
        let key = KeyMaker::new(1, 0, BlobHash([7; 32]), "fib", b"").key(&[40]);
        assert_eq!(JobKey::parse(&key.to_string()), Some(key));
        assert_eq!(key.to_string(), "47b18f6b94e0c6b3bf94222b7b366dc91b26c326b16806b21349e209169a1fce");
    }

    #[test]
    fn a_written_hash_is_parsed_and_nothing_else_is() {
        let hash = BlobHash::of(b"module");
        let text = hash.to_string();
        assert_eq!(BlobHash::parse(&text), Some(hash));
        for other in [&text[1..], &format!("{text}0"), &text.replace(&text[..1], "x"), ""] {
            assert_eq!(BlobHash::parse(other), None, "{other:?}");
        }
    }
}
