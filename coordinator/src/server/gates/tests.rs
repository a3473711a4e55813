use std::time::Duration;

use futures_util::FutureExt;

use super::*;
use crate::limits::{
    BODIES_PER_PEER_MAX, HELD_AT_LEAST, PAGE_KIB_PER_PEER_MAX, REQUESTS_MAX, REQUESTS_PER_PEER_MAX,
    RESPONSE_KIB_PER_PEER_MAX, TRANSFERS_MAX, TRANSFERS_PER_PEER_MAX, WAITS_MAX, WAITS_PER_PEER_MAX,
};
use crate::server::Connection;

fn peer(number: u8) -> Peer {
    Peer::of([192, 0, 2, number].into())
}

#[test]
fn one_peer_cannot_use_up_the_total() {
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
    assert!(take(1).is_ok() && gates.held()[&Kind::Transfer].by_peer.is_empty());
}

fn connection(number: u8) -> Arc<Connection> {
    Arc::new(Connection::new(([192, 0, 2, number], 1).into()))
}

/// As many as one peer may have; those at the end have just begun.
fn fill(gates: &Arc<Gates>, kind: Kind, new: usize) -> Vec<(Arc<Connection>, Pass)> {
    let most = kind.max().1;
    let taken = (0..most).map(|_| connection(1)).map(|connection| {
        let pass = gates.take_for(connection.activity(), kind).expect("room");
        (connection, pass)
    });
    let taken = taken.collect();
    for (_, holder) in gates.held().entry(kind).or_default().holders.iter_mut().take(most - new) {
        holder.since -= HELD_AT_LEAST;
    }
    taken
}

/// Messages that pages do not take block others only for a limited time.
#[test]
fn a_long_message_that_is_not_taken_makes_room_all_at_once() {
    let gates = Arc::new(Gates::default());
    let quarter = PAGE_KIB_PER_PEER_MAX / 4;
    let take =
        |connection: &Arc<Connection>, kib| gates.take_many_for(connection.activity(), Kind::PageKib, kib);
    let deaf: Vec<_> = (0..4).map(|_| connection(1)).collect();
    let passes: Vec<Pass> = deaf.iter().map(|deaf| take(deaf, quarter).expect("room")).collect();
    let honest = connection(1);
    assert_eq!(take(&honest, 1).err(), Some(Full::Peer), "they may still take it");
    for holder in gates.held().get_mut(&Kind::PageKib).expect("taken").holders.values_mut() {
        holder.since -= HELD_AT_LEAST;
    }
    deaf[0].was_moved(1 << 30);
    let pass = take(&honest, quarter + 1).expect("two make room");
    assert_eq!(deaf.iter().map(|deaf| deaf.is_cut()).collect::<Vec<_>>(), [false, true, true, false]);
    let count = || gates.held()[&Kind::PageKib].all;
    assert_eq!(count(), 3 * quarter + 1);
    drop(passes);
    assert_eq!(count(), quarter + 1);
    drop(pass);
    assert_eq!(count(), 0);
    assert!(take(&honest, 2 * PAGE_KIB_PER_PEER_MAX).is_ok(), "one alone always has room");
}

#[test]
fn the_slowest_connection_makes_room() {
    let gates = Arc::new(Gates::default());
    let taken = fill(&gates, Kind::Transfer, 2);
    for (number, (connection, _)) in taken.iter().enumerate() {
        connection.was_moved(if number == 7 { 100 } else { 200 });
    }
    let newcomer = connection(1);
    let pass = gates.take_for(newcomer.activity(), Kind::Transfer).expect("room is made");
    let cut: Vec<usize> = (0..taken.len()).filter(|number| taken[*number].0.is_cut()).collect();
    assert_eq!(cut, [7]);
    // What was taken from it is not returned twice.
    let count = || gates.held()[&Kind::Transfer].all;
    assert_eq!(count(), TRANSFERS_PER_PEER_MAX);
    drop(taken);
    assert_eq!(count(), 1);
    drop(pass);
    assert_eq!(count(), 0);
    let held = gates.held();
    assert!(held[&Kind::Transfer].holders.is_empty() && held[&Kind::Transfer].holders_of.is_empty());
}

#[test]
fn a_fast_new_or_answered_connection_loses_nothing() {
    let gates = Arc::new(Gates::default());
    let new = fill(&gates, Kind::Transfer, TRANSFERS_PER_PEER_MAX);
    assert_eq!(gates.take_for(connection(1).activity(), Kind::Transfer).err(), Some(Full::Peer));
    drop(new);
    let fast = fill(&gates, Kind::Transfer, 0);
    fast.iter().for_each(|(connection, _)| connection.was_moved(1 << 20));
    assert_eq!(gates.take_for(connection(1).activity(), Kind::Transfer).err(), Some(Full::Peer));
    drop(fast);
    // What the service works on cannot be taken away, whatever its rate.
    for kind in [Kind::Request, Kind::Transfer, Kind::Body] {
        let answered = fill(&gates, kind, 0);
        answered.iter().for_each(|(connection, _)| connection.is_answered(true));
        assert_eq!(gates.take_for(connection(1).activity(), kind).err(), Some(Full::Peer), "{kind:?}");
        assert!(answered.iter().all(|(connection, _)| !connection.is_cut()));
    }
    let answered = fill(&gates, Kind::Connection, 0);
    answered.iter().for_each(|(connection, _)| connection.is_answered(true));
    assert_eq!(gates.take_for(connection(1).activity(), Kind::Connection).err(), Some(Full::Peer));
    answered[3].0.is_answered(false);
    assert!(gates.take_for(connection(1).activity(), Kind::Connection).is_ok());
    assert!(answered[3].0.is_cut());
}

#[tokio::test]
async fn a_waiter_is_let_in_when_there_is_room() {
    let gates = Arc::new(Gates::default());
    let mut taken = fill(&gates, Kind::Body, BODIES_PER_PEER_MAX);
    let waiting = tokio::spawn({
        let gates = Arc::clone(&gates);
        async move { gates.wait_for(connection(1).activity(), Kind::Body).await }
    });
    tokio::task::yield_now().await;
    assert!(!waiting.is_finished());
    taken.pop();
    assert!(waiting.await.is_ok());
}

#[test]
fn a_single_one_has_room_however_large_it_is() {
    let gates = Arc::new(Gates::default());
    let pass = gates.take(peer(1), Kind::ResponseKib, RESPONSE_KIB_PER_PEER_MAX + 1);
    let pass = pass.expect("alone it has room");
    assert!(gates.take(peer(1), Kind::ResponseKib, 1).is_err());
    drop(pass);
    assert!(gates.take(peer(1), Kind::ResponseKib, 1).is_ok());
}

#[test]
fn waits_for_runs_make_room_for_other_waits() {
    let gates = Arc::new(Gates::default());
    let hoarded = fill(&gates, Kind::Wait, 0);
    assert_eq!(hoarded.len(), WAITS_PER_PEER_MAX);
    assert!(gates.take_for(connection(1).activity(), Kind::Wait).is_ok());
    assert_eq!(lost(&hoarded), [0]);
    assert!(gates.take_for(connection(2).activity(), Kind::Wait).is_ok(), "another address has room");
}

/// Numbers of those that are to be answered since others have their places. No connection is aborted for that.
fn lost(waits: &[(Arc<Connection>, Pass)]) -> Vec<usize> {
    assert!(waits.iter().all(|(connection, _)| !connection.is_cut()));
    (0..waits.len()).filter(|number| waits[*number].1.until_lost().now_or_never().is_some()).collect()
}

#[tokio::test]
async fn one_look_makes_room_for_all_waiters() {
    const WAITING: usize = WAITS_PER_PEER_MAX - 50;
    let gates = Arc::new(Gates::default());
    let hoarded = fill(&gates, Kind::Wait, WAITS_PER_PEER_MAX);
    // New for the whole duration of this test.
    let age = |change: fn(&mut Instant)| {
        let mut held = gates.held();
        let holders = &mut held.entry(Kind::Wait).or_default().holders;
        holders.values_mut().for_each(|holder| change(&mut holder.since));
    };
    age(|since| *since += Duration::from_secs(3600));
    let waiting: Vec<_> = (0..WAITING)
        .map(|_| {
            let gates = Arc::clone(&gates);
            tokio::spawn(async move { gates.wait_for(connection(1).activity(), Kind::Wait).await })
        })
        .collect();
    let in_line = || gates.held()[&Kind::Wait].line.count_of(peer(1));
    for _ in 0..WAITING {
        tokio::task::yield_now().await;
    }
    assert_eq!((in_line(), lost(&hoarded).len()), (WAITING, 0));
    age(|since| *since -= Duration::from_secs(3600) + HELD_AT_LEAST);
    gates.look(Kind::Wait, 0, peer(1));
    assert_eq!((in_line(), lost(&hoarded)), (0, (0..WAITING).collect()));
    for turn in waiting {
        turn.await.expect("a turn");
    }
}

#[test]
fn the_peer_that_has_the_most_makes_room() {
    let gates = Arc::new(Gates::default());
    let wait = |from| {
        let connection = connection(from);
        gates.take_for(connection.activity(), Kind::Wait).map(|pass| (connection, pass))
    };
    // The first of all is alone; the others belong to peers with many.
    let alone = [wait(100).expect("room")];
    let hoarder = |number| u8::try_from(1 + number / WAITS_PER_PEER_MAX).expect("few");
    let hoarded: Vec<_> = (0..WAITS_MAX - 1).map(|number| wait(hoarder(number)).expect("room")).collect();
    for holder in gates.held().entry(Kind::Wait).or_default().holders.values_mut() {
        holder.since -= HELD_AT_LEAST;
    }
    assert!(wait(101).is_ok());
    assert_eq!((lost(&alone), lost(&hoarded)), (vec![], vec![0]));
}

/// Waiters of two peers, each with its number when it has had its turn.
#[tokio::test]
async fn turns_are_given_in_the_order_of_requests() {
    let gates = Arc::new(Gates::default());
    let mut held: Vec<Pass> = Vec::new();
    // One peer has reached its limit, and others have the rest.
    for number in 1.. {
        while let Ok(pass) = gates.take(peer(number), Kind::Request, 1) {
            held.push(pass);
        }
        if held.len() == REQUESTS_MAX {
            break;
        }
    }
    let (told, mut turns) = tokio::sync::mpsc::unbounded_channel();
    let wait = |from: u8, number: usize| {
        let (gates, told) = (Arc::clone(&gates), told.clone());
        tokio::spawn(async move {
            let pass = gates.wait_for(connection(from).activity(), Kind::Request).await;
            told.send((number, pass)).expect("heard");
        })
    };
    // Many waiters of the first peer, then one of a peer that has nothing.
    for number in 0..1000 {
        drop(wait(1, number));
        tokio::task::yield_now().await;
    }
    drop(wait(200, 1000));
    drop(wait(201, 1001));
    tokio::task::yield_now().await;
    // What another peer returns is not for the first, which has reached its limit.
    let mut number = async || {
        let turn = tokio::time::timeout(Duration::from_secs(10), turns.recv()).await.expect("in time");
        turn.expect("somebody waits")
    };
    drop(held.pop());
    let (first, _kept) = number().await;
    drop(held.pop());
    let (second, _kept_too) = number().await;
    assert_eq!((first, second), (1000, 1001));
    // What the first peer returns is for its own waiters, in order.
    let mut order = Vec::new();
    drop(held.drain(..REQUESTS_PER_PEER_MAX));
    for _ in 0..1000 {
        let (number, pass) = number().await;
        order.push(number);
        drop(pass);
    }
    assert!(order.is_sorted(), "{order:?}");
    assert!(!gates.held()[&Kind::Request].by_peer.contains_key(&peer(1)));
}

#[tokio::test]
async fn a_waiter_that_has_gone_is_skipped() {
    let gates = Arc::new(Gates::default());
    let mut held = fill(&gates, Kind::Body, BODIES_PER_PEER_MAX);
    let waiting = [0, 1, 2].map(|_| {
        let gates = Arc::clone(&gates);
        tokio::spawn(async move { gates.wait_for(connection(1).activity(), Kind::Body).await })
    });
    tokio::task::yield_now().await;
    waiting[0].abort();
    tokio::task::yield_now().await;
    held.pop();
    let [_, second, third] = waiting;
    let pass = tokio::time::timeout(Duration::from_secs(10), second).await.expect("in time").expect("a turn");
    assert!(!third.is_finished());
    drop(pass);
    assert!(third.await.is_ok());
}
