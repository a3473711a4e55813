//! A host's machine.

use sateen_protocol::host::{FinalCounts, Host, HostConfig, Notice};
use sateen_protocol::limits::HELD_JOBS_MAX;
use sateen_protocol::message::{HostReport, JobNote, LogLine, PeerMessage, ToHost, WorkerTimes};
use sateen_protocol::shared::{NewBase, ObjectId};
use sateen_protocol::{
    Bytes, Counts, Entry, Finished, HeldId, HostId, JobFailure, JobKey, JobSpec, Lineage, RunId,
    RuntimeJobId, Time,
};
use serde::{Deserialize, Serialize};

/// The bound on each run's table; small, so that it is reached.
pub const TABLE_BYTES_MAX: usize = 1 << 16;

/// The initial state of a host.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Start {
    /// Its name and its site.
    pub name: String,
    /// See the name.
    pub site: String,
    /// Its random seed.
    pub seed: u64,
}

impl Start {
    /// The machine, with one worker.
    pub fn host(&self, now: Time) -> Host {
        let report = HostReport {
            name: self.name.clone(),
            site: self.site.clone(),
            threads: 1,
            version: "1".to_owned(),
            direct: None,
            key: Default::default(),
        };
        Host::new(HostConfig { report, seed: self.seed, table_bytes_max: TABLE_BYTES_MAX }, now)
    }
}

/// All inputs of a host's machine.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[expect(missing_docs, reason = "one for each method of the machine")]
pub enum Input {
    Timeout,
    Connected,
    Disconnected,
    FromCoordinator(ToHost),
    FromPeer(HostId, PeerMessage),
    PeerLost(HostId),
    Misbehaviour(HostId, String),
    Loaded(RunId, Result<(), String>),
    Restored(RunId, Vec<Entry>),
    Offered(RunId, Vec<(RuntimeJobId, JobSpec)>),
    Leave,
    Pause(Option<String>),
    // The runtime's notices.
    Idle(RunId, u32),
    Exposed(RunId),
    Begun(RunId, HeldId),
    Finished(RunId, HeldId, Finished),
    Abandoned(RunId, RuntimeJobId),
    Lookup(RunId, RuntimeJobId, JobSpec),
    Recorded(RunId, JobKey, u32, Lineage, Finished),
    /// With its first snapshot.
    Shared(RunId, ObjectId, Bytes),
    Updated(RunId, ObjectId, Bytes),
    Opened(RunId, ObjectId),
    Refetch(RunId, ObjectId, HeldId),
    Log(RunId, LogLine),
    Progress(RunId, u64, u64),
    Limit(RunId, String),
    Failed(RunId, JobFailure),
    Unable(RunId, String),
    Drained(RunId),
    Counts(RunId, Box<Counts>),
    Activity(RunId, Vec<WorkerTimes>, Option<u64>, (Vec<JobNote>, u64)),
    HandedBack(RunId, HeldId),
    RouteLost(HostId),
    Stopped(RunId, Option<Box<Counts>>),
    Based(RunId, ObjectId, NewBase),
    Closed(RunId, ObjectId),
    Misnamed(RunId, HeldId),
    Crashed(RunId, String),
    /// Guests stand still for a moment, or compute again.
    Hold(Option<String>),
}

/// The runtime's number for each place of an object; only one that is current matters.
const PLACE: u64 = 0;

impl Input {
    /// Converts a notice to an input.
    pub fn notice(run: RunId, notice: Notice) -> Self {
        match notice {
            Notice::Idle(workers) => Self::Idle(run, u32::try_from(workers).unwrap_or(u32::MAX)),
            Notice::Exposed => Self::Exposed(run),
            Notice::Offered(jobs) => Self::Offered(run, jobs),
            Notice::Crashed(reason) => Self::Crashed(run, reason),
            Notice::Begun { held, .. } => Self::Begun(run, held),
            Notice::Finished { held, finished } => Self::Finished(run, held, finished),
            Notice::Abandoned { number } => Self::Abandoned(run, number),
            Notice::Lookup { number, spec } => Self::Lookup(run, number, spec),
            Notice::Recorded { key, depth, lineage, finished } => {
                Self::Recorded(run, key, depth, lineage, finished)
            }
            Notice::Shared { object, place: _, initial } => Self::Shared(run, object, initial),
            Notice::Updated { object, bytes } => Self::Updated(run, object, bytes),
            Notice::Based { object, new } => Self::Based(run, object, new),
            Notice::Opened { object, place: _ } => Self::Opened(run, object),
            Notice::Closed { object } => Self::Closed(run, object),
            Notice::Refetch { object, held } => Self::Refetch(run, object, held),
            Notice::Log(line) => Self::Log(run, line),
            Notice::Progress(done, total) => Self::Progress(run, done, total),
            Notice::Limit(reason) => Self::Limit(run, reason),
            Notice::Failed(failure) => Self::Failed(run, failure),
            Notice::Unable(reason) => Self::Unable(run, reason),
            Notice::Drained => Self::Drained(run),
            Notice::Counts(counts) => Self::Counts(run, counts),
            Notice::Activity { workers, ahead_ns, jobs, jobs_dropped } => {
                Self::Activity(run, workers, ahead_ns, (jobs, jobs_dropped))
            }
            Notice::HandedBack { held } => Self::HandedBack(run, held),
            Notice::Misnamed { held } => Self::Misnamed(run, held),
        }
    }

    /// Passes it to the machine.
    pub fn tell(self, host: &mut Host, now: Time) {
        match self {
            Self::Timeout => host.handle_timeout(now),
            Self::Connected => host.handle_connected(now),
            Self::Disconnected => host.handle_disconnected(now),
            Self::FromCoordinator(message) => host.handle_from_coordinator(now, message),
            Self::FromPeer(from, message) => host.handle_from_peer(now, from, message),
            Self::PeerLost(peer) => host.handle_peer_lost(now, peer),
            Self::RouteLost(peer) => host.handle_route_lost(now, peer),
            Self::Misbehaviour(peer, reason) => host.handle_misbehaviour(now, peer, reason),
            Self::Loaded(run, result) => host.handle_loaded(now, run, result),
            Self::Restored(run, entries) => host.handle_restored(now, run, entries),
            Self::Offered(run, jobs) => host.handle_offered(now, run, jobs),
            Self::Leave => host.leave(now),
            Self::Pause(reason) => host.pause(now, reason),
            Self::Hold(reason) => host.hold(now, reason),
            Self::Idle(run, workers) => host.handle_notice(now, run, Notice::Idle(workers as usize)),
            Self::Exposed(run) => host.handle_notice(now, run, Notice::Exposed),
            Self::Begun(run, held) => {
                host.handle_notice(now, run, Notice::Begun { held, worker: 0, late_ns: 0 });
            }
            Self::Finished(run, held, finished) => {
                host.handle_notice(now, run, Notice::Finished { held, finished });
            }
            Self::Abandoned(run, number) => host.handle_notice(now, run, Notice::Abandoned { number }),
            Self::Lookup(run, number, spec) => host.handle_notice(now, run, Notice::Lookup { number, spec }),
            Self::Recorded(run, key, depth, lineage, finished) => {
                host.handle_notice(now, run, Notice::Recorded { key, depth, lineage, finished });
            }
            Self::Shared(run, object, initial) => {
                host.handle_notice(now, run, Notice::Shared { object, place: PLACE, initial });
            }
            Self::Updated(run, object, bytes) => {
                host.handle_notice(now, run, Notice::Updated { object, bytes });
            }
            Self::Based(run, object, new) => host.handle_notice(now, run, Notice::Based { object, new }),
            Self::Opened(run, object) => {
                host.handle_notice(now, run, Notice::Opened { object, place: PLACE });
            }
            Self::Closed(run, object) => host.handle_notice(now, run, Notice::Closed { object }),
            Self::Refetch(run, object, held) => {
                host.handle_notice(now, run, Notice::Refetch { object, held });
            }
            Self::Log(run, line) => host.handle_notice(now, run, Notice::Log(line)),
            Self::Progress(run, done, total) => host.handle_notice(now, run, Notice::Progress(done, total)),
            Self::Limit(run, reason) => host.handle_notice(now, run, Notice::Limit(reason)),
            Self::Failed(run, failure) => host.handle_notice(now, run, Notice::Failed(failure)),
            Self::Crashed(run, reason) => host.handle_notice(now, run, Notice::Crashed(reason)),
            Self::Unable(run, reason) => host.handle_notice(now, run, Notice::Unable(reason)),
            Self::Drained(run) => host.handle_notice(now, run, Notice::Drained),
            Self::Counts(run, counts) => host.handle_notice(now, run, Notice::Counts(counts)),
            Self::Activity(run, workers, ahead_ns, (jobs, jobs_dropped)) => {
                host.handle_notice(now, run, Notice::Activity { workers, ahead_ns, jobs, jobs_dropped });
            }
            Self::HandedBack(run, held) => host.handle_notice(now, run, Notice::HandedBack { held }),
            Self::Misnamed(run, held) => host.handle_notice(now, run, Notice::Misnamed { held }),
            Self::Stopped(run, counts) => {
                let last = counts.map(|counts| FinalCounts { counts: *counts, ..FinalCounts::default() });
                host.handle_stopped(now, run, last);
            }
        }
    }
}

/// Drives a host with the inputs in `bytes`; returns the number of outputs.
pub fn drive(mut bytes: &[u8]) -> u64 {
    let Some(start) = crate::next::<Start>(&mut bytes) else { return 0 };
    let mut now = Time::default();
    let mut host = start.host(now);
    let mut outputs = 0;
    while let Some((passed_ns, input)) = crate::next::<(u64, Input)>(&mut bytes) {
        // An hour at most, so that the clock does not overflow.
        now = Time(now.0.saturating_add(passed_ns.min(3_600_000_000_000)));
        let is_timeout = matches!(input, Input::Timeout);
        let size = size(&host) + postcard::to_allocvec(&input).map_or(0, |bytes| bytes.len());
        input.tell(&mut host, now);
        let drained = drain(&mut host);
        assert!(drained <= 64 + 16 * size, "{drained} outputs of a machine of the size {size}");
        outputs += drained as u64;
        if is_timeout {
            outputs += check_timers(&mut host, now);
        }
        check(&host);
    }
    outputs
}

/// Maximum chunks of parcels that are taken at once.
const BULK_MAX: usize = 16;

fn drain(host: &mut Host) -> usize {
    let transmits = std::iter::from_fn(|| host.poll_transmit()).count();
    let commands = std::iter::from_fn(|| host.poll_command()).count();
    let events = std::iter::from_fn(|| host.poll_event()).count();
    // As many as a link has room for.
    let bulk = std::iter::from_fn(|| host.poll_bulk(|_| true)).take(BULK_MAX).count();
    transmits + commands + events + bulk
}

/// The size to which outputs may be proportional.
fn size(host: &Host) -> usize {
    let of_run = |run: RunId| {
        let (held, lent) = host.held_and_lent(run);
        1 + held + lent + host.table(run).0 + host.shared(run).0 * (1 + host.peers().count())
    };
    host.sizes().ended
        + (host.peers().count() + 1) * (host.runs().len() + 1)
        + host.runs().into_iter().map(of_run).sum::<usize>()
}

/// A timer must not fire again at the same time for ever.
fn check_timers(host: &mut Host, now: Time) -> u64 {
    let mut outputs = 0;
    for _ in 0..8 {
        match host.poll_timeout() {
            Some((time, _)) if time <= now => host.handle_timeout(now),
            _ => return outputs,
        }
        outputs += drain(host) as u64;
    }
    let (time, why) = host.poll_timeout().expect("it was there a moment ago");
    assert!(time > now, "a timer is due repeatedly: {why}");
    outputs
}

fn check(host: &Host) {
    for run in host.runs() {
        let (held, _) = host.held_and_lent(run);
        assert!(held <= 2 * HELD_JOBS_MAX, "{held} jobs are held");
        let (_, bytes) = host.table(run);
        assert!(bytes <= TABLE_BYTES_MAX, "a table of {bytes} bytes");
    }
}
