//! Tests that need more objects, writers or hosts than a story can have.

use super::*;
use crate::host::run::HostRun;
use crate::host::stage::Stage;
use crate::host::surface::{HostConfig, Notice, Transmit};
use crate::host::tests::{said, welcome};
use crate::limits::{
    OBJECTS_PER_RUN_MAX, OBJECTS_UNMENTIONED_MAX, SHARED_FORMER_MAX, SHARED_MESSAGE_BYTES_MAX, SHARED_UNUSED,
    SHARED_UPDATE_OVERHEAD_BYTES, SHARED_WRITERS_MAX, UNMENTIONED_BYTES_MAX,
};
use crate::message::{HostReport, PeerMessage, ToCoordinator};
use crate::{BlobHash, RunSpec};

const RUN: RunId = RunId(1);
const OBJECT: ObjectId = ObjectId([7; 16]);
const NOW: Time = Time(1_000_000_000);

/// A host that takes part in a run.
fn host() -> Host {
    let report = HostReport {
        name: "test".to_owned(),
        site: "west".to_owned(),
        threads: 1,
        version: "1".to_owned(),
        direct: None,
    };
    let mut host = Host::new(HostConfig { report, seed: 1, table_bytes_max: 1 << 20 }, NOW);
    let mut host_run = HostRun::new(RunSpec::new(BlobHash::of(b"app")), 1 << 20, NOW);
    host_run.stage = Stage::Ready;
    host.runs.insert(RUN, Box::new(host_run));
    host
}

/// A job creates an object, and ends.
fn create(host: &mut Host, object: ObjectId) {
    host.handle_notice(NOW, RUN, Notice::Shared { object, place: 1, initial: vec![0].into() });
    host.handle_notice(NOW, RUN, Notice::Closed { object });
}

fn verdict(host: &Host) -> Option<&str> {
    match host.runs[&RUN].reporting.verdict()? {
        ToCoordinator::Limit { reason, .. } => Some(reason),
        _ => None,
    }
}

/// A host has a replica, and this number of this host's updates.
fn note_has(sharing: &mut Sharing, host: HostId, own: u64) {
    sharing.sharers.meet(host);
    sharing.sharers.note_has(host, own);
}

/// A peer sends a replica that nobody has asked for.
fn entrusted(host: &mut Host, object: ObjectId, bytes: usize) {
    let replica = Replica::new(vec![0; bytes].into());
    let message =
        PeerMessage::Replica { run: RUN, object, snapshot: replica.snapshot(), sharers: Default::default() };
    host.handle_from_peer(NOW, crate::host::tests::PEER, message);
    while host.poll_command().is_some() || host.poll_transmit().is_some() {}
}

#[test]
fn objects_that_no_job_mentions_are_few_and_end_no_run() {
    let mut host = host();
    host.runs.get_mut(&RUN).expect("it takes part").spec.limits.shared_bytes_max = Some(1 << 20);
    for number in 0..OBJECTS_PER_RUN_MAX as u128 + 10 {
        entrusted(&mut host, ObjectId(number.to_le_bytes()), 1);
    }
    assert_eq!((host.shared(RUN).0, verdict(&host)), (OBJECTS_UNMENTIONED_MAX, None));
    // They leave room for the run's objects.
    create(&mut host, ObjectId([0xff; 16]));
    assert_eq!((host.shared(RUN).0, verdict(&host)), (OBJECTS_UNMENTIONED_MAX + 1, None));
    // Objects that no job mentions any more are forgotten, and so are these.
    for time in 1..=3 {
        host.handle_timeout(NOW + SHARED_UNUSED * time);
    }
    assert_eq!((host.shared(RUN), host.runs[&RUN].shared.unmentioned.count), ((0, 0), 0));
    for number in 0..20 {
        entrusted(&mut host, ObjectId([number; 16]), 10 << 20);
    }
    let (objects, bytes) = host.shared(RUN);
    assert!(bytes <= UNMENTIONED_BYTES_MAX && objects == 12, "{objects} objects, {bytes} bytes");
    assert_eq!(verdict(&host), None, "though it is more than the run allows");
    // A job that comes mentions one of them: it counts as the run's.
    host.handle_notice(NOW, RUN, Notice::Opened { object: ObjectId([3; 16]), place: 1 });
    assert_eq!(host.runs[&RUN].shared.unmentioned.count, 11);
}

#[test]
fn forged_writers_of_an_object_that_no_job_mentions_end_no_run() {
    for is_mentioned in [false, true] {
        let mut host = host();
        let peer = crate::host::tests::PEER;
        entrusted(&mut host, OBJECT, 1);
        if is_mentioned {
            host.handle_notice(NOW, RUN, Notice::Opened { object: OBJECT, place: 1 });
        }
        for incarnation in 0..=SHARED_WRITERS_MAX as u64 {
            let writer = Writer { host: peer, incarnation };
            let updates = vec![vec![1].into()];
            host.handle_from_peer(
                NOW,
                peer,
                PeerMessage::Updates { run: RUN, object: OBJECT, writer, first: 0, updates },
            );
        }
        assert_eq!((verdict(&host).is_some(), host.shared(RUN).0), (is_mentioned, usize::from(is_mentioned)));
    }
}

#[test]
fn too_many_objects_end_the_run_with_a_reason() {
    let mut host = host();
    for number in 0..OBJECTS_PER_RUN_MAX as u128 {
        create(&mut host, ObjectId(number.to_le_bytes()));
    }
    assert_eq!(verdict(&host), None);
    create(&mut host, ObjectId([0xff; 16]));
    assert_eq!(host.shared(RUN).0, OBJECTS_PER_RUN_MAX);
    assert!(
        verdict(&host).is_some_and(|reason| reason.contains("65536 shared objects")),
        "{:?}",
        verdict(&host)
    );
}

#[test]
fn too_many_writers_end_the_run_with_a_reason() {
    let mut host = host();
    create(&mut host, OBJECT);
    for number in 0..=SHARED_WRITERS_MAX as u64 {
        assert_eq!(verdict(&host), None);
        let writer = Writer { host: HostId(number), incarnation: 0 };
        host.on_updates(NOW, HostId(1), (RUN, OBJECT), (writer, 0), &[vec![1].into()]);
    }
    assert!(verdict(&host).is_some_and(|reason| reason.contains("4096 logs")), "{:?}", verdict(&host));
}

#[test]
fn an_update_is_stable_when_all_others_have_it() {
    let mut host = host();
    create(&mut host, OBJECT);
    let sharing =
        host.runs.get_mut(&RUN).and_then(|run| run.shared.objects.get_mut(&OBJECT)).expect("created");
    sharing.replica.as_mut().expect("created").append_local(HostId(9), vec![1].into());
    let is_unstable = |sharing: &mut Sharing| {
        sharing.note_stable();
        sharing.replica.as_ref().expect("created").is_unstable()
    };
    note_has(sharing, HostId(1), 1);
    note_has(sharing, HostId(2), 0);
    assert!(is_unstable(sharing), "one of two has it");
    note_has(sharing, HostId(2), 1);
    assert!(!is_unstable(sharing));
}

/// While a host was given up, all others got the updates made here. It is back, and lacks them.
#[test]
fn an_object_stays_while_a_host_that_came_back_lacks_updates_made_here() {
    let mut host = host();
    create(&mut host, OBJECT);
    let back = HostId(2);
    let sharing =
        host.runs.get_mut(&RUN).and_then(|run| run.shared.objects.get_mut(&OBJECT)).expect("created");
    sharing.replica.as_mut().expect("created").append_local(HostId(9), vec![1].into());
    note_has(sharing, HostId(1), 1);
    sharing.note_stable();
    note_has(sharing, back, 0);
    for time in 1..=4 {
        host.sweep(NOW + SHARED_UNUSED * time, RUN);
        assert_eq!(host.shared(RUN).0, 1);
    }
    let asked = said(&mut host).iter().any(|sent| match sent {
        Transmit::ToPeer(to, PeerMessage::Versions { is_question, .. }) => *is_question && *to == back,
        _ => false,
    });
    assert!(asked);
    let sharing =
        host.runs.get_mut(&RUN).and_then(|run| run.shared.objects.get_mut(&OBJECT)).expect("it stays");
    note_has(sharing, back, 1);
    host.sweep(NOW + SHARED_UNUSED * 5, RUN);
    assert_eq!(host.shared(RUN).0, 0, "all have it");
}

#[test]
fn a_host_that_is_no_longer_an_acquaintance_is_not_waited_for() {
    let mut host = host();
    create(&mut host, OBJECT);
    let (one, other) = (HostId(1), HostId(2));
    let sharing =
        host.runs.get_mut(&RUN).and_then(|run| run.shared.objects.get_mut(&OBJECT)).expect("created");
    note_has(sharing, one, 0);
    note_has(sharing, other, 0);
    assert!(sharing.sharers.needs(one), "one of the few that it compares its replica with");
    let replica = sharing.replica.as_mut().expect("created");
    replica.append_local(HostId(9), vec![1].into());
    assert!(replica.is_unstable());
    host.forget_sharer(one);
    host.forget_sharer(other);
    let sharing = host.runs[&RUN].shared.get(OBJECT).expect("known");
    assert!(sharing.sharers.is_empty());
    assert!(!sharing.replica.as_ref().expect("created").is_unstable());
    host.sweep(NOW, RUN);
    assert!(
        !said(&mut host)
            .iter()
            .any(|sent| matches!(sent, Transmit::ToPeer(_, PeerMessage::NotShared { .. })))
    );
}

#[test]
fn a_host_asks_again_to_meet_strangers_when_it_finds_the_grid_again() {
    let mut host = host();
    create(&mut host, OBJECT);
    host.handle_connected(NOW);
    host.handle_from_coordinator(NOW, welcome(HostId(10), 5));
    said(&mut host);
    let asks = |host: &mut Host| {
        said(host).iter().any(|sent| matches!(sent, Transmit::ToCoordinator(ToCoordinator::Meet { .. })))
    };
    host.meet(RUN, OBJECT, HostId(1));
    assert!(asks(&mut host));
    host.meet(RUN, OBJECT, HostId(1));
    assert!(!asks(&mut host), "once is enough while the link holds");
    host.meet_again(NOW, RUN, false);
    assert!(asks(&mut host));
}

#[test]
fn a_host_that_was_given_up_is_owed_later_updates() {
    let mut replica = Replica::new(vec![0].into());
    for byte in 0..2 {
        replica.append_local(HostId(1), vec![byte].into()).expect("room");
    }
    replica.receive(Writer { host: HostId(2), incarnation: 0 }, 0, &[vec![9].into()]);
    let mut sharing = Sharing { replica: Some(replica), ..Sharing::new(NOW) };
    assert!(!sharing.is_owed(), "nobody was given up");
    for (own, total, is_owed) in [(2, 3, false), (1, 3, true), (2, 2, true), (0, 0, true)] {
        sharing.sharers = Sharers::default();
        sharing.sharers.former.note(NOW, HostId(7), own, total);
        assert_eq!(sharing.is_owed(), is_owed, "{own} of 2, {total} of 3");
    }
    // A host that does not come back is not waited for for ever.
    let before = Time((NOW + SHARED_FORMER_MAX).0 - 1);
    sharing.sharers.former.expire(before);
    assert!(sharing.is_owed());
    sharing.sharers.former.expire(NOW + SHARED_FORMER_MAX);
    assert!(!sharing.is_owed() && sharing.sharers.former.is_empty());
}

#[test]
fn many_updates_go_in_messages_of_bounded_length_and_in_order() {
    let mut host = host();
    let each = SHARED_MESSAGE_BYTES_MAX / 2 - SHARED_UPDATE_OVERHEAD_BYTES;
    let updates: Vec<Bytes> = (0..5).map(|byte| vec![byte; each].into()).collect();
    let writer = Writer { host: HostId(1), incarnation: 0 };
    let (to, first) = (HostId(9), 10);
    host.send_updates(to, (RUN, OBJECT), (writer, first), &updates);
    let announced: Vec<(u64, u64)> = std::iter::from_fn(|| host.poll_transmit())
        .filter_map(|transmit| match transmit {
            Transmit::ToPeer(
                _,
                PeerMessage::Parcel(crate::parcel::ParcelMessage::Announce { contents, bytes, .. }),
            ) => {
                let Contents::Updates { first, .. } = contents else { return None };
                Some((first, bytes / each as u64))
            }
            _ => None,
        })
        .collect();
    assert_eq!(announced, [(10, 2), (12, 2), (14, 1)]);
}

#[test]
fn the_logs_of_forgotten_objects_are_bounded() {
    for (before, is_kept) in [(OBJECTS_PER_RUN_MAX - 1, true), (OBJECTS_PER_RUN_MAX, false)] {
        let mut host = host();
        host.handle_notice(NOW, RUN, Notice::Shared { object: OBJECT, place: 1, initial: vec![0].into() });
        host.handle_notice(NOW, RUN, Notice::Updated { object: OBJECT, bytes: vec![1].into() });
        host.handle_notice(NOW, RUN, Notice::Closed { object: OBJECT });
        let host_run = host.runs.get_mut(&RUN).expect("the run");
        let log = (Writer { host: HostId(1), incarnation: 0 }, 1);
        for number in 0..before as u128 {
            host_run.shared.keep_log(ObjectId(number.to_le_bytes()), log);
        }
        for time in 1..3 {
            host.handle_timeout(NOW + SHARED_UNUSED * time);
        }
        assert_eq!(host.shared(RUN), (0, 0));
        assert_eq!(host.runs[&RUN].shared.log_before(OBJECT).is_some(), is_kept, "{before} before it");
    }
}

/// Several hosts find that this one lacks large updates, and each announces them. They are pulled from one host after
/// another, and from no second host if the first has sent them all.
#[test]
fn large_updates_are_pulled_from_one_host_and_declined_from_others() {
    use crate::host::tests::{PEER, info};
    use crate::message::ToHost;
    use crate::parcel::{ParcelId, ParcelMessage};

    const OTHER: HostId = HostId(21);
    let writer = Writer { host: HostId(31), incarnation: 0 };
    let update = Bytes::from(vec![5; 100_000]);
    let message =
        PeerMessage::Updates { run: RUN, object: OBJECT, writer, first: 0, updates: vec![update.clone()] };
    let bytes = postcard::to_allocvec(&message).expect("encodable");
    let contents = Contents::Updates { run: RUN, object: OBJECT, writer, first: 0 };
    for has_more in [false, true] {
        let mut host = crate::host::tests::host();
        let joined = vec![info(OTHER)];
        host.handle_from_coordinator(NOW, ToHost::Hosts { epoch: 0, joined, gone: Vec::new() });
        let mut other = Replica::new(vec![0].into());
        host.handle_notice(NOW, RUN, Notice::Shared { object: OBJECT, place: 1, initial: vec![0].into() });
        said(&mut host);
        let parcel = ParcelId(1);
        for from in [PEER, OTHER] {
            let announce = ParcelMessage::Announce { parcel, contents, bytes: bytes.len() as u64 };
            host.handle_from_peer(NOW, from, PeerMessage::Parcel(announce));
        }
        let pulled: Vec<HostId> = said(&mut host)
            .into_iter()
            .filter_map(|sent| match sent {
                Transmit::ToPeer(from, PeerMessage::Parcel(ParcelMessage::Pull { .. })) => Some(from),
                _ => None,
            })
            .collect();
        assert_eq!(pulled, [PEER]);
        for (chunk, bytes) in bytes.chunks(crate::limits::CHUNK_BYTES_MAX).enumerate() {
            let offset = (chunk * crate::limits::CHUNK_BYTES_MAX) as u64;
            let chunk = ParcelMessage::Chunk { parcel, offset, bytes: bytes.into() };
            host.handle_from_peer(NOW, PEER, PeerMessage::Parcel(chunk));
        }
        let asked = |sent: &Transmit| {
            matches!(sent, Transmit::ToPeer(OTHER, PeerMessage::Versions { is_question: true, .. }))
        };
        assert!(said(&mut host).iter().any(asked), "whether its parcel is needed still");
        // The peer's answer.
        other.receive(writer, 0, std::slice::from_ref(&update));
        if has_more {
            other.receive(writer, 1, &[vec![6].into()]);
        }
        let (versions, digest) = (other.versions().clone(), other.digest());
        let answer = PeerMessage::Versions {
            run: RUN,
            object: OBJECT,
            versions,
            digest,
            sharers: Default::default(),
            is_question: false,
        };
        host.handle_from_peer(NOW, OTHER, answer);
        let has_declined = |sent: &Transmit| {
            let received = PeerMessage::Parcel(ParcelMessage::Received { parcel });
            *sent == Transmit::ToPeer(OTHER, received)
        };
        assert_eq!(said(&mut host).iter().any(has_declined), !has_more);
        assert_eq!(host.awaits_object(RUN, OBJECT), has_more);
    }
}

/// A slow link carries one replica after another: each is to be as it is when its turn comes.
#[test]
fn a_replica_that_waits_to_be_pulled_is_sent_with_the_updates_made_meanwhile() {
    use crate::host::tests::PEER;
    use crate::parcel::ParcelMessage;

    let mut host = crate::host::tests::host();
    host.handle_notice(
        NOW,
        RUN,
        Notice::Shared { object: OBJECT, place: 1, initial: vec![0; 1 << 20].into() },
    );
    let mut announced = |round: u32| {
        host.handle_notice(host.latest, RUN, Notice::Updated { object: OBJECT, bytes: vec![5].into() });
        let fetch = PeerMessage::FetchReplica { run: RUN, object: OBJECT };
        host.handle_from_peer(NOW + SHARED_UNUSED * 4 * round, PEER, fetch);
        let parcels = said(&mut host).into_iter().filter_map(|sent| match sent {
            Transmit::ToPeer(_, PeerMessage::Parcel(ParcelMessage::Announce { parcel, bytes, .. })) => {
                Some((parcel, bytes))
            }
            _ => None,
        });
        let announced = parcels.last().expect("it is announced");
        if round == 2 {
            let pull = ParcelMessage::Pull { parcel: announced.0, from: 0, until: 1 };
            host.handle_from_peer(host.latest, PEER, PeerMessage::Parcel(pull));
        }
        announced
    };
    let [first, second, third] = [1, 2, 3].map(&mut announced);
    assert!(first.0 != second.0 && first.1 < second.1, "{first:?}, {second:?}");
    assert_eq!(second, third, "it is being pulled");
}
