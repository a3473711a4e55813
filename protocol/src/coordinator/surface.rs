//! What goes in and out of the coordinator's state machine, but for messages.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Account, Circle};
use crate::message::{Departure, JobNote, LogLine, WorkerTimes};
use crate::{Counts, Entry, GridId, HostId, RunEnd, RunId, RunSpec, RunState};

/// One websocket of a host, from open to close; the driver counts them and never uses a number twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub u64);

/// How a coordinator is set up.
#[derive(Debug, Clone)]
pub struct CoordinatorConfig {
    /// Its grid, from its data folder.
    pub grid: GridId,
    /// Makes the hosts' secrets; from its data folder.
    pub secret: [u8; 32],
    /// All its randomness comes from here.
    pub seed: u64,
    /// The bound on the result table of each run, in bytes.
    pub table_bytes_max: usize,
    /// How many others each host knows.
    pub circle: Circle,
    /// It ran before: hosts may come back, and are waited for.
    pub restarted: bool,
}

/// A run as it comes from the store, or from a submitter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRun {
    /// Which run.
    pub run: RunId,
    /// What it is.
    pub spec: RunSpec,
    /// How far it is; runs that are over need not be restored.
    pub state: RunState,
    /// Its saved entries.
    pub entries: Vec<Entry>,
    /// How it stood.
    pub standing: Standing,
}

/// How a run stands, for people; nothing depends on it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// Who has the root job.
    pub root_host: Option<HostId>,
    /// How often the root was lost.
    pub root_losses: u32,
    /// The counts of each host that took part.
    pub by_host: Vec<(HostId, Counts)>,
    /// Of these, of hosts that have begun to count anew: what they counted before, and what since.
    pub counted: Vec<(HostId, Counts, Counts)>,
    /// What the root reported: done, of how much.
    pub progress: Option<(u64, u64)>,
    /// For how long the run has been under way, in milliseconds, if it has a limit on that.
    pub under_way_ms: u64,
    /// Hosts that have computed something, and are gone so long that what they counted is added up.
    #[serde(skip)]
    pub long_gone: u64,
}

/// What the driver is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Messages for this host go to this link from now on, relayed frames too.
    Identified {
        /// The link.
        link: LinkId,
        /// Who is at its other end.
        host: HostId,
    },
    /// Close the link; what was sent before goes out first.
    Close {
        /// Which.
        link: LinkId,
        /// Why, for the log.
        reason: String,
    },
    /// Save a run's state, before anything that follows is sent.
    SaveState {
        /// Which run.
        run: RunId,
        /// How far it is.
        state: RunState,
    },
    /// Save how a run ended, before anything that follows is sent.
    SaveEnd {
        /// Which run.
        run: RunId,
        /// How.
        end: RunEnd,
    },
    /// Save what hosts counted of a run that is over: no more will come.
    SaveCounts {
        /// Which run.
        run: RunId,
        /// In all.
        counts: Box<Counts>,
        /// What else was known of it.
        account: Box<Account>,
    },
    /// Save these entries when convenient.
    SaveEntries {
        /// Of which run.
        run: RunId,
        /// New ones; they replace those of the same key.
        entries: Vec<Entry>,
        /// Keys of such as have become superfluous.
        superfluous: Vec<crate::JobKey>,
    },
}

/// What happened, for logs and pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A host came.
    HostJoined(HostId),
    /// A host went.
    HostGone(HostId, Departure),
    /// A host gave back what it had because it pauses. It comes back under its id, or
    /// [`HostGone`](Self::HostGone) follows.
    HostPaused(HostId),
    /// A host that had been given up came back in time, and is who it was.
    HostReturned(HostId),
    /// A host that had been given up came back as another.
    HostReborn {
        /// Who it was.
        was: HostId,
        /// Who it is.
        is: HostId,
    },
    /// A host cannot take part in a run.
    Unready(RunId, HostId, String),
    /// A run's root job was given to a host.
    RootAssigned(RunId, HostId),
    /// A run's root job was lost with its host.
    RootLost(RunId, HostId),
    /// A host gave a run's root job back.
    RootGivenBack(RunId, HostId),
    /// A run's state changed.
    RunChanged(RunId, RunState),
    /// Lines of an app's log.
    Log(RunId, HostId, Vec<LogLine>),
    /// Jobs began or ended at a host.
    Notes(RunId, HostId, Vec<JobNote>),
    /// What the workers of a host have done with their time.
    Activity {
        /// Of which run.
        run: RunId,
        /// Where.
        host: HostId,
        /// See [`ToCoordinator::Counts`](crate::message::ToCoordinator::Counts): all times of a series are sums since it began.
        series: u64,
        /// In their order.
        workers: Vec<WorkerTimes>,
    },
    /// A host reports that another broke the protocol.
    Misbehaved {
        /// Who says so.
        by: HostId,
        /// Of whom.
        host: HostId,
        /// What it did.
        reason: String,
    },
}

/// Why a command cannot be done.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CommandError {
    /// There is no such run.
    #[error("there is no run {0}")]
    NoRun(RunId),
    /// The run's state does not allow it.
    #[error("run {0} cannot be {1}: it is {2}")]
    State(RunId, &'static str, &'static str),
}

/// A host that broke the protocol. It is told why, and its link is closed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Misbehaviour {
    /// A link's first message was something else than a hello.
    #[error("it did not say hello")]
    NoHello,
    /// A second hello on one link.
    #[error("it said hello twice")]
    HelloTwice,
    /// The secret for the identity that it claims was wrong.
    #[error("it claims the identity of {0} and cannot prove it")]
    Identity(HostId),
    /// The result of a root job that it was never given.
    #[error("it sent the result of a root job that it was never given")]
    NotItsRoot,
    /// An entry that says that another host runs a job.
    #[error("it says that another host runs a job")]
    Foreign,
    /// More entries or longer texts than are allowed.
    #[error("it sent a message larger than allowed")]
    TooMuch,
    /// It announced a parcel that is too long, changed it on the way, or it was not what was announced.
    #[error("it sent a parcel that breaks the rules")]
    Parcel,
}
