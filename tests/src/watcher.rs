//! A page that watches a coordinator, as a program: it puts together what it is told.

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::{Error, Message, WebSocket, client};

use crate::cluster::PATIENCE;

/// What has happened was told after so long: some ticks.
const TOLD: Duration = Duration::from_secs(2);
const RECORD_BYTES: usize = 48;

/// A page.
pub struct Watcher {
    socket: WebSocket<TcpStream>,
    values: BTreeMap<String, Value>,
    trees: BTreeMap<u64, BTreeMap<u32, [u8; RECORD_BYTES]>>,
    /// Bytes that came.
    pub bytes: usize,
    /// Messages that came.
    pub messages: usize,
}

impl Watcher {
    /// Watches topics of the coordinator at `address`.
    ///
    /// # Panics
    /// When that cannot be.
    pub fn open(address: SocketAddr, topics: &[&str]) -> Self {
        let stream = TcpStream::connect(address).expect("it listens");
        let (mut socket, _) = client(format!("ws://{address}/ws/watch"), stream).expect("a websocket");
        socket.send(Message::text(json!({"watch": topics}).to_string())).expect("an open socket");
        Self { socket, values: BTreeMap::new(), trees: BTreeMap::new(), bytes: 0, messages: 0 }
    }

    /// The value of a topic; null before it was told.
    pub fn value(&self, topic: &str) -> &Value {
        self.values.get(topic).unwrap_or(&Value::Null)
    }

    /// Records of a run's tree, by their places.
    pub fn tree(&self, run: u64) -> &BTreeMap<u32, [u8; RECORD_BYTES]> {
        static NONE: BTreeMap<u32, [u8; RECORD_BYTES]> = BTreeMap::new();
        self.trees.get(&run).unwrap_or(&NONE)
    }

    /// Reads on until it is as `wanted` says.
    ///
    /// # Panics
    /// When it never is, or the socket is closed.
    #[track_caller]
    pub fn until(&mut self, what: &str, wanted: impl Fn(&Self) -> bool) {
        let until = Instant::now() + PATIENCE;
        while !wanted(self) {
            assert!(Instant::now() < until, "in vain: {what}");
            self.next(PATIENCE).unwrap_or_else(|why| panic!("{what}: {why}"));
        }
    }

    /// Reads what is still on its way. Something always is: a grid never stands still.
    pub fn settle(&mut self) {
        let until = Instant::now() + TOLD;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || self.next(left).is_err() {
                return;
            }
        }
    }

    /// As `next`, without looking at what it says.
    ///
    /// # Errors
    /// Why the socket was closed.
    pub fn next_unread(&mut self, patience: Duration) -> Result<bool, String> {
        Ok(self.read(patience)?.is_some())
    }

    /// Takes the next message in; false if none came for so long.
    ///
    /// # Errors
    /// Why the socket was closed.
    pub fn next(&mut self, patience: Duration) -> Result<bool, String> {
        let Some(message) = self.read(patience)? else { return Ok(false) };
        match message {
            Message::Text(text) => {
                let message = serde_json::from_str(&text).map_err(|error| error.to_string())?;
                self.take(&message);
            }
            Message::Binary(frame) => self.take_frame(&frame),
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
            Message::Close(close) => Err(format!("closed: {close:?}")),
            message => Ok(Some(message)),
        }
    }

    fn take(&mut self, message: &Value) {
        let Some(topic) = message["topic"].as_str() else { return };
        let new = &message["value"];
        if message["kind"] == "snapshot" {
            self.values.insert(topic.to_owned(), new.clone());
        } else if let (Some(value), Some(fields)) = (self.values.get_mut(topic), new.as_object()) {
            for (name, field) in fields {
                match (name.trim_end_matches("_gone"), topic) {
                    ("runs", "grid") => merge(&mut value["runs"], "run", field, name.ends_with("_gone")),
                    ("hosts", "grid") => merge(&mut value["hosts"], "id", field, name.ends_with("_gone")),
                    ("rows", _) => merge_rows(value, new),
                    ("from_ms", topic) if topic.starts_with("timeline/") => {}
                    _ => value[name] = field.clone(),
                }
            }
        }
    }

    fn take_frame(&mut self, frame: &[u8]) {
        let u32_at = |at: usize| u32::from_le_bytes(frame[at..at + 4].try_into().expect("four"));
        let run = u64::from_le_bytes(frame[16..24].try_into().expect("eight"));
        let first = (28 + u32_at(24) as usize).next_multiple_of(8);
        let tree = self.trees.entry(run).or_default();
        if u32_at(8) == 0 {
            tree.clear();
        }
        for record in frame[first..].chunks_exact(RECORD_BYTES) {
            let place = u32::from_le_bytes(record[..4].try_into().expect("four"));
            tree.insert(place, record.try_into().expect("a record"));
        }
    }
}

/// Changes items of a list, or takes away those that are gone.
fn merge(list: &mut Value, key: &str, changes: &Value, are_gone: bool) {
    let Some(list) = list.as_array_mut() else { return };
    for change in changes.as_array().into_iter().flatten() {
        if are_gone {
            list.retain(|item| item[key] != *change);
            continue;
        }
        match list.iter_mut().find(|item| item[key] == change[key]) {
            Some(item) => *item = change.clone(),
            None => list.push(change.clone()),
        }
    }
}

/// The newest part of a timeline, in place of what there was of it.
fn merge_rows(value: &mut Value, new: &Value) {
    let step = new["bucket_ms"].as_u64().unwrap_or(1).max(1);
    let start = value["from_ms"].as_u64().unwrap_or_default();
    let skipped = (new["from_ms"].as_u64().unwrap_or_default().saturating_sub(start) / step) as usize;
    let Some(rows) = value["rows"].as_array_mut() else { return };
    for change in new["rows"].as_array().into_iter().flatten() {
        let is_same = |row: &Value| row["host"] == change["host"] && row["worker"] == change["worker"];
        let place = match rows.iter().position(is_same) {
            Some(place) => place,
            None => {
                rows.push(
                    json!({"host": change["host"], "host_name": change["host_name"], "site": change["site"],
                    "worker": change["worker"], "work": [], "recover": [], "steal": [], "wait": []}),
                );
                rows.len() - 1
            }
        };
        for kind in ["work", "recover", "steal", "wait"] {
            if let (Some(known), Some(newest)) = (rows[place][kind].as_array_mut(), change[kind].as_array()) {
                known.resize(skipped, Value::Null);
                known.extend(newest.iter().cloned());
            }
        }
    }
}
