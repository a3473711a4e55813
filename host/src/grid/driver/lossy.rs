//! Frames that came by the relay.
//!
//! A relay may lose frames when a link on the way breaks, and with them some fragments of a message.
//! What is left of it is dropped; that is nobody's misbehaviour, unless it goes on.

use sateen_protocol::codec::{Decoder, FrameError};
use serde::de::DeserializeOwned;

/// Where a frame says what it is, and what a fragment is.
const KIND: usize = 1;
const BATCH: u8 = 0;
/// Torn messages that are forgiven.
const TORN_MAX: u32 = 64;

/// Decodes frames some of which may be missing.
#[derive(Debug, Default)]
pub struct LossyDecoder {
    decoder: Decoder,
    torn: u32,
}

impl LossyDecoder {
    /// The link broke: what was begun will not be completed.
    pub fn reset(&mut self) {
        self.decoder = Decoder::default();
    }

    /// The messages that the frame completes.
    ///
    /// # Errors
    /// When the sender breaks the rules.
    pub fn decode<M: DeserializeOwned>(&mut self, frame: &[u8]) -> Result<Vec<M>, FrameError> {
        let error = match self.decoder.decode(frame) {
            Ok(messages) => return Ok(messages),
            Err(error) => error,
        };
        self.reset();
        let is_fragment = frame.get(KIND).is_some_and(|kind| *kind != BATCH);
        let is_torn = match &error {
            FrameError::Interrupted => true,
            FrameError::Message(_) => is_fragment,
            _ => false,
        };
        if !is_torn || self.torn == TORN_MAX {
            return Err(error);
        }
        self.torn += 1;
        if is_fragment { Ok(Vec::new()) } else { self.decoder.decode(frame) }
    }
}

#[cfg(test)]
mod tests {
    use sateen_protocol::codec::{PROTOCOL_VERSION, encode};
    use sateen_protocol::limits::FRAME_BYTES_MAX;
    use sateen_protocol::message::PeerMessage;

    use super::*;

    #[test]
    fn torn_messages_are_dropped_and_others_are_not() {
        let large = PeerMessage::Refused { reason: "x".repeat(2 * FRAME_BYTES_MAX) };
        let small = PeerMessage::Refused { reason: "y".to_owned() };
        let large = encode(&large).expect("short enough");
        let small = encode(&small).expect("short enough");
        let mut decoder = LossyDecoder::default();
        let mut count = |frame: &[u8]| decoder.decode::<PeerMessage>(frame).map(|messages| messages.len());
        assert_eq!(count(&large[0]), Ok(0));
        assert_eq!(count(&small[0]), Ok(1), "its predecessor lost its end");
        assert_eq!(count(&large[2]), Ok(0), "it lost its beginning");
        assert_eq!(count(&small[0]), Ok(1));
        assert!(count(&[PROTOCOL_VERSION, 0, 99]).is_err());
        let refused = (0..100).find(|_| count(&large[2]).is_err());
        assert_eq!(refused, Some(TORN_MAX as usize - 2));
    }
}
