//! What peers may have at once: each of them, and all together.
//!
//! A peer is an address. Whoever has many of them still meets the totals; whoever has one cannot use these up.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::limits::{
    BODIES_MAX, BODIES_PER_PEER_MAX, CONNECTIONS_MAX, CONNECTIONS_PER_PEER_MAX, LINKS_MAX,
    LINKS_PER_PEER_MAX, LINKS_UNKNOWN_MAX, LINKS_UNKNOWN_PER_PEER_MAX, REQUESTS_MAX, REQUESTS_PER_PEER_MAX,
    RESPONSE_KIB_MAX, RESPONSE_KIB_PER_PEER_MAX, TRANSFERS_MAX, TRANSFERS_PER_PEER_MAX, WATCHERS_MAX,
    WATCHERS_PER_PEER_MAX,
};
use crate::peer::Peer;

/// What there is a limited number of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Connections that are no websockets.
    Connection,
    /// Requests that are worked on.
    Request,
    /// Bodies of requests that are held in memory.
    Body,
    /// Blobs on their way in or out.
    Transfer,
    /// KiB of answers that are being sent.
    ResponseKib,
    /// Websockets of hosts that have not said hello.
    UnknownLink,
    /// Websockets of hosts.
    Link,
    /// Websockets of pages.
    Watcher,
}

impl Kind {
    /// All at once, and of one peer.
    const fn max(self) -> (usize, usize) {
        match self {
            Self::Connection => (CONNECTIONS_MAX, CONNECTIONS_PER_PEER_MAX),
            Self::Request => (REQUESTS_MAX, REQUESTS_PER_PEER_MAX),
            Self::Body => (BODIES_MAX, BODIES_PER_PEER_MAX),
            Self::Transfer => (TRANSFERS_MAX, TRANSFERS_PER_PEER_MAX),
            Self::ResponseKib => (RESPONSE_KIB_MAX, RESPONSE_KIB_PER_PEER_MAX),
            Self::UnknownLink => (LINKS_UNKNOWN_MAX, LINKS_UNKNOWN_PER_PEER_MAX),
            Self::Link => (LINKS_MAX, LINKS_PER_PEER_MAX),
            Self::Watcher => (WATCHERS_MAX, WATCHERS_PER_PEER_MAX),
        }
    }
}

/// Whose limit is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Full {
    /// The peer's own.
    Peer,
    /// That of all.
    All,
}

/// Counts what peers have.
#[derive(Debug, Default)]
pub struct Gates {
    held: Mutex<Held>,
    /// Told when something was given back.
    pub freed: tokio::sync::Notify,
}

#[derive(Debug, Default)]
struct Held {
    all: HashMap<Kind, usize>,
    by_peer: HashMap<(Peer, Kind), usize>,
}

impl Gates {
    /// Takes `count` of a kind for a peer.
    ///
    /// # Errors
    /// When there is no room. One alone always has room, however much it is.
    pub fn take(self: &Arc<Self>, peer: Peer, kind: Kind, count: usize) -> Result<Pass, Full> {
        let (all_max, of_peer_max) = kind.max();
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let all = held.all.get(&kind).copied().unwrap_or(0);
        let of_peer = held.by_peer.get(&(peer, kind)).copied().unwrap_or(0);
        if of_peer > 0 && of_peer + count > of_peer_max {
            return Err(Full::Peer);
        }
        if all > 0 && all + count > all_max {
            return Err(Full::All);
        }
        *held.all.entry(kind).or_default() += count;
        *held.by_peer.entry((peer, kind)).or_default() += count;
        Ok(Pass { gates: Arc::clone(self), peer, kind, count })
    }

    /// The same, as soon as there is room.
    pub async fn wait(self: &Arc<Self>, peer: Peer, kind: Kind, count: usize) -> Pass {
        loop {
            let freed = self.freed.notified();
            tokio::pin!(freed);
            freed.as_mut().enable();
            if let Ok(pass) = self.take(peer, kind, count) {
                return pass;
            }
            freed.await;
        }
    }
}

/// Given back when it is dropped.
#[derive(Debug)]
pub struct Pass {
    gates: Arc<Gates>,
    peer: Peer,
    kind: Kind,
    count: usize,
}

impl Drop for Pass {
    fn drop(&mut self) {
        {
            let mut held = self.gates.held.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(all) = held.all.get_mut(&self.kind) {
                *all = all.saturating_sub(self.count);
            }
            let key = (self.peer, self.kind);
            if let Some(of_peer) = held.by_peer.get_mut(&key) {
                *of_peer = of_peer.saturating_sub(self.count);
                if *of_peer == 0 {
                    held.by_peer.remove(&key);
                }
            }
        }
        self.gates.freed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(number: u8) -> Peer {
        Peer::of([192, 0, 2, number].into())
    }

    #[test]
    fn one_peer_cannot_use_up_what_is_for_all() {
        let gates = Arc::new(Gates::default());
        let take = |number| gates.take(peer(number), Kind::Transfer, 1);
        let mut passes: Vec<Pass> = (0..TRANSFERS_PER_PEER_MAX).map(|_| take(1).expect("room")).collect();
        assert_eq!(take(1).err(), Some(Full::Peer));
        passes.push(take(2).expect("room for another"));
        for number in 3..=u8::MAX {
            passes.extend(take(number).ok());
        }
        while let Ok(pass) = take(2) {
            passes.push(pass);
        }
        let count = passes.len();
        for number in 3..=u8::MAX {
            while let Ok(pass) = take(number) {
                passes.push(pass);
            }
        }
        assert!(count <= passes.len() && passes.len() == TRANSFERS_MAX, "{}", passes.len());
        assert_eq!(take(250).err(), Some(Full::All));
        drop(passes);
        assert!(take(1).is_ok() && gates.held.lock().expect("sound").by_peer.is_empty());
    }

    #[tokio::test]
    async fn who_waits_is_let_in_when_there_is_room() {
        let gates = Arc::new(Gates::default());
        let pass =
            gates.take(peer(1), Kind::ResponseKib, RESPONSE_KIB_PER_PEER_MAX + 1).expect("alone it has room");
        assert!(gates.take(peer(1), Kind::ResponseKib, 1).is_err());
        let waiting = tokio::spawn({
            let gates = Arc::clone(&gates);
            async move { gates.wait(peer(1), Kind::ResponseKib, 1).await }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        drop(pass);
        assert!(waiting.await.is_ok());
    }
}
