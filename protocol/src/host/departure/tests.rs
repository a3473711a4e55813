use super::super::bonds::job;
use super::super::corners::run_commands;
use super::super::tests::{ME, PEER, RUN, host, said, spec, welcome};
use super::super::{Notice, Transmit};
use super::*;
use crate::limits::PARCEL_BYTES_MIN;
use crate::message::ToHost;
use crate::shared::ObjectId;
use crate::{Again, JobSpec, StealId};

const OBJECT: ObjectId = ObjectId([3; 16]);

/// The host slept while the run was suspended and resumed, and gets both messages at once.
#[test]
fn a_run_that_is_resumed_while_its_guests_come_to_rest_is_begun_again() {
    for is_resumed in [false, true] {
        let mut host = host();
        let now = Time::default();
        while host.poll_command().is_some() {}
        host.handle_from_coordinator(now, ToHost::SuspendRun { run: RUN });
        if is_resumed {
            host.handle_disconnected(now);
            host.handle_connected(now);
            host.handle_from_coordinator(now, welcome(ME, 5));
            host.handle_from_coordinator(now, ToHost::StartRun { run: RUN, spec: spec().into() });
        }
        host.handle_notice(now, RUN, Notice::Drained);
        let commands = std::iter::from_fn(|| host.poll_command()).collect::<Vec<_>>();
        let is_loaded = commands.iter().any(|command| matches!(command, Command::Load { .. }));
        assert_eq!(is_loaded, is_resumed, "{commands:?}");
    }
}

#[test]
fn a_host_with_nothing_to_hand_over_does_not_wait_long_for_a_coordinator_that_is_away() {
    for (has_run, patience) in [(false, GOODBYE_WITHOUT_LINK_MAX), (true, LEAVE_MAX)] {
        let mut host = host();
        let now = Time::default();
        if !has_run {
            host.handle_from_coordinator(now, ToHost::StopRun { run: RUN });
        }
        host.handle_disconnected(now);
        said(&mut host);
        while host.poll_command().is_some() {}
        host.leave(now);
        host.handle_notice(now, RUN, Notice::Drained);
        host.handle_timeout(now + patience - Duration::from_millis(1));
        let mut commands = std::iter::from_fn(|| host.poll_command());
        assert!(!commands.any(|command| command == Command::Left), "{has_run}");
        host.handle_timeout(now + patience);
        let mut commands = std::iter::from_fn(|| host.poll_command());
        assert!(commands.any(|command| command == Command::Left), "{has_run}");
    }
}
/// The wait of a host that was asked to leave while no host fetches the parcels that it announced.
#[test]
fn a_host_that_leaves_waits_a_bounded_time_until_others_have_fetched_its_parcels() {
    for is_leave in [true, false] {
        let mut host = host();
        let now = Time::default();
        // The peer has fetched part of a replica.
        host.handle_notice(
            now,
            RUN,
            Notice::Shared { object: OBJECT, place: 1, initial: vec![0; 2 * PARCEL_BYTES_MIN].into() },
        );
        host.handle_from_peer(now, PEER, PeerMessage::FetchReplica { run: RUN, object: OBJECT });
        said(&mut host);
        if is_leave {
            host.leave(now);
        } else {
            host.pause(now, Some("its user works".to_owned()));
        }
        host.handle_notice(now, RUN, Notice::Drained);
        let is_goodbye = |transmit: &Transmit| *transmit == Transmit::ToCoordinator(ToCoordinator::Leaving);
        let goodbyes = |host: &mut Host| said(host).iter().filter(|said| is_goodbye(said)).count();
        assert_eq!(goodbyes(&mut host), 0, "the replica is in transit");
        host.handle_timeout(now + LEAVE_HAND_OVER_MAX - Duration::from_nanos(1));
        assert_eq!(goodbyes(&mut host), 0);
        host.handle_timeout(now + LEAVE_HAND_OVER_MAX);
        assert_eq!(goodbyes(&mut host), usize::from(is_leave));
        // A pause that becomes a leave does not keep the user waiting longer.
        if !is_leave {
            host.leave(now + LEAVE_HAND_OVER_MAX);
            let leave_by = now + LEAVE_HAND_OVER_MAX + LEAVE_MAX;
            assert!(host.next_departure_timeout().is_some_and(|(at, _)| at <= leave_by));
            host.handle_timeout(leave_by);
            let mut commands = std::iter::from_fn(|| host.poll_command());
            assert!(commands.any(|command| command == Command::Left));
        }
    }
}

/// It had been counted as crashed, and was another host afterwards.
#[test]
fn a_host_that_pauses_while_the_coordinator_is_away_says_so_when_it_is_back_and_keeps_its_id() {
    let reason = "its user works";
    for (is_resumed, has_run) in [(false, true), (true, true), (false, false)] {
        let mut host = host();
        let mut now = Time::default();
        if !has_run {
            host.handle_from_coordinator(now, ToHost::StopRun { run: RUN });
        }
        host.handle_disconnected(now);
        said(&mut host);
        host.pause(now, Some(reason.to_owned()));
        host.handle_notice(now, RUN, Notice::Drained);
        assert_eq!(host.paused(), None, "its work may still be given back");
        for _ in 0..5 {
            now = now + GOODBYE_MAX;
            host.handle_timeout(now);
            assert_eq!((host.paused(), host.id()), (Some(reason), Some(ME)));
        }
        if is_resumed {
            host.pause(now, None);
            assert_eq!(host.paused(), None);
        }
        said(&mut host);
        host.handle_connected(now);
        let Some(Transmit::ToCoordinator(ToCoordinator::Hello { was, paused, .. })) = said(&mut host).pop()
        else {
            panic!("it says hello")
        };
        assert_eq!((was.map(|(id, ..)| id), paused), (Some(ME), None));
        host.handle_from_coordinator(now, welcome(ME, 5));
        host.handle_from_coordinator(now, ToHost::StartRun { run: RUN, spec: spec().into() });
        host.handle_timeout(now);
        let paused = ToCoordinator::Paused { reason: Some(reason.to_owned()) };
        let goodbye = [paused, ToCoordinator::Leaving].map(Transmit::ToCoordinator);
        let goodbyes: Vec<Transmit> =
            said(&mut host).into_iter().filter(|transmit| goodbye.contains(transmit)).take(2).collect();
        assert_eq!(goodbyes, goodbye, "{is_resumed} {has_run}");
        host.handle_from_coordinator(now, ToHost::Farewell);
        assert_eq!((host.paused().is_some(), host.is_leaving()), (!is_resumed, false));
        host.handle_connected(now);
        let hello = said(&mut host).pop();
        let Some(Transmit::ToCoordinator(ToCoordinator::Hello { was, .. })) = hello else {
            panic!("it says hello: {hello:?}")
        };
        assert_eq!(was.map(|(id, ..)| id), Some(ME), "it comes back under its id");
    }
}

/// A leave does not wait for a coordinator that is away.
#[test]
fn a_paused_host_that_waits_for_its_coordinator_can_leave() {
    let mut host = host();
    let now = Time::default();
    host.handle_disconnected(now);
    host.pause(now, Some("its user works".to_owned()));
    host.handle_notice(now, RUN, Notice::Drained);
    let now = now + GOODBYE_MAX;
    host.handle_timeout(now);
    assert!(host.paused().is_some());
    while host.poll_command().is_some() {}
    host.leave(now);
    host.handle_timeout(now + LEAVE_MAX);
    let mut commands = std::iter::from_fn(|| host.poll_command());
    assert!(commands.any(|command| command == Command::Left));
}

#[test]
fn a_host_that_pauses_sends_paused_before_leaving() {
    let mut host = host();
    let now = Time::default();
    host.pause(now, Some("its user works".to_owned()));
    host.handle_notice(now, RUN, Notice::Drained);
    let last: Vec<Transmit> = said(&mut host).into_iter().rev().take(2).collect();
    let reason = Some("its user works".to_owned());
    let paused = ToCoordinator::Paused { reason };
    assert_eq!(last, [Transmit::ToCoordinator(ToCoordinator::Leaving), Transmit::ToCoordinator(paused)]);
}

/// What a host says of a stolen job that it has no room for, and of one when it cannot continue with the run.
#[test]
fn a_thief_says_whether_it_had_begun_a_job_that_it_hands_back() {
    for (is_begun, is_unable) in [(false, false), (true, false), (false, true), (true, true)] {
        let mut host = host();
        let now = Time::default();
        host.handle_notice(now, RUN, Notice::Idle(1));
        said(&mut host);
        let (steal, number) = (StealId(0), LoanId(5));
        host.handle_from_peer(now, PEER, PeerMessage::Job { run: RUN, steal, number, spec: job(5) });
        let held = host.runs[&RUN].held.tokens().next().expect("the job");
        if is_begun {
            host.handle_notice(now, RUN, Notice::Begun { held, worker: 0, late_ns: 0 });
        }
        let why = if is_unable { Notice::Unable("no".to_owned()) } else { Notice::HandedBack { held } };
        host.handle_notice(now, RUN, why);
        let returned = PeerMessage::Returned { run: RUN, number, begun: is_begun };
        assert!(said(&mut host).contains(&Transmit::ToPeer(PEER, returned)), "{is_begun} {is_unable}");
    }
}

/// Without any fault, a job that its thief had no time for is new; and one below a lost job stays so.
#[test]
fn a_job_that_comes_back_without_having_begun_is_not_one_that_was_begun_before() {
    for redone in [false, true] {
        for is_lent in [true, false] {
            let mut host = host();
            let now = Time::default();
            while host.poll_command().is_some() {}
            if is_lent {
                let steal =
                    PeerMessage::Steal { run: RUN, steal: StealId(0), holding: 0, ahead: false, more: 0 };
                host.handle_from_peer(now, PEER, steal);
            }
            host.handle_offered(now, RUN, Some((RuntimeJobId(7), JobSpec { redone, ..job(5) })));
            for transmit in said(&mut host) {
                if let Transmit::ToPeer(PEER, PeerMessage::Job { number, .. }) = transmit {
                    let returned = PeerMessage::Returned { run: RUN, number, begun: false };
                    host.handle_from_peer(now, PEER, returned);
                }
            }
            let again = Again { redone, begun: false, given_back: false, lookup_below: 0 };
            let requeue = RunCommand::Requeue { number: RuntimeJobId(7), again };
            assert!(run_commands(&mut host).contains(&requeue), "{redone} {is_lent}");
            assert_eq!(host.counts(RUN).expect("it takes part").jobs.given_back, 0);
        }
    }
}

/// A host runs a job of its own as an orphan for a peer that is gone, and is asked for it by its own runtime.
#[test]
fn a_job_of_its_own_that_a_host_had_not_begun_is_taken_back_as_it_was() {
    for begun in [false, true] {
        let mut host = host();
        let now = Time::default();
        host.take_back(now, RUN, RuntimeJobId(7), job(5), begun);
        let is_new =
            |command: &RunCommand| matches!(command, RunCommand::Requeue { again, .. } if !again.redone);
        assert_eq!(run_commands(&mut host).iter().any(is_new), !begun);
        assert_eq!(host.counts(RUN).expect("it takes part").jobs.given_back, u64::from(begun));
    }
}

/// A host with a job of a peer, a job that the peer has of it, and perhaps the root; then its guests crash.
#[test]
fn the_jobs_of_guests_that_crash_go_back_and_the_run_begins_again() {
    for has_root in [false, true] {
        let mut host = host();
        let now = Time::default();
        host.handle_notice(now, RUN, Notice::Idle(1));
        said(&mut host);
        let (steal, number) = (StealId(0), LoanId(5));
        host.handle_from_peer(now, PEER, PeerMessage::Job { run: RUN, steal, number, spec: job(5) });
        if has_root {
            let number = crate::AssignmentId(3);
            let assign = ToHost::Assign { run: RUN, number, proof: 9, spec: crate::root_job(&spec()) };
            host.handle_from_coordinator(now, assign);
        }
        let steal = PeerMessage::Steal { run: RUN, steal: StealId(0), holding: 0, ahead: false, more: 0 };
        host.handle_from_peer(now, PEER, steal);
        host.handle_notice(now, RUN, Notice::Offered(vec![(RuntimeJobId(7), job(6))]));
        let lent = said(&mut host).into_iter().find_map(|transmit| match transmit {
            Transmit::ToPeer(PEER, PeerMessage::Job { number, .. }) => Some(number),
            _ => None,
        });
        let lent = lent.expect("it lends a job");
        // Another thief waits.
        let steal = PeerMessage::Steal { run: RUN, steal: StealId(1), holding: 0, ahead: false, more: 0 };
        host.handle_from_peer(now, PEER, steal);
        while host.poll_command().is_some() {}
        host.handle_notice(now, RUN, Notice::Crashed("somebody killed it".to_owned()));
        let told = said(&mut host);
        for message in [
            PeerMessage::Returned { run: RUN, number, begun: false },
            PeerMessage::Orphaned { run: RUN, number: lent },
            PeerMessage::Nothing { run: RUN, steal: StealId(1) },
        ] {
            assert!(told.contains(&Transmit::ToPeer(PEER, message.clone())), "{message:?}: {told:?}");
        }
        let reason = "somebody killed it".to_owned();
        let about_root = [ToCoordinator::Unready { run: RUN, reason }, ToCoordinator::Ready { run: RUN }];
        for message in about_root {
            assert_eq!(told.contains(&Transmit::ToCoordinator(message)), has_root);
        }
        let commands = std::iter::from_fn(|| host.poll_command()).collect::<Vec<_>>();
        let place = |is_wanted: fn(&Command) -> bool| commands.iter().position(is_wanted);
        let (stop, load) = (
            place(|one| matches!(one, Command::Stop { forget: false, .. })),
            place(|one| matches!(one, Command::Load { .. })),
        );
        assert!(stop.is_some() && stop < load, "{commands:?}");
        assert_eq!(host.held_and_lent(RUN), (0, 0));
        // What it is given meanwhile waits until the run is loaded.
        host.handle_from_coordinator(
            now,
            ToHost::Assign {
                run: RUN,
                number: crate::AssignmentId(4),
                proof: 9,
                spec: JobSpec { redone: true, ..crate::root_job(&spec()) },
            },
        );
        assert!(run_commands(&mut host).is_empty());
        host.handle_loaded(now, RUN, Ok(()));
        let is_injected = |command: &RunCommand| matches!(command, RunCommand::Inject { .. });
        assert!(run_commands(&mut host).iter().any(is_injected));
    }
}

#[test]
fn guests_that_crash_while_they_come_to_rest_do_not_keep_a_host_from_leaving() {
    let mut host = host();
    let now = Time::default();
    while host.poll_command().is_some() {}
    host.leave(now);
    host.handle_notice(now, RUN, Notice::Crashed("it ended by SIGSEGV".to_owned()));
    assert!(said(&mut host).contains(&Transmit::ToCoordinator(ToCoordinator::Leaving)));
    let mut commands = std::iter::from_fn(|| host.poll_command());
    assert!(!commands.any(|command| matches!(command, Command::Load { .. })));
}
