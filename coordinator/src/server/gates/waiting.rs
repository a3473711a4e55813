//! Waiters.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::timeout;

use super::{Full, Gates, Kind, Pass};
use crate::peer::Peer;
use crate::server::activity::Activity;

/// Interval at which the first waiter of a peer looks for connections that do too little.
const LOOK: Duration = Duration::from_millis(250);

/// A waiter.
#[derive(Debug)]
pub struct Waiter {
    /// Its peer.
    pub connection: Arc<Activity>,
    turn: oneshot::Sender<Pass>,
}

/// The waiters for one kind, in order.
#[derive(Debug, Default)]
pub struct Line {
    of_peer: HashMap<Peer, BTreeMap<u64, Waiter>>,
    /// The first waiter of each peer that may have more.
    first: BTreeSet<(u64, Peer)>,
    next: u64,
}

impl Line {
    fn first_of(&self, peer: Peer) -> Option<u64> {
        self.of_peer.get(&peer)?.keys().next().copied()
    }

    /// Adds a waiter at the end; returns its number.
    fn add(&mut self, waiter: Waiter, is_open: bool) -> u64 {
        let (number, peer) = (self.next, waiter.connection.peer());
        self.next += 1;
        self.of_peer.entry(peer).or_default().insert(number, waiter);
        self.set_open(peer, is_open);
        number
    }

    fn remove(&mut self, number: u64, peer: Peer) -> Option<Waiter> {
        let was_open = self.first.remove(&(number, peer));
        let waiters = self.of_peer.get_mut(&peer)?;
        let waiter = waiters.remove(&number);
        if waiters.is_empty() {
            self.of_peer.remove(&peer);
        } else if was_open {
            self.set_open(peer, true);
        }
        waiter
    }

    /// Whether the peer may have more.
    pub fn set_open(&mut self, peer: Peer, is_open: bool) {
        let Some(first) = self.first_of(peer) else { return };
        if is_open {
            self.first.insert((first, peer));
        } else {
            self.first.remove(&(first, peer));
        }
    }

    /// Takes out the one that has waited longest, among peers that may have more.
    pub fn take_first(&mut self) -> Option<Waiter> {
        let (number, peer) = *self.first.first()?;
        self.remove(number, peer)
    }

    /// The number of a peer's waiters.
    pub fn count_of(&self, peer: Peer) -> usize {
        self.of_peer.get(&peer).map_or(0, BTreeMap::len)
    }

    /// Whether this waiter is to look for connections that do too little: the first of its peer, if that may have no more, or
    fn is_to_look(&self, number: u64, peer: Peer) -> bool {
        match self.first.contains(&(number, peer)) {
            true => self.first.first() == Some(&(number, peer)),
            false => self.first_of(peer) == Some(number),
        }
    }
}

/// Turns that were given and are not handed over yet.
#[derive(Debug, Default)]
#[must_use]
pub struct Grants(Vec<(Waiter, Pass)>);

impl Grants {
    /// Adds a turn.
    pub fn add(&mut self, waiter: Waiter, pass: Pass) {
        self.0.push((waiter, pass));
    }

    /// Hands them over, which must not happen under the lock: a waiter that has gone returns its turn.
    pub fn hand_over(self) {
        for (waiter, pass) in self.0 {
            drop(waiter.turn.send(pass));
        }
    }
}

/// Removes a waiter from the line when it is dropped.
struct Place<'a> {
    gates: &'a Arc<Gates>,
    kind: Kind,
    peer: Peer,
    number: u64,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut held = self.gates.held();
        let waiter = held.get_mut(&self.kind).and_then(|of_kind| of_kind.line.remove(self.number, self.peer));
        drop(held);
        drop(waiter);
    }
}

impl Gates {
    /// Makes room at the expense of connections that do too little, if it is this waiter's task to look: for all waiters of its
    /// peer, or, where the total is reached, for the first of each peer that may have more.
    pub(super) fn look(self: &Arc<Self>, kind: Kind, number: u64, peer: Peer) {
        let mut held = self.held();
        let Some(of_kind) = held.get_mut(&kind) else { return };
        if !of_kind.line.is_to_look(number, peer) {
            return;
        }
        let Err(full) = of_kind.room(peer, kind, 1) else { return };
        let made = match full {
            Full::Peer => of_kind.make_room(kind, Some(peer), of_kind.line.count_of(peer)),
            Full::All => of_kind.make_room(kind, None, of_kind.line.first.len()),
        };
        if !made {
            return;
        }
        let is_open = of_kind.room(peer, kind, 1) != Err(Full::Peer);
        of_kind.line.set_open(peer, is_open);
        let grants = self.grant(of_kind, kind);
        drop(held);
        grants.hand_over();
    }

    /// Takes one of a kind for a connection as soon as it is its turn.
    pub async fn wait_for(self: &Arc<Self>, connection: &Arc<Activity>, kind: Kind) -> Pass {
        let peer = connection.peer();
        let (place, mut turn) = {
            let mut held = self.held();
            let of_kind = held.entry(kind).or_default();
            // Other waiters of its peer come first; those of other peers have all the room that there is.
            if of_kind.line.first_of(peer).is_none()
                && let Ok(pass) = self.take_of(of_kind, connection, kind, 1)
            {
                return pass;
            }
            let (give, turn) = oneshot::channel();
            let is_open = of_kind.room(peer, kind, 1) != Err(Full::Peer);
            let waiter = Waiter { connection: Arc::clone(connection), turn: give };
            let number = of_kind.line.add(waiter, is_open);
            (Place { gates: self, kind, peer, number }, turn)
        };
        loop {
            match timeout(LOOK, &mut turn).await {
                Ok(Ok(pass)) => return pass,
                // It stays in the line until it has its turn.
                Ok(Err(_)) => std::future::pending().await,
                // Meanwhile a connection may have passed its minimum time.
                Err(_) => self.look(kind, place.number, peer),
            }
        }
    }
}
