//! Tests what a host reports, and what it accepts from others and from its runtime.

use std::time::Duration;

use crate::limits::{COUNTS, FLUSH, LINEAGE_LENGTH_MAX, PARCEL_BYTES_MIN, SHARED_UNUSED};
use crate::message::{JobNote, LogLine, PeerMessage, ToCoordinator, ToHost, WorkerTimes};
use crate::shared::Change;
use crate::{AssignmentId, EntryState, Finished, JobKey, Lineage, LoanId, Outcome, RuntimeJobId, StealId};

use super::bonds::{entry, job, note};
use super::tests::{PEER, RUN, hello, host, said, welcome};
use super::*;

const NOW: Time = Time(0);
const OBJECT: ObjectId = ObjectId([3; 16]);

fn finished() -> Finished {
    Finished { outcome: Outcome::Done(vec![0].into()), work_ns: 1 << 40, span_ns: 1 }
}

#[test]
fn only_results_with_few_ancestors_are_restored_or_accepted_from_others() {
    let me = host().id().expect("it is known");
    let done = || EntryState::Done(finished());
    for (lineage, state, is_restored, is_taken) in [
        (LINEAGE_LENGTH_MAX, done(), true, true),
        (LINEAGE_LENGTH_MAX + 1, done(), false, false),
        (1, EntryState::Running(PEER), false, true),
        (1, EntryState::Running(me), false, false),
        (1, EntryState::DoneAt { host: PEER, work_ns: 1 }, false, true),
    ] {
        let entries = || vec![entry(1, lineage, state.clone())];
        let (mut restoring, mut taking) = (host(), host());
        restoring.handle_restored(NOW, RUN, entries());
        taking.handle_from_coordinator(NOW, ToHost::Entries { run: RUN, entries: entries() });
        assert_eq!(
            (restoring.table(RUN).0 == 1, taking.table(RUN).0 == 1),
            (is_restored, is_taken),
            "{state:?}"
        );
        let told = said(&mut restoring);
        let is_told = told
            .iter()
            .any(|transmit| matches!(transmit, Transmit::ToCoordinator(ToCoordinator::Entries { .. })));
        assert_eq!(is_told, is_restored, "{state:?}");
    }
}

#[test]
fn activity_of_the_runtime_is_reported_with_its_time() {
    let mut host = host();
    let at = Time(1_000_000_000);
    let jobs = vec![JobNote { ago_ms: 200, ..note(0) }];
    host.handle_notice(
        at,
        RUN,
        Notice::Activity { workers: Vec::new(), ahead_ns: None, jobs, jobs_dropped: 3 },
    );
    host.handle_timeout(at + COUNTS);
    let told = said(&mut host).into_iter().find_map(|transmit| match transmit {
        Transmit::ToCoordinator(ToCoordinator::Counts { notes, notes_dropped, .. }) => {
            Some((notes.iter().map(|note| note.ago_ms).collect::<Vec<_>>(), notes_dropped))
        }
        _ => None,
    });
    assert_eq!(told, Some((vec![200 + COUNTS.as_millis() as u32], 3)));
}

/// The time for which the job then waits for a worker of its thief does not count.
#[test]
fn a_steal_is_over_when_the_job_has_arrived() {
    let (at, arrived) = (Duration::from_secs(10), Duration::from_millis(3));
    let ns = |time: Duration| time.as_nanos() as u64;
    // The notice may be late, and may lie.
    for (late, begun) in [(Duration::ZERO, at), (at / 4, at * 3 / 4), (at * 2, arrived)] {
        assert_eq!(steal(at, arrived, ns(late)), Some((ns(arrived), Some(ns(begun)))), "{late:?} late");
    }
}

/// When a job that arrives after `took` has arrived and was begun, in nanoseconds, by a notice at `at` that is `late_ns` late.
fn steal(at: Duration, took: Duration, late_ns: u64) -> Option<(u64, Option<u64>)> {
    let mut host = host();
    host.handle_notice(NOW, RUN, Notice::Idle(1));
    let (steal, number, spec) = (StealId(0), LoanId(5), job(5));
    host.handle_from_peer(NOW + took, PEER, PeerMessage::Job { run: RUN, steal, number, spec });
    let held = host.runs[&RUN].held.tokens().next().expect("the job");
    host.handle_notice(NOW + at, RUN, Notice::Begun { held, worker: 0, late_ns });
    let scopes = host.counts(RUN).expect("it takes part").steals.scopes;
    let latencies = scopes.iter().filter(|scope| scope.jobs > 0).map(|scope| scope.latencies);
    let sums: Vec<_> = latencies.map(|of| (of.buckets.iter().sum::<u64>(), u128::from(of.sum_ns))).collect();
    assert_eq!(sums, [(1, took.as_nanos())]);
    std::iter::from_fn(|| host.poll_event()).find_map(|event| match event {
        Event::Stolen { arrived_ns, begun_ns, .. } => Some((arrived_ns, begun_ns)),
        _ => None,
    })
}

/// The coordinator refuses the host's claim to its id, and attributes earlier reports to that id.
#[test]
fn counts_reported_under_another_id_are_not_reported_again() {
    let mut host = host();
    let does = |host: &mut Host, at: Time, work_ms: u64| {
        let times = |work_ms| WorkerTimes { work_ms, ..WorkerTimes::default() };
        let (workers, counts) =
            (vec![times(work_ms), times(2 * work_ms)], Counts { work_ns: work_ms, ..Counts::default() });
        host.handle_notice(
            at,
            RUN,
            Notice::Activity { workers, ahead_ns: None, jobs: Vec::new(), jobs_dropped: 0 },
        );
        host.handle_notice(at, RUN, Notice::Counts(Box::new(counts)));
        host.handle_timeout(at);
        let told = said(host).into_iter().find_map(|transmit| match transmit {
            Transmit::ToCoordinator(ToCoordinator::Counts { counts, workers, .. }) => {
                Some((counts.work_ns, workers.iter().map(|times| times.work_ms).collect::<Vec<_>>()))
            }
            _ => None,
        });
        told.unwrap_or_default()
    };
    assert_eq!(does(&mut host, NOW, 100), (100, vec![100, 200]));
    host.handle_disconnected(NOW);
    hello(&mut host);
    host.handle_from_coordinator(NOW, ToHost::Refused { reason: "it cannot prove that".to_owned() });
    host.handle_disconnected(NOW);
    assert_eq!(hello(&mut host).0, None);
    host.handle_from_coordinator(NOW, welcome(HostId(77), 6));
    assert_eq!(does(&mut host, NOW + COUNTS, 130), (30, vec![30, 60]));
    host.handle_from_coordinator(NOW, ToHost::StopRun { run: RUN });
    said(&mut host);
    let workers = vec![WorkerTimes { work_ms: 150, ..WorkerTimes::default() }];
    host.handle_stopped(NOW, RUN, Some(FinalCounts { workers, ..FinalCounts::default() }));
    let is_last = |transmit: &Transmit| match transmit {
        Transmit::ToCoordinator(ToCoordinator::Counts { workers, .. }) => workers[0].work_ms == 50,
        _ => false,
    };
    assert!(said(&mut host).iter().any(is_last));
}

#[test]
fn counts_are_sent_before_a_result() {
    let mut host = host();
    let counted = |executed| {
        let jobs = crate::Jobs { executed, ..Default::default() };
        Notice::Counts(Box::new(Counts { jobs, ..Counts::default() }))
    };
    host.handle_notice(NOW, RUN, counted(1));
    host.handle_timeout(NOW);
    host.handle_notice(NOW, RUN, Notice::Idle(1));
    let (steal, number, spec) = (StealId(0), LoanId(5), job(5));
    host.handle_from_peer(NOW, PEER, PeerMessage::Job { run: RUN, steal, number, spec });
    let held = host.runs[&RUN].held.tokens().next().expect("the job");
    host.handle_notice(NOW, RUN, counted(2));
    said(&mut host);
    let later = NOW + COUNTS / 2;
    host.handle_notice(later, RUN, Notice::Finished { held, finished: finished() });
    let said = said(&mut host);
    let place = |is_such: fn(&Transmit) -> bool| said.iter().position(is_such);
    let counts = place(|transmit| matches!(transmit, Transmit::ToCoordinator(ToCoordinator::Counts { .. })));
    let result = place(|transmit| matches!(transmit, Transmit::ToPeer(PEER, PeerMessage::Result { .. })));
    assert!(counts.is_some() && result.is_some() && counts < result, "{said:?}");
}

#[test]
fn an_object_that_no_job_mentions_is_forgotten_and_its_bytes_are_freed() {
    for is_used in [false, true] {
        let mut host = host();
        host.handle_notice(
            NOW,
            RUN,
            Notice::Shared { object: OBJECT, place: 1, initial: vec![0; 1_000].into() },
        );
        if !is_used {
            host.handle_notice(NOW, RUN, Notice::Closed { object: OBJECT });
        }
        let shared = host.shared(RUN);
        for time in 0..3 {
            host.handle_timeout(NOW + SHARED_UNUSED * time);
        }
        assert_eq!(host.shared(RUN), if is_used { shared } else { (0, 0) });
    }
}

#[test]
fn replicas_end_a_run_when_they_take_more_than_it_allows() {
    for (spare, ends) in [(0, false), (-1, true), (1, false)] {
        let mut host = host();
        let create = |host: &mut Host| {
            host.handle_notice(
                NOW,
                RUN,
                Notice::Shared { object: OBJECT, place: 1, initial: vec![0; 1_000].into() },
            );
        };
        create(&mut host);
        let (_, bytes) = host.shared(RUN);
        let host_run = host.runs.get_mut(&RUN).expect("it takes part");
        host_run.spec.limits.shared_bytes_max = bytes.checked_add_signed(spare);
        create(&mut host);
        assert_eq!(host.runs[&RUN].reporting.verdict().is_some(), ends, "{spare} bytes to spare");
        assert_eq!(host.shared(RUN), (1, bytes), "it is counted once");
    }
}

#[test]
fn a_message_that_fits_into_a_frame_is_not_sent_as_a_parcel() {
    for (bytes, is_parcel) in [(PARCEL_BYTES_MIN, false), (PARCEL_BYTES_MIN + 1, true)] {
        let mut host = host();
        host.handle_notice(
            NOW,
            RUN,
            Notice::Shared { object: OBJECT, place: 1, initial: vec![0; bytes].into() },
        );
        host.handle_from_peer(NOW, PEER, PeerMessage::FetchReplica { run: RUN, object: OBJECT });
        let (number, proof) = (AssignmentId(1), 9);
        host.handle_from_coordinator(NOW, ToHost::Assign { run: RUN, number, proof, spec: job(1) });
        let held = host.runs[&RUN].held.tokens().next().expect("the root");
        let outcome = Outcome::Done(vec![0; bytes].into());
        let finished = Finished { outcome, work_ns: 1, span_ns: 1 };
        host.handle_notice(NOW, RUN, Notice::Finished { held, finished });
        let whole = said(&mut host).into_iter().filter(|transmit| {
            let root = matches!(transmit, Transmit::ToCoordinator(ToCoordinator::RootFinished { .. }));
            root || matches!(transmit, Transmit::ToPeer(PEER, PeerMessage::Replica { .. }))
        });
        let parcels = if is_parcel { 2 } else { 0 };
        assert_eq!((whole.count(), host.parcels().0), (2 - parcels, parcels), "{bytes} bytes");
    }
}

#[test]
fn counts_are_sent_with_entries_and_not_with_lines() {
    for is_entry in [true, false] {
        let mut host = host();
        host.handle_notice(NOW, RUN, Notice::Counts(Box::new(Counts { updates: 1, ..Counts::default() })));
        host.handle_timeout(NOW);
        let at = NOW + FLUSH;
        host.handle_notice(at, RUN, Notice::Counts(Box::new(Counts { updates: 2, ..Counts::default() })));
        if is_entry {
            let (key, lineage) = (JobKey([1; 32]), Lineage::default());
            host.handle_notice(at, RUN, Notice::Recorded { key, depth: 1, lineage, finished: finished() });
        } else {
            let (job, function, text) = (None, String::new(), "so far".to_owned());
            host.handle_notice(at, RUN, Notice::Log(LogLine { job, function, text }));
        }
        said(&mut host);
        host.handle_timeout(at + FLUSH);
        let said = said(&mut host);
        let up = |is_such: fn(&ToCoordinator) -> bool| {
            said.iter()
                .any(|transmit| matches!(transmit, Transmit::ToCoordinator(message) if is_such(message)))
        };
        assert_eq!(up(|message| matches!(message, ToCoordinator::Entries { .. })), is_entry);
        assert_eq!(up(|message| matches!(message, ToCoordinator::Log { .. })), !is_entry);
        assert_eq!(up(|message| matches!(message, ToCoordinator::Counts { .. })), is_entry);
    }
}

#[test]
fn an_object_that_is_opened_again_keeps_its_content() {
    let mut host = host();
    host.handle_notice(NOW, RUN, Notice::Shared { object: OBJECT, place: 1, initial: vec![7].into() });
    for place in 2..4 {
        while host.poll_command().is_some() {}
        host.handle_notice(NOW, RUN, Notice::Opened { object: OBJECT, place });
        assert!(host.replica(RUN, OBJECT).is_some());
        let change = Change::Whole { base: vec![7].into(), updates: Vec::new(), own: 0 };
        let has_come = RunCommand::Replica { object: OBJECT, place, change }.of(RUN);
        assert!(std::iter::from_fn(|| host.poll_command()).any(|command| command == has_come));
    }
}

#[test]
fn an_orphan_of_its_own_is_adopted_and_counted_as_saved() {
    let mut host = host();
    host.handle_notice(NOW, RUN, Notice::Idle(1));
    let (steal, number, spec) = (StealId(0), LoanId(5), job(5));
    host.handle_from_peer(NOW, PEER, PeerMessage::Job { run: RUN, steal, number, spec: spec.clone() });
    let held = host.runs[&RUN].held.tokens().next().expect("the job");
    host.handle_notice(NOW, RUN, Notice::Begun { held, worker: 0, late_ns: 0 });
    host.lose_peer(NOW, PEER);
    host.handle_notice(NOW, RUN, Notice::Lookup { number: RuntimeJobId(7), spec });
    host.handle_notice(NOW, RUN, Notice::Finished { held, finished: finished() });
    let commands = std::iter::from_fn(|| host.poll_command());
    let (number, finished) = (RuntimeJobId(7), finished());
    let complete = RunCommand::Complete { number, finished: finished.clone(), is_found_again: true }.of(RUN);
    assert!(commands.into_iter().any(|command| command == complete));
    let counts = host.counts(RUN).expect("it takes part");
    assert_eq!((counts.orphaned, counts.jobs.adopted, counts.saved_work_ns), (1, 1, finished.work_ns));
    assert_eq!((counts.held[0].begun, counts.held[0].done), (1, 1));
}
