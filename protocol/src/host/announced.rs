//! Tests which parcels a host wants, and from which senders.

use super::tests::{PEER, RUN, host, info, said, spec};
use super::*;
use crate::message::{PeerMessage, ToCoordinator, ToHost};
use crate::parcel::{Contents, ParcelId, ParcelMessage};
use crate::root_job;
use crate::shared::Writer;
use crate::{AssignmentId, JobKey, JobSpec, LoanId, RuntimeJobId, StealId};

const NOW: Time = Time(0);
const OTHER: HostId = HostId(30);
const STRANGER: HostId = HostId(40);
const KNOWN: ObjectId = ObjectId([1; 16]);
const UNKNOWN: ObjectId = ObjectId([2; 16]);
const SOUGHT: JobKey = JobKey([9; 32]);

#[derive(Debug, PartialEq, Eq)]
enum Answer {
    /// Its bytes are asked for.
    Pulled,
    /// The host has them already.
    Received,
    Refused,
    /// Refused, and the sender is notified that the result has arrived, so that it does not announce it again.
    RefusedAsReceived,
    /// Refused, and the sender is notified that the host does not have the object.
    RefusedAsNotShared,
    CutOff(Misbehaviour),
}

/// A host with a request to `PEER` under way, a job that it holds for `PEER`, a job lent to `PEER`, a job whose result
/// it asked `PEER` for, and a shared object.
pub fn busy() -> Host {
    let mut host = host();
    let joined = vec![info(OTHER)];
    host.handle_from_coordinator(NOW, ToHost::Hosts { epoch: 0, joined, gone: Vec::new() });
    let host_run = host.runs.get_mut(&RUN).expect("it takes part");
    let request = |victim| thief::Request {
        victim,
        since: NOW,
        is_wide: false,
        is_ahead: false,
        more: 0,
        scope: Scope::Relayed,
        arriving: None,
    };
    for number in 0..2 {
        let steal = host_run.numbers.new_steal();
        assert_eq!(steal, StealId(number));
        host_run.thief.ask(steal, request(PEER));
    }
    let (spec, number) = (root_job(&spec()), LoanId(5));
    let message = PeerMessage::Job { run: RUN, steal: StealId(0), number, spec };
    host.handle_from_peer(NOW, PEER, message);
    host.handle_from_peer(
        NOW,
        PEER,
        PeerMessage::Steal { run: RUN, steal: StealId(0), holding: 0, ahead: false, more: 0 },
    );
    let (number, lent) = (RuntimeJobId(7), JobSpec { key: JobKey([8; 32]), ..root_job(&self::spec()) });
    host.handle_offered(NOW, RUN, Some((number, lent)));
    let host_run = host.runs.get_mut(&RUN).expect("it takes part");
    assert_eq!(
        (host_run.held.len(), host_run.loans.len(), host_run.numbers.has_given(LoanId(2))),
        (1, 1, true)
    );
    let spec = JobSpec { key: SOUGHT, ..root_job(&self::spec()) };
    assert!(!host_run.numbers.has_given(LoanId(3)));
    host_run.recovery.begin(RuntimeJobId(11), bonds::unresolved(spec, Some(PEER)));
    host.handle_notice(NOW, RUN, Notice::Opened { object: KNOWN, place: 1 });
    said(&mut host);
    while host.poll_event().is_some() {}
    host
}

fn answer(from: HostId, contents: Contents) -> Answer {
    let mut host = busy();
    let announcement = ParcelMessage::Announce { parcel: ParcelId(1), contents, bytes: 100_000 };
    host.handle_from_peer(NOW, from, PeerMessage::Parcel(announcement));
    let misbehaved = std::iter::from_fn(|| host.poll_event()).find_map(|event| match event {
        Event::Misbehaved(_, misbehaviour) => Some(misbehaviour),
        _ => None,
    });
    if let Some(misbehaviour) = misbehaved {
        return Answer::CutOff(misbehaviour);
    }
    let messages: Vec<PeerMessage> = (said(&mut host).into_iter())
        .filter_map(|transmit| match transmit {
            Transmit::ToPeer(to, message) if to == from => Some(message),
            _ => None,
        })
        .collect();
    match messages.as_slice() {
        [PeerMessage::Parcel(ParcelMessage::Pull { .. })] => Answer::Pulled,
        [PeerMessage::Parcel(ParcelMessage::Received { .. })] => Answer::Received,
        [PeerMessage::Parcel(ParcelMessage::Refused { .. })] => Answer::Refused,
        [PeerMessage::Received { .. }, PeerMessage::Parcel(ParcelMessage::Refused { .. })] => {
            Answer::RefusedAsReceived
        }
        [PeerMessage::NotShared { .. }, PeerMessage::Parcel(ParcelMessage::Refused { .. })] => {
            Answer::RefusedAsNotShared
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn only_what_a_host_waits_for_is_pulled() {
    use Answer::*;
    use Misbehaviour::{AnswerToNoSteal, Parcel, ResultOfNoJob};
    let job = |steal, number| Contents::Job { run: RUN, steal: StealId(steal), number: LoanId(number) };
    let result = |number| Contents::Result { run: RUN, number: LoanId(number) };
    let have = |key| Contents::Have { run: RUN, key };
    let writer = Writer { host: PEER, incarnation: 1 };
    let updates = |object| Contents::Updates { run: RUN, object, writer, first: 0 };
    let other_run = RunId(2);
    let cases = [
        (PEER, job(1, 6), Pulled),
        (OTHER, job(1, 6), CutOff(AnswerToNoSteal)),
        (PEER, job(2, 6), CutOff(AnswerToNoSteal)),
        (PEER, job(0, 5), Received),
        (PEER, job(0, 6), Refused),
        (OTHER, job(0, 5), Refused),
        (STRANGER, job(1, 6), Refused),
        (PEER, result(2), Pulled),
        (OTHER, result(2), CutOff(ResultOfNoJob)),
        (PEER, result(1), RefusedAsReceived),
        (PEER, result(3), CutOff(ResultOfNoJob)),
        (STRANGER, result(2), RefusedAsReceived),
        (PEER, Contents::Result { run: other_run, number: LoanId(2) }, RefusedAsReceived),
        (PEER, have(SOUGHT), Pulled),
        (OTHER, have(SOUGHT), Refused),
        (PEER, have(JobKey([7; 32])), Refused),
        (PEER, updates(KNOWN), Pulled),
        (PEER, updates(UNKNOWN), RefusedAsNotShared),
        (PEER, Contents::Replica { run: RUN, object: UNKNOWN }, Pulled),
        (PEER, Contents::Replica { run: other_run, object: UNKNOWN }, Refused),
        (PEER, Contents::RootFinished { run: RUN, number: AssignmentId(1) }, CutOff(Parcel)),
    ];
    for (from, contents, expected) in cases {
        assert_eq!(answer(from, contents), expected, "{from} announces {contents:?}");
    }
}

#[test]
fn a_peer_that_is_cut_off_is_sent_the_reason_and_then_ignored() {
    let mut host = busy();
    host.handle_misbehaviour(NOW, PEER, "its frames break the rules".to_owned());
    let told = said(&mut host);
    let to_peer = PeerMessage::Refused { reason: "its frames break the rules".to_owned() };
    assert!(told.contains(&Transmit::ToPeer(PEER, to_peer)), "{told:?}");
    let reason = "its frames break the rules".to_owned();
    assert!(told.contains(&Transmit::ToCoordinator(ToCoordinator::Misbehaved { host: PEER, reason })));
    assert!(
        std::iter::from_fn(|| host.poll_command()).any(|command| command == Command::CutOff { peer: PEER })
    );
    assert_eq!(host.peer(PEER), None);
    host.handle_from_peer(NOW, PEER, PeerMessage::FetchReplica { run: RUN, object: KNOWN });
    host.handle_misbehaviour(NOW, PEER, "again".to_owned());
    assert_eq!(said(&mut host), [], "it is notified once");
}
