//! One page that watches.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use futures_util::future::select_all;
use futures_util::{SinkExt, StreamExt};
use serde::Deserialize;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_tungstenite::tungstenite::protocol::frame::coding::{CloseCode, Data, OpCode};
use tokio_tungstenite::tungstenite::protocol::frame::{CloseFrame, Frame};
use tokio_tungstenite::tungstenite::{Error, Message};

use super::opening::Socket;
use super::watched::{Said, Watched};
use super::{Topic, Watching};
use crate::access::Access;
use crate::api::{Api, Problem, is_run_of};
use crate::limits::{
    TOPICS_MAX, WATCH_ALIVE, WATCH_FRAGMENT_BYTES, WATCH_MESSAGE_BYTES_MAX, WATCH_MESSAGES_PER_SECOND_MAX,
    WATCH_PING, WATCH_SMALL_BYTES, WATCH_WRITE_TIMEOUT,
};
use crate::server::{Connection, Gates, Kind, Pass};
use crate::shutdown::stopped;
use crate::token::TokenId;

/// A page's request.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WatchRequest {
    /// All topics that the page watches.
    watch: Vec<String>,
    /// Of these, topics to be sent from the beginning.
    #[serde(default)]
    again: Vec<String>,
}

/// Why a page is no longer served.
enum End {
    /// The page has closed the websocket.
    Gone,
    /// The page is sent the reason.
    Told(CloseCode, String),
}

/// Serves one page, as long as its token is valid.
pub async fn serve(
    socket: Socket,
    api: &Api,
    watching: &Arc<Watching>,
    (connection, access): (Arc<Connection>, Access),
) {
    let only_runs_of = access.only_runs_of();
    let mut client = Client {
        socket,
        connection: Arc::clone(&connection),
        gates: Arc::clone(&api.gates),
        only_runs_of,
        topics: BTreeMap::new(),
        heard: (Instant::now(), 0),
        sent: Instant::now(),
        pinged: Instant::now(),
        is_flushed: true,
    };
    let end = tokio::select! {
        end = client.serve(api, watching) => end,
        // It took next to nothing while others wanted its room.
        () = connection.until_cut() => End::Gone,
        denied = access.until_over() => End::Told(CloseCode::Policy, denied.to_string()),
    };
    if let End::Told(code, reason) = end {
        let frame = CloseFrame { code, reason: shortened(&reason).into() };
        let _ = timeout(Duration::from_secs(1), client.socket.send(Message::Close(Some(frame)))).await;
    }
}

/// Maximum length of the reason in a close frame.
fn shortened(reason: &str) -> String {
    reason
        .chars()
        .scan(0, |bytes, char| {
            *bytes += char.len_utf8();
            (*bytes <= 120).then_some(char)
        })
        .collect()
}

struct Client {
    socket: Socket,
    connection: Arc<Connection>,
    gates: Arc<Gates>,
    /// The token whose runs are the only ones that the page may watch.
    only_runs_of: Option<TokenId>,
    topics: BTreeMap<Topic, Watched>,
    /// When the present second began, and the messages received in it.
    heard: (Instant, u32),
    sent: Instant,
    pinged: Instant,
    /// Nothing is left to flush.
    is_flushed: bool,
}

impl Client {
    async fn serve(&mut self, api: &Api, watching: &Arc<Watching>) -> End {
        let mut shutdown = api.shutdown.clone();
        loop {
            // Sends all that is due, one message of each topic after the other, in one write.
            while let Some(due) = self.next_due() {
                if let Err(end) = self.tell(due).await {
                    return end;
                }
            }
            if let Err(end) = self.flush().await {
                return end;
            }
            let quiet = (self.sent + WATCH_ALIVE).min(self.pinged + WATCH_PING);
            tokio::select! {
                message = self.socket.next() => match message {
                    Some(Ok(message)) => {
                        if let Err(end) = self.hear(api, watching, message).await {
                            return end;
                        }
                    }
                    Some(Err(_)) | None => return End::Gone,
                },
                () = sleep_until(watching.next_telling()), if !self.topics.is_empty() => {
                    self.topics.values_mut().for_each(Watched::look);
                }
                topic = first_news(&mut self.topics) => {
                    if let Some(watched) = self.topics.get_mut(&topic) {
                        watched.has_news();
                    }
                }
                () = sleep_until(quiet) => {
                    if let Err(end) = self.say_alive().await {
                        return end;
                    }
                }
                () = stopped(&mut shutdown) => {
                    return End::Told(CloseCode::Away, "the coordinator is shutting down".to_owned());
                }
            }
        }
    }

    async fn hear(&mut self, api: &Api, watching: &Arc<Watching>, message: Message) -> Result<(), End> {
        let now = Instant::now();
        if now.duration_since(self.heard.0) >= Duration::from_secs(1) {
            self.heard = (now, 0);
        }
        self.heard.1 += 1;
        let text = match message {
            Message::Text(text) => text,
            Message::Close(_) => return Err(End::Gone),
            Message::Ping(_) | Message::Pong(_) if self.heard.1 <= WATCH_MESSAGES_PER_SECOND_MAX => {
                return Ok(());
            }
            _ => {
                return self
                    .refuse("only text messages with JSON are accepted, and not too many of them")
                    .await;
            }
        };
        if self.heard.1 > WATCH_MESSAGES_PER_SECOND_MAX {
            return self.refuse("too many messages per second").await;
        }
        if text.len() > WATCH_MESSAGE_BYTES_MAX {
            return self.refuse("the message is too long").await;
        }
        let request: WatchRequest = match serde_json::from_str(&text) {
            Ok(request) => request,
            Err(error) => {
                let why = format!("invalid message; expected {{\"watch\":[TOPIC,...]}} ({error})");
                return self.refuse(&why).await;
            }
        };
        if request.watch.len() > TOPICS_MAX {
            let why = format!("{} topics are too many: one page can watch {TOPICS_MAX}", request.watch.len());
            return self.refuse(&why).await;
        }
        let mut wanted = BTreeMap::new();
        for name in &request.watch {
            match allowed(api, name, self.only_runs_of).await {
                Ok(topic) => {
                    wanted.insert(topic, request.again.contains(name));
                }
                Err(problem) => self.send_gone(name, &problem.json().to_string()).await?,
            }
        }
        self.topics.retain(|topic, _| wanted.get(topic) == Some(&false));
        for topic in wanted.into_keys().filter(|topic| !self.topics.contains_key(topic)).collect::<Vec<_>>() {
            match watching.subscribe(api, topic, self.connection.peer) {
                Ok(news) => drop(self.topics.insert(topic, Watched::new(news))),
                Err(problem) => self.send_gone(&topic.to_string(), &problem.json().to_string()).await?,
            }
        }
        Ok(())
    }

    /// Reports what was wrong with a message, and closes.
    async fn refuse(&mut self, why: &str) -> Result<(), End> {
        let problem = Problem::bad_request(why).json();
        self.send(Message::text(format!(r#"{{"problem":{problem}}}"#))).await?;
        Err(End::Told(CloseCode::Policy, why.to_owned()))
    }

    fn next_due(&self) -> Option<Topic> {
        self.topics.iter().find(|(_, watched)| watched.is_due()).map(|(topic, _)| *topic)
    }

    async fn tell(&mut self, topic: Topic) -> Result<(), End> {
        let Some(watched) = self.topics.get_mut(&topic) else { return Ok(()) };
        match watched.next(topic, |bytes| room(&self.gates, &self.connection, bytes)) {
            Said::Nothing => Ok(()),
            Said::Gone { problem, for_good } => {
                if for_good {
                    self.topics.remove(&topic);
                }
                self.send_gone(&topic.to_string(), &problem).await
            }
            Said::Message(message, None) => self.send(message).await,
            Said::Message(message, Some(_room)) => {
                self.send(message).await?;
                self.flush().await
            }
        }
    }

    async fn send_gone(&mut self, topic: &str, problem: &str) -> Result<(), End> {
        let topic = serde_json::Value::from(topic);
        self.send(Message::text(format!(r#"{{"topic":{topic},"kind":"gone","problem":{problem}}}"#))).await
    }

    /// Browsers do not see pings.
    async fn say_alive(&mut self) -> Result<(), End> {
        if self.pinged.elapsed() >= WATCH_PING {
            self.pinged = Instant::now();
            self.send(Message::Ping(Vec::new().into())).await?;
        }
        if self.sent.elapsed() >= WATCH_ALIVE {
            self.send(Message::text(r#"{"kind":"alive"}"#)).await?;
        }
        Ok(())
    }

    async fn send(&mut self, message: Message) -> Result<(), End> {
        if !matches!(message, Message::Ping(_)) {
            self.sent = Instant::now();
        }
        self.is_flushed = false;
        let (kind, mut left) = match message {
            Message::Text(text) => (Data::Text, Bytes::from(text)),
            Message::Binary(bytes) => (Data::Binary, bytes),
            message => return written(self.socket.feed(message)).await,
        };
        let mut kind = Some(kind);
        loop {
            let part = left.split_to(left.len().min(WATCH_FRAGMENT_BYTES));
            let code = OpCode::Data(kind.take().unwrap_or(Data::Continue));
            let frame = Frame::message(part, code, left.is_empty());
            written(self.socket.feed(Message::Frame(frame))).await?;
            if left.is_empty() {
                return Ok(());
            }
        }
    }

    async fn flush(&mut self) -> Result<(), End> {
        if std::mem::replace(&mut self.is_flushed, true) {
            Ok(())
        } else {
            written(self.socket.flush()).await
        }
    }
}

/// The topic with this name, if a page may watch it that may see only the runs of a token, or all.
async fn allowed(api: &Api, name: &str, only_runs_of: Option<TokenId>) -> Result<Topic, Problem> {
    let topic = Topic::parse(name)?;
    let Some(owner) = only_runs_of else { return Ok(topic) };
    let (topic, run) = topic.only_of(owner);
    if let Some(run) = run {
        is_run_of(api, run, owner).await?;
    }
    Ok(topic)
}

/// Waits until a page has taken a message; a page that does not is cut off.
async fn written(writing: impl Future<Output = Result<(), Error>>) -> Result<(), End> {
    match timeout(WATCH_WRITE_TIMEOUT, writing).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) => Err(End::Gone),
        Err(_) => Err(End::Told(
            CloseCode::Policy,
            format!("the page read nothing for {} s", WATCH_WRITE_TIMEOUT.as_secs()),
        )),
    }
}

/// Room for a message, counted until the page has taken it; short messages need none. `None` if there is no
/// room and none can be taken from pages that take next to nothing.
fn room(gates: &Arc<Gates>, connection: &Arc<Connection>, bytes: usize) -> Option<Option<Pass>> {
    if bytes <= WATCH_SMALL_BYTES {
        return Some(None);
    }
    gates.take_many_for(connection.activity(), Kind::PageKib, bytes.div_ceil(1 << 10)).ok().map(Some)
}

/// The next of the topics that have news which was not sent yet.
async fn first_news(topics: &mut BTreeMap<Topic, Watched>) -> Topic {
    let waiting: Vec<_> = topics.iter_mut().filter(|(_, watched)| watched.waits()).collect();
    if waiting.is_empty() {
        return std::future::pending().await;
    }
    let news = waiting.into_iter().map(|(topic, watched)| {
        Box::pin(async {
            watched.changed().await;
            *topic
        })
    });
    select_all(news).await.0
}
