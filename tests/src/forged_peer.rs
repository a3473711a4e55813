//! A host as another host sees it: a direct link with a peer that sends any messages that a test wants.

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use sateen_protocol::codec::Encoder;
use sateen_protocol::message::PeerMessage;
use sateen_protocol::message::direct::{Caller, decode_challenge, decode_greeting, encode};
use tokio_tungstenite::tungstenite::{self, Bytes, Message, WebSocket, client};

use crate::cluster::PATIENCE;

/// A direct link to a host.
pub struct ForgedPeer(WebSocket<TcpStream>);

impl ForgedPeer {
    /// Dials a host as `caller`, with a secret; `None` if the host refuses the caller.
    ///
    /// # Panics
    /// When no host listens there.
    pub fn dial(address: SocketAddr, caller: Caller, secret: u64) -> Option<Self> {
        let stream = TcpStream::connect(address).expect("it listens");
        stream.set_nodelay(true).expect("a socket");
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
        let (socket, _) = client(format!("ws://{address}/ws/peer"), stream).expect("a websocket");
        let mut peer = Self(socket);
        let challenge = decode_challenge(&peer.next_binary()?).expect("a challenge");
        let hello = challenge.answer(caller, secret, [7; 16]);
        peer.0.send(Message::binary(encode(&hello))).ok()?;
        let greeting = decode_greeting(&peer.next_binary()?).expect("a greeting");
        assert!(hello.is_greeted(secret, &challenge, &greeting), "the host proves who it is");
        Some(peer)
    }

    fn next_binary(&mut self) -> Option<Bytes> {
        loop {
            match self.0.read() {
                Ok(Message::Binary(bytes)) => return Some(bytes),
                Ok(Message::Close(_)) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }

    /// Whether the host closes the link within `patience`.
    ///
    /// # Panics
    /// When the socket fails.
    pub fn is_closed(&mut self, patience: Duration) -> bool {
        self.0.get_ref().set_read_timeout(Some(patience)).expect("a socket");
        loop {
            match self.0.read() {
                Ok(Message::Close(_)) => return true,
                Ok(_) => {}
                Err(tungstenite::Error::Io(error))
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) =>
                {
                    return false;
                }
                Err(_) => return true,
            }
        }
    }

    /// Sends messages without reading; false when the link is closed, or the host accepts none for `patience`.
    ///
    /// # Panics
    /// When a message is too long, or the socket fails.
    pub fn send(&mut self, messages: &[PeerMessage], patience: Duration) -> bool {
        self.0.get_ref().set_write_timeout(Some(patience)).expect("a socket");
        let mut encoder = Encoder::default();
        for message in messages {
            encoder.push(message).expect("short enough");
        }
        encoder.finish().into_iter().all(|frame| self.0.send(Message::binary(frame)).is_ok())
    }
}
