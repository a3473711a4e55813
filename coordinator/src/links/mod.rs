//! The hosts' websockets: each has a task that reads and one that sends, with a bounded queue in
//! between. Messages between hosts pass here without involving the driver.

mod begun;
mod direct;
mod link;
mod queue;
mod reader;
#[cfg(test)]
mod tests;
mod writer;

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use axum::extract::ws::WebSocket;
use futures_util::StreamExt;
use sateen_protocol::HostId;
use sateen_protocol::coordinator::LinkId;
use sateen_protocol::identity::Challenge;
use sateen_protocol::limits::shortened;
use sateen_protocol::message::{ToCoordinator, ToHost};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::timeout;

use crate::access::Access;
use crate::clock::{Clock, unix_ms};
use crate::enrolment::Enrolment;
use crate::limits::{INBOX_BYTES_MAX, WRITE_TIMEOUT};
use crate::metrics::Counters;
use crate::server::{Connection, Pass};
use begun::Begun;
use reader::{End, Reader};

pub use link::Link;

/// Maximum time for a host that was cut off to read the reason.
const LINGER: Duration = Duration::from_secs(1);

/// What a link sends to the driver.
#[derive(Debug)]
pub enum FromLink {
    /// The messages of one frame.
    Messages {
        /// The link.
        link: LinkId,
        /// In order.
        messages: Vec<ToCoordinator>,
        /// Released when they were handled.
        permit: Waiting,
    },
    /// The host broke the rules, and is no longer read.
    Misbehaved {
        /// The link.
        link: LinkId,
        /// What the host did.
        reason: String,
    },
    /// The link is closed.
    Closed {
        /// The link.
        link: LinkId,
        /// The reason.
        reason: String,
    },
}

/// Memory of messages that wait for the state machine: from their link's share, and from the room of all links.
pub type Waiting = (OwnedSemaphorePermit, Option<OwnedSemaphorePermit>);

/// The links that are open.
#[derive(Debug, Default)]
pub struct Open {
    links: Mutex<HashMap<LinkId, Arc<Link>>>,
    /// Bytes queued on all of them.
    queued_bytes: Arc<AtomicUsize>,
    /// Locked while a thread reduces these.
    relieving: Mutex<()>,
    /// Memory of incomplete messages.
    fragments_bytes: AtomicUsize,
    /// Incomplete frames.
    begun: Begun,
}

impl Open {
    fn links(&self) -> MutexGuard<'_, HashMap<LinkId, Arc<Link>>> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sum_of(&self, bytes: impl Fn(&Link) -> usize) -> usize {
        self.links().values().map(|link| bytes(link)).sum()
    }

    /// The link that has the most of something.
    fn most_by(&self, bytes: impl Fn(&Link) -> usize) -> Option<Arc<Link>> {
        self.links().values().max_by_key(|link| bytes(link)).cloned()
    }
}

/// All open links.
#[derive(Debug)]
pub struct Links {
    /// Counts of frames and bytes.
    pub counters: Arc<Counters>,
    clock: Clock,
    /// Maximum links.
    most: usize,
    next: AtomicU64,
    open: Arc<Open>,
    by_host: RwLock<HashMap<HostId, Arc<Link>>>,
    /// Room for messages that wait for the state machine, in bytes.
    inbox: Arc<Semaphore>,
    /// Which hosts may take part.
    pub enrolment: Arc<Enrolment>,
}

impl Links {
    /// No links yet.
    pub fn new(counters: Arc<Counters>, clock: Clock, most: usize, enrolment: Arc<Enrolment>) -> Self {
        Self {
            counters,
            clock,
            most,
            next: AtomicU64::new(1),
            open: Arc::default(),
            by_host: RwLock::default(),
            inbox: Arc::new(Semaphore::new(INBOX_BYTES_MAX)),
            enrolment,
        }
    }

    /// The number of open links.
    pub fn count(&self) -> usize {
        self.open.links().len()
    }

    /// A link by its number.
    pub fn get(&self, link: LinkId) -> Option<Arc<Link>> {
        self.open.links().get(&link).cloned()
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
        // Locked until it is in both maps, so that a link that closes meanwhile is removed from both.
        let open = self.open.links();
        let Some(link) = open.get(&id) else { return };
        link.identify(host);
        let mut by_host = self.by_host.write().unwrap_or_else(PoisonError::into_inner);
        by_host.insert(host, Arc::clone(link));
    }

    /// Closes all links, after their queues were sent.
    pub fn close_all(&self, reason: &str) {
        for link in self.open.links().values() {
            link.close(reason);
        }
    }

    /// Whether one more link may be opened.
    pub fn has_room(&self) -> bool {
        self.count() < self.most
    }

    /// A new link, from this address.
    pub(crate) fn add(&self, address: IpAddr) -> Arc<Link> {
        let id = LinkId(self.next.fetch_add(1, Ordering::Relaxed));
        let now = self.clock.now();
        let link = Arc::new(Link::new(id, address, Arc::clone(&self.counters), &self.open, now));
        self.open.links().insert(link.id, Arc::clone(&link));
        link
    }

    fn remove(&self, link: &Arc<Link>) {
        self.open.links().remove(&link.id);
        let Some(host) = link.host() else { return };
        let mut by_host = self.by_host.write().unwrap_or_else(PoisonError::into_inner);
        // The host may have a newer link by now.
        if by_host.get(&host).is_some_and(|known| Arc::ptr_eq(known, link)) {
            by_host.remove(&host);
        }
    }
}

/// The parts of its peer's budgets that a link holds.
#[derive(Debug)]
pub struct Doors {
    /// Held until the link is closed.
    pub _link: Pass,
    /// Held until its hello was understood.
    pub unknown: Option<Pass>,
    /// Its socket, from which little is read before that.
    pub connection: Arc<Connection>,
    /// The token with which it was opened, and with which it ends.
    pub access: Access,
}

impl Doors {
    /// Its hello was understood.
    fn said_hello(&mut self) {
        self.connection.read_on();
        self.unknown = None;
    }
}

/// Serves one websocket until it is closed.
pub async fn serve(
    socket: WebSocket,
    mut doors: Doors,
    links: Arc<Links>,
    driver: mpsc::UnboundedSender<FromLink>,
) {
    let link = links.add(doors.connection.address.ip());
    links.counters.links_opened.fetch_add(1, Ordering::Relaxed);
    let (heard, clock) = (Arc::clone(&link), links.clock);
    // Each byte of a long frame over a slow link is a sign of life.
    doors.connection.when_read(move |bytes| heard.reads(clock.now(), bytes));
    let (sink, mut stream) = socket.split();
    let writer = tokio::spawn(writer::write(Arc::clone(&link), Arc::clone(&links.counters), sink));
    let (connection, access) = (Arc::clone(&doors.connection), doors.access.clone());
    let read = async {
        let mut nonce = [0; 32];
        if let Err(error) = getrandom::fill(&mut nonce) {
            tracing::error!(%error, "the system has no randomness for a challenge");
            return End::Closed("the coordinator cannot challenge it".to_owned());
        }
        let challenge = Challenge { nonce, grid: links.enrolment.grid };
        let _ = link.send(None, ToHost::Challenge(challenge));
        Reader::new(&link, &links, &driver, &mut doors, challenge).read(&mut stream).await
    };
    let end = tokio::select! {
        end = read => end,
        // Only links without a hello can lose their places.
        () = connection.until_cut() => End::Closed("it did not say hello, and other connections wait".to_owned()),
        denied = access.until_over() => End::Closed(denied.to_string()),
    };
    if let Some(key) = link.key.get() {
        links.enrolment.leave(key, link.id, unix_ms());
    }
    link.holds_fragments(0);
    link.has_whole_frame();
    let reason = match end {
        End::Closed(reason) => reason,
        End::Refused(reason) => {
            let _ = link.send(None, ToHost::Refused { reason: shortened(&reason) });
            reason
        }
        End::Misbehaved(reason) => {
            // The machine answers with a refusal and closes the link.
            let _ = driver.send(FromLink::Misbehaved { link: link.id, reason: reason.clone() });
            let _ = timeout(WRITE_TIMEOUT, link.reached(link::Phase::Closing)).await;
            reason
        }
    };
    let is_cut = link.phase() == link::Phase::Dead;
    link.close(&reason);
    // What the host still sends is discarded, so that it can read why it was cut off: closing a
    // socket with unread bytes resets the connection.
    let discard = async { while let Some(Ok(_)) = stream.next().await {} };
    let linger = if is_cut { Duration::ZERO } else { LINGER };
    let _ = tokio::join!(timeout(linger, discard), writer);
    links.remove(&link);
    let _ = driver.send(FromLink::Closed { link: link.id, reason: link.reason() });
}
