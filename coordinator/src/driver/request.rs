//! What the API asks of the driver.

use std::sync::Arc;
use std::time::Duration;

use sateen_protocol::coordinator::{CommandError, HostView};
use sateen_protocol::{RunId, RunSpec, RunState};
use thiserror::Error;
use tokio::sync::{mpsc, oneshot, watch};

use super::served::Service;
use crate::chronicle::Chronicles;
use crate::figures::Figures;
use crate::metrics::Totals;
use crate::peer::Peer;
use crate::store::StoreError;

/// A question, and where the answer goes.
#[derive(Debug)]
pub enum Request {
    /// A new run.
    Submit {
        /// Its app's name.
        app_name: String,
        /// What it is.
        spec: Box<RunSpec>,
        /// From where it comes.
        submitter: Peer,
        /// Its number, once it is saved.
        reply: oneshot::Sender<Result<RunId, StoreError>>,
    },
    /// Something about a run is to change.
    Change {
        /// Which run.
        run: RunId,
        /// What.
        action: RunAction,
        /// Answered when it is saved.
        reply: oneshot::Sender<Result<(), ChangeError>>,
    },
    /// How a run goes whose figures are not saved.
    Run(RunId, oneshot::Sender<Option<Live>>),
    /// The same for all.
    Runs(oneshot::Sender<Vec<Live>>),
    /// Who is there.
    Hosts(oneshot::Sender<Vec<HostSeen>>),
    /// Nobody wants the tree and the log of this run, which is over, any more.
    Forget(RunId, oneshot::Sender<()>),
    /// For metrics.
    Totals(oneshot::Sender<Totals>),
}

/// What people may want of a run.
#[derive(Debug, Clone, Copy)]
pub enum RunAction {
    /// Its end.
    Cancel,
    /// That it rests.
    Suspend,
    /// That it goes on.
    Resume,
}

/// Why a change was not made.
#[derive(Debug, Error)]
pub enum ChangeError {
    /// The machine refuses.
    #[error(transparent)]
    Refused(CommandError),
    /// The run is over, and that could not be saved yet; why, if that is known.
    #[error("run {run} is over, and its end is not saved yet{}", .why.as_ref().map_or_else(String::new, |why| format!(": {why}")))]
    Over {
        /// Which run.
        run: RunId,
        /// Why not.
        why: Option<String>,
    },
    /// It is done and not saved.
    #[error("it is done, but cannot be saved yet; that is tried again until it succeeds")]
    Unsaved,
}

/// A run whose figures are not saved.
#[derive(Debug)]
pub struct Live {
    /// Which.
    pub run: RunId,
    /// How far it is.
    pub state: RunState,
    /// Why nothing happens, if nothing does.
    pub waiting_for: Option<String>,
    /// How it goes, or went.
    pub figures: Figures,
    /// It is over, whether that is saved or not.
    pub is_over: bool,
}

/// A host, and what the driver knows of it.
#[derive(Debug, Clone)]
pub struct HostSeen {
    /// As the machine has it.
    pub view: HostView,
    /// When it joined, in milliseconds since 1970; none if it has gone meanwhile.
    pub since_ms: Option<u64>,
    /// What it has done, in runs that are under way and in those that have ended while it was there.
    pub service: Service,
    /// To the coordinator and back.
    pub rtt: Option<Duration>,
    /// Compared with others.
    pub speed: Option<f64>,
}

/// How the API reaches the driver.
#[derive(Debug, Clone)]
pub struct DriverHandle {
    pub(super) requests: mpsc::Sender<Request>,
    /// Changes whenever a run is over.
    pub ends: watch::Receiver<u64>,
    /// Trees and logs.
    pub chronicles: Arc<Chronicles>,
}

/// The driver does not answer: it is shutting down.
#[derive(Debug, Error)]
#[error("the coordinator is shutting down")]
pub struct Gone;

impl DriverHandle {
    /// Asks, and waits for the answer.
    pub async fn ask<T>(&self, request: impl FnOnce(oneshot::Sender<T>) -> Request) -> Result<T, Gone> {
        let (reply, answer) = oneshot::channel();
        self.requests.send(request(reply)).await.map_err(|_| Gone)?;
        answer.await.map_err(|_| Gone)
    }
}
