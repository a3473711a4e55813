use std::time::Duration;

use super::*;
use crate::limits::{
    CHUNK_BYTES_MAX, PARCEL_BYTES_MAX, PARCEL_STALE, PARCEL_UNWANTED_MAX, PARCEL_WINDOW_BYTES_MAX,
    PARCEL_WINDOW_BYTES_MIN, PARCELS_PULLED_PER_PEER_MAX, PARCELS_WITH_PEER_MAX, REFUSAL_EVERY,
    REFUSALS_AT_ONCE_MAX,
};
use crate::shared::{ObjectId, Writer};
use crate::{HostId, LoanId, RunId, Time};

const ME: u8 = 1;
const PEER: u8 = 2;

fn result(number: u64) -> Contents {
    Contents::Result { run: RunId(1), number: LoanId(number) }
}

fn bytes(length: usize) -> Vec<u8> {
    (0..length).map(|place| (place / 7) as u8).collect()
}

/// A sender and a receiver, between which the test decides which chunks arrive.
struct Pair {
    now: Time,
    outgoing: Outgoing<u8>,
    incoming: Incoming<u8>,
    sent_bytes: usize,
    arrived: Vec<Vec<u8>>,
}

impl Pair {
    fn new() -> Self {
        let (outgoing, incoming) = (Outgoing::default(), Incoming::default());
        Self { now: Time(0), outgoing, incoming, sent_bytes: 0, arrived: Vec::new() }
    }

    fn announce(&mut self, message: &ParcelMessage) {
        let ParcelMessage::Announce { parcel, contents, bytes } = *message else { panic!("{message:?}") };
        self.incoming.announce(self.now, ME, parcel, contents, bytes).expect("sound");
    }

    /// Passes messages between both until there are none. `passes` decides for each chunk whether it arrives.
    fn talk(&mut self, mut passes: impl FnMut(u64) -> bool) {
        loop {
            while let Some((_, message)) = self.incoming.poll_message() {
                match message {
                    ParcelMessage::Pull { parcel, from, until } => {
                        assert!(until - from <= PARCEL_WINDOW_BYTES_MAX as u64);
                        assert_eq!(self.outgoing.on_pull(self.now, PEER, parcel, (from, until)), None);
                    }
                    ParcelMessage::Received { parcel } => {
                        self.outgoing.end(PEER, parcel);
                    }
                    other => panic!("{other:?}"),
                }
            }
            let Some((PEER, chunk)) = self.outgoing.poll_chunk(self.now, |_| true) else { return };
            let ParcelMessage::Chunk { parcel, offset, bytes } = chunk else { panic!("{chunk:?}") };
            self.sent_bytes += bytes.len();
            if passes(offset) {
                let arrival = self.incoming.on_chunk(self.now, ME, parcel, offset, &bytes).expect("sound");
                if let Arrival::Whole(_, bytes) = arrival {
                    self.arrived.push(bytes);
                }
            }
        }
    }

    fn wait(&mut self, time: Duration) {
        self.now = self.now + time;
        self.incoming.handle_timeout(self.now);
        self.outgoing.handle_timeout(self.now);
    }
}

#[test]
fn a_parcel_arrives_whole_and_once() {
    let mut pair = Pair::new();
    let sent = bytes(3_000_001);
    let announcement = pair.outgoing.add(pair.now, PEER, result(1), sent.clone()).expect("room");
    pair.announce(&announcement);
    pair.talk(|_| true);
    assert_eq!(pair.arrived, std::slice::from_ref(&sent));
    assert_eq!(pair.sent_bytes, sent.len());
    assert!(pair.outgoing.is_empty() && pair.incoming.is_empty());
}

#[test]
fn only_lost_chunks_are_asked_for_again() {
    let mut pair = Pair::new();
    let sent = bytes(1_000_000);
    let announcement = pair.outgoing.add(pair.now, PEER, result(1), sent.clone()).expect("room");
    pair.announce(&announcement);
    let mut count = 0;
    pair.talk(|_| {
        count += 1;
        count != 3
    });
    assert!(pair.arrived.is_empty(), "a chunk is missing");
    for _ in 0..10 {
        pair.wait(Duration::from_secs(1));
        pair.talk(|_| true);
    }
    assert_eq!(pair.arrived, std::slice::from_ref(&sent));
    assert!(pair.sent_bytes <= sent.len() + CHUNK_BYTES_MAX, "{} bytes", pair.sent_bytes);
}

#[test]
fn after_a_link_breaks_a_parcel_continues_where_it_stopped() {
    let mut pair = Pair::new();
    let sent = bytes(4_000_000);
    let announcement = pair.outgoing.add(pair.now, PEER, result(1), sent.clone()).expect("room");
    pair.announce(&announcement);
    pair.talk(|offset| offset < 2_000_000);
    for _ in 0..10 {
        pair.wait(Duration::from_secs(1));
        pair.talk(|_| true);
    }
    assert_eq!(pair.arrived, std::slice::from_ref(&sent));
    assert!(pair.sent_bytes <= sent.len() + PARCEL_WINDOW_BYTES_MAX, "{} bytes", pair.sent_bytes);
}

#[test]
fn announcing_again_sends_no_chunk_twice() {
    let mut pair = Pair::new();
    let announcement = pair.outgoing.add(pair.now, PEER, result(1), bytes(500_000)).expect("room");
    pair.announce(&announcement);
    for _ in 0..5 {
        let again = pair.outgoing.announce_again(PEER, result(1)).expect("it is under way");
        assert_eq!(again, announcement);
        pair.announce(&again);
    }
    pair.talk(|_| true);
    assert_eq!((pair.sent_bytes, pair.arrived.len()), (500_000, 1));
    assert_eq!(pair.outgoing.announce_again(PEER, result(1)), None);
}

#[test]
fn bytes_that_were_asked_for_twice_are_sent_once() {
    let mut outgoing = Outgoing::<u8>::default();
    let announcement = outgoing.add(Time(0), PEER, result(1), bytes(200_000)).expect("room");
    let ParcelMessage::Announce { parcel, .. } = announcement else { panic!("{announcement:?}") };
    for range in [(0, 100_000), (50_000, 150_000), (0, 100_000), (150_000, 9_000_000)] {
        assert_eq!(outgoing.on_pull(Time(0), PEER, parcel, range), None);
    }
    let mut sent = 0;
    while let Some((_, ParcelMessage::Chunk { offset, bytes, .. })) = outgoing.poll_chunk(Time(0), |_| true) {
        assert_eq!(offset, sent);
        sent += bytes.len() as u64;
    }
    assert_eq!(sent, 200_000);
    let stranger = outgoing.on_pull(Time(0), 3, parcel, (0, 1));
    assert_eq!(stranger, Some(ParcelMessage::Withdrawn { parcel }));
}

#[test]
fn ranges_that_were_asked_for_are_sent_in_order_without_the_bytes_between() {
    const PIECE: u64 = CHUNK_BYTES_MAX as u64;
    let all = [(0, PIECE), (2 * PIECE, 3 * PIECE), (4 * PIECE, 5 * PIECE)];
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0], [0, 2, 1]] {
        let mut outgoing = Outgoing::<u8>::default();
        let announcement = outgoing.add(Time(0), PEER, result(1), bytes(6 * PIECE as usize)).expect("room");
        let ParcelMessage::Announce { parcel, .. } = announcement else { panic!("{announcement:?}") };
        for piece in order {
            assert_eq!(outgoing.on_pull(Time(0), PEER, parcel, all[piece]), None);
        }
        let mut sent = Vec::new();
        while let Some((_, ParcelMessage::Chunk { offset, bytes, .. })) =
            outgoing.poll_chunk(Time(0), |_| true)
        {
            sent.push((offset, offset + bytes.len() as u64));
        }
        assert_eq!(sent, all, "{order:?}");
    }
}

#[test]
fn parcels_take_turns() {
    let mut outgoing = Outgoing::<u8>::default();
    for peer in 1..4 {
        outgoing.add(Time(0), peer, result(1), bytes(100_000)).expect("room");
        outgoing.on_pull(Time(0), peer, ParcelId(u64::from(peer)), (0, 100_000));
    }
    let order: Vec<u8> =
        std::iter::from_fn(|| outgoing.poll_chunk(Time(0), |peer| peer != 2)).map(|(peer, _)| peer).collect();
    assert_eq!(order, [1, 3, 1, 3, 1, 3, 1, 3]);
    assert_eq!(outgoing.poll_chunk(Time(0), |_| true).map(|(peer, _)| peer), Some(2));
}

#[test]
fn few_parcels_are_pulled_at_once_and_all_arrive() {
    let mut pair = Pair::new();
    for number in 0..10 {
        let announcement = pair.outgoing.add(pair.now, PEER, result(number), bytes(300_000)).expect("room");
        pair.announce(&announcement);
    }
    let pulls = std::iter::from_fn(|| pair.incoming.poll_message()).count();
    assert_eq!(pulls, PARCELS_PULLED_PER_PEER_MAX);
    for _ in 0..30 {
        pair.wait(Duration::from_secs(1));
        pair.talk(|_| true);
    }
    assert_eq!(pair.arrived.len(), 10);
}

#[test]
fn contents_that_are_the_same_from_all_are_pulled_from_one_sender_at_a_time() {
    let run = RunId(1);
    let replica = |object| Contents::Replica { run, object: ObjectId([object; 16]) };
    let writer = Writer { host: HostId(1), incarnation: 0 };
    let updates = |first| Contents::Updates { run, object: ObjectId([1; 16]), writer, first };
    one_at_once(replica(1), replica(2));
    one_at_once(updates(1), updates(2));
}

fn one_at_once(contents: Contents, others: Contents) {
    let mut incoming: Incoming<u8> = Incoming::default();
    for sender in [1, 2, 3] {
        incoming.announce(Time(0), sender, ParcelId(u64::from(sender)), contents, 10).expect("sound");
    }
    incoming.announce(Time(0), 4, ParcelId(4), others, 10).expect("sound");
    assert!(incoming.senders(|known| *known == contents).into_iter().eq([1, 2, 3]));
    let mut pulled = || -> Vec<u8> {
        let messages = std::iter::from_fn(|| incoming.poll_message());
        messages
            .filter(|(_, message)| matches!(message, ParcelMessage::Pull { .. }))
            .map(|(of, _)| of)
            .collect()
    };
    assert_eq!(pulled(), [1, 4], "others at once");
    let arrival = incoming.on_chunk(Time(0), 1, ParcelId(1), 0, &[0; 10]).expect("sound");
    assert!(matches!(arrival, Arrival::Whole(..)), "{arrival:?}");
    let next = std::iter::from_fn(|| incoming.poll_message()).last();
    assert!(matches!(next, Some((2, ParcelMessage::Pull { .. }))), "{next:?}");
    assert_eq!(incoming.refuse(Time(0), 2, contents), Some(ParcelId(2)));
    let next = std::iter::from_fn(|| incoming.poll_message()).last();
    assert!(matches!(next, Some((3, ParcelMessage::Pull { .. }))), "{next:?}");
}

#[test]
fn parcels_that_are_announced_and_never_sent_are_given_up() {
    let mut incoming = Incoming::<u8>::default();
    for parcel in 0..1000 {
        let announced =
            incoming.announce(Time(0), ME, ParcelId(parcel), result(parcel), PARCEL_BYTES_MAX as u64);
        assert_eq!(announced, Ok(()));
    }
    let known = (0..1000).filter(|parcel| incoming.knows(ME, ParcelId(*parcel))).count();
    assert_eq!(known, PARCELS_WITH_PEER_MAX);
    let mut now = Time(0);
    let mut turns = 0;
    while let Some(due) = incoming.next_timeout() {
        assert!(due >= now);
        now = due;
        incoming.handle_timeout(now);
        turns += 1;
        assert!(turns < 100_000 && now < Time(0) + PARCEL_STALE * 1000, "it has no end");
    }
    assert!(incoming.is_empty());
}

#[test]
fn parcels_that_are_not_pulled_are_dropped() {
    let mut outgoing = Outgoing::<u8>::default();
    outgoing.add(Time(0), PEER, result(1), bytes(10)).expect("room");
    let due = outgoing.next_timeout().expect("one waits");
    assert_eq!(due, Time(0) + PARCEL_UNWANTED_MAX);
    outgoing.handle_timeout(due);
    assert!(outgoing.is_empty());
}

#[test]
fn unsound_parcels_are_errors() {
    let mut incoming = Incoming::<u8>::default();
    let parcel = ParcelId(1);
    let too_long = PARCEL_BYTES_MAX as u64 + 1;
    for length in [0, too_long, u64::MAX] {
        assert_eq!(incoming.announce(Time(0), ME, parcel, result(1), length), Err(Unsound));
    }
    assert_eq!(incoming.announce(Time(0), ME, parcel, result(1), 100), Ok(()));
    assert_eq!(incoming.announce(Time(0), ME, parcel, result(1), 101), Err(Unsound));
    assert_eq!(incoming.announce(Time(0), ME, parcel, result(2), 100), Err(Unsound));
    let mut chunk = |offset, bytes: &[u8]| incoming.on_chunk(Time(0), ME, parcel, offset, bytes);
    assert_eq!(chunk(0, &[]), Err(Unsound));
    assert_eq!(chunk(0, &[0; CHUNK_BYTES_MAX + 1]), Err(Unsound));
    assert_eq!(chunk(99, &[0; 2]), Err(Unsound));
    assert_eq!(chunk(u64::MAX, &[0; 2]), Err(Unsound));
    assert_eq!(chunk(0, &[7; 60]), Ok(Arrival::Part));
    assert_eq!(chunk(50, &[7; 50]), Ok(Arrival::Whole(result(1), vec![7; 100])));
    assert_eq!(chunk(50, &[7; 50]), Ok(Arrival::Unknown));
}

#[test]
fn bytes_that_were_not_asked_for_are_not_kept() {
    let mut incoming = Incoming::<u8>::default();
    incoming.announce(Time(0), ME, ParcelId(1), result(1), PARCEL_BYTES_MAX as u64).expect("sound");
    for place in (10..2000).rev() {
        let offset = (place * CHUNK_BYTES_MAX) as u64;
        assert_eq!(
            incoming.on_chunk(Time(0), ME, ParcelId(1), offset, &[0; CHUNK_BYTES_MAX]),
            Ok(Arrival::Part)
        );
    }
    assert_eq!(incoming.held_bytes(), 0);
}

/// A slow link of the receiver, on which chunks of several senders wait for one another.
struct Shared {
    /// The messages on it, each with the time at which it arrives.
    queue: std::collections::VecDeque<(Time, u8, ParcelMessage)>,
    free_at: Time,
    sent_bytes: usize,
}

impl Shared {
    const CHUNK_TAKES: Duration = Duration::from_millis(1_000 / 32);

    fn send(&mut self, now: Time, senders: &mut [Outgoing<u8>]) {
        for (sender, outgoing) in (0..).zip(senders) {
            while let Some((_, chunk)) = outgoing.poll_chunk(now, |_| true) {
                self.free_at = self.free_at.max(now) + Self::CHUNK_TAKES;
                self.sent_bytes += CHUNK_BYTES_MAX;
                self.queue.push_back((self.free_at, sender, chunk));
            }
        }
    }
}

#[test]
fn bytes_that_wait_in_the_queue_of_a_slow_link_are_not_asked_for_again() {
    const SENDERS: usize = 4;
    const BYTES: usize = 64 * CHUNK_BYTES_MAX;
    let mut senders: Vec<Outgoing<u8>> = (0..SENDERS).map(|_| Outgoing::default()).collect();
    let mut incoming = Incoming::default();
    let mut link = Shared { queue: Default::default(), free_at: Time(0), sent_bytes: 0 };
    let mut now = Time(0);
    for number in 0..PARCELS_PULLED_PER_PEER_MAX as u64 + 1 {
        for (sender, outgoing) in (0..).zip(&mut senders) {
            let announcement = outgoing.add(now, ME, result(number), vec![7; BYTES]).expect("room");
            let ParcelMessage::Announce { parcel, contents, bytes } = announcement else { panic!() };
            incoming.announce(now, sender, parcel, contents, bytes).expect("sound");
        }
    }
    let mut arrived = 0;
    while arrived < SENDERS * (PARCELS_PULLED_PER_PEER_MAX + 1) {
        while let Some((sender, message)) = incoming.poll_message() {
            let outgoing = &mut senders[usize::from(sender)];
            match message {
                ParcelMessage::Pull { parcel, from, until } => {
                    assert_eq!(outgoing.on_pull(now, ME, parcel, (from, until)), None);
                }
                ParcelMessage::Received { parcel } => {
                    outgoing.end(ME, parcel);
                }
                other => panic!("{other:?}"),
            }
        }
        link.send(now, &mut senders);
        let passed = link.queue.front().map(|(at, ..)| *at);
        let due = incoming.next_timeout();
        now = passed.into_iter().chain(due).min().expect("something is under way").max(now);
        if passed.is_some_and(|at| at <= now)
            && let Some((_, sender, ParcelMessage::Chunk { parcel, offset, bytes })) = link.queue.pop_front()
        {
            let arrival = incoming.on_chunk(now, sender, parcel, offset, &bytes).expect("sound");
            arrived += usize::from(matches!(arrival, Arrival::Whole(..)));
        }
        incoming.handle_timeout(now);
    }
    let all = SENDERS * (PARCELS_PULLED_PER_PEER_MAX + 1) * BYTES;
    // Before anything has come, the receiver cannot know how slow the link is, and may ask twice for the first bytes.
    let first = SENDERS * PARCELS_PULLED_PER_PEER_MAX * PARCEL_WINDOW_BYTES_MIN;
    assert!(link.sent_bytes <= all + 2 * first, "{} bytes were sent of {all}", link.sent_bytes);
}

#[test]
fn on_a_link_with_high_latency_many_bytes_are_asked_for_at_once() {
    const ROUND_TRIP: Duration = Duration::from_millis(200);
    let mut pair = Pair::new();
    let sent = bytes(8 << 20);
    let announcement = pair.outgoing.add(pair.now, PEER, result(1), sent.clone()).expect("room");
    pair.announce(&announcement);
    let mut rounds = 0;
    while pair.arrived.is_empty() {
        let asked: Vec<_> = std::iter::from_fn(|| pair.incoming.poll_message()).collect();
        pair.now = pair.now + ROUND_TRIP;
        rounds += 1;
        for (_, message) in asked {
            let ParcelMessage::Pull { parcel, from, until } = message else { panic!("{message:?}") };
            assert_eq!(pair.outgoing.on_pull(pair.now, PEER, parcel, (from, until)), None);
        }
        while let Some((_, ParcelMessage::Chunk { parcel, offset, bytes })) =
            pair.outgoing.poll_chunk(pair.now, |_| true)
        {
            let arrival = pair.incoming.on_chunk(pair.now, ME, parcel, offset, &bytes).expect("sound");
            if let Arrival::Whole(_, bytes) = arrival {
                pair.arrived.push(bytes);
            }
        }
    }
    assert_eq!(pair.arrived, [sent]);
    assert!(rounds <= 24, "{rounds} round trips");
}

#[test]
fn a_parcel_gets_its_whole_patience_and_so_does_another_on_the_same_link() {
    const OTHER: u8 = 3;
    let seconds = |seconds| Time(0) + Duration::from_secs(seconds);
    let mut incoming = Incoming::<u8>::default();
    incoming.announce(Time(0), ME, ParcelId(1), result(1), 1_000).expect("sound");
    // It is asked for less and less often.
    for due in [1, 3, 7] {
        assert_eq!(incoming.next_timeout(), Some(seconds(due)));
        incoming.handle_timeout(seconds(due));
    }
    // The other parcel uses the same link, which seems to be slow.
    incoming.announce(seconds(12), OTHER, ParcelId(2), result(2), 1_000).expect("sound");
    for due in [15, 20] {
        assert_eq!(incoming.next_timeout(), Some(seconds(due)));
        incoming.handle_timeout(seconds(due));
    }
    assert!(incoming.knows(ME, ParcelId(1)), "its last question may be answered still");
    assert_eq!(incoming.next_timeout(), Some(seconds(23)));
    incoming.handle_timeout(seconds(23));
    assert!(!incoming.knows(ME, ParcelId(1)) && incoming.knows(OTHER, ParcelId(2)));
}

#[test]
fn fewer_bytes_are_asked_for_ahead_on_a_link_that_has_become_slow() {
    let mut incoming = Incoming::<u8>::default();
    incoming.announce(Time(0), ME, ParcelId(1), result(1), 16 << 20).expect("sound");
    let (mut now, mut until, mut ahead) = (Time(0), 0, Vec::new());
    for chunk in 0..300 {
        while let Some((_, message)) = incoming.poll_message() {
            let ParcelMessage::Pull { until: further, .. } = message else { panic!("{message:?}") };
            until = further;
        }
        let here = chunk * CHUNK_BYTES_MAX as u64;
        ahead.push((until - here) as usize);
        if chunk >= 150 {
            now = now + Duration::from_millis(100);
        }
        let arrival = incoming.on_chunk(now, ME, ParcelId(1), here, &[0; CHUNK_BYTES_MAX]);
        assert_eq!(arrival, Ok(Arrival::Part));
    }
    assert!(ahead[149] >= PARCEL_WINDOW_BYTES_MAX / 2, "{} bytes", ahead[149]);
    assert!(ahead[290..].iter().all(|ahead| *ahead <= 2 * PARCEL_WINDOW_BYTES_MIN), "{:?}", &ahead[290..]);
}

#[test]
fn senders_that_were_refused_often_are_remembered_longer_than_others() {
    let mut incoming = Incoming::<u32>::default();
    let mut told = |now, from, times| {
        let arrivals = (0..times).map(|_| incoming.on_chunk(now, from, ParcelId(1), 0, &[1]));
        arrivals.filter(|arrival| *arrival == Ok(Arrival::Unknown)).count()
    };
    let most = REFUSALS_AT_ONCE_MAX as usize;
    assert_eq!(told(Time(0), 0, 2 * most), most);
    assert!((1..1024).all(|sender| told(Time(0), sender, 1) == 1));
    assert_eq!(told(Time(0), 1024, 1), 0, "there is no room to remember it");
    // Once the others may be notified again, they need not be remembered.
    let later = Time(0) + 2 * REFUSAL_EVERY;
    assert_eq!((told(later, 1024, 1), told(later, 0, most)), (1, 2));
}
