//! Tests of replicas, with updates that are lost, doubled or late.

use super::*;
use crate::limits::{SHARED_EARLY_BYTES_MAX, SHARED_LOG_BYTES_MIN, SHARED_WRITERS_MAX};
use crate::{Bytes, HostId};

/// An update contains its writer and number; an object is the list of the updates applied to it.
fn update(writer: Writer, seq: u64, padding: usize) -> Bytes {
    let mut bytes = postcard::to_allocvec(&(writer, seq)).expect("encodes");
    bytes.resize(bytes.len() + padding, 0);
    bytes.into()
}

fn read(update: &Bytes) -> (Writer, u64) {
    postcard::take_from_bytes(update).expect("as encoded").0
}

pub type Object = Vec<(Writer, u64)>;

pub fn encoded(object: &Object) -> Bytes {
    postcard::to_allocvec(object).expect("encodes").into()
}

fn empty() -> Replica {
    Replica::new(encoded(&Object::new()))
}

fn object(replica: &Replica) -> Object {
    let (base, updates) = replica.content();
    let mut object: Object = postcard::from_bytes(base).expect("as encoded");
    object.extend(updates.map(read));
    object
}

/// A guest that has applied all updates makes a base.
fn fold(replica: &mut Replica) {
    let contained = vec![true; replica.content().1.count()];
    replica.set_base(encoded(&object(replica)), &contained);
}

/// The log of the host that created the object.
const fn log(host: u64) -> Writer {
    Writer { host: HostId(host), incarnation: 0 }
}

const ANNE: Writer = log(1);
const BERT: Writer = log(2);

/// The replica that a host makes of a fetched snapshot.
fn fetched(snapshot: Snapshot, incarnation: u64) -> Replica {
    Replica::from_snapshot(snapshot, Log::new(incarnation)).expect("sound")
}

#[test]
fn updates_are_applied_once_and_in_their_hosts_order() {
    let updates: Vec<Bytes> = (0..4).map(|seq| update(ANNE, seq, 0)).collect();
    let mut replica = empty();
    assert_eq!(
        replica.receive(ANNE, 2, &updates[2..]),
        Received { applied: 0, has_gap: true, is_full: false }
    );
    assert_eq!(
        replica.receive(ANNE, 2, &updates[2..]),
        Received { applied: 0, has_gap: true, is_full: false }
    );
    assert_eq!(
        replica.receive(ANNE, 0, &updates[..1]),
        Received { applied: 1, has_gap: false, is_full: false }
    );
    assert_eq!(
        replica.receive(ANNE, 0, &updates[..2]),
        Received { applied: 3, has_gap: false, is_full: false }
    );
    assert_eq!(replica.receive(ANNE, 0, &updates), Received { applied: 0, has_gap: false, is_full: false });
    assert_eq!(object(&replica), [(ANNE, 0), (ANNE, 1), (ANNE, 2), (ANNE, 3)]);
}

#[test]
fn a_lagging_replica_is_sent_the_updates_that_it_lacks_or_a_snapshot() {
    let mut anne = empty();
    let mut bert = empty();
    for seq in 0..3 {
        anne.append_local(ANNE.host, update(ANNE, seq, 0));
    }
    bert.append_local(BERT.host, update(BERT, 0, 0));
    let Missing::Updates(missing) = anne.missing(bert.versions()) else { panic!("a few updates") };
    let [(ANNE, 0, updates)] = &missing[..] else { panic!("one host's: {missing:?}") };
    bert.receive(ANNE, 0, updates);
    assert_eq!(anne.missing(bert.versions()), Missing::Nothing);
    assert_eq!(object(&bert), [(BERT, 0), (ANNE, 0), (ANNE, 1), (ANNE, 2)]);
    // If the missing updates are much longer than the object, they are not worth repeating.
    for seq in 3..40 {
        anne.append_local(ANNE.host, update(ANNE, seq, SHARED_LOG_BYTES_MIN));
    }
    fold(&mut anne);
    assert_eq!(anne.missing(bert.versions()), Missing::Whole);
    assert!(matches!(bert.install(anne.snapshot(), 1), Installed::Replaced { lost: 0 }));
    assert_eq!(object(&bert).len(), 41, "its own was kept");
    assert!(matches!(bert.install(anne.snapshot(), 1), Installed::Nothing));
}

#[test]
fn a_stranger_cannot_fill_memory_or_overflow() {
    let mut replica = empty();
    let long = vec![update(ANNE, 0, 1 << 20); 10];
    for first in [5, 100, 1 << 40] {
        replica.receive(BERT, first, &long);
    }
    assert!(replica.bytes() < 2 * SHARED_EARLY_BYTES_MAX);
    let at_the_end = replica.receive(ANNE, u64::MAX, &long);
    assert_eq!(at_the_end.applied, 0);
    for origin in 0..2 * SHARED_WRITERS_MAX as u64 {
        replica.receive(log(origin), 0, &[update(log(origin), 0, 0)]);
    }
    assert_eq!(replica.versions().iter().count(), SHARED_WRITERS_MAX);
    assert_eq!(replica.append_local(HostId(u64::MAX), update(ANNE, 0, 0)), None);
    let many = (0..2 * SHARED_WRITERS_MAX as u64).map(|origin| (log(origin), 1)).collect();
    let absurd = [(ANNE, u64::MAX)].into_iter().collect();
    for base_versions in [many, absurd] {
        let base_digest = Digest::default();
        let snapshot = Snapshot { base: vec![].into(), base_versions, base_digest, updates: vec![] };
        assert!(Replica::from_snapshot(snapshot.clone(), Log::new(1)).is_none());
        assert_eq!(replica.install(snapshot, 1), Installed::Nothing);
    }
}

#[test]
fn two_early_updates_of_one_number_are_counted_as_what_is_kept() {
    let mut replica = empty();
    replica.receive(ANNE, 1, &[update(ANNE, 1, 0)]);
    let before = replica.bytes();
    replica.receive(ANNE, 1, &[update(ANNE, 1, 1 << 20)]);
    assert_eq!(replica.bytes(), before);
    assert_eq!(replica.receive(ANNE, 0, &[update(ANNE, 0, 0)]).applied, 2);
    assert_eq!(object(&replica), [(ANNE, 0), (ANNE, 1)]);
}

#[test]
fn no_updates_from_others_make_an_honest_replica_unsound() {
    let last = u64::MAX / 2 - 1;
    let base_versions: Versions = [(ANNE, last)].into_iter().collect();
    let updates = vec![Update { writer: ANNE, bytes: update(ANNE, last, 0) }];
    let base_digest = Digest::default();
    let snapshot = Snapshot { base: vec![0].into(), base_versions, base_digest, updates };
    assert!(!snapshot.is_sound());
    let mut replica = fetched(Snapshot { updates: vec![], ..snapshot }, 1);
    assert!(replica.receive(ANNE, last, &[update(ANNE, last, 0), update(ANNE, last + 1, 0)]).is_full);
    assert!(replica.snapshot().is_sound() && replica.versions().is_sound());
    let none: Versions =
        postcard::from_bytes(&postcard::to_allocvec(&[(ANNE, 0u64)].as_slice()).expect("encodes"))
            .expect("a map is a list of pairs");
    assert!(!none.is_sound(), "equal versions are written in one way only");
}

#[test]
fn replicas_that_have_too_many_writers_together_report_it() {
    let full = |first: u64| {
        let mut replica = empty();
        for host in first..first + SHARED_WRITERS_MAX as u64 {
            replica.receive(log(host), 0, &[update(log(host), 0, 0)]);
        }
        replica
    };
    let (mut one, mut other) = (full(0), full(1));
    let received = one.receive(log(SHARED_WRITERS_MAX as u64), 0, &[update(ANNE, 0, 0)]);
    assert_eq!(received, Received { applied: 0, has_gap: false, is_full: true });
    assert_eq!(other.install(one.snapshot(), 1), Installed::Replaced { lost: 1 });
    assert!(other.versions().is_sound());
}

#[test]
fn a_host_that_forgot_its_updates_never_uses_their_numbers_again() {
    let mut anne = empty();
    let mut bert = fetched(anne.snapshot(), 1);
    anne.append_local(ANNE.host, update(ANNE, 0, 0));
    // Bert's replica is older; Anne forgets the object and fetches it from him.
    let again = Log { incarnation: 1, before: anne.own_log() };
    let mut anne_again = Replica::from_snapshot(bert.snapshot(), again).expect("sound");
    let (writer, seq) = anne_again.append_local(ANNE.host, update(ANNE, 0, 0)).expect("room");
    assert_eq!((writer, seq), (Writer { incarnation: 1, ..ANNE }, 0));
    // If the fetched replica has all of Anne's updates, she continues her log: no unneeded writers arise.
    bert.receive(ANNE, 0, &[update(ANNE, 0, 0)]);
    let mut anne_again = Replica::from_snapshot(bert.snapshot(), again).expect("sound");
    assert_eq!(anne_again.append_local(ANNE.host, update(ANNE, 1, 0)), Some((ANNE, 1)));
    // A host that gets another id keeps its log, too.
    assert_eq!(anne_again.append_local(HostId(9), update(ANNE, 2, 0)), Some((ANNE, 2)));
}

#[test]
fn a_host_whose_forgotten_updates_are_lost_begins_another_log() {
    let mut anne = empty();
    let mut bert = fetched(anne.snapshot(), 1);
    for seq in 0..4 {
        anne.append_local(ANNE.host, update(ANNE, seq, 0));
    }
    fold(&mut anne);
    // Simulates that too many updates waited for others.
    anne.forget_tails();
    for seq in 0..5 {
        bert.append_local(BERT.host, update(Writer { incarnation: 1, ..BERT }, seq, 0));
    }
    assert_eq!(bert.clone().install(anne.snapshot(), 2), Installed::Replaced { lost: 0 });
    fold(&mut bert);
    bert.forget_tails();
    // Each replica has forgotten updates that the other lacks. Bert's has more, and wins on both sides.
    assert_eq!(bert.install(anne.snapshot(), 2), Installed::Nothing);
    assert_eq!(anne.install(bert.snapshot(), 3), Installed::Replaced { lost: 4 });
    assert_eq!((anne.versions(), anne.digest()), (bert.versions(), bert.digest()));
    let next = Writer { incarnation: 3, ..ANNE };
    assert_eq!(anne.append_local(ANNE.host, update(next, 0, 0)), Some((next, 0)));
}

#[test]
fn a_divergence_is_detected_and_healed() {
    let mut anne = empty();
    let mut bert = fetched(anne.snapshot(), 1);
    let forged = Writer { host: HostId(7), incarnation: 0 };
    anne.receive(forged, 0, &[update(forged, 0, 1)]);
    bert.receive(forged, 0, &[update(forged, 0, 2)]);
    assert!(anne.has_diverged_from(bert.versions(), bert.digest()));
    assert!(bert.has_diverged_from(anne.versions(), anne.digest()));
    assert_eq!(anne.install(bert.snapshot(), 5), Installed::Nothing, "it counts nothing new");
    anne.append_local(ANNE.host, update(ANNE, 0, 0));
    bert.receive(ANNE, 0, &[update(ANNE, 0, 0)]);
    anne.append_local(ANNE.host, update(ANNE, 1, 0));
    assert!(!anne.has_diverged_from(bert.versions(), bert.digest()), "one lags, so nothing shows yet");
    assert_eq!(anne.heal(bert.snapshot(), 5), Installed::Replaced { lost: 0 });
    assert_eq!(object(&anne), [(forged, 0), (ANNE, 0), (ANNE, 1)], "what the other lacked was kept");
    bert.receive(ANNE, 1, &[update(ANNE, 1, 0)]);
    assert_eq!((anne.versions(), anne.digest()), (bert.versions(), bert.digest()));
    let next = Writer { incarnation: 5, ..ANNE };
    assert_eq!(anne.append_local(ANNE.host, update(next, 0, 0)), Some((next, 0)), "its log may be another's");
}

#[test]
fn updates_that_all_hosts_have_are_forgotten() {
    let mut replica = empty();
    let mut most = 0;
    for seq in 0..3000 {
        replica.append_local(ANNE.host, update(ANNE, seq, 10_000));
        replica.set_stable(seq);
        if replica.content().1.count() > 6 {
            fold(&mut replica);
        }
        most = most.max(replica.bytes());
    }
    assert!(most < 4 << 20, "{most} bytes of 30 MB of updates");
    assert_eq!(object(&replica).len(), 3000);
}

#[test]
fn the_newest_updates_are_kept_for_hosts_that_have_missed_some() {
    let mut replica = empty();
    for seq in 0..200 {
        replica.append_local(ANNE.host, update(ANNE, seq, 10_000));
    }
    replica.set_stable(200);
    let missing = |replica: &Replica, has: u64| replica.missing(&[(ANNE, has)].into_iter().collect());
    replica.set_base(vec![0; 620 << 10].into(), &[true; 200]);
    // Half a mebibyte. Older updates cost more than they are worth, although the object is even larger.
    assert!(matches!(missing(&replica, 150), Missing::Updates(updates) if updates[0].2.len() == 50));
    assert_eq!(missing(&replica, 140), Missing::Whole);
    assert_eq!(missing(&replica, 200), Missing::Nothing);
}

#[test]
fn a_replica_that_also_has_the_newest_updates_is_merged() {
    let mut anne = empty();
    let mut bert = fetched(anne.snapshot(), 1);
    anne.append_local(ANNE.host, update(ANNE, 0, 0));
    assert_eq!(bert.install(anne.snapshot(), 1), Installed::Merged);
    assert_eq!(bert.install(anne.snapshot(), 1), Installed::Nothing);
    assert_eq!(object(&bert), [(ANNE, 0)]);
}
