//! Two hosts, and a relay that does what it wants.

use super::*;

const GRID: GridId = GridId(1);
const IDS: [HostId; 2] = [HostId(10), HostId(20)];

struct Pair {
    hosts: [Tunnels; 2],
    keys: [PublicKey; 2],
    now: Time,
    /// Frames that each has got.
    got: [Vec<Vec<u8>>; 2],
    renewed: [usize; 2],
}

impl Pair {
    fn new() -> Self {
        let identities = [1, 2].map(|number| Identity::from_secret(&[number; 32]));
        let keys = [identities[0].public(), identities[1].public()];
        let hosts = identities.map(Tunnels::new);
        Self { hosts, keys, now: Time(0), got: Default::default(), renewed: [0; 2] }
    }

    fn ends(&self, host: usize) -> Ends {
        Ends { grid: GRID, own: IDS[host], peer: IDS[1 - host], key: self.keys[1 - host] }
    }

    fn send(&mut self, host: usize, frame: &[u8]) -> Vec<Vec<u8>> {
        let ends = self.ends(host);
        let sealed = self.hosts[host].seal(ends.peer, Lane::Control, frame);
        let later = |hosts: &mut [Tunnels; 2]| hosts[host].send_later(self.now, &ends, frame.to_vec());
        sealed.or_else(|| later(&mut self.hosts)).into_iter().collect()
    }

    /// The relay passes packets on to this host; returns its own packets.
    fn pass_to(&mut self, host: usize, packets: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let ends = self.ends(host);
        let mut answers = Vec::new();
        for packet in packets {
            let received = self.hosts[host].receive(self.now, &ends, packet);
            self.got[host].extend(received.frame);
            self.renewed[host] += usize::from(received.is_renewed);
            answers.extend(received.packets);
        }
        answers
    }

    /// The relay passes packets for this host on, and all that follows from them.
    fn settle(&mut self, mut to: usize, mut packets: Vec<Vec<u8>>) {
        while !packets.is_empty() {
            packets = self.pass_to(to, &packets);
            to = 1 - to;
        }
    }

    fn advance(&mut self, time: Duration) {
        self.now = self.now + time;
    }

    /// With a session.
    fn open() -> Self {
        let mut pair = Self::new();
        let begin = pair.send(0, b"first");
        pair.settle(1, begin);
        assert_eq!(std::mem::take(&mut pair.got[1]), [b"first"]);
        assert!(pair.hosts[0].is_open(IDS[1]) && pair.hosts[1].is_open(IDS[0]));
        pair
    }
}

#[test]
fn frames_wait_for_the_session_and_then_pass_in_both_directions() {
    let mut pair = Pair::new();
    let begin = pair.send(0, b"one");
    assert_eq!((begin.len(), pair.send(0, b"two").len()), (1, 0), "a handshake is begun once");
    assert!(!pair.hosts[0].is_open(IDS[1]));
    pair.settle(1, begin);
    assert_eq!(pair.got[1], [b"one", b"two"]);
    for (from, frame) in [(1, b"three"), (0, b"four!"), (1, b"five!")] {
        let packets = pair.send(from, frame);
        assert_eq!(packets.len(), 1);
        assert!(!packets[0].windows(4).any(|bytes| bytes == &frame[..4]), "the relay reads nothing");
        pair.settle(1 - from, packets);
    }
    assert_eq!(pair.got[0], [b"three", b"five!"]);
    assert_eq!(pair.got[1][2..], [b"four!"]);
    assert_eq!(pair.renewed, [0, 0]);
}

#[test]
fn two_hosts_that_begin_at_once_understand_each_other() {
    let mut pair = Pair::new();
    let (one, other) = (pair.send(0, b"one"), pair.send(1, b"other"));
    let (to_one, to_other) = (pair.pass_to(1, &one), pair.pass_to(0, &other));
    let (to_other_too, to_one_too) = (pair.pass_to(0, &to_one), pair.pass_to(1, &to_other));
    pair.settle(1, to_other_too);
    pair.settle(0, to_one_too);
    for host in [0, 1] {
        let packets = pair.send(host, b"more");
        pair.settle(1 - host, packets);
    }
    assert_eq!(pair.got[0], [b"other".to_vec(), b"more".to_vec()]);
    assert_eq!(pair.got[1], [b"one".to_vec(), b"more".to_vec()]);
}

#[test]
fn a_handshake_that_is_lost_is_begun_again() {
    let mut pair = Pair::new();
    drop(pair.send(0, b"one"));
    assert!(pair.hosts[0].due(pair.now).is_empty());
    pair.advance(AGAIN);
    assert_eq!(pair.hosts[0].due(pair.now), [IDS[1]]);
    let ends = pair.ends(0);
    let begin = pair.hosts[0].begin(pair.now, &ends).expect("it is due");
    // The answer is lost, too.
    assert_eq!(pair.pass_to(1, &[begin]).len(), 1);
    pair.advance(AGAIN);
    let begin = pair.hosts[0].begin(pair.now, &ends).expect("it is due");
    pair.settle(1, vec![begin]);
    assert_eq!(pair.got[1], [b"one"]);
    assert!(pair.hosts[0].due(Time(u64::MAX)).is_empty());
}

#[test]
fn a_relay_that_changes_repeats_or_invents_packets_changes_nothing() {
    let mut pair = Pair::open();
    let packet = pair.send(0, b"frame").remove(0);
    for place in 0..packet.len() {
        let mut changed = packet.clone();
        changed[place] ^= 1;
        pair.pass_to(1, &[changed]);
        assert!(pair.got[1].is_empty(), "byte {place}");
    }
    for length in 0..packet.len() {
        pair.pass_to(1, &[packet[..length].to_vec()]);
    }
    assert!(pair.got[1].is_empty());
    let later = pair.send(0, b"later");
    pair.pass_to(1, &[packet.clone(), packet.clone()]);
    assert_eq!(pair.got[1], [b"frame"], "once");
    pair.pass_to(1, &later);
    pair.pass_to(1, &[packet]);
    assert_eq!(pair.got[1], [b"frame", b"later"], "not after a later one either");
    let reflected = pair.send(0, b"mine");
    pair.pass_to(0, &reflected);
    assert!(pair.got[0].is_empty());
}

/// A host answers it, but continues with the session that is confirmed.
#[test]
fn an_old_first_message_that_is_sent_again_replaces_no_session() {
    let mut pair = Pair::new();
    let begin = pair.send(0, b"first");
    pair.settle(1, begin.clone());
    for _ in 0..5 {
        pair.advance(AGAIN);
        assert_eq!(pair.pass_to(1, &begin).len(), 1, "it cannot know");
        let packets = pair.send(1, b"still");
        pair.settle(0, packets);
    }
    assert_eq!(pair.got[0].len(), 5);
    assert!(pair.hosts[1].peers[&IDS[0]].open.len() <= CONFIRMED_MAX + 1);
    // Many in a row are not answered.
    pair.advance(ANSWER_EVERY);
    assert_eq!(pair.pass_to(1, &vec![begin[0].clone(); 100]).len(), 1);
}

#[test]
fn a_session_that_one_side_has_forgotten_is_made_anew_and_lost_frames_are_noticed() {
    let mut pair = Pair::open();
    pair.hosts[1].retain(|peer| peer != IDS[0]);
    pair.advance(AGAIN);
    let packets = pair.send(0, b"lost");
    pair.settle(1, packets);
    assert!(pair.got[1].is_empty());
    assert_eq!(pair.renewed[0], 1, "it sends again what may be lost");
    let packets = pair.send(0, b"again");
    pair.settle(1, packets);
    let packets = pair.send(1, b"answer");
    pair.settle(0, packets);
    assert_eq!((&pair.got[0][0][..], &pair.got[1][0][..]), (&b"answer"[..], &b"again"[..]));
}

#[test]
fn bulk_that_others_overtake_is_still_opened() {
    let mut pair = Pair::open();
    let bulk: Vec<Vec<u8>> =
        (0..3).filter_map(|chunk| pair.hosts[0].seal(IDS[1], Lane::Bulk, &vec![chunk; 70_000])).collect();
    let control: Vec<Vec<u8>> = (0..3).flat_map(|_| pair.send(0, b"control")).collect();
    pair.pass_to(1, &control);
    pair.pass_to(1, &bulk);
    assert_eq!(pair.got[1].len(), 6);
    pair.pass_to(1, &bulk);
    assert_eq!(pair.got[1].len(), 6, "again");
}

#[test]
fn little_waits_for_a_peer_that_does_not_answer_and_it_is_the_newest() {
    let mut pair = Pair::new();
    let begin = pair.send(0, &[0; 1000]);
    for number in 1..=10_000_u32 {
        let frame = [number.to_le_bytes().as_slice(), &[0; 996]].concat();
        assert!(pair.send(0, &frame).is_empty());
    }
    let tunnel = &pair.hosts[0].peers[&IDS[1]];
    assert!(tunnel.waiting_bytes <= WAITING_BYTES_MAX);
    assert_eq!(tunnel.waiting_bytes, tunnel.waiting.iter().map(Vec::len).sum::<usize>());
    pair.settle(1, begin);
    assert_eq!(pair.got[1].last().map(|frame| &frame[..4]), Some(10_000_u32.to_le_bytes().as_slice()));
}
