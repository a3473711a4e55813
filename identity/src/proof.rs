//! The proof of a hello, and that one key replaces another.

use sateen_protocol::PublicKey;
use sateen_protocol::codec::PROTOCOL_VERSION;
use sateen_protocol::identity::{Challenge, Proof, ROTATIONS_MAX, Rotation};
use sateen_protocol::message::ToCoordinator;
use thiserror::Error;

use crate::key::{Identity, is_signed, verifying};

/// No signature for one purpose counts for another.
const HELLO: &[u8] = b"sateen 2026-11 hello of a host\0";
const ROTATION: &[u8] = b"sateen 2026-11 rotation of a host's key\0";

/// Why a proof is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Forged {
    /// The message is not a hello.
    #[error("it did not say hello")]
    NoHello,
    /// The key is not a point of the curve, or one of those with which signatures mean nothing.
    #[error("its key is not a valid ed25519 key")]
    Key,
    /// Another key has signed, or something else was signed.
    #[error(
        "it cannot prove that it has the key {}: the signature of its hello is not by that key for this link",
        .0.short()
    )]
    Signature(PublicKey),
    /// An earlier key and its successor have not both signed, or the keys do not follow one another.
    #[error("its key {} does not follow from its earlier keys: a rotation is not signed by both", .0.short())]
    Rotation(PublicKey),
    /// It sends more rotations than any host remembers.
    #[error("it sent more than {ROTATIONS_MAX} rotations of its key")]
    TooMany,
}

impl Identity {
    /// Proves a hello whose report names this key.
    pub fn prove(
        &self,
        challenge: &Challenge,
        hello: &ToCoordinator,
        instance: u64,
        rotations: Vec<Rotation>,
    ) -> Proof {
        Proof { signature: self.sign(&statement(challenge, hello, instance)), instance, rotations }
    }

    /// States, by both keys, that `next` replaces this one.
    pub fn replaced_by(&self, next: &Self) -> Rotation {
        let (from, to) = (self.public(), next.public());
        let statement = rotation(&from, &to);
        Rotation { from, to, signatures: [self.sign(&statement), next.sign(&statement)] }
    }
}

/// Checks that the holder of the key in the hello has sent it on the link with this challenge.
///
/// # Errors
/// If it has not, or a rotation is not signed by both of its keys.
pub fn check(challenge: &Challenge, hello: &ToCoordinator, proof: &Proof) -> Result<PublicKey, Forged> {
    let ToCoordinator::Hello { report, .. } = hello else { return Err(Forged::NoHello) };
    let key = report.key;
    if verifying(&key).is_none() {
        return Err(Forged::Key);
    }
    if proof.rotations.len() > ROTATIONS_MAX {
        return Err(Forged::TooMany);
    }
    if !is_signed(&key, &statement(challenge, hello, proof.instance), &proof.signature) {
        return Err(Forged::Signature(key));
    }
    let successors = proof.rotations.iter().skip(1).map(|next| next.from).chain([key]);
    let follow = proof.rotations.iter().zip(successors).all(|(step, next)| {
        let statement = rotation(&step.from, &step.to);
        let [by_earlier, by_later] = &step.signatures;
        step.to == next
            && step.from != step.to
            && is_signed(&step.from, &statement, by_earlier)
            && is_signed(&step.to, &statement, by_later)
    });
    if follow { Ok(key) } else { Err(Forged::Rotation(key)) }
}

/// What a host signs to prove its hello.
fn statement(challenge: &Challenge, hello: &ToCoordinator, instance: u64) -> Vec<u8> {
    // Encoding into memory fails only for types that cannot be encoded, and no message has one. Both sides encode the
    // decoded message, so the bytes in transit do not matter.
    let hello = postcard::to_allocvec(hello).unwrap_or_default();
    let mut statement = HELLO.to_vec();
    statement.push(PROTOCOL_VERSION);
    statement.extend(challenge.grid.0.to_le_bytes());
    statement.extend(challenge.nonce);
    statement.extend(instance.to_le_bytes());
    statement.extend(blake3::hash(&hello).as_bytes());
    statement
}

fn rotation(from: &PublicKey, to: &PublicKey) -> Vec<u8> {
    [ROTATION, &from.0, &to.0].concat()
}

#[cfg(test)]
mod tests {
    use sateen_protocol::message::HostReport;
    use sateen_protocol::{GridId, HostId};

    use super::*;

    const CHALLENGE: Challenge = Challenge { nonce: [9; 32], grid: GridId(4) };
    const INSTANCE: u64 = 77;

    fn identity(number: u8) -> Identity {
        Identity::from_secret(&[number; 32])
    }

    fn hello(key: PublicKey, direct: Option<&str>, was: Option<(HostId, u64, GridId)>) -> ToCoordinator {
        let [name, site, version] = ["one", "here", "0"].map(str::to_owned);
        let direct = direct.map(str::to_owned);
        let report = HostReport { name, site, threads: 1, version, direct, key };
        ToCoordinator::Hello { report, was, incarnation: 0, roots: Vec::new(), paused: None }
    }

    #[test]
    fn only_the_hello_that_was_signed_is_proven() {
        let (host, other) = (identity(1), identity(2));
        let key = host.public();
        let said = hello(key, Some("192.0.2.1:7"), Some((HostId(3), 8, GridId(4))));
        let proof = host.prove(&CHALLENGE, &said, INSTANCE, Vec::new());
        assert_eq!(check(&CHALLENGE, &said, &proof), Ok(key));
        let wrong = Err(Forged::Signature(key));
        for challenge in
            [Challenge { nonce: [8; 32], ..CHALLENGE }, Challenge { grid: GridId(5), ..CHALLENGE }]
        {
            assert_eq!(check(&challenge, &said, &proof), wrong, "overheard on another link: {challenge:?}");
        }
        for changed in [
            hello(key, Some("192.0.2.2:7"), Some((HostId(3), 8, GridId(4)))),
            hello(key, None, Some((HostId(3), 8, GridId(4)))),
            hello(key, Some("192.0.2.1:7"), Some((HostId(4), 8, GridId(4)))),
            hello(key, Some("192.0.2.1:7"), None),
        ] {
            assert_eq!(check(&CHALLENGE, &changed, &proof), wrong, "{changed:?}");
        }
        assert_eq!(check(&CHALLENGE, &said, &Proof { instance: 78, ..proof.clone() }), wrong);
        let by_other = other.prove(&CHALLENGE, &said, INSTANCE, Vec::new());
        assert_eq!(check(&CHALLENGE, &said, &by_other), wrong, "a thief has the public part only");
        assert_eq!(check(&CHALLENGE, &ToCoordinator::Leaving, &proof), Err(Forged::NoHello));
        let no_key = hello(PublicKey([2; 32]), None, None);
        assert_eq!(check(&CHALLENGE, &no_key, &proof), Err(Forged::Key));
    }

    #[test]
    fn a_key_follows_from_earlier_ones_if_both_have_signed_each_step() {
        let [first, second, third] = [1, 2, 3].map(identity);
        let key = third.public();
        let said = hello(key, None, None);
        let proven =
            |rotations| check(&CHALLENGE, &said, &third.prove(&CHALLENGE, &said, INSTANCE, rotations));
        let (one, two) = (first.replaced_by(&second), second.replaced_by(&third));
        assert_eq!(proven(vec![one, two]), Ok(key));
        assert_eq!(proven(vec![two]), Ok(key));
        let forged = [
            vec![one],
            vec![two, one],
            vec![first.replaced_by(&third), two],
            // Signed by the new key alone, or by the earlier key alone.
            vec![Rotation { signatures: [two.signatures[1]; 2], ..two }],
            vec![Rotation { signatures: [two.signatures[0]; 2], ..two }],
            vec![Rotation { from: first.public(), ..two }],
            vec![third.replaced_by(&third)],
        ];
        for rotations in forged {
            assert_eq!(proven(rotations.clone()), Err(Forged::Rotation(key)), "{rotations:?}");
        }
        assert_eq!(proven(vec![two; ROTATIONS_MAX + 1]), Err(Forged::TooMany));
    }
}
