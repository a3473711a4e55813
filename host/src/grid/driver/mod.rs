//! The loop that drives the protocol's state machine: pass it one event, carry out all its commands, wait.
//!
//! A thief waits for its answer some tens of microseconds, most of which the system takes to wake threads. So
//! all of this is one thread. It takes all waiting events in one go, and sends all messages for one receiver in
//! that go in one frame.

mod caps;
mod control;
mod coordinator;
mod direct;
mod notices;
mod peers;
mod probe;
mod routes;
mod runs;
mod steals;
mod strangers;
mod tell;

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use sateen_command_line::explained;
use sateen_protocol::host::{Command, FinalCounts, Host, HostConfig, Notice};
use sateen_protocol::message::HostReport;
use sateen_protocol::{Entry, HostId, Random, RunId, Time};
use thiserror::Error;
use tokio::sync::mpsc;
use tracing::{error, info, warn};

use super::address::CoordinatorAddress;
use super::clock::{Alarm, Clock};
use super::contribution::Contribution;
use super::control::{Incoming, MayUse};
use super::folder::DataFolder;
use super::load::{BlobCache, Fetcher, Loader};
use super::page::{Page, PageError, PageListen};
use super::runtime::{RunningPortion, Runtime};
use super::store::{Keeper, Opener, StoreError, open};
use super::transport::{
    DirectListen, LinkNumber, ListenError, Listener, NetEvent, Stranger, Way, accept_all,
};

/// Maximum frames that wait for the driver; the senders of more wait at their sockets.
const NET_EVENTS_MAX: usize = 1024;
/// Maximum events taken in one go before frames are sent.
const BATCH_MAX: usize = 64;
/// Interval of checks that need not be exact.
const TICK: Duration = Duration::from_millis(250);
/// At the end, maximum time for messages in transit to the coordinator.
const CLOSE_MAX: Duration = Duration::from_millis(400);
/// After that, maximum time for entries that are not yet on the disk.
const END_MAX: Duration = Duration::from_millis(400);
/// Finally, maximum time for answers to users.
const ANSWERS_MAX: Duration = Duration::from_millis(200);

/// How a host takes part in a grid.
pub struct Options {
    /// Its coordinator.
    pub coordinator: CoordinatorAddress,
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

/// Events of this machine; those of others are [`NetEvent`]s.
enum Input {
    Notice { run: RunId, generation: u64, notice: Notice },
    Loaded { run: RunId, generation: u64, loaded: Result<(Box<dyn RunningPortion>, Vec<Entry>), String> },
    Stopped { run: RunId, contributed: (u64, u64), last: Box<FinalCounts> },
    Asked(Incoming),
    Signal,
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
/// If its address is taken, or threads cannot be started.
pub fn start(options: Options, runtime: Arc<dyn Runtime>) -> Result<Handle, StartError> {
    let listener = options.direct.bind(&options.coordinator)?;
    if listener.is_none() && options.direct != DirectListen::Off {
        info!("other hosts cannot reach this one directly; all goes through the coordinator");
    }
    let page = options.page.bind()?;
    let keeper = Keeper::start(opener(&options.folder))?;
    let seed = seed()?;
    let (inputs, receiver) = mpsc::unbounded_channel();
    let own_inputs = inputs.clone();
    let thread = std::thread::Builder::new().name("sateen-net".to_owned()).spawn(move || {
        let tokio = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
            Ok(tokio) => tokio,
            Err(error) => return Stopped::Failed(explained(&error)),
        };
        let stopped = tokio.block_on(async move {
            let driver = Driver::new(options, runtime, keeper, seed, (listener, page), own_inputs);
            match driver {
                Ok(driver) => driver.drive(receiver).await,
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

struct Driver {
    options: Options,
    machine: Host,
    clock: Clock,
    random: Random,
    loader: Arc<Loader>,
    keeper: Arc<Keeper>,
    threads: usize,
    may_use: MayUse,
    contribution: Contribution,
    caps: caps::Caps,
    page: Option<Page>,
    reported_direct: Option<String>,
    way: Way,
    coordinator: coordinator::CoordinatorSide,
    peers: BTreeMap<HostId, routes::Route>,
    /// The peers of the links.
    peer_links: BTreeMap<LinkNumber, HostId>,
    watched: direct::Watched,
    /// Links dialled by hosts that the coordinator has not announced yet.
    strangers: Vec<(Stranger, Time)>,
    /// Peers to which messages must be sent.
    written: Vec<HostId>,
    next_link: u64,
    runs: BTreeMap<RunId, runs::PortionState>,
    next_generation: u64,
    /// Commands of the state machine that are not yet carried out.
    commands: VecDeque<Command>,
    /// Notices in transit to the driver.
    notices: Arc<notices::Notices>,
    steals: steals::Latencies,
    /// Jobs lost since the last tick, by run: a crash may lose hundreds.
    lost: BTreeMap<RunId, usize>,
    /// Whether a host has crashed since there were last no such jobs.
    is_after_a_crash: bool,
    pause_until: Option<Time>,
    pausing: Vec<control::Pausing>,
    leaving: Option<control::Leaving>,
    next_tick: Time,
    ended: Option<Stopped>,
    inputs: mpsc::UnboundedSender<Input>,
    net: mpsc::Sender<NetEvent>,
    net_events: Option<mpsc::Receiver<NetEvent>>,
    alive: Option<(mpsc::Sender<()>, mpsc::Receiver<()>)>,
}

impl Driver {
    fn new(
        options: Options,
        runtime: Arc<dyn Runtime>,
        keeper: Keeper,
        seed: u64,
        (listener, page): (Option<Listener>, Option<TcpListener>),
        inputs: mpsc::UnboundedSender<Input>,
    ) -> io::Result<Self> {
        let clock = Clock::start();
        let (net, net_events) = mpsc::channel(NET_EVENTS_MAX);
        let threads = runtime.threads();
        let reported_direct = listener.as_ref().map(|listener| listener.reported.to_string());
        let report = HostReport {
            name: options.name.clone(),
            site: options.site.clone(),
            threads: u32::try_from(threads).unwrap_or(u32::MAX),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            direct: reported_direct.clone(),
        };
        let config = HostConfig { report, seed, table_bytes_max: runtime.table_bytes_max() };
        let may_use = runtime.may_use();
        let contribution = Contribution::read(options.folder.part("contributed.json"));
        let loader = Loader {
            fetcher: Fetcher::new(options.coordinator.clone()),
            blobs: Arc::new(BlobCache::new(options.folder.part("blobs"))),
            runtime,
            cache: None,
        };
        if let Some(listener) = listener {
            tokio::spawn(accept_all(listener, net.clone()));
        }
        let mut driver = Self {
            machine: Host::new(config, clock.now()),
            clock,
            random: Random::new(seed.rotate_left(32)),
            loader: Arc::new(loader),
            keeper: Arc::new(keeper),
            threads,
            may_use,
            contribution,
            caps: caps::Caps::new(options.run_work_max),
            page: None,
            reported_direct,
            way: Way::to(&options.coordinator),
            coordinator: coordinator::CoordinatorSide::default(),
            peers: BTreeMap::new(),
            peer_links: BTreeMap::new(),
            watched: direct::Watched::default(),
            strangers: Vec::new(),
            written: Vec::new(),
            next_link: 0,
            runs: BTreeMap::new(),
            next_generation: 0,
            commands: VecDeque::new(),
            notices: Arc::default(),
            steals: steals::Latencies::default(),
            lost: BTreeMap::new(),
            is_after_a_crash: false,
            pause_until: None,
            pausing: Vec::new(),
            leaving: None,
            next_tick: clock.now(),
            ended: None,
            inputs,
            net,
            net_events: Some(net_events),
            alive: Some(mpsc::channel(1)),
            options,
        };
        driver.listen_for_users();
        driver.serve_page(page);
        Ok(driver)
    }

    async fn drive(mut self, mut inputs: mpsc::UnboundedReceiver<Input>) -> Stopped {
        let mut alarm = match Alarm::new(self.clock) {
            Ok(alarm) => alarm,
            Err(error) => {
                return Stopped::Failed(format!("a timer cannot be created: {}", explained(&error)));
            }
        };
        let Some(mut net_events) = self.net_events.take() else {
            return Stopped::Failed("it was started twice".to_owned());
        };
        self.connect();
        let stopped = loop {
            self.send_all();
            self.send_bulk();
            if let Some(stopped) = self.ended.take() {
                break stopped;
            }
            let deadline = self.machine.poll_timeout().map_or(Time::NEVER, |(at, _)| at);
            let deadline = deadline.min(self.next_tick).min(self.watched.next());
            tokio::select! {
                biased;
                Some(event) = net_events.recv() => self.on_net(event),
                Some(input) = inputs.recv() => self.on_input(input),
                () = alarm.wait_until(deadline) => {}
            }
            for _ in 0..BATCH_MAX {
                let mut is_quiet = true;
                if let Ok(event) = net_events.try_recv() {
                    self.on_net(event);
                    is_quiet = false;
                }
                if let Ok(input) = inputs.try_recv() {
                    self.on_input(input);
                    is_quiet = false;
                }
                if is_quiet || self.ended.is_some() {
                    break;
                }
            }
            self.on_time();
        };
        self.end(stopped).await
    }

    fn on_net(&mut self, event: NetEvent) {
        match event {
            NetEvent::CoordinatorOpened(socket) => self.on_coordinator_opened(socket),
            NetEvent::CoordinatorUnreachable(why) => self.on_coordinator_unreachable(why),
            NetEvent::Frame(link, frame) if self.coordinator.is_link(link) => {
                self.on_coordinator_frame(&frame);
            }
            NetEvent::Frame(link, frame) => self.on_direct_frame(link, &frame),
            // Chunks are sent after every event.
            NetEvent::Room => {}
            NetEvent::Closed(link, closed) if self.coordinator.is_link(link) => {
                self.on_coordinator_closed(&closed);
            }
            NetEvent::Closed(link, closed) => self.on_direct_closed(link, closed),
            NetEvent::Hello(stranger) => self.on_stranger(stranger),
            NetEvent::Dialled(peer, socket) => self.on_dialled(peer, socket),
            NetEvent::DialFailed(peer, why) => self.on_dial_failed(peer, &why),
        }
    }

    fn on_input(&mut self, input: Input) {
        match input {
            Input::Notice { run, generation, notice } => self.on_notice(run, generation, notice),
            Input::Loaded { run, generation, loaded } => self.on_loaded(run, generation, loaded),
            Input::Stopped { run, contributed, last } => self.on_stopped(run, contributed, *last),
            Input::Asked((request, answers)) => self.on_asked(&request, answers),
            Input::Signal => self.on_signal(),
        }
    }

    fn on_time(&mut self) {
        let now = self.clock.now();
        if self.machine.poll_timeout().is_some_and(|(at, _)| at <= now) {
            self.tell(Host::handle_timeout);
        }
        if now >= self.watched.next() {
            self.look_at_links(now);
        }
        if now >= self.next_tick {
            self.next_tick = now + TICK;
            self.tick(now);
        }
    }

    fn tick(&mut self, now: Time) {
        self.count();
        self.count_undelivered();
        self.listen_for_silence(now);
        self.look_at_routes(now);
        self.bound_all_waiting();
        self.repeat_lost();
        self.look_at_strangers(now);
        self.look_at_users(now);
        self.contribution.save_now_and_then(now);
        let lost = std::mem::take(&mut self.lost);
        for (run, jobs) in &lost {
            if self.is_after_a_crash {
                warn!(run = run.0, jobs, "a host crashed: jobs that it had are looked up, adopted or redone");
            } else {
                info!(run = run.0, jobs, "a host left: jobs that it had are looked up, adopted or redone");
            }
        }
        self.is_after_a_crash &= !lost.is_empty();
    }

    async fn end(mut self, stopped: Stopped) -> Stopped {
        match &stopped {
            Stopped::Left => info!("left the grid"),
            Stopped::Abandoned(why) => warn!(why, "exiting without notifying the coordinator"),
            Stopped::Interrupted => warn!("ends at once"),
            Stopped::Failed(why) => error!(why, "the host ends"),
        }
        if let Some(link) = self.coordinator.take_link() {
            link.close(CLOSE_MAX).await;
        }
        for run in self.runs.keys().copied().collect::<Vec<_>>() {
            self.contribute(run);
        }
        self.contribution.save();
        for run in std::mem::take(&mut self.runs).into_values() {
            run.stop();
        }
        let keeper = self.keeper.clone();
        let flush = tokio::task::spawn_blocking(move || keeper.flush());
        let _ = tokio::time::timeout(END_MAX, flush).await;
        self.tell_those_who_wait(&stopped);
        if let Some((alive, mut gone)) = self.alive.take() {
            drop(alive);
            let _ = tokio::time::timeout(ANSWERS_MAX, gone.recv()).await;
        }
        stopped
    }

    fn new_link(&mut self) -> LinkNumber {
        self.next_link += 1;
        LinkNumber(self.next_link)
    }
}
