//! What holds of replicas, whatever is lost, doubled or late.

use std::collections::BTreeMap;

use super::*;
use crate::limits::{SHARED_EARLY_BYTES_MAX, SHARED_LOG_BYTES_MIN, SHARED_ORIGINS_MAX};
use crate::{Bytes, HostId, Random};

/// An update tells who made it and its number; an object is the list of those applied to it.
fn update(origin: HostId, seq: u64, padding: usize) -> Bytes {
    let mut bytes = postcard::to_allocvec(&(origin, seq)).expect("encodes");
    bytes.resize(bytes.len() + padding, 0);
    bytes.into()
}

fn read(update: &Bytes) -> (HostId, u64) {
    postcard::take_from_bytes(update).expect("as encoded").0
}

type Object = Vec<(HostId, u64)>;

/// An instance of the app: its object, and how far it is.
#[derive(Default)]
struct Instance {
    object: Object,
    position: u64,
}

impl Instance {
    fn catch_up(&mut self, replica: &Replica) {
        let (catchup, position) = replica.since(self.position);
        let updates = match catchup {
            Catchup::Nothing => Vec::new(),
            Catchup::Updates(updates) => updates,
            Catchup::Whole(base, updates) => {
                self.object = postcard::from_bytes(&base).expect("as encoded");
                updates
            }
        };
        self.object.extend(updates.iter().map(read));
        self.position = position;
    }

    fn base(&self) -> Bytes {
        postcard::to_allocvec(&self.object).expect("encodes").into()
    }
}

fn empty() -> Replica {
    Replica::new(Instance::default().base())
}

fn object(replica: &Replica) -> Object {
    let mut instance = Instance::default();
    instance.catch_up(replica);
    instance.object
}

const ANNE: HostId = HostId(1);
const BERT: HostId = HostId(2);

#[test]
fn updates_come_once_and_in_their_hosts_order() {
    let updates: Vec<Bytes> = (0..4).map(|seq| update(ANNE, seq, 0)).collect();
    let mut replica = empty();
    assert_eq!(replica.receive(ANNE, 2, &updates[2..]), Received { applied: 0, has_gap: true });
    assert_eq!(replica.receive(ANNE, 2, &updates[2..]), Received { applied: 0, has_gap: true });
    assert_eq!(replica.receive(ANNE, 0, &updates[..1]), Received { applied: 1, has_gap: false });
    assert_eq!(replica.receive(ANNE, 0, &updates[..2]), Received { applied: 3, has_gap: false });
    assert_eq!(replica.receive(ANNE, 0, &updates), Received { applied: 0, has_gap: false });
    assert_eq!(object(&replica), [(ANNE, 0), (ANNE, 1), (ANNE, 2), (ANNE, 3)]);
}

#[test]
fn an_instance_catches_up_from_wherever_it_is() {
    let mut replica = empty();
    let mut early = Instance::default();
    early.catch_up(&replica);
    for seq in 0..3 {
        assert_eq!(replica.append_local(ANNE, update(ANNE, seq, 0)), Some(seq));
    }
    assert!(matches!(replica.since(early.position), (Catchup::Updates(updates), _) if updates.len() == 3));
    early.catch_up(&replica);
    assert_eq!(replica.since(early.position).0, Catchup::Nothing);
    assert!(replica.set_base(early.position, early.base()));
    assert!(!replica.set_base(early.position, early.base()), "nothing came meanwhile");
    assert!(!replica.set_base(early.position + 1, early.base()), "nobody is so far");
    assert_eq!(object(&replica), early.object);
    assert!(matches!(replica.since(1), (Catchup::Whole(_, updates), _) if updates.is_empty()));
}

#[test]
fn a_lagging_replica_is_sent_what_it_lacks_or_all_of_it() {
    let mut anne = empty();
    let mut bert = empty();
    for seq in 0..3 {
        anne.append_local(ANNE, update(ANNE, seq, 0));
    }
    bert.append_local(BERT, update(BERT, 0, 0));
    let Missing::Updates(missing) = anne.missing(bert.versions()) else { panic!("a few updates") };
    let [(ANNE, 0, updates)] = &missing[..] else { panic!("one host's: {missing:?}") };
    bert.receive(ANNE, 0, updates);
    assert_eq!(anne.missing(bert.versions()), Missing::Nothing);
    assert_eq!(object(&bert), [(BERT, 0), (ANNE, 0), (ANNE, 1), (ANNE, 2)]);
    // Much more than the object itself is not worth repeating.
    let mut instance = Instance::default();
    for seq in 3..40 {
        anne.append_local(ANNE, update(ANNE, seq, SHARED_LOG_BYTES_MIN));
    }
    instance.catch_up(&anne);
    assert!(anne.wants_base());
    assert!(anne.set_base(instance.position, instance.base()));
    assert!(!anne.wants_base());
    assert_eq!(anne.missing(bert.versions()), Missing::Whole);
    assert!(matches!(bert.install(anne.snapshot()), Installed::Replaced { lost: 0 }));
    assert_eq!(object(&bert).len(), 41, "its own was kept");
    assert!(matches!(bert.install(anne.snapshot()), Installed::Nothing));
}

#[test]
fn a_stranger_cannot_fill_memory_or_overflow() {
    let mut replica = empty();
    let long = vec![update(ANNE, 0, 1 << 20); 10];
    for first in [5, 100, 1 << 40] {
        replica.receive(BERT, first, &long);
    }
    assert!(replica.bytes() < 2 * SHARED_EARLY_BYTES_MAX);
    assert_eq!(replica.receive(ANNE, u64::MAX, &long), Received { applied: 0, has_gap: false });
    for origin in 0..2 * SHARED_ORIGINS_MAX as u64 {
        replica.receive(HostId(origin), 0, &[update(HostId(origin), 0, 0)]);
    }
    assert_eq!(replica.versions().iter().count(), SHARED_ORIGINS_MAX);
    assert_eq!(replica.append_local(HostId(u64::MAX), update(ANNE, 0, 0)), None);
    let many = (0..2 * SHARED_ORIGINS_MAX as u64).map(|origin| (HostId(origin), 1)).collect();
    let absurd = [(ANNE, u64::MAX)].into_iter().collect();
    for base_versions in [many, absurd] {
        let snapshot = Snapshot { base: vec![].into(), base_versions, updates: vec![] };
        assert!(Replica::from_snapshot(snapshot.clone()).is_none());
        assert_eq!(replica.install(snapshot), Installed::Nothing);
    }
}

#[test]
fn what_everybody_has_is_forgotten() {
    let mut replica = empty();
    let mut instance = Instance::default();
    let mut most = 0;
    for seq in 0..3000 {
        replica.append_local(ANNE, update(ANNE, seq, 10_000));
        replica.set_stable(ANNE, seq);
        if replica.wants_base() {
            instance.catch_up(&replica);
            replica.set_base(instance.position, instance.base());
        }
        most = most.max(replica.bytes());
    }
    assert!(most < 4 << 20, "{most} bytes of 30 MB of updates");
    assert_eq!(object(&replica).len(), 3000);
}

/// Some hosts make updates and send them about; what is sent is lost, doubled and late, bases are made, and
/// snapshots travel. In the end all have all, once and in order.
fn converges(seed: u64) {
    let mut random = Random::new(seed);
    let hosts = 2 + random.below(4);
    let mut replicas: Vec<Option<Replica>> = (0..hosts).map(|_| None).collect();
    replicas[0] = Some(empty());
    let mut instances: Vec<Instance> = (0..hosts).map(|_| Instance::default()).collect();
    let mut made: BTreeMap<HostId, u64> = BTreeMap::new();
    let mut under_way: Vec<(usize, HostId, u64, Vec<Bytes>)> = Vec::new();
    for _ in 0..400 {
        let at = random.below(hosts);
        let other = random.below(hosts);
        let origin = HostId(at as u64);
        let Some(replica) = &mut replicas[at] else {
            let snapshot = replicas[other].as_ref().map(Replica::snapshot);
            replicas[at] = snapshot.map(|snapshot| Replica::from_snapshot(snapshot).expect("sound"));
            continue;
        };
        match random.below(8) {
            0..=2 => {
                let seq = made.entry(origin).or_default();
                let padding = random.below(40_000);
                let bytes = update(origin, *seq, padding);
                assert_eq!(replica.append_local(origin, bytes.clone()), Some(*seq));
                *seq += 1;
                for to in 0..hosts {
                    for _ in 0..random.below(3) {
                        under_way.push((to, origin, *seq - 1, vec![bytes.clone()]));
                    }
                }
            }
            3 => {
                instances[at].catch_up(replica);
                if random.below(2) == 0 || replica.wants_base() {
                    replica.set_base(instances[at].position, instances[at].base());
                }
            }
            4..=6 if !under_way.is_empty() => {
                let (to, origin, first, updates) = under_way.swap_remove(random.below(under_way.len()));
                if let Some(replica) = &mut replicas[to] {
                    replica.receive(origin, first, &updates);
                }
            }
            _ => exchange(&mut replicas, at, other),
        }
    }
    for _ in 0..4 {
        for at in 0..hosts {
            for other in 0..hosts {
                exchange(&mut replicas, at, other);
            }
        }
    }
    for (at, replica) in replicas.iter().enumerate() {
        let replica = replica.as_ref().expect("everybody has one by now");
        instances[at].catch_up(replica);
        for object in [&instances[at].object, &object(replica)] {
            let mut seen: BTreeMap<HostId, u64> = BTreeMap::new();
            for (origin, seq) in object {
                let next = seen.entry(*origin).or_default();
                assert_eq!(*seq, *next, "seed {seed}: {origin}'s updates at host {at}: {object:?}");
                *next += 1;
            }
            assert_eq!(seen, made, "seed {seed}: host {at}");
        }
    }
}

/// `at` gives `other` what it lacks.
fn exchange(replicas: &mut [Option<Replica>], at: usize, other: usize) {
    let Some(giver) = &replicas[at] else { return };
    let Some(taker) = &replicas[other] else {
        replicas[other] = Replica::from_snapshot(giver.snapshot());
        return;
    };
    let missing = giver.missing(taker.versions());
    let snapshot = giver.snapshot();
    let Some(taker) = &mut replicas[other] else { return };
    match missing {
        Missing::Nothing => {}
        Missing::Updates(missing) => {
            for (origin, first, updates) in missing {
                taker.receive(origin, first, &updates);
            }
        }
        Missing::Whole => {
            taker.install(snapshot);
        }
    }
}

#[test]
fn all_replicas_become_the_same_whatever_happens_on_the_way() {
    for seed in 0..1000 {
        converges(seed);
    }
}
