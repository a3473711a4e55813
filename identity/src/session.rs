//! Encrypted sessions of two hosts.
//!
//! The Noise protocol (revision 34) with the pattern KK: both hosts know each other's static key beforehand, so two messages
//! authenticate both and agree on fresh keys. A relay cannot compute these, and neither can a thief who steals the hosts' keys
//! later. The static keys are those of the hosts' identities, converted from ed25519 to X25519;
//! using one key pair for both is sound (Thormarker, "On using the same key pair for Ed25519 and an X25519 based KEM", 2021).

use sateen_protocol::PublicKey;
use sateen_protocol::limits::FRAME_BYTES_MAX;
use sateen_protocol::message::direct::Caller;
use snow::{Builder, HandshakeState, StatelessTransportState};
use thiserror::Error;

use crate::key::{Identity, exchange_public};

const PATTERN: &str = "Noise_KK_25519_ChaChaPoly_BLAKE2s";
/// The length of both messages of a handshake: an ephemeral key, and the tag of an empty payload.
const HANDSHAKE_BYTES: usize = 32 + TAG_BYTES;
const TAG_BYTES: usize = 16;
/// Maximum bytes of a Noise message.
const NOISE_BYTES_MAX: usize = 65_535;
/// Maximum plain bytes in a Noise message.
const PIECE_BYTES_MAX: usize = NOISE_BYTES_MAX - TAG_BYTES;
/// A frame's length, which precedes it: if the last pieces of a frame are cut off, that is noticed.
const LENGTH_BYTES: usize = 4;
/// Maximum bytes that sealing adds to a frame.
pub const SEAL_BYTES_MAX: usize = LENGTH_BYTES + (FRAME_BYTES_MAX / PIECE_BYTES_MAX + 1) * TAG_BYTES;

/// Why there is no session, or a frame cannot be opened.
#[derive(Debug, Error)]
pub enum SessionError {
    /// The peer's key is not a valid one.
    #[error("the peer's key is not a valid ed25519 key")]
    Key,
    /// The other side does not hold the key that it should, or the handshake belongs to another link.
    #[error("the other side is not the host that the coordinator has named")]
    Handshake,
    /// The frame was altered in transit, or belongs to another session.
    #[error("a frame was altered in transit")]
    Frame,
}

impl From<snow::Error> for SessionError {
    fn from(_: snow::Error) -> Self {
        Self::Handshake
    }
}

/// What both hosts of a session must agree on.
pub(crate) fn prologue(purpose: &[u8], caller: &Caller, nonce: &[u8]) -> Vec<u8> {
    let Caller { grid, from, to } = caller;
    let ids = [grid.0, from.0, to.0].map(u64::to_le_bytes);
    [purpose, &ids.concat(), nonce].concat()
}

fn handshake(
    own: &Identity,
    peer: &PublicKey,
    prologue: &[u8],
    is_initiator: bool,
) -> Result<HandshakeState, SessionError> {
    let peer = exchange_public(peer).ok_or(SessionError::Key)?;
    let secret = own.exchange_secret();
    let params = PATTERN.parse()?;
    let builder = Builder::new(params).local_private_key(&*secret)?.remote_public_key(&peer)?;
    let builder = builder.prologue(prologue)?;
    Ok(if is_initiator { builder.build_initiator()? } else { builder.build_responder()? })
}

/// A handshake that was begun, until the other host has answered.
pub struct Begun(HandshakeState);

impl Begun {
    /// Begins a handshake; returns its first message as well.
    pub(crate) fn new(
        own: &Identity,
        peer: &PublicKey,
        prologue: &[u8],
    ) -> Result<(Self, Vec<u8>), SessionError> {
        let mut state = handshake(own, peer, prologue, true)?;
        let mut first = vec![0; HANDSHAKE_BYTES];
        state.write_message(&[], &mut first)?;
        Ok((Self(state), first))
    }

    /// The session, if `second` answers the first message.
    pub(crate) fn finish(mut self, second: &[u8]) -> Result<Session, SessionError> {
        read(&mut self.0, second)?;
        Ok(Session(self.0.into_stateless_transport_mode()?))
    }
}

/// The session that the first message of a handshake begins, and the second message.
pub(crate) fn answer(
    own: &Identity,
    peer: &PublicKey,
    prologue: &[u8],
    first: &[u8],
) -> Result<(Session, Vec<u8>), SessionError> {
    let mut state = handshake(own, peer, prologue, false)?;
    read(&mut state, first)?;
    let mut second = vec![0; HANDSHAKE_BYTES];
    state.write_message(&[], &mut second)?;
    Ok((Session(state.into_stateless_transport_mode()?), second))
}

fn read(state: &mut HandshakeState, message: &[u8]) -> Result<(), SessionError> {
    if message.len() != HANDSHAKE_BYTES {
        return Err(SessionError::Handshake);
    }
    state.read_message(message, &mut [0; TAG_BYTES])?;
    Ok(())
}

/// The keys of a session. Each message of a direction is sealed under a number of its own.
#[derive(Debug)]
pub struct Session(StatelessTransportState);

impl Session {
    /// Seals a frame under the numbers from `next` on, which then has the first that was not used.
    pub fn seal(&self, next: &mut u64, frame: &[u8]) -> Vec<u8> {
        let mut sealed = Vec::new();
        self.seal_into(next, frame, &mut sealed);
        sealed
    }

    /// The same, behind what `sealed` has already.
    pub fn seal_into(&self, next: &mut u64, frame: &[u8], sealed: &mut Vec<u8>) {
        let length = u32::try_from(frame.len()).unwrap_or(u32::MAX).to_le_bytes();
        let plain = [&length, frame].concat();
        sealed.reserve(plain.len() + (plain.len() / PIECE_BYTES_MAX + 1) * TAG_BYTES);
        for piece in plain.chunks(PIECE_BYTES_MAX) {
            let begin = sealed.len();
            sealed.resize(begin + piece.len() + TAG_BYTES, 0);
            // It fails only for pieces that are too long, or a buffer that is too small.
            let written = self.0.write_message(*next, piece, &mut sealed[begin..]);
            debug_assert!(written.is_ok());
            *next += 1;
        }
    }

    /// Opens a frame that was sealed under the numbers from `next` on, which then has the first that was not used.
    ///
    /// # Errors
    /// If the frame was altered in transit, or was sealed under other numbers.
    pub fn open(&self, next: &mut u64, sealed: &[u8]) -> Result<Vec<u8>, SessionError> {
        let mut plain = vec![0; sealed.len()];
        let mut bytes = 0;
        let mut number = *next;
        for piece in sealed.chunks(NOISE_BYTES_MAX) {
            let read = self.0.read_message(number, piece, &mut plain[bytes..]);
            bytes += read.map_err(|_| SessionError::Frame)?;
            number += 1;
        }
        plain.truncate(bytes);
        let length = plain.first_chunk::<LENGTH_BYTES>().map(|length| u32::from_le_bytes(*length) as usize);
        if length.is_none_or(|length| length != bytes - LENGTH_BYTES) {
            return Err(SessionError::Frame);
        }
        *next = number;
        Ok(plain.split_off(LENGTH_BYTES))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(number: u8) -> Identity {
        Identity::from_secret(&[number; 32])
    }

    fn pair() -> (Session, Session) {
        let (one, other) = (identity(1), identity(2));
        let (begun, first) = Begun::new(&one, &other.public(), b"p").expect("keys");
        let (theirs, second) = answer(&other, &one.public(), b"p", &first).expect("it is right");
        (begun.finish(&second).expect("it is right"), theirs)
    }

    #[test]
    fn frames_of_all_lengths_arrive_as_they_were() {
        let (one, other) = pair();
        let (mut sent, mut heard) = (0, 0);
        for bytes in [
            0,
            1,
            PIECE_BYTES_MAX - LENGTH_BYTES,
            PIECE_BYTES_MAX - LENGTH_BYTES + 1,
            3 * PIECE_BYTES_MAX,
            FRAME_BYTES_MAX,
        ] {
            let frame: Vec<u8> = (0..bytes).map(|place| place as u8).collect();
            let sealed = one.seal(&mut sent, &frame);
            assert!(sealed.len() <= frame.len() + SEAL_BYTES_MAX, "{bytes}");
            assert!(bytes < 8 || !sealed.windows(8).any(|bytes| bytes == &frame[..8]), "it is encrypted");
            assert_eq!(other.open(&mut heard, &sealed).expect("unchanged"), frame, "{bytes}");
            assert_eq!(sent, heard);
        }
        // The other direction has keys of its own.
        let back = other.seal(&mut 0, b"back");
        assert_eq!(one.open(&mut 0, &back).expect("unchanged"), b"back");
        assert!(other.open(&mut 0, &back).is_err(), "reflected");
    }

    #[test]
    fn a_frame_that_was_changed_cut_off_or_sent_again_is_not_opened() {
        let (one, other) = pair();
        let sealed = one.seal(&mut 0, &vec![7; 2 * PIECE_BYTES_MAX]);
        let mut changed = sealed.clone();
        changed[100] ^= 1;
        let swapped = [&sealed[NOISE_BYTES_MAX..2 * NOISE_BYTES_MAX], &sealed[..NOISE_BYTES_MAX]].concat();
        let cut = &sealed[..NOISE_BYTES_MAX];
        let within = &sealed[..NOISE_BYTES_MAX + 20];
        for wrong in [changed.as_slice(), swapped.as_slice(), cut, within, &[], &[0; 15], &[0; 16]] {
            let mut next = 0;
            assert!(other.open(&mut next, wrong).is_err(), "{} bytes", wrong.len());
            assert_eq!(next, 0, "it counts as not sent");
        }
        let mut next = 0;
        other.open(&mut next, &sealed).expect("unchanged");
        assert!(other.open(&mut next, &sealed).is_err(), "sent again");
    }

    #[test]
    fn no_third_host_completes_a_handshake() {
        let [one, other, third] = [1, 2, 3].map(identity);
        let begin = |by: &Identity, peer: &Identity| Begun::new(by, &peer.public(), b"p").expect("keys");
        let (_, by_third) = begin(&third, &other);
        assert!(answer(&other, &one.public(), b"p", &by_third).is_err(), "it is not the one that it says");
        let (begun, first) = begin(&one, &other);
        assert!(answer(&other, &one.public(), b"q", &first).is_err(), "overheard on another link");
        assert!(answer(&third, &one.public(), b"p", &first).is_err(), "not the host that was called");
        let (_, second) = answer(&third, &one.public(), b"p", &begin(&one, &third).1).expect("its own");
        assert!(begun.finish(&second).is_err(), "answered by another");
        for length in [0, 47, 49, 100] {
            assert!(answer(&other, &one.public(), b"p", &vec![0; length]).is_err(), "{length}");
        }
        assert!(matches!(Begun::new(&one, &PublicKey([2; 32]), b"p"), Err(SessionError::Key)));
    }
}
