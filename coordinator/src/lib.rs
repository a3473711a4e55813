//! The service where hosts meet, around the state machine [`sateen_protocol::coordinator::Coordinator`].
//!
//! [`run`] serves until shutdown. One task, the driver, owns the machine; each host's
//! websocket has a task that reads and one that sends; the HTTP API asks the driver, or reads the
//! store. A data folder keeps apps, inputs, runs and their results; a process that is killed at any
//! moment loses nothing that it has acknowledged. Standings of runs, their trees
//! and logs are saved less strictly: of these, the last moment may be lost.
#![forbid(unsafe_code)]

mod access;
mod api;
mod chronicle;
mod clock;
mod descriptors;
mod driver;
mod enrolment;
mod figures;
mod first_token;
mod host_name;
mod limits;
mod links;
mod metrics;
mod module;
mod peer;
mod protection;
mod release;
mod retention;
mod saved_id;
mod server;
mod shutdown;
mod store;
mod submitter;
mod tls;
mod token;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use sateen_protocol::coordinator::{Coordinator, CoordinatorConfig};
use sateen_protocol::limits::COORDINATOR_TABLE_BYTES_MAX;
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::runtime::{Handle, Runtime};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::time::timeout;

use access::Audit;
use api::{Api, PublicNames};
use clock::Clock;
use driver::{Driver, Known};
use enrolment::Enrolment;
use limits::{MODULES_INSPECTED_MAX, STOP_MAX};
use links::Links;
use metrics::Counters;
use server::{Gates, Proxies, Serving};
use store::{Opening, Store};

pub use api::PublicName;
#[doc(hidden)]
pub use driver::measure::measure as measure_driver;
#[doc(hidden)]
pub use driver::simulated;
pub use first_token::make_token;
pub use limits::{BLOBS_BYTES_MAX, RESULTS_BYTES_MAX, RUNS_KEPT_MAX, TREES_KEPT};
pub use protection::Protection;
pub use release::MinimumVersion;
pub use server::{TrustedProxy, listen};
pub use store::{Retention, StoreError};
pub use tls::{CertificateError, Tls, TlsSource};

/// The configuration of a coordinator.
#[derive(Debug, Clone)]
pub struct Config {
    /// Its data folder.
    pub data_dir: PathBuf,
    /// Who may use it, and how connections are encrypted.
    pub protection: Protection,
    /// Names under which it accepts requests, in addition to localhost and addresses.
    pub public_names: Vec<PublicName>,
    /// Maximum disk space for modules and inputs, in bytes; one address may use an eighth of it.
    pub blobs_bytes_max: u64,
    /// Maximum finished runs whose trees, timelines and logs are kept.
    pub trees_kept: usize,
    /// Maximum disk space for arguments and results of finished runs, in bytes; one address may use an eighth of it.
    pub results_bytes_max: u64,
    /// Which runs that are over are kept.
    pub retention: Retention,
    /// Maximum disk space for results that later runs may find.
    pub kept_bytes_max: u64,
    /// A folder whose database is lost becomes the folder of a new grid.
    pub new_grid: bool,
    /// Hosts with unknown keys wait for the operator's approval. Otherwise they take part at once.
    pub approve: bool,
    /// Hosts and clients of earlier releases are refused.
    pub minimum_version: Option<MinimumVersion>,
}

/// Why a coordinator cannot run.
#[derive(Debug, Error)]
pub enum Error {
    /// Something with its data folder.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Other machines can reach the address.
    #[error(
        "{0} can be reached from other machines, so it needs TLS and tokens: add --tls-cert FILE and --tls-key FILE, or \
         --tls-self-signed, after making the first token with `sateen-coordinator token new --scope admin`; or listen on \
         127.0.0.1. In a network where everybody is trusted, --insecure does without"
    )]
    NotLoopback(SocketAddr),
    /// There is no token with which others could be made.
    #[error(
        "requests need a token, and there is no valid admin's token, with which others are made; make one with \
         `sateen-coordinator token new --scope admin --data-dir {}`, and start again", .0.display()
    )]
    NoAdmin(PathBuf),
    /// Something with the certificate.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// A token was not made.
    #[error("{0}")]
    Token(String),
    /// The socket failed.
    #[error("the listening socket failed: {0}")]
    Socket(String),
    /// A task that must not end has ended.
    #[error("a part of the coordinator failed: {0}")]
    Broken(String),
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Self::Socket(sateen_command_line::explained(&error))
    }
}

/// A coordinator whose data folder is open. Nothing is served yet.
#[derive(Debug)]
pub struct Prepared {
    config: Config,
    store: Store,
    restored: store::Restored,
}

impl Prepared {
    /// Checks whether the address may be listened on, and somebody could use the coordinator there.
    ///
    /// # Errors
    /// When other machines could reach the address and nothing protects it, or nobody has a token although all need one.
    pub fn check(&self, address: SocketAddr) -> Result<(), Error> {
        self.config.protection.check(address)?;
        if self.config.protection.needs_tokens(address) && !self.restored.has_admin {
            return Err(Error::NoAdmin(self.config.data_dir.clone()));
        }
        Ok(())
    }

    /// Reads or makes the certificate, if there is to be one. Blocks.
    ///
    /// # Errors
    /// When there is none that can be used.
    pub fn tls(&self, address: SocketAddr) -> Result<Option<Tls>, Error> {
        let Some(source) = &self.config.protection.tls else { return Ok(None) };
        let names: Vec<String> = self.config.public_names.iter().map(ToString::to_string).collect();
        Ok(Some(Tls::open(source, &self.config.data_dir, &names, address)?))
    }
}

/// Opens the data folder. Blocks.
///
/// # Errors
/// When it is in use, of a newer version, or cannot be written.
pub fn prepare(config: Config) -> Result<Prepared, Error> {
    let (store, restored) = Store::open(
        &config.data_dir,
        Opening {
            blobs_bytes_max: config.blobs_bytes_max,
            results_bytes_max: config.results_bytes_max,
            kept_bytes_max: config.kept_bytes_max,
            new_grid: config.new_grid,
        },
    )?;
    Ok(Prepared { config, store, restored })
}

/// The runtime for everything except sockets.
struct Work(Option<Runtime>);

impl Work {
    fn new() -> std::io::Result<Self> {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().thread_name("sateen-work").enable_all().build()?;
        Ok(Self(Some(runtime)))
    }

    fn handle(&self) -> Handle {
        self.0.as_ref().map_or_else(Handle::current, |runtime| runtime.handle().clone())
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        // Waiting for a runtime within another one is not possible.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// Serves until `shutdown` is done, then closes all links with a reason, and the store. The calling
/// runtime serves the sockets, and should have few threads; all else has a runtime of its own, so that
/// no request delays hosts' frames.
///
/// # Errors
/// When other machines can reach the address, or a part breaks down.
pub async fn run(
    prepared: Prepared,
    listener: TcpListener,
    tls: Option<Tls>,
    shutdown: impl Future<Output = ()> + Send,
) -> Result<(), Error> {
    let address = listener.local_addr()?;
    prepared.check(address)?;
    let Prepared { config, mut store, restored } = prepared;
    store.results.retention = config.retention;
    let store = Arc::new(store);
    let clock = Clock::start();
    tracing::info!(
        grid = format!("{:016x}", restored.grid.0),
        data_dir = %config.data_dir.display(),
        runs = restored.runs.len(),
        restarted = restored.restarted,
        "coordinator starts"
    );
    if let Some(minimum) = &config.minimum_version {
        tracing::info!(%minimum, "hosts and clients of earlier releases are refused");
        if minimum.is_above_own() {
            tracing::warn!(%minimum, own = release::VERSION, "hosts and clients of this coordinator's own release are refused");
        }
    }
    for why in &restored.missing {
        tracing::warn!("{why}");
    }
    let machine = Coordinator::new(
        CoordinatorConfig {
            grid: restored.grid,
            secret: restored.secret,
            seed: restored.seed,
            table_bytes_max: COORDINATOR_TABLE_BYTES_MAX,
            circle: sateen_protocol::limits::CIRCLE,
            place_kept: sateen_protocol::limits::PLACE_KEPT_MIN,
            restarted: restored.restarted,
        },
        restored.runs,
        clock.now(),
    );
    let enrolment = Enrolment::new(restored.grid, config.approve, restored.host_keys);
    let enrolment = Arc::new(enrolment.accepting(config.minimum_version));
    let counters = Arc::new(Counters::default());
    let links = Arc::new(Links::new(counters, clock, descriptors::raise(), Arc::clone(&enrolment)));
    let (from_links, to_driver) = mpsc::unbounded_channel();
    let (stop, stopping) = watch::channel(false);
    let known = Known {
        names: restored.names,
        hosts: restored.hosts,
        chronicles: restored.chronicles,
        trees_kept: config.trees_kept,
        submitters: restored.submitters,
        reusing: restored.reusing,
    };
    let (driver, handle) =
        Driver::new(machine, clock, Arc::clone(&links), Arc::clone(&store), to_driver, known);
    let work = Work::new()?;
    work.handle().spawn(retention::keep(
        config.retention,
        handle.clone(),
        Arc::clone(&store),
        stopping.clone(),
    ));
    let (audit, audited) = Audit::start(Arc::clone(&store), stopping.clone());
    let mut audited = work.handle().spawn(audited);
    let guard = protection::guard(&config.protection, address, &store, audit).await?;
    let gates = Arc::new(Gates::default());
    let api = Api {
        work: work.handle(),
        grid: restored.grid,
        clock,
        store: Arc::clone(&store),
        driver: handle,
        links: Arc::clone(&links),
        from_links,
        names: Arc::new(PublicNames::new(config.public_names, address.ip(), tls.is_some())),
        shutdown: stopping.clone(),
        watching: Arc::default(),
        gates: Arc::clone(&gates),
        inspections: Arc::new(Semaphore::new(MODULES_INSPECTED_MAX)),
        results: Arc::default(),
        guard: Arc::new(guard),
        is_tls: tls.is_some(),
    };
    let acceptor = tls.as_ref().map(Tls::acceptor);
    if let Some(tls) = tls {
        work.handle().spawn(tls.keep(stopping.clone()));
    }
    let serving = Serving {
        router: api::router(api),
        tls: acceptor,
        gates,
        proxies: Arc::new(Proxies::new(config.protection.trusted_proxies)),
    };
    let serve = server::serve(listener, serving, stopping.clone());
    let mut serve = tokio::spawn(serve);
    let mut driving = work.handle().spawn(driver.run(stopping.clone()));
    let keys = work.handle().spawn(enrolment::save(Arc::clone(&enrolment), Arc::clone(&store), stopping));

    let broke = tokio::select! {
        () = shutdown => None,
        ended = &mut driving => Some(Error::Broken(format!("the driver ended: {ended:?}"))),
        ended = &mut serve => Some(Error::Broken(format!("the HTTP server ended: {ended:?}"))),
    };
    if let Some(error) = broke {
        return Err(error);
    }
    tracing::info!("coordinator is stopping");
    stop.send_replace(true);
    let saved = driving.await.unwrap_or_else(|error| {
        tracing::error!(%error, "the driver failed while stopping");
        Err(StoreError::Stopped)
    });
    // Within a time limit, links send what is queued and close in order, and requests finish.
    let _ = timeout(STOP_MAX, async {
        let _ = (&mut serve).await;
        let _ = (&mut audited).await;
        while links.count() > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    serve.abort();
    keys.abort();
    enrolment::save_changed(&enrolment, &store).await;
    saved?;
    store.checkpoint().await?;
    Ok(())
}

/// Locks a mutex, also after a panic of a thread that held it.
fn locked<T>(shared: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
