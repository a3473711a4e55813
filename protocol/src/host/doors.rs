//! Tests that peers cannot make a host do useless work.

use super::tests::{PEER, RUN, host, said, spec};
use super::*;
use crate::limits::{INLINE_RESULT_BYTES_MAX, LINEAGE_LENGTH_MAX, LISTED_JOBS_MAX};
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
        let entry = Entry { key: JobKey([1; 32]), depth: 1, lineage: lineage.clone(), state };
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
            let entry = Entry { key: root.key, depth: lineage.0.len() as u32, lineage, state: state.clone() };
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
                assert!(held.len() == 1 && held.values().all(|held| held.finished.is_none()), "{told:?}");
            }
        }
    }
}
