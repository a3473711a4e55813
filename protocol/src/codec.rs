//! Frames: what one websocket message carries.
//!
//! ```text
//! version (1 byte) │ kind (1 byte) │ body
//!                    0 batch         messages one after the other, postcard
//!                    1 fragment      a part of one message too long for a frame; more follow
//!                    2 last fragment
//! ```
//!
//! There is one way to decode, and it is [`Decoder::decode`]. The bytes are a stranger's: every length
//! is bounded before memory is taken for it.

use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

use crate::limits::{FRAME_BYTES_MAX, MESSAGE_BYTES_MAX};

/// The version of frames and messages; hosts and coordinators of another version do not understand each
/// other.
pub const PROTOCOL_VERSION: u8 = 3;

const BATCH: u8 = 0;
const FRAGMENT: u8 = 1;
const LAST_FRAGMENT: u8 = 2;
const HEADER_BYTES: usize = 2;

/// A frame that breaks the rules. The sender is told and cut off.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FrameError {
    /// Shorter than a header, or a batch of nothing.
    #[error("a frame of {0} bytes holds nothing")]
    Empty(usize),
    /// Longer than allowed.
    #[error("a frame of {0} bytes is longer than the {FRAME_BYTES_MAX} that are allowed")]
    TooLong(usize),
    /// Of another version.
    #[error(
        "the peer speaks version {0} of the protocol and this side {PROTOCOL_VERSION}; update the older of the two"
    )]
    Version(u8),
    /// Of a kind that does not exist.
    #[error("a frame of the unknown kind {0}")]
    Kind(u8),
    /// Fragments add up to more than a message may have.
    #[error("a message is longer than the {MESSAGE_BYTES_MAX} bytes that are allowed")]
    MessageTooLong,
    /// A batch between the fragments of a message.
    #[error("the fragments of a message are interrupted")]
    Interrupted,
    /// Not a message.
    #[error("a message cannot be read: {0}")]
    Message(String),
}

/// A message is longer than [`MESSAGE_BYTES_MAX`] and cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("a message of {0} bytes is longer than the {MESSAGE_BYTES_MAX} that are allowed")]
pub struct TooLong(pub usize);

/// Puts messages for one receiver into as few frames as can be (message combining).
#[derive(Debug, Default)]
pub struct Encoder {
    frames: Vec<Vec<u8>>,
    batch: Vec<u8>,
}

impl Encoder {
    /// Adds a message.
    ///
    /// # Errors
    /// When it is too long for any number of frames; nothing was added then.
    pub fn push<M: Serialize>(&mut self, message: &M) -> Result<(), TooLong> {
        // Encoding into memory fails only where a type cannot be encoded, which no message's is.
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
        if self.batch.len() + bytes.len() > FRAME_BYTES_MAX {
            self.end_batch();
        }
        if self.batch.is_empty() {
            self.batch.extend([PROTOCOL_VERSION, BATCH]);
        }
        self.batch.extend(bytes);
        Ok(())
    }

    fn end_batch(&mut self) {
        if !self.batch.is_empty() {
            self.frames.push(std::mem::take(&mut self.batch));
        }
    }

    /// The frames of all messages so far, in their order.
    pub fn finish(&mut self) -> Vec<Vec<u8>> {
        self.end_batch();
        std::mem::take(&mut self.frames)
    }
}

/// The frames of one message.
///
/// # Errors
/// When it is too long.
pub fn encode<M: Serialize>(message: &M) -> Result<Vec<Vec<u8>>, TooLong> {
    let mut encoder = Encoder::default();
    encoder.push(message)?;
    Ok(encoder.finish())
}

/// Reads the frames of one sender, in their order.
#[derive(Debug, Default)]
pub struct Decoder {
    fragments: Vec<u8>,
}

impl Decoder {
    /// The messages that `frame` completes.
    ///
    /// # Errors
    /// When the frame breaks the rules; nothing more should be read from its sender.
    pub fn decode<M: DeserializeOwned>(&mut self, frame: &[u8]) -> Result<Vec<M>, FrameError> {
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
            BATCH => read_all(body),
            FRAGMENT | LAST_FRAGMENT => {
                if self.fragments.len() + body.len() > MESSAGE_BYTES_MAX {
                    return Err(FrameError::MessageTooLong);
                }
                self.fragments.extend(body);
                if *kind == FRAGMENT {
                    return Ok(Vec::new());
                }
                let message = std::mem::take(&mut self.fragments);
                match postcard::take_from_bytes(&message) {
                    Ok((message, [])) => Ok(vec![message]),
                    Ok((_, rest)) => Err(FrameError::Message(format!("{} bytes too many", rest.len()))),
                    Err(error) => Err(FrameError::Message(error.to_string())),
                }
            }
            kind => Err(FrameError::Kind(kind)),
        }
    }
}

fn read_all<M: DeserializeOwned>(mut bytes: &[u8]) -> Result<Vec<M>, FrameError> {
    let mut messages = Vec::new();
    while !bytes.is_empty() {
        let (message, rest) =
            postcard::take_from_bytes(bytes).map_err(|error| FrameError::Message(error.to_string()))?;
        messages.push(message);
        bytes = rest;
    }
    Ok(messages)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::PeerMessage;
    use crate::{RunId, StealId};

    fn steal(steal: u64) -> PeerMessage {
        PeerMessage::Steal { run: RunId(3), steal: StealId(steal), holding: 1 }
    }

    fn large(bytes: usize) -> PeerMessage {
        PeerMessage::Refused { reason: "x".repeat(bytes) }
    }

    #[test]
    fn bytes_are_the_same_in_every_release() {
        assert_eq!(encode(&steal(300)), Ok(vec![vec![3, 0, 0, 3, 172, 2, 1]]));
    }

    #[test]
    fn messages_travel_together_and_in_order() {
        let mut encoder = Encoder::default();
        let sent = [steal(1), large(2 * FRAME_BYTES_MAX), steal(2), steal(3)];
        for message in &sent {
            encoder.push(message).expect("short enough");
        }
        let frames = encoder.finish();
        assert_eq!(frames.len(), 5);
        let mut decoder = Decoder::default();
        let received: Vec<PeerMessage> =
            frames.iter().flat_map(|frame| decoder.decode(frame).expect("sound")).collect();
        assert_eq!(received, sent);
    }

    #[test]
    fn frames_that_break_the_rules_are_named() {
        let mut decoder = Decoder::default();
        let mut decode = |frame: &[u8]| decoder.decode::<PeerMessage>(frame).map(|_| ());
        assert_eq!(decode(&[]), Err(FrameError::Empty(0)));
        assert_eq!(decode(&[PROTOCOL_VERSION]), Err(FrameError::Empty(1)));
        assert_eq!(decode(&[9, 0, 0]), Err(FrameError::Version(9)));
        assert_eq!(decode(&[PROTOCOL_VERSION, 7, 0]), Err(FrameError::Kind(7)));
        assert!(matches!(decode(&[PROTOCOL_VERSION, 0, 99]), Err(FrameError::Message(_))));
        assert!(matches!(decode(&[PROTOCOL_VERSION, 0, 0, 3, 172]), Err(FrameError::Message(_))));
        assert_eq!(decode(&vec![1; FRAME_BYTES_MAX + 1]), Err(FrameError::TooLong(FRAME_BYTES_MAX + 1)));
        assert_eq!(decode(&[PROTOCOL_VERSION, 1, 0]), Ok(()));
        assert_eq!(decode(&[PROTOCOL_VERSION, 0, 0, 3, 1, 1]), Err(FrameError::Interrupted));
    }

    #[test]
    fn fragments_without_end_are_refused() {
        let mut decoder = Decoder::default();
        let frame = [&[PROTOCOL_VERSION, 1], vec![0; FRAME_BYTES_MAX - 2].as_slice()].concat();
        let error = (0..=MESSAGE_BYTES_MAX / (FRAME_BYTES_MAX - 2))
            .find_map(|_| decoder.decode::<PeerMessage>(&frame).err());
        assert_eq!(error, Some(FrameError::MessageTooLong));
    }
}
