//! Frames, and the handshake of a direct link.

use sateen_protocol::codec::{self, Decoder, FrameError, PROTOCOL_VERSION};
use sateen_protocol::limits::FRAME_BYTES_MAX;
use sateen_protocol::message::direct::{self, Caller, Challenge, DirectHello, Greeting};
use sateen_protocol::message::{PeerMessage, ToHost};
use sateen_protocol::{GridId, HostId, RunId, StealId};

use crate::{Line, bytes, hex, messages};

/// The lines of all kinds of frames, and of the three parts of the handshake.
pub fn lines() -> Vec<Line> {
    let mut encoder = codec::Encoder::default();
    for steal in [300, 301] {
        let message =
            PeerMessage::Steal { run: RunId(3), steal: StealId(steal), holding: 1, ahead: false, more: 0 };
        encoder.push(&message).expect("short enough");
    }
    let batch = encoder.finish().concat();
    let long = PeerMessage::Refused { reason: "x".repeat(FRAME_BYTES_MAX) };
    let fragments = codec::encode(&long).expect("short enough");
    let [fragment, last] = &fragments[..] else { panic!("the message makes {} frames", fragments.len()) };
    let caller = Caller { grid: GridId(1), from: HostId(2), to: HostId(300) };
    let challenge = Challenge::new([3; 16]);
    let hello = DirectHello::new(caller, vec![4; 48]);
    let line = |name: &str, bytes: &[u8]| (name.to_owned(), hex(bytes));
    vec![
        line("frame batch", &batch),
        line("frame fragment (its beginning)", &fragment[..16]),
        line("frame last-fragment", last),
        line("direct Challenge", &direct::encode(&challenge)),
        line("direct DirectHello", &direct::encode(&hello)),
        line("direct Greeting", &direct::encode(&Greeting { noise: vec![5; 48] })),
    ]
}

/// So that a coordinator can distinguish a host of another version from other clients.
#[test]
fn only_a_hello_begins_like_a_hello() {
    let of_coordinator = messages::lines().into_iter().filter(|(name, _)| name.starts_with("ToCoordinator "));
    for (name, digits) in of_coordinator {
        for version in [1, PROTOCOL_VERSION, u8::MAX] {
            let frame = [&[version, 0], &*bytes(&digits)].concat();
            assert_eq!(codec::may_be_hello(&frame), name == "ToCoordinator Hello", "{name}");
        }
    }
    for garbage in [&b""[..], &[PROTOCOL_VERSION], b"GET /", &[0; 9], &[PROTOCOL_VERSION, 1, 0, 0]] {
        assert!(!codec::may_be_hello(garbage), "{garbage:?}");
    }
}

/// A side of a link can distinguish another version from garbage only because the first byte of every frame is the
/// version, in all past and future versions.
#[test]
fn the_version_is_the_first_byte_of_every_frame() {
    let message = ToHost::Refused { reason: "no".to_owned() };
    let frame = codec::encode(&message).expect("short enough").concat();
    assert_eq!(frame, [PROTOCOL_VERSION, 0, 1, 2, b'n', b'o']);
    for other in (0..=u8::MAX).filter(|other| *other != PROTOCOL_VERSION) {
        let frame = [other, 0xff, 0xff];
        assert_eq!(Decoder::default().decode::<ToHost>(&frame), Err(FrameError::Version(other)));
        assert_eq!(Decoder::default().decode::<ToHost>(&[other]), Err(FrameError::Version(other)));
    }
}
