//! `/ws/watch`: pages receive changes four times a second.
//!
//! Each watched topic has one task, the feed, which computes the changes for all clients that watch it. All
//! feeds do so at the same moments; a moment later, a client takes the newest of all its topics and sends it in one
//! piece, since waking a client and writing to its socket make up most of the cost. A slow client gets fewer
//! updates, and nothing is ever queued for it: it gets the next message when it has taken the last. Long values come in
//! parts, or are counted until they are taken; nothing of them is kept afterwards.
//!
//! Feeds read the chronicles under locks that are held for microseconds,
//! and ask the driver only what pages ask it anyway: the driver waits for none of this.

mod client;
mod grid;
mod opening;
mod run;
mod timeline;
mod topic;
mod tree;
mod value;
mod watched;

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use axum::http::StatusCode;
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::access::Access;
use crate::api::{Api, Problem};
use crate::limits::{WATCH_TICK, WATCH_TOLD_AFTER, WATCHERS_MAX};
use crate::peer::Peer;
use crate::server::{Connection, Kind, Pass};
pub use grid::{Moments, alerts};
pub use opening::Opening;
use opening::Socket;
use timeline::TimelineNews;
use topic::Topic;
use tree::TreeNews;
use value::Value;

/// What a feed has computed.
#[derive(Debug, Clone)]
enum News {
    /// Nothing yet.
    Nothing,
    /// A value in parts.
    Value(Arc<Value>),
    /// A tree.
    Tree(Arc<TreeNews>),
    /// A timeline.
    Timeline(Arc<TimelineNews>),
    /// The topic does not exist, or no longer exists: problem+json.
    Gone(Arc<str>),
}

/// Computes the news of a topic.
enum Feed {
    Grid(Box<grid::GridFeed>),
    Run(Box<run::RunFeed>),
    Tree(Box<tree::TreeFeed>),
    Timeline(Box<timeline::TimelineFeed>),
}

/// All feeds.
#[derive(Debug, Default)]
pub struct Watching {
    feeds: Mutex<HashMap<Topic, watch::Sender<News>>>,
    clients: AtomicUsize,
    /// When the first tick was.
    began: OnceLock<Instant>,
}

impl Watching {
    fn began(&self) -> Instant {
        *self.began.get_or_init(Instant::now)
    }

    /// When clients are sent news next.
    fn next_telling(&self) -> Instant {
        let first = self.began() + WATCH_TOLD_AFTER;
        let ticks = first.elapsed().as_nanos() / WATCH_TICK.as_nanos() + 1;
        first + WATCH_TICK * u32::try_from(ticks).unwrap_or(u32::MAX)
    }

    /// How many pages watch.
    pub fn count(&self) -> usize {
        self.clients.load(Ordering::Relaxed)
    }

    /// Whether one more page may watch.
    pub fn has_room(&self) -> bool {
        self.count() < WATCHERS_MAX
    }

    /// The news of a topic; the first request starts its feed, which counts for the peer that asked.
    fn subscribe(
        self: &Arc<Self>,
        api: &Api,
        topic: Topic,
        peer: Peer,
    ) -> Result<watch::Receiver<News>, Problem> {
        let mut feeds = self.feeds.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = feeds.get(&topic) {
            return Ok(sender.subscribe());
        }
        let pass = api.gates.take(peer, Kind::Feed, 1).map_err(|_| {
            Problem::new(
                StatusCode::TOO_MANY_REQUESTS,
                "too many topics are watched, from this address or in total; close some pages, or try again later",
            )
        })?;
        let (sender, receiver) = watch::channel(News::Nothing);
        feeds.insert(topic, sender.clone());
        let (watching, api) = (Arc::clone(self), api.clone());
        tokio::spawn(async move { watching.feed(api, topic, sender, pass).await });
        Ok(receiver)
    }

    async fn feed(self: Arc<Self>, api: Api, topic: Topic, sender: watch::Sender<News>, _pass: Pass) {
        // The first tick is immediate, all others are those of the other feeds.
        let mut tick = interval_at(self.began(), WATCH_TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let mut feed = None;
        loop {
            tick.tick().await;
            {
                let mut feeds = self.feeds.lock().unwrap_or_else(PoisonError::into_inner);
                if sender.receiver_count() == 0 {
                    // Dropped before another feed of the topic can start.
                    drop(feed);
                    feeds.remove(&topic);
                    return;
                }
            }
            match next(&api, topic, &mut feed).await {
                Ok(Some(news)) => {
                    sender.send_replace(news);
                }
                Ok(None) => {}
                Err(problem) => {
                    feed = None;
                    if problem.status() == StatusCode::NOT_FOUND {
                        // There will be no more news of the topic: its clients learn that, and it accepts no others.
                        self.feeds.lock().unwrap_or_else(PoisonError::into_inner).remove(&topic);
                        sender.send_replace(News::Gone(problem.json().to_string().into()));
                        return;
                    }
                    let gone = problem.json().to_string();
                    let is_known = matches!(&*sender.borrow(), News::Gone(known) if **known == *gone);
                    if !is_known {
                        sender.send_replace(News::Gone(gone.into()));
                    }
                }
            }
        }
    }

    /// Serves one page until its websocket closes.
    pub async fn serve(
        self: Arc<Self>,
        socket: Socket,
        api: Api,
        connection: Arc<Connection>,
        access: Access,
    ) {
        self.clients.fetch_add(1, Ordering::Relaxed);
        client::serve(socket, &api, &self, (connection, access)).await;
        self.clients.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The news, if there are any.
async fn next(api: &Api, topic: Topic, feed: &mut Option<Feed>) -> Result<Option<News>, Problem> {
    if feed.is_none() {
        *feed = Some(match topic {
            Topic::Grid => Feed::Grid(Box::default()),
            Topic::GridOf(owner) => Feed::Grid(Box::new(grid::GridFeed::of(owner))),
            Topic::Run(run) => Feed::Run(Box::new(run::RunFeed::new(run))),
            Topic::Tree(run) => Feed::Tree(Box::new(tree::TreeFeed::new(api, run).await?)),
            Topic::Timeline(run) => Feed::Timeline(Box::new(timeline::TimelineFeed::new(api, run).await?)),
        });
    }
    match feed {
        Some(Feed::Grid(feed)) => Ok(feed.next(api).await?.map(News::Value)),
        Some(Feed::Run(feed)) => Ok(feed.next(api).await?.map(News::Value)),
        Some(Feed::Tree(feed)) => Ok(feed.next(api)?.map(News::Tree)),
        Some(Feed::Timeline(feed)) => Ok(feed.next(api)?.map(News::Timeline)),
        None => Ok(None),
    }
}
