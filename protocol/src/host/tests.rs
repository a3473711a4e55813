//! What a coordinator and peers do to a host.

use std::sync::Arc;

use super::*;
use crate::coordinator::root_job;
use crate::limits::{FIND_TIMEOUT, HOST_TABLE_BYTES_MAX};
use crate::message::{Departure, HostReport, ToHost};
use crate::shared::Versions;
use crate::{BlobHash, FaultTolerance, JobNumber, RunLimits, RunSpec, Stealing};

const RUN: RunId = RunId(1);
const ME: HostId = HostId(10);
const PEER: HostId = HostId(20);

fn report(name: &str) -> HostReport {
    HostReport {
        name: name.to_owned(),
        site: "here".to_owned(),
        threads: 1,
        version: "0".to_owned(),
        direct: None,
    }
}

fn info(id: HostId) -> HostInfo {
    HostInfo { id, report: Arc::new(report("peer")), direct_secret: 1, incarnation: 0 }
}

fn spec() -> RunSpec {
    RunSpec {
        app: BlobHash([7; 32]),
        function: "main".to_owned(),
        arguments: Vec::new(),
        inputs: Vec::new(),
        limits: RunLimits::default(),
        strict_nan: false,
        stealing: Stealing::default(),
        fault_tolerance: FaultTolerance::default(),
        record_every_ms: 100,
    }
}

fn welcome(host: HostId, secret: u64) -> ToHost {
    ToHost::Welcome {
        host,
        incarnation: 0,
        secret,
        grid: GridId(7),
        hosts: vec![info(host), info(PEER)],
        complete: true,
        runs: vec![RUN],
        epoch: 0,
    }
}

/// A host that takes part in the run.
fn host() -> Host {
    let config = HostConfig { report: report("me"), seed: 1, table_bytes_max: HOST_TABLE_BYTES_MAX };
    let now = Time::default();
    let mut host = Host::new(config, now);
    host.handle_connected(now);
    host.handle_from_coordinator(now, welcome(ME, 5));
    host.handle_from_coordinator(now, ToHost::StartRun { run: RUN, spec: spec().into() });
    host.handle_loaded(now, RUN, Ok(()));
    said(&mut host);
    host
}

fn said(host: &mut Host) -> Vec<Transmit> {
    std::iter::from_fn(|| host.poll_transmit()).collect()
}

fn hello(host: &mut Host) -> (Option<(HostId, u64, GridId)>, usize) {
    host.handle_connected(Time::default());
    let said = said(host);
    let found = said.iter().find_map(|transmit| match transmit {
        Transmit::ToCoordinator(ToCoordinator::Hello { was, roots, .. }) => Some((*was, roots.len())),
        _ => None,
    });
    found.expect("a hello")
}

#[test]
fn a_host_whose_identity_is_refused_comes_back_as_a_new_one() {
    let mut host = host();
    let now = Time::default();
    let (number, proof) = (JobNumber(1), 9);
    host.handle_from_coordinator(now, ToHost::Assign { run: RUN, number, proof, spec: root_job(&spec()) });
    host.handle_disconnected(now);
    assert_eq!(hello(&mut host), (Some((ME, 5, GridId(7))), 1));
    host.handle_from_coordinator(now, ToHost::Refused { reason: "it cannot prove it".to_owned() });
    host.handle_disconnected(now);
    assert_eq!(hello(&mut host), (None, 0));
    host.handle_from_coordinator(now, welcome(HostId(11), 6));
    // What it was given under the other name is not its to end; it goes on as an orphan.
    let finished = crate::Finished { outcome: crate::Outcome::Done(vec![0, 0]), work_ns: 1, span_ns: 1 };
    let held = *host.runs[&RUN].held.keys().next().expect("the orphan");
    host.handle_notice(now, RUN, Notice::Finished { held, finished });
    let is_claimed =
        |transmit: &Transmit| matches!(transmit, Transmit::ToCoordinator(ToCoordinator::RootFinished { .. }));
    assert!(!said(&mut host).iter().any(is_claimed));
    // Refused later for something else, it is who it is.
    host.handle_from_coordinator(now, ToHost::Refused { reason: "it is too loud".to_owned() });
    host.handle_disconnected(now);
    assert_eq!(hello(&mut host).0, Some((HostId(11), 6, GridId(7))));
}

#[test]
fn a_host_does_not_forget_a_sharer_of_its_objects() {
    let mut host = host();
    let now = Time::default();
    let forget = |host: &mut Host| {
        host.handle_from_coordinator(now, ToHost::Forget { ask: 1, host: PEER });
        let said = said(host);
        said.iter().any(|transmit| {
            matches!(transmit, Transmit::ToCoordinator(ToCoordinator::Forgot { forgotten: true, .. }))
        })
    };
    let object = ObjectId([3; 16]);
    let replica = Arc::new(SharedReplica::default());
    host.handle_notice(now, RUN, Notice::Shared { object, replica });
    let (versions, digest, sharers) = (Versions::default(), Default::default(), Vec::new());
    let message = PeerMessage::Versions { run: RUN, object, versions, digest, sharers, is_question: false };
    host.handle_from_peer(now, PEER, message);
    said(&mut host);
    assert!(host.runs[&RUN].shared[&object].needs(PEER));
    assert!(!forget(&mut host), "it would send updates to one that may be dead");
    // Once there is nothing between the two, it does.
    host.handle_from_coordinator(now, ToHost::StopRun { run: RUN });
    assert!(forget(&mut host));
}

#[test]
fn an_entry_that_comes_before_not_held_is_used() {
    let now = Time::default();
    for has_come in [false, true] {
        let mut host = host();
        let mut spec = root_job(&spec());
        (spec.depth, spec.redone) = (1, true);
        let key = spec.key;
        let entry = |state| Entry { key, depth: 1, lineage: crate::Lineage::default(), state };
        let running = vec![entry(crate::EntryState::Running(PEER))];
        host.handle_from_coordinator(now, ToHost::Entries { run: RUN, entries: running });
        host.handle_notice(now, RUN, Notice::Lookup { number: JobNumber(7), spec });
        let asked = said(&mut host).into_iter().find_map(|transmit| match transmit {
            Transmit::ToPeer(PEER, PeerMessage::Adopt { number, .. }) => Some(number),
            _ => None,
        });
        let number = asked.expect("the peer is asked for its orphan");
        if has_come {
            let finished = crate::Finished { outcome: crate::Outcome::Done(vec![0]), work_ns: 1, span_ns: 1 };
            let done = vec![entry(crate::EntryState::Done(finished))];
            host.handle_from_coordinator(now, ToHost::Entries { run: RUN, entries: done });
        }
        while host.poll_command().is_some() {}
        host.handle_from_peer(now, PEER, PeerMessage::NotHeld { run: RUN, number });
        let commands: Vec<Command> = std::iter::from_fn(|| host.poll_command()).collect();
        let is_used = commands.iter().any(|command| matches!(command, Command::Complete { .. }));
        let is_redone = commands.iter().any(|command| matches!(command, Command::Requeue { .. }));
        assert_eq!((is_used, is_redone), (has_come, !has_come), "{commands:?}");
        assert_eq!(host.runs[&RUN].table.get(&key).is_some(), has_come);
    }
}

#[test]
fn a_run_that_is_given_again_uses_no_number_a_second_time() {
    let now = Time::default();
    // Whichever kind of number is ahead.
    for (steal, number, holding) in [(5, 7, 9), (9, 5, 7), (7, 9, 5)] {
        let mut host = host();
        let part = host.runs.get_mut(&RUN).expect("it takes part");
        (part.next_steal, part.next_number, part.holding) = (steal, number, holding);
        host.handle_from_coordinator(now, ToHost::StopRun { run: RUN });
        host.handle_from_coordinator(now, ToHost::StartRun { run: RUN, spec: spec().into() });
        let part = &host.runs[&RUN];
        assert!(part.next_steal >= steal && part.next_number >= number && part.holding >= holding);
    }
}

#[test]
fn a_loan_is_taken_back_only_when_the_thief_says_so_after_the_reply() {
    let now = Time::default();
    let next_holding = 3;
    // The thief's holding was sent before the request; with it; and after the reply was given up.
    for (holding, next_steal, is_taken_back) in [(2, 4, false), (3, 5, false), (3, 4, false), (4, 5, true)] {
        let mut host = host();
        let steal = crate::StealId(4);
        let message = PeerMessage::Steal { run: RUN, steal, holding: next_holding };
        host.handle_from_peer(now, PEER, message);
        host.handle_offered(now, RUN, Some((JobNumber(7), root_job(&spec()))));
        let is_lent =
            |transmit: &Transmit| matches!(transmit, Transmit::ToPeer(PEER, PeerMessage::Job { .. }));
        assert!(said(&mut host).iter().any(is_lent));
        while host.poll_command().is_some() {}
        let (held, pending) = (Vec::new(), Vec::new());
        let next_steal = crate::StealId(next_steal);
        let message = PeerMessage::Holding { run: RUN, holding, next_steal, held, pending };
        host.handle_from_peer(now, PEER, message);
        let commands: Vec<Command> = std::iter::from_fn(|| host.poll_command()).collect();
        let is_back = commands.iter().any(|command| matches!(command, Command::Requeue { .. }));
        assert_eq!(is_back, is_taken_back, "holding {holding}, next {next_steal:?}: {commands:?}");
    }
}

#[test]
fn a_list_in_parts_is_whole_and_each_part_fits() {
    let third = MESSAGE_PART_BYTES / 3;
    for count in [0, 1, 3, 4, 7] {
        let parts = in_parts((0..count).collect(), |_: &usize| third);
        let lengths: Vec<usize> = parts.iter().map(Vec::len).collect();
        assert_eq!(parts.concat(), (0..count).collect::<Vec<_>>());
        assert_eq!(lengths.len(), count.div_ceil(3).max(1), "{lengths:?}");
        assert!(lengths.iter().all(|length| *length <= 3), "{lengths:?}");
    }
    // What is too large for any part is a part of its own.
    let parts = in_parts(vec![1, 2 * MESSAGE_PART_BYTES, 1], |bytes| *bytes);
    assert_eq!(parts.iter().map(Vec::len).collect::<Vec<_>>(), [1, 1, 1]);
}

#[test]
fn a_lost_job_is_redone_although_the_coordinator_never_answers() {
    let mut host = host();
    let now = Time::default();
    let mut lost = root_job(&spec());
    (lost.depth, lost.redone) = (1, true);
    host.handle_from_peer(now, PEER, PeerMessage::Steal { run: RUN, steal: crate::StealId(0), holding: 0 });
    host.handle_offered(now, RUN, Some((JobNumber(7), lost)));
    let gone = vec![(PEER, Departure::Crashed)];
    host.handle_from_coordinator(now, ToHost::Hosts { epoch: 1, joined: Vec::new(), gone });
    let mut is_redone = |now| {
        host.handle_timeout(now);
        let commands: Vec<Command> = std::iter::from_fn(|| host.poll_command()).collect();
        commands.iter().any(|command| matches!(command, Command::Requeue { .. }))
    };
    assert!(!is_redone(now), "the coordinator may know its result");
    assert!(!is_redone(now + FIND_TIMEOUT - std::time::Duration::from_millis(1)));
    assert!(is_redone(now + FIND_TIMEOUT));
}
