//! Tests that peers cannot make a host do useless work.

use super::tests::{PEER, RUN, host, info, said, spec};
use super::*;
use crate::limits::{
    HELD_JOBS_MAX, INLINE_RESULT_BYTES_MAX, LINEAGE_LENGTH_MAX, LISTED_JOBS_MAX, UNCONFIRMED_RESULTS_MAX,
};
use crate::message::{PeerMessage, ToCoordinator, ToHost};
use crate::root_job;
use crate::{
    AssignmentId, Entry, EntryState, Finished, JobKey, JobSpec, JobTag, Lineage, LoanId, Outcome, StealId,
};

fn is_misbehaviour(message: PeerMessage) -> bool {
    let mut host = host();
    host.handle_from_peer(Time(0), PEER, message);
    std::iter::from_fn(|| host.poll_event()).any(|event| matches!(event, Event::Misbehaved(PEER, _)))
}

#[test]
fn lists_longer_than_any_host_may_hold_are_misbehaviour() {
    for (length, is_allowed) in [(LISTED_JOBS_MAX, true), (LISTED_JOBS_MAX + 1, false)] {
        let numbers: Vec<LoanId> = (0..length as u64).map(LoanId).collect();
        let pending: Vec<StealId> = (0..length as u64).map(StealId).collect();
        let holding = |held, pending| PeerMessage::Holding {
            run: RUN,
            holding: 1,
            next_steal: StealId(0),
            held,
            pending,
        };
        for message in [
            holding(numbers.clone(), Vec::new()),
            holding(Vec::new(), pending),
            PeerMessage::Unknown { run: RUN, numbers },
        ] {
            assert_eq!(is_misbehaviour(message), !is_allowed, "{length}");
        }
    }
}

#[test]
fn jobs_and_entries_that_name_too_many_ancestors_are_misbehaviour() {
    for (ancestors, bytes, is_allowed) in [
        (LINEAGE_LENGTH_MAX, INLINE_RESULT_BYTES_MAX, true),
        (LINEAGE_LENGTH_MAX + 1, 1, false),
        (1, INLINE_RESULT_BYTES_MAX + 1, false),
    ] {
        let lineage = Lineage((0..ancestors as u64).map(JobTag).collect());
        let outcome = Outcome::Done(vec![0; bytes].into());
        let state = EntryState::Done(Finished { outcome, work_ns: 1, span_ns: 1 });
        let entry =
            Entry { key: JobKey([1; 32]), depth: 1, lineage: lineage.clone(), state, is_earlier: false };
        let entries = PeerMessage::Entries { run: RUN, entries: vec![entry] };
        assert_eq!(is_misbehaviour(entries), !is_allowed, "{ancestors} ancestors, {bytes} bytes");
        let (steal, number) = (StealId(0), LoanId(1));
        let spec = JobSpec { lineage, ..bonds::job(5) };
        let mut host = host();
        host.handle_notice(Time(0), RUN, Notice::Idle(1));
        host.handle_from_peer(Time(0), PEER, PeerMessage::Job { run: RUN, steal, number, spec });
        assert_eq!(host.held_and_lent(RUN).0 == 1, ancestors <= LINEAGE_LENGTH_MAX);
    }
}

/// Everybody in the grid can compute the key of a run's root job.
#[test]
fn only_the_coordinator_says_what_has_become_of_a_root() {
    let root = JobSpec { redone: true, lookup_below: 1, ..root_job(&spec()) };
    let finished = Finished { outcome: Outcome::Done(vec![6, 6, 6].into()), work_ns: 1, span_ns: 1 };
    for state in [
        EntryState::Done(finished.clone()),
        EntryState::DoneAt { host: PEER, work_ns: 1 },
        EntryState::Running(PEER),
    ] {
        for lineage in [Lineage::default(), Lineage(vec![JobTag(5)])] {
            let entry = Entry {
                key: root.key,
                depth: lineage.0.len() as u32,
                lineage,
                state: state.clone(),
                is_earlier: false,
            };
            let told = PeerMessage::Entries { run: RUN, entries: vec![entry] };
            for is_early in [false, true] {
                let mut host = host();
                if is_early {
                    host.handle_from_peer(Time(0), PEER, told.clone());
                }
                let (number, proof, spec) = (AssignmentId(1), 9, root.clone());
                host.handle_from_coordinator(Time(0), ToHost::Assign { run: RUN, number, proof, spec });
                if !is_early {
                    host.handle_from_peer(Time(0), PEER, told.clone());
                }
                let is_claimed = |transmit: &Transmit| {
                    matches!(transmit, Transmit::ToCoordinator(ToCoordinator::RootFinished { .. }))
                };
                assert!(!said(&mut host).iter().any(is_claimed), "{told:?}");
                let held = &host.runs[&RUN].held;
                assert!(held.len() == 1 && held.values().all(|held| held.finished().is_none()), "{told:?}");
            }
        }
    }
}

/// A host that has this number of idle workers, each of which has asked the peer for a job, and the first request.
fn thief(idle: usize) -> Host {
    let mut host = host();
    host.handle_notice(Time(0), RUN, Notice::Idle(idle));
    host
}

/// The peer answers a request with a job.
fn lend(host: &mut Host, steal: u64, number: u64, spec: JobSpec) {
    let (steal, number) = (StealId(steal), LoanId(number));
    host.handle_from_peer(Time(0), PEER, PeerMessage::Job { run: RUN, steal, number, spec });
}

fn adopt(host: &mut Host, number: u64, spec: &JobSpec) -> bool {
    let number = LoanId(number);
    said(host);
    host.handle_from_peer(Time(0), PEER, PeerMessage::Adopt { run: RUN, number, key: spec.key });
    said(host)
        .iter()
        .any(|sent| matches!(sent, Transmit::ToPeer(PEER, PeerMessage::Adopted { number: of, .. }) if *of == number))
}

/// Whether nothing is left of what the peer lent when it is gone.
fn is_forgotten_with_peer(mut host: Host) -> bool {
    host.lose_peer(Time(0), PEER);
    let held = &host.runs[&RUN].held;
    held.values().all(held::Held::is_orphan) && held.of_host(PEER).next().is_none()
}

#[test]
fn a_number_stands_for_one_job() {
    let mut host = thief(1);
    lend(&mut host, 0, 5, bonds::job(1));
    said(&mut host);
    host.handle_notice(Time(0), RUN, Notice::Idle(1));
    lend(&mut host, 1, 5, bonds::job(2));
    let returned = PeerMessage::Returned { run: RUN, number: LoanId(5), begun: false };
    assert!(said(&mut host).contains(&Transmit::ToPeer(PEER, returned)));
    assert_eq!(host.held_and_lent(RUN).0, 1);
    host.handle_notice(Time(0), RUN, Notice::Idle(1));
    lend(&mut host, 2, 6, bonds::job(2));
    assert!(!adopt(&mut host, 5, &bonds::job(2)), "it has this number for another job");
    assert!(adopt(&mut host, 6, &bonds::job(2)), "it may ask again");
    assert!(is_forgotten_with_peer(host));
}

/// Equal jobs may be held for different hosts.
#[test]
fn a_host_that_asks_again_gets_the_job_that_it_got_before() {
    let mut host = thief(1);
    lend(&mut host, 0, 5, bonds::job(1));
    host.handle_notice(Time(0), RUN, Notice::Idle(1));
    lend(&mut host, 1, 6, bonds::job(1));
    assert!(adopt(&mut host, 5, &bonds::job(1)));
    assert!(host.runs[&RUN].held.values().all(|held| held.owners().len() == 1));
    assert!(is_forgotten_with_peer(host));
}

#[test]
fn no_host_waits_for_more_jobs_than_it_may_be_notified_of() {
    let mut host = thief(1);
    lend(&mut host, 0, 0, bonds::job(0));
    let accepted = (1..2 * LISTED_JOBS_MAX as u64).filter(|number| {
        // Several jobs, as each has a bounded number of owners.
        let job = bonds::job((number % 64) as u8);
        let host_run = host.runs.get_mut(&RUN).expect("it takes part");
        if host_run.held.of_key(&job.key).is_none() {
            bonds::hold_orphan(host_run, crate::HeldId(1_000 + number), job.clone());
        }
        adopt(&mut host, *number, &job)
    });
    assert_eq!(accepted.count(), LISTED_JOBS_MAX - 1);
}

/// The root is lent like any job, until it has begun.
#[test]
fn a_root_that_a_peer_lends_is_the_runs_root() {
    let root = root_job(&spec());
    let cases: [(JobSpec, bool); 4] = [
        (JobSpec { redone: true, lookup_below: 3, ..root.clone() }, true),
        (JobSpec { parameters: vec![6].into(), ..root.clone() }, false),
        (JobSpec { kind: 0, ..root.clone() }, false),
        (JobSpec { kind: 0, ..bonds::job(1) }, true),
    ];
    for (case, (spec, is_sound)) in cases.into_iter().enumerate() {
        let mut host = thief(1);
        while host.poll_event().is_some() {}
        lend(&mut host, 0, 5, spec);
        let is_rejected =
            std::iter::from_fn(|| host.poll_event()).any(|event| matches!(event, Event::Misbehaved(..)));
        assert_eq!((host.held_and_lent(RUN).0 == 1, is_rejected), (is_sound, !is_sound), "case {case}");
    }
}

/// The peer would keep the job from being announced as an orphan, and from being aborted.
#[test]
fn only_orphans_and_jobs_that_a_host_lent_can_be_adopted() {
    let other = HostId(21);
    let lent = |lender: HostId| {
        let mut host = thief(1);
        let joined = vec![info(other)];
        host.handle_from_coordinator(Time(0), ToHost::Hosts { epoch: 0, joined, gone: Vec::new() });
        let owner = held::Owner::Host(lender, LoanId(5));
        host.take_in(Time(0), RUN, owner, bonds::job(1));
        host
    };
    let mut host = lent(other);
    assert!(!adopt(&mut host, 9, &bonds::job(1)), "another host lent it");
    host.handle_from_peer(Time(0), other, PeerMessage::Orphaned { run: RUN, number: LoanId(5) });
    assert!(adopt(&mut host, 9, &bonds::job(1)), "it is an orphan");
    assert!(adopt(&mut host, 10, &bonds::job(1)), "it was announced as one");
    let mut host = lent(PEER);
    assert!(adopt(&mut host, 9, &bonds::job(1)), "it was taken for dead, and is back");
    let mut host = lent(other);
    host.handle_from_coordinator(
        Time(0),
        ToHost::Hosts {
            epoch: 1,
            joined: Vec::new(),
            gone: vec![(other, crate::message::Departure::Crashed)],
        },
    );
    assert!(adopt(&mut host, 9, &bonds::job(1)), "its owner is gone");
}

/// Every host of the grid can compute the key of a job.
#[test]
fn a_peers_entries_end_only_jobs_that_concern_it() {
    let other = HostId(21);
    let finished = Finished { outcome: Outcome::Done(vec![6, 6, 6].into()), work_ns: 1, span_ns: 1 };
    let told = |key: JobKey| {
        let state = EntryState::Done(finished.clone());
        let entry = Entry { key, depth: 1, lineage: Lineage(vec![JobTag(5)]), state, is_earlier: false };
        PeerMessage::Entries { run: RUN, entries: vec![entry] }
    };
    let redone = |number: u8| JobSpec { redone: true, lookup_below: 9, depth: 1, ..bonds::job(number) };
    for (concerned, is_ended) in [(other, false), (PEER, true)] {
        // Held.
        let mut host = thief(1);
        host.take_in(Time(0), RUN, held::Owner::Host(concerned, LoanId(5)), redone(1));
        host.handle_from_peer(Time(0), PEER, told(redone(1).key));
        let held = &host.runs[&RUN].held;
        assert_eq!(held.values().any(|held| held.finished().is_some()), is_ended, "held for {concerned}");
        // Lent.
        let mut host = thief(1);
        let host_run = host.runs.get_mut(&RUN).expect("it takes part");
        let number = host_run.numbers.new_loan();
        let given = lent::LoanState::Given(StealId(0));
        host_run.loans.lend(number, bonds::loan(1, concerned, given));
        // The peer lends an equal job, as if it had been lost.
        lend(&mut host, 0, 6, redone(1));
        host.handle_from_peer(Time(0), PEER, told(redone(1).key));
        assert_eq!(host.held_and_lent(RUN).1 == 0, is_ended, "lent to {concerned}");
    }
    // An orphan.
    let mut host = thief(1);
    let host_run = host.runs.get_mut(&RUN).expect("it takes part");
    bonds::hold_orphan(host_run, crate::HeldId(7), bonds::job(1));
    host.handle_from_peer(Time(0), PEER, told(bonds::job(1).key));
    assert_eq!(host.held_and_lent(RUN).0, 1);
}

#[test]
fn a_host_is_sent_an_entry_once_however_often_it_waits_for_the_job_above() {
    let mut host = thief(1);
    lend(&mut host, 0, 5, bonds::job(1));
    for number in 6..20 {
        assert!(adopt(&mut host, number, &bonds::job(1)));
    }
    let (key, lineage) = (bonds::job(2).key, Lineage(vec![bonds::job(1).key.tag()]));
    let finished = Finished { outcome: Outcome::Done(vec![1].into()), work_ns: 1 << 40, span_ns: 1 };
    host.handle_notice(Time(0), RUN, Notice::Recorded { key, depth: 1, lineage, finished });
    assert_eq!(host.runs[&RUN].outbox.for_owners_len(), (1, 1));
}

#[test]
fn announcing_an_orphan_again_and_again_takes_a_bounded_amount_of_memory() {
    let mut host = thief(1);
    host.take_in(Time(0), RUN, held::Owner::Host(PEER, LoanId(1)), bonds::job(1));
    host.handle_disconnected(Time(0));
    for number in 1..=2 * outbox::OUTBOX_MAX as u64 {
        host.handle_from_peer(Time(0), PEER, PeerMessage::Orphaned { run: RUN, number: LoanId(number) });
        assert!(adopt(&mut host, number + 1, &bonds::job(1)));
    }
    assert!(host.runs[&RUN].outbox.len() <= outbox::OUTBOX_MAX);
}

#[test]
fn results_that_a_host_never_confirms_leave_room_for_jobs_of_others() {
    let mut host = thief(1);
    let mut taken = 0;
    for number in 0..HELD_JOBS_MAX as u64 {
        host.handle_notice(Time(0), RUN, Notice::Idle(1));
        let mut spec = bonds::job(1);
        spec.key.0[..8].copy_from_slice(&number.to_le_bytes());
        lend(&mut host, number, 1 + number, spec);
        let held = &host.runs[&RUN].held;
        let begun: Vec<_> =
            held.iter().filter(|(_, held)| held.finished().is_none()).map(|(id, _)| id).collect();
        taken += begun.len();
        for held in begun {
            let finished = Finished { outcome: Outcome::Done(vec![1].into()), work_ns: 1, span_ns: 1 };
            host.handle_notice(Time(0), RUN, Notice::Finished { held, finished });
        }
        said(&mut host);
    }
    assert_eq!((taken, host.held_and_lent(RUN).0), (UNCONFIRMED_RESULTS_MAX, UNCONFIRMED_RESULTS_MAX));
    for number in 0..2 {
        let received = PeerMessage::Received { run: RUN, number: LoanId(1 + number) };
        host.handle_from_peer(Time(0), PEER, received);
    }
    assert!(host.runs[&RUN].held.has_room_for(PEER));
}

#[test]
fn a_job_that_a_thief_no_longer_has_does_not_wait_for_it() {
    let finished = Finished { outcome: Outcome::Done(vec![1].into()), work_ns: 1, span_ns: 1 };
    for is_result in [false, true] {
        let mut host = thief(0);
        host.handle_from_peer(
            Time(0),
            PEER,
            PeerMessage::Steal { run: RUN, steal: StealId(0), holding: 0, ahead: false, more: 0 },
        );
        let large = JobSpec { parameters: vec![0; 100_000].into(), ..bonds::job(1) };
        host.handle_offered(Time(0), RUN, Some((crate::RuntimeJobId(9), large)));
        assert_eq!(host.parcels().0, 1);
        let number = host.runs[&RUN].loans.to(PEER).next().expect("it is lent");
        let answer = match is_result {
            true => PeerMessage::Result { run: RUN, number, finished: finished.clone() },
            false => PeerMessage::Returned { run: RUN, number, begun: false },
        };
        host.handle_from_peer(Time(0), PEER, answer);
        assert_eq!((host.held_and_lent(RUN).1, host.parcels().0), (0, 0), "{is_result}");
    }
}

/// The runtime knows which key a job's parameters have.
#[test]
fn a_host_that_lends_a_job_under_the_key_of_another_is_cut_off() {
    let mut host = thief(1);
    lend(&mut host, 0, 5, bonds::job(1));
    let held = host.runs[&RUN].held.tokens().next().expect("it is held");
    said(&mut host);
    host.handle_notice(Time(0), RUN, Notice::Misnamed { held });
    let said = said(&mut host);
    let is_reported = |sent: &Transmit| matches!(sent, Transmit::ToCoordinator(ToCoordinator::Misbehaved { host: PEER, reason }) if reason.contains("key"));
    assert!(said.iter().any(is_reported), "{said:?}");
    assert_eq!(host.held_and_lent(RUN).0, 0);
    assert_eq!(host.runs[&RUN].thief.idle(), 1, "the worker that was to take it still needs a job");
    host.handle_notice(Time(0), RUN, Notice::Misnamed { held });
}
