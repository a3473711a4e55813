//! A topic that a page watches: what was sent of it, and what is sent next.

use std::sync::Arc;

use tokio::sync::watch;
use tokio_tungstenite::tungstenite::Message;

use super::tree::TreeClient;
use super::value::ValueClient;
use super::{News, TimelineNews, Topic, TreeNews, Value};
use crate::limits::WATCH_PART_BYTES;
use crate::server::Pass;

/// Room for a message: `None` if there is none, and `Some(None)` if the message needs none.
type Room = Option<Option<Pass>>;

/// A topic that is watched.
#[derive(Debug)]
pub struct Watched {
    news: watch::Receiver<News>,
    /// There may be something to send at once.
    is_due: bool,
    /// There was no room for the news: the next tick looks again, at their state then.
    had_no_room: bool,
    /// Nothing was known when the page asked: the first news are sent as soon as they come.
    waits: bool,
    seq: u64,
    value: ValueClient,
    /// The version of the timeline that was sent last.
    told: Option<u64>,
    bucket_ms: u32,
    tree: TreeClient,
}

/// What is sent next of a topic.
#[derive(Debug)]
pub enum Said {
    /// Nothing is new, or other pages have not read their messages.
    Nothing,
    /// The topic does not exist, or no longer exists.
    Gone {
        /// Why, as problem+json.
        problem: Arc<str>,
        /// The feed has ended and will send no more.
        for_good: bool,
    },
    /// A message, with its room if it is long.
    Message(Message, Option<Pass>),
}

impl Watched {
    /// A topic of which nothing was sent.
    pub fn new(news: watch::Receiver<News>) -> Self {
        Self {
            news,
            is_due: true,
            had_no_room: false,
            waits: true,
            seq: 0,
            value: ValueClient::default(),
            told: None,
            bucket_ms: 0,
            tree: TreeClient::new(),
        }
    }

    /// Whether there may be something to send at once.
    pub fn is_due(&self) -> bool {
        self.is_due
    }

    /// Whether there are no news yet.
    pub fn waits(&self) -> bool {
        self.waits
    }

    /// A tick: checks whether there is something to send.
    pub fn look(&mut self) {
        // A feed that has ended has given its reason.
        self.is_due = std::mem::take(&mut self.had_no_room) || self.news.has_changed().unwrap_or(true);
    }

    /// The first news have come.
    pub fn has_news(&mut self) {
        self.is_due = true;
    }

    /// Waits until something is new.
    pub async fn changed(&mut self) {
        if self.news.changed().await.is_err() {
            // The feed has ended, which it does only when nobody watches.
            std::future::pending::<()>().await;
        }
    }

    /// What is sent next, if there is room for it.
    pub fn next(&mut self, topic: Topic, room: impl Fn(usize) -> Room) -> Said {
        // Nothing is kept while the page is slow: the next message has the newest state.
        let news = self.news.borrow_and_update().clone();
        self.is_due = false;
        self.waits = matches!(news, News::Nothing);
        let said = match news {
            News::Nothing => Some(Said::Nothing),
            News::Gone(problem) => {
                self.told = None;
                self.value = ValueClient::default();
                self.tree = TreeClient::new();
                Some(Said::Gone { problem, for_good: self.news.has_changed().is_err() })
            }
            News::Value(value) => self.value(topic, &value, room),
            News::Timeline(timeline) => self.timeline(topic, &timeline, room),
            News::Tree(tree) => self.tree(&tree, room),
        };
        said.unwrap_or_else(|| {
            self.had_no_room = true;
            Said::Nothing
        })
    }

    /// The changes of a value; nothing if there is no room for them.
    fn value(&mut self, topic: Topic, value: &Value, room: impl Fn(usize) -> Room) -> Option<Said> {
        // Where there is no room for a long part, there may be for a short one.
        let part_bytes = self.value.part_bytes();
        let (part_bytes, pass) = match room(part_bytes) {
            Some(pass) => (part_bytes, pass),
            None => (WATCH_PART_BYTES, None),
        };
        let pass = match pass {
            Some(pass) => Some(pass),
            // Fields are sent in one piece, however long they are.
            None => room(value.next_bytes_min(&self.value))?,
        };
        let Some((kind, json)) = value.next(&mut self.value, part_bytes) else { return Some(Said::Nothing) };
        self.is_due = value.has_more(&self.value);
        Some(Said::Message(self.text(topic, kind, &json), pass))
    }

    /// The changes of a timeline.
    fn timeline(
        &mut self,
        topic: Topic,
        timeline: &TimelineNews,
        room: impl Fn(usize) -> Room,
    ) -> Option<Said> {
        let news = match self.told {
            Some(version) if version == timeline.version => return Some(Said::Nothing),
            Some(version) => timeline.since(version, self.bucket_ms).map(|json| ("delta", json)),
            None => None,
        };
        let (kind, json) = news.unwrap_or_else(|| ("snapshot", timeline.whole()));
        let pass = room(json.len())?;
        (self.told, self.bucket_ms) = (Some(timeline.version), timeline.bucket_ms());
        Some(Said::Message(self.text(topic, kind, &json), pass))
    }

    /// The changes of a tree.
    fn tree(&mut self, tree: &TreeNews, room: impl Fn(usize) -> Room) -> Option<Said> {
        let pass = room(self.tree.next_bytes_max(tree))?;
        let Some((frame, is_all)) = self.tree.next(tree) else { return Some(Said::Nothing) };
        self.is_due = !is_all;
        Some(Said::Message(Message::binary(frame), pass))
    }

    fn text(&mut self, topic: Topic, kind: &str, json: &str) -> Message {
        if kind == "snapshot" {
            self.seq = 0;
        }
        let begin = format!(r#"{{"topic":"{topic}","seq":{},"kind":"{kind}","value":"#, self.seq);
        // No longer than the room that was taken for it.
        let mut text = String::with_capacity(begin.len() + json.len() + 1);
        [&*begin, json, "}"].into_iter().for_each(|part| text.push_str(part));
        self.seq += 1;
        Message::text(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOPIC: Topic = Topic::Grid;

    fn said(watched: &mut Watched, has_room: bool) -> String {
        match watched.next(TOPIC, |_| has_room.then_some(None)) {
            Said::Nothing => String::new(),
            Said::Gone { problem, for_good } => format!("{problem} {for_good}"),
            Said::Message(message, _) => message.into_text().expect("text").as_str().to_owned(),
        }
    }

    fn value(jobs: u32) -> News {
        let mut value = Value::default();
        value.begin();
        value.set("jobs", jobs.to_string());
        News::Value(Arc::new(value))
    }

    #[test]
    fn news_without_room_are_sent_at_a_later_tick() {
        let (feed, news) = watch::channel(News::Nothing);
        let mut watched = Watched::new(news);
        assert_eq!(
            (said(&mut watched, true), watched.waits(), watched.is_due()),
            (String::new(), true, false)
        );
        feed.send_replace(value(7));
        watched.look();
        assert!(watched.is_due());
        assert_eq!(
            (said(&mut watched, false), watched.waits(), watched.is_due()),
            (String::new(), false, false)
        );
        watched.look();
        assert!(watched.is_due(), "nothing is newer, and it was not reported");
        let told = format!(r#"{{"topic":"{TOPIC}","seq":0,"kind":"snapshot","value":{{"jobs":7}}}}"#);
        assert_eq!(said(&mut watched, true), told);
        watched.look();
        assert!(!watched.is_due());
    }

    #[test]
    fn a_removed_item_that_comes_back_is_sent_again() {
        let (feed, news) = watch::channel(value(7));
        let mut watched = Watched::new(news);
        let first = said(&mut watched, true);
        feed.send_replace(News::Gone("no such run".into()));
        assert_eq!(said(&mut watched, false), "no such run false");
        feed.send_replace(value(7));
        assert_eq!(said(&mut watched, true), first, "from its beginning");
        feed.send_replace(News::Gone("no such run".into()));
        drop(feed);
        watched.look();
        assert!(watched.is_due());
        assert_eq!(said(&mut watched, true), "no such run true");
    }
}
