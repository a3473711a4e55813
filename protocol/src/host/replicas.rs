//! Tests rare decisions of a host about replicas of shared objects.

use std::collections::BTreeSet;
use std::time::Duration;

use super::tests::{PEER, RUN, host, info, said};
use super::*;
use crate::limits::{
    SHARED_COMPARE_MAX, SHARED_COMPARE_MIN, SHARED_FETCH_MIN, SHARED_FLUSH, SHARERS_PER_MESSAGE_MAX,
};
use crate::message::{PeerMessage, ToCoordinator, ToHost};
use crate::parcel::{Contents, ParcelId, ParcelMessage};
use crate::shared::{Digest, NamedSharers, Replica, Versions};

const NOW: Time = Time(0);
const OTHER: HostId = HostId(30);

#[test]
fn no_two_logs_of_fetched_objects_have_the_same_incarnation() {
    let mut host = host();
    let incarnations: BTreeSet<u64> = (1..4)
        .map(|number| {
            let object = ObjectId([number; 16]);
            host.handle_notice(NOW, RUN, Notice::Opened { object, place: number.into() });
            let snapshot = Replica::new(vec![number].into()).snapshot();
            let message = PeerMessage::Replica { run: RUN, object, snapshot, sharers: Default::default() };
            host.handle_from_peer(NOW, PEER, message);
            let replica = host.replica(RUN, object).expect("it has come");
            replica.next_local(HostId(10)).0.incarnation
        })
        .collect();
    assert_eq!(incarnations.len(), 3);
}

#[test]
fn a_replica_that_does_not_come_is_waited_for_twice_as_long_at_the_next_host() {
    let mut host = host();
    let joined = vec![info(OTHER)];
    host.handle_from_coordinator(NOW, ToHost::Hosts { epoch: 0, joined, gone: Vec::new() });
    let object = ObjectId([3; 16]);
    host.handle_notice(NOW, RUN, Notice::Opened { object, place: 1 });
    let until = |host: &Host| host.next_sharing(RUN, &host.runs[&RUN].shared).map(|(until, _)| until);
    host.handle_timeout(NOW);
    let first = NOW + SHARED_FETCH_MIN;
    assert_eq!(until(&host), Some(first));
    host.handle_timeout(first);
    assert_eq!(until(&host), Some(first + 2 * SHARED_FETCH_MIN));
}

#[test]
fn updates_in_quick_succession_are_sent_together() {
    let mut host = host();
    let object = ObjectId([3; 16]);
    host.handle_notice(NOW, RUN, Notice::Shared { object, place: 1, initial: vec![0].into() });
    let (versions, digest, sharers) = (Versions::default(), Default::default(), Default::default());
    let message = PeerMessage::Versions { run: RUN, object, versions, digest, sharers, is_question: false };
    host.handle_from_peer(NOW, PEER, message);
    said(&mut host);
    let sent = |host: &mut Host| -> Vec<(u64, usize)> {
        let sent = said(host).into_iter().filter_map(|transmit| match transmit {
            Transmit::ToPeer(PEER, PeerMessage::Updates { first, updates, .. }) => {
                Some((first, updates.len()))
            }
            _ => None,
        });
        sent.collect()
    };
    // Long after anything was sent, so that the first need not wait.
    let now = NOW + Duration::from_secs(1);
    for byte in 0..4 {
        host.handle_notice(now, RUN, Notice::Updated { object, bytes: vec![byte].into() });
    }
    assert_eq!(sent(&mut host), [(0, 1)]);
    host.handle_timeout(now + SHARED_FLUSH);
    assert_eq!(sent(&mut host), [(1, 3)]);
}

/// A host with a shared object that it uses and of which the peer has a replica, too.
fn sharing() -> (Host, ObjectId, Digest) {
    let mut host = host();
    let object = ObjectId([3; 16]);
    let digest = Digest::of_new(&[0]);
    host.handle_notice(NOW, RUN, Notice::Shared { object, place: 1, initial: vec![0].into() });
    let (versions, sharers) = (Versions::default(), NamedSharers::default());
    let message = PeerMessage::Versions { run: RUN, object, versions, digest, sharers, is_question: false };
    host.handle_from_peer(NOW, PEER, message);
    said(&mut host);
    (host, object, digest)
}

#[test]
fn replicas_are_compared_soon_after_a_route_was_lost() {
    for is_lost in [false, true] {
        let (mut host, _, _used) = sharing();
        let compares = |host: &mut Host| {
            let said = said(host);
            said.iter().any(|said| matches!(said, Transmit::ToPeer(PEER, PeerMessage::Versions { .. })))
        };
        // The object does not change, and is compared less and less often.
        let mut now = NOW;
        while !compares(&mut host) || now < NOW + 4 * SHARED_COMPARE_MAX {
            let (due, _) = host.poll_timeout().expect("it is shared");
            now = now.max(due);
            host.handle_timeout(now);
        }
        if is_lost {
            host.handle_route_lost(now, PEER);
        }
        compares(&mut host);
        host.handle_timeout(now + SHARED_COMPARE_MIN);
        assert_eq!(compares(&mut host), is_lost);
    }
}

#[test]
fn a_replica_that_has_become_superfluous_is_no_longer_pulled() {
    let (mut host, object, digest) = sharing();
    let contents = Contents::Replica { run: RUN, object };
    let announcement = ParcelMessage::Announce { parcel: ParcelId(1), contents, bytes: 1 << 20 };
    host.handle_from_peer(NOW, PEER, PeerMessage::Parcel(announcement));
    assert!(host.awaits_object(RUN, object));
    said(&mut host);
    let (versions, sharers) = (Versions::default(), NamedSharers::default());
    let message = PeerMessage::Versions { run: RUN, object, versions, digest, sharers, is_question: false };
    host.handle_from_peer(NOW, PEER, message);
    assert!(!host.awaits_object(RUN, object));
    let received = PeerMessage::Parcel(ParcelMessage::Received { parcel: ParcelId(1) });
    assert!(said(&mut host).contains(&Transmit::ToPeer(PEER, received)));
}

#[test]
fn a_host_asks_to_meet_a_bounded_number_of_strangers_with_replicas() {
    let (mut host, object, digest) = sharing();
    let mut met = BTreeSet::new();
    for first in [1_000, 2_000, 3_000] {
        let known = (first..first + 100).map(HostId).collect();
        let sharers = NamedSharers { known, former: Vec::new() };
        let versions = Versions::default();
        let message =
            PeerMessage::Versions { run: RUN, object, versions, digest, sharers, is_question: false };
        host.handle_from_peer(NOW, PEER, message);
        for transmit in said(&mut host) {
            if let Transmit::ToCoordinator(ToCoordinator::Meet { hosts }) = transmit {
                met.extend(hosts);
            }
        }
    }
    assert_eq!(met.len(), SHARERS_PER_MESSAGE_MAX);
}
