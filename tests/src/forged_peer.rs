//! A host as another host sees it: a direct link with a peer that sends any messages that a test wants.

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use sateen_identity::session::Session;
use sateen_identity::{Identity, direct};
use sateen_protocol::PublicKey;
use sateen_protocol::codec::Encoder;
use sateen_protocol::message::PeerMessage;
use sateen_protocol::message::direct::{Caller, decode_challenge, decode_greeting, encode};
use tokio_tungstenite::tungstenite::{self, Bytes, Message, WebSocket, client};

use crate::cluster::PATIENCE;

/// A direct link to a host.
pub struct ForgedPeer {
    socket: WebSocket<TcpStream>,
    session: Session,
    /// The number of the next frame.
    next: u64,
}

impl ForgedPeer {
    /// Dials the host with the key `peer` as `caller`, with a key of its own; `None` if the host refuses the caller.
    ///
    /// # Panics
    /// When no host listens there.
    pub fn dial(address: SocketAddr, caller: Caller, own: &Identity, peer: &PublicKey) -> Option<Self> {
        let stream = TcpStream::connect(address).expect("it listens");
        stream.set_nodelay(true).expect("a socket");
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
        let (mut socket, _) = client(format!("ws://{address}/ws/peer"), stream).expect("a websocket");
        let challenge = decode_challenge(&next_binary(&mut socket)?).expect("a challenge");
        let (dialling, hello) = direct::hello(own, peer, &challenge, caller).expect("valid keys");
        socket.send(Message::binary(encode(&hello))).ok()?;
        let greeting = decode_greeting(&next_binary(&mut socket)?).expect("a greeting");
        let session = dialling.greeted(&greeting).expect("the host proves its identity");
        Some(Self { socket, session, next: 0 })
    }

    /// Whether the host closes the link within `patience`.
    ///
    /// # Panics
    /// When the socket fails.
    pub fn is_closed(&mut self, patience: Duration) -> bool {
        self.socket.get_ref().set_read_timeout(Some(patience)).expect("a socket");
        loop {
            match self.socket.read() {
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
        self.socket.get_ref().set_write_timeout(Some(patience)).expect("a socket");
        let mut encoder = Encoder::default();
        for message in messages {
            encoder.push(message).expect("short enough");
        }
        let frames = encoder.finish();
        frames.iter().all(|frame| {
            let sealed = self.session.seal(&mut self.next, frame);
            self.socket.send(Message::binary(sealed)).is_ok()
        })
    }

    /// Sends bytes in place of a frame; returns whether the link accepted them.
    pub fn try_send(&mut self, bytes: &[u8]) -> bool {
        self.socket.send(Message::binary(bytes.to_vec())).is_ok()
    }
}

fn next_binary(socket: &mut WebSocket<TcpStream>) -> Option<Bytes> {
    loop {
        match socket.read() {
            Ok(Message::Binary(bytes)) => return Some(bytes),
            Ok(Message::Close(_)) | Err(_) => return None,
            Ok(_) => {}
        }
    }
}
