//! Tests what becomes of several jobs that are lent with one message.

use std::time::Duration;

use crate::limits::{JOBS_BYTES_MAX, JOBS_PER_STEAL_MAX, RECONCILE};
use crate::message::PeerMessage;
use crate::{Finished, HeldId, JobSpec, LoanId, Outcome, RuntimeJobId, Scope, StealId};

use super::bonds::job;
use super::corners::run_commands;
use super::tests::{PEER, RUN, host, said};
use super::*;

const NOW: Time = Time(0);
const STEAL: StealId = StealId(0);

fn asks(more: u32) -> PeerMessage {
    PeerMessage::Steal { run: RUN, steal: STEAL, holding: 0, ahead: false, more }
}

/// Jobs of a runtime, from the number 1 on.
fn offered(count: u8) -> Vec<(RuntimeJobId, JobSpec)> {
    (1..=count).map(|number| (RuntimeJobId(number.into()), job(number))).collect()
}

fn lent(transmits: Vec<Transmit>) -> Vec<(StealId, Vec<(LoanId, JobSpec)>)> {
    let lent = transmits.into_iter().filter_map(|transmit| match transmit {
        Transmit::ToPeer(PEER, PeerMessage::Jobs { steal, jobs, .. }) => Some((steal, jobs)),
        Transmit::ToPeer(PEER, PeerMessage::Job { steal, number, spec, .. }) => {
            Some((steal, vec![(number, spec)]))
        }
        _ => None,
    });
    lent.collect()
}

/// The runtime's numbers of the jobs that come back.
fn requeued(host: &mut Host) -> Vec<u64> {
    let requeued = run_commands(host).into_iter().filter_map(|command| match command {
        RunCommand::Requeue { number, again } => {
            assert!(!again.redone && !again.begun, "it never began");
            Some(number.0)
        }
        _ => None,
    });
    requeued.collect()
}

/// A victim that has lent jobs to a thief that takes three.
fn victim(count: u8) -> (Host, Vec<(LoanId, JobSpec)>) {
    let mut host = host();
    run_commands(&mut host);
    host.handle_from_peer(NOW, PEER, asks(2));
    assert_eq!(run_commands(&mut host), [RunCommand::Offer { more: 2 }]);
    host.handle_offered(NOW, RUN, offered(count));
    let mut all = lent(said(&mut host));
    assert_eq!(all.len(), 1, "one answer");
    let (steal, jobs) = all.remove(0);
    assert_eq!(steal, STEAL);
    (host, jobs)
}

/// A thief that has asked for jobs of this much work, over a link on which they take a millisecond to come; and how many
/// more it takes than one.
fn thief(work: Duration) -> (Host, u32) {
    let mut host = host();
    let ahead = &mut host.runs.get_mut(&RUN).expect("it takes part").thief.ahead;
    ahead.note_trip(Duration::from_millis(1));
    ahead.note_work(work);
    host.handle_notice(NOW, RUN, Notice::Idle(1));
    let more = said(&mut host).into_iter().find_map(|transmit| match transmit {
        Transmit::ToPeer(PEER, PeerMessage::Steal { more, .. }) => Some(more),
        _ => None,
    });
    run_commands(&mut host);
    (host, more.expect("it asks"))
}

fn jobs(count: u8) -> PeerMessage {
    let jobs = (1..=count).map(|number| (LoanId(number.into()), job(number))).collect();
    PeerMessage::Jobs { run: RUN, steal: STEAL, jobs }
}

fn is_cut_off(host: &mut Host) -> bool {
    std::iter::from_fn(|| host.poll_event())
        .any(|event| event == Event::Misbehaved(PEER, Misbehaviour::TooMuch))
}

#[test]
fn a_thief_gets_no_more_than_it_takes_and_others_go_back() {
    let (mut host, jobs) = victim(5);
    assert_eq!(jobs.iter().map(|(_, spec)| spec.clone()).collect::<Vec<_>>(), [1, 2, 3].map(job));
    assert_eq!((requeued(&mut host), host.held_and_lent(RUN)), (vec![4, 5], (0, 3)));
    let (mut host, jobs) = victim(1);
    assert_eq!((jobs.len(), requeued(&mut host)), (1, vec![]));
}

#[test]
fn large_jobs_are_not_sent_together() {
    let mut host = host();
    host.handle_from_peer(NOW, PEER, asks(JOBS_PER_STEAL_MAX as u32 * 2));
    let offers = run_commands(&mut host);
    assert!(offers.contains(&RunCommand::Offer { more: JOBS_PER_STEAL_MAX - 1 }), "{offers:?}");
    let large = |number: u8| {
        let parameters = vec![number; JOBS_BYTES_MAX / 2];
        (RuntimeJobId(number.into()), JobSpec { parameters: parameters.into(), ..job(number) })
    };
    host.handle_offered(NOW, RUN, (1..=4).map(large));
    let all = lent(said(&mut host));
    assert_eq!(all.iter().map(|(_, jobs)| jobs.len()).collect::<Vec<_>>(), [2]);
    assert_eq!(requeued(&mut host), [3, 4]);
}

#[test]
fn jobs_that_were_lost_together_are_sent_again_together() {
    let (mut host, jobs) = victim(3);
    let mut now = NOW;
    let mut holds = |host: &mut Host, holding: u64, held: Vec<LoanId>, pending: Vec<StealId>| {
        now = now + RECONCILE * 2;
        let next_steal = StealId(1);
        let holding = PeerMessage::Holding { run: RUN, holding, next_steal, held, pending };
        host.handle_from_peer(now, PEER, holding);
        lent(said(host))
    };
    assert_eq!(holds(&mut host, 1, Vec::new(), vec![STEAL]), [(STEAL, jobs.clone())]);
    assert_eq!(requeued(&mut host), [0; 0]);
    // The thief has kept one, and handed the others back, which was lost.
    assert_eq!(holds(&mut host, 2, vec![jobs[1].0], Vec::new()), []);
    assert_eq!((requeued(&mut host), host.held_and_lent(RUN)), (vec![1, 3], (0, 1)));
}

#[test]
fn a_thief_of_short_jobs_asks_for_several_and_each_has_its_own_result() {
    assert_eq!(thief(Duration::from_secs(1)).1, 0);
    let (mut host, more) = thief(Duration::from_millis(2));
    assert_eq!(more, 3, "eight milliseconds of them");
    for copy in 0..2 {
        host.handle_from_peer(NOW + Duration::from_millis(1), PEER, jobs(3));
        assert_eq!(host.held_and_lent(RUN), (3, 0), "copy {copy}");
    }
    let injected = run_commands(&mut host).into_iter().filter_map(|command| match command {
        RunCommand::Inject { held, .. } => Some(held),
        _ => None,
    });
    let injected: Vec<HeldId> = injected.collect();
    assert_eq!(injected.len(), 3);
    let counts = host.counts(RUN).expect("it takes part");
    let mut steals = counts.steals;
    assert_eq!((counts.jobs.stolen, steals.of(Scope::Relayed).jobs), (3, 1), "three jobs, one steal");
    for (held, number) in injected.into_iter().zip(1..) {
        host.handle_notice(NOW, RUN, Notice::Begun { held, worker: 0, late_ns: 0 });
        said(&mut host);
        let finished = Finished { outcome: Outcome::Done(vec![1].into()), work_ns: 1, span_ns: 1 };
        host.handle_notice(NOW, RUN, Notice::Finished { held, finished: finished.clone() });
        let result = PeerMessage::Result { run: RUN, number: LoanId(number), finished };
        assert!(said(&mut host).contains(&Transmit::ToPeer(PEER, result)), "{number}");
    }
}

#[test]
fn the_time_until_a_job_began_counts_for_the_first_one_only() {
    let (mut host, _) = thief(Duration::from_millis(2));
    host.handle_from_peer(NOW + Duration::from_millis(1), PEER, jobs(2));
    let ids: Vec<HeldId> = host.runs[&RUN].held.tokens().collect();
    for held in ids {
        host.handle_notice(
            NOW + Duration::from_millis(3),
            RUN,
            Notice::Begun { held, worker: 0, late_ns: 0 },
        );
    }
    let begun = std::iter::from_fn(|| host.poll_event()).filter_map(|event| match event {
        Event::Stolen { arrived_ns, begun_ns, .. } => Some((arrived_ns, begun_ns)),
        _ => None,
    });
    assert_eq!(begun.collect::<Vec<_>>(), [(1_000_000, Some(3_000_000)), (1_000_000, None)]);
}

#[test]
fn more_jobs_than_were_asked_for_or_none_are_misbehaviour() {
    for (count, is_wrong) in [(0, true), (1, false), (4, false), (5, true)] {
        let (mut host, more) = thief(Duration::from_millis(2));
        assert_eq!(more, 3);
        host.handle_from_peer(NOW, PEER, jobs(count));
        assert_eq!(is_cut_off(&mut host), is_wrong, "{count}");
    }
}

#[test]
fn a_thief_that_leaves_hands_all_of_them_back() {
    let (mut host, _) = thief(Duration::from_millis(2));
    host.leave(NOW);
    said(&mut host);
    host.handle_from_peer(NOW, PEER, jobs(3));
    let returned = said(&mut host).into_iter().filter_map(|transmit| match transmit {
        Transmit::ToPeer(PEER, PeerMessage::Returned { number, begun: false, .. }) => Some(number.0),
        _ => None,
    });
    assert_eq!(returned.collect::<Vec<_>>(), [1, 2, 3]);
}
