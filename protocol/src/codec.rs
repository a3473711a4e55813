//! Frames: the contents of one websocket message.
//!
//! ```text
//! version (1 byte) │ kind (1 byte) │ body
//!                    0 batch         messages one after the other, postcard
//!                    1 fragment      a part of one message too long for a frame; more follow
//!                    2 last fragment
//! ```
//!
//! [`Decoder::decode`] is the only way to decode. The bytes are untrusted: every length is bounded before memory is
//! allocated for it, and the decoded messages take at most [`frugal::memory_of`] the bytes.

use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

use crate::frugal::{self, Budget};
use crate::limits::{FRAME_BYTES_MAX, MESSAGE_BYTES_MAX, MESSAGES_PER_FRAME_MAX};

/// The version of frames and messages. Programs with different versions do not understand each other.
pub const PROTOCOL_VERSION: u8 = 15;

const BATCH: u8 = 0;
const FRAGMENT: u8 = 1;
const LAST_FRAGMENT: u8 = 2;
const HEADER_BYTES: usize = 2;
/// The first byte of a hello.
const HELLO: u8 = 0;

/// A frame that breaks the rules. Its receiver reports the error to the sender and closes the link.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FrameError {
    /// The frame is shorter than a header, or has an empty body.
    #[error("a frame of {0} bytes contains no message")]
    Empty(usize),
    /// The frame is longer than allowed.
    #[error("a frame of {0} bytes exceeds the maximum of {FRAME_BYTES_MAX} bytes")]
    TooLong(usize),
    /// The frame has another protocol version.
    #[error(
        "the peer speaks version {0} of the protocol and this side {PROTOCOL_VERSION}; update the older of the two"
    )]
    Version(u8),
    /// The frame's kind is unknown.
    #[error("a frame has the unknown kind {0}")]
    Kind(u8),
    /// The fragments of a message are longer together than a message may be.
    #[error("a message exceeds the maximum of {MESSAGE_BYTES_MAX} bytes")]
    MessageTooLong,
    /// The frame is a fragment, and came on a link that carries whole messages only.
    #[error("a frame is a fragment of a message, but only whole messages are allowed on this link")]
    Fragment,
    /// A batch came between the fragments of a message.
    #[error("a batch of messages came between the fragments of a message")]
    Interrupted,
    /// The frame has more messages than allowed.
    #[error("a frame exceeds the maximum of {MESSAGES_PER_FRAME_MAX} messages")]
    TooMany,
    /// The body is not a message.
    #[error("a message cannot be read: {0}")]
    Message(String),
}

impl FrameError {
    /// If the peer has another version of the protocol: a sentence that says which program to update.
    /// `this` is the name of the program that speaks [`PROTOCOL_VERSION`], and `release` its release.
    pub fn advice(&self, this: &str, release: &str, peer: &str) -> Option<String> {
        let Self::Version(theirs) = self else { return None };
        let what = if *theirs > PROTOCOL_VERSION {
            format!("update {this} to the release of the {peer}")
        } else {
            format!("update {peer} to {release}, the release of this {this}")
        };
        Some(format!(
            "{peer} speaks version {theirs} of the protocol and {this} {release} version {PROTOCOL_VERSION}: {what}"
        ))
    }
}

/// A message is longer than [`MESSAGE_BYTES_MAX`] and cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("a message of {0} bytes exceeds the maximum of {MESSAGE_BYTES_MAX} bytes")]
pub struct TooLong(pub usize);

/// Puts messages for one receiver into as few frames as possible (message combining).
#[derive(Debug, Default)]
pub struct Encoder {
    frames: Vec<Vec<u8>>,
    batch: Vec<u8>,
    /// The number of messages in `batch`.
    messages: usize,
}

impl Encoder {
    /// Adds a message.
    ///
    /// # Errors
    /// When the message is longer than [`MESSAGE_BYTES_MAX`]; then nothing is added.
    pub fn push<M: Serialize>(&mut self, message: &M) -> Result<(), TooLong> {
        // Encoding into memory fails only for types that cannot be encoded, and no message has one.
        let bytes = postcard::to_allocvec(message).map_err(|_| TooLong(0))?;
        if bytes.len() > MESSAGE_BYTES_MAX {
            return Err(TooLong(bytes.len()));
        }
        if bytes.len() + HEADER_BYTES > FRAME_BYTES_MAX {
            self.end_batch();
            let mut parts = bytes.chunks(FRAME_BYTES_MAX - HEADER_BYTES).peekable();
            while let Some(part) = parts.next() {
                let kind = if parts.peek().is_some() { FRAGMENT } else { LAST_FRAGMENT };
                self.frames.push([&[PROTOCOL_VERSION, kind], part].concat());
            }
            return Ok(());
        }
        if self.batch.len() + bytes.len() > FRAME_BYTES_MAX || self.messages == MESSAGES_PER_FRAME_MAX {
            self.end_batch();
        }
        if self.batch.is_empty() {
            self.batch.extend([PROTOCOL_VERSION, BATCH]);
        }
        self.batch.extend(bytes);
        self.messages += 1;
        Ok(())
    }

    fn end_batch(&mut self) {
        self.messages = 0;
        if !self.batch.is_empty() {
            self.frames.push(std::mem::take(&mut self.batch));
        }
    }

    /// Returns the frames of all messages so far, in their order.
    pub fn finish(&mut self) -> Vec<Vec<u8>> {
        self.end_batch();
        std::mem::take(&mut self.frames)
    }
}

/// Returns the frames of one message.
///
/// # Errors
/// When the message is longer than [`MESSAGE_BYTES_MAX`].
pub fn encode<M: Serialize>(message: &M) -> Result<Vec<Vec<u8>>, TooLong> {
    let mut encoder = Encoder::default();
    encoder.push(message)?;
    Ok(encoder.finish())
}

/// Decodes a frame from another host. Hosts send one another no fragments, so the loss of a frame makes no other one
/// useless.
///
/// # Errors
/// When the frame breaks the rules; nothing more should be read from its sender.
pub fn decode_whole<M: DeserializeOwned>(frame: &[u8]) -> Result<Vec<M>, FrameError> {
    match frame {
        [PROTOCOL_VERSION, FRAGMENT | LAST_FRAGMENT, ..] => Err(FrameError::Fragment),
        _ => Decoder::default().decode(frame),
    }
}

/// Whether a frame may be a host's first, in any version of the protocol: a batch that begins with
/// [`Hello`](crate::message::ToCoordinator::Hello), the first message of its enum. No version may change that, so that hosts
/// of other versions can be informed what to update.
pub fn may_be_hello(frame: &[u8]) -> bool {
    matches!(frame, [1..=u8::MAX, BATCH, HELLO, _, ..])
}

/// Decodes the frames of one sender, in their order.
#[derive(Debug, Default)]
pub struct Decoder {
    fragments: Vec<u8>,
    /// Memory that the messages decoded last take, in bytes.
    decoded_bytes: usize,
}

impl Decoder {
    /// Bytes held for a message whose last fragment has not arrived.
    pub fn waiting_bytes(&self) -> usize {
        self.fragments.capacity()
    }

    /// Maximum memory that the messages of the next frame take, in bytes, if that frame has `frame_bytes` bytes.
    pub fn memory_max<M>(&self, frame_bytes: usize) -> usize {
        let messages = if self.fragments.is_empty() { frame_bytes.min(MESSAGES_PER_FRAME_MAX) } else { 1 };
        frugal::memory_of(self.fragments.len() + frame_bytes) + list_bytes::<M>(messages)
    }

    /// Memory that the messages decoded last take, in bytes: at most what [`Self::memory_max`] returned for their
    /// frame.
    pub fn decoded_bytes(&self) -> usize {
        self.decoded_bytes
    }

    /// Returns the messages that `frame` completes.
    ///
    /// # Errors
    /// When the frame breaks the rules; nothing more should be read from its sender.
    pub fn decode<M: DeserializeOwned>(&mut self, frame: &[u8]) -> Result<Vec<M>, FrameError> {
        self.decoded_bytes = 0;
        if frame.len() > FRAME_BYTES_MAX {
            return Err(FrameError::TooLong(frame.len()));
        }
        let [version, rest @ ..] = frame else { return Err(FrameError::Empty(frame.len())) };
        if *version != PROTOCOL_VERSION {
            return Err(FrameError::Version(*version));
        }
        let [kind, body @ ..] = rest else { return Err(FrameError::Empty(frame.len())) };
        if body.is_empty() {
            return Err(FrameError::Empty(frame.len()));
        }
        match *kind {
            BATCH if !self.fragments.is_empty() => Err(FrameError::Interrupted),
            BATCH => {
                let (messages, taken) = read_all(body)?;
                self.decoded_bytes = taken;
                Ok(messages)
            }
            FRAGMENT | LAST_FRAGMENT => {
                if self.fragments.len() + body.len() > MESSAGE_BYTES_MAX {
                    return Err(FrameError::MessageTooLong);
                }
                self.fragments.extend(body);
                if *kind == FRAGMENT {
                    return Ok(Vec::new());
                }
                let bytes = std::mem::take(&mut self.fragments);
                let budget = Budget::for_bytes(bytes.len());
                let message = frugal::from_bytes_within(&bytes, &budget);
                self.decoded_bytes = budget.taken() + list_bytes::<M>(1);
                message.map(|message| vec![message]).map_err(|error| FrameError::Message(error.to_string()))
            }
            kind => Err(FrameError::Kind(kind)),
        }
    }
}

/// Maximum memory of a list of messages, in bytes: a growing list has room for up to twice its elements.
fn list_bytes<M>(messages: usize) -> usize {
    2 * messages * size_of::<M>()
}

/// Returns all messages in `bytes`, and the memory that they take.
fn read_all<M: DeserializeOwned>(mut bytes: &[u8]) -> Result<(Vec<M>, usize), FrameError> {
    let mut messages = Vec::new();
    let budget = Budget::for_bytes(bytes.len());
    while !bytes.is_empty() {
        if messages.len() == MESSAGES_PER_FRAME_MAX {
            return Err(FrameError::TooMany);
        }
        let (message, rest) =
            frugal::take_within(bytes, &budget).map_err(|error| FrameError::Message(error.to_string()))?;
        messages.push(message);
        bytes = rest;
    }
    let taken = budget.taken() + list_bytes::<M>(messages.len());
    Ok((messages, taken))
}

#[cfg(test)]
mod tests;
