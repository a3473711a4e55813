//! Tests which other hosts a host depends on or serves, and what it keeps of them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use crate::limits::{
    HELD_JOBS_MAX, IDENTITY_KEPT, SHARED_HEIRS, STEAL_REST_MAX, STEAL_REST_MIN, STEAL_REST_WIDE_MAX,
};
use crate::message::{JobNote, NoteKind, PeerMessage, ToCoordinator, ToHost};
use crate::parcel::{Contents, ParcelId, ParcelMessage};
use crate::root_job;
use crate::shared::ObjectId;
use crate::{
    Entry, EntryState, HeldId, JobKey, JobSpec, Lineage, LoanId, Mention, RuntimeJobId, Scope, StealId,
    Stealing,
};

use super::corners::run_commands;
use super::held::{Held, Owner};
use super::lent::{Loan, LoanState};
use super::lost::Unresolved;
use super::stage::Stage;
use super::tests::{PEER, RUN, host, info, said, spec};
use super::thief::Request;
use super::victim::Parked;
use super::*;

type SetUp = fn(&mut Host);
const NOW: Time = Time(0);
const OBJECT: ObjectId = ObjectId([3; 16]);

fn new_run() -> HostRun {
    HostRun::new(spec(), 1 << 20, NOW)
}

fn request(victim: HostId) -> Request {
    let (since, scope) = (NOW, Scope::Relayed);
    Request { victim, since, is_wide: false, is_ahead: false, more: 0, scope, arriving: None }
}

pub fn job(number: u8) -> JobSpec {
    JobSpec { key: JobKey([number; 32]), ..root_job(&spec()) }
}

pub fn entry(number: u8, lineage: usize, state: EntryState) -> Entry {
    let (key, depth) = (JobKey([number; 32]), lineage as u32);
    Entry { key, depth, lineage: Lineage(vec![job(99).key.tag(); lineage]), state, is_earlier: false }
}

/// The job with this number, lent to a thief that has not confirmed it.
pub fn loan(number: u8, thief: HostId, state: LoanState) -> Loan {
    Loan::new(NOW, RuntimeJobId(number.into()), job(number), thief, state, 0)
}

/// A job of which a host was asked for the result, or the coordinator for entries.
pub fn unresolved(spec: JobSpec, wanted_from: Option<HostId>) -> Unresolved {
    Unresolved { spec, since: NOW, wanted_from, thief: None }
}

/// Makes a host hold a job without owners.
pub fn hold_orphan(host_run: &mut HostRun, id: HeldId, spec: JobSpec) {
    let owner = Owner::Here(RuntimeJobId(0));
    host_run.held.hold(id, Held::new(NOW, spec, owner));
    host_run.held.remove_owner(owner);
}

pub fn note(parameters: usize) -> JobNote {
    let (job, what) = (job(1).key.tag(), NoteKind::Aborted);
    let parameters = Some(vec![0; parameters]);
    JobNote { job, parent: None, kind: 1, depth: 1, what, ago_ms: 0, parameters, shares: false }
}

#[test]
fn a_host_has_to_do_with_hosts_that_wait_for_it_or_for_which_it_waits() {
    let bonds: [fn(&mut HostRun, HostId); 9] = [
        |host_run, peer| {
            host_run.spec.stealing = Stealing::MasterWorker;
            host_run.thief.note_master(peer);
        },
        |host_run, peer| host_run.thief.ask(StealId(0), request(peer)),
        |host_run, peer| {
            host_run.victim.park(Parked { thief: peer, steal: StealId(0), holding: 0, more: 0, until: NOW });
        },
        |host_run, thief| {
            host_run.loans.lend(LoanId(2), loan(1, thief, LoanState::Asked));
        },
        |host_run, peer| {
            host_run.held.hold(HeldId(3), Held::new(NOW, job(1), Owner::Host(peer, LoanId(1))));
        },
        |host_run, peer| {
            host_run.recovery.begin(RuntimeJobId(1), unresolved(job(1), Some(peer)));
        },
        |host_run, peer| host_run.outbox.push_for(peer, entry(1, 0, EntryState::Running(HostId(99)))),
        |host_run, peer| assert!(host_run.table.insert(entry(1, 0, EntryState::Running(peer)))),
        |host_run, peer| {
            assert!(host_run.table.insert(entry(1, 0, EntryState::DoneAt { host: peer, work_ns: 1 })));
        },
    ];
    assert!(!new_run().has_to_do_with(PEER));
    for (case, bond) in bonds.into_iter().enumerate() {
        let mut host_run = new_run();
        bond(&mut host_run, PEER);
        assert!(host_run.has_to_do_with(PEER), "case {case}");
        for other in [HostId(PEER.0 - 1), HostId(PEER.0 + 1)] {
            assert!(!host_run.has_to_do_with(other), "case {case}");
        }
    }
    let mut host_run = new_run();
    host_run.thief.note_master(PEER);
    assert!(!host_run.has_to_do_with(PEER), "it does not steal from the master alone");
}

#[test]
fn a_host_does_not_forget_a_peer_while_a_parcel_travels() {
    let contents = Contents::Replica { run: RUN, object: OBJECT };
    let announcement = ParcelMessage::Announce { parcel: ParcelId(1), contents, bytes: 1 << 20 };
    type Begin = fn(&mut Host, ParcelMessage);
    let parcels: [(Begin, bool); 3] = [
        (|_, _| {}, true),
        (|host, announcement| host.handle_from_peer(NOW, PEER, PeerMessage::Parcel(announcement)), false),
        (
            |host, _| {
                let contents = Contents::Replica { run: RUN, object: OBJECT };
                host.transfers.outgoing.add(NOW, Receiver::Peer(PEER), contents, vec![0; 10]).expect("room");
            },
            false,
        ),
    ];
    for (case, (begin, is_forgotten)) in parcels.into_iter().enumerate() {
        let mut host = host();
        begin(&mut host, announcement.clone());
        host.handle_from_coordinator(NOW, ToHost::Forget { ask: 1, host: PEER });
        let forgot = ToCoordinator::Forgot { ask: 1, host: PEER, forgotten: is_forgotten };
        assert!(said(&mut host).contains(&Transmit::ToCoordinator(forgot)), "case {case}");
        assert_eq!(host.peer(PEER).is_none(), is_forgotten, "case {case}");
    }
}

#[test]
fn a_peer_is_lost_without_the_coordinator_only_if_that_is_away() {
    for (is_connected, peer, is_lost) in
        [(true, PEER, false), (false, PEER, true), (false, HostId(99), false)]
    {
        let mut host = host();
        while host.poll_event().is_some() {}
        if !is_connected {
            host.handle_disconnected(NOW);
        }
        host.handle_peer_lost(NOW, peer);
        let gone = std::iter::from_fn(|| host.poll_event()).any(|event| event == Event::PeerGone(peer));
        assert_eq!((gone, host.peer(peer).is_none()), (is_lost, is_lost || peer != PEER));
    }
}

#[test]
fn a_peer_that_was_given_up_is_expected_back_for_a_while() {
    let mut host = host();
    let other = HostId(21);
    let joined = vec![info(other)];
    host.handle_from_coordinator(NOW, ToHost::Hosts { epoch: 0, joined, gone: Vec::new() });
    assert!(!host.is_given_up(NOW, PEER), "it is there");
    host.lose_peer(NOW, PEER);
    let end = NOW + IDENTITY_KEPT * 2;
    let before = end - Duration::from_nanos(1);
    assert!(host.is_given_up(NOW, PEER) && host.is_given_up(before, PEER) && !host.is_given_up(end, PEER));
    assert!(!host.is_given_up(NOW, HostId(99)), "nobody knew it");
    host.lose_peer(end, other);
    assert!(host.is_given_up(end, other) && !host.is_given_up(end, PEER));
}

#[test]
fn a_thief_rests_longer_after_each_round_of_refusals() {
    for (is_wide, near, round, longest) in [
        (false, 1, 1, STEAL_REST_MAX),
        (false, 3, 3, STEAL_REST_MAX),
        (false, 20, 8, STEAL_REST_MAX),
        (true, 3, 1, STEAL_REST_WIDE_MAX),
    ] {
        let mut host = host();
        host.peers.clear();
        for peer in 1..=near {
            host.peers.add(info(HostId(peer)));
            host.peers.list(HostId(peer));
        }
        let mut length = STEAL_REST_MIN;
        let mut rests = BTreeSet::new();
        for _ in 0..12 {
            for refusal in 1..=round {
                let rest = |host: &Host| host.runs[&RUN].thief.rests_until(is_wide);
                let before = rest(&host);
                host.note_refusal(NOW, RUN, &Request { is_wide, ..request(PEER) });
                if refusal < round {
                    assert_eq!(rest(&host), before, "refusal {refusal} of {round}");
                    continue;
                }
                let rested = rest(&host).since(NOW);
                assert!((length / 2..=length).contains(&rested), "{rested:?} of {length:?}");
                rests.insert(rested.as_nanos() * 1_000 / length.as_nanos());
            }
            length = (length * 2).min(longest);
        }
        assert!(rests.len() > 6, "thieves do not march in step: {rests:?}");
        assert!(*rests.last().expect("some") - *rests.first().expect("some") > 150, "{rests:?}");
    }
}

#[test]
fn a_job_that_cannot_be_taken_goes_back_at_once() {
    let cases: [(SetUp, bool); 4] = [
        (|_| {}, true),
        (|host| host.leave(NOW), false),
        (
            |host| {
                let host_run = host.runs.get_mut(&RUN).expect("it takes part");
                host_run.stage = Stage::Drained;
            },
            false,
        ),
        (
            |host| {
                let host_run = host.runs.get_mut(&RUN).expect("it takes part");
                for number in 0..HELD_JOBS_MAX as u64 {
                    hold_orphan(host_run, HeldId(1_000 + number), job(1));
                }
            },
            false,
        ),
    ];
    for (case, (set_up, is_taken)) in cases.into_iter().enumerate() {
        let mut host = host();
        host.handle_notice(NOW, RUN, Notice::Idle(1));
        set_up(&mut host);
        said(&mut host);
        let (steal, number, spec) = (StealId(0), LoanId(5), job(5));
        host.handle_from_peer(NOW, PEER, PeerMessage::Job { run: RUN, steal, number, spec });
        let returned = PeerMessage::Returned { run: RUN, number, begun: false };
        assert_eq!(said(&mut host).contains(&Transmit::ToPeer(PEER, returned)), !is_taken, "case {case}");
        let counts = host.counts(RUN).expect("it takes part");
        assert_eq!(counts.jobs.stolen, u64::from(is_taken), "case {case}");
    }
}

#[test]
fn unknown_hosts_are_asked_for_nothing() {
    for state in [EntryState::DoneAt { host: HostId(99), work_ns: 1 }, EntryState::Running(HostId(99))] {
        let mut host = host();
        host.handle_from_coordinator(NOW, ToHost::Entries { run: RUN, entries: vec![entry(1, 1, state)] });
        host.handle_disconnected(NOW);
        said(&mut host);
        while host.poll_command().is_some() {}
        host.handle_notice(NOW, RUN, Notice::Lookup { number: RuntimeJobId(7), spec: job(1) });
        assert_eq!(said(&mut host), []);
        let commands = run_commands(&mut host);
        assert!(commands.iter().any(|command| matches!(command, RunCommand::Requeue { .. })), "{commands:?}");
        assert_eq!(host.table(RUN).0, 0, "it is of no use");
    }
}

#[test]
fn a_thief_is_due_only_while_it_may_ask() {
    let cases: [(SetUp, bool); 7] = [
        (|_| {}, true),
        (|host| host.leave(NOW), false),
        (|host| host.standing.pause("its user works".to_owned()), false),
        (|host| host.runs.get_mut(&RUN).expect("a run").thief.note_idle(0), false),
        (|host| host.runs.get_mut(&RUN).expect("a run").stage = Stage::Loading, false),
        (|host| host.peers.forget(PEER), false),
        (|host| host.standing.leave(false), false),
    ];
    for stealing in [Stealing::ClusterAware, Stealing::Random, Stealing::MasterWorker] {
        for (case, (set_up, is_due)) in cases.iter().enumerate() {
            let mut host = host();
            let host_run = host.runs.get_mut(&RUN).expect("it takes part");
            host_run.spec.stealing = stealing;
            host_run.thief.note_master(PEER);
            host.handle_notice(NOW, RUN, Notice::Idle(1));
            host.handle_from_peer(NOW, PEER, PeerMessage::Nothing { run: RUN, steal: StealId(0) });
            set_up(&mut host);
            said(&mut host);
            let host_run = &host.runs[&RUN];
            let due = host.next_steal_timeout(RUN, host_run);
            assert_eq!(
                due.is_some_and(|(_, why)| why == "a thief has rested"),
                *is_due,
                "{stealing:?}, case {case}"
            );
            if let Some((at, _)) = due {
                host.handle_timeout(at);
            } else {
                host.seek(NOW + STEAL_REST_MAX, RUN);
            }
            let asks = said(&mut host)
                .into_iter()
                .any(|transmit| matches!(transmit, Transmit::ToPeer(PEER, PeerMessage::Steal { .. })));
            assert_eq!(asks, *is_due, "{stealing:?}, case {case}");
        }
    }
}

#[test]
fn objects_that_only_a_leaving_host_has_go_to_the_hosts_with_its_jobs() {
    let mut host = host();
    let joined: Vec<HostInfo> = (100..120).map(|number| info(HostId(number))).collect();
    host.handle_from_coordinator(NOW, ToHost::Hosts { epoch: 0, joined, gone: Vec::new() });
    host.handle_notice(NOW, RUN, Notice::Shared { object: OBJECT, place: 1, initial: vec![0].into() });
    let mention = Mention { object: OBJECT, creation: OBJECT };
    for (thief, objects) in [(HostId(110), vec![mention]), (HostId(115), Vec::new())] {
        let steal = PeerMessage::Steal { run: RUN, steal: StealId(0), holding: 0, ahead: false, more: 0 };
        host.handle_from_peer(NOW, thief, steal);
        host.handle_offered(
            NOW,
            RUN,
            Some((RuntimeJobId(thief.0), JobSpec { objects, ..job(thief.0 as u8) })),
        );
    }
    said(&mut host);
    host.hand_over_objects(NOW, RUN);
    let heirs = said(&mut host).into_iter().filter_map(|transmit| match transmit {
        Transmit::ToPeer(heir, PeerMessage::Replica { .. }) => Some(heir),
        _ => None,
    });
    let heirs: Vec<HostId> = heirs.collect();
    assert_eq!((heirs.len(), heirs[0]), (SHARED_HEIRS, HostId(110)));
    assert!(!heirs.contains(&HostId(115)), "what it has does not mention the object");
}

#[test]
fn a_host_without_a_run_answers_that_it_lent_nothing() {
    for (held, is_answered) in [(vec![LoanId(1)], true), (Vec::new(), false)] {
        let mut host = host();
        let run = RunId(9);
        let (holding, next_steal, pending) = (1, StealId(1), Vec::new());
        let message = PeerMessage::Holding { run, holding, next_steal, held: held.clone(), pending };
        host.handle_from_peer(NOW, PEER, message);
        let unknown = Transmit::ToPeer(PEER, PeerMessage::Unknown { run, numbers: held });
        assert_eq!(said(&mut host), if is_answered { vec![unknown] } else { Vec::new() });
    }
}

#[test]
fn only_the_host_that_was_asked_can_answer_that_it_has_no_orphan() {
    let other = HostId(21);
    for (from, state, is_over) in [
        (PEER, LoanState::Asked, true),
        (PEER, LoanState::Agreed, false),
        (PEER, LoanState::Given(StealId(0)), false),
        (other, LoanState::Asked, false),
    ] {
        let mut host = host();
        let joined = vec![info(other)];
        host.handle_from_coordinator(NOW, ToHost::Hosts { epoch: 0, joined, gone: Vec::new() });
        let host_run = host.runs.get_mut(&RUN).expect("it takes part");
        let number = host_run.numbers.new_loan();
        host_run.loans.lend(number, loan(1, PEER, state));
        host.handle_from_peer(NOW, from, PeerMessage::NotHeld { run: RUN, number });
        assert_eq!(host.held_and_lent(RUN).1 == 0, is_over, "{from}, {state:?}");
    }
}

#[test]
fn each_way_of_stealing_has_its_victims() {
    let (near, far) = ([20, 21, 22].map(HostId), [30, 31, 32].map(HostId));
    let all: BTreeSet<HostId> = near.into_iter().chain(far).collect();
    for (stealing, victims, wide) in [
        (Stealing::ClusterAware, BTreeSet::from(near), BTreeSet::from(far)),
        (Stealing::Random, all, BTreeSet::new()),
        (Stealing::MasterWorker, BTreeSet::from([HostId(31)]), BTreeSet::new()),
    ] {
        let mut host = host();
        let joined = near.iter().chain(&far).map(|id| {
            let mut info = info(*id);
            Arc::make_mut(&mut info.report).site = if id.0 < 30 { "here" } else { "there" }.to_owned();
            info
        });
        host.handle_from_coordinator(
            NOW,
            ToHost::Hosts { epoch: 0, joined: joined.collect(), gone: Vec::new() },
        );
        let host_run = host.runs.get_mut(&RUN).expect("it takes part");
        host_run.spec.stealing = stealing;
        host_run.thief.note_master(HostId(31));
        host_run.thief.note_idle(1);
        let drawn = |host: &mut Host| -> BTreeSet<(HostId, bool)> {
            (0..100).filter_map(|_| host.choose_victim(NOW, RUN)).collect()
        };
        assert_eq!(
            drawn(&mut host),
            victims.into_iter().map(|victim| (victim, false)).collect(),
            "{stealing:?}"
        );
        // While it rests within its site, it may ask elsewhere.
        let host_run = host.runs.get_mut(&RUN).expect("it takes part");
        host_run.thief.rest_until(false, NOW + STEAL_REST_MIN);
        assert_eq!(drawn(&mut host), wide.into_iter().map(|victim| (victim, true)).collect(), "{stealing:?}");
        let host_run = host.runs.get_mut(&RUN).expect("it takes part");
        host_run.thief.rest_until(true, NOW + STEAL_REST_MIN);
        assert_eq!(drawn(&mut host), BTreeSet::new(), "{stealing:?}");
    }
}
