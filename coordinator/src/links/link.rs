//! One websocket of a host.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use sateen_protocol::HostId;
use sateen_protocol::coordinator::LinkId;
use sateen_protocol::message::ToHost;
use tokio::sync::watch;

use super::queue::{Full, Queue};
use crate::metrics::Counters;

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
    queue: Queue,
    phase: watch::Sender<Phase>,
    host: OnceLock<HostId>,
    identified: tokio::sync::Notify,
    reason: Mutex<String>,
    counters: Arc<Counters>,
}

impl Link {
    pub(super) fn new(id: LinkId, counters: Arc<Counters>) -> Self {
        Self {
            id,
            queue: Queue::default(),
            phase: watch::Sender::new(Phase::Open),
            host: OnceLock::new(),
            identified: tokio::sync::Notify::new(),
            reason: Mutex::default(),
            counters,
        }
    }

    /// Sends a message; `from` another link if it is relayed. A receiver that is too slow is cut off.
    ///
    /// # Errors
    /// When the sender is to blame that it does not fit.
    pub fn send(&self, from: Option<LinkId>, message: ToHost) -> Result<(), SenderFloods> {
        if *self.phase.borrow() != Phase::Open {
            return Ok(());
        }
        match self.queue.push(from, message) {
            Ok(()) => Ok(()),
            Err(Full::Sender) => Err(SenderFloods),
            Err(Full::Receiver) => {
                self.counters.slow_links.fetch_add(1, Relaxed);
                self.cut("it takes too little of what it is sent");
                Ok(())
            }
        }
    }

    pub(super) fn queue(&self) -> &Queue {
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

/// A host has more under way to another than is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SenderFloods;
