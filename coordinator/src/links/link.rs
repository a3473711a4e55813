//! One websocket of a host.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use sateen_protocol::coordinator::LinkId;
use sateen_protocol::message::ToHost;
use sateen_protocol::{HostId, Time};
use tokio::sync::watch;

use super::Open;
use super::begun::{Begun, Late};
use super::queue::{Full, Queue};
use crate::limits::{FRAGMENTS_BYTES_MAX, LINKS_QUEUED_BYTES_MAX};
use crate::metrics::Counters;
use crate::peer::Peer;

/// How far a link is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Messages go both ways.
    Open,
    /// What waits is sent, then it is closed.
    Closing,
    /// Nothing is sent any more.
    Dead,
}

/// One websocket, from open to close.
#[derive(Debug)]
pub struct Link {
    /// Its number.
    pub id: LinkId,
    /// Where its host comes from.
    pub address: IpAddr,
    queue: Queue,
    phase: watch::Sender<Phase>,
    host: OnceLock<HostId>,
    identified: tokio::sync::Notify,
    reason: Mutex<String>,
    counters: Arc<Counters>,
    others: Weak<Open>,
    /// When something came from it last, by the machine's clock in nanoseconds.
    heard_ns: AtomicU64,
    /// Memory of a message whose last fragment has not come, in bytes.
    fragments_bytes: AtomicUsize,
    /// What was read since the last whole frame, in bytes.
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
            identified: tokio::sync::Notify::new(),
            reason: Mutex::default(),
            counters,
            others: Arc::downgrade(others),
        }
    }

    /// Sends a message; `from` another link if it is relayed. A receiver that takes too little of what the coordinator
    /// has to tell it is cut off.
    ///
    /// # Errors
    /// When the sender is to blame that it does not fit.
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
                self.cut("it takes too little of what it is sent");
                Ok(())
            }
        }
    }

    /// Too much waits on all links. Most of it may be relayed: then that of those who have the most is thrown away,
    /// whoever is to get it. Or else the link is cut off whose host takes the least of what it is told.
    fn relieve(&self) {
        let Some(others) = self.others.upgrade() else { return };
        // Others that find the same need not do it again.
        let Ok(_alone) = others.relieving.try_lock() else { return };
        let all: Vec<Arc<Self>> = others.links().values().cloned().collect();
        let mut by_sender = HashMap::new();
        all.iter().for_each(|link| link.queue.add_relayed(&mut by_sender));
        if by_sender.values().sum::<usize>() >= LINKS_QUEUED_BYTES_MAX / 2 {
            let largest = largest(by_sender, LINKS_QUEUED_BYTES_MAX / 8);
            tracing::debug!(
                senders = largest.len(),
                "too much waits on all links; what the largest sent is dropped"
            );
            all.iter().for_each(|link| link.queue.drop_senders(&largest));
            return;
        }
        let slowest = all.iter().max_by_key(|link| link.queue.own_bytes());
        if let Some(slowest) = slowest {
            self.counters.slow_links.fetch_add(1, Relaxed);
            slowest.cut("it takes too little of what it is sent, and too much waits on all links");
            slowest.queue.clear();
        }
    }

    /// A message whose last fragment has not come takes so much. If there is too much of that on all links, the one
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
        // Some may be cut off already and give theirs back at once.
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

    /// Bytes came: they are a sign of life, and a part of a frame that may not be whole yet.
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

    /// What came is the end of a frame, or the link is read no more.
    pub(super) fn has_whole_frame(&self) {
        if Begun::counts(self.begun_bytes.swap(0, Relaxed))
            && let Some(others) = self.others.upgrade()
        {
            others.begun.forget(self.id);
        }
    }

    /// Something came: whatever it is, the host is not silent.
    pub(super) fn hear(&self, now: Time) {
        self.heard_ns.store(now.0, Relaxed);
    }

    /// When something came last.
    pub fn last_heard(&self) -> Time {
        Time(self.heard_ns.load(Relaxed))
    }

    pub(crate) fn queue(&self) -> &Queue {
        &self.queue
    }

    /// Who is at the other end, once that is known.
    pub fn host(&self) -> Option<HostId> {
        self.host.get().copied()
    }

    /// Waits until it is known who is at the other end.
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

    /// Closes it when what waits was sent.
    pub fn close(&self, reason: &str) {
        self.advance(Phase::Closing, reason);
    }

    /// Closes it now.
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

    /// Why it was closed; empty as long as it is open.
    pub fn reason(&self) -> String {
        self.reason.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn phase(&self) -> Phase {
        *self.phase.borrow()
    }

    /// Waits until it is so far.
    pub(super) async fn reached(&self, phase: Phase) {
        let mut phases = self.phase.subscribe();
        // The sender lives in this very link.
        let _ = phases.wait_for(|now| *now >= phase).await;
    }
}

/// Those that have the most, as many as have so much together.
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

/// A host has more under way to another than is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SenderFloods;

#[cfg(test)]
mod tests {
    use super::*;

    /// Hosts that read nothing, and senders that make use of that.
    #[test]
    fn when_too_much_waits_what_the_largest_senders_have_goes_and_no_receiver() {
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
    fn a_host_that_takes_nothing_of_what_it_is_told_is_cut_off() {
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
