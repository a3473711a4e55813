//! How much a host's state machine keeps, for tests that bound its memory.

use super::Host;

/// Lengths of queues, lists and maps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sizes {
    /// Messages, commands and events that were not polled.
    pub unpolled: usize,
    /// Other hosts that it knows.
    pub peers: usize,
    /// Hosts in its lists of victims.
    pub listed: usize,
    /// Hosts that it has cut off.
    pub cut_off: usize,
    /// Steal requests of its own under way.
    pub requests: usize,
    /// Requests of others that wait for a job or a result.
    pub parked: usize,
    /// Jobs held for others.
    pub held: usize,
    /// The length of the longest index of these by key, tag or number, where owners of the same job count once.
    pub held_indexed: usize,
    /// Jobs that are lent, and jobs whose fate is unknown.
    pub away: usize,
    /// Lent jobs that are indexed by the runtime's numbers.
    pub lent: usize,
    /// Entries that wait to be sent.
    pub outbox: usize,
    /// Hosts for which entries wait.
    pub outbox_hosts: usize,
    /// Entries that wait to be sent to owners.
    pub owner_outbox: usize,
    /// Entries that may still be found.
    pub sought: usize,
    /// Lost jobs that it has run again.
    pub redoing: usize,
    /// Entries of its tables.
    pub entries: usize,
    /// Messages that may be sent again.
    pub repeats: usize,
    /// Hosts that were given up recently.
    pub given_up: usize,
    /// Parcels that are kept until they have reached their receivers, and their bytes.
    pub outgoing: (usize, usize),
    /// Parcels that are in transit to this host, and their bytes that have arrived.
    pub incoming: (usize, usize),
    /// Shared objects, and the bytes that their replicas count for.
    pub replicas: (usize, u64),
    /// Hosts that had a replica and were given up, by object.
    pub former_sharers: usize,
    /// Forgotten objects of which this host has updates.
    pub logs_before: usize,
    /// Dropped runs whose last counts are kept.
    pub ended: usize,
    /// Notes and lines that wait to be sent, in the run that has the most of them.
    pub waiting_texts: usize,
}

impl Host {
    /// Bytes of results that their owners do not have, and of parcels that are in transit from or to this host.
    pub fn undelivered_bytes(&self) -> usize {
        let results: usize = (self.runs.values().flat_map(|run| run.held.values()))
            .filter_map(|held| held.finished())
            .map(|finished| finished.outcome.bytes().len())
            .sum();
        results + self.transfers.bytes()
    }

    /// The present sizes, over all runs.
    pub fn sizes(&self) -> Sizes {
        let mut sizes = Sizes {
            unpolled: self.unpolled.len(),
            peers: self.peers.len(),
            listed: self.peers.listed_len(),
            cut_off: self.peers.cut_off_len(),
            repeats: self.repeats.len(),
            given_up: self.peers.given_up_len(),
            ended: self.ended.len(),
            outgoing: self.transfers.outgoing.size(),
            incoming: (self.transfers.incoming.len(), self.transfers.incoming.held_bytes()),
            ..Sizes::default()
        };
        for host_run in self.runs.values() {
            sizes.requests += host_run.thief.requests().count();
            sizes.parked += host_run.victim.len() + host_run.recovery.wanted_early_len();
            sizes.held += host_run.held.len();
            sizes.held_indexed += host_run.held.indexed_len();
            sizes.away += host_run.loans.len() + host_run.recovery.unresolved_len();
            sizes.lent += host_run.loans.numbers_len();
            sizes.outbox += host_run.outbox.len();
            let (owners, for_owners) = host_run.outbox.for_owners_len();
            sizes.outbox_hosts += owners;
            sizes.owner_outbox += for_owners;
            sizes.replicas.0 += host_run.shared.len();
            sizes.replicas.1 += host_run.reporting.own().shared_bytes;
            sizes.former_sharers += host_run.shared.former_len();
            sizes.logs_before += host_run.shared.logs_len();
            sizes.sought += host_run.recovery.lookups.sought_len();
            sizes.redoing += host_run.recovery.lookups.redoing_len();
            sizes.entries += host_run.table.len();
            sizes.waiting_texts =
                sizes.waiting_texts.max(host_run.reporting.notes_len()).max(host_run.reporting.log().len());
        }
        sizes
    }
}

#[cfg(test)]
mod tests {
    use super::super::bonds::{entry, job, note};
    use super::super::held::Owner;
    use super::super::lookups::Lookups;
    use super::super::tests::{PEER, RUN, info, said};
    use super::super::victim::Parked;
    use super::super::{Command, Event, Receiver, Transmit, announced};
    use super::*;
    use crate::message::ToCoordinator;
    use crate::parcel::{Contents, ParcelId};
    use crate::shared::{ObjectId, Writer};
    use crate::{EntryState, Finished, HeldId, HostId, JobKey, Outcome, RuntimeJobId, StealId, Time};

    const NOW: Time = Time(0);

    #[test]
    fn each_size_counts_what_its_name_says() {
        let mut host = announced::busy();
        let host_run = host.runs.get_mut(&RUN).expect("it takes part");
        host_run.victim.park(Parked { thief: PEER, steal: StealId(8), holding: 0, more: 0, until: NOW });
        for number in [1, 2] {
            host_run.outbox.push(entry(number, 0, EntryState::Running(PEER)));
        }
        for _ in 0..3 {
            host_run.outbox.push_for(PEER, entry(1, 0, EntryState::Running(PEER)));
        }
        host_run.reporting.own_mut().shared_bytes = 77;
        let writer = Writer { host: PEER, incarnation: 1 };
        for byte in [1, 2] {
            host_run.shared.keep_log(ObjectId([byte; 16]), (writer, 1));
        }
        let tags = [1, 2, 3].map(|number| job(number).key.tag());
        host_run.recovery.lookups = Lookups::of(&[1, 2, 3].map(|byte| JobKey([byte; 32])), &tags[..2], &tags);
        assert!(host_run.table.insert(entry(1, 0, EntryState::Running(PEER))));
        // Two index entries that should have been forgotten.
        for number in [97, 98] {
            host_run.held.leave_behind(Owner::Here(RuntimeJobId(number)), HeldId(number));
        }
        host_run.reporting.take_notes(NOW);
        for _ in 0..2 {
            host_run.reporting.note(NOW, note(0));
        }
        host.peers.leave_behind(HostId(31));
        assert!(host.peers.cut_off(NOW, HostId(32)));
        for peer in [33, 34] {
            host.peers.add(info(HostId(peer)));
            assert!(host.peers.give_up(NOW, HostId(peer)));
        }
        let contents = Contents::Have { run: RUN, key: job(9).key };
        host.transfers
            .outgoing
            .add(NOW, Receiver::Peer(PEER), contents, vec![0; 70_000])
            .expect("there is room");
        host.transfers.incoming.announce(NOW, PEER, ParcelId(1), contents, 70_000).expect("it is sound");
        said(&mut host);
        while host.poll_command().is_some() {}
        host.unpolled.transmit(Transmit::ToCoordinator(ToCoordinator::Leaving));
        (0..2).for_each(|_| host.unpolled.command(Command::Left));
        (0..3).for_each(|_| host.unpolled.event(Event::RunEnded(RUN)));
        let expected = Sizes {
            repeats: 1,
            unpolled: 6,
            peers: 2,
            listed: 3,
            cut_off: 1,
            requests: 1,
            parked: 1,
            held: 1,
            held_indexed: 3,
            away: 2,
            lent: 1,
            outbox: 2,
            outbox_hosts: 1,
            owner_outbox: 3,
            given_up: 2,
            ended: 0,
            outgoing: (1, 70_000),
            incoming: (1, 0),
            replicas: (1, 77),
            former_sharers: 0,
            logs_before: 2,
            sought: 3,
            redoing: 5,
            entries: 1,
            waiting_texts: 2,
        };
        assert_eq!(host.sizes(), expected);
        assert_eq!(host.undelivered_bytes(), 70_000);
        let host_run = host.runs.get_mut(&RUN).expect("it takes part");
        let id = host_run.held.tokens().next().expect("it holds a job");
        let finished = Finished { outcome: Outcome::Done(vec![0; 300].into()), work_ns: 1, span_ns: 1 };
        host_run.held.finish(id, finished);
        assert_eq!(host.undelivered_bytes(), 70_300);
    }
}
