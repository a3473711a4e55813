//! Starting a host on a thread of its own, and its end.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use sateen_access::Credentials;
use sateen_command_line::explained;
use thiserror::Error;
use tokio::sync::mpsc;
use tracing::info;

use super::comfort::{Comfort, ComfortOptions};
use super::coordinator::Proving;
use super::{Driver, Health, Input};
use crate::grid::address::CoordinatorAddress;
use crate::grid::folder::DataFolder;
use crate::grid::identity::{HostKey, KeyError};
use crate::grid::page::{PageError, PageListen};
use crate::grid::runtime::Runtime;
use crate::grid::store::{Keeper, Opener, StoreError, open};
use crate::grid::transport::{DirectListen, ListenError};

/// How a host takes part in a grid.
pub struct Options {
    /// Its coordinator.
    pub coordinator: CoordinatorAddress,
    /// What it sends to the coordinator, and trusts of it.
    pub credentials: Credentials,
    /// Its name, for people.
    pub name: String,
    /// Its site.
    pub site: String,
    /// The address at which other hosts of its site reach it.
    pub direct: DirectListen,
    /// Its data folder.
    pub folder: DataFolder,
    /// Whether signals end the host.
    pub signals: bool,
    /// The address of its own page.
    pub page: PageListen,
    /// Maximum processor time for one run.
    pub run_work_max: Option<Duration>,
    /// What its owner allows, if that is not everything.
    pub comfort: Option<ComfortOptions>,
}

/// Why a host cannot start.
#[derive(Debug, Error)]
pub enum StartError {
    /// Its address is taken.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// Its page's address is taken.
    #[error(transparent)]
    Page(#[from] PageError),
    /// It has no key.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// This machine lacks what a host needs.
    #[error("the host cannot begin: {}", explained(.0))]
    System(#[from] io::Error),
}

/// How a host ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stopped {
    /// It was asked to leave and did.
    Left,
    /// It was asked to leave and could not notify the coordinator; the reason.
    Abandoned(String),
    /// It was asked to end at once.
    Interrupted,
    /// This machine failed.
    Failed(String),
}

/// A running host, on a thread of its own.
pub struct Handle {
    inputs: mpsc::UnboundedSender<Input>,
    thread: JoinHandle<Stopped>,
}

impl Handle {
    /// Begins to leave, like a signal; a second call ends the host at once.
    pub fn leave(&self) {
        let _ = self.inputs.send(Input::Signal);
    }

    /// Where the host is notified that its machine computes wrong.
    pub fn health(&self) -> Health {
        Health(self.inputs.clone())
    }

    /// Waits for the end.
    pub fn wait(self) -> Stopped {
        self.thread.join().unwrap_or_else(|_| {
            Stopped::Failed("the host panicked; this is a bug in Sateen, please report it".to_owned())
        })
    }
}

/// Starts a host.
///
/// # Errors
/// If its address is taken, it has no key, or threads cannot be started.
pub fn start(options: Options, runtime: Arc<dyn Runtime>) -> Result<Handle, StartError> {
    let listener = options.direct.bind(&options.coordinator)?;
    if listener.is_none() && options.direct != DirectListen::Off {
        info!("other hosts cannot reach this one directly; all goes through the coordinator");
    }
    let page = options.page.bind()?;
    let key = HostKey::of(&options.folder)?;
    let keeper = Keeper::start(opener(&options.folder))?;
    let proving = Proving::new(key, seed()?);
    let seed = seed()?;
    let (inputs, receiver) = mpsc::unbounded_channel();
    let own_inputs = inputs.clone();
    let comfort = Comfort::start(options.comfort.as_ref(), &options.folder, runtime.threads(), &inputs)?;
    let thread = std::thread::Builder::new().name("sateen-net".to_owned()).spawn(move || {
        let tokio = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
            Ok(tokio) => tokio,
            Err(error) => return Stopped::Failed(explained(&error)),
        };
        let stopped = tokio.block_on(async move {
            let driver =
                Driver::new(options, runtime, keeper, (seed, proving), (listener, page), comfort, own_inputs);
            match driver {
                Ok((driver, net_events)) => driver.drive(receiver, net_events).await,
                Err(error) => Stopped::Failed(explained(&error)),
            }
        });
        // Do not wait for a portion that is still ending.
        tokio.shutdown_background();
        stopped
    })?;
    Ok(Handle { inputs, thread })
}

fn opener(folder: &DataFolder) -> Opener {
    let unwritable = folder.unwritable().map(str::to_owned);
    let path = folder.path().join("store");
    Box::new(move || match &unwritable {
        Some(why) => Err(StoreError(why.clone())),
        None => open(&path).map(|opened| (Box::new(opened.store) as _, opened.set_aside)),
    })
}

fn seed() -> io::Result<u64> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(u64::from_le_bytes(bytes))
}
