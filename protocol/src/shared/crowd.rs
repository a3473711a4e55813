//! Tests replicas of one object at hosts that act at random, with runtimes whose guests do.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::*;
use crate::{Bytes, HostId, Random};

/// A guest's object: the numbers of the updates applied to it.
type Object = Vec<u64>;

fn encoded(object: &Object) -> Bytes {
    postcard::to_allocvec(object).expect("encodes").into()
}

fn number(update: &Bytes) -> u64 {
    postcard::take_from_bytes(update).expect("as encoded").0
}

/// What a runtime says.
enum Said {
    Opened(u64),
    Updated(Bytes),
    Based(NewBase),
    Closed,
}

/// A host's runtime, with one instance of the app.
#[derive(Default)]
struct Runtime {
    place: Option<u64>,
    places: u64,
    view: Option<View>,
    /// The instance's object, and its position.
    object: Object,
    position: u64,
    /// In transit to the state machine.
    said: VecDeque<Said>,
}

impl Runtime {
    fn creator() -> Self {
        Self { place: Some(0), view: Some(View::new(encoded(&Object::new()))), ..Self::default() }
    }

    fn open(&mut self) {
        if self.place.is_none() {
            self.places += 1;
            self.place = Some(self.places);
            self.said.push_back(Said::Opened(self.places));
        }
    }

    fn close(&mut self) {
        if self.place.take().is_some() {
            (self.view, self.object, self.position) = (None, Object::new(), 0);
            self.said.push_back(Said::Closed);
        }
    }

    fn update(&mut self, update: Bytes) {
        let Some(view) = &mut self.view else { return };
        view.append(update.clone());
        self.said.push_back(Said::Updated(update));
        self.catch_up();
    }

    /// The instance sees all updates that were made here and are in transit, and no update twice.
    fn catch_up(&mut self) {
        let Some(view) = &self.view else { return };
        let (catchup, position) = view.since(self.position);
        let updates = match catchup {
            Catchup::Nothing => Vec::new(),
            Catchup::Updates(updates) => updates,
            Catchup::Whole(base, updates) => {
                self.object = postcard::from_bytes(&base).expect("as encoded");
                updates
            }
        };
        self.object.extend(updates.iter().map(number));
        self.position = position;
        let has: BTreeSet<u64> = self.object.iter().copied().collect();
        assert_eq!(has.len(), self.object.len(), "an update was applied twice");
        for said in &self.said {
            let Said::Updated(update) = said else { continue };
            assert!(has.contains(&number(update)) || self.was_closed_since(update), "its own update is gone");
        }
    }

    /// Whether the update is of an earlier place.
    fn was_closed_since(&self, update: &Bytes) -> bool {
        let after =
            self.said.iter().skip_while(|said| !matches!(said, Said::Updated(other) if other == update));
        after.into_iter().any(|said| matches!(said, Said::Closed))
    }

    fn set_base(&mut self, is_asked: bool) {
        self.catch_up();
        let Some(view) = &mut self.view else { return };
        if (is_asked || view.wants_base())
            && let Some(new) = view.set_base(self.position, encoded(&self.object))
        {
            self.said.push_back(Said::Based(new));
        }
    }
}

/// A host: its state machine, and its runtime.
struct Host {
    replica: Option<Replica>,
    shown: Option<Shown>,
    /// In transit to the runtime, with the number of the place.
    changes: VecDeque<(u64, Change)>,
    runtime: Runtime,
    /// The host's id; it gets another one when it is born again.
    name: HostId,
    /// The incarnations that it has used, and the log that it had when it forgot the object.
    incarnation: u64,
    before: Option<(Writer, u64)>,
}

impl Host {
    fn new(name: HostId) -> Self {
        Self {
            replica: None,
            shown: None,
            changes: VecDeque::new(),
            runtime: Runtime::default(),
            name,
            incarnation: 0,
            before: None,
        }
    }

    fn show(&mut self, tell: impl FnOnce(&mut Shown, &Replica) -> Change) {
        if let (Some(shown), Some(replica)) = (&mut self.shown, &self.replica) {
            self.changes.push_back((shown.place(), tell(shown, replica)));
        }
    }

    /// The state machine hears the runtime; returns the update that it got, with its name.
    fn hear(&mut self) -> Option<(Writer, u64, Bytes)> {
        match self.runtime.said.pop_front()? {
            Said::Opened(place) => {
                self.shown = Some(Shown::new(place));
                self.show(Shown::whole);
            }
            Said::Closed => self.shown = None,
            Said::Based(new) => {
                if let Some(contained) = self.shown.as_mut().and_then(|shown| shown.set_base(&new)) {
                    self.replica.as_mut().expect("it was shown").set_base(new.base, &contained);
                }
            }
            Said::Updated(update) => {
                let replica = self.replica.as_mut().expect("it was shown");
                let (writer, seq) = replica.append_local(self.name, update.clone()).expect("room");
                if self.shown.as_mut().expect("it is open").note_own(&update, true) {
                    self.show(Shown::more);
                }
                return Some((writer, seq, update));
            }
        }
        None
    }

    /// The runtime hears the state machine.
    fn obey(&mut self) {
        if let Some((place, change)) = self.changes.pop_front()
            && self.runtime.place == Some(place)
        {
            View::change(&mut self.runtime.view, change);
            self.runtime.catch_up();
        }
    }
}

/// The hosts of a random test, and a record of what really happened.
struct Crowd {
    random: Random,
    seed: u64,
    hosts: Vec<Host>,
    /// All updates that were ever made and named, by writer and number; each may be named only once.
    made: BTreeMap<(Writer, u64), Bytes>,
    /// The number of updates made, and the name of each that has one.
    count: u64,
    names: BTreeMap<u64, (Writer, u64)>,
    under_way: Vec<(usize, Writer, u64, Bytes)>,
}

impl Crowd {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let count = 2 + random.below(4);
        let mut hosts: Vec<Host> = (0..count as u64).map(HostId).map(Host::new).collect();
        hosts[0].replica = Some(Replica::new(encoded(&Object::new())));
        hosts[0].shown = Some(Shown::new(0));
        hosts[0].runtime = Runtime::creator();
        Self {
            random,
            seed,
            hosts,
            made: BTreeMap::new(),
            count: 0,
            names: BTreeMap::new(),
            under_way: Vec::new(),
        }
    }

    fn step(&mut self, forgets: bool) {
        let at = self.random.below(self.hosts.len());
        let other = self.random.below(self.hosts.len());
        if self.hosts[at].replica.is_none() {
            return self.exchange(other, at);
        }
        match self.random.below(32) {
            0..=6 => self.make(at),
            7..=8 => {
                let is_asked = self.random.below(2) == 0;
                self.hosts[at].runtime.set_base(is_asked);
            }
            9..=14 if !self.under_way.is_empty() => {
                let (to, writer, first, update) =
                    self.under_way.swap_remove(self.random.below(self.under_way.len()));
                if let Some(replica) = &mut self.hosts[to].replica {
                    replica.receive(writer, first, &[update]);
                    self.hosts[to].show(Shown::more);
                }
            }
            15 if forgets => self.forget(at),
            16 => self.hosts[at].name = HostId(self.random.next_u64()),
            17..=20 => self.hear(at),
            21..=24 => self.hosts[at].obey(),
            25 => self.hosts[at].runtime.close(),
            26..=27 => self.hosts[at].runtime.open(),
            _ => self.exchange(at, other),
        }
    }

    fn make(&mut self, at: usize) {
        let padding = [100, 100, 100, 40_000][self.random.below(4)];
        let mut bytes = postcard::to_allocvec(&self.count).expect("encodes");
        bytes.resize(bytes.len() + padding, 0);
        self.count += 1;
        self.hosts[at].runtime.update(bytes.into());
    }

    fn hear(&mut self, at: usize) {
        let Some((writer, seq, bytes)) = self.hosts[at].hear() else { return };
        let seed = self.seed;
        self.names.insert(number(&bytes), (writer, seq));
        let earlier = self.made.insert((writer, seq), bytes.clone());
        assert!(earlier.is_none(), "seed {seed}: two updates are called {writer} {seq}");
        for to in 0..self.hosts.len() {
            for _ in 0..self.random.below(3) {
                self.under_way.push((to, writer, seq, bytes.clone()));
            }
        }
    }

    /// A host whose guests do not use the object forgets it. Some of its updates may exist nowhere else.
    fn forget(&mut self, at: usize) {
        let count = self.hosts.iter().filter(|host| host.replica.is_some()).count();
        let host = &mut self.hosts[at];
        if count < 2 || host.shown.is_some() {
            return;
        }
        let Some(replica) = host.replica.take() else { return };
        host.before = replica.own_log().or(host.before);
    }

    /// `at` sends `other` the updates that it lacks.
    fn exchange(&mut self, at: usize, other: usize) {
        let Some(giver) = self.hosts[at].replica.clone() else { return };
        let host = &mut self.hosts[other];
        host.incarnation += 1;
        let incarnation = host.incarnation;
        let snapshot = giver.snapshot();
        let Some(taker) = &mut host.replica else {
            let log = Log { incarnation, before: host.before };
            host.replica = Replica::from_snapshot(snapshot, log);
            return host.show(Shown::whole);
        };
        assert!(!giver.has_diverged_from(taker.versions(), taker.digest()), "seed {}", self.seed);
        match giver.missing(taker.versions()) {
            Missing::Nothing => {}
            Missing::Updates(missing) => {
                for (writer, first, updates) in missing {
                    taker.receive(writer, first, &updates);
                }
                host.show(Shown::more);
            }
            Missing::Whole => match taker.install(snapshot, incarnation) {
                Installed::Nothing => {}
                Installed::Merged => host.show(Shown::more),
                Installed::Replaced { .. } => host.show(Shown::whole),
            },
        }
    }

    /// All that is in transit between state machines and runtimes arrives.
    fn settle(&mut self) {
        for at in 0..self.hosts.len() {
            self.hosts[at].runtime.open();
            while !self.hosts[at].runtime.said.is_empty() {
                self.hear(at);
            }
            while !self.hosts[at].changes.is_empty() {
                self.hosts[at].obey();
            }
        }
    }

    /// Checks that all replicas are equal in the end, and what guests see of them. Of each log they have the updates from
    /// the first to some last one, once and in order; of a log that was never forgotten, all updates.
    fn check(&mut self, loses: bool) {
        let seed = self.seed;
        let mut first: Option<(Versions, Digest)> = None;
        for (at, host) in self.hosts.iter_mut().enumerate() {
            let replica = host.replica.as_ref().expect("everybody has one by now");
            host.runtime.catch_up();
            let of = (replica.versions().clone(), replica.digest());
            assert_eq!(*first.get_or_insert(of.clone()), of, "seed {seed}: host {at}");
            let all = replica
                .versions()
                .iter()
                .flat_map(|(writer, count)| (0..count).map(move |seq| (writer, seq)));
            let new = Digest::of_new(&encoded(&Object::new()));
            let sum =
                all.fold(new, |digest, (writer, seq)| digest.with(writer, seq, &self.made[&(writer, seq)]));
            assert_eq!(sum, replica.digest(), "seed {seed}: host {at} has what nobody made");
            let (base, updates) = replica.content();
            let mut here: Object = postcard::from_bytes(base).expect("as encoded");
            here.extend(updates.map(number));
            for object in [&host.runtime.object, &here] {
                let mut seen: BTreeMap<Writer, u64> = BTreeMap::new();
                for (writer, seq) in object.iter().map(|number| self.names[number]) {
                    let next = seen.entry(writer).or_default();
                    assert_eq!(seq, *next, "seed {seed}: {writer}'s updates at host {at}: {object:?}");
                    *next += 1;
                }
                assert_eq!(seen, replica.versions().iter().collect(), "seed {seed}: host {at}");
                let has: BTreeSet<u64> = object.iter().copied().collect();
                let made: BTreeSet<u64> = self.names.keys().copied().collect();
                assert!(loses || has == made, "seed {seed}: host {at} lacks {:?}", made.difference(&has));
            }
        }
    }
}

/// Hosts make updates, bases and snapshots and send them to one another; messages are lost, doubled and late. What state
/// machines and runtimes say to one another is only late. Hosts get other ids and, if `forgets`, forget the object and
/// fetch it again.
fn converges(seed: u64, forgets: bool) {
    let mut crowd = Crowd::new(seed);
    for _ in 0..600 {
        crowd.step(forgets);
    }
    for _ in 0..4 {
        crowd.settle();
        for at in 0..crowd.hosts.len() {
            for other in 0..crowd.hosts.len() {
                crowd.exchange(at, other);
            }
        }
    }
    crowd.settle();
    crowd.check(forgets);
}

const SEEDS: u64 = 100;

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
