//! Tests both outcomes of decisions that a host rarely has to make.

use std::sync::Arc;
use std::time::Duration;

use crate::limits::{DRAIN_MAX, FLUSH, MESSAGE_PART_BYTES, STEAL_REST_MIN};
use crate::message::{Departure, LogLine, NoteKind, PeerMessage, ToCoordinator, ToHost};
use crate::root_job;
use crate::{
    Entry, EntryState, Finished, JobKey, JobSpec, Lineage, LoanId, Mention, Outcome, RuntimeJobId, StealId,
    Stealing, Table,
};

use super::bonds::note;
use super::lent::LoanState;
use super::tests::{PEER, RUN, host, info, said, spec};
use super::*;

const NOW: Time = Time(0);
const OTHER: HostId = HostId(30);

/// Another host, of another site.
fn join_far(host: &mut Host, id: HostId) {
    let mut info = info(id);
    Arc::make_mut(&mut info.report).site = "there".to_owned();
    host.handle_from_coordinator(NOW, ToHost::Hosts { epoch: 0, joined: vec![info], gone: Vec::new() });
}

/// The commands to portions of runs.
pub fn run_commands(host: &mut Host) -> Vec<RunCommand> {
    (commands(host).into_iter())
        .filter_map(|command| match command {
            Command::Run { command, .. } => Some(command),
            _ => None,
        })
        .collect()
}

fn commands(host: &mut Host) -> Vec<Command> {
    std::iter::from_fn(|| host.poll_command()).collect()
}

fn asked(host: &mut Host) -> Vec<(HostId, StealId)> {
    let asked = said(host).into_iter().filter_map(|transmit| match transmit {
        Transmit::ToPeer(peer, PeerMessage::Steal { steal, .. }) => Some((peer, steal)),
        _ => None,
    });
    asked.collect()
}

#[test]
fn lines_of_a_log_are_split_into_messages_by_the_length_of_all_their_parts() {
    let half = MESSAGE_PART_BYTES / 2;
    for (text, function) in [(half, 0), (0, half), (half / 2, half / 2)] {
        let mut host = host();
        for _ in 0..3 {
            let (text, function) = ("t".repeat(text), "f".repeat(function));
            host.handle_notice(NOW, RUN, Notice::Log(LogLine { job: None, function, text }));
        }
        host.handle_timeout(NOW + FLUSH);
        let lines: Vec<usize> = said(&mut host)
            .iter()
            .filter_map(|transmit| match transmit {
                Transmit::ToCoordinator(ToCoordinator::Log { lines, .. }) => Some(lines.len()),
                _ => None,
            })
            .collect();
        assert_eq!(lines, [1, 1, 1], "{text} and {function} bytes, and something for the line itself");
    }
}

#[test]
fn a_host_that_is_departing_does_not_begin_again_for_another_reason() {
    let mut host = host();
    host.pause(NOW, Some("its user works".to_owned()));
    host.handle_notice(NOW, RUN, Notice::Drained);
    let (deadline, _) = host.next_departure_timeout().expect("the departure is to be answered");
    host.pause(NOW + DRAIN_MAX, Some("it runs on battery".to_owned()));
    assert_eq!(host.next_departure_timeout().map(|(at, _)| at), Some(deadline));
    host.handle_from_coordinator(NOW, ToHost::Farewell);
    assert_eq!(host.paused(), Some("it runs on battery"));
}

#[test]
fn a_host_without_an_id_pauses_at_once() {
    let config = HostConfig { report: (*info(PEER).report).clone(), seed: 1, table_bytes_max: 1 << 20 };
    let mut host = Host::new(config, NOW);
    host.pause(NOW, Some("its user works".to_owned()));
    assert_eq!((host.paused(), host.is_leaving()), (Some("its user works"), false));
    assert_eq!(commands(&mut host), [], "it does not leave");
}

#[test]
fn a_thief_asks_other_sites_again_after_a_rest_under_cluster_aware_stealing_only() {
    for stealing in [Stealing::ClusterAware, Stealing::Random] {
        let mut host = host();
        join_far(&mut host, OTHER);
        host.runs.get_mut(&RUN).expect("it takes part").spec.stealing = stealing;
        host.handle_notice(NOW, RUN, Notice::Idle(1));
        let is_due = |host: &Host| {
            let due = host.next_steal_timeout(RUN, &host.runs[&RUN]);
            due.filter(|(_, why)| *why == "a thief has rested between sites")
        };
        assert_eq!(is_due(&host), None, "it is asking there");
        for (peer, steal) in asked(&mut host) {
            if peer == OTHER {
                host.handle_from_peer(NOW, OTHER, PeerMessage::Nothing { run: RUN, steal });
            }
        }
        let _ = asked(&mut host);
        let due = is_due(&host);
        assert_eq!(due.is_some(), stealing == Stealing::ClusterAware, "{stealing:?}");
        let Some((at, _)) = due else { continue };
        assert!(at >= NOW + STEAL_REST_MIN / 2 && at <= NOW + STEAL_REST_MIN, "{at:?}");
        host.handle_timeout(at);
        assert!(asked(&mut host).iter().any(|(peer, _)| *peer == OTHER));
    }
}

#[test]
fn only_requests_to_a_host_that_is_gone_are_given_up_with_it() {
    let mut host = host();
    join_far(&mut host, OTHER);
    host.handle_notice(NOW, RUN, Notice::Idle(1));
    assert_eq!(asked(&mut host).len(), 2, "one near, one far");
    host.handle_notice(NOW, RUN, Notice::Idle(0));
    let gone = vec![(PEER, Departure::Crashed)];
    host.handle_from_coordinator(NOW, ToHost::Hosts { epoch: 1, joined: Vec::new(), gone });
    let host_run = &host.runs[&RUN];
    assert_eq!(host_run.thief.requests().map(|(_, request)| request.victim).collect::<Vec<_>>(), [OTHER]);
    assert_eq!(host_run.reporting.own().steals.scopes.iter().map(|scope| scope.unanswered).sum::<u64>(), 1);
}

#[test]
fn a_loan_that_its_thief_no_longer_has_is_looked_up_before_it_is_run_again() {
    for was_held in [false, true] {
        let mut host = host();
        let steal = StealId(4);
        host.handle_from_peer(
            NOW,
            PEER,
            PeerMessage::Steal { run: RUN, steal, holding: 0, ahead: false, more: 0 },
        );
        host.handle_offered(NOW, RUN, Some((RuntimeJobId(7), root_job(&spec()))));
        let (loan, _) = host.runs[&RUN].loans.iter().next().expect("it is lent");
        let mut holding = |holding, held| {
            let (next_steal, pending) = (StealId(5), Vec::new());
            let message = PeerMessage::Holding { run: RUN, holding, next_steal, held, pending };
            host.handle_from_peer(NOW, PEER, message);
        };
        if was_held {
            holding(1, vec![loan]);
        }
        holding(2, Vec::new());
        let is_back =
            run_commands(&mut host).iter().any(|command| matches!(command, RunCommand::Requeue { .. }));
        // Other hosts may know its result.
        assert_eq!((is_back, host.runs[&RUN].recovery.unresolved_len()), (!was_held, usize::from(was_held)));
    }
}

#[test]
fn logs_that_begin_under_a_new_id_are_named_by_it() {
    let mut host = host();
    commands(&mut host);
    host.handle_disconnected(NOW);
    host.handle_connected(NOW);
    let welcome = ToHost::Welcome {
        host: HostId(11),
        incarnation: 0,
        secret: 6,
        grid: GridId(7),
        hosts: vec![info(HostId(11))],
        complete: true,
        runs: vec![RUN],
        epoch: 0,
    };
    host.handle_from_coordinator(NOW, welcome);
    let object = ObjectId([3; 16]);
    host.handle_notice(NOW, RUN, Notice::Shared { object, place: 1, initial: vec![0].into() });
    host.handle_notice(NOW, RUN, Notice::Updated { object, bytes: vec![1].into() });
    let log = host.replica(RUN, object).and_then(Replica::own_log);
    assert_eq!(log.map(|(writer, count)| (writer.host, count)), Some((HostId(11), 1)));
}

#[test]
fn a_note_is_sent_with_the_milliseconds_for_which_it_has_waited() {
    let mut host = host();
    host.handle_notice(NOW, RUN, Notice::Idle(0));
    let host_run = host.runs.get_mut(&RUN).expect("it takes part");
    host_run.reporting.note(Time(2_000_000), note(0));
    let ago = host_run.reporting.take_notes(Time(7_999_999) + Duration::from_secs(1));
    assert_eq!(ago[0].ago_ms, 1_005);
}

/// A host that lent a job, and the loan's number.
fn lender() -> (Host, LoanId) {
    let mut host = host();
    host.handle_from_peer(
        NOW,
        PEER,
        PeerMessage::Steal { run: RUN, steal: StealId(4), holding: 2, ahead: false, more: 0 },
    );
    host.handle_offered(NOW, RUN, Some((RuntimeJobId(7), root_job(&spec()))));
    let (loan, _) = host.runs[&RUN].loans.iter().next().expect("it is lent");
    commands(&mut host);
    (host, loan)
}

#[test]
fn only_the_results_of_adopted_jobs_are_counted_as_saved() {
    for (state, saved) in [(LoanState::Given(StealId(4)), 0), (LoanState::Agreed, 1)] {
        let (mut host, number) = lender();
        let host_run = host.runs.get_mut(&RUN).expect("it takes part");
        host_run.loans.get_mut(number).expect("it is lent").state = state;
        let finished = Finished { outcome: Outcome::Done(vec![0].into()), work_ns: 1, span_ns: 1 };
        host.handle_from_peer(NOW, PEER, PeerMessage::Result { run: RUN, number, finished });
        let counts = host.counts(RUN).expect("it takes part");
        assert_eq!((counts.jobs.adopted, counts.saved_work_ns), (saved, saved));
    }
}

#[test]
fn an_adopted_job_is_lost_when_its_host_no_longer_lists_it() {
    for (holding, is_lost) in [(1, false), (2, false), (3, true), (4, true)] {
        let (mut host, number) = lender();
        let host_run = host.runs.get_mut(&RUN).expect("it takes part");
        host_run.loans.get_mut(number).expect("it is lent").state = LoanState::Agreed;
        let (next_steal, held, pending) = (StealId(0), Vec::new(), Vec::new());
        let message = PeerMessage::Holding { run: RUN, holding, next_steal, held, pending };
        host.handle_from_peer(NOW, PEER, message);
        assert_eq!(host.runs[&RUN].recovery.unresolved_len(), usize::from(is_lost), "{holding}");
    }
}

#[test]
fn stolen_jobs_are_counted_by_where_they_came_from() {
    let mut host = host();
    join_far(&mut host, OTHER);
    let mut waiting = BTreeMap::new();
    let mut expected = [(1, 0), (2, 1), (3, 1)].into_iter();
    for (victim, number) in [(PEER, 1), (OTHER, 2), (PEER, 3)] {
        host.handle_notice(NOW, RUN, Notice::Idle(1));
        waiting.extend(asked(&mut host));
        let steal = waiting.remove(&victim).expect("it is asked");
        let spec = JobSpec { key: JobKey([number as u8; 32]), ..root_job(&spec()) };
        host.handle_from_peer(
            NOW,
            victim,
            PeerMessage::Job { run: RUN, steal, number: LoanId(number), spec },
        );
        let counts = host.counts(RUN).expect("it takes part");
        assert_eq!(Some((counts.jobs.stolen, counts.jobs.stolen_wide)), expected.next());
        let came: u64 = counts.steals.scopes.iter().map(|scope| scope.jobs).sum();
        assert_eq!((came, counts.held[0].begun), (number, number));
        host.handle_timeout(NOW);
    }
}

#[test]
fn ended_jobs_that_were_lost_before_are_counted_separately() {
    for redone in [false, true] {
        let mut host = host();
        let spec = JobSpec { redone, ..root_job(&spec()) };
        for (what, times) in [
            (NoteKind::Done { work_ns: 1 }, 1),
            (NoteKind::Failed, 2),
            (NoteKind::Aborted, 3),
            (NoteKind::Lost, 4),
        ] {
            (0..times).for_each(|_| host.note_ended(RUN, (&spec, redone), what));
        }
        let counts =
            host.counts(RUN).expect("it takes part").held.map(|held| [held.done, held.failed, held.aborted]);
        let expected = if redone { [[0; 3], [1, 2, 3]] } else { [[1, 2, 3], [0; 3]] };
        assert_eq!(counts, expected);
    }
}

#[test]
fn a_note_says_whether_its_job_mentions_shared_objects() {
    let mention = Mention { object: ObjectId([3; 16]), creation: ObjectId([4; 16]) };
    for objects in [Vec::new(), vec![mention]] {
        let mut host = host();
        let shares = !objects.is_empty();
        let spec = JobSpec { objects, ..root_job(&spec()) };
        host.note(RUN, &spec, NoteKind::Lost);
        let host_run = host.runs.get_mut(&RUN).expect("it takes part");
        assert_eq!(
            host_run.reporting.take_notes(NOW).iter().map(|note| note.shares).collect::<Vec<_>>(),
            [shares]
        );
    }
}

#[test]
fn only_jobs_with_that_key_are_redone_when_a_search_is_over() {
    let mut host = host();
    for number in 1..3 {
        let spec = JobSpec { key: JobKey([number as u8; 32]), ..root_job(&spec()) };
        let steal = StealId(number);
        host.handle_from_peer(
            NOW,
            PEER,
            PeerMessage::Steal { run: RUN, steal, holding: 0, ahead: false, more: 0 },
        );
        host.handle_offered(NOW, RUN, Some((RuntimeJobId(number), spec)));
    }
    let gone = vec![(PEER, Departure::Crashed)];
    host.handle_from_coordinator(NOW, ToHost::Hosts { epoch: 1, joined: Vec::new(), gone });
    commands(&mut host);
    assert_eq!(host.runs[&RUN].recovery.unresolved_len(), 2);
    host.handle_from_coordinator(NOW, ToHost::Found { run: RUN, key: JobKey([1; 32]) });
    let redone: Vec<RuntimeJobId> = run_commands(&mut host)
        .into_iter()
        .filter_map(|command| match command {
            RunCommand::Requeue { number, .. } => Some(number),
            _ => None,
        })
        .collect();
    assert_eq!((redone, host.runs[&RUN].recovery.unresolved_len()), (vec![RuntimeJobId(1)], 1));
}

#[test]
fn a_result_at_an_unknown_host_is_searched_for() {
    let stranger = HostId(77);
    for (place, is_connected, is_sought, is_wanted) in
        [(stranger, true, true, false), (PEER, true, false, true), (stranger, false, false, false)]
    {
        let mut host = host();
        let spec = JobSpec { depth: 1, redone: true, ..root_job(&spec()) };
        let state = EntryState::DoneAt { host: place, work_ns: 1 };
        let entry = Entry { key: spec.key, depth: 1, lineage: Lineage::default(), state, is_earlier: false };
        host.handle_from_coordinator(NOW, ToHost::Entries { run: RUN, entries: vec![entry] });
        if !is_connected {
            host.handle_disconnected(NOW);
        }
        said(&mut host);
        host.handle_notice(NOW, RUN, Notice::Lookup { number: RuntimeJobId(7), spec });
        let said = said(&mut host);
        let finds = |said: &Transmit| matches!(said, Transmit::ToCoordinator(ToCoordinator::Find { .. }));
        let wants = |said: &Transmit| matches!(said, Transmit::ToPeer(PEER, PeerMessage::Want { .. }));
        assert_eq!((said.iter().any(finds), said.iter().any(wants)), (is_sought, is_wanted), "{place:?}");
    }
}

#[test]
fn an_orphan_that_ends_is_counted_as_saved() {
    let mut host = host();
    host.handle_notice(NOW, RUN, Notice::Idle(1));
    let (_, steal) = asked(&mut host)[0];
    let (number, spec) = (LoanId(1), JobSpec { depth: 1, ..root_job(&spec()) });
    host.handle_from_peer(NOW, PEER, PeerMessage::Job { run: RUN, steal, number, spec });
    let held = host.runs[&RUN].held.tokens().next().expect("it came");
    host.handle_notice(NOW, RUN, Notice::Begun { held, worker: 0, late_ns: 0 });
    let gone = vec![(PEER, Departure::Crashed)];
    host.handle_from_coordinator(NOW, ToHost::Hosts { epoch: 1, joined: Vec::new(), gone });
    assert_eq!(host.counts(RUN).map(|counts| (counts.orphaned, counts.orphans_saved)), Some((1, 0)));
    let finished = Finished { outcome: Outcome::Done(vec![0].into()), work_ns: 1, span_ns: 1 };
    host.handle_notice(NOW, RUN, Notice::Finished { held, finished });
    assert_eq!(host.counts(RUN).map(|counts| (counts.orphaned, counts.orphans_saved)), Some((1, 1)));
    assert_eq!((host.held_and_lent(RUN), host.table(RUN).0), ((0, 0), 1));
}

#[test]
fn a_result_that_does_not_fit_into_the_table_displaces_no_other() {
    let mut host = host();
    host.runs.get_mut(&RUN).expect("it takes part").table = Table::new(1_000);
    let record = |host: &mut Host, job: u8, bytes: usize| {
        let (key, lineage) = (JobKey([job; 32]), Lineage::default());
        let finished =
            Finished { outcome: Outcome::Done(vec![0; bytes].into()), work_ns: 1 << 40, span_ns: 1 };
        host.handle_notice(NOW, RUN, Notice::Recorded { key, depth: 1, lineage, finished });
        std::iter::from_fn(|| host.poll_command()).any(|command| matches!(command, Command::Save { .. }))
    };
    assert!(record(&mut host, 1, 100));
    let kept = host.table(RUN);
    assert!(!record(&mut host, 2, 1_001), "it is not saved either: nobody could restore it");
    assert_eq!(host.table(RUN), kept);
}
