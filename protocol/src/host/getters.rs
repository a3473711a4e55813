//! Tests of a host's getters.

use super::tests::{PEER, RUN, host, info, said, spec};
use super::*;
use crate::message::{PeerMessage, ToHost};
use crate::parcel::{Contents, ParcelId, ParcelMessage};
use crate::root_job;
use crate::shared::Replica;
use crate::{AssignmentId, Finished, Lineage, Outcome, RuntimeJobId, StealId};

const NOW: Time = Time(0);
const OBJECT: ObjectId = ObjectId([3; 16]);

#[test]
fn a_host_returns_its_id_and_its_peers() {
    let config = HostConfig { report: (*info(PEER).report).clone(), seed: 1, table_bytes_max: 1 << 20 };
    let new = Host::new(config, NOW);
    assert_eq!((new.id(), new.grid(), new.is_connected(), new.runs()), (None, None, false, Vec::new()));
    assert_eq!((new.peers().count(), new.counts(RUN), new.poll_timeout()), (0, None, None));

    let mut host = host();
    assert_eq!((host.id(), host.grid()), (Some(HostId(10)), Some(GridId(7))));
    assert_eq!((host.is_connected(), host.is_leaving(), host.paused()), (true, false, None));
    assert_eq!(host.runs(), [RUN]);
    assert_eq!(host.peers().map(|peer| peer.id).collect::<Vec<_>>(), [PEER]);
    assert_eq!(host.peer(PEER), Some(&info(PEER)));
    assert_eq!(host.peer(HostId(10)), None);
    host.leave(NOW);
    assert!(host.is_leaving());
    host.handle_disconnected(NOW);
    assert!(!host.is_connected());
}

#[test]
fn a_host_returns_its_data_of_a_run() {
    let mut host = host();
    assert_eq!((host.held_and_lent(RUN), host.table(RUN), host.shared(RUN)), ((0, 0), (0, 0), (0, 0)));
    let assigned = root_job(&spec());
    let (number, proof) = (AssignmentId(1), 9);
    host.handle_from_coordinator(NOW, ToHost::Assign { run: RUN, number, proof, spec: assigned.clone() });
    for steal in (0..2).map(StealId) {
        host.handle_from_peer(
            NOW,
            PEER,
            PeerMessage::Steal { run: RUN, steal, holding: 0, ahead: false, more: 0 },
        );
        host.handle_offered(NOW, RUN, Some((RuntimeJobId(7 + steal.0), assigned.clone())));
    }
    assert_eq!(host.held_and_lent(RUN), (1, 2));
    assert_eq!(host.undelivered_bytes(), 0);
    let (key, lineage) = (crate::JobKey([1; 32]), Lineage::default());
    let finished = Finished { outcome: Outcome::Done(vec![0; 100].into()), work_ns: 1, span_ns: 1 };
    host.handle_notice(NOW, RUN, Notice::Recorded { key, depth: 1, lineage, finished });
    assert!(matches!(host.table(RUN), (1, bytes) if bytes > 100));
    assert_eq!((host.entries_evicted(RUN), host.entries_evicted(RunId(2))), (Some(0), None));
    assert_eq!(host.counts(RUN).map(|counts| counts.jobs.recorded), Some(1));

    host.handle_notice(NOW, RUN, Notice::Shared { object: OBJECT, place: 1, initial: vec![0; 1_000].into() });
    assert!(matches!(host.shared(RUN), (1, bytes) if bytes > 1_000));
    assert!(host.replica(RUN, OBJECT).is_some_and(|replica| replica.bytes() == 1_000));
    assert!(host.replica(RUN, ObjectId([4; 16])).is_none());
    assert!(!host.awaits_object(RUN, OBJECT));
    let contents = Contents::Replica { run: RUN, object: OBJECT };
    let announcement = ParcelMessage::Announce { parcel: ParcelId(1), contents, bytes: 1 << 20 };
    host.handle_from_peer(NOW, PEER, PeerMessage::Parcel(announcement));
    assert!(host.awaits_object(RUN, OBJECT) && !host.awaits_object(RUN, ObjectId([4; 16])));

    host.handle_from_coordinator(NOW, ToHost::StopRun { run: RUN });
    assert_eq!((host.held_and_lent(RUN), host.table(RUN), host.shared(RUN)), ((0, 0), (0, 0), (0, 0)));
    assert!(!host.awaits_object(RUN, OBJECT), "nothing travels for a run that is over");
}

#[test]
fn a_host_returns_its_reason_to_take_no_work() {
    let mut host = host();
    host.pause(NOW, Some("its user works".to_owned()));
    host.handle_notice(NOW, RUN, Notice::Drained);
    assert_eq!(host.paused(), None, "it is about to");
    host.handle_from_coordinator(NOW, ToHost::Farewell);
    assert_eq!((host.paused(), host.is_leaving()), (Some("its user works"), false));
    host.pause(NOW, Some("it runs on battery".to_owned()));
    assert_eq!(host.paused(), Some("it runs on battery"));
    host.pause(NOW, None);
    assert_eq!(host.paused(), None);
}

#[test]
fn a_host_that_pauses_asks_no_host_for_jobs() {
    let mut host = host();
    host.pause(NOW, Some("its user works".to_owned()));
    said(&mut host);
    host.handle_notice(NOW, RUN, Notice::Idle(1));
    assert_eq!(said(&mut host), [], "it asks nobody for jobs");
    assert!(host.poll_timeout().is_some(), "its guests have a bounded time");
}

#[test]
fn updates_are_named_by_the_hosts_id() {
    let mut host = host();
    host.handle_notice(NOW, RUN, Notice::Shared { object: OBJECT, place: 1, initial: vec![0].into() });
    host.handle_notice(NOW, RUN, Notice::Updated { object: OBJECT, bytes: vec![1].into() });
    let (writer, count) = host.replica(RUN, OBJECT).and_then(Replica::own_log).expect("an update");
    assert_eq!((writer.host, count), (HostId(10), 1));
}
