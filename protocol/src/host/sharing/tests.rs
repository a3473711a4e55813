//! What needs more objects, writers or hosts than a story can tell of.

use std::sync::Arc;

use super::*;
use crate::host::surface::{HostConfig, Notice, Transmit};
use crate::limits::SHARED_WRITERS_MAX;
use crate::message::{HostReport, PeerMessage};
use crate::{BlobHash, FaultTolerance, RunLimits, RunSpec, Stealing};

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
    let spec = RunSpec {
        app: BlobHash::of(b"app"),
        function: "main".to_owned(),
        arguments: Vec::new(),
        inputs: Vec::new(),
        limits: RunLimits::default(),
        strict_nan: false,
        stealing: Stealing::default(),
        fault_tolerance: FaultTolerance::default(),
        record_every_ms: 250,
    };
    let mut part = Part::new(spec, 1 << 20, NOW);
    part.stage = Stage::Ready;
    host.runs.insert(RUN, Box::new(part));
    host
}

fn create(host: &mut Host, object: ObjectId) {
    let replica = Arc::new(SharedReplica::new(Replica::new(vec![0].into())));
    host.handle_notice(NOW, RUN, Notice::Shared { object, replica });
}

fn verdict(host: &Host) -> Option<&str> {
    match host.runs[&RUN].verdict.as_ref()? {
        ToCoordinator::Limit { reason, .. } => Some(reason),
        _ => None,
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
    let sharing = host.runs.get_mut(&RUN).and_then(|part| part.shared.get_mut(&OBJECT)).expect("created");
    sharing.replica.with(|place| place.as_mut().expect("created").append_local(HostId(9), vec![1].into()));
    let is_unstable = |sharing: &Sharing| {
        sharing.note_stable();
        sharing.replica.with(|place| place.as_ref().expect("created").is_unstable())
    };
    sharing.sharers.extend([(HostId(1), 1), (HostId(2), 0)]);
    assert!(is_unstable(sharing), "one of two has it");
    sharing.sharers.insert(HostId(2), 1);
    assert!(!is_unstable(sharing));
}

#[test]
fn a_host_that_is_no_acquaintance_any_more_is_not_waited_for() {
    let mut host = host();
    create(&mut host, OBJECT);
    let (one, other) = (HostId(1), HostId(2));
    let sharing = host.runs.get_mut(&RUN).and_then(|part| part.shared.get_mut(&OBJECT)).expect("created");
    sharing.sharers.extend([(one, 0), (other, 0)]);
    assert!(sharing.needs(one), "one of the few that it compares its replica with");
    sharing.replica.with(|place| {
        let replica = place.as_mut().expect("created");
        replica.append_local(HostId(9), vec![1].into());
        assert!(replica.is_unstable());
    });
    host.forget_sharer(one);
    host.forget_sharer(other);
    let sharing = &host.runs[&RUN].shared[&OBJECT];
    assert!(sharing.sharers.is_empty());
    assert!(sharing.replica.with(|place| !place.as_ref().expect("created").is_unstable()));
    host.sweep(NOW, RUN);
    assert!(
        !host.transmits.iter().any(|sent| matches!(sent, Transmit::ToPeer(_, PeerMessage::NotShared { .. })))
    );
}

#[test]
fn a_host_asks_again_to_meet_strangers_when_it_finds_the_grid_again() {
    let mut host = host();
    create(&mut host, OBJECT);
    host.is_connected = true;
    let asks = |host: &mut Host| {
        let sent = std::mem::take(&mut host.transmits);
        sent.iter().any(|sent| matches!(sent, Transmit::ToCoordinator(ToCoordinator::Meet { .. })))
    };
    host.meet(RUN, OBJECT, HostId(1));
    assert!(asks(&mut host));
    host.meet(RUN, OBJECT, HostId(1));
    assert!(!asks(&mut host), "once is enough while the link holds");
    host.meet_again(NOW, RUN, false);
    assert!(asks(&mut host));
}
