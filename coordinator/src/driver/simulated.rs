//! The coordinator in a simulation: the real driver, store and API, in virtual time and without sockets.
//!
//! Links lead nowhere: another machine with the same inputs talks to the hosts. The decisions of this one show only in
//! what people see. It runs on the caller's thread, whose clocks stand still unless the caller advances them, beside
//! the store's own threads, for which the caller waits.

use std::future::ready;
use std::net::Ipv6Addr;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Request as HttpRequest, header};
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use sateen_protocol::coordinator::{Coordinator, CoordinatorConfig, LinkId, Standing, StoredRun, Submitter};
use sateen_protocol::message::ToCoordinator;
use sateen_protocol::{HostId, RunId, RunSpec, Time};
use tokio::runtime::Runtime;
use tokio::sync::{Semaphore, mpsc, watch};

use super::{Driver, DriverHandle, Known, Request, RunAction};
use crate::access::Guard;
use crate::api::{Api, PublicNames, router};
use crate::clock::{Clock, Simulation};
use crate::limits::{
    MODULES_INSPECTED_MAX, PART_EVERY, SAVE_AGAIN_EVERY, SAVE_CHRONICLES_EVERY, SAVE_ENTRIES_EVERY,
};
use crate::links::{FromLink, Links};
use crate::peer::Peer;
use crate::server::{Connection, Gates};
use crate::store::{Opening, Restored, Store, StoreError};

/// When simulations begin: the year 2033, in nanoseconds since 1970.
const EPOCH_NS: u64 = 2_000_000_000_000_000_000;
/// The driver's periodic work.
const PERIODS: [(Duration, Due); 4] = [
    (PART_EVERY, Due::Part),
    (SAVE_ENTRIES_EVERY, Due::Entries),
    (SAVE_CHRONICLES_EVERY, Due::Chronicles),
    (SAVE_AGAIN_EVERY, Due::Again),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Due {
    Part,
    Entries,
    Chronicles,
    Again,
}

/// A coordinator's process. All times are those of the simulation. Dropping it kills it.
pub struct Simulated {
    // What holds tasks of it comes last.
    driver: Driver,
    handle: DriverHandle,
    router: Router,
    store: Arc<Store>,
    connection: Arc<Connection>,
    permits: Arc<Semaphore>,
    due: [Time; PERIODS.len()],
    began: Time,
    time: Simulation,
    _stop: watch::Sender<bool>,
    runtime: Runtime,
}

/// The standings of unfinished runs in `folder`.
///
/// # Errors
/// When the folder cannot be used.
pub fn standings(folder: &Path, now: Time) -> Result<Vec<(RunId, Standing)>, StoreError> {
    follow(now);
    let (_, restored) = open(folder)?;
    Ok(restored.runs.into_iter().map(|stored| (stored.run, stored.standing)).collect())
}

/// Sets this thread's clock to the time of the simulation.
fn follow(now: Time) -> Simulation {
    let time = Simulation::default();
    time.stand_at(EPOCH_NS + now.0);
    time.follow();
    time
}

fn open(folder: &Path) -> Result<(Store, Restored), StoreError> {
    Store::open(
        folder,
        Opening {
            blobs_bytes_max: u64::MAX,
            results_bytes_max: u64::MAX,
            kept_bytes_max: u64::MAX,
            new_grid: false,
        },
    )
}

impl Simulated {
    /// Starts on the chronicles in `folder`; the caller says what the coordinator is and which runs it has.
    ///
    /// # Errors
    /// When the folder cannot be used.
    pub fn start(
        folder: &Path,
        now: Time,
        config: CoordinatorConfig,
        stored: Vec<StoredRun>,
    ) -> Result<Self, StoreError> {
        let time = follow(now);
        let broken = |error| StoreError::File { path: PathBuf::from(folder), why: error };
        let of_thread = time.clone();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .on_thread_start(move || of_thread.follow())
            .build()
            .map_err(broken)?;
        let (store, restored) = open(folder)?;
        let (store, clock) = (Arc::new(store), Clock::start());
        let links = Arc::new(Links::new(Arc::default(), clock, 0, Arc::default()));
        let (from_links, to_driver) = mpsc::unbounded_channel();
        let (stop, stopping) = watch::channel(false);
        let grid = config.grid;
        let known = Known {
            names: restored.names,
            hosts: restored.hosts,
            chronicles: restored.chronicles,
            trees_kept: crate::limits::TREES_KEPT,
            submitters: restored.submitters,
            reusing: restored.reusing,
        };
        let machine = Coordinator::new(config, stored, clock.now());
        let (mut driver, handle) =
            Driver::new(machine, clock, Arc::clone(&links), Arc::clone(&store), to_driver, known);
        let address = ([127, 0, 0, 1], 0).into();
        let api = Api {
            work: runtime.handle().clone(),
            grid,
            clock,
            store: Arc::clone(&store),
            driver: handle.clone(),
            links,
            from_links,
            names: Arc::new(PublicNames::default()),
            shutdown: stopping,
            watching: Arc::default(),
            gates: Arc::new(Gates::default()),
            inspections: Arc::new(Semaphore::new(MODULES_INSPECTED_MAX)),
            results: Arc::default(),
            guard: Arc::new(Guard::open(&store)),
            is_tls: false,
        };
        {
            let _entered = runtime.enter();
            driver.drain();
        }
        let mut simulated = Self {
            driver,
            handle,
            router: router(api),
            store,
            connection: Arc::new(Connection::new(address)),
            permits: Arc::new(Semaphore::new(1)),
            due: PERIODS.map(|(period, _)| now + period),
            began: now,
            time,
            _stop: stop,
            runtime,
        };
        simulated.save();
        Ok(simulated)
    }

    /// The machine.
    pub fn machine(&self) -> &Coordinator {
        &self.driver.machine
    }

    /// Time passes, and the driver does its periodic work.
    pub fn pass(&mut self, until: Time) {
        while let Some((which, at)) = self.next_due().filter(|(_, at)| *at <= until) {
            let (period, due) = PERIODS[which];
            self.due[which] = at + period;
            self.at(at, |driver| match due {
                Due::Part => driver.next_part(),
                Due::Entries => driver.saver.flush_entries(),
                Due::Chronicles => driver.save_standings(),
                Due::Again => driver.saver.write(),
            });
            if due == Due::Entries {
                self.wait_for_store();
            }
        }
        self.time.stand_at(EPOCH_NS + until.0);
    }

    /// Time passes, and the driver is held up.
    pub fn hold_up(&mut self, until: Time) {
        self.due.iter_mut().for_each(|due| *due = (*due).max(until));
        self.time.stand_at(EPOCH_NS + until.0);
    }

    fn next_due(&self) -> Option<(usize, Time)> {
        self.due.iter().copied().enumerate().min_by_key(|(_, at)| *at)
    }

    /// A message has come.
    pub fn message(&mut self, now: Time, link: LinkId, message: ToCoordinator) {
        let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() else { return };
        let news = FromLink::Messages { link, messages: vec![message], permit: (permit, None) };
        self.at(now, |driver| driver.take_in(news));
    }

    /// A host broke the rules.
    pub fn misbehaved(&mut self, now: Time, link: LinkId, reason: String) {
        self.at(now, |driver| driver.take_in(FromLink::Misbehaved { link, reason }));
    }

    /// A link is closed.
    pub fn closed(&mut self, now: Time, link: LinkId) {
        let reason = "the link was closed".to_owned();
        self.at(now, |driver| driver.take_in(FromLink::Closed { link, reason }));
    }

    /// Bytes came from a host at `when`.
    pub fn heard(&mut self, now: Time, when: Time, host: HostId) {
        let when = self.own(when);
        self.at(now, |driver| driver.machine.handle_heard(when, host));
    }

    /// A timer of the machine has gone off.
    pub fn timed_out(&mut self, now: Time) {
        self.at(now, |driver| {
            driver.machine.handle_timeout(driver.clock.now());
            driver.drain();
        });
    }

    /// The driver was held up.
    pub fn stalled(&mut self, now: Time) {
        self.at(now, |driver| driver.machine.handle_stall(driver.clock.now()));
    }

    /// Submits a run. Returns its number.
    pub fn submit(&mut self, now: Time, submitter: Submitter, spec: RunSpec) -> Option<RunId> {
        let handle = self.handle.clone();
        let submitter = Peer::of(Ipv6Addr::from_bits(submitter.0).into());
        let (app_name, spec, owner) = ("tree".to_owned(), Box::new(spec), None);
        let ask = |reply| Request::Submit { app_name, spec, submitter, owner, reply };
        self.answered(now, async move { handle.ask(ask).await })?.ok()
    }

    /// Cancels a run, if that is possible.
    pub fn cancel(&mut self, now: Time, run: RunId) {
        self.change(now, run, RunAction::Cancel);
    }

    /// Suspends a run, if that is possible.
    pub fn suspend(&mut self, now: Time, run: RunId) {
        self.change(now, run, RunAction::Suspend);
    }

    /// Resumes a run, if that is possible.
    pub fn resume(&mut self, now: Time, run: RunId) {
        self.change(now, run, RunAction::Resume);
    }

    fn change(&mut self, now: Time, run: RunId, action: RunAction) {
        let handle = self.handle.clone();
        let ask = move |reply| Request::Change { run, action, reply };
        // Hosts learn from the other machine whether it was done.
        drop(self.answered(now, async move { handle.ask(ask).await }));
    }

    /// The API's answer to GET: status and body.
    pub fn get(&mut self, now: Time, path: &str) -> Option<(u16, String)> {
        let request = HttpRequest::get(path)
            .header(header::HOST, "localhost")
            .extension(Arc::clone(&self.connection))
            .body(Body::empty())
            .ok()?;
        let service = TowerToHyperService::new(self.router.clone());
        let answer = async move {
            let response = service.call(request).await.map_err(|_| super::Gone)?;
            let status = response.status().as_u16();
            let body = to_bytes(response.into_body(), usize::MAX).await.map_err(|_| super::Gone)?;
            Ok::<_, super::Gone>((status, String::from_utf8_lossy(&body).into_owned()))
        };
        self.answered(now, answer)
    }

    /// Makes the driver do something, and saves the effects.
    fn at(&mut self, now: Time, act: impl FnOnce(&mut Driver)) {
        self.time.stand_at(EPOCH_NS + now.0);
        let _entered = self.runtime.enter();
        act(&mut self.driver);
        Self::save_all(&self.runtime, &mut self.driver);
        while self.driver.saver.is_saving_standings() {
            self.wait_for_store();
        }
    }

    fn save(&mut self) {
        let _entered = self.runtime.enter();
        Self::save_all(&self.runtime, &mut self.driver);
    }

    fn save_all(runtime: &Runtime, driver: &mut Driver) {
        while driver.saver.is_writing() {
            let written = runtime.block_on(driver.saver.written());
            driver.written(written);
        }
    }

    /// Waits until all changes are saved: the store handles them in order.
    fn wait_for_store(&self) {
        let store = Arc::clone(&self.store);
        let is_done = async { tokio::spawn(async move { store.write(|_| Ok(())).await }).await };
        // Changes that cannot be saved are tried again.
        drop(self.runtime.block_on(is_done));
    }

    /// Runs the driver until there is an answer. No time passes.
    fn answered<T>(&mut self, now: Time, answer: impl Future<Output = Result<T, super::Gone>>) -> Option<T> {
        self.time.stand_at(EPOCH_NS + now.0);
        let _entered = self.runtime.enter();
        let driver = &mut self.driver;
        let answered = self.runtime.block_on(async {
            let mut answer = pin!(answer);
            loop {
                tokio::select! {
                    answer = &mut answer => break answer,
                    Some(request) = driver.inbox.requests.recv() => driver.request(request),
                    Some(submitted) = driver.inbox.submitted.recv() => driver.submitted(submitted),
                    written = driver.saver.written() => driver.written(written),
                    () = ready(()), if !driver.scans.is_empty() => driver.next_scan_part(),
                }
            }
        });
        Self::save_all(&self.runtime, &mut self.driver);
        answered.ok()
    }

    /// A moment of the machine's clock, which starts with the process.
    fn own(&self, moment: Time) -> Time {
        Time(moment.0.saturating_sub(self.began.0))
    }
}
