use super::*;
use crate::message::PeerMessage;
use crate::{RunId, StealId};

fn steal(steal: u64) -> PeerMessage {
    PeerMessage::Steal { run: RunId(3), steal: StealId(steal), holding: 1, ahead: false, more: 0 }
}

fn large(bytes: usize) -> PeerMessage {
    PeerMessage::Refused { reason: "x".repeat(bytes) }
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
    for other in [PROTOCOL_VERSION - 1, PROTOCOL_VERSION + 1] {
        assert_eq!(decode(&[other, 0, 0]), Err(FrameError::Version(other)));
    }
    assert_eq!(decode(&[PROTOCOL_VERSION, 7, 0]), Err(FrameError::Kind(7)));
    assert!(matches!(decode(&[PROTOCOL_VERSION, 0, 99]), Err(FrameError::Message(_))));
    assert!(matches!(decode(&[PROTOCOL_VERSION, 0, 0, 3, 172]), Err(FrameError::Message(_))));
    assert_eq!(decode(&vec![1; FRAME_BYTES_MAX + 1]), Err(FrameError::TooLong(FRAME_BYTES_MAX + 1)));
    assert_eq!(decode(&[PROTOCOL_VERSION, 1, 0]), Ok(()));
    assert_eq!(decode(&[PROTOCOL_VERSION, 0, 0, 3, 1, 1, 0, 0]), Err(FrameError::Interrupted));
}

#[test]
fn the_bytes_of_an_unfinished_message_are_counted() {
    let frames = encode(&large(2 * FRAME_BYTES_MAX)).expect("short enough");
    let mut decoder = Decoder::default();
    assert_eq!(decoder.waiting_bytes(), 0);
    for frame in &frames[..frames.len() - 1] {
        let before = decoder.waiting_bytes();
        assert_eq!(decoder.decode::<PeerMessage>(frame), Ok(Vec::new()));
        assert!(decoder.waiting_bytes() > before);
    }
    assert!(decoder.waiting_bytes() >= 2 * (FRAME_BYTES_MAX - HEADER_BYTES));
    assert_eq!(decoder.decode(&frames[frames.len() - 1]), Ok(vec![large(2 * FRAME_BYTES_MAX)]));
    assert_eq!(decoder.waiting_bytes(), 0);
}

#[test]
fn the_memory_of_messages_is_counted_and_at_most_what_was_announced() {
    let mut decoder = Decoder::default();
    let small = [[PROTOCOL_VERSION, BATCH].as_slice(), &[0, 3, 1, 1, 0, 0].repeat(1000)].concat();
    let frames = encode(&large(2 * FRAME_BYTES_MAX)).expect("short enough");
    for (frame, least) in [(&small, 1000 * size_of::<PeerMessage>()), (&frames[0], 0), (&frames[1], 0)] {
        let most = decoder.memory_max::<PeerMessage>(frame.len());
        decoder.decode::<PeerMessage>(frame).expect("sound");
        assert!((least..=most).contains(&decoder.decoded_bytes()), "{} of {most}", decoder.decoded_bytes());
    }
    let most = decoder.memory_max::<PeerMessage>(frames[2].len());
    decoder.decode::<PeerMessage>(&frames[2]).expect("sound");
    assert!((2 * FRAME_BYTES_MAX..=most).contains(&decoder.decoded_bytes()));
}

#[test]
fn the_encoder_puts_no_more_messages_into_a_frame_than_the_decoder_accepts() {
    let mut encoder = Encoder::default();
    for number in 0..=MESSAGES_PER_FRAME_MAX as u64 {
        encoder.push(&steal(number)).expect("short enough");
    }
    let frames = encoder.finish();
    let mut decoder = Decoder::default();
    let counts: Vec<usize> =
        frames.iter().map(|frame| decoder.decode::<PeerMessage>(frame).expect("sound").len()).collect();
    assert_eq!(counts, [MESSAGES_PER_FRAME_MAX, 1]);
    let crowded = [&frames[0], &frames[1][HEADER_BYTES..]].concat();
    assert_eq!(decoder.decode::<PeerMessage>(&crowded), Err(FrameError::TooMany));
}

#[test]
fn the_older_side_is_asked_to_update() {
    let advice = |version| {
        FrameError::Version(version).advice("sateen-host", "1.2.3", "sateen-coordinator").unwrap_or_default()
    };
    let newer = advice(PROTOCOL_VERSION + 1);
    assert!(newer.ends_with("update sateen-host to the release of the sateen-coordinator"), "{newer}");
    let older = advice(PROTOCOL_VERSION - 1);
    assert!(
        older.ends_with("update sateen-coordinator to 1.2.3, the release of this sateen-host"),
        "{older}"
    );
    assert_eq!(FrameError::Interrupted.advice("a", "b", "c"), None);
}

#[test]
fn hosts_refuse_fragments_from_one_another() {
    let frames = encode(&large(2 * FRAME_BYTES_MAX)).expect("short enough");
    assert_eq!(decode_whole::<PeerMessage>(&frames[0]), Err(FrameError::Fragment));
    assert_eq!(decode_whole::<PeerMessage>(&frames[2]), Err(FrameError::Fragment));
    assert_eq!(decode_whole(&encode(&steal(1)).expect("short enough")[0]), Ok(vec![steal(1)]));
}

#[test]
fn too_many_fragments_of_a_message_are_refused() {
    let mut decoder = Decoder::default();
    let frame = [&[PROTOCOL_VERSION, 1], vec![0; FRAME_BYTES_MAX - 2].as_slice()].concat();
    let error = (0..=MESSAGE_BYTES_MAX / (FRAME_BYTES_MAX - 2))
        .find_map(|_| decoder.decode::<PeerMessage>(&frame).err());
    assert_eq!(error, Some(FrameError::MessageTooLong));
}

#[test]
fn frames_and_messages_of_the_maximum_length_are_accepted() {
    // Bytes of the encoded message beside a text of this length.
    let beside = |length: usize| postcard::to_allocvec(&large(length)).expect("it encodes").len() - length;
    let whole = FRAME_BYTES_MAX - HEADER_BYTES;
    let longest = whole - beside(whole);
    for (length, frames) in [(longest, 1), (longest + 1, 2)] {
        assert_eq!(encode(&large(length)).expect("short enough").len(), frames, "{length}");
    }
    let both = |first: usize, second: usize| {
        let mut encoder = Encoder::default();
        for length in [first, second] {
            encoder.push(&large(length)).expect("short enough");
        }
        let frames = encoder.finish();
        assert!(frames.iter().all(|frame| frame.len() <= FRAME_BYTES_MAX));
        frames.len()
    };
    let half = whole / 2;
    let rest = whole - half - beside(half);
    let second = rest - beside(rest);
    assert_eq!((both(half, second), both(half, second + 1)), (1, 2));
    let longest = MESSAGE_BYTES_MAX - beside(MESSAGE_BYTES_MAX);
    assert!(encode(&large(longest)).is_ok());
    assert_eq!(encode(&large(longest + 1)), Err(TooLong(MESSAGE_BYTES_MAX + 1)));
}
