//! Requests of the API to the driver.

use std::sync::Arc;
use std::time::Duration;

use sateen_protocol::coordinator::{CommandError, HostView};
use sateen_protocol::{HostId, RunId, RunSpec, RunState};
use thiserror::Error;
use tokio::sync::{mpsc, oneshot, watch};

use super::names::Names;
use super::served::Service;
use crate::chronicle::{Chronicles, Waits};
use crate::figures::Figures;
use crate::metrics::Totals;
use crate::peer::Peer;
use crate::store::StoreError;
use crate::token::TokenId;

/// A request, and where the answer goes.
#[derive(Debug)]
pub enum Request {
    /// A new run.
    Submit {
        /// Its app's name.
        app_name: String,
        /// The run.
        spec: Box<RunSpec>,
        /// The submitter's address.
        submitter: Peer,
        /// The submitter's token, if one was needed.
        owner: Option<TokenId>,
        /// Its number, once it is saved.
        reply: oneshot::Sender<Result<RunId, StoreError>>,
    },
    /// A command for a run.
    Change {
        /// Which run.
        run: RunId,
        /// The command.
        action: RunAction,
        /// Answered when the change is saved.
        reply: oneshot::Sender<Result<(), ChangeError>>,
    },
    /// The progress of a run whose figures are not saved.
    Run(RunId, oneshot::Sender<Option<Live>>),
    /// The same for all such runs.
    Runs(oneshot::Sender<Vec<Live>>),
    /// The run whose results are checked in this one, or the run itself.
    Checked(RunId, oneshot::Sender<RunId>),
    /// The connected hosts.
    Hosts(oneshot::Sender<Vec<HostSeen>>),
    /// The chronicle of this run, which is over, is to be deleted.
    Forget(RunId, oneshot::Sender<()>),
    /// For metrics.
    Totals(oneshot::Sender<Totals>),
}

/// A command for a run.
#[derive(Debug, Clone, Copy)]
pub enum RunAction {
    /// Cancels it.
    Cancel,
    /// Suspends it.
    Suspend,
    /// Resumes it.
    Resume,
}

/// Why a command failed.
#[derive(Debug, Error)]
pub enum ChangeError {
    /// The machine refused it.
    #[error(transparent)]
    Refused(CommandError),
    /// The run is over, and its end could not be saved yet; the reason, if known.
    #[error("run {run} is over, and its end is not saved yet{}", .why.as_ref().map_or_else(String::new, |why| format!(": {why}")))]
    Over {
        /// Which run.
        run: RunId,
        /// The reason.
        why: Option<String>,
    },
    /// The change was made and is not saved.
    #[error("it is done, but cannot be saved yet; saving is retried until it succeeds")]
    Unsaved,
}

/// A run whose figures are not saved.
#[derive(Debug)]
pub struct Live {
    /// The run.
    pub run: RunId,
    /// Its state.
    pub state: RunState,
    /// Why nothing happens, if nothing does.
    pub waits: Option<Waits>,
    /// The part of each of its hosts that it is due, while it is running and all runs have work enough.
    pub share: Option<f64>,
    /// Its figures so far, or final ones.
    pub figures: Figures,
    /// It is over, and its end may not be saved yet.
    pub is_over: bool,
    /// When this was so, in milliseconds since 1970: of a run whose end is not saved yet, when it ended.
    pub at_ms: u64,
}

/// A host, with what the driver knows about it.
#[derive(Debug, Clone)]
pub struct HostSeen {
    /// The machine's view of it.
    pub view: HostView,
    /// When it joined, in milliseconds since 1970; none if it has gone meanwhile.
    pub since_ms: Option<u64>,
    /// What it has done, in runs that are under way and in those that ended while it was connected.
    pub service: Service,
    /// Round trip to the coordinator.
    pub rtt: Option<Duration>,
    /// Its speed relative to other hosts.
    pub speed: Option<f64>,
    /// Its workers that compute now, if that is known.
    pub busy: Option<u32>,
    /// For how long nothing has come from it, if that is long.
    pub silence: Option<Duration>,
    /// Runs are under way.
    pub are_runs_active: bool,
}

/// The API's handle to the driver.
#[derive(Debug, Clone)]
pub struct DriverHandle {
    pub(super) requests: mpsc::Sender<Request>,
    /// Changes whenever a run ends.
    pub ends: watch::Receiver<u64>,
    /// Trees and logs.
    pub chronicles: Arc<Chronicles>,
    /// The names of hosts, and which of them are in the grid.
    pub(super) names: Names,
}

/// The driver does not answer: it is shutting down.
#[derive(Debug, Error)]
#[error("the coordinator is shutting down")]
pub struct Gone;

impl DriverHandle {
    /// Sends a request, and waits for the answer.
    pub async fn ask<T>(&self, request: impl FnOnce(oneshot::Sender<T>) -> Request) -> Result<T, Gone> {
        let (reply, answer) = oneshot::channel();
        self.requests.send(request(reply)).await.map_err(|_| Gone)?;
        answer.await.map_err(|_| Gone)
    }

    /// Whether a host is in the grid.
    pub fn is_there(&self, host: HostId) -> bool {
        self.names.is_there(host)
    }

    /// When a host that has no link lost it, in milliseconds since 1970.
    pub fn away_since_ms(&self, host: HostId) -> Option<u64> {
        self.names.away_since_ms(host)
    }
}
