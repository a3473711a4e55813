//! Tests that parcels whose contents have aged while they waited for their turn are replaced.

use super::*;
use crate::limits::{PARCEL_BYTES_MAX, PARCELS_INCOMING_BYTES_MAX, PARCELS_OUTGOING_BYTES_MAX};
use crate::shared::ObjectId;
use crate::{HostId, LoanId, RunId, Time};

const NOW: Time = Time(0);
const REPLICA: Contents = Contents::Replica { run: RunId(1), object: ObjectId([7; 16]) };

fn announced(message: Option<ParcelMessage>) -> (ParcelId, u64) {
    match message {
        Some(ParcelMessage::Announce { parcel, contents: REPLICA, bytes }) => (parcel, bytes),
        other => panic!("{other:?}"),
    }
}

/// The senders and parcels that bytes are asked of.
fn pulled(incoming: &mut Incoming<u8>) -> Vec<(u8, ParcelId)> {
    let messages = std::iter::from_fn(|| incoming.poll_message());
    let pulls = messages.filter_map(|(from, message)| match message {
        ParcelMessage::Pull { parcel, .. } => Some((from, parcel)),
        _ => None,
    });
    pulls.collect()
}

#[test]
fn only_replicas_age() {
    assert!(REPLICA.ages());
    assert!(!Contents::Result { run: RunId(1), number: LoanId(1) }.ages());
    let writer = crate::shared::Writer { host: HostId(1), incarnation: 0 };
    let updates = Contents::Updates { run: RunId(1), object: ObjectId([7; 16]), writer, first: 0 };
    assert!(!updates.ages(), "later updates follow them");
}

#[test]
fn a_parcel_is_renewed_until_it_is_pulled() {
    let mut outgoing = Outgoing::<u8>::default();
    assert!(!outgoing.is_renewable(1, REPLICA));
    assert_eq!(outgoing.renew(NOW, 1, REPLICA, vec![1]), None, "there is none");
    let (first, _) = announced(outgoing.add(NOW, 1, REPLICA, vec![1; 10]));
    assert!(outgoing.is_renewable(1, REPLICA) && !outgoing.is_renewable(2, REPLICA));
    assert_eq!(announced(outgoing.renew(NOW, 1, REPLICA, vec![1; 10])), (first, 10), "nothing is new");
    let too_much = vec![2; PARCELS_OUTGOING_BYTES_MAX + 1];
    assert_eq!(announced(outgoing.renew(NOW, 1, REPLICA, too_much)), (first, 10), "the one before stays");
    let (second, bytes) = announced(outgoing.renew(NOW, 1, REPLICA, vec![2; 12]));
    assert!(second != first && bytes == 12 && outgoing.size() == (1, 12));
    assert!(outgoing.is_renewable(1, REPLICA));
    assert_eq!(outgoing.on_pull(NOW, 1, second, (0, 12)), None);
    assert!(!outgoing.is_renewable(1, REPLICA));
    let Some((1, ParcelMessage::Chunk { parcel, bytes, .. })) = outgoing.poll_chunk(NOW, |_| true) else {
        panic!("no chunk")
    };
    assert_eq!((parcel, &bytes[..]), (second, &[2; 12][..]));
}

/// On a slow link, every request could find that its parcel has just been replaced.
#[test]
fn a_parcel_is_not_renewed_once_its_predecessor_was_asked_for() {
    for by in [1, 2] {
        let mut outgoing = Outgoing::<u8>::default();
        let (first, _) = announced(outgoing.add(NOW, 1, REPLICA, vec![1; 10]));
        announced(outgoing.renew(NOW, 1, REPLICA, vec![2; 10]));
        let (third, _) = announced(outgoing.renew(NOW, 1, REPLICA, vec![3; 10]));
        let withdrawn = Some(ParcelMessage::Withdrawn { parcel: first });
        assert_eq!(outgoing.on_pull(NOW, by, first, (0, 10)), withdrawn);
        assert_eq!(outgoing.is_renewable(1, REPLICA), by == 2, "another host asked, which has no parcel");
        assert_eq!(announced(outgoing.announce_again(1, REPLICA)).0, third);
    }
}

#[test]
fn a_parcel_has_the_turn_of_the_one_that_it_replaces() {
    let mut incoming = Incoming::<u8>::default();
    let announce = |incoming: &mut Incoming<u8>, from, parcel, bytes| {
        incoming.announce(NOW, from, ParcelId(parcel), REPLICA, bytes).expect("sound");
    };
    for from in [1, 2, 3] {
        announce(&mut incoming, from, 1, 100);
    }
    assert_eq!(pulled(&mut incoming), [(1, ParcelId(1))], "one replica is pulled at a time");
    announce(&mut incoming, 2, 2, 120);
    assert!(pulled(&mut incoming).is_empty() && incoming.len() == 3);
    // The request for the one that is replaced has crossed the announcement.
    let due = incoming.next_timeout();
    announce(&mut incoming, 1, 5, 130);
    assert_eq!(pulled(&mut incoming), [(1, ParcelId(5))]);
    assert_eq!(incoming.next_timeout(), due, "announcing more and more of them gains no time");
    assert_eq!(incoming.on_withdrawn(NOW, 1, ParcelId(1)), None);
    assert_eq!(incoming.on_chunk(NOW, 1, ParcelId(5), 0, &[7; 30]), Ok(Arrival::Part));
    assert_eq!(
        incoming.on_chunk(NOW, 1, ParcelId(5), 30, &[7; 100]),
        Ok(Arrival::Whole(REPLICA, vec![7; 130]))
    );
    assert_eq!(pulled(&mut incoming), [(2, ParcelId(2))]);
    // What has come of a parcel is lost with it, and so is its turn.
    assert_eq!(incoming.on_chunk(NOW, 2, ParcelId(2), 0, &[7; 20]), Ok(Arrival::Part));
    announce(&mut incoming, 2, 3, 120);
    assert_eq!(pulled(&mut incoming), [(3, ParcelId(1))]);
    assert_eq!((incoming.len(), incoming.held_bytes()), (2, 0));
    for from in [2, 3] {
        incoming.forget_peer(NOW, from);
    }
    assert!(incoming.is_empty() && incoming.next_timeout().is_none());
}

/// Its bytes were subtracted from those of the parcels that have begun, of which there were fewer.
#[test]
fn a_large_parcel_that_waits_is_replaced_while_a_small_one_is_pulled() {
    let mut incoming = Incoming::<u8>::default();
    incoming.announce(NOW, 1, ParcelId(1), REPLICA, 100).expect("sound");
    incoming.announce(NOW, 2, ParcelId(1), REPLICA, 1_000).expect("sound");
    incoming.announce(NOW, 2, ParcelId(2), REPLICA, 800).expect("sound");
    assert_eq!(pulled(&mut incoming), [(1, ParcelId(1))]);
    incoming.forget_peer(NOW, 1);
    assert_eq!(pulled(&mut incoming), [(2, ParcelId(2))]);
}

#[test]
fn parcels_that_grow_while_they_are_pulled_take_no_more_memory_than_others() {
    let most = PARCELS_INCOMING_BYTES_MAX / PARCEL_BYTES_MAX;
    let mut incoming = Incoming::<u8>::default();
    let contents = |from: u8| Contents::Result { run: RunId(1), number: LoanId(u64::from(from)) };
    for from in 0..=most as u8 {
        incoming.announce(NOW, from, ParcelId(1), contents(from), 1).expect("sound");
    }
    assert_eq!(pulled(&mut incoming).len(), most + 1);
    for from in 0..=most as u8 {
        incoming.announce(NOW, from, ParcelId(2), contents(from), PARCEL_BYTES_MAX as u64).expect("sound");
    }
    assert_eq!(pulled(&mut incoming).len(), most, "the last waits for the others");
}
