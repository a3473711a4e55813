//! One page that watches.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket, close_code};
use futures_util::SinkExt;
use futures_util::future::select_all;
use serde::Deserialize;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};

use super::tree::TreeClient;
use super::{News, Topic, Watching};
use crate::api::{Api, Problem};
use crate::driver::stopped;
use crate::limits::{
    TOPICS_MAX, WATCH_ALIVE, WATCH_MESSAGE_BYTES_MAX, WATCH_MESSAGES_PER_SECOND_MAX, WATCH_PING,
    WATCH_WRITE_TIMEOUT,
};
use crate::peer::Peer;

/// What a page asks for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wish {
    /// All that it wants to watch.
    watch: Vec<String>,
    /// Of these, what it wants to be told from the beginning.
    #[serde(default)]
    again: Vec<String>,
}

/// A topic that is watched.
struct Watched {
    news: watch::Receiver<News>,
    /// Something may have to be said at once.
    is_due: bool,
    /// Nothing was known when it was asked for: the first news are told when they come.
    waits: bool,
    seq: u64,
    /// The version that was told last.
    told: Option<u64>,
    bucket_ms: u32,
    tree: TreeClient,
}

/// Why a page is served no more.
enum End {
    /// It has gone.
    Gone,
    /// It is told why.
    Told(u16, String),
}

/// Serves one page.
pub async fn serve(socket: WebSocket, api: &Api, watching: &Arc<Watching>, peer: Peer) {
    let mut client = Client {
        socket,
        peer,
        topics: BTreeMap::new(),
        heard: (Instant::now(), 0),
        sent: Instant::now(),
        pinged: Instant::now(),
        is_flushed: true,
    };
    if let End::Told(code, reason) = client.serve(api, watching).await {
        let frame = CloseFrame { code, reason: shortened(&reason).into() };
        let _ = timeout(Duration::from_secs(1), client.socket.send(Message::Close(Some(frame)))).await;
    }
}

/// A close frame has room for so many bytes.
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
    socket: WebSocket,
    peer: Peer,
    topics: BTreeMap<Topic, Watched>,
    /// The second that began then, and messages in it.
    heard: (Instant, u32),
    sent: Instant,
    pinged: Instant,
    /// Nothing waits for company.
    is_flushed: bool,
}

impl Client {
    async fn serve(&mut self, api: &Api, watching: &Arc<Watching>) -> End {
        let mut shutdown = api.shutdown.clone();
        loop {
            // All that is due, one message of each topic after the other, and all at once.
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
                message = self.socket.recv() => match message {
                    Some(Ok(message)) => {
                        if let Err(end) = self.hear(api, watching, message).await {
                            return end;
                        }
                    }
                    Some(Err(_)) | None => return End::Gone,
                },
                () = sleep_until(watching.next_telling()), if !self.topics.is_empty() => {
                    for watched in self.topics.values_mut() {
                        // A feed that has ended has said why.
                        watched.is_due = watched.news.has_changed().unwrap_or(true);
                    }
                }
                topic = first_news(&mut self.topics) => {
                    if let Some(watched) = self.topics.get_mut(&topic) {
                        watched.is_due = true;
                    }
                }
                () = sleep_until(quiet) => {
                    if let Err(end) = self.say_alive().await {
                        return end;
                    }
                }
                () = stopped(&mut shutdown) => {
                    return End::Told(close_code::AWAY, "the coordinator is shutting down".to_owned());
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
            _ => return self.refuse("pages send JSON in text messages, and few of them").await,
        };
        if self.heard.1 > WATCH_MESSAGES_PER_SECOND_MAX {
            return self.refuse("too many messages in a second").await;
        }
        if text.len() > WATCH_MESSAGE_BYTES_MAX {
            return self.refuse("the message is too long").await;
        }
        let wish: Wish = match serde_json::from_str(&text) {
            Ok(wish) => wish,
            Err(error) => {
                let why = format!("the message is no {{\"watch\":[TOPIC,…]}}: {error}");
                return self.refuse(&why).await;
            }
        };
        if wish.watch.len() > TOPICS_MAX {
            let why = format!("{} topics are too many: one page watches {TOPICS_MAX}", wish.watch.len());
            return self.refuse(&why).await;
        }
        let mut wanted = BTreeMap::new();
        for name in &wish.watch {
            match Topic::parse(name) {
                Ok(topic) => {
                    wanted.insert(topic, wish.again.contains(name));
                }
                Err(problem) => self.send_gone(name, &problem.json().to_string()).await?,
            }
        }
        self.topics.retain(|topic, _| wanted.get(topic) == Some(&false));
        for topic in wanted.into_keys().filter(|topic| !self.topics.contains_key(topic)).collect::<Vec<_>>() {
            match watching.subscribe(api, topic, self.peer) {
                Ok(news) => drop(self.topics.insert(topic, Watched::new(news))),
                Err(problem) => self.send_gone(&topic.to_string(), &problem.json().to_string()).await?,
            }
        }
        Ok(())
    }

    /// Says what was wrong with a message, and that nothing more will be said.
    async fn refuse(&mut self, why: &str) -> Result<(), End> {
        let problem = Problem::bad_request(why).json();
        self.send(Message::text(format!(r#"{{"problem":{problem}}}"#))).await?;
        Err(End::Told(close_code::POLICY, why.to_owned()))
    }

    fn next_due(&self) -> Option<Topic> {
        self.topics.iter().find(|(_, watched)| watched.is_due).map(|(topic, _)| *topic)
    }

    async fn tell(&mut self, topic: Topic) -> Result<(), End> {
        let Some(watched) = self.topics.get_mut(&topic) else { return Ok(()) };
        let news = watched.news.borrow_and_update().clone();
        watched.is_due = false;
        watched.waits = matches!(news, News::Nothing);
        let message = match news {
            News::Nothing => return Ok(()),
            News::Gone(problem) => {
                watched.told = None;
                watched.tree = TreeClient::new();
                if watched.news.has_changed().is_err() {
                    // There is no feed of it any more.
                    self.topics.remove(&topic);
                }
                return self.send_gone(&topic.to_string(), &problem).await;
            }
            News::Value(value) => {
                let news = match watched.told {
                    Some(version) if version == value.version() => return Ok(()),
                    Some(version) => value.since(version).map(|json| ("delta", json)),
                    None => None,
                };
                let (kind, json) = news.unwrap_or_else(|| ("snapshot", value.whole()));
                watched.told = Some(value.version());
                watched.text(topic, kind, &json)
            }
            News::Timeline(timeline) => {
                let news = match watched.told {
                    Some(version) if version == timeline.version => return Ok(()),
                    Some(version) => timeline.since(version, watched.bucket_ms).map(|json| ("delta", json)),
                    None => None,
                };
                let (kind, json) = news.unwrap_or_else(|| ("snapshot", timeline.whole()));
                (watched.told, watched.bucket_ms) = (Some(timeline.version), timeline.bucket_ms());
                watched.text(topic, kind, &json)
            }
            News::Tree(tree) => {
                let Some((frame, is_all)) = watched.tree.next(&tree) else { return Ok(()) };
                watched.is_due = !is_all;
                Message::binary(frame)
            }
        };
        self.send(message).await
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
        written(self.socket.feed(message)).await
    }

    async fn flush(&mut self) -> Result<(), End> {
        if std::mem::replace(&mut self.is_flushed, true) {
            Ok(())
        } else {
            written(self.socket.flush()).await
        }
    }
}

/// What becomes of a page that does not take what is written.
async fn written(writing: impl Future<Output = Result<(), axum::Error>>) -> Result<(), End> {
    match timeout(WATCH_WRITE_TIMEOUT, writing).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) => Err(End::Gone),
        Err(_) => Err(End::Told(
            close_code::POLICY,
            format!("the page took nothing for {} s", WATCH_WRITE_TIMEOUT.as_secs()),
        )),
    }
}

impl Watched {
    fn new(news: watch::Receiver<News>) -> Self {
        Self { news, is_due: true, waits: true, seq: 0, told: None, bucket_ms: 0, tree: TreeClient::new() }
    }

    fn text(&mut self, topic: Topic, kind: &str, json: &str) -> Message {
        if kind == "snapshot" {
            self.seq = 0;
        }
        let text = format!(r#"{{"topic":"{topic}","seq":{},"kind":"{kind}","value":{json}}}"#, self.seq);
        self.seq += 1;
        Message::text(text)
    }
}

/// The next of those topics to have news of which nothing was told.
async fn first_news(topics: &mut BTreeMap<Topic, Watched>) -> Topic {
    let waiting: Vec<_> = topics.iter_mut().filter(|(_, watched)| watched.waits).collect();
    if waiting.is_empty() {
        return std::future::pending().await;
    }
    let news = waiting.into_iter().map(|(topic, watched)| {
        Box::pin(async {
            if watched.news.changed().await.is_err() {
                // Its feed has ended, which it does not while somebody listens.
                std::future::pending::<()>().await;
            }
            *topic
        })
    });
    select_all(news).await.0
}
