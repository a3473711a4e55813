//! Inputs and outputs of the coordinator's state machine, except messages.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Account, Circle};
use crate::message::{Departure, JobNote, LogLine, WorkerTimes};
use crate::{Counts, Entry, GridId, HostId, PublicKey, RunEnd, RunId, RunSpec, RunState};

/// One websocket of a host, from open to close; the driver numbers them and never reuses a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub u64);

/// Who submitted a run, as the driver numbers them: a token, or an address. All runs of unknown submitters are of the default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Submitter(pub u128);

/// The configuration of a coordinator.
#[derive(Debug, Clone)]
pub struct CoordinatorConfig {
    /// Its grid, from its data folder.
    pub grid: GridId,
    /// Generates the hosts' secrets; from its data folder.
    pub secret: [u8; 32],
    /// The seed of all its randomness.
    pub seed: u64,
    /// The bound on the result table of each run, in bytes.
    pub table_bytes_max: usize,
    /// The number of other hosts that each host knows.
    pub circle: Circle,
    /// Minimum time for which a run is given to hosts before it gives its place to a submitter that has none.
    pub place_kept: Duration,
    /// The coordinator ran before: it waits for hosts to come back.
    pub restarted: bool,
}

impl CoordinatorConfig {
    /// With what an audit of a run draws units. Derived from the secret, as hosts learn numbers that were drawn with the other
    /// seed, and must not foresee what is drawn.
    pub(super) fn audit_seed(&self, run: RunId) -> u64 {
        let mut hasher = blake3::Hasher::new_keyed(&self.secret);
        hasher.update(b"audit").update(&self.seed.to_le_bytes()).update(&run.0.to_le_bytes());
        let mut seed = [0; 8];
        seed.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
        u64::from_le_bytes(seed)
    }

    /// The number by which hosts know a submitter. Derived with the secret, as hosts must not learn anything else about
    /// submitters.
    pub(super) fn submitter_for_hosts(&self, submitter: Submitter) -> u64 {
        let mut hasher = blake3::Hasher::new_keyed(&self.secret);
        hasher.update(b"submitter").update(&submitter.0.to_le_bytes());
        let mut number = [0; 8];
        number.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
        u64::from_le_bytes(number)
    }
}

/// A run from the store, or from a submitter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRun {
    /// The run.
    pub run: RunId,
    /// Who submitted it.
    pub submitter: Submitter,
    /// What it is.
    pub spec: RunSpec,
    /// Its state; runs that are over need not be restored.
    pub state: RunState,
    /// Its saved entries.
    pub entries: Vec<Entry>,
    /// Its saved standing.
    pub standing: Standing,
}

/// A run's standing, for people; the protocol does not depend on it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// The host of the root job.
    pub root_host: Option<HostId>,
    /// How often the root was lost.
    pub root_losses: u32,
    /// The counts of each host that took part.
    pub by_host: Vec<(HostId, Counts)>,
    /// For hosts that have begun to count anew: the counts before, and those since.
    pub counted: Vec<(HostId, Counts, Counts)>,
    /// The progress that the root reported: done, total.
    pub progress: Option<(u64, u64)>,
    /// For how long the run has been under way, in milliseconds, if it has a limit on that.
    pub under_way_ms: u64,
    /// Hosts that have computed part of it, and went so long ago that their counts are added up.
    #[serde(skip)]
    pub long_gone: u64,
    /// Processor time of checks of its results, in nanoseconds.
    #[serde(skip)]
    pub checks_work_ns: u64,
}

/// Commands for the driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Messages for this host go to this link from now on, relayed frames too.
    Identified {
        /// The link.
        link: LinkId,
        /// The host.
        host: HostId,
    },
    /// Close the link; earlier messages are sent first.
    Close {
        /// The link.
        link: LinkId,
        /// The reason, for the log.
        reason: String,
    },
    /// Save a run's state, before anything that follows is sent.
    SaveState {
        /// The run.
        run: RunId,
        /// The state.
        state: RunState,
    },
    /// Save a run's end, before anything that follows is sent.
    SaveEnd {
        /// The run.
        run: RunId,
        /// The end.
        end: RunEnd,
    },
    /// Save the final counts of a run that is over.
    SaveCounts {
        /// The run.
        run: RunId,
        /// The sum.
        counts: Box<Counts>,
        /// Other facts about its end.
        account: Box<Account>,
    },
    /// Save these entries when convenient.
    SaveEntries {
        /// The run.
        run: RunId,
        /// New entries; they replace those of the same key.
        entries: Vec<Entry>,
        /// Keys of entries that have become superfluous.
        superfluous: Vec<crate::JobKey>,
    },
}

/// Events, for logs and pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A host joined.
    HostJoined(HostId),
    /// A host left or was given up.
    HostGone(HostId, Departure),
    /// A host gave its jobs back because it pauses. It comes back under its id, or
    /// [`HostGone`](Self::HostGone) follows.
    HostPaused(HostId),
    /// A host that had been given up came back in time, under its id.
    HostReturned(HostId),
    /// A host that had been given up came back under another id.
    HostReborn {
        /// Its former id.
        was: HostId,
        /// Its present id.
        is: HostId,
    },
    /// A host cannot take part in a run.
    Unready(RunId, HostId, String),
    /// A run's root job was given to a host.
    RootAssigned(RunId, HostId),
    /// The host that had a run's root job before is back and keeps it: the one to which it was given meanwhile drops it.
    RootKept {
        /// The run.
        run: RunId,
        /// The host that is back.
        host: HostId,
        /// The host that drops it.
        dropped_by: HostId,
    },
    /// A run's root job was lost with its host.
    RootLost(RunId, HostId),
    /// A host gave a run's root job back.
    RootGivenBack(RunId, HostId),
    /// A run's state changed.
    RunChanged(RunId, RunState),
    /// A run is suspended and then waits for another turn: its place goes to another submitter, which had none.
    GaveWay(RunId),
    /// Lines of an app's log.
    Log(RunId, HostId, Vec<LogLine>),
    /// Jobs began or ended at a host.
    Notes(RunId, HostId, Vec<JobNote>),
    /// What the workers of a host have done over time.
    Activity {
        /// The run.
        run: RunId,
        /// The host.
        host: HostId,
        /// See [`ToCoordinator::Counts`](crate::message::ToCoordinator::Counts): all times of a series are sums since it began.
        series: u64,
        /// In order of the workers.
        workers: Vec<WorkerTimes>,
    },
    /// A host reports that another broke the protocol.
    Misbehaved {
        /// The accuser.
        by: HostId,
        /// The accused.
        host: HostId,
        /// What it did.
        reason: String,
    },
}

/// Why a command failed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CommandError {
    /// There is no such run.
    #[error("there is no run {0}")]
    NoRun(RunId),
    /// The run's state does not allow it.
    #[error("run {0} cannot be {1}: it is {2}")]
    State(RunId, &'static str, &'static str),
}

/// A violation of the protocol. The host is sent the reason, and its link is closed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Misbehaviour {
    /// A link's first message was not a hello.
    #[error("it did not say hello")]
    NoHello,
    /// A second hello on one link.
    #[error("it said hello twice")]
    HelloTwice,
    /// The secret for the claimed identity was wrong.
    #[error("it claims the identity of {0} and cannot prove it")]
    Identity(HostId),
    /// A host came back with another key than it had. No host changes its key while it runs.
    #[error(
        "{host} has the key {} and came back with {}: an id belongs to the key that first used it; start the host again",
        .known.short(),
        .new.short()
    )]
    KeyChanged {
        /// The host.
        host: HostId,
        /// Its key.
        known: PublicKey,
        /// The key in its hello.
        new: PublicKey,
    },
    /// The result of a root job that was never assigned to it.
    #[error("it sent the result of a root job that was never assigned to it")]
    NotItsRoot,
    /// An entry that says that another host runs a job.
    #[error("it says that another host runs a job")]
    Foreign,
    /// More entries or longer texts than are allowed.
    #[error("it sent a message with longer lists or texts than are allowed")]
    TooMuch,
    /// It announced a parcel that is too long, changed the parcel on the way, or sent other contents than it announced.
    #[error("it sent a parcel that breaks the rules")]
    Parcel,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::{CIRCLE, PLACE_KEPT_MIN};

    #[test]
    fn hosts_know_a_submitter_by_a_number_that_depends_on_the_grid() {
        let of = |secret, submitter| {
            let config = CoordinatorConfig {
                grid: GridId(1),
                secret: [secret; 32],
                seed: 1,
                table_bytes_max: 1,
                circle: CIRCLE,
                place_kept: PLACE_KEPT_MIN,
                restarted: false,
            };
            config.submitter_for_hosts(Submitter(submitter))
        };
        assert_eq!(of(7, 1), of(7, 1));
        let all = [of(7, 1), of(7, 2), of(7, 1 << 127), of(8, 1)];
        assert_eq!(std::collections::BTreeSet::from(all).len(), all.len());
    }
}
