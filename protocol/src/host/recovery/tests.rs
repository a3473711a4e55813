//! Tests what becomes of a job whose search ends without an entry, or not at all.

use crate::limits::FIND_TIMEOUT;
use crate::message::{Departure, PeerMessage, ToHost};
use crate::root_job;
use crate::{
    Entry, EntryState, FaultTolerance, HostId, JobKey, JobSpec, LoanId, RuntimeJobId, StealId, Time,
};

use super::super::corners::run_commands;
use super::super::tests::{PEER, RUN, host, info, said, spec};
use super::super::{Host, RunCommand, Transmit};

const NOW: Time = Time(0);
const OTHER: HostId = HostId(30);
const KEY: JobKey = JobKey([7; 32]);

fn job() -> JobSpec {
    JobSpec { key: KEY, depth: 1, ..root_job(&spec()) }
}

fn hosts(epoch: u64, joined: &[HostId], gone: &[(HostId, Departure)]) -> ToHost {
    ToHost::Hosts { epoch, joined: joined.iter().map(|host| info(*host)).collect(), gone: gone.to_vec() }
}

/// A host that has lent a job to `PEER`, which is gone. The coordinator searches for the job.
fn searcher(tolerance: FaultTolerance, how: Departure) -> Host {
    let mut host = host();
    host.runs.get_mut(&RUN).expect("it takes part").spec.fault_tolerance = tolerance;
    host.handle_from_coordinator(NOW, hosts(0, &[OTHER], &[]));
    host.handle_from_peer(
        NOW,
        PEER,
        PeerMessage::Steal { run: RUN, steal: StealId(0), holding: 0, ahead: false, more: 0 },
    );
    host.handle_offered(NOW, RUN, Some((RuntimeJobId(9), job())));
    host.handle_from_coordinator(NOW, hosts(1, &[], &[(PEER, how)]));
    said(&mut host);
    host
}

/// The host that is asked to accept this one as the owner of the job, and the loan's number.
fn asked(host: &mut Host) -> Option<(HostId, LoanId)> {
    said(host).into_iter().find_map(|sent| match sent {
        Transmit::ToPeer(to, PeerMessage::Adopt { number, key: KEY, .. }) => Some((to, number)),
        _ => None,
    })
}

fn is_redone(host: &mut Host) -> bool {
    run_commands(host).iter().any(|command| matches!(command, RunCommand::Requeue { .. }))
}

#[test]
fn a_host_that_is_back_is_asked_for_its_job_before_that_is_redone() {
    use Departure::{Crashed, Left};
    use FaultTolerance::{FinishedOrphans, Full};
    let found: fn(&mut Host) = |host| host.handle_from_coordinator(NOW, ToHost::Found { run: RUN, key: KEY });
    let no_answer: fn(&mut Host) = |host| host.handle_timeout(NOW + FIND_TIMEOUT);
    let cut_off: fn(&mut Host) = |host| host.handle_disconnected(NOW);
    for search_ends in [found, no_answer, cut_off] {
        for (tolerance, how, is_back, is_asked) in [
            (Full, Crashed, true, true),
            (Full, Crashed, false, false),
            // It has given all its jobs back.
            (Full, Left, true, false),
            // It has dropped its orphans.
            (FinishedOrphans, Crashed, true, false),
        ] {
            let mut host = searcher(tolerance, how);
            if is_back {
                host.handle_from_coordinator(NOW, hosts(1, &[PEER], &[]));
            }
            assert!(asked(&mut host).is_none() && !is_redone(&mut host), "the coordinator may know more");
            search_ends(&mut host);
            let asked = asked(&mut host);
            assert_eq!(asked.map(|(to, _)| to), is_asked.then_some(PEER));
            assert_eq!(is_redone(&mut host), !is_asked);
            if let Some((_, number)) = asked {
                host.handle_from_peer(NOW, PEER, PeerMessage::NotHeld { run: RUN, number });
                assert!(is_redone(&mut host), "it no longer has the job");
            }
        }
    }
}

#[test]
fn an_entry_that_came_during_a_search_is_used_although_the_search_was_not_answered() {
    let mut host = searcher(FaultTolerance::Full, Departure::Crashed);
    let JobSpec { key, depth, lineage, .. } = job();
    let entries = vec![Entry { key, depth, lineage, state: EntryState::Running(OTHER), is_earlier: false }];
    host.handle_from_coordinator(NOW, ToHost::Entries { run: RUN, entries });
    host.handle_timeout(NOW + FIND_TIMEOUT);
    assert_eq!(asked(&mut host).map(|(to, _)| to), Some(OTHER));
    assert!(!is_redone(&mut host));
}

#[test]
fn a_host_that_does_not_send_a_result_is_asked_for_it_once() {
    let mut host = searcher(FaultTolerance::Full, Departure::Crashed);
    let JobSpec { key, depth, lineage, .. } = job();
    let entries = vec![Entry {
        key,
        depth,
        lineage,
        state: EntryState::DoneAt { host: OTHER, work_ns: 1 },
        is_earlier: false,
    }];
    host.handle_from_coordinator(NOW, ToHost::Entries { run: RUN, entries });
    host.handle_from_coordinator(NOW, ToHost::Found { run: RUN, key: KEY });
    let wants = |host: &mut Host| {
        said(host).contains(&Transmit::ToPeer(OTHER, PeerMessage::Want { run: RUN, key: KEY }))
    };
    assert!(wants(&mut host) && !is_redone(&mut host));
    host.handle_timeout(NOW + FIND_TIMEOUT);
    assert!(!wants(&mut host) && is_redone(&mut host));
}
