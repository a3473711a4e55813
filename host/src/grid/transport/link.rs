//! One open websocket: a task that reads and a task that writes.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use sateen_identity::session::{SEAL_BYTES_MAX, Session};
use sateen_protocol::limits::{CHUNK_BYTES_MAX, FRAME_BYTES_MAX, MESSAGE_BYTES_MAX, SILENCE_MAX};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Bytes, Error, Message};

use super::NetEvent;
use super::stream::{Heard, Stream};
use super::wire::Wire;

/// A websocket whose handshake is done.
pub type Socket = WebSocketStream<Wire>;

/// Maximum bytes that wait to be written to a link, without chunks of parcels.
const WAITING_BYTES_MAX: usize = MESSAGE_BYTES_MAX + (8 << 20);
/// Memory of a waiting frame in addition to its bytes.
const FRAME_OVERHEAD_BYTES: usize = 64;
/// Chunks of parcels are taken from the state machine while fewer bytes than this wait to be written.
const BULK_BYTES_MIN: usize = 2 * CHUNK_BYTES_MAX;
/// Frames are collected up to this size before the system is called.
const WRITE_BUFFER_BYTES: usize = 32 << 10;
/// Maximum written bytes that the system may buffer. Nothing overtakes them: at 1 MiB/s, a ping waits for half
/// a second.
const SEND_BUFFER_BYTES: usize = 256 << 10;
/// Most messages are some hundred bytes.
const READ_BUFFER_BYTES: usize = 16 << 10;

/// The sizes that this host accepts from a peer.
pub fn limits() -> WebSocketConfig {
    WebSocketConfig::default()
        .read_buffer_size(READ_BUFFER_BYTES)
        .write_buffer_size(WRITE_BUFFER_BYTES)
        .max_write_buffer_size(WRITE_BUFFER_BYTES + 2 * FRAME_BYTES_MAX)
        .max_message_size(Some(FRAME_BYTES_MAX + SEAL_BYTES_MAX))
        .max_frame_size(Some(FRAME_BYTES_MAX + SEAL_BYTES_MAX))
}

/// Sets up the stream below a websocket: small messages are sent at once, the system buffers little, and received
/// bytes are counted.
///
/// # Errors
/// If the stream is closed.
pub fn set_up(stream: TcpStream) -> io::Result<Wire> {
    stream.set_nodelay(true)?;
    // If this cannot be set, pings wait longer.
    let _ = socket2::SockRef::from(&stream).set_send_buffer_size(SEND_BUFFER_BYTES);
    Ok(Wire::Plain(Stream::new(stream)))
}

/// What the frames of a direct link are encrypted with.
pub struct Seal {
    /// The session's keys.
    pub session: Session,
    /// Sent before all frames, and not encrypted: it completes the handshake.
    pub greeting: Option<Vec<u8>>,
}

/// Counts the links of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkNumber(pub u64);

/// Why a link has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Closed {
    /// The other side closed it, or the network did.
    Gone(String),
    /// The other side sent an invalid frame.
    Broken(String),
}

/// Bytes that wait to be written.
#[derive(Default)]
struct Waiting {
    control: AtomicUsize,
    bulk: AtomicUsize,
}

/// A handle to an open websocket. When it is dropped, earlier messages are still sent, and nothing more is
/// read.
pub struct Link {
    /// Which.
    pub number: LinkNumber,
    frames: mpsc::UnboundedSender<Vec<u8>>,
    /// Chunks, which all other frames overtake.
    bulk: mpsc::UnboundedSender<Vec<u8>>,
    waiting: Arc<Waiting>,
    pings: watch::Sender<u64>,
    heard: Heard,
    /// The last ping that was answered. It is read without waiting for the driver's turn, so that a flood of frames
    /// does not delay answers.
    pong: Arc<AtomicU64>,
    reader: JoinHandle<()>,
    writer: Option<JoinHandle<()>>,
}

impl Link {
    /// Begins to read and write.
    pub fn start(
        number: LinkNumber,
        socket: Socket,
        seal: Option<Seal>,
        events: mpsc::Sender<NetEvent>,
    ) -> Self {
        let (session, greeting) =
            seal.map_or((None, None), |seal| (Some(Arc::new(seal.session)), seal.greeting));
        let heard = socket.get_ref().heard();
        let (sink, stream) = socket.split();
        let (frames, outgoing) = mpsc::unbounded_channel();
        let (bulk, outgoing_bulk) = mpsc::unbounded_channel();
        let waiting = Arc::<Waiting>::default();
        let (pings, asked) = watch::channel(0);
        let pong = Arc::<AtomicU64>::default();
        let sealer = Sealer { session: session.clone(), next: 0 };
        let outgoing = Outgoing { greeting, frames: outgoing, bulk: outgoing_bulk, pings: asked, sealer };
        let writer = tokio::spawn(write(number, sink, outgoing, waiting.clone(), events.clone()));
        let opener = Sealer { session, next: 0 };
        let reader = tokio::spawn(read(number, stream, opener, pong.clone(), events));
        Self { number, frames, bulk, waiting, pings, heard, pong, reader, writer: Some(writer) }
    }

    /// Asks the other side for an answer, ahead of the frames that wait.
    pub fn ping(&self, number: u64) {
        self.pings.send_replace(number);
    }

    /// The last ping that was answered.
    pub fn answered(&self) -> u64 {
        self.pong.load(Relaxed)
    }

    /// Bytes received, including those of incomplete frames.
    pub fn heard_bytes(&self) -> u64 {
        self.heard.bytes()
    }

    /// Bytes that wait to be written.
    pub fn waiting_bytes(&self) -> usize {
        self.waiting.control.load(Relaxed) + self.waiting.bulk.load(Relaxed)
    }

    /// Ends the link at once; waiting frames are dropped.
    pub fn abandon(mut self) {
        if let Some(writer) = self.writer.take() {
            writer.abort();
        }
    }

    /// Sends frames at once. Returns false if the other side does not read earlier frames, or the link is
    /// closed; the link must be dropped then.
    pub fn send(&self, frames: Vec<Vec<u8>>) -> bool {
        for frame in frames {
            let bytes = frame.len() + FRAME_OVERHEAD_BYTES;
            if self.waiting.control.fetch_add(bytes, Relaxed) + bytes > WAITING_BYTES_MAX
                || self.frames.send(frame).is_err()
            {
                return false;
            }
        }
        true
    }

    /// Whether a chunk of a parcel may be sent now; [`NetEvent::Room`] says when it may again.
    pub fn has_room(&self) -> bool {
        self.waiting.bulk.load(Relaxed) < BULK_BYTES_MIN
    }

    /// Sends a chunk of a parcel as soon as nothing else waits.
    pub fn send_bulk(&self, frame: Vec<u8>) {
        self.waiting.bulk.fetch_add(frame.len(), Relaxed);
        // A closed link reports that itself.
        let _ = self.bulk.send(frame);
    }

    /// Sends waiting frames and closes, within `patience`.
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

/// Seals the frames of a direction, or opens them, in their order.
struct Sealer {
    session: Option<Arc<Session>>,
    next: u64,
}

impl Sealer {
    fn seal(&mut self, frame: Vec<u8>) -> Vec<u8> {
        match &self.session {
            Some(session) => session.seal(&mut self.next, &frame),
            None => frame,
        }
    }

    /// The frame; `None` if it was altered in transit.
    fn open(&mut self, frame: Bytes) -> Option<Bytes> {
        match &self.session {
            Some(session) => session.open(&mut self.next, &frame).ok().map(Bytes::from),
            None => Some(frame),
        }
    }
}

async fn read(
    number: LinkNumber,
    mut stream: SplitStream<Socket>,
    mut opener: Sealer,
    pong: Arc<AtomicU64>,
    events: mpsc::Sender<NetEvent>,
) {
    let closed = loop {
        match stream.next().await {
            Some(Ok(Message::Binary(bytes))) => {
                // The peer is not to blame for what the network does.
                let Some(bytes) = opener.open(bytes) else {
                    break Closed::Gone("a frame was altered in transit".to_owned());
                };
                if events.send(NetEvent::Frame(number, bytes)).await.is_err() {
                    return;
                }
            }
            Some(Ok(Message::Pong(number))) => {
                if let Ok(number) = number.as_ref().try_into() {
                    pong.store(u64::from_le_bytes(number), Relaxed);
                }
            }
            // Answered by the library.
            Some(Ok(Message::Ping(_) | Message::Frame(_))) => {}
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

/// Data to write to a link.
struct Outgoing {
    greeting: Option<Vec<u8>>,
    sealer: Sealer,
    frames: mpsc::UnboundedReceiver<Vec<u8>>,
    bulk: mpsc::UnboundedReceiver<Vec<u8>>,
    pings: watch::Receiver<u64>,
}

/// One message of it.
enum Next {
    Greeting(Vec<u8>),
    Ping(u64),
    Frame(Vec<u8>),
    Bulk(Vec<u8>),
}

impl Outgoing {
    /// The next data; `None` once the link is dropped and all frames are written: the remaining chunks of
    /// parcels are sent on another link.
    async fn next(&mut self) -> Option<Next> {
        if let Some(greeting) = self.greeting.take() {
            return Some(Next::Greeting(greeting));
        }
        tokio::select! {
            biased;
            Ok(()) = self.pings.changed() => Some(Next::Ping(*self.pings.borrow_and_update())),
            frame = self.frames.recv() => frame.map(Next::Frame),
            Some(frame) = self.bulk.recv() => Some(Next::Bulk(frame)),
        }
    }
}

impl Waiting {
    /// Notes that this many bytes of frames are written.
    fn wrote(&self, bytes: usize) {
        self.control.fetch_sub(bytes, Relaxed);
    }

    /// Notes that this many bytes of chunks are written; returns whether there is room again.
    fn wrote_bulk(&self, bytes: usize) -> bool {
        let before = self.bulk.fetch_sub(bytes, Relaxed);
        before >= BULK_BYTES_MIN && before - bytes < BULK_BYTES_MIN
    }
}

async fn write(
    number: LinkNumber,
    mut sink: SplitSink<Socket, Message>,
    mut outgoing: Outgoing,
    waiting: Arc<Waiting>,
    events: mpsc::Sender<NetEvent>,
) {
    while let Some(next) = outgoing.next().await {
        let (message, bytes, bulk_bytes) = match next {
            Next::Greeting(greeting) => (Message::binary(greeting), 0, 0),
            Next::Ping(number) => (Message::Ping(number.to_le_bytes().to_vec().into()), 0, 0),
            Next::Frame(frame) => {
                let bytes = frame.len() + FRAME_OVERHEAD_BYTES;
                (Message::binary(outgoing.sealer.seal(frame)), bytes, 0)
            }
            Next::Bulk(frame) => {
                let bytes = frame.len();
                (Message::binary(outgoing.sealer.seal(frame)), 0, bytes)
            }
        };
        // The limit is for each message: it limits the time without progress.
        let written = tokio::time::timeout(SILENCE_MAX, async {
            sink.feed(message).await?;
            if outgoing.frames.is_empty() { sink.flush().await } else { Ok(()) }
        });
        let why = match written.await {
            Ok(Ok(())) => {
                waiting.wrote(bytes);
                if bulk_bytes > 0 && waiting.wrote_bulk(bulk_bytes) {
                    // If its inbox is full, the driver will check anyway.
                    let _ = events.try_send(NetEvent::Room);
                }
                continue;
            }
            Ok(Err(error)) => error.to_string(),
            Err(_) => "it does not read its messages".to_owned(),
        };
        let _ = events.send(NetEvent::Closed(number, Closed::Gone(why))).await;
        return;
    }
    let _ = tokio::time::timeout(SILENCE_MAX, sink.close()).await;
}
