//! Rare decisions of the coordinator: both sides of each.

use crate::limits::{
    ACQUAINTANCES_MAX, BROADCAST_AT_ONCE_MAX, ENTRIES_PER_MESSAGE_MAX, INLINE_RESULT_BYTES_MAX,
    LINEAGE_LENGTH_MAX, NOTES_WAITING_MAX, REASON_BYTES_MAX, REASONS_KEPT_WHOLE_MAX, RECONNECT_GRACE,
    RESTART_GRACE, RUNS_ACTIVE_MAX, SHARERS_PER_MESSAGE_MAX, TEXT_BYTES_MAX, WORKERS_REPORTED_MAX,
};
use crate::message::{HostReport, JobNote, NoteKind, RootClaim, ToCoordinator, ToHost, WorkerTimes};
use crate::parcel::{Contents, ParcelId};
use crate::{
    AssignmentId, Counts, Entry, EntryState, Finished, HostId, JobFailure, JobKey, Lineage, Outcome, RunId,
    RunState, Time,
};

use super::ready::Readiness;
use super::tally::Tally;
use super::tests::{Grid, spec};
use super::{Event, LinkId, StoredRun, Submitter, Waiting};

const RUN: RunId = RunId(1);

fn counts(workers: usize, notes: usize, progress: Option<(u64, u64)>) -> ToCoordinator {
    let note = JobNote {
        job: JobKey([1; 32]).tag(),
        parent: None,
        kind: 1,
        depth: 1,
        what: NoteKind::Aborted,
        ago_ms: 0,
        parameters: None,
        shares: false,
    };
    let (counts, ahead_ns, notes_dropped) = (Box::default(), None, 0);
    let (notes, workers) = (vec![note; notes], vec![WorkerTimes::default(); workers]);
    ToCoordinator::Counts { run: RUN, series: 1, counts, progress, ahead_ns, notes, notes_dropped, workers }
}

#[test]
fn the_maximum_report_is_accepted_and_no_more() {
    for (workers, notes, is_taken) in [
        (WORKERS_REPORTED_MAX, NOTES_WAITING_MAX, true),
        (WORKERS_REPORTED_MAX + 1, 0, false),
        (0, NOTES_WAITING_MAX + 1, false),
    ] {
        let mut grid = Grid::new();
        grid.submit(RUN);
        let (link, _) = grid.join();
        grid.tell(link, counts(workers, notes, None));
        assert_eq!(grid.is_closed(link), !is_taken, "{workers} workers, {notes} notes");
    }
}

#[test]
fn the_maximum_of_claimed_roots_is_accepted_and_no_more() {
    for (count, is_taken) in [(1024, true), (1025, false)] {
        let mut grid = Grid::new();
        let claim = RootClaim { run: RUN, number: AssignmentId(1), proof: 1 };
        let link = grid.hello(None, vec![claim; count]);
        assert_eq!(grid.is_closed(link), !is_taken, "{count} roots");
    }
}

#[test]
fn progress_stays_until_it_is_replaced_also_after_a_restart() {
    let mut grid = Grid::new();
    grid.submit(RUN);
    let (link, _) = grid.join();
    grid.tell(link, ToCoordinator::Ready { run: RUN });
    for (said, known) in [(Some((3, 7)), (3, 7)), (None, (3, 7)), (Some((4, 7)), (4, 7))] {
        grid.tell(link, counts(0, 0, said));
        let run = grid.machine.run(RUN).expect("the run");
        assert_eq!(run.progress(), Some(known));
        let (state, standing, submitter) = (RunState::Running, run.standing(), Submitter(0));
        let stored = StoredRun { run: RUN, submitter, spec: spec(), state, entries: vec![], standing };
        let restarted = Grid::of(true, vec![stored]);
        assert_eq!(restarted.machine.run(RUN).expect("the run").progress(), Some(known));
    }
}

/// A coordinator that was restarted, and a host that came back in time.
fn restarted() -> (Grid, LinkId, HostId) {
    let mut before = Grid::new();
    let (_, identity) = before.join();
    let mut grid = Grid::of(true, Vec::new());
    let link = grid.hello(Some(identity), Vec::new());
    (grid, link, identity.0)
}

#[test]
fn after_a_restart_a_host_knows_connected_hosts_and_while_others_are_awaited_also_these() {
    let absent = HostId(999);
    for is_late in [false, true] {
        let (mut grid, link, host) = restarted();
        if is_late {
            grid.advance(RESTART_GRACE.as_millis() as u64 + 1, &[link]);
        }
        grid.tell(link, ToCoordinator::Knows { hosts: vec![host, absent] });
        let circle: Vec<HostId> = grid.machine.circle(host).collect();
        assert_eq!(circle, if is_late { Vec::new() } else { vec![absent] });
    }
}

/// Seed 3512519531: `Knows` crossed the message that one of them is gone, which was back before it arrived.
#[test]
fn a_host_does_not_know_one_whose_departure_it_was_sent_although_it_says_so() {
    let mut before = Grid::new();
    let identities = [before.join().1, before.join().1];
    let [one, other] = identities.map(|identity| identity.0);
    let mut grid = Grid::of(true, Vec::new());
    let [link, link_of_other] = identities.map(|identity| grid.hello(Some(identity), Vec::new()));
    grid.tell(link_of_other, ToCoordinator::Leaving);
    grid.advance(1_000, &[link]);
    let gone = grid.last(link, |message| match message {
        ToHost::Hosts { gone, .. } => gone.first().map(|(host, _)| *host),
        _ => None,
    });
    assert_eq!(gone, Some(other));
    grid.hello(Some(identities[1]), Vec::new());
    // In a large grid they would hardly be introduced again.
    grid.machine.circles.part(one, other);
    grid.tell(link, ToCoordinator::Knows { hosts: vec![one, other, HostId(999)] });
    let circle: Vec<HostId> = grid.machine.circle(one).collect();
    assert_eq!(circle, [HostId(999)], "of the others it may still be notified");
}

#[test]
fn a_run_of_more_hosts_than_one_slice_handles_is_suspended() {
    let mut grid = Grid::new();
    grid.submit(RUN);
    let links: Vec<LinkId> = (0..=BROADCAST_AT_ONCE_MAX + 1).map(|_| grid.join().0).collect();
    links.iter().for_each(|link| grid.cut(*link));
    grid.machine.suspend(grid.now, RUN).expect("it runs");
    let state = |grid: &Grid| grid.machine.run(RUN).map(|run| run.state());
    assert_eq!(state(&grid), Some(RunState::Suspending), "some of them may have heard it");
    grid.advance(20_000, &[]);
    assert_eq!(state(&grid), Some(RunState::Suspended));
}

#[test]
fn only_some_reasons_are_kept_in_full() {
    let mut readiness = Readiness::default();
    let reason = "r".repeat(2 * TEXT_BYTES_MAX);
    for host in 0..=REASONS_KEPT_WHOLE_MAX as u64 {
        readiness.set_unready(HostId(host), reason.clone());
    }
    let whole = readiness.unready().values().filter(|kept| **kept == reason).count();
    assert_eq!((whole, readiness.unready().len()), (REASONS_KEPT_WHOLE_MAX, REASONS_KEPT_WHOLE_MAX + 1));
}

#[test]
fn a_host_that_claims_too_many_acquaintances_is_ignored() {
    for (count, is_taken) in [(ACQUAINTANCES_MAX, true), (ACQUAINTANCES_MAX + 1, false)] {
        let mut grid = Grid::new();
        let (link, _) = grid.join();
        grid.tell(link, ToCoordinator::Knows { hosts: vec![HostId(999); count] });
        assert_eq!(grid.is_closed(link), !is_taken, "{count}");
    }
}

#[test]
fn only_a_host_with_its_secret_comes_back_under_its_id() {
    let mut grid = Grid::new();
    let (link, one) = grid.join();
    let (_, other) = grid.join();
    assert_ne!(one.1, other.1);
    grid.cut(link);
    for forged in [0, other.1, one.1 ^ 1] {
        let link = grid.hello(Some((one.0, forged, one.2)), Vec::new());
        assert!(grid.is_closed(link), "{forged}");
    }
    let link = grid.hello(Some(one), Vec::new());
    assert!(!grid.is_closed(link));
    assert_eq!(grid.identity(link), one);
}

#[test]
fn a_host_that_starts_over_has_no_busy_workers_from_before() {
    let mut tally = Tally::default();
    let (host, counts) = (HostId(3), Counts { busy: 2, workers: 4, ..Counts::default() });
    for series in 1..4 {
        let row = tally.count(host, series, counts);
        assert_eq!((row.busy, row.workers), (2, 4), "{series}");
    }
}

#[test]
fn the_coordinator_is_giving_up_hosts_until_all_lost_ones_are_given_up() {
    let mut grid = Grid::new();
    let links = [(); 3].map(|()| grid.join().0);
    grid.cut(links[0]);
    grid.cut(links[1]);
    let due = grid.now + RECONNECT_GRACE;
    assert!(!grid.machine.silence.is_giving_up(Time(due.0 - 1)));
    assert!(grid.machine.silence.is_giving_up(due));
    grid.advance(RECONNECT_GRACE.as_millis() as u64, &links[2..]);
    assert!(!grid.machine.silence.is_giving_up(grid.now));
    assert_eq!(grid.machine.hosts().count(), 1);
}

#[test]
fn a_host_that_pauses_is_no_longer_ready() {
    for comes_back in [false, true] {
        let mut grid = Grid::new();
        grid.submit(RUN);
        let (link, identity) = grid.join();
        grid.tell(link, ToCoordinator::Ready { run: RUN });
        let is_ready = |at: &Grid| at.machine.runs.get(&RUN).expect("the run").readiness.is_ready(identity.0);
        assert!(is_ready(&grid));
        let paused = Some("its user works".to_owned());
        if comes_back {
            grid.cut(link);
            let report = grid.machine.hosts().next().expect("the host").report.as_ref().clone();
            let (was, incarnation, roots) = (Some(identity), 0, Vec::new());
            grid.tell(LinkId(99), ToCoordinator::Hello { report, was, incarnation, roots, paused });
        } else {
            grid.tell(link, ToCoordinator::Paused { reason: paused });
            grid.advance(1, &[link]);
        }
        assert!(!is_ready(&grid), "{comes_back}");
    }
}

/// Whether the link of a host that sends this stays open.
fn says(message: ToCoordinator) -> bool {
    let mut grid = Grid::new();
    grid.submit(RUN);
    let (link, _) = grid.join();
    grid.tell(link, ToCoordinator::Ready { run: RUN });
    grid.tell(link, message);
    !grid.is_closed(link)
}

#[test]
fn reasons_have_a_maximum_length() {
    let failed = |job: String, message: String, backtrace: Vec<String>| ToCoordinator::Failed {
        run: RUN,
        failure: JobFailure { job, message, backtrace },
    };
    let cases: [&dyn Fn(String) -> ToCoordinator; 6] = [
        &|reason| ToCoordinator::Unready { run: RUN, reason },
        &|reason| ToCoordinator::Limit { run: RUN, reason },
        &|text| failed(text, String::new(), Vec::new()),
        &|text| failed(String::new(), text, Vec::new()),
        &|text| failed(String::new(), String::new(), vec![text[1..].to_owned(), "r".to_owned()]),
        &|reason| ToCoordinator::Misbehaved { host: HostId(99), reason },
    ];
    for (case, message) in cases.iter().enumerate() {
        for (bytes, is_taken) in [(REASON_BYTES_MAX, true), (REASON_BYTES_MAX + 1, false)] {
            assert_eq!(says(message("r".repeat(bytes))), is_taken, "case {case}: {bytes}");
        }
    }
}

#[test]
fn the_maximum_number_and_size_of_entries_is_accepted_and_no_more() {
    let entry = |bytes: usize, above: usize| {
        let outcome = Outcome::Done(vec![0; bytes].into());
        let state = EntryState::Done(Finished { outcome, work_ns: 1, span_ns: 1 });
        let key = JobKey([1; 32]);
        Entry { key, depth: above as u32, lineage: Lineage(vec![key.tag(); above]), state, is_earlier: false }
    };
    for (count, bytes, above, is_taken) in [
        (ENTRIES_PER_MESSAGE_MAX, INLINE_RESULT_BYTES_MAX, LINEAGE_LENGTH_MAX, true),
        (ENTRIES_PER_MESSAGE_MAX + 1, 1, 1, false),
        (1, INLINE_RESULT_BYTES_MAX + 1, 1, false),
        (1, 1, LINEAGE_LENGTH_MAX + 1, false),
    ] {
        let message = ToCoordinator::Entries { run: RUN, entries: vec![entry(bytes, above); count] };
        assert_eq!(says(message), is_taken, "{count} of {bytes} bytes below {above}");
    }
}

#[test]
fn the_maximum_number_of_introductions_is_made_and_no_more() {
    for (count, is_taken) in [(SHARERS_PER_MESSAGE_MAX, true), (SHARERS_PER_MESSAGE_MAX + 1, false)] {
        assert_eq!(says(ToCoordinator::Meet { hosts: vec![HostId(99); count] }), is_taken, "{count}");
    }
}

#[test]
fn names_and_sites_have_the_maximum_length_of_texts() {
    for (bytes, is_taken) in [(TEXT_BYTES_MAX, true), (TEXT_BYTES_MAX + 1, false)] {
        let text = || "t".repeat(bytes);
        for case in 0..5 {
            let mut report = HostReport {
                name: "one".to_owned(),
                site: "here".to_owned(),
                threads: 1,
                version: "0".to_owned(),
                direct: None,
                key: Default::default(),
            };
            let (was, incarnation, roots, mut paused) = (None, 0, Vec::new(), None);
            match case {
                0 => report.name = text(),
                1 => report.site = text(),
                2 => report.version = text(),
                3 => report.direct = Some(text()),
                _ => paused = Some(text()),
            }
            let mut grid = Grid::new();
            grid.tell(LinkId(7), ToCoordinator::Hello { report, was, incarnation, roots, paused });
            assert_eq!(!grid.is_closed(LinkId(7)), is_taken, "case {case}: {bytes}");
        }
    }
}

#[test]
fn runs_and_hosts_are_shown_as_they_are() {
    let mut grid = Grid::new();
    grid.now = Time(5_000_000_000);
    grid.submit(RUN);
    let (link, (host, ..)) = grid.join();
    grid.tell(link, ToCoordinator::Ready { run: RUN });
    let outcome = Outcome::Done(vec![0; 100].into());
    let state = EntryState::Done(Finished { outcome, work_ns: 1, span_ns: 1 });
    let entry =
        Entry { key: JobKey([1; 32]), depth: 1, lineage: Lineage::default(), state, is_earlier: false };
    grid.tell(link, ToCoordinator::Entries { run: RUN, entries: vec![entry] });
    let counted = Counts { updates: 3, busy: 1, workers: 4, ..Counts::default() };
    let mut message = counts(0, 0, Some((1, 2)));
    if let ToCoordinator::Counts { counts, .. } = &mut message {
        **counts = counted;
    }
    grid.tell(link, message);

    let shown = grid.machine.hosts().next().expect("the host");
    assert_eq!((shown.id, shown.since, shown.connected, &shown.paused), (host, grid.now, true, &None));
    assert_eq!((shown.ready.as_slice(), shown.counts), ([RUN].as_slice(), counted));
    let run = grid.machine.run(RUN).expect("the run");
    assert_eq!((run.run, run.state(), run.root_host()), (RUN, RunState::Running, Some(host)));
    assert_eq!((run.root_losses(), run.since(), run.waiting_for.as_ref()), (0, grid.now, None));
    assert_eq!((run.counts(), run.workers(), run.progress()), (counted, 4, Some((1, 2))));
    assert_eq!(run.by_host().collect::<Vec<_>>(), [(host, true, counted)]);
    assert!(matches!(run.table(), (1, 100..1_000)), "{:?}", run.table());
    let standing = run.standing();
    assert_eq!((standing.root_host, standing.root_losses, standing.progress), (Some(host), 0, Some((1, 2))));
    assert!(standing.by_host.is_empty(), "rows are saved by themselves");

    grid.cut(link);
    assert!(!grid.machine.hosts().next().expect("it may come back").connected);
    grid.advance(60_000, &[]);
    assert_eq!(grid.machine.hosts().count(), 0);
    let run = grid.machine.run(RUN).expect("the run");
    assert_eq!((run.root_host(), run.root_losses(), run.workers()), (None, 1, 0));
    assert_eq!(run.by_host().map(|(id, is_there, _)| (id, is_there)).collect::<Vec<_>>(), [(host, false)]);
    assert!(run.waiting_for.is_some());
}

#[test]
fn texts_for_people_are_passed_on_and_empty_ones_are_not() {
    for (workers, notes) in [(0, 0), (2, 0), (0, 3)] {
        let mut grid = Grid::new();
        grid.submit(RUN);
        let (link, _) = grid.join();
        grid.tell(link, ToCoordinator::Ready { run: RUN });
        grid.machine.handle_message(grid.now, link, counts(workers, notes, None));
        let (mut workers_told, mut notes_told) = (Vec::new(), Vec::new());
        while let Some(event) = grid.machine.poll_event() {
            match event {
                Event::Activity { run: RUN, workers, .. } => workers_told.push(workers.len()),
                Event::Notes(RUN, _, notes) => notes_told.push(notes.len()),
                _ => {}
            }
        }
        let expected = |count: usize| if count == 0 { Vec::new() } else { vec![count] };
        assert_eq!((workers_told, notes_told), (expected(workers), expected(notes)));
    }
}

#[test]
fn the_reason_why_nothing_happens_with_a_run_is_shown() {
    let mut grid = Grid::new();
    let waits = |grid: &Grid, run| grid.machine.run(run).and_then(|run| run.waiting_for).unwrap_or_default();
    grid.submit(RUN);
    assert!(waits(&grid, RUN).starts_with("no host is connected"));
    let (link, _) = grid.join();
    grid.tell(link, ToCoordinator::Paused { reason: Some("its user works".to_owned()) });
    assert_eq!(waits(&grid, RUN), "all hosts are paused (one says: its user works)");
    grid.tell(link, ToCoordinator::Paused { reason: None });
    assert_eq!(waits(&grid, RUN), "hosts load the app");
    for other in 2..=RUNS_ACTIVE_MAX as u64 + 1 {
        grid.submit(RunId(other));
    }
    assert_eq!(waits(&grid, RunId(2)), "hosts load the app");
    assert!(waits(&grid, RunId(RUNS_ACTIVE_MAX as u64 + 1)).ends_with("waits its turn"));
    grid.tell(link, ToCoordinator::Ready { run: RUN });
    assert_eq!(waits(&grid, RUN), "", "it is under way");
    grid.machine.suspend(grid.now, RunId(2)).expect("it is there");
    grid.drain();
    assert_eq!(waits(&grid, RunId(2)), "", "its owner wants it so");
}

#[test]
fn a_run_shows_the_progress_of_its_result_and_which_runs_have_the_places() {
    let mut grid = Grid::new();
    grid.submit(RUN);
    let (link, _) = grid.join();
    let host = grid.identity(link).0;
    let waiting = |grid: &Grid, run| grid.machine.run(run).and_then(|run| run.waiting);
    grid.tell(link, ToCoordinator::Ready { run: RUN });
    assert_eq!(waiting(&grid, RUN), None);
    let contents = Contents::RootFinished { run: RUN, number: AssignmentId(1) };
    grid.machine.incoming.announce(grid.now, host, ParcelId(1), contents, 70_000).expect("it is sound");
    grid.machine.incoming.on_chunk(grid.now, host, ParcelId(1), 0, &[0; 100]).expect("it is sound");
    assert_eq!(waiting(&grid, RUN), Some(Waiting::Result { from: host, bytes: 100, total: 70_000 }));
    assert_eq!(waiting(&grid, RunId(2)), None);
    for other in 2..=RUNS_ACTIVE_MAX as u64 + 1 {
        grid.submit(RunId(other));
    }
    assert_eq!(waiting(&grid, RunId(RUNS_ACTIVE_MAX as u64 + 1)), Some(Waiting::Turn));
    let later = grid.now + std::time::Duration::from_secs(5);
    let active: Vec<(RunId, std::time::Duration)> = grid.machine.active_runs(later).collect();
    assert_eq!((active.len(), active[0]), (RUNS_ACTIVE_MAX, (RUN, later.since(Time(0)))));
}
