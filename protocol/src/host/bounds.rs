//! Tests the limits on what a host keeps, sends and waits for.

use std::collections::BTreeSet;

use super::stage::Stage;
use super::tests::{PEER, RUN, host, said};
use super::*;
use crate::limits::{
    CUT_OFF_HOSTS_MAX, EARLY_WANTS_MAX, EXPECTED_AT_ONCE_MAX, FORWARDED_ENTRIES_MAX, PARCEL_BYTES_MAX,
    PARKED_STEALS_PER_THIEF_MAX, REDOING_MAX,
};
use crate::message::{PeerMessage, ToCoordinator, ToHost};
use crate::root_job;
use crate::{
    AssignmentId, Entry, EntryState, Finished, JobKey, JobSpec, Lineage, Outcome, RuntimeJobId, StealId,
};

fn key(job: u64) -> JobKey {
    let mut bytes = [1; 32];
    bytes[..8].copy_from_slice(&job.to_le_bytes());
    JobKey(bytes)
}

#[test]
fn a_result_that_is_too_large_to_be_sent_ends_the_run_with_a_reason() {
    let mut host = host();
    let now = Time::default();
    let spec = root_job(&tests::spec());
    host.handle_from_coordinator(now, ToHost::Assign { run: RUN, number: AssignmentId(1), proof: 9, spec });
    let held = host.runs[&RUN].held.tokens().next().expect("the root");
    said(&mut host);
    let outcome = Outcome::Done(vec![0; PARCEL_BYTES_MAX + 1].into());
    host.handle_notice(
        now,
        RUN,
        Notice::Finished { held, finished: Finished { outcome, work_ns: 1, span_ns: 1 } },
    );
    let limits = |host: &mut Host| -> Vec<String> {
        let limits = said(host).into_iter().filter_map(|transmit| match transmit {
            Transmit::ToCoordinator(ToCoordinator::Limit { run: RUN, reason }) => Some(reason),
            _ => None,
        });
        limits.collect()
    };
    let reasons = limits(&mut host);
    assert!(
        matches!(reasons.as_slice(), [reason] if reason.contains("81 MiB") && reason.contains("at most 80 MiB"))
    );
    // The reason is repeated until the run is over.
    let (later, _) = host.poll_timeout().expect("it waits for the end");
    host.handle_timeout(later + crate::limits::RECONCILE);
    assert_eq!(limits(&mut host), reasons);
}

#[test]
fn a_host_that_was_stopped_for_long_answers_the_oldest_of_many_requests() {
    let mut host = host();
    let now = Time::default();
    let count = 3 * PARKED_STEALS_PER_THIEF_MAX as u64;
    for steal in (0..count).map(StealId) {
        host.handle_from_peer(
            now,
            PEER,
            PeerMessage::Steal { run: RUN, steal, holding: 0, ahead: false, more: 0 },
        );
    }
    assert_eq!(host.sizes().parked, PARKED_STEALS_PER_THIEF_MAX);
    assert!(std::iter::from_fn(|| host.poll_event()).all(|event| !matches!(event, Event::Misbehaved(..))));
    let refused = said(&mut host).into_iter().filter_map(|transmit| match transmit {
        Transmit::ToPeer(PEER, PeerMessage::Nothing { steal, .. }) => Some(steal.0),
        _ => None,
    });
    assert!(refused.eq(0..count - PARKED_STEALS_PER_THIEF_MAX as u64));
}

#[test]
fn only_a_bounded_number_of_hosts_that_were_cut_off_is_remembered() {
    let mut host = host();
    for peer in 0..2 * CUT_OFF_HOSTS_MAX as u64 {
        host.handle_misbehaviour(Time(peer), HostId(1000 + peer), "it lies".to_owned());
    }
    assert_eq!(host.sizes().cut_off, CUT_OFF_HOSTS_MAX);
    assert!(!host.peers.is_cut_off(HostId(1000)), "the first are forgotten");
}

/// A host with entries below a job.
fn with_entries(count: u64, job: &JobSpec) -> Host {
    let mut host = host();
    let host_run = host.runs.get_mut(&RUN).expect("the run");
    for number in 0..count {
        let state = EntryState::DoneAt { host: PEER, work_ns: 1 };
        let lineage = Lineage(vec![job.key.tag()]);
        host_run.table.insert(Entry {
            key: key(number),
            depth: 1 + number as u32,
            lineage,
            state,
            is_earlier: false,
        });
    }
    host
}

#[test]
fn entries_that_a_job_that_is_run_again_may_find_are_checked_little_by_little() {
    let mut spec = root_job(&tests::spec());
    spec.redone = true;
    let mut host = with_entries(1000, &spec);
    let number = AssignmentId(1);
    host.handle_from_coordinator(Time::default(), ToHost::Assign { run: RUN, number, proof: 9, spec });
    assert_eq!(host.sizes().sought, EXPECTED_AT_ONCE_MAX);
    while let Some((due, _)) = host.poll_timeout().filter(|(due, _)| *due <= Time::default()) {
        host.handle_timeout(due);
    }
    assert_eq!(host.sizes().sought, 1000);
    let told = std::iter::from_fn(|| host.poll_command()).filter_map(|command| match command {
        Command::Run { command: RunCommand::Lookups { jobs }, .. } => Some(jobs),
        _ => None,
    });
    let told: BTreeSet<crate::JobTag> = told.flatten().collect();
    assert!((0..1000).all(|number| told.contains(&key(number).tag())), "and the runtime is notified of all");
}

#[test]
fn a_thief_is_sent_a_bounded_number_of_entries() {
    let mut spec = root_job(&tests::spec());
    (spec.redone, spec.depth) = (true, 1);
    let mut host = with_entries(5000, &spec);
    let now = Time::default();
    host.handle_from_peer(
        now,
        PEER,
        PeerMessage::Steal { run: RUN, steal: StealId(0), holding: 0, ahead: false, more: 0 },
    );
    host.handle_offered(now, RUN, Some((RuntimeJobId(1), spec)));
    let sent = said(&mut host).into_iter().map(|transmit| match transmit {
        Transmit::ToPeer(PEER, PeerMessage::Entries { entries, .. }) => entries.len(),
        _ => 0,
    });
    assert_eq!(sent.sum::<usize>(), FORWARDED_ENTRIES_MAX);
}

#[test]
fn only_a_bounded_number_of_jobs_that_were_run_again_is_remembered() {
    let mut host = host();
    let host_run = host.runs.get_mut(&RUN).expect("the run");
    for job in 0..2 * REDOING_MAX as u64 {
        let spec = JobSpec { key: key(job), ..root_job(&tests::spec()) };
        host_run.recovery.lookups.expect_below(&host_run.table, &spec);
    }
    assert!(!host_run.recovery.lookups.expects_more(), "there is nothing below them");
    assert!(host.sizes().redoing <= REDOING_MAX);
}

/// A suspended run begins again, and a host is asked for a result that its store has and it has not read yet.
#[test]
fn a_result_is_looked_for_once_the_run_is_loaded_and_waiting_requests_are_bounded() {
    let mut host = host();
    let now = Time::default();
    host.runs.get_mut(&RUN).expect("the run").stage = Stage::Loading;
    let answers = |host: &mut Host| -> Vec<(JobKey, Option<Finished>)> {
        let answers = said(host).into_iter().filter_map(|transmit| match transmit {
            Transmit::ToPeer(PEER, PeerMessage::Have { key, finished, .. }) => Some((key, finished)),
            _ => None,
        });
        answers.collect()
    };
    let ask = |host: &mut Host, job: u64| {
        host.handle_from_peer(now, PEER, PeerMessage::Want { run: RUN, key: key(job) });
        answers(host)
    };
    for job in 0..EARLY_WANTS_MAX as u64 {
        assert_eq!(ask(&mut host, job), []);
    }
    assert_eq!(ask(&mut host, 1 << 20), [(key(1 << 20), None)], "too many wait");
    let finished = Finished { outcome: Outcome::Done(vec![1].into()), work_ns: 1, span_ns: 1 };
    let state = EntryState::Done(finished.clone());
    let saved = Entry { key: key(7), depth: 1, lineage: Lineage::default(), state, is_earlier: false };
    host.handle_restored(now, RUN, vec![saved]);
    host.handle_loaded(now, RUN, Ok(()));
    let answers = answers(&mut host);
    assert_eq!(answers.len(), EARLY_WANTS_MAX);
    let found: Vec<_> = answers.into_iter().filter(|(_, finished)| finished.is_some()).collect();
    assert_eq!(found, [(key(7), Some(finished))]);
    assert_eq!(ask(&mut host, 3), [(key(3), None)], "it is answered at once");
}
