//! The loop that drives the protocol's state machine: pass it one event, carry out all its commands, wait.
//!
//! A thief waits for its answer some tens of microseconds, most of which the system takes to wake threads. So
//! all of this is one thread. It takes many waiting events in one go, and then sends together all messages for one
//! receiver.

mod breaks;
mod busy;
mod caps;
mod comfort;
mod control;
mod coordinator;
mod direct;
mod health;
mod losses;
mod notices;
mod places;
mod reread;
mod runs;
mod sockets;
mod start;
mod steals;
mod tell;

use std::collections::VecDeque;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use sateen_comfort::governor::Change;
use sateen_command_line::explained;
use sateen_protocol::host::{Command, FinalCounts, Host, HostConfig, Notice};
use sateen_protocol::message::HostReport;
use sateen_protocol::{Random, RunId, Time};
use tokio::sync::mpsc;
use tracing::{error, info, warn};

use super::clock::{Alarm, Clock};
use super::contribution::Contribution;
use super::control::Incoming;
use super::load::{BlobCache, Fetcher, Loader};
use super::runtime::Runtime;
use super::store::Keeper;
use super::transport::{Listener, NetEvent, Way, accept_all};
use comfort::Comfort;
pub use comfort::ComfortOptions;
use control::Users;
use coordinator::{CoordinatorSide, Proving};
use direct::Direct;
pub use health::Health;
use losses::Losses;
pub use reread::Reread;
use runs::{Loaded, Runs};
use sockets::Sockets;
pub use start::{Handle, Options, StartError, Stopped, start};

/// Maximum rounds before frames are sent; each takes at most one event of the network and one of this machine.
const BATCH_MAX: usize = 64;
/// How long this thread stays awake for the answer to a steal request. A processor that sleeps takes as long as the answer to
/// wake, and one of this machine's has nothing to do meanwhile.
const AWAKE_MAX: Duration = Duration::from_micros(300);
/// Interval of checks that need not be exact.
const TICK: Duration = Duration::from_millis(250);
/// The same while nothing is under way that needs them sooner, so that the processor of an idle machine can sleep.
const TICK_IDLE: Duration = Duration::from_secs(1);
/// At the end, maximum time for messages in transit to the coordinator.
const CLOSE_MAX: Duration = Duration::from_millis(400);
/// After that, maximum time for entries that are not yet on the disk.
const END_MAX: Duration = Duration::from_millis(400);

/// Events of this machine; those of others are [`NetEvent`]s.
enum Input {
    Notice {
        run: RunId,
        generation: u64,
        notice: Notice,
    },
    Loaded {
        run: RunId,
        generation: u64,
        loaded: Result<Loaded, String>,
    },
    Stopped {
        run: RunId,
        contributed: (u64, u64),
        last: Box<FinalCounts>,
    },
    Asked(Incoming),
    Signal,
    /// This machine computes wrong; the reason.
    Unfit(String),
    Comfort(Box<Change>),
}

struct Driver {
    options: Options,
    machine: Host,
    clock: Clock,
    loader: Arc<Loader>,
    keeper: Arc<Keeper>,
    coordinator: CoordinatorSide,
    direct: Direct,
    sockets: Sockets,
    runs: Runs,
    /// Commands of the state machine that are not yet carried out.
    commands: VecDeque<Command>,
    losses: Losses,
    users: Users,
    next_tick: Time,
    ended: Option<Stopped>,
    inputs: mpsc::UnboundedSender<Input>,
}

impl Driver {
    /// The driver, and where it hears what its sockets say.
    fn new(
        options: Options,
        runtime: Arc<dyn Runtime>,
        keeper: Keeper,
        (seed, proving): (u64, Proving),
        (listener, page): (Option<Listener>, Option<TcpListener>),
        comfort: Comfort,
        inputs: mpsc::UnboundedSender<Input>,
    ) -> io::Result<(Self, mpsc::Receiver<NetEvent>)> {
        let clock = Clock::start();
        let (sockets, net_events) = Sockets::new();
        let threads = runtime.threads();
        let reported = listener.as_ref().map(|listener| listener.reported.to_string());
        let report = HostReport {
            name: options.name.clone(),
            site: options.site.clone(),
            threads: u32::try_from(threads).unwrap_or(u32::MAX),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            direct: reported.clone(),
            key: proving.key.identity.public(),
        };
        let config = HostConfig { report, seed, table_bytes_max: runtime.table_bytes_max() };
        let may_use = runtime.may_use();
        let contribution = Contribution::read(options.folder.part("contributed.json"));
        let disk_bytes = options.comfort.as_ref().and_then(|comfort| comfort.preferences.limits.disk_bytes);
        let loader = Loader {
            fetcher: Fetcher::new(options.coordinator.clone(), &options.credentials),
            blobs: Arc::new(BlobCache::within(options.folder.part("blobs"), disk_bytes)),
            runtime,
            cache: None,
            event_loop: tokio::runtime::Handle::current(),
        };
        if let Some(listener) = listener {
            tokio::spawn(accept_all(listener, sockets.events()));
        }
        let mut driver = Self {
            machine: Host::new(config, clock.now()),
            clock,
            loader: Arc::new(loader),
            keeper: Arc::new(keeper),
            direct: Direct::new(reported, Way::to(&options.coordinator), proving.key.identity.clone()),
            coordinator: CoordinatorSide::new(Random::new(seed.rotate_left(32)), proving),
            sockets,
            runs: Runs::new(threads, caps::Caps::new(options.run_work_max), contribution),
            commands: VecDeque::new(),
            losses: Losses::default(),
            users: Users::new(may_use, comfort),
            next_tick: clock.now(),
            ended: None,
            inputs,
            options,
        };
        driver.listen_for_users();
        driver.serve_page(page);
        Ok((driver, net_events))
    }

    async fn drive(
        mut self,
        mut inputs: mpsc::UnboundedReceiver<Input>,
        mut net_events: mpsc::Receiver<NetEvent>,
    ) -> Stopped {
        let mut alarm = match Alarm::new(self.clock) {
            Ok(alarm) => alarm,
            Err(error) => {
                return Stopped::Failed(format!("a timer cannot be created: {}", explained(&error)));
            }
        };
        self.connect();
        let stopped = loop {
            let has_sent = self.send_all();
            self.send_bulk();
            if let Some(stopped) = self.ended.take() {
                break stopped;
            }
            if has_sent && self.runs.has_commanded() {
                // The links' tasks write: a thief that waits comes before guests, which compute.
                tokio::task::yield_now().await;
            }
            self.runs.flush();
            let is_awake = self.stays_awake();
            let deadline = self.machine.poll_timeout().map_or(Time::NEVER, |(at, _)| at);
            let deadline = deadline.min(self.next_tick).min(self.direct.next_look());
            tokio::select! {
                biased;
                Some(event) = net_events.recv() => self.on_net(event),
                Some(input) = inputs.recv() => self.on_input(input),
                () = alarm.wait_until(deadline) => {}
                () = tokio::task::yield_now(), if is_awake => {}
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

    /// Whether a thief's answer is expected so soon that this thread does not sleep meanwhile.
    fn stays_awake(&self) -> bool {
        self.machine.asked_last().is_some_and(|asked| self.clock.now() < asked + AWAKE_MAX)
    }

    fn on_net(&mut self, event: NetEvent) {
        match event {
            NetEvent::CoordinatorOpened(socket) => self.on_coordinator_opened(socket),
            NetEvent::CoordinatorUnreachable(why) => self.on_coordinator_unreachable(why),
            NetEvent::CoordinatorRefused(why) => self.on_refused_at_the_door(why),
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
            NetEvent::Dialled(peer, sealed) => self.on_dialled(peer, *sealed),
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
            Input::Unfit(why) => self.on_unfit(why),
            Input::Comfort(change) => self.on_comfort(*change),
        }
    }

    fn on_time(&mut self) {
        let now = self.clock.now();
        if self.machine.poll_timeout().is_some_and(|(at, _)| at <= now) {
            self.tell(Host::handle_timeout);
        }
        if now >= self.direct.next_look() {
            self.look_at_links(now);
        }
        if now >= self.next_tick {
            self.tick(now);
            self.next_tick = Time::NEVER;
        }
        // What has just begun does not wait for the end of an idle interval.
        self.next_tick = self.next_tick.min(now + self.tick_interval());
    }

    fn tick_interval(&self) -> Duration {
        let is_idle = self.runs.is_empty() && !self.users.are_waiting() && !self.direct.is_waiting();
        if is_idle { TICK_IDLE } else { TICK }
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
        self.runs.save_now_and_then(now);
        self.losses.log();
        self.look_at_preferences(now);
    }

    async fn end(mut self, stopped: Stopped) -> Stopped {
        match &stopped {
            Stopped::Left => info!("left the grid"),
            Stopped::Abandoned(why) => warn!(why, "exiting without notifying the coordinator"),
            Stopped::Interrupted => warn!("exiting at once"),
            Stopped::Failed(why) => error!(why, "the host ends"),
        }
        if let Some(link) = self.coordinator.take_link() {
            link.close(CLOSE_MAX).await;
        }
        self.stop_all();
        let keeper = self.keeper.clone();
        let flush = tokio::task::spawn_blocking(move || keeper.flush());
        let _ = tokio::time::timeout(END_MAX, flush).await;
        self.tell_those_who_wait(&stopped);
        self.users.wait_for_answers().await;
        stopped
    }
}
