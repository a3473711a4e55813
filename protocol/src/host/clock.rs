//! Tests what a host does as time passes: `poll_timeout` returns the time, and `handle_timeout` acts then and not
//! before.

use std::sync::Arc;
use std::time::Duration;

use crate::limits::{
    COUNTS, DRAIN_MAX, FIND_TIMEOUT, FLUSH, LEAVE_MAX, PARCEL_BYTES_MIN, PARCEL_PATIENCE_MIN,
    PARCEL_UNWANTED_MAX, PARK, PARK_WIDE, RECONCILE, SHARED_COMPARE_MIN, SHARED_FETCH_MIN, SHARED_FLUSH,
    STEAL_TIMEOUT,
};
use crate::message::{Departure, LogLine, PeerMessage, ToCoordinator, ToHost};
use crate::parcel::{Contents, ParcelId, ParcelMessage};
use crate::root_job;
use crate::shared::Versions;
use crate::{Finished, JobKey, Lineage, Outcome, RuntimeJobId, StealId};

use super::tests::{PEER, RUN, host, info, said, spec};
use super::*;

const START: Time = Time(0);
const OTHER: HostId = HostId(30);
const OBJECT: ObjectId = ObjectId([3; 16]);

/// Something that a host is about to do, and how to see that it has done it.
struct Case {
    reason: &'static str,
    after: Duration,
    set_up: fn(&mut Host),
    is_done: fn(&[Transmit], &[Command], &Host) -> bool,
}

fn finished() -> Finished {
    Finished { outcome: Outcome::Done(vec![0].into()), work_ns: 1, span_ns: 1 }
}

fn from_peer(host: &mut Host, message: PeerMessage) {
    host.handle_from_peer(START, PEER, message);
}

/// Another host, of this or another site.
fn join(host: &mut Host, id: HostId, site: &str) {
    let mut info = info(id);
    Arc::make_mut(&mut info.report).site = site.to_owned();
    host.handle_from_coordinator(START, ToHost::Hosts { epoch: 0, joined: vec![info], gone: Vec::new() });
}

fn steal(host: &mut Host, thief: HostId) {
    host.handle_from_peer(
        START,
        thief,
        PeerMessage::Steal { run: RUN, steal: StealId(0), holding: 0, ahead: false, more: 0 },
    );
}

fn create(host: &mut Host, bytes: usize) {
    host.handle_notice(
        START,
        RUN,
        Notice::Shared { object: OBJECT, place: 1, initial: vec![0; bytes].into() },
    );
}

/// The peer has a replica, too.
fn share(host: &mut Host) {
    let (versions, digest, sharers) = (Versions::default(), Default::default(), Default::default());
    let message =
        PeerMessage::Versions { run: RUN, object: OBJECT, versions, digest, sharers, is_question: false };
    from_peer(host, message);
}

fn to_peer(said: &[Transmit], is_such: fn(&PeerMessage) -> bool) -> bool {
    said.iter()
        .any(|transmit| matches!(transmit, Transmit::ToPeer(PEER | OTHER, message) if is_such(message)))
}

fn up(said: &[Transmit], is_such: fn(&ToCoordinator) -> bool) -> bool {
    said.iter().any(|transmit| matches!(transmit, Transmit::ToCoordinator(message) if is_such(message)))
}

const CASES: &[Case] = &[
    Case {
        reason: "guests have had their time to come to rest",
        after: DRAIN_MAX,
        set_up: |host| host.leave(START),
        is_done: |said, _, _| up(said, |message| matches!(message, ToCoordinator::Leaving)),
    },
    Case {
        reason: "the departure was not answered",
        after: LEAVE_MAX,
        set_up: |host| {
            host.leave(START);
            host.handle_notice(START, RUN, Notice::Drained);
        },
        is_done: |_, commands, _| commands.contains(&Command::Left),
    },
    Case {
        reason: "a lost job is redone without the entries of the coordinator",
        after: FIND_TIMEOUT,
        set_up: |host| {
            steal(host, PEER);
            host.handle_offered(START, RUN, Some((RuntimeJobId(7), root_job(&spec()))));
            let gone = vec![(PEER, Departure::Crashed)];
            host.handle_from_coordinator(START, ToHost::Hosts { epoch: 1, joined: Vec::new(), gone });
        },
        is_done: |_, commands, _| {
            let is_redone = |command: &Command| match command {
                Command::Run { command: RunCommand::Requeue { again, .. }, .. } => again.redone,
                _ => false,
            };
            commands.iter().any(is_redone)
        },
    },
    Case {
        reason: "a steal request was not answered",
        after: STEAL_TIMEOUT,
        set_up: |host| host.handle_notice(START, RUN, Notice::Idle(1)),
        is_done: |_, _, host| host.peers.is_silent(PEER),
    },
    Case {
        reason: "a thief has waited long enough",
        after: PARK,
        set_up: |host| steal(host, PEER),
        is_done: |said, _, host| {
            host.sizes().parked == 0
                && to_peer(said, |message| matches!(message, PeerMessage::Nothing { .. }))
        },
    },
    Case {
        reason: "a thief has waited long enough",
        after: PARK_WIDE,
        set_up: |host| {
            join(host, OTHER, "there");
            steal(host, OTHER);
        },
        is_done: |said, _, _| to_peer(said, |message| matches!(message, PeerMessage::Nothing { .. })),
    },
    Case {
        reason: "hosts report to one another which jobs they hold",
        after: RECONCILE,
        set_up: |host| host.handle_notice(START, RUN, Notice::Limit("memory".to_owned())),
        is_done: |said, _, _| up(said, |message| matches!(message, ToCoordinator::Limit { .. })),
    },
    Case {
        reason: "entries have waited to be sent together",
        after: FLUSH,
        set_up: |host| {
            let (key, lineage) = (JobKey([1; 32]), Lineage::default());
            let recorded = Notice::Recorded { key, depth: 1, lineage, finished: finished() };
            host.handle_notice(START, RUN, recorded);
        },
        is_done: |said, _, _| up(said, |message| matches!(message, ToCoordinator::Entries { .. })),
    },
    Case {
        reason: "entries have waited to be sent together",
        after: FLUSH,
        set_up: |host| {
            let (job, function, text) = (None, String::new(), "so far".to_owned());
            let line = LogLine { job, function, text };
            host.handle_notice(START, RUN, Notice::Log(line));
        },
        is_done: |said, _, _| up(said, |message| matches!(message, ToCoordinator::Log { .. })),
    },
    Case {
        reason: "counts are due",
        after: COUNTS,
        set_up: |host| {
            for updates in 1..3 {
                let counts = Box::new(Counts { updates, ..Counts::default() });
                host.handle_notice(START, RUN, Notice::Counts(counts));
                host.handle_timeout(START);
            }
        },
        is_done: |said, _, _| {
            up(said, |message| matches!(message, ToCoordinator::Counts { counts, .. } if counts.updates == 2))
        },
    },
    Case {
        reason: "replicas of a shared object are compared",
        after: SHARED_COMPARE_MIN,
        set_up: |host| {
            create(host, 1);
            share(host);
        },
        is_done: |said, _, _| to_peer(said, |message| matches!(message, PeerMessage::Versions { .. })),
    },
    Case {
        reason: "a replica of a shared object has not come",
        after: SHARED_FETCH_MIN,
        set_up: |host| {
            join(host, OTHER, "here");
            let opened = Notice::Opened { object: OBJECT, place: 1 };
            host.handle_notice(START, RUN, opened);
        },
        // The first host was asked already.
        is_done: |said, _, _| to_peer(said, |message| matches!(message, PeerMessage::FetchReplica { .. })),
    },
    Case {
        reason: "updates of a shared object are to be sent",
        after: SHARED_FLUSH,
        set_up: |host| {
            create(host, 1);
            share(host);
            for byte in 0..2 {
                host.handle_notice(START, RUN, Notice::Updated { object: OBJECT, bytes: vec![byte].into() });
            }
        },
        is_done: |said, _, _| to_peer(said, |message| matches!(message, PeerMessage::Updates { .. })),
    },
    Case {
        reason: "a parcel is no longer wanted",
        after: PARCEL_UNWANTED_MAX,
        set_up: |host| {
            create(host, 2 * PARCEL_BYTES_MIN);
            host.handle_notice(START, RUN, Notice::Closed { object: OBJECT });
            from_peer(host, PeerMessage::FetchReplica { run: RUN, object: OBJECT });
            assert_eq!(host.parcels().0, 1);
        },
        is_done: |_, _, host| host.parcels() == (0, 0),
    },
    Case {
        reason: "bytes of a parcel have not come",
        after: PARCEL_PATIENCE_MIN,
        set_up: |host| {
            let contents = Contents::Replica { run: RUN, object: OBJECT };
            let announcement = ParcelMessage::Announce { parcel: ParcelId(1), contents, bytes: 1 << 20 };
            from_peer(host, PeerMessage::Parcel(announcement));
        },
        is_done: |said, _, _| {
            to_peer(said, |message| matches!(message, PeerMessage::Parcel(ParcelMessage::Pull { .. })))
        },
    },
];

fn drain(host: &mut Host) -> (Vec<Transmit>, Vec<Command>) {
    (said(host), std::iter::from_fn(|| host.poll_command()).collect())
}

/// The time for which the host names this reason, after doing everything that is due before.
fn due(host: &mut Host, reason: &str) -> Option<Time> {
    for _ in 0..10_000 {
        let (at, why) = host.poll_timeout()?;
        if why == reason {
            return Some(at);
        }
        host.handle_timeout(at);
        drain(host);
    }
    None
}

#[test]
fn each_timeout_is_announced_and_handled_on_time() {
    for (at, Case { reason, after, set_up, is_done }) in CASES.iter().enumerate() {
        let mut host = host();
        set_up(&mut host);
        drain(&mut host);
        assert_eq!(due(&mut host, reason), Some(START + *after), "case {at}: {reason}");
        drain(&mut host);
        host.handle_timeout(START + *after - Duration::from_nanos(1));
        let (said, commands) = drain(&mut host);
        assert!(!is_done(&said, &commands, &host), "case {at}: {reason}: too early");
        host.handle_timeout(START + *after);
        let (said, commands) = drain(&mut host);
        assert!(is_done(&said, &commands, &host), "case {at}: {reason}: {said:?} {commands:?}");
    }
}
