use std::sync::Arc;

use super::super::tests::{ME, PEER, RUN, host, said, spec, welcome};
use super::super::{Notice, Transmit};
use super::*;
use crate::limits::PARCEL_BYTES_MIN;
use crate::message::ToHost;
use crate::shared::{ObjectId, Replica, SharedReplica};

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
/// The wait of a host that was told to leave while no host fetches the parcels that it announced.
#[test]
fn a_host_that_leaves_waits_a_bounded_time_until_others_have_fetched_its_parcels() {
    for is_leave in [true, false] {
        let mut host = host();
        let now = Time::default();
        // The peer has fetched part of a replica.
        let replica = Arc::new(SharedReplica::new(Replica::new(vec![0; 2 * PARCEL_BYTES_MIN].into())));
        host.handle_notice(now, RUN, Notice::Shared { object: OBJECT, replica });
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
        assert_eq!(goodbyes(&mut host), 0, "the replica is on its way");
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
