//! Tests replicas of one object at hosts that act at random.

use std::collections::{BTreeMap, BTreeSet};

use super::tests::{Instance, empty, object};
use super::*;
use crate::{Bytes, HostId, Random};

/// The hosts of a random test, and a record of what really happened.
struct Crowd {
    random: Random,
    seed: u64,
    replicas: Vec<Option<Replica>>,
    instances: Vec<Instance>,
    /// Each host's id; a host gets another one when it is born again.
    names: Vec<HostId>,
    /// The incarnations that each host has used, and the log that it had when it forgot the object.
    incarnations: Vec<u64>,
    before: Vec<Option<(Writer, u64)>>,
    /// All updates that were ever made, by writer and number; each may be made only once.
    made: BTreeMap<(Writer, u64), Bytes>,
    under_way: Vec<(usize, Writer, u64, Bytes)>,
}

impl Crowd {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let hosts = 2 + random.below(4);
        let mut replicas: Vec<Option<Replica>> = (0..hosts).map(|_| None).collect();
        replicas[0] = Some(empty());
        Self {
            random,
            seed,
            replicas,
            instances: (0..hosts).map(|_| Instance::default()).collect(),
            names: (0..hosts as u64).map(HostId).collect(),
            incarnations: vec![0; hosts],
            before: vec![None; hosts],
            made: BTreeMap::new(),
            under_way: Vec::new(),
        }
    }

    fn hosts(&self) -> usize {
        self.replicas.len()
    }

    fn step(&mut self, forgets: bool) {
        let at = self.random.below(self.hosts());
        let other = self.random.below(self.hosts());
        if self.replicas[at].is_none() {
            return self.exchange(other, at);
        }
        match self.random.below(20) {
            0..=6 => self.make(at),
            7..=8 => self.set_base(at),
            9..=14 if !self.under_way.is_empty() => {
                let (to, writer, first, update) =
                    self.under_way.swap_remove(self.random.below(self.under_way.len()));
                if let Some(replica) = &mut self.replicas[to] {
                    replica.receive(writer, first, &[update]);
                }
            }
            15 if forgets => self.forget(at),
            16 => self.names[at] = HostId(self.random.next_u64()),
            _ => self.exchange(at, other),
        }
    }

    fn make(&mut self, at: usize) {
        let (seed, host, padding) =
            (self.seed, self.names[at], [100, 100, 100, 40_000][self.random.below(4)]);
        let Some(replica) = &mut self.replicas[at] else { return };
        let (writer, seq) = replica.next_local(host);
        // No two updates have the same content, even if they have the same writer and number.
        let mut bytes = postcard::to_allocvec(&(writer, seq, self.made.len())).expect("encodes");
        bytes.resize(bytes.len() + padding, 0);
        let bytes = Bytes::from(bytes);
        assert_eq!(replica.append_local(host, bytes.clone()), Some((writer, seq)));
        let earlier = self.made.insert((writer, seq), bytes.clone());
        assert!(earlier.is_none(), "seed {seed}: two updates are called {writer} {seq}");
        for to in 0..self.hosts() {
            for _ in 0..self.random.below(3) {
                self.under_way.push((to, writer, seq, bytes.clone()));
            }
        }
    }

    fn set_base(&mut self, at: usize) {
        let Some(replica) = &mut self.replicas[at] else { return };
        self.instances[at].catch_up(replica);
        if self.random.below(2) == 0 || replica.wants_base() {
            replica.set_base(self.instances[at].position, self.instances[at].base());
        }
    }

    /// A host forgets the object, some updates of which may exist nowhere else.
    fn forget(&mut self, at: usize) {
        if self.replicas.iter().flatten().count() < 2 {
            return;
        }
        let Some(replica) = self.replicas[at].take() else { return };
        self.before[at] = replica.own_log().or(self.before[at]);
        self.instances[at] = Instance::default();
    }

    /// `at` sends `other` the updates that it lacks.
    fn exchange(&mut self, at: usize, other: usize) {
        let Some(giver) = self.replicas[at].clone() else { return };
        let incarnation = self.incarnations[other] + 1;
        self.incarnations[other] = incarnation;
        let snapshot = giver.snapshot();
        let Some(taker) = &mut self.replicas[other] else {
            let log = Log { incarnation, before: self.before[other] };
            self.replicas[other] = Replica::from_snapshot(snapshot, log);
            return;
        };
        assert!(!giver.has_diverged_from(taker.versions(), taker.digest()), "seed {}", self.seed);
        match giver.missing(taker.versions()) {
            Missing::Nothing => {}
            Missing::Updates(missing) => {
                for (writer, first, updates) in missing {
                    taker.receive(writer, first, &updates);
                }
            }
            Missing::Whole => {
                taker.install(snapshot, incarnation);
            }
        }
    }

    /// Checks that all replicas are equal in the end. Of each log they have the updates from the first to some last
    /// one, once and in order; of a log that was never forgotten, all updates.
    fn check(&mut self, loses: bool) {
        let seed = self.seed;
        let mut first: Option<(Versions, Digest)> = None;
        for at in 0..self.hosts() {
            let replica = self.replicas[at].as_ref().expect("everybody has one by now");
            self.instances[at].catch_up(replica);
            let of = (replica.versions().clone(), replica.digest());
            assert_eq!(*first.get_or_insert(of.clone()), of, "seed {seed}: host {at}");
            let all = replica
                .versions()
                .iter()
                .flat_map(|(writer, count)| (0..count).map(move |seq| (writer, seq)));
            let sum = all.fold(Digest::of_new(&Instance::default().base()), |digest, (writer, seq)| {
                digest.with(writer, seq, &self.made[&(writer, seq)])
            });
            assert_eq!(sum, replica.digest(), "seed {seed}: host {at} has what nobody made");
            for object in [&self.instances[at].object, &object(replica)] {
                let mut seen: BTreeMap<Writer, u64> = BTreeMap::new();
                for (writer, seq) in object {
                    let next = seen.entry(*writer).or_default();
                    assert_eq!(*seq, *next, "seed {seed}: {writer}'s updates at host {at}: {object:?}");
                    *next += 1;
                }
                assert_eq!(seen, replica.versions().iter().collect(), "seed {seed}: host {at}");
                let made: BTreeSet<(Writer, u64)> = self.made.keys().copied().collect();
                let has: BTreeSet<(Writer, u64)> = object.iter().copied().collect();
                assert!(loses || has == made, "seed {seed}: host {at} lacks {:?}", made.difference(&has));
            }
        }
    }
}

/// Hosts make updates, bases and snapshots and send them to one another; messages are lost, doubled and late. Hosts get
/// other ids and, if `forgets`, forget the object and fetch it again.
fn converges(seed: u64, forgets: bool) {
    let mut crowd = Crowd::new(seed);
    for _ in 0..400 {
        crowd.step(forgets);
    }
    for _ in 0..4 {
        for at in 0..crowd.hosts() {
            for other in 0..crowd.hosts() {
                crowd.exchange(at, other);
            }
        }
    }
    crowd.check(forgets);
}

/// Without optimisation, a tenth of the seeds is enough.
const SEEDS: u64 = if cfg!(debug_assertions) { 10 } else { 100 };

#[test]
fn all_replicas_become_equal_although_messages_are_lost_doubled_and_late() {
    for seed in 0..SEEDS {
        converges(seed, false);
    }
}

#[test]
fn all_replicas_become_equal_although_hosts_forget_them() {
    for seed in 0..SEEDS {
        converges(seed, true);
    }
}
