//! Limits on what peers may hold at once: each of them, and all together.
//!
//! A peer is an address. A client with many addresses still meets the totals; a client with one cannot use these up.
//!
//! Many users may share an address, and one of them may be hostile. So what can be held for long with little effort
//! (connections, uploads, waits for runs' ends, links without a hello) is taken from connections that do the least with it
//! when others want it; among equals from a peer that has the most, the oldest first. What the service itself works on is
//! never taken away. A connection that loses something is aborted, except that a wait for a run's end is answered.
//!
//! Waiters get their turns in the order in which they came, except those whose own peer has reached its limit.
//! Only the first waiter of each peer is woken, or looks for connections that do too little, on behalf of all.

mod kind;
mod waiting;

#[cfg(test)]
mod tests;

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::Notify;

use super::activity::Activity;
use crate::limits::HELD_BYTES_PER_SECOND_MIN;
use crate::peer::Peer;
use waiting::{Grants, Line};

pub use kind::Kind;

/// Which limit is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Full {
    /// The peer's own limit.
    Peer,
    /// The limit of all together.
    All,
}

/// Counts what peers hold.
#[derive(Debug, Default)]
pub struct Gates {
    held: Mutex<HashMap<Kind, Held>>,
}

/// The holders of one kind.
#[derive(Debug, Default)]
struct Held {
    all: usize,
    by_peer: HashMap<Peer, usize>,
    /// The connections that can lose what they hold, and those of each peer.
    holders: BTreeMap<u64, Holder>,
    holders_of: HashMap<Peer, BTreeSet<u64>>,
    line: Line,
    next: u64,
}

/// A connection that can lose what it holds.
#[derive(Debug)]
struct Holder {
    peer: Peer,
    count: usize,
    activity: Arc<Activity>,
    since: Instant,
    moved_bytes_before: u64,
    /// Notified of the loss, if that does not abort the connection.
    lost: Option<Arc<Notify>>,
}

impl Holder {
    /// Its rate, in bytes a second; `None` if it cannot lose anything now.
    fn rate(&self, now: Instant, kind: Kind) -> Option<f64> {
        let held = now.duration_since(self.since);
        if held < kind.held_at_least() || self.activity.is_answering() {
            return None;
        }
        let bytes = self.activity.moved_bytes().saturating_sub(self.moved_bytes_before);
        let rate = bytes as f64 / held.as_secs_f64();
        (rate < HELD_BYTES_PER_SECOND_MIN).then_some(rate)
    }

    fn loses(&self) {
        match &self.lost {
            Some(lost) => lost.notify_one(),
            None => self.activity.cut(),
        }
    }
}

/// A connection that does too little: its rate, how many its peer has, and its number. The smallest loses first.
#[derive(Debug)]
struct Idle {
    rate: f64,
    of_peer: Reverse<usize>,
    number: u64,
}

impl Idle {
    fn order(&self, other: &Self) -> Ordering {
        let rest = |one: &Self| (one.of_peer, one.number);
        self.rate.total_cmp(&other.rate).then_with(|| rest(self).cmp(&rest(other)))
    }
}

impl Held {
    fn of_peer(&self, peer: Peer) -> usize {
        self.by_peer.get(&peer).copied().unwrap_or(0)
    }

    /// Whether there is room for this many. A single one always has room, however large.
    fn room(&self, peer: Peer, kind: Kind, count: usize) -> Result<(), Full> {
        let (all_max, of_peer_max) = kind.max();
        let of_peer = self.of_peer(peer);
        if of_peer > 0 && of_peer + count > of_peer_max {
            return Err(Full::Peer);
        }
        if self.all > 0 && self.all + count > all_max {
            return Err(Full::All);
        }
        Ok(())
    }

    fn take(&mut self, peer: Peer, count: usize) {
        self.all += count;
        *self.by_peer.entry(peer).or_default() += count;
    }

    fn give_back(&mut self, peer: Peer, count: usize) {
        self.all = self.all.saturating_sub(count);
        if let Some(of_peer) = self.by_peer.get_mut(&peer) {
            *of_peer = of_peer.saturating_sub(count);
            if *of_peer == 0 {
                self.by_peer.remove(&peer);
            }
        }
    }

    /// The connection can lose what it takes of this kind from now on; returns its number.
    fn hold(&mut self, connection: &Arc<Activity>, count: usize, lost: Option<Arc<Notify>>) -> u64 {
        let (number, peer) = (self.next, connection.peer());
        self.next += 1;
        let holder = Holder {
            peer,
            count,
            activity: Arc::clone(connection),
            since: Instant::now(),
            moved_bytes_before: connection.moved_bytes(),
            lost,
        };
        self.holders.insert(number, holder);
        self.holders_of.entry(peer).or_default().insert(number);
        number
    }

    fn release(&mut self, number: u64) -> Option<Holder> {
        let holder = self.holders.remove(&number)?;
        if let Some(numbers) = self.holders_of.get_mut(&holder.peer) {
            numbers.remove(&number);
            if numbers.is_empty() {
                self.holders_of.remove(&holder.peer);
            }
        }
        Some(holder)
    }

    /// Takes what they hold from at most `most` connections that do too little, those with the least first; of `peer`, if
    /// given. Returns whether there was any.
    fn make_room(&mut self, kind: Kind, peer: Option<Peer>, most: usize) -> bool {
        let now = Instant::now();
        let rated = |number: &u64| {
            let holder = self.holders.get(number)?;
            let of_peer = Reverse(self.of_peer(holder.peer));
            Some(Idle { rate: holder.rate(now, kind)?, of_peer, number: *number })
        };
        let mut idle: Vec<Idle> = match peer {
            Some(peer) => self.holders_of.get(&peer).into_iter().flatten().filter_map(rated).collect(),
            None => self.holders.keys().filter_map(rated).collect(),
        };
        if most < idle.len() {
            idle.select_nth_unstable_by(most, Idle::order);
            idle.truncate(most);
        }
        for Idle { number, .. } in &idle {
            let Some(holder) = self.release(*number) else { continue };
            // Its share is free from now on, even if it takes a moment to notice.
            self.give_back(holder.peer, holder.count);
            tracing::debug!(peer = ?holder.peer, ?kind, "closed a connection that transfers too little, to make room");
            holder.loses();
        }
        !idle.is_empty()
    }
}

impl Gates {
    fn held(&self) -> MutexGuard<'_, HashMap<Kind, Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes `count` of a kind for a peer.
    ///
    /// # Errors
    /// When there is no room. A single one always has room, however large.
    pub fn take(self: &Arc<Self>, peer: Peer, kind: Kind, count: usize) -> Result<Pass, Full> {
        let mut held = self.held();
        let of_kind = held.entry(kind).or_default();
        of_kind.room(peer, kind, count)?;
        of_kind.take(peer, count);
        Ok(Pass { gates: Arc::clone(self), peer, kind, count, number: None, lost: None })
    }

    /// Takes one of a kind for a connection. If there is no room, another connection that does too little
    /// loses its own.
    ///
    /// # Errors
    /// When there is no room, and none can be made.
    pub fn take_for(self: &Arc<Self>, connection: &Arc<Activity>, kind: Kind) -> Result<Pass, Full> {
        self.take_many_for(connection, kind, 1)
    }

    /// Takes `count` of a kind for a connection, which loses all of them at once. If there is no room, other connections
    /// that do too little lose theirs.
    ///
    /// # Errors
    /// When there is no room, and none can be made. A single one always has room, however large.
    pub fn take_many_for(
        self: &Arc<Self>,
        connection: &Arc<Activity>,
        kind: Kind,
        count: usize,
    ) -> Result<Pass, Full> {
        let mut held = self.held();
        let of_kind = held.entry(kind).or_default();
        self.take_of(of_kind, connection, kind, count)
    }

    fn take_of(
        self: &Arc<Self>,
        of_kind: &mut Held,
        connection: &Arc<Activity>,
        kind: Kind,
        count: usize,
    ) -> Result<Pass, Full> {
        let peer = connection.peer();
        while let Err(full) = of_kind.room(peer, kind, count) {
            if !of_kind.make_room(kind, (full == Full::Peer).then_some(peer), 1) {
                return Err(full);
            }
        }
        Ok(self.pass(of_kind, connection, kind, count))
    }

    /// Takes this many for a connection, for which there is room.
    fn pass(
        self: &Arc<Self>,
        of_kind: &mut Held,
        connection: &Arc<Activity>,
        kind: Kind,
        count: usize,
    ) -> Pass {
        of_kind.take(connection.peer(), count);
        let lost = kind.is_answered_when_lost().then(Arc::<Notify>::default);
        let number = Some(of_kind.hold(connection, count, lost.clone()));
        Pass { gates: Arc::clone(self), peer: connection.peer(), kind, count, number, lost }
    }

    /// Gives free room to those that have waited longest. The caller hands it over without the lock.
    fn grant(self: &Arc<Self>, of_kind: &mut Held, kind: Kind) -> Grants {
        let mut grants = Grants::default();
        while of_kind.all < kind.max().0
            && let Some(waiter) = of_kind.line.take_first()
        {
            let pass = self.pass(of_kind, &waiter.connection, kind, 1);
            let is_open = of_kind.room(waiter.connection.peer(), kind, 1) != Err(Full::Peer);
            of_kind.line.set_open(waiter.connection.peer(), is_open);
            grants.add(waiter, pass);
        }
        grants
    }
}

/// Returned when it is dropped.
#[derive(Debug)]
pub struct Pass {
    gates: Arc<Gates>,
    peer: Peer,
    kind: Kind,
    count: usize,
    /// Its number among those that can be taken away.
    number: Option<u64>,
    /// Notified of the loss.
    lost: Option<Arc<Notify>>,
}

impl Pass {
    /// Waits until it is taken away, which happens only to kinds that are answered then.
    pub async fn until_lost(&self) {
        match &self.lost {
            Some(lost) => lost.notified().await,
            None => std::future::pending().await,
        }
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        let mut held = self.gates.held();
        let Some(of_kind) = held.get_mut(&self.kind) else { return };
        // What was taken away is not returned twice.
        if self.number.is_none_or(|number| of_kind.release(number).is_some()) {
            of_kind.give_back(self.peer, self.count);
        }
        of_kind.line.set_open(self.peer, of_kind.room(self.peer, self.kind, 1) != Err(Full::Peer));
        let grants = self.gates.grant(of_kind, self.kind);
        drop(held);
        grants.hand_over();
    }
}
