//! One open websocket: a task that reads and a task that writes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use sateen_protocol::limits::{FRAME_BYTES_MAX, MESSAGE_BYTES_MAX, SILENCE_MAX};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error, Message};

use super::NetEvent;

/// A websocket whose handshake is done.
pub type Socket = WebSocketStream<TcpStream>;

/// What may wait to be written to a link: one message of the largest size, and some company.
const WAITING_BYTES_MAX: usize = MESSAGE_BYTES_MAX + (16 << 20);
/// Frames that are written are collected up to here before the system is called.
const WRITE_BUFFER_BYTES: usize = 64 << 10;
/// Most messages are some hundred bytes.
const READ_BUFFER_BYTES: usize = 16 << 10;

/// The sizes that this host allows a peer.
pub fn limits() -> WebSocketConfig {
    WebSocketConfig::default()
        .read_buffer_size(READ_BUFFER_BYTES)
        .write_buffer_size(WRITE_BUFFER_BYTES)
        .max_write_buffer_size(WRITE_BUFFER_BYTES + 2 * FRAME_BYTES_MAX)
        .max_message_size(Some(FRAME_BYTES_MAX))
        .max_frame_size(Some(FRAME_BYTES_MAX))
}

/// Counts the links of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkNumber(pub u64);

/// Why a link has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Closed {
    /// The other side closed it, or the network did.
    Gone(String),
    /// What came is no frame: the other side breaks the rules.
    Broken(String),
}

/// A handle to an open websocket. Dropped, what was sent before still goes out, and nothing more is read.
pub struct Link {
    /// Which.
    pub number: LinkNumber,
    frames: mpsc::UnboundedSender<Vec<u8>>,
    waiting_bytes: Arc<AtomicUsize>,
    reader: JoinHandle<()>,
    writer: Option<JoinHandle<()>>,
}

impl Link {
    /// Begins to read and write.
    pub fn start(number: LinkNumber, socket: Socket, events: mpsc::Sender<NetEvent>) -> Self {
        let (sink, stream) = socket.split();
        let (frames, outgoing) = mpsc::unbounded_channel();
        let waiting_bytes = Arc::new(AtomicUsize::new(0));
        let writer = tokio::spawn(write(number, sink, outgoing, waiting_bytes.clone(), events.clone()));
        let reader = tokio::spawn(read(number, stream, events));
        Self { number, frames, waiting_bytes, reader, writer: Some(writer) }
    }

    /// Sends frames, at once; false when the other side does not read what was sent before, or the
    /// link is closed: it is to be dropped then.
    pub fn send(&self, frames: Vec<Vec<u8>>) -> bool {
        for frame in frames {
            let bytes = frame.len();
            if self.waiting_bytes.fetch_add(bytes, Relaxed) + bytes > WAITING_BYTES_MAX
                || self.frames.send(frame).is_err()
            {
                return false;
            }
        }
        true
    }

    /// Sends what is waiting and closes, within `patience`.
    pub async fn close(mut self, patience: Duration) {
        let writer = self.writer.take();
        drop(self);
        if let Some(writer) = writer {
            let _ = tokio::time::timeout(patience, writer).await;
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

async fn read(number: LinkNumber, mut stream: SplitStream<Socket>, events: mpsc::Sender<NetEvent>) {
    let closed = loop {
        match stream.next().await {
            Some(Ok(Message::Binary(bytes))) => {
                if events.send(NetEvent::Frame(number, bytes)).await.is_err() {
                    return;
                }
            }
            // Answered by the library.
            Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
            Some(Ok(Message::Text(_))) => break Closed::Broken("it sent text instead of frames".to_owned()),
            Some(Ok(Message::Close(why))) => {
                let why = why.map(|why| why.reason.to_string()).filter(|why| !why.is_empty());
                break Closed::Gone(why.unwrap_or_else(|| "it closed the link".to_owned()));
            }
            Some(Err(error @ (Error::Capacity(_) | Error::Utf8(_)))) => {
                break Closed::Broken(error.to_string());
            }
            Some(Err(error)) => break Closed::Gone(error.to_string()),
            None => break Closed::Gone("it closed the link".to_owned()),
        }
    };
    let _ = events.send(NetEvent::Closed(number, closed)).await;
}

async fn write(
    number: LinkNumber,
    mut sink: SplitSink<Socket, Message>,
    mut frames: mpsc::UnboundedReceiver<Vec<u8>>,
    waiting_bytes: Arc<AtomicUsize>,
    events: mpsc::Sender<NetEvent>,
) {
    while let Some(frame) = frames.recv().await {
        let bytes = frame.len();
        // The time limit is for each frame: it bounds the time without progress.
        let written = tokio::time::timeout(SILENCE_MAX, async {
            sink.feed(Message::binary(frame)).await?;
            if frames.is_empty() { sink.flush().await } else { Ok(()) }
        });
        let why = match written.await {
            Ok(Ok(())) => {
                waiting_bytes.fetch_sub(bytes, Relaxed);
                continue;
            }
            Ok(Err(error)) => error.to_string(),
            Err(_) => "it does not read what it is sent".to_owned(),
        };
        let _ = events.send(NetEvent::Closed(number, Closed::Gone(why))).await;
        return;
    }
    let _ = tokio::time::timeout(SILENCE_MAX, sink.close()).await;
}
