//! A topic that a page watches: what it was told of it, and what it is told next.

use std::sync::Arc;

use tokio::sync::watch;
use tokio_tungstenite::tungstenite::Message;

use super::tree::TreeClient;
use super::value::ValueClient;
use super::{News, TimelineNews, Topic, TreeNews, Value};
use crate::limits::WATCH_PART_BYTES;
use crate::server::Pass;

/// Room for a message: `None` if there is none, and `Some(None)` if none is needed.
type Room = Option<Option<Pass>>;

/// A topic that is watched.
#[derive(Debug)]
pub struct Watched {
    news: watch::Receiver<News>,
    /// Something may have to be said at once.
    is_due: bool,
    /// There was no room for what is new: it is looked at again at the next tick, as it is then.
    had_no_room: bool,
    /// Nothing was known when it was asked for: the first news are told when they come.
    waits: bool,
    seq: u64,
    value: ValueClient,
    /// The version of a timeline that was told last.
    told: Option<u64>,
    bucket_ms: u32,
    tree: TreeClient,
}

/// What is said next of a topic.
#[derive(Debug)]
pub enum Said {
    /// Nothing is new, or others have not taken what they were sent.
    Nothing,
    /// There is no such thing, or no more.
    Gone {
        /// Why, as problem+json.
        problem: Arc<str>,
        /// The feed has ended and will say no more.
        for_good: bool,
    },
    /// A message, and its room if it is long.
    Message(Message, Option<Pass>),
}

impl Watched {
    /// One of which nothing was told.
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

    /// Whether something may have to be said at once.
    pub fn is_due(&self) -> bool {
        self.is_due
    }

    /// Whether the first news are still to come.
    pub fn waits(&self) -> bool {
        self.waits
    }

    /// A tick: looks whether there is something to be said.
    pub fn look(&mut self) {
        // A feed that has ended has said why.
        self.is_due = std::mem::take(&mut self.had_no_room) || self.news.has_changed().unwrap_or(true);
    }

    /// There are first news.
    pub fn has_news(&mut self) {
        self.is_due = true;
    }

    /// Waits until something is new.
    pub async fn changed(&mut self) {
        if self.news.changed().await.is_err() {
            // Its feed has ended, which it does not while somebody listens.
            std::future::pending::<()>().await;
        }
    }

    /// What is said next, if there is room for that.
    pub fn next(&mut self, topic: Topic, room: impl Fn(usize) -> Room) -> Said {
        // Nothing of the news is kept while the page takes its time: what it is told afterwards is the newest.
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

    /// What is new of a value; nothing if there is no room for that.
    fn value(&mut self, topic: Topic, value: &Value, room: impl Fn(usize) -> Room) -> Option<Said> {
        // Where there is no room for a long part, a short one does.
        let part_bytes = self.value.part_bytes();
        let (part_bytes, pass) = match room(part_bytes) {
            Some(pass) => (part_bytes, pass),
            None => (WATCH_PART_BYTES, None),
        };
        let pass = match pass {
            Some(pass) => Some(pass),
            // Fields are told in one piece, however long they are.
            None => room(value.next_bytes_min(&self.value))?,
        };
        let Some((kind, json)) = value.next(&mut self.value, part_bytes) else { return Some(Said::Nothing) };
        self.is_due = value.has_more(&self.value);
        Some(Said::Message(self.text(topic, kind, &json), pass))
    }

    /// What is new of a timeline.
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

    /// What is new of a tree.
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
        // No longer than it is counted.
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
    fn what_there_was_no_room_for_is_told_at_a_later_tick() {
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
        assert!(watched.is_due(), "nothing is newer, and it was not told");
        let told = format!(r#"{{"topic":"{TOPIC}","seq":0,"kind":"snapshot","value":{{"jobs":7}}}}"#);
        assert_eq!(said(&mut watched, true), told);
        watched.look();
        assert!(!watched.is_due());
    }

    #[test]
    fn what_is_gone_is_told_anew_if_it_comes_back() {
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
