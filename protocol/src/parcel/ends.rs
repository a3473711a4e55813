//! Tests that nothing is left of parcels that have ended, on either side.

use super::*;
use crate::limits::{
    CHUNK_BYTES_MAX, PARCEL_BYTES_MAX, PARCEL_PATIENCE_MIN, PARCEL_UNWANTED_MAX, PARCELS_INCOMING_BYTES_MAX,
    PARCELS_OUTGOING_BYTES_MAX,
};
use crate::{LoanId, RunId, Time};

const NOW: Time = Time(0);

fn result(run: u64, number: u64) -> Contents {
    Contents::Result { run: RunId(run), number: LoanId(number) }
}

/// Three parcels of 1,000 bytes for host 1 and run 1, host 1 and run 2, and host 2 and run 1, all pulled.
fn outgoing() -> Outgoing<u8> {
    let mut outgoing = Outgoing::default();
    for (parcel, (to, run)) in (1..).zip([(1, 1), (1, 2), (2, 1)]) {
        outgoing.add(NOW, to, result(run, parcel), vec![7; 1_000]).expect("room");
        assert_eq!(outgoing.on_pull(NOW, to, ParcelId(parcel), (0, 1_000)), None);
    }
    outgoing
}

/// The same in transit to this host, with a chunk of each.
fn incoming() -> Incoming<u8> {
    let mut incoming = Incoming::default();
    for (parcel, (from, run)) in (1..).zip([(1, 1), (1, 2), (2, 1)]) {
        incoming.announce(NOW, from, ParcelId(parcel), result(run, parcel), 1_000).expect("sound");
        assert_eq!(incoming.on_chunk(NOW, from, ParcelId(parcel), 0, &[7; 100]), Ok(Arrival::Part));
    }
    incoming
}

#[test]
fn nothing_of_a_parcel_that_has_ended_is_kept_or_sent() {
    type End = fn(&mut Outgoing<u8>);
    let ends: [(End, &[u64]); 6] = [
        (|_| {}, &[1, 2, 3]),
        (|outgoing| outgoing.forget_peer(1), &[3]),
        (|outgoing| outgoing.forget_run(RunId(1)), &[2]),
        (|outgoing| assert_eq!(outgoing.end(1, ParcelId(2)), Some(result(2, 2))), &[1, 3]),
        // This receiver may not end another receiver's parcel.
        (|outgoing| assert_eq!(outgoing.end(2, ParcelId(2)), None), &[1, 2, 3]),
        (|outgoing| assert_eq!(outgoing.end_contents(2, result(1, 3)), Some(ParcelId(3))), &[1, 2]),
    ];
    for (case, (end, left)) in ends.into_iter().enumerate() {
        let mut outgoing = outgoing();
        end(&mut outgoing);
        assert_eq!(outgoing.size(), (left.len(), 1_000 * left.len()), "case {case}");
        assert_eq!(outgoing.has_peer(1), left.contains(&1) || left.contains(&2), "case {case}");
        assert_eq!(outgoing.has_peer(2), left.contains(&3), "case {case}");
        let sent = std::iter::from_fn(|| outgoing.poll_chunk(NOW, |_| true));
        let sent = sent.map(|(_, chunk)| match chunk {
            ParcelMessage::Chunk { parcel, .. } => parcel.0,
            other => panic!("{other:?}"),
        });
        assert_eq!(sent.collect::<Vec<_>>(), left, "case {case}");
    }
}

#[test]
fn nothing_of_a_parcel_that_has_ended_is_kept_or_awaited() {
    type End = fn(&mut Incoming<u8>);
    let ends: [(End, &[u64]); 5] = [
        (|_| {}, &[1, 2, 3]),
        (|incoming| incoming.forget_peer(NOW, 1), &[3]),
        (|incoming| incoming.forget_run(NOW, RunId(1)), &[2]),
        (|incoming| assert_eq!(incoming.on_withdrawn(NOW, 1, ParcelId(2)), Some(result(2, 2))), &[1, 3]),
        (|incoming| assert_eq!(incoming.refuse(NOW, 2, result(1, 3)), Some(ParcelId(3))), &[1, 2]),
    ];
    let all = [(1, result(1, 1)), (1, result(2, 2)), (2, result(1, 3))];
    for (case, (end, left)) in ends.into_iter().enumerate() {
        let mut incoming = incoming();
        end(&mut incoming);
        assert_eq!(incoming.held_bytes(), 100 * left.len(), "case {case}");
        for (parcel, (from, contents)) in (1..).zip(all) {
            let is_left = left.contains(&parcel);
            assert_eq!(incoming.knows(from, ParcelId(parcel)), is_left, "case {case}");
            assert_eq!(incoming.has(from, contents), is_left, "case {case}");
            assert_eq!(incoming.has_any(|such| *such == contents), is_left, "case {case}");
        }
        assert_eq!(incoming.has_peer(2), left.contains(&3), "case {case}");
        assert!(!incoming.is_empty() && incoming.next_timeout().is_some());
        incoming.forget_peer(NOW, 1);
        incoming.forget_peer(NOW, 2);
        assert!(incoming.is_empty() && incoming.next_timeout().is_none(), "case {case}");
        assert_eq!(incoming.held_bytes(), 0, "case {case}");
    }
}

#[test]
fn held_bytes_include_those_beyond_a_gap() {
    let mut incoming = Incoming::<u8>::default();
    incoming.announce(NOW, 1, ParcelId(1), result(1, 1), 1_000).expect("sound");
    for (offset, held) in [(500, 100), (0, 200), (100, 300)] {
        assert_eq!(incoming.on_chunk(NOW, 1, ParcelId(1), offset, &[7; 100]), Ok(Arrival::Part));
        assert_eq!(incoming.held_bytes(), held);
    }
}

#[test]
fn a_parcel_is_dropped_when_it_was_not_pulled_for_long() {
    let mut outgoing = outgoing();
    let later = NOW + PARCEL_UNWANTED_MAX / 2;
    assert_eq!(outgoing.on_pull(later, 1, ParcelId(1), (0, 1)), None);
    assert_eq!(outgoing.touched(), Some(later));
    assert_eq!(outgoing.next_timeout(), Some(NOW + PARCEL_UNWANTED_MAX));
    outgoing.handle_timeout(NOW + PARCEL_UNWANTED_MAX);
    assert_eq!(outgoing.size().0, 1, "the one that was pulled later is left");
    assert_eq!(outgoing.next_timeout(), Some(later + PARCEL_UNWANTED_MAX));
}

#[test]
fn the_same_contents_are_kept_once_for_a_receiver() {
    let mut outgoing = Outgoing::<u8>::default();
    for bytes in [10, CHUNK_BYTES_MAX, 20] {
        outgoing.add(NOW, 1, result(1, 1), vec![7; bytes]).expect("room");
        assert_eq!(outgoing.size(), (1, bytes));
    }
    assert_eq!(outgoing.add(NOW, 1, result(1, 2), Vec::new()), None, "there is nothing to send");
    outgoing.add(NOW, 2, result(1, 1), vec![7; 5]).expect("room");
    assert_eq!(outgoing.size(), (2, 25));
}

#[test]
fn large_parcels_wait_until_others_have_ended() {
    let mut incoming = Incoming::<u8>::default();
    let together = PARCELS_INCOMING_BYTES_MAX / PARCEL_BYTES_MAX;
    let pulled = |incoming: &mut Incoming<u8>| {
        let pulls = std::iter::from_fn(|| incoming.poll_message());
        pulls
            .filter(|(_, message)| matches!(message, ParcelMessage::Pull { .. }))
            .map(|(from, _)| from)
            .collect::<Vec<_>>()
    };
    for from in 0..together as u8 + 2 {
        incoming.announce(NOW, from, ParcelId(1), result(1, 1), PARCEL_BYTES_MAX as u64).expect("sound");
    }
    assert_eq!(pulled(&mut incoming), (0..together as u8).collect::<Vec<_>>());
    for ended in 0..2 {
        incoming.forget_peer(NOW, ended);
        assert_eq!(pulled(&mut incoming), [together as u8 + ended]);
    }
}

#[test]
fn missing_bytes_are_asked_for_sooner_once_later_ones_have_come() {
    let mut incoming = Incoming::<u8>::default();
    incoming.announce(NOW, 1, ParcelId(1), result(1, 1), 1_000).expect("sound");
    assert_eq!(incoming.next_timeout(), Some(NOW + PARCEL_PATIENCE_MIN));
    // The last chunk fills one of two gaps.
    for (offset, patience) in [(500, 4), (100, 4), (0, 4), (200, 4), (300, 4), (400, 1)] {
        assert_eq!(incoming.on_chunk(NOW, 1, ParcelId(1), offset, &[7; 100]), Ok(Arrival::Part));
        assert_eq!(incoming.next_timeout(), Some(NOW + PARCEL_PATIENCE_MIN / patience), "{offset}");
    }
}

/// A receiver may ask for ever more and pull nothing.
#[test]
fn one_receiver_takes_at_most_half_of_the_room_for_parcels() {
    let mut outgoing = Outgoing::<u8>::default();
    let bytes = PARCEL_BYTES_MAX;
    let most = PARCELS_OUTGOING_BYTES_MAX / 2 / bytes;
    let mut add =
        |to: u8, number: usize| outgoing.add(NOW, to, result(1, number as u64), vec![7; bytes]).is_some();
    assert_eq!((0..2 * most).filter(|number| add(1, *number)).count(), most);
    assert!(add(2, 0), "there is room for another");
}

/// A sender may send a byte now and then.
#[test]
fn parcels_of_one_sender_take_at_most_half_of_the_room_for_those_that_have_begun() {
    let mut incoming = Incoming::<u8>::default();
    for (from, parcel) in [(1, 1), (1, 2), (2, 1)] {
        let contents = result(1, parcel);
        incoming.announce(NOW, from, ParcelId(parcel), contents, PARCEL_BYTES_MAX as u64).expect("sound");
    }
    let pulled = std::iter::from_fn(|| incoming.poll_message()).map(|(from, _)| from);
    assert_eq!(pulled.collect::<Vec<_>>(), [1, 2]);
    incoming.forget_peer(NOW, 2);
    assert!(incoming.poll_message().is_none(), "the second waits for the first");
    assert_eq!(incoming.on_withdrawn(NOW, 1, ParcelId(1)), Some(result(1, 1)));
    assert!(incoming.poll_message().is_some());
}
