//! One websocket of a host.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use sateen_protocol::coordinator::LinkId;
use sateen_protocol::message::ToHost;
use sateen_protocol::{HostId, PublicKey, Time};
use tokio::sync::watch;

use super::Open;
use super::begun::{Begun, Late};
use super::queue::{Full, Queue};
use crate::limits::{FRAGMENTS_BYTES_MAX, LINKS_QUEUED_BYTES_MAX};
use crate::metrics::Counters;
use crate::peer::Peer;

/// The state of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Messages pass in both directions.
    Open,
    /// The queue is sent, then the link is closed.
    Closing,
    /// Nothing is sent any more.
    Dead,
}

/// One websocket, from open to close.
#[derive(Debug)]
pub struct Link {
    /// Its number.
    pub id: LinkId,
    /// The address of its host.
    pub address: IpAddr,
    queue: Queue,
    phase: watch::Sender<Phase>,
    host: OnceLock<HostId>,
    /// The key of its host, once that is proven.
    pub(super) key: OnceLock<PublicKey>,
    identified: tokio::sync::Notify,
    reason: Mutex<String>,
    counters: Arc<Counters>,
    others: Weak<Open>,
    /// When something was last received, by the machine's clock in nanoseconds.
    heard_ns: AtomicU64,
    /// Memory of an incomplete message, in bytes.
    fragments_bytes: AtomicUsize,
    /// Bytes read since the last complete frame.
    begun_bytes: AtomicUsize,
}

impl Link {
    pub(super) fn new(
        id: LinkId,
        address: IpAddr,
        counters: Arc<Counters>,
        others: &Arc<Open>,
        now: Time,
    ) -> Self {
        Self {
            id,
            address,
            heard_ns: AtomicU64::new(now.0),
            fragments_bytes: AtomicUsize::new(0),
            begun_bytes: AtomicUsize::new(0),
            queue: Queue::new(Arc::clone(&others.queued_bytes)),
            phase: watch::Sender::new(Phase::Open),
            host: OnceLock::new(),
            key: OnceLock::new(),
            identified: tokio::sync::Notify::new(),
            reason: Mutex::default(),
            counters,
            others: Arc::downgrade(others),
        }
    }

    /// Queues a message; `from` another link if it is relayed. A receiver that takes too little of the coordinator's own
    /// messages is cut off.
    ///
    /// # Errors
    /// When the message does not fit and the sender is to blame.
    pub fn send(&self, from: Option<LinkId>, message: ToHost) -> Result<(), SenderFloods> {
        if *self.phase.borrow() != Phase::Open {
            return Ok(());
        }
        match self.queue.push(from, message) {
            Ok(()) => {
                if self.queue.all_bytes() > LINKS_QUEUED_BYTES_MAX {
                    self.relieve();
                }
                Ok(())
            }
            Err(Full::Sender) => Err(SenderFloods),
            Err(Full::Dropped) => {
                tracing::debug!(link = self.id.0, "a relayed message is dropped: too many wait");
                Ok(())
            }
            Err(Full::Receiver) => {
                self.counters.slow_links.fetch_add(1, Relaxed);
                self.cut("it reads too little of what it is sent");
                Ok(())
            }
        }
    }

    /// Too much is queued on all links. If most of it is relayed, the messages of the largest senders are dropped,
    /// for all receivers. Otherwise the link is cut off whose host takes the least of the coordinator's own messages.
    fn relieve(&self) {
        let Some(others) = self.others.upgrade() else { return };
        // Other threads that notice the same need not repeat this.
        let Ok(_alone) = others.relieving.try_lock() else { return };
        let all: Vec<Arc<Self>> = others.links().values().cloned().collect();
        let mut by_sender = HashMap::new();
        all.iter().for_each(|link| link.queue.add_relayed(&mut by_sender));
        if by_sender.values().sum::<usize>() >= LINKS_QUEUED_BYTES_MAX / 2 {
            let largest = largest(by_sender, LINKS_QUEUED_BYTES_MAX / 8);
            tracing::debug!(
                senders = largest.len(),
                "too much waits on all links; messages of the senders with the most are dropped"
            );
            all.iter().for_each(|link| link.queue.drop_senders(&largest));
            return;
        }
        let slowest = all.iter().max_by_key(|link| link.queue.own_bytes());
        if let Some(slowest) = slowest {
            self.counters.slow_links.fetch_add(1, Relaxed);
            slowest.cut("it reads too little of what it is sent, and too much waits on all links");
            slowest.queue.clear();
        }
    }

    /// An incomplete message takes this much memory. If there is too much of that on all links, the one
    /// with the most is cut off.
    pub(super) fn holds_fragments(&self, bytes: usize) {
        let Some(others) = self.others.upgrade() else { return };
        let before = self.fragments_bytes.swap(bytes, Relaxed);
        let all = &others.fragments_bytes;
        // Within its own share of the sum, which therefore never falls below 0.
        let sum = if bytes >= before {
            all.fetch_add(bytes - before, Relaxed) + (bytes - before)
        } else {
            all.fetch_sub(before - bytes, Relaxed) - (before - bytes)
        };
        // Some may be cut off already, and are about to release theirs.
        if sum > FRAGMENTS_BYTES_MAX
            && others.sum_of(Self::fragments_bytes) > FRAGMENTS_BYTES_MAX
            && let Some(most) = others.most_by(Self::fragments_bytes)
        {
            most.close("it does not end a long message, and too many such messages wait");
        }
    }

    /// See [`Self::holds_fragments`].
    fn fragments_bytes(&self) -> usize {
        if self.phase() == Phase::Open { self.fragments_bytes.load(Relaxed) } else { 0 }
    }

    /// Bytes arrived: a sign of life, and possibly a part of an incomplete frame.
    pub(super) fn reads(&self, now: Time, bytes: usize) {
        self.hear(now);
        let begun = self.begun_bytes.fetch_add(bytes, Relaxed) + bytes;
        if !Begun::counts(begun) || self.phase() != Phase::Open {
            return;
        }
        let Some(others) = self.others.upgrade() else { return };
        let Some(late) = others.begun.note(self.id, Peer::of(self.address), begun, now) else { return };
        match late {
            Late::Most(link) if link != self.id => {
                let most = others.links().get(&link).cloned();
                most.iter().for_each(|most| most.cut(&late.reason()));
            }
            Late::Most(_) | Late::Slow => self.cut(&late.reason()),
        }
    }

    /// A frame is complete, or the link is read no more.
    pub(super) fn has_whole_frame(&self) {
        if Begun::counts(self.begun_bytes.swap(0, Relaxed))
            && let Some(others) = self.others.upgrade()
        {
            others.begun.forget(self.id);
        }
    }

    /// Something arrived: the host is not silent.
    pub(super) fn hear(&self, now: Time) {
        self.heard_ns.store(now.0, Relaxed);
    }

    /// When something last arrived.
    pub fn last_heard(&self) -> Time {
        Time(self.heard_ns.load(Relaxed))
    }

    pub(crate) fn queue(&self) -> &Queue {
        &self.queue
    }

    /// The host at the other end, once it is known.
    pub fn host(&self) -> Option<HostId> {
        self.host.get().copied()
    }

    /// Waits until the host at the other end is known.
    pub(super) async fn identified(&self) -> HostId {
        loop {
            let identified = self.identified.notified();
            if let Some(host) = self.host() {
                return host;
            }
            identified.await;
        }
    }

    pub(super) fn identify(&self, host: HostId) {
        // The machine identifies a link once.
        let _ = self.host.set(host);
        self.identified.notify_one();
    }

    /// Closes the link when its queue was sent.
    pub fn close(&self, reason: &str) {
        self.advance(Phase::Closing, reason);
    }

    /// Closes the link now.
    pub fn cut(&self, reason: &str) {
        self.advance(Phase::Dead, reason);
    }

    fn advance(&self, to: Phase, why: &str) {
        self.phase.send_if_modified(|phase| {
            if *phase == Phase::Open {
                why.clone_into(&mut self.reason.lock().unwrap_or_else(PoisonError::into_inner));
            }
            let changed = *phase < to;
            *phase = (*phase).max(to);
            changed
        });
    }

    /// Why the link was closed; empty while it is open.
    pub fn reason(&self) -> String {
        self.reason.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn phase(&self) -> Phase {
        *self.phase.borrow()
    }

    /// Waits until the link is in this state.
    pub(super) async fn reached(&self, phase: Phase) {
        let mut phases = self.phase.subscribe();
        // The sender lives in this link itself.
        let _ = phases.wait_for(|now| *now >= phase).await;
    }
}

/// The senders with the most bytes, as many as have this much together.
fn largest(by_sender: HashMap<LinkId, usize>, bytes: usize) -> HashSet<LinkId> {
    let mut senders: Vec<(usize, LinkId)> =
        by_sender.into_iter().map(|(sender, bytes)| (bytes, sender)).collect();
    senders.sort_unstable();
    let (mut largest, mut sum) = (HashSet::new(), 0);
    while sum < bytes
        && let Some((of_sender, sender)) = senders.pop()
    {
        sum += of_sender;
        largest.insert(sender);
    }
    largest
}

/// A host has more queued for another than is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SenderFloods;

#[cfg(test)]
mod tests {
    use super::*;

    /// Hosts that read nothing, and senders that exploit that.
    #[test]
    fn when_queues_are_full_the_largest_senders_lose_messages_and_no_receiver_is_cut_off() {
        let open = Arc::<Open>::default();
        let add = |number: u64| {
            let address = IpAddr::from([127, 0, 0, 1]);
            let link = Link::new(LinkId(number), address, Arc::default(), &open, Time(0));
            let link = Arc::new(link);
            open.links().insert(link.id, Arc::clone(&link));
            link
        };
        let deaf: Vec<_> = (1..=30).map(add).collect();
        let relayed = |bytes| ToHost::Relayed { from: HostId(1), frame: vec![0; bytes] };
        let honest = LinkId(200);
        deaf.iter().for_each(|link| link.send(Some(honest), relayed(100)).expect("room"));
        for flooder in 100..140 {
            for link in &deaf {
                for _ in 0..3 {
                    link.send(Some(LinkId(flooder)), relayed(1 << 20)).expect("within its share");
                }
                assert!(link.queue.all_bytes() <= LINKS_QUEUED_BYTES_MAX + (2 << 20));
            }
        }
        let mut by_sender = HashMap::new();
        for link in &deaf {
            assert_eq!(link.phase(), Phase::Open, "a receiver is not to blame");
            link.queue.add_relayed(&mut by_sender);
        }
        assert!(by_sender[&honest] >= 30 * 100, "the honest sender's messages are still there");
    }

    #[test]
    fn a_host_that_takes_none_of_the_coordinators_messages_is_cut_off() {
        let open = Arc::<Open>::default();
        let links: Vec<_> = (1..=10)
            .map(|number| {
                let address = IpAddr::from([127, 0, 0, 1]);
                let link = Arc::new(Link::new(LinkId(number), address, Arc::default(), &open, Time(0)));
                open.links().insert(link.id, Arc::clone(&link));
                link
            })
            .collect();
        let told = |bytes: usize| ToHost::Relayed { from: HostId(1), frame: vec![0; bytes] };
        links[3].send(None, told(40 << 20)).expect("nobody to blame");
        for link in links.iter().filter(|link| link.id != links[3].id) {
            link.send(None, told(30 << 20)).expect("nobody to blame");
        }
        assert_eq!(links[3].phase(), Phase::Dead);
        assert!(links[0].queue.all_bytes() <= LINKS_QUEUED_BYTES_MAX);
    }
}
