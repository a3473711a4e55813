//! Keeps the runtime's view of an object equal to the replica.

use super::Sharing;
use crate::host::{Host, RunCommand};
use crate::shared::{Change, NewBase, ObjectId, Replica, Shown};
use crate::{RunId, Time};

impl Sharing {
    /// The change to be passed to the runtime, if it has a place for the object and there is a replica.
    fn shown(&mut self, tell: impl FnOnce(&mut Shown, &Replica) -> Change) -> Option<(u64, Change)> {
        let (shown, replica) = (self.shown.as_mut()?, self.replica.as_ref()?);
        Some((shown.place(), tell(shown, replica)))
    }
}

impl Host {
    fn show(&mut self, run: RunId, object: ObjectId, tell: impl FnOnce(&mut Shown, &Replica) -> Change) {
        let told = self.sharing(run, object).and_then(|sharing| sharing.shown(tell));
        if let Some((place, change)) = told {
            self.unpolled.command(RunCommand::Replica { object, place, change }.of(run));
        }
    }

    /// The replica has come, or was replaced.
    pub(super) fn show_whole(&mut self, run: RunId, object: ObjectId) {
        self.show(run, object, Shown::whole);
    }

    /// The replica has got updates of other hosts, or the runtime is to be notified that its own have arrived.
    pub(super) fn show_more(&mut self, run: RunId, object: ObjectId) {
        self.show(run, object, Shown::more);
    }

    pub(in crate::host) fn on_based(&mut self, now: Time, run: RunId, object: ObjectId, new: NewBase) {
        let Some(sharing) = self.sharing(run, object) else { return };
        let (Some(replica), Some(shown)) = (&mut sharing.replica, &mut sharing.shown) else { return };
        let Some(contained) = shown.set_base(&new) else { return };
        replica.set_base(new.base, &contained);
        self.check_bytes(now, run, object);
    }

    /// No job here uses the object any more.
    pub(in crate::host) fn on_closed(&mut self, run: RunId, object: ObjectId) {
        if let Some(sharing) = self.sharing(run, object) {
            sharing.shown = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::tests::{PEER, RUN, host};
    use crate::host::{Command, Notice};
    use crate::limits::SHARED_CONFIRMED_BYTES;
    use crate::message::PeerMessage;
    use crate::shared::{Seen, Versions, Writer};
    use crate::{Bytes, HostId};

    const NOW: Time = Time(0);
    const OBJECT: ObjectId = ObjectId([3; 16]);
    const PLACE: u64 = 4;

    fn update(byte: u8) -> Bytes {
        vec![byte].into()
    }

    fn more(updates: &[u8], own: u64) -> Change {
        Change::More { updates: updates.iter().copied().map(update).collect(), own }
    }

    /// What the runtime has been sent since, each with the number of its place.
    fn told(host: &mut Host) -> Vec<(u64, Change)> {
        let commands = std::iter::from_fn(|| host.poll_command());
        commands
            .filter_map(|command| match command {
                Command::Run { run: RUN, command: RunCommand::Replica { object: OBJECT, place, change } } => {
                    Some((place, change))
                }
                _ => None,
            })
            .collect()
    }

    fn created() -> Host {
        let mut host = host();
        host.handle_notice(NOW, RUN, Notice::Shared { object: OBJECT, place: PLACE, initial: update(0) });
        host
    }

    fn make(host: &mut Host, bytes: Bytes) {
        host.handle_notice(NOW, RUN, Notice::Updated { object: OBJECT, bytes });
    }

    /// A peer sends its updates from this number on.
    fn receive(host: &mut Host, first: u64, updates: &[u8]) {
        let writer = Writer { host: PEER, incarnation: 1 };
        let updates = updates.iter().copied().map(update).collect();
        let message = PeerMessage::Updates { run: RUN, object: OBJECT, writer, first, updates };
        host.handle_from_peer(NOW, PEER, message);
    }

    #[test]
    fn the_runtime_is_sent_each_update_of_others_once() {
        let mut host = created();
        make(&mut host, update(1));
        assert_eq!(told(&mut host), [], "it knows its own");
        receive(&mut host, 1, &[3]);
        assert_eq!(told(&mut host), [], "an earlier one is missing");
        receive(&mut host, 0, &[2]);
        receive(&mut host, 0, &[2, 3]);
        assert_eq!(told(&mut host), [(PLACE, more(&[2, 3], 1))]);
        host.handle_notice(NOW, RUN, Notice::Closed { object: OBJECT });
        receive(&mut host, 2, &[4]);
        assert_eq!(told(&mut host), [], "no job uses it");
        host.handle_notice(NOW, RUN, Notice::Opened { object: OBJECT, place: PLACE + 1 });
        let updates = (1..5).map(update).collect();
        assert_eq!(told(&mut host), [(PLACE + 1, Change::Whole { base: update(0), updates, own: 0 })]);
    }

    #[test]
    fn the_runtime_is_notified_now_and_then_that_its_updates_have_arrived() {
        let mut host = created();
        let half = Bytes::from(vec![0; SHARED_CONFIRMED_BYTES / 2]);
        for count in 1..6 {
            make(&mut host, half.clone());
            let expected = if count % 2 == 0 { vec![(PLACE, more(&[], count))] } else { Vec::new() };
            assert_eq!(told(&mut host), expected, "{count}");
        }
        receive(&mut host, 0, &[2]);
        assert_eq!(told(&mut host), [(PLACE, more(&[2], 5))]);
    }

    #[test]
    fn a_base_of_the_runtime_replaces_what_it_contains() {
        let mut host = created();
        make(&mut host, update(1));
        receive(&mut host, 0, &[2]);
        make(&mut host, update(3));
        let based = |host: &mut Host, generation: u64, own: u64, others: u64| {
            let new = NewBase { generation, seen: Seen { own, others }, base: update(9) };
            host.handle_notice(NOW, RUN, Notice::Based { object: OBJECT, new });
            let replica = host.replica(RUN, OBJECT).expect("created");
            let (base, updates) = replica.content();
            (base[0], updates.map(|update| update[0]).collect::<Vec<u8>>())
        };
        let before = host.replica(RUN, OBJECT).map(|replica| (replica.versions().clone(), replica.digest()));
        for (generation, own, others) in [(1, 2, 0), (0, 3, 0), (0, 0, 2)] {
            assert_eq!(
                based(&mut host, generation, own, others),
                (0, vec![1, 2, 3]),
                "it is of another view"
            );
        }
        // The runtime has applied both of its own before the peer's.
        assert_eq!(based(&mut host, 0, 2, 0), (9, vec![2]));
        assert_eq!(based(&mut host, 0, 1, 0), (9, vec![2]), "that is older");
        assert_eq!(based(&mut host, 0, 2, 1), (9, vec![]));
        let replica = host.replica(RUN, OBJECT).expect("created");
        assert_eq!(before, Some((replica.versions().clone(), replica.digest())));
        let snapshot = replica.snapshot();
        assert_eq!(
            (snapshot.versions(), snapshot.base_digest),
            (replica.versions().clone(), replica.digest())
        );
    }

    #[test]
    fn a_replica_that_replaces_another_comes_whole_with_what_has_arrived() {
        let mut host = created();
        make(&mut host, update(1));
        let writer = Writer { host: HostId(7), incarnation: 1 };
        let other = Replica::new(update(0));
        let mut snapshot = other.snapshot();
        snapshot.base = update(5);
        snapshot.base_versions = [(writer, 4)].into_iter().collect::<Versions>();
        let message =
            PeerMessage::Replica { run: RUN, object: OBJECT, snapshot, sharers: Default::default() };
        host.handle_from_peer(NOW, PEER, message);
        let whole = Change::Whole { base: update(5), updates: vec![update(1)], own: 1 };
        assert_eq!(told(&mut host), [(PLACE, whole)]);
        make(&mut host, update(2));
        receive(&mut host, 0, &[3]);
        assert_eq!(told(&mut host), [(PLACE, more(&[3], 2))]);
    }
}
