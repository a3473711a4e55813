//! A websocket client that breaks the rules: it sends any bytes that it is given.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Maximum time until a client notices that it is cut off.
const PATIENCE: Duration = Duration::from_secs(20);

/// A connection after the handshake.
pub struct WebSocket(TcpStream);

impl WebSocket {
    /// Connects and shakes hands.
    ///
    /// # Panics
    /// When the server refuses it.
    #[track_caller]
    pub fn connect(address: SocketAddr, path: &str) -> Self {
        Self::connect_with(address, path, "").unwrap_or_else(|head| panic!("{path} is a websocket: {head}"))
    }

    /// The same with more headers, each ended by a new line.
    ///
    /// # Errors
    /// The answer's headers, when the server refuses it.
    pub fn connect_with(address: SocketAddr, path: &str, headers: &str) -> Result<Self, String> {
        let mut stream = TcpStream::connect(address).expect("somebody listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream.set_write_timeout(Some(PATIENCE)).expect("a timeout");
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n{headers}\r\n"
        );
        stream.write_all(request.as_bytes()).expect("it listens");
        let (mut head, mut byte) = (Vec::new(), [0]);
        while !head.ends_with(b"\r\n\r\n") {
            stream.read_exact(&mut byte).expect("it answers");
            head.push(byte[0]);
        }
        let head = String::from_utf8_lossy(&head).into_owned();
        if head.starts_with("HTTP/1.1 101") { Ok(Self(stream)) } else { Err(head) }
    }

    /// Sends a short text message.
    pub fn say(&mut self, text: &str) {
        assert!(text.len() < 126, "a short one");
        let mut frame = vec![0x81, 0x80 | text.len() as u8, 0, 0, 0, 0];
        frame.extend(text.as_bytes());
        self.send_raw(&frame);
    }

    /// Reads until all of the words have come; returns everything that has.
    ///
    /// # Panics
    /// When they do not come.
    #[track_caller]
    pub fn hear(&mut self, words: &[&str]) -> String {
        let (mut heard, mut chunk) = (Vec::new(), [0; 4096]);
        loop {
            let text = String::from_utf8_lossy(&heard).into_owned();
            if words.iter().all(|word| text.contains(word)) {
                return text;
            }
            match self.0.read(&mut chunk) {
                Ok(count) if count > 0 => heard.extend(&chunk[..count]),
                other => panic!("{words:?} have not come ({other:?}); so far came {text}"),
            }
        }
    }

    /// Sends a binary message. If it cannot be sent completely, the client was cut off, which is not an error.
    pub fn send(&mut self, message: &[u8]) {
        let mut frame = vec![0x82];
        // The mask bit is set and the mask is zero.
        match message.len() {
            length @ 0..=125 => frame.push(0x80 | length as u8),
            length @ 126..=65535 => {
                frame.push(0x80 | 126);
                frame.extend((length as u16).to_be_bytes());
            }
            length => {
                frame.push(0x80 | 127);
                frame.extend((length as u64).to_be_bytes());
            }
        }
        frame.extend([0; 4]);
        frame.extend(message);
        self.send_raw(&frame);
    }

    /// Sends bytes that need not be a frame.
    pub fn send_raw(&mut self, bytes: &[u8]) {
        let _ = self.0.write_all(bytes);
    }

    /// All bytes received until the other side ends the connection.
    ///
    /// # Panics
    /// When it does not.
    #[track_caller]
    pub fn cut_off(self) -> Vec<u8> {
        until_closed(self.0)
    }
}

/// Sends `bytes` to a server, without any handshake; returns all bytes received until the server ends the
/// connection.
///
/// # Panics
/// When it does not.
#[track_caller]
pub fn shout(address: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).expect("somebody listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let _ = stream.write_all(bytes);
    until_closed(stream)
}

#[track_caller]
fn until_closed(mut stream: TcpStream) -> Vec<u8> {
    let (mut heard, mut chunk) = (Vec::new(), [0; 4096]);
    loop {
        match stream.read(&mut chunk) {
            Ok(0) => return heard,
            Ok(count) => heard.extend(&chunk[..count]),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return heard,
            Err(error) => panic!("the connection is not ended ({error}); so far came {heard:?}"),
        }
    }
}
