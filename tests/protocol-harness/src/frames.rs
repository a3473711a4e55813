//! The frame decoder: any bytes are either decoded to messages or refused, and messages survive encoding.

use sateen_protocol::codec::{Decoder, PROTOCOL_VERSION, encode};
use sateen_protocol::message::{PeerMessage, ToCoordinator, ToHost};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Reads `bytes` as frames, each preceded by its length in two bytes, in all three directions; returns the number of
/// messages.
pub fn drive(bytes: &[u8]) -> u64 {
    read::<PeerMessage>(bytes) + read::<ToHost>(bytes) + read::<ToCoordinator>(bytes)
}

/// Treats a frame of an earlier version as one of this version, so that a corpus outlives versions.
fn of_this_version(frame: &[u8]) -> Vec<u8> {
    let mut frame = frame.to_vec();
    if let Some(version) = frame.first_mut().filter(|version| **version <= PROTOCOL_VERSION) {
        *version = PROTOCOL_VERSION;
    }
    frame
}

fn read<M: DeserializeOwned + Serialize + PartialEq + std::fmt::Debug>(mut bytes: &[u8]) -> u64 {
    let mut decoder = Decoder::default();
    let mut read = 0;
    while let [low, high, rest @ ..] = bytes {
        let length = usize::from(u16::from_le_bytes([*low, *high])).min(rest.len());
        let (frame, rest) = rest.split_at(length);
        bytes = rest;
        let Ok(messages) = decoder.decode::<M>(&of_this_version(frame)) else { break };
        read += messages.len() as u64;
        for message in messages {
            let mut again = Decoder::default();
            let frames = encode(&message).expect("a message from a frame fits into frames");
            let copies: Vec<M> =
                frames.iter().flat_map(|frame| again.decode(frame).expect("sound")).collect();
            assert_eq!(copies, [message]);
        }
    }
    read
}
