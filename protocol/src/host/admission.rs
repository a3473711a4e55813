//! Tests how much a peer may send: a message with the maximum of something is accepted, and a peer that sends more is
//! cut off.

use super::bonds::{entry, hold_orphan, job};
use super::tests::{PEER, RUN, host, said};
use super::*;
use crate::limits::{
    ENTRIES_PER_MESSAGE_MAX, FORMER_SHARERS_PER_MESSAGE_MAX, HELD_JOBS_MAX, LOG_LINES_WAITING_MAX,
    OBJECTS_PER_JOB_MAX, SHARERS_PER_MESSAGE_MAX, TEXT_BYTES_MAX,
};
use crate::message::{LogLine, PeerMessage};
use crate::shared::{Digest, FormerSharer, NamedSharers, Replica, Versions};
use crate::{EntryState, HeldId, JobSpec, LoanId, Mention, StealId};

const NOW: Time = Time(0);
const OBJECT: ObjectId = ObjectId([3; 16]);

fn entries(count: usize) -> PeerMessage {
    PeerMessage::Entries { run: RUN, entries: vec![entry(1, 1, EntryState::Running(PEER)); count] }
}

fn known(count: usize) -> NamedSharers {
    NamedSharers { known: vec![PEER; count], former: Vec::new() }
}

fn former(count: usize) -> NamedSharers {
    let former = FormerSharer { host: HostId(40), total: 1, ago_ms: 2 };
    NamedSharers { known: Vec::new(), former: vec![former; count] }
}

fn versions(sharers: NamedSharers) -> PeerMessage {
    let (versions, digest) = (Versions::default(), Digest::default());
    PeerMessage::Versions { run: RUN, object: OBJECT, versions, digest, sharers, is_question: false }
}

fn replica(sharers: NamedSharers) -> PeerMessage {
    let snapshot = Replica::new(vec![0].into()).snapshot();
    PeerMessage::Replica { run: RUN, object: OBJECT, snapshot, sharers }
}

fn job_with(objects: usize) -> PeerMessage {
    let objects = vec![Mention { object: OBJECT, creation: OBJECT }; objects];
    let spec = JobSpec { objects, ..job(1) };
    PeerMessage::Job { run: RUN, steal: StealId(0), number: LoanId(1), spec }
}

/// Makes a message with this number of something.
type WithMany = fn(usize) -> PeerMessage;

#[test]
fn messages_are_accepted_up_to_their_maximum_and_not_beyond() {
    let cases: [(WithMany, usize); 6] = [
        (entries, ENTRIES_PER_MESSAGE_MAX),
        (|count| versions(known(count)), SHARERS_PER_MESSAGE_MAX),
        (|count| versions(former(count)), FORMER_SHARERS_PER_MESSAGE_MAX),
        (|count| replica(known(count)), SHARERS_PER_MESSAGE_MAX),
        (|count| replica(former(count)), FORMER_SHARERS_PER_MESSAGE_MAX),
        (job_with, OBJECTS_PER_JOB_MAX),
    ];
    for (case, (message, most)) in cases.into_iter().enumerate() {
        for (count, is_taken) in [(most - 1, true), (most, true), (most + 1, false)] {
            let mut host = host();
            host.handle_notice(NOW, RUN, Notice::Idle(1));
            host.handle_from_peer(NOW, PEER, message(count));
            assert_eq!(!host.peers.is_cut_off(PEER), is_taken, "case {case}: {count}");
        }
    }
}

#[test]
fn a_peers_reason_to_refuse_this_host_is_reported_unless_it_is_too_long() {
    for (bytes, is_told) in [(TEXT_BYTES_MAX, true), (TEXT_BYTES_MAX + 1, false)] {
        let mut host = host();
        host.handle_from_peer(NOW, PEER, PeerMessage::Refused { reason: "r".repeat(bytes) });
        let told =
            std::iter::from_fn(|| host.poll_event()).any(|event| matches!(event, Event::RefusedBy(..)));
        assert_eq!(told, is_told, "{bytes}");
        assert!(host.peers.is_cut_off(PEER), "there is nothing between the two any more");
    }
}

#[test]
fn a_host_that_holds_the_maximum_of_jobs_hands_back_further_ones_and_asks_for_none() {
    for (held, is_taken) in [(HELD_JOBS_MAX - 1, true), (HELD_JOBS_MAX, false)] {
        let mut host = host();
        host.handle_notice(NOW, RUN, Notice::Idle(1));
        said(&mut host);
        let host_run = host.runs.get_mut(&RUN).expect("it takes part");
        for number in 0..held as u64 {
            let id = HeldId(1 << 40 | number);
            hold_orphan(host_run, id, job(2));
            host_run.held.begin(id).expect("it holds it");
        }
        assert_eq!(host_run.held.len(), held);
        host.handle_from_peer(NOW, PEER, job_with(0));
        let is_returned = said(&mut host)
            .iter()
            .any(|transmit| matches!(transmit, Transmit::ToPeer(PEER, PeerMessage::Returned { .. })));
        assert_eq!(is_returned, !is_taken, "{held}");
        host.handle_notice(NOW, RUN, Notice::Idle(1));
        let asks = |host: &mut Host| {
            let said = said(host);
            said.iter().any(|transmit| matches!(transmit, Transmit::ToPeer(_, PeerMessage::Steal { .. })))
        };
        assert!(!asks(&mut host), "now it has as many as it may");
        assert!(host.poll_timeout().is_none_or(|(_, why)| why != "a thief has rested"));
    }
}

#[test]
fn lines_of_a_log_beyond_the_maximum_that_may_wait_are_left_out_and_counted() {
    let mut host = host();
    for _ in 0..LOG_LINES_WAITING_MAX + 3 {
        let line = LogLine { job: None, function: "f".to_owned(), text: "t".to_owned() };
        host.handle_notice(NOW, RUN, Notice::Log(line));
    }
    let log = host.runs[&RUN].reporting.log();
    assert_eq!(log.len(), LOG_LINES_WAITING_MAX + 1);
    assert_eq!(log.iter().filter(|line| line.text != "t").count(), 1);
    assert_ne!(log[LOG_LINES_WAITING_MAX].text, "t");
}
