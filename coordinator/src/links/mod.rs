//! The hosts' websockets: for each a task that reads and one that sends, and between them a bounded
//! queue. What hosts say to one another passes here and does not trouble the driver.

mod link;
mod queue;
mod reader;
mod writer;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use axum::extract::ws::WebSocket;
use futures_util::StreamExt;
use sateen_protocol::HostId;
use sateen_protocol::coordinator::LinkId;
use sateen_protocol::message::ToCoordinator;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::time::timeout;

use crate::limits::{LINKS_MAX, WRITE_TIMEOUT};
use crate::metrics::Counters;
use reader::{End, Reader};

pub use link::Link;

/// A host that was cut off has so long to read why.
const LINGER: Duration = Duration::from_secs(1);

/// What a link tells the driver.
#[derive(Debug)]
pub enum FromLink {
    /// Messages came, all in one frame.
    Messages {
        /// Where.
        link: LinkId,
        /// In their order.
        messages: Vec<ToCoordinator>,
        /// Given back when they were handled.
        permit: OwnedSemaphorePermit,
    },
    /// The host broke the rules, and is read no more.
    Misbehaved {
        /// Where.
        link: LinkId,
        /// How.
        reason: String,
    },
    /// The link is closed.
    Closed {
        /// Which.
        link: LinkId,
        /// Why.
        reason: String,
    },
}

/// All links.
#[derive(Debug)]
pub struct Links {
    /// What went through them.
    pub counters: Arc<Counters>,
    next: AtomicU64,
    open: Mutex<HashMap<LinkId, Arc<Link>>>,
    by_host: RwLock<HashMap<HostId, Arc<Link>>>,
}

impl Links {
    /// None yet.
    pub fn new(counters: Arc<Counters>) -> Self {
        Self { counters, next: AtomicU64::new(1), open: Mutex::default(), by_host: RwLock::default() }
    }

    /// How many are open.
    pub fn count(&self) -> usize {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// A link by its number.
    pub fn get(&self, link: LinkId) -> Option<Arc<Link>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).get(&link).cloned()
    }

    /// The link of a host.
    pub fn of_host(&self, host: HostId) -> Option<Arc<Link>> {
        self.by_host
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&host)
            .cloned()
            .filter(|link| link.phase() == link::Phase::Open)
    }

    /// Relayed frames for the host go to this link from now on.
    pub fn identify(&self, id: LinkId, host: HostId) {
        // Locked until it is in both maps, so that a link that closes meanwhile is taken out of both.
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(link) = open.get(&id) else { return };
        link.identify(host);
        let mut by_host = self.by_host.write().unwrap_or_else(PoisonError::into_inner);
        by_host.insert(host, Arc::clone(link));
    }

    /// Closes all links, after what waits was sent.
    pub fn close_all(&self, reason: &str) {
        for link in self.open.lock().unwrap_or_else(PoisonError::into_inner).values() {
            link.close(reason);
        }
    }

    /// Whether one more may be opened.
    pub fn has_room(&self) -> bool {
        self.count() < LINKS_MAX
    }

    fn add(&self) -> Arc<Link> {
        let id = LinkId(self.next.fetch_add(1, Ordering::Relaxed));
        let link = Arc::new(Link::new(id, Arc::clone(&self.counters)));
        self.open.lock().unwrap_or_else(PoisonError::into_inner).insert(link.id, Arc::clone(&link));
        link
    }

    fn remove(&self, link: &Arc<Link>) {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).remove(&link.id);
        let Some(host) = link.host() else { return };
        let mut by_host = self.by_host.write().unwrap_or_else(PoisonError::into_inner);
        // The host may have a newer link by now.
        if by_host.get(&host).is_some_and(|known| Arc::ptr_eq(known, link)) {
            by_host.remove(&host);
        }
    }
}

/// Serves one websocket from its opening to its end.
pub async fn serve(socket: WebSocket, links: Arc<Links>, driver: mpsc::UnboundedSender<FromLink>) {
    let link = links.add();
    links.counters.links_opened.fetch_add(1, Ordering::Relaxed);
    let (sink, mut stream) = socket.split();
    let writer = tokio::spawn(writer::write(Arc::clone(&link), Arc::clone(&links.counters), sink));
    let end = Reader::new(&link, &links, &driver).read(&mut stream).await;
    let reason = match end {
        End::Closed(reason) => reason,
        End::Misbehaved(reason) => {
            // The machine answers with a refusal and closes the link.
            let _ = driver.send(FromLink::Misbehaved { link: link.id, reason: reason.clone() });
            let _ = timeout(WRITE_TIMEOUT, link.reached(link::Phase::Closing)).await;
            reason
        }
    };
    link.close(&reason);
    // What the host still sends is thrown away, so that it gets to read why it was cut off: closing a
    // socket with unread bytes resets the connection.
    let discard = async { while let Some(Ok(_)) = stream.next().await {} };
    let _ = tokio::join!(timeout(LINGER, discard), writer);
    links.remove(&link);
    let _ = driver.send(FromLink::Closed { link: link.id, reason: link.reason() });
}
