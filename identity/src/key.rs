//! A host's key.

use ed25519_dalek::{Signer, SigningKey, VerifyingKey};
use sateen_protocol::PublicKey;
use sateen_protocol::identity::Signature;
use thiserror::Error;
use zeroize::Zeroizing;

/// The system has no randomness.
#[derive(Debug, Error)]
#[error("the system has no randomness for a key: {0}")]
pub struct NoRandomness(#[from] getrandom::Error);

/// A host's key, with its secret part, which is overwritten in memory when this is dropped.
#[derive(Clone)]
pub struct Identity(SigningKey);

impl Identity {
    /// A new key.
    ///
    /// # Errors
    /// If the system has no randomness.
    pub fn generate() -> Result<Self, NoRandomness> {
        let mut secret = Zeroizing::new([0; 32]);
        getrandom::fill(secret.as_mut_slice())?;
        Ok(Self::from_secret(&secret))
    }

    /// The key with this secret part.
    pub fn from_secret(secret: &[u8; 32]) -> Self {
        Self(SigningKey::from_bytes(secret))
    }

    /// The secret part, from which the key can be made again.
    pub fn secret(&self) -> Zeroizing<[u8; 32]> {
        Zeroizing::new(self.0.to_bytes())
    }

    /// The public part.
    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key().to_bytes())
    }

    pub(crate) fn sign(&self, statement: &[u8]) -> Signature {
        let signature = self.0.sign(statement);
        Signature(*signature.r_bytes(), *signature.s_bytes())
    }

    /// The secret part for X25519.
    pub(crate) fn exchange_secret(&self) -> Zeroizing<[u8; 32]> {
        Zeroizing::new(self.0.to_scalar_bytes())
    }
}

/// The key, if it is one that can sign and was not made so that many signatures fit it.
pub(crate) fn verifying(key: &PublicKey) -> Option<VerifyingKey> {
    VerifyingKey::from_bytes(&key.0).ok().filter(|key| !key.is_weak())
}

/// Whether the key has signed the statement.
pub(crate) fn is_signed(key: &PublicKey, statement: &[u8], signature: &Signature) -> bool {
    let signature = ed25519_dalek::Signature::from_components(signature.0, signature.1);
    verifying(key).is_some_and(|key| key.verify_strict(statement, &signature).is_ok())
}

/// The public part for X25519 of a key; see [`session`](crate::session).
pub(crate) fn exchange_public(key: &PublicKey) -> Option<[u8; 32]> {
    verifying(key).map(|key| key.to_montgomery().to_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_made_again_from_its_secret_is_the_same() {
        let key = Identity::generate().expect("randomness");
        let again = Identity::from_secret(&key.secret());
        assert_eq!(key.public(), again.public());
        assert_eq!(key.sign(b"x"), again.sign(b"x"));
        assert_ne!(key.public(), Identity::generate().expect("randomness").public());
    }

    /// From RFC 8032, section 7.1, test 1: a signature of nothing.
    #[test]
    fn a_known_signature_is_made_and_verified() {
        let bytes = |digits: &str| PublicKey::parse(digits).expect("64 digits").0;
        let key =
            Identity::from_secret(&bytes("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"));
        let public = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
        let r = bytes("e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155");
        let s = bytes("5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b");
        assert_eq!(key.public().to_string(), public);
        assert_eq!(key.sign(b""), Signature(r, s));
        assert!(is_signed(&key.public(), b"", &Signature(r, s)));
        assert!(!is_signed(&key.public(), b"x", &Signature(r, s)));
    }

    /// With the neutral element as its key, anybody's signature would be right.
    #[test]
    fn keys_that_fit_many_signatures_are_none() {
        let mut neutral = PublicKey::default();
        neutral.0[0] = 1;
        assert_eq!(verifying(&neutral), None);
        assert_eq!(exchange_public(&neutral), None);
        assert!(!is_signed(&neutral, b"x", &Signature(neutral.0, [0; 32])));
        // No point of the curve has these coordinates.
        assert_eq!(verifying(&PublicKey([2; 32])), None);
    }

    #[test]
    fn both_parts_for_the_exchange_belong_together() {
        let key = Identity::generate().expect("randomness");
        let mut dh = snow::Builder::new("Noise_KK_25519_ChaChaPoly_BLAKE2s".parse().expect("a pattern"));
        let (secret, public) = (key.exchange_secret(), exchange_public(&key.public()).expect("a point"));
        dh = dh.local_private_key(&*secret).expect("the first");
        dh = dh.remote_public_key(&public).expect("the first");
        assert!(dh.build_initiator().is_ok());
    }
}
