//! What peers may have at once: each of them, and all together.
//!
//! A peer is an address. Whoever has many of them still meets the totals; whoever has one cannot use these up.
//!
//! Many users may share an address, and one of them may be hostile. So what can be held for long by doing little
//! (connections, uploads, links without a hello) is taken from those who do the least with it when others want it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use tokio::time::timeout;

use super::Connection;
use crate::limits::{
    BODIES_MAX, BODIES_PER_PEER_MAX, CONNECTIONS_MAX, CONNECTIONS_PER_PEER_MAX, HELD_AT_LEAST,
    HELD_BYTES_PER_SECOND_MIN, LINKS_MAX, LINKS_PER_PEER_MAX, LINKS_UNKNOWN_MAX, LINKS_UNKNOWN_PER_PEER_MAX,
    REQUESTS_MAX, REQUESTS_PER_PEER_MAX, RESPONSE_KIB_MAX, RESPONSE_KIB_PER_PEER_MAX, TRANSFERS_MAX,
    TRANSFERS_PER_PEER_MAX, WATCHERS_MAX, WATCHERS_PER_PEER_MAX,
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

/// One that waits looks this often whether somebody does too little.
const LOOK: Duration = Duration::from_millis(250);

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
    holders: HashMap<(Kind, u64), Holder>,
    next: u64,
}

/// One that can lose what it has.
#[derive(Debug)]
struct Holder {
    peer: Peer,
    connection: Weak<Connection>,
    since: Instant,
    moved_bytes_before: u64,
}

impl Held {
    fn give_back(&mut self, peer: Peer, kind: Kind, count: usize) {
        if let Some(all) = self.all.get_mut(&kind) {
            *all = all.saturating_sub(count);
        }
        let key = (peer, kind);
        if let Some(of_peer) = self.by_peer.get_mut(&key) {
            *of_peer = of_peer.saturating_sub(count);
            if *of_peer == 0 {
                self.by_peer.remove(&key);
            }
        }
    }

    /// The connection that does the least with what it has of a kind, and too little; of `peer`, if that is given.
    fn idlest(&self, kind: Kind, peer: Option<Peer>, now: Instant) -> Option<(u64, Arc<Connection>)> {
        let of_kind = self
            .holders
            .iter()
            .filter(|((other, _), holder)| *other == kind && peer.is_none_or(|peer| peer == holder.peer));
        let rated = of_kind.filter_map(|((_, number), holder)| {
            let held = now.duration_since(holder.since);
            let connection = holder.connection.upgrade()?;
            let is_busy = kind == Kind::Connection && connection.is_answering();
            if held < HELD_AT_LEAST || is_busy {
                return None;
            }
            let bytes = connection.moved_bytes().saturating_sub(holder.moved_bytes_before);
            Some((bytes as f64 / held.as_secs_f64(), *number, connection))
        });
        let idlest = rated.min_by(|(one, ..), (other, ..)| one.total_cmp(other));
        let (rate, number, connection) = idlest?;
        (rate < HELD_BYTES_PER_SECOND_MIN).then_some((number, connection))
    }
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
        Ok(Pass { gates: Arc::clone(self), peer, kind, count, number: None })
    }

    /// Takes one of a kind for a connection. Where there is no room, another connection that does too little with
    /// what it has is broken off.
    ///
    /// # Errors
    /// When there is no room, and none can be made.
    pub fn take_for(self: &Arc<Self>, connection: &Arc<Connection>, kind: Kind) -> Result<Pass, Full> {
        let peer = connection.peer;
        let mut pass = match self.take(peer, kind, 1) {
            Ok(pass) => pass,
            Err(full) => {
                self.make_room(kind, (full == Full::Peer).then_some(peer)).ok_or(full)?;
                self.take(peer, kind, 1)?
            }
        };
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let number = held.next;
        held.next += 1;
        let holder = Holder {
            peer,
            connection: Arc::downgrade(connection),
            since: Instant::now(),
            moved_bytes_before: connection.moved_bytes(),
        };
        held.holders.insert((kind, number), holder);
        pass.number = Some(number);
        Ok(pass)
    }

    fn make_room(&self, kind: Kind, of: Option<Peer>) -> Option<()> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let (number, connection) = held.idlest(kind, of, Instant::now())?;
        let holder = held.holders.remove(&(kind, number))?;
        // What it has is another's from now on, even if it takes a moment to notice.
        held.give_back(holder.peer, kind, 1);
        drop(held);
        tracing::debug!(address = %connection.address, ?kind, "a connection that does too little makes room");
        connection.cut();
        Some(())
    }

    /// The same, as soon as there is room.
    pub async fn wait_for(self: &Arc<Self>, connection: &Arc<Connection>, kind: Kind) -> Pass {
        loop {
            let freed = self.freed.notified();
            tokio::pin!(freed);
            freed.as_mut().enable();
            if let Ok(pass) = self.take_for(connection, kind) {
                return pass;
            }
            // Somebody may have had its time meanwhile.
            let _ = timeout(LOOK, freed).await;
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
    /// Among those that can be taken away.
    number: Option<u64>,
}

impl Drop for Pass {
    fn drop(&mut self) {
        {
            let mut held = self.gates.held.lock().unwrap_or_else(PoisonError::into_inner);
            let is_held = match self.number {
                Some(number) => held.holders.remove(&(self.kind, number)).is_some(),
                None => true,
            };
            if is_held {
                held.give_back(self.peer, self.kind, self.count);
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

    fn connection(number: u8) -> Arc<Connection> {
        Arc::new(Connection::new(([192, 0, 2, number], 1).into()))
    }

    /// All that one peer may have; those at the end have just begun.
    fn fill(gates: &Arc<Gates>, kind: Kind, new: usize) -> Vec<(Arc<Connection>, Pass)> {
        let most = kind.max().1;
        let taken = (0..most).map(|_| connection(1)).map(|connection| {
            let pass = gates.take_for(&connection, kind).expect("room");
            (connection, pass)
        });
        let taken = taken.collect();
        let mut held = gates.held.lock().expect("sound");
        for ((_, number), holder) in &mut held.holders {
            if (*number as usize) < most - new {
                holder.since -= HELD_AT_LEAST;
            }
        }
        drop(held);
        taken
    }

    #[test]
    fn who_does_the_least_makes_room() {
        let gates = Arc::new(Gates::default());
        let taken = fill(&gates, Kind::Transfer, 2);
        for (number, (connection, _)) in taken.iter().enumerate() {
            connection.was_moved(if number == 7 { 100 } else { 200 });
        }
        let newcomer = connection(1);
        let pass = gates.take_for(&newcomer, Kind::Transfer).expect("room is made");
        let cut: Vec<usize> = (0..taken.len()).filter(|number| taken[*number].0.is_cut()).collect();
        assert_eq!(cut, [7]);
        // What was taken from it is not given back twice.
        let count = || gates.held.lock().expect("sound").all[&Kind::Transfer];
        assert_eq!(count(), TRANSFERS_PER_PEER_MAX);
        drop(taken);
        assert_eq!(count(), 1);
        drop(pass);
        assert_eq!(count(), 0);
        assert!(gates.held.lock().expect("sound").holders.is_empty());
    }

    #[test]
    fn who_is_fast_or_new_or_being_answered_loses_nothing() {
        let gates = Arc::new(Gates::default());
        let new = fill(&gates, Kind::Transfer, TRANSFERS_PER_PEER_MAX);
        assert_eq!(gates.take_for(&connection(1), Kind::Transfer).err(), Some(Full::Peer));
        drop(new);
        let fast = fill(&gates, Kind::Transfer, 0);
        fast.iter().for_each(|(connection, _)| connection.was_moved(1 << 20));
        assert_eq!(gates.take_for(&connection(1), Kind::Transfer).err(), Some(Full::Peer));
        drop(fast);
        let answered = fill(&gates, Kind::Connection, 0);
        answered.iter().for_each(|(connection, _)| connection.is_answered(true));
        assert_eq!(gates.take_for(&connection(1), Kind::Connection).err(), Some(Full::Peer));
        answered[3].0.is_answered(false);
        assert!(gates.take_for(&connection(1), Kind::Connection).is_ok());
        assert!(answered[3].0.is_cut());
    }

    #[tokio::test]
    async fn who_waits_is_let_in_when_there_is_room() {
        let gates = Arc::new(Gates::default());
        let mut taken = fill(&gates, Kind::Body, BODIES_PER_PEER_MAX);
        let waiting = tokio::spawn({
            let gates = Arc::clone(&gates);
            async move { gates.wait_for(&connection(1), Kind::Body).await }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        taken.pop();
        assert!(waiting.await.is_ok());
    }

    #[test]
    fn one_alone_has_room_however_much_it_is() {
        let gates = Arc::new(Gates::default());
        let pass = gates.take(peer(1), Kind::ResponseKib, RESPONSE_KIB_PER_PEER_MAX + 1);
        let pass = pass.expect("alone it has room");
        assert!(gates.take(peer(1), Kind::ResponseKib, 1).is_err());
        drop(pass);
        assert!(gates.take(peer(1), Kind::ResponseKib, 1).is_ok());
    }
}
