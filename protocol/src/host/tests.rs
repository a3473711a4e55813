//! Tests a host with messages of a coordinator and of peers.

use std::sync::Arc;

use crate::limits::{COUNTS, FIND_TIMEOUT, HOST_TABLE_BYTES_MAX};
use crate::message::{Departure, HostReport, PeerMessage, ToCoordinator, ToHost};
use crate::root_job;
use crate::shared::Versions;
use crate::{AssignmentId, BlobHash, Entry, Finished, Outcome, RunSpec, StealId};

use super::corners::run_commands;
use super::*;

pub const RUN: RunId = RunId(1);
pub const ME: HostId = HostId(10);
pub const PEER: HostId = HostId(20);

fn report(name: &str) -> HostReport {
    let [name, site, version] = [name, "here", "0"].map(str::to_owned);
    HostReport { name, site, threads: 1, version, direct: None, key: Default::default() }
}

pub fn info(id: HostId) -> HostInfo {
    HostInfo { id, report: Arc::new(report("peer")), incarnation: 0 }
}

pub fn spec() -> RunSpec {
    RunSpec { record_every_ms: 100, ..RunSpec::new(BlobHash([7; 32])) }
}

pub fn welcome(host: HostId, secret: u64) -> ToHost {
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
pub fn host() -> Host {
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

pub fn said(host: &mut Host) -> Vec<Transmit> {
    std::iter::from_fn(|| host.poll_transmit()).collect()
}

pub fn hello(host: &mut Host) -> (Option<(HostId, u64, GridId)>, usize) {
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
    let (number, proof) = (AssignmentId(1), 9);
    host.handle_from_coordinator(now, ToHost::Assign { run: RUN, number, proof, spec: root_job(&spec()) });
    host.handle_disconnected(now);
    assert_eq!(hello(&mut host), (Some((ME, 5, GridId(7))), 1));
    host.handle_from_coordinator(now, ToHost::Refused { reason: "it cannot prove it".to_owned() });
    host.handle_disconnected(now);
    assert_eq!(hello(&mut host), (None, 0));
    host.handle_from_coordinator(now, welcome(HostId(11), 6));
    // The root job was assigned to its former id, so it is not this host's to finish; it keeps running as an orphan.
    let finished = Finished { outcome: Outcome::Done(vec![0, 0].into()), work_ns: 1, span_ns: 1 };
    let held = host.runs[&RUN].held.tokens().next().expect("the orphan");
    host.handle_notice(now, RUN, Notice::Finished { held, finished });
    let is_claimed =
        |transmit: &Transmit| matches!(transmit, Transmit::ToCoordinator(ToCoordinator::RootFinished { .. }));
    assert!(!said(&mut host).iter().any(is_claimed));
    // If it is refused later for another reason, it keeps its id.
    host.handle_from_coordinator(now, ToHost::Refused { reason: "it is too loud".to_owned() });
    host.handle_disconnected(now);
    assert_eq!(hello(&mut host).0, Some((HostId(11), 6, GridId(7))));
}

#[test]
fn work_counted_under_a_refused_id_is_not_counted_again() {
    let mut host = host();
    let mut now = Time::default();
    let mut count = |host: &mut Host, work_ns| {
        now = now + COUNTS;
        host.handle_notice(
            now,
            RUN,
            Notice::Counts(Box::new(Counts { work_ns, workers: 2, ..Counts::default() })),
        );
        host.handle_timeout(now + COUNTS);
        let told = said(host).into_iter().find_map(|transmit| match transmit {
            Transmit::ToCoordinator(ToCoordinator::Counts { counts, .. }) => {
                Some((counts.work_ns, counts.workers))
            }
            _ => None,
        });
        told.expect("counts")
    };
    assert_eq!(count(&mut host, 100), (100, 2));
    for (id, counted, expected) in [(11, 130, 30), (12, 135, 5)] {
        host.handle_disconnected(Time::default());
        hello(&mut host);
        host.handle_from_coordinator(Time::default(), ToHost::Refused { reason: "unknown".to_owned() });
        host.handle_disconnected(Time::default());
        hello(&mut host);
        host.handle_from_coordinator(Time::default(), welcome(HostId(id), 6));
        said(&mut host);
        assert_eq!(count(&mut host, counted), (expected, 2));
        assert_eq!(host.counts(RUN).map(|counts| counts.work_ns), Some(counted), "here, it is as it is");
    }
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
    host.handle_notice(now, RUN, Notice::Opened { object, place: 1 });
    let (versions, digest, sharers) = (Versions::default(), Default::default(), Default::default());
    let message = PeerMessage::Versions { run: RUN, object, versions, digest, sharers, is_question: false };
    host.handle_from_peer(now, PEER, message);
    said(&mut host);
    assert!(host.runs[&RUN].shared.needs(PEER));
    assert!(!forget(&mut host), "it would send updates to one that may be dead");
    // Once the run is over, it does.
    host.handle_from_coordinator(now, ToHost::StopRun { run: RUN });
    assert!(forget(&mut host));
}

#[test]
fn a_root_that_is_dropped_before_its_claim_is_answered_is_disclaimed() {
    let now = Time::default();
    for is_dropped in [false, true] {
        let mut host = host();
        let (number, proof) = (AssignmentId(1), 9);
        let spec = root_job(&spec());
        host.handle_from_coordinator(now, ToHost::Assign { run: RUN, number, proof, spec });
        host.handle_from_coordinator(now, ToHost::SuspendRun { run: RUN });
        host.handle_disconnected(now);
        assert_eq!(hello(&mut host).1, 1, "it has the root until its guests have come to rest");
        if is_dropped {
            host.handle_notice(now, RUN, Notice::Drained);
        }
        host.handle_from_coordinator(now, welcome(ME, 5));
        let is_disclaimed = said(&mut host).iter().any(|transmit| {
            matches!(transmit, Transmit::ToCoordinator(ToCoordinator::Suspended { run: RUN }))
        });
        assert_eq!(is_disclaimed, is_dropped);
    }
}

#[test]
fn a_host_that_came_back_under_another_id_looks_for_sharers_that_also_did() {
    let mut host = host();
    let now = Time::default();
    let object = ObjectId([3; 16]);
    host.handle_notice(now, RUN, Notice::Shared { object, place: 1, initial: vec![0].into() });
    let (versions, digest, sharers) = (Versions::default(), Default::default(), Default::default());
    let message = PeerMessage::Versions { run: RUN, object, versions, digest, sharers, is_question: false };
    host.handle_from_peer(now, PEER, message);
    host.handle_disconnected(now);
    host.handle_connected(now);
    let reborn = ToHost::Welcome {
        host: HostId(11),
        incarnation: 0,
        secret: 6,
        grid: GridId(7),
        hosts: vec![info(HostId(11))],
        complete: true,
        runs: vec![RUN],
        epoch: 0,
    };
    host.handle_from_coordinator(now, reborn);
    said(&mut host);
    let newcomer = HostId(21);
    let joined = vec![info(newcomer)];
    host.handle_from_coordinator(now, ToHost::Hosts { epoch: 0, joined, gone: Vec::new() });
    assert!(said(&mut host).iter().any(|transmit| {
        matches!(transmit, Transmit::ToPeer(to, PeerMessage::Versions { .. }) if *to == newcomer)
    }));
}

#[test]
fn a_host_that_comes_back_under_another_id_asks_no_peer_that_it_is_about_to_lose() {
    let mut host = host();
    let now = Time::default();
    let joined: Vec<HostInfo> = (30..40).map(|id| info(HostId(id))).collect();
    host.handle_from_coordinator(now, ToHost::Hosts { epoch: 0, joined, gone: Vec::new() });
    host.handle_notice(now, RUN, Notice::Idle(1));
    let asked = |host: &mut Host| {
        let steals = said(host).into_iter().filter_map(|transmit| match transmit {
            Transmit::ToPeer(victim, PeerMessage::Steal { .. }) => Some(victim),
            _ => None,
        });
        steals.collect::<Vec<_>>()
    };
    assert!(!asked(&mut host).is_empty(), "somebody is asked");
    host.handle_disconnected(now);
    host.handle_connected(now);
    let ToHost::Welcome { grid, complete, runs, epoch, .. } = welcome(ME, 5) else { panic!("a welcome") };
    let (is, stranger) = (HostId(11), HostId(50));
    let hosts = vec![info(is), info(stranger)];
    let reborn = ToHost::Welcome { host: is, incarnation: 0, secret: 6, grid, hosts, complete, runs, epoch };
    host.handle_from_coordinator(now, reborn);
    assert_eq!(asked(&mut host), [stranger]);
}

#[test]
fn a_host_that_cannot_forget_a_peer_keeps_asking_it_for_jobs() {
    let mut host = host();
    let mut now = Time::default();
    let asked = |host: &mut Host| {
        said(host).into_iter().find_map(|transmit| match transmit {
            Transmit::ToPeer(PEER, PeerMessage::Steal { steal, .. }) => Some(steal),
            _ => None,
        })
    };
    host.handle_notice(now, RUN, Notice::Idle(1));
    let steal = asked(&mut host).expect("there is nobody else");
    host.handle_from_coordinator(now, ToHost::Forget { ask: 1, host: PEER });
    assert!(said(&mut host).iter().any(|transmit| {
        matches!(transmit, Transmit::ToCoordinator(ToCoordinator::Forgot { forgotten: false, .. }))
    }));
    host.handle_from_peer(now, PEER, PeerMessage::Nothing { run: RUN, steal });
    while let Some((at, _)) = host.poll_timeout().filter(|(at, _)| *at < Time(1_000_000_000)) {
        now = at.max(now);
        host.handle_timeout(now);
        if asked(&mut host).is_some() {
            return;
        }
    }
    panic!("the peer, which knows this host, is not asked any more");
}

#[test]
fn an_entry_that_comes_before_the_answer_not_held_is_used() {
    let now = Time::default();
    for has_come in [false, true] {
        let mut host = host();
        let mut spec = root_job(&spec());
        (spec.depth, spec.redone) = (1, true);
        let key = spec.key;
        let entry =
            |state| Entry { key, depth: 1, lineage: crate::Lineage::default(), state, is_earlier: false };
        let running = vec![entry(crate::EntryState::Running(PEER))];
        host.handle_from_coordinator(now, ToHost::Entries { run: RUN, entries: running });
        host.handle_notice(now, RUN, Notice::Lookup { number: crate::RuntimeJobId(7), spec });
        let asked = said(&mut host).into_iter().find_map(|transmit| match transmit {
            Transmit::ToPeer(PEER, PeerMessage::Adopt { number, .. }) => Some(number),
            _ => None,
        });
        let number = asked.expect("the peer is asked for its orphan");
        if has_come {
            let finished = Finished { outcome: Outcome::Done(vec![0].into()), work_ns: 1, span_ns: 1 };
            let done = vec![entry(crate::EntryState::Done(finished))];
            host.handle_from_coordinator(now, ToHost::Entries { run: RUN, entries: done });
        }
        while host.poll_command().is_some() {}
        host.handle_from_peer(now, PEER, PeerMessage::NotHeld { run: RUN, number });
        let commands = run_commands(&mut host);
        let is_used = commands.iter().any(|command| matches!(command, RunCommand::Complete { .. }));
        let is_redone = commands.iter().any(|command| matches!(command, RunCommand::Requeue { .. }));
        assert_eq!((is_used, is_redone), (has_come, !has_come), "{commands:?}");
        assert_eq!(host.runs[&RUN].table.get(&key).is_some(), has_come);
    }
}

#[test]
fn a_loan_is_taken_back_only_when_the_thief_says_so_after_the_reply() {
    let now = Time::default();
    let next_holding = 3;
    // The thief sent its `Holding` before the request, with it, and after giving up the wait for the answer.
    for (holding, next_steal, is_taken_back) in [(2, 4, false), (3, 5, false), (3, 4, false), (4, 5, true)] {
        let mut host = host();
        let steal = StealId(4);
        let message = PeerMessage::Steal { run: RUN, steal, holding: next_holding, ahead: false, more: 0 };
        host.handle_from_peer(now, PEER, message);
        host.handle_offered(now, RUN, Some((crate::RuntimeJobId(7), root_job(&spec()))));
        let is_lent =
            |transmit: &Transmit| matches!(transmit, Transmit::ToPeer(PEER, PeerMessage::Job { .. }));
        assert!(said(&mut host).iter().any(is_lent));
        while host.poll_command().is_some() {}
        let (held, pending) = (Vec::new(), Vec::new());
        let next_steal = StealId(next_steal);
        let message = PeerMessage::Holding { run: RUN, holding, next_steal, held, pending };
        host.handle_from_peer(now, PEER, message);
        let commands = run_commands(&mut host);
        let is_back = commands.iter().any(|command| matches!(command, RunCommand::Requeue { .. }));
        assert_eq!(is_back, is_taken_back, "holding {holding}, next {next_steal:?}: {commands:?}");
    }
}

/// The victims that a thief asks within `for_ms` milliseconds, one element for each request. Its site has `silent`
/// peers that never answer, and `PEER`, which answers that it has no job.
fn asks(silent: u64, for_ms: u64) -> Vec<(Time, HostId)> {
    let mut host = host();
    let mut now = Time::default();
    let joined = (0..silent).map(|number| info(HostId(100 + number))).collect();
    host.handle_from_coordinator(now, ToHost::Hosts { epoch: 0, joined, gone: Vec::new() });
    host.handle_notice(now, RUN, Notice::Idle(1));
    let mut asked = Vec::new();
    while now < Time(for_ms * 1_000_000) {
        loop {
            let said = said(&mut host);
            if said.is_empty() {
                break;
            }
            for transmit in said {
                let Transmit::ToPeer(peer, PeerMessage::Steal { run, steal, .. }) = transmit else {
                    continue;
                };
                asked.push((now, peer));
                if peer == PEER {
                    host.handle_from_peer(now, PEER, PeerMessage::Nothing { run, steal });
                }
            }
        }
        let Some((next, _)) = host.poll_timeout() else { break };
        // The last answer may have made the next request due at once.
        now = now.max(next);
        host.handle_timeout(now);
    }
    asked
}

#[test]
fn a_thief_finds_its_victim_among_peers_that_never_answer() {
    for silent in [1, 20, 60] {
        let asked = asks(silent, 20_000);
        let first = asked.iter().find(|(_, peer)| *peer == PEER).expect("the one that answers is asked");
        assert!(first.0 <= Time((silent + 5) * 100_000_000), "{silent} are silent: only at {:?}", first.0);
        // The others are asked once, and not again while they send nothing.
        let others = asked.iter().filter(|(_, peer)| *peer != PEER);
        let others: Vec<_> = others.collect();
        assert_eq!(others.len() as u64, silent, "{others:?}");
        let late = asked.iter().filter(|(now, _)| *now > Time(15_000_000_000));
        assert!(late.count() > 50, "steals continue as if nobody else were connected");
    }
}

#[test]
fn a_lost_job_is_redone_although_the_coordinator_never_answers() {
    let mut host = host();
    let now = Time::default();
    let mut lost = root_job(&spec());
    (lost.depth, lost.redone) = (1, true);
    host.handle_from_peer(
        now,
        PEER,
        PeerMessage::Steal { run: RUN, steal: StealId(0), holding: 0, ahead: false, more: 0 },
    );
    host.handle_offered(now, RUN, Some((crate::RuntimeJobId(7), lost)));
    let gone = vec![(PEER, Departure::Crashed)];
    host.handle_from_coordinator(now, ToHost::Hosts { epoch: 1, joined: Vec::new(), gone });
    let mut is_redone = |now| {
        host.handle_timeout(now);
        run_commands(&mut host).iter().any(|command| matches!(command, RunCommand::Requeue { .. }))
    };
    assert!(!is_redone(now), "the coordinator may know its result");
    assert!(!is_redone(now + FIND_TIMEOUT - std::time::Duration::from_millis(1)));
    assert!(is_redone(now + FIND_TIMEOUT));
}

/// A job that its thief gives back, or whose thief left, is not lost. A job whose thief crashed is lost, even if it was
/// given back before.
#[test]
fn jobs_that_are_given_back_are_distinguished_from_lost_ones() {
    let returned = |number| PeerMessage::Returned { run: RUN, number, begun: true };
    let gone = |departure| ToHost::Hosts { epoch: 1, joined: Vec::new(), gone: vec![(PEER, departure)] };
    for (how, is_given_back) in
        [(None, true), (Some(Departure::Left), true), (Some(Departure::Crashed), false)]
    {
        let mut host = host();
        let now = Time::default();
        let mut job = root_job(&spec());
        (job.depth, job.redone, job.given_back) = (1, true, !is_given_back);
        let key = job.key;
        let asks = PeerMessage::Steal { run: RUN, steal: StealId(0), holding: 0, ahead: false, more: 0 };
        host.handle_from_peer(now, PEER, asks);
        host.handle_offered(now, RUN, Some((crate::RuntimeJobId(7), job)));
        let lent = said(&mut host).into_iter().find_map(|transmit| match transmit {
            Transmit::ToPeer(PEER, PeerMessage::Job { number, .. }) => Some(number),
            _ => None,
        });
        match how {
            None => host.handle_from_peer(now, PEER, returned(lent.expect("it is lent"))),
            Some(departure) => host.handle_from_coordinator(now, gone(departure)),
        }
        host.handle_from_coordinator(now, ToHost::Found { run: RUN, key });
        let again: Vec<crate::Again> = (run_commands(&mut host).into_iter())
            .filter_map(|command| match command {
                RunCommand::Requeue { again, .. } => Some(again),
                _ => None,
            })
            .collect();
        assert_eq!(again.len(), 1, "{how:?}");
        assert!(again[0].redone);
        assert_eq!(again[0].given_back, is_given_back, "{how:?}");
        let jobs = host.counts(RUN).expect("the run").jobs;
        assert_eq!(
            (jobs.lost, jobs.given_back),
            (u64::from(!is_given_back), u64::from(is_given_back)),
            "{how:?}"
        );
    }
}
