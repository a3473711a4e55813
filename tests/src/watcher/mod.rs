//! A page that watches a coordinator, as a program: it combines the messages, and checks that none is
//! missing.

mod tree;
mod values;

use std::collections::BTreeMap;
use std::fmt::Display;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::{Error, Message, WebSocket, client};

use crate::cluster::PATIENCE;
pub use tree::{RECORD_BYTES, Record, Tree};

/// Maximum time until an event is reported: some ticks.
const TOLD: Duration = Duration::from_secs(2);

/// A page.
pub struct Watcher {
    socket: WebSocket<TcpStream>,
    /// By topic: the number of changes received, and the resulting value.
    values: BTreeMap<String, (u64, Value)>,
    trees: BTreeMap<u64, Tree>,
    /// Messages about topics that do not exist (any more), and about this page's own requests.
    pub gone: Vec<Value>,
    /// Bytes received.
    pub bytes: usize,
    /// Messages received.
    pub messages: usize,
}

impl Watcher {
    /// Watches topics of the coordinator at `address`.
    ///
    /// # Panics
    /// When that fails.
    pub fn open(address: impl Display, topics: &[&str]) -> Self {
        let mut watcher = Self::connect(address);
        watcher.say(&json!({"watch": topics}).to_string()).expect("an open socket");
        watcher
    }

    /// Opens a socket without sending anything.
    ///
    /// # Panics
    /// When that fails.
    pub fn connect(address: impl Display) -> Self {
        Self::on(TcpStream::connect(address.to_string()).expect("it listens"), address)
    }

    /// The same on an open connection to `address`.
    ///
    /// # Panics
    /// When that fails.
    pub fn on(stream: TcpStream, address: impl Display) -> Self {
        let (socket, _) = client(format!("ws://{address}/ws/watch"), stream).expect("a websocket");
        Self {
            socket,
            values: BTreeMap::new(),
            trees: BTreeMap::new(),
            gone: Vec::new(),
            bytes: 0,
            messages: 0,
        }
    }

    /// Sends a message.
    ///
    /// # Errors
    /// When the socket is closed.
    pub fn say(&mut self, text: &str) -> Result<(), String> {
        self.socket.send(Message::text(text)).map_err(|error| error.to_string())
    }

    /// The value of a topic; null before its first message.
    pub fn value(&self, topic: &str) -> &Value {
        self.values.get(topic).map_or(&Value::Null, |(_, value)| value)
    }

    /// A run's tree; empty before its first message.
    pub fn tree(&self, run: u64) -> &Tree {
        static NONE: Tree = Tree::new();
        self.trees.get(&run).unwrap_or(&NONE)
    }

    /// Reads on until `pick` returns a value.
    ///
    /// # Panics
    /// When it never does, or the socket is closed.
    #[track_caller]
    pub fn until<T>(&mut self, what: &str, mut pick: impl FnMut(&Self) -> Option<T>) -> T {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(picked) = pick(self) {
                return picked;
            }
            assert!(Instant::now() < until, "in vain: {what}; gone: {:?}", self.gone);
            self.next(PATIENCE).unwrap_or_else(|why| panic!("{what}: {why}"));
        }
    }

    /// Reads pending messages. There are always some, as a grid never stands still.
    pub fn settle(&mut self) {
        let until = Instant::now() + TOLD;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || self.next(left).is_err() {
                return;
            }
        }
    }

    /// Reads on until the socket is closed; returns the reason.
    ///
    /// # Panics
    /// When it stays open.
    pub fn closed(&mut self) -> String {
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            if let Err(why) = self.next(PATIENCE) {
                return why;
            }
        }
        panic!("the socket stays open");
    }

    /// As `next`, without processing the message.
    ///
    /// # Errors
    /// Why the socket was closed.
    pub fn next_unread(&mut self, patience: Duration) -> Result<bool, String> {
        Ok(self.read(patience)?.is_some())
    }

    /// Processes the next message; false if none arrives within `patience`.
    ///
    /// # Errors
    /// Why the socket was closed.
    pub fn next(&mut self, patience: Duration) -> Result<bool, String> {
        let Some(message) = self.read(patience)? else { return Ok(false) };
        match message {
            Message::Text(text) => {
                let message = serde_json::from_str(&text).map_err(|error| error.to_string())?;
                self.take(message);
            }
            Message::Binary(frame) => Tree::take_frame(&mut self.trees, &frame),
            _ => {}
        }
        Ok(true)
    }

    fn read(&mut self, patience: Duration) -> Result<Option<Message>, String> {
        let _ = self.socket.get_ref().set_read_timeout(Some(patience));
        let message = match self.socket.read() {
            Ok(message) => message,
            Err(Error::Io(error)) if error.kind() == std::io::ErrorKind::Interrupted => {
                return Ok(Some(Message::Pong(Vec::new().into())));
            }
            Err(Error::Io(error))
                if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) =>
            {
                return Ok(None);
            }
            Err(error) => return Err(error.to_string()),
        };
        (self.bytes, self.messages) = (self.bytes + message.len(), self.messages + 1);
        match message {
            Message::Close(close) => {
                Err(close.map_or("closed".into(), |close| format!("closed: {}", close.reason)))
            }
            message => Ok(Some(message)),
        }
    }

    fn take(&mut self, mut message: Value) {
        let topic = message["topic"].as_str().unwrap_or_default().to_owned();
        let (seq, new) = (message["seq"].as_u64(), message["value"].take());
        match message["kind"].as_str() {
            Some("snapshot") => {
                assert_eq!(seq, Some(0), "a snapshot of {topic} begins anew");
                self.values.insert(topic, (0, new));
            }
            Some("delta") => {
                let (changes, value) = self.values.get_mut(&topic).expect("first comes a snapshot");
                *changes += 1;
                assert_eq!(seq, Some(*changes), "a gap in {topic}");
                values::change(&topic, value, &new);
            }
            Some("alive") => {}
            _ => self.gone.push(message),
        }
    }
}
