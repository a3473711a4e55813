//! A grid in virtual time: the heap, and the effects of its events.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use sateen_protocol::coordinator::{Circle, LinkId};
use sateen_protocol::{HeldId, HostId, LoanId, Random, RunId, RunSpec, RuntimeJobId, Time};

use crate::by_id::ById;
use crate::digest::Digest;
use crate::event::{Event, ProcessIndex, Queue, Route};
use crate::faults::bandwidth::Parcels;
use crate::faults::ends::Said;
use crate::faults::sleep::Clock;
use crate::invariants::replicas::Watched;
use crate::network::{Network, NetworkConfig, Way};
use crate::pipes::Pipe;
use crate::process::{BACKOFF_MAX_NS, BACKOFF_MIN_NS, HostPlan, Input, Process};
use crate::recorded::Machine;
use crate::runtime::{Runtime, Tally};
use crate::schedule::Fault;
use crate::server::Server;
use crate::sometimes::Sometimes;
use crate::tree::Tree;

/// Violations after which a seed ends.
pub const VIOLATIONS_MAX: usize = 10;

/// Seed of draws that are independent of a host's machine.
const CLOCKS: u64 = 0xc10c_0000;
/// How often invariants are checked.
const AUDIT_EVERY_NS: u64 = 500_000_000;
/// Interval at which a host that loads for ever checks whether all faults have ended.
const LOAD_AGAIN_NS: u64 = 1_000_000_000;

/// The configuration of a world.
#[derive(Debug, Clone)]
pub struct WorldConfig {
    /// Everything random follows from it.
    pub seed: u64,
    /// Latencies of messages.
    pub network: NetworkConfig,
    /// The number of others that each host knows.
    pub circle: Circle,
    /// See [`crate::runtime::Runtime::new`].
    pub grain_ns: u64,
    /// The time to load an app.
    pub load_ns: u64,
    /// The bound on each host's result table, in bytes.
    pub table_bytes_max: usize,
    /// The bound on the coordinator's result tables.
    pub coordinator_table_bytes_max: usize,
    /// Maximum drift of hosts' clocks, in parts per million.
    pub clocks_off_ppm: u64,
    /// Whether invariants are checked, messages encoded, and rare states counted.
    pub is_observed: bool,
}

/// A grid in virtual time.
pub struct World {
    /// Its configuration.
    pub config: WorldConfig,
    /// Now.
    pub now: Time,
    /// Future events.
    pub queue: Queue,
    /// Digest of everything that happened.
    pub digest: Digest,
    /// The number of events.
    pub events: u64,
    /// All processes that ever existed.
    pub processes: Vec<Process>,
    /// The coordinator.
    pub server: Server,
    /// The links.
    pub network: Network,
    /// The runs' trees.
    pub trees: BTreeMap<RunId, Rc<Tree>>,
    /// Rare states.
    pub sometimes: Sometimes,
    /// Violations of invariants.
    pub violations: Vec<String>,
    /// The last disturbance.
    pub disturbed_at: Time,
    /// The times of hosts' crashes.
    pub crashes: Vec<Time>,
    /// Workers of hosts that crashed or left, and their speed in percent.
    pub lost_workers: Vec<(usize, u64)>,
    /// Workers that may have lost their present work, counted each time and weighted by speed.
    pub upset_workers: u64,
    /// The number of times that a host was given up, or departed.
    pub ids_gone: usize,
    /// Maximum work of workers while their host was given up without knowing it.
    pub away_ns: u64,
    /// Present work of returned hosts that others had begun again meanwhile, by run: neither stops before the other is
    /// done.
    pub begun_elsewhere_ns: BTreeMap<RunId, u64>,
    /// The number of all workers, added up over all disturbances.
    pub shaken_workers: u64,
    /// Links that were away for a while: the number of workers, weighted by speed, and the duration.
    pub blips: Vec<(u64, u64)>,
    /// The last time when messages besides chunks that exceed the buffer waited at a link.
    pub jammed_at: Time,
    /// Memory of the invariants.
    pub suspects: BTreeMap<(ProcessIndex, RunId, RuntimeJobId), Time>,
    /// The same.
    pub unwanted: BTreeMap<(ProcessIndex, RunId, HeldId), Time>,
    /// The hosts' recent updates of shared objects.
    pub replicas: Watched,
    /// The log, if requested.
    pub log: Option<Vec<String>>,
    /// Reports of hosts that end runs.
    pub said: Said,
    /// Parcels in transit.
    pub parcels: Parcels,
    /// Draws the runs that cannot be loaded, and the hosts' reports of that.
    pub unloadable: Option<u64>,
    /// Its schedule of faults.
    pub schedule: Vec<Fault>,
    pub(crate) directory: ById<ProcessIndex>,
    pub(crate) results_seen: BTreeSet<(ProcessIndex, HostId, RunId, LoanId)>,
    random: Random,
}

impl World {
    /// A grid with a coordinator and without hosts.
    pub fn new(config: WorldConfig) -> Self {
        let mut random = Random::new(config.seed);
        let network = Network::new(config.network.clone(), random.next_u64());
        let server =
            Server::new(random.next_u64(), config.circle, config.coordinator_table_bytes_max, Time(0));
        let mut world = Self {
            now: Time(0),
            queue: Queue::default(),
            digest: Digest::default(),
            events: 0,
            processes: Vec::new(),
            server,
            network,
            trees: BTreeMap::new(),
            sometimes: Sometimes::default(),
            violations: Vec::new(),
            disturbed_at: Time(0),
            jammed_at: Time(0),
            crashes: Vec::new(),
            lost_workers: Vec::new(),
            upset_workers: 0,
            away_ns: 0,
            begun_elsewhere_ns: BTreeMap::new(),
            ids_gone: 0,
            shaken_workers: 0,
            blips: Vec::new(),
            suspects: BTreeMap::new(),
            unwanted: BTreeMap::new(),
            replicas: Watched::default(),
            log: None,
            said: Said::default(),
            parcels: Parcels::default(),
            unloadable: None,
            schedule: Vec::new(),
            directory: ById::default(),
            results_seen: BTreeSet::new(),
            random,
            config,
        };
        world.settle_coordinator();
        if world.config.is_observed {
            world.queue.push(Time(AUDIT_EVERY_NS), Event::Audit);
        }
        world
    }

    /// Starts a host at a new place.
    pub fn add_host(&mut self, plan: HostPlan) -> ProcessIndex {
        let place = self
            .processes
            .iter()
            .filter(|process| process.is_alive || process.place != usize::MAX)
            .map(|process| process.place + 1)
            .max()
            .unwrap_or(0);
        self.start_process(plan, place)
    }

    pub(crate) fn start_process(&mut self, plan: HostPlan, place: usize) -> ProcessIndex {
        let index = self.processes.len() as ProcessIndex;
        let seed = self.random.next_u64();
        let clock = match self.config.clocks_off_ppm {
            0 => Clock::default(),
            off_ppm => Clock::drawn(&mut Random::new(seed ^ CLOCKS), off_ppm),
        };
        self.network.sites.push(plan.site);
        self.processes.push(Process::new(plan, place, seed, &self.config, clock, self.now));
        let pause = self.random.below(5_000_000) as u64;
        self.queue.push(Time(self.now.0 + pause), Event::Dial(index));
        index
    }

    /// A process that never runs, to be at the other end of a link.
    pub(crate) fn add_ghost(&mut self, plan: HostPlan) -> ProcessIndex {
        let index = self.processes.len() as ProcessIndex;
        self.network.sites.push(plan.site);
        let mut ghost = Process::new(plan, usize::MAX, 0, &self.config, Clock::default(), self.now);
        ghost.is_alive = false;
        self.processes.push(ghost);
        index
    }

    /// Submits a run of a tree.
    pub fn submit(&mut self, run: RunId, spec: RunSpec, tree: Rc<Tree>) {
        self.trees.insert(run, tree);
        self.server.store(self.now, run, spec.clone());
        let now = self.now;
        self.with_coordinator(|machine| machine.submit(now, run, spec));
    }

    /// Makes all hosts equally fast, future ones included: their work then equals their computing time.
    pub fn even_out(&mut self) {
        for process in &mut self.processes {
            process.plan.speed_percent = 100;
            process.runtime.speed_percent = 100;
        }
        for fault in &mut self.schedule {
            if let Fault::Join(plan) = fault {
                plan.speed_percent = 100;
            }
        }
    }

    /// Whether all runs are over.
    pub fn is_over(&self) -> bool {
        self.server.runs.values().all(|stored| stored.end.is_some())
    }

    /// Whether all runs are over, with final counts.
    pub fn has_final_counts(&self) -> bool {
        self.server.runs.values().all(|stored| stored.end.is_some() && stored.counted.is_some())
    }

    /// Continues until a moment, or until `is_enough`; true in the latter case.
    pub fn run_until(&mut self, until: Time, mut is_enough: impl FnMut(&Self) -> bool) -> bool {
        loop {
            if is_enough(self) {
                return true;
            }
            match self.queue.next_at() {
                Some(at) if at <= until => self.step(),
                _ => {
                    self.now = until;
                    return false;
                }
            }
        }
    }

    /// Whether a process runs and is not stopped.
    pub fn is_up(&self, process: ProcessIndex) -> bool {
        let process = &self.processes[process as usize];
        process.is_alive && process.frozen.is_none()
    }

    /// The processes that run, stopped ones included.
    pub fn alive(&self) -> impl Iterator<Item = (ProcessIndex, &Process)> {
        (self.processes.iter().enumerate())
            .filter(|(_, process)| process.is_alive)
            .map(|(index, process)| (index as ProcessIndex, process))
    }

    /// The work done for a run so far, by all.
    pub fn executed_ns(&self, run: RunId) -> u64 {
        self.processes
            .iter()
            .map(|process| process.runtime.executed(self.now).get(&run).copied().unwrap_or(0))
            .sum()
    }

    /// The tally of a run, over all processes.
    pub fn tally(&self, run: RunId) -> Tally {
        let mut tally = Tally::default();
        self.processes.iter().for_each(|process| tally.add(&process.runtime.tally(run)));
        tally
    }

    /// Processes the next event.
    pub fn step(&mut self) {
        let Some((at, event)) = self.queue.pop() else { return };
        self.now = at;
        self.events += 1;
        self.digest.add(at.0);
        let Some(event) = self.wait_for_coordinator(event) else { return };
        if let Some(process) = target(&event) {
            self.digest.add(u64::from(process));
            let process = &mut self.processes[process as usize];
            if !process.is_alive {
                return;
            }
            if let Some(waiting) = &mut process.frozen {
                waiting.push_back(event);
                return;
            }
        }
        self.happen(event);
    }

    /// Logs a line, if requested.
    pub(crate) fn write(&mut self, line: impl FnOnce() -> String) {
        if let Some(log) = &mut self.log {
            log.push(format!("{:12.6} {}", self.now.0 as f64 / 1e9, line()));
        }
    }

    pub(crate) fn happen(&mut self, event: Event) {
        let now = self.now;
        if self.log.is_some()
            && !matches!(
                event,
                Event::Worker { .. } | Event::HostTimer(_) | Event::CoordinatorTimer | Event::Audit
            )
        {
            self.write(|| format!("{event:?}"));
        }
        match event {
            Event::Worker { process, worker, generation } => {
                if self.processes[process as usize].runtime.stretch_over(now, worker, generation) {
                    self.settle_host(process);
                }
            }
            Event::HostTimer(process) => {
                let state = &mut self.processes[process as usize];
                if state.timer_at <= now {
                    state.timer_at = Time::NEVER;
                }
                let local = state.clock.read(now);
                if state.host.poll_timeout().is_some_and(|(at, _)| at <= local) {
                    if state.clock.is_off() {
                        self.sometimes.hit("a clock that was a hundredth off fired a timer");
                    }
                    state.host.handle_timeout(local);
                }
                self.settle_host(process);
            }
            Event::CoordinatorTimer => {
                if self.server.timer_at <= now {
                    self.server.timer_at = Time::NEVER;
                }
                let Some(machine) = &mut self.server.machine else { return };
                if machine.poll_timeout().is_some_and(|(at, _)| at <= now) {
                    // The driver sees bytes that the machine does not see.
                    for (host, link) in machine.silent(now) {
                        machine.handle_heard(now, self.network.link(link).heard, host);
                    }
                    machine.handle_timeout(now);
                }
                self.settle_coordinator();
            }
            Event::ToHost(process, link, message) => {
                if !self.arrives(link, Way::Down) || !self.understands(link, &message) {
                    return;
                }
                let state = &mut self.processes[process as usize];
                if state.link == Some(link) {
                    self.parcels.told_host(&message, &mut self.sometimes);
                    state.host.handle_from_coordinator(state.clock.read(now), *message);
                    self.settle_host(process);
                }
            }
            Event::ToCoordinator(link, message) => {
                if !self.arrives(link, Way::Up) || !self.is_understood(link, &message) {
                    return;
                }
                let state = self.network.link(link);
                if state.open_at_coordinator {
                    if let Some(host) = state.host {
                        self.parcels.told_coordinator(link, host, &message, now, &mut self.sometimes);
                    }
                    self.with_coordinator(|machine| machine.handle_message(now, link, *message));
                }
            }
            Event::Relay(link, to, message) => self.relay(link, to, message),
            Event::Peer(process, from, route, message) => {
                if let Route::Relay(link) = route {
                    self.arrives(link, Way::Down);
                }
                let state = &self.processes[process as usize];
                let is_open = match route {
                    Route::Direct(to) => state.host.id() == Some(to),
                    Route::Relay(link) => state.link == Some(link) && !self.network.link(link).is_dead,
                };
                if is_open {
                    self.observe_peer_message(process, from, &message);
                    self.parcels.arrived((process, from), route, &message, now, &mut self.sometimes);
                    let state = &mut self.processes[process as usize];
                    state.acquaintances.heard_from(now, from);
                    state.host.handle_from_peer(state.clock.read(now), from, *message);
                    self.settle_host(process);
                } else {
                    self.sometimes.hit("a peer message was lost");
                }
            }
            Event::Dial(process) => self.dial(process),
            Event::Opened(process, link) => self.opened(process, link),
            Event::HostClosed(process, link) => {
                let state = &mut self.processes[process as usize];
                if state.link == Some(link) {
                    state.link = None;
                    self.network.pipes.drop_all(Pipe::Up(link));
                    self.network.link_mut(link).open_at_host = false;
                    self.sometimes.hit("a link broke");
                    state.host.handle_disconnected(state.clock.read(now));
                    self.settle_host(process);
                    let pause = self.random.below(BACKOFF_MIN_NS as usize) as u64;
                    self.queue.push(Time(now.0 + pause), Event::Dial(process));
                }
            }
            Event::CoordinatorClosed(link) => {
                let state = self.network.link_mut(link);
                if std::mem::take(&mut state.open_at_coordinator) {
                    if let Some(host) = state.host
                        && self.server.links.get(host) == Some(link)
                    {
                        self.server.links.remove(host);
                    }
                    self.network.pipes.drop_all(Pipe::Down(link));
                    self.with_coordinator(|machine| machine.handle_closed(now, link));
                }
            }
            Event::Loaded(process, run) if self.is_loading_for_ever(process, run) => {
                self.queue.push(Time(self.now.0 + LOAD_AGAIN_NS), Event::Loaded(process, run));
            }
            Event::Loaded(process, run) => {
                let state = &mut self.processes[process as usize];
                if let (Some(spec), Some(tree)) = (state.loading.remove(&run), self.trees.get(&run)) {
                    let entries = state.store.entries(run);
                    if !entries.is_empty() {
                        self.sometimes.hit("an app was loaded after a restart");
                    }
                    state.runtime.start(now, run, spec, Rc::clone(tree));
                    state.inputs.push_back(Input::Loaded(run, entries));
                    self.settle_host(process);
                }
            }
            Event::Pump(pipe) => self.pump_on(pipe),
            Event::RouteLost(process, peer) => {
                let state = &mut self.processes[process as usize];
                state.host.handle_route_lost(state.clock.read(now), peer);
                self.settle_host(process);
            }
            Event::Fault(step) => self.take_step(step),
            Event::Stranger(stranger) => self.dial_as_stranger(stranger),
            Event::Undo(undo) => self.undo(undo),
            Event::Audit => {
                self.break_stalled_links();
                self.hang_up_on_silence();
                crate::invariants::audit(self);
                self.queue.push(Time(now.0 + AUDIT_EVERY_NS), Event::Audit);
            }
        }
    }

    /// Passes one input to the coordinator's machine, if it runs, and executes its commands.
    pub fn with_coordinator<R>(&mut self, tell: impl FnOnce(&mut Machine) -> R) -> Option<R> {
        let answer = tell(self.server.machine.as_mut()?);
        self.settle_coordinator();
        Some(answer)
    }

    fn dial(&mut self, process: ProcessIndex) {
        let state = &mut self.processes[process as usize];
        if state.link.is_some() {
            return;
        }
        let is_reachable = self.server.machine.is_some() && !self.network.is_cut_off(process);
        if is_reachable {
            let link = self.network.open(process, self.now);
            self.network.link_mut(link).version = self.processes[process as usize].version;
            let site = self.processes[process as usize].plan.site;
            let latencies = &self.network.config.latency_to_coordinator_ns;
            let round = 2 * latencies[site.min(latencies.len() - 1)];
            self.queue.push(Time(self.now.0 + round), Event::Opened(process, link));
        } else {
            let half = state.backoff_ns / 2;
            let pause = half + self.random.below(half as usize + 1) as u64;
            state.backoff_ns = (state.backoff_ns * 2).min(BACKOFF_MAX_NS);
            self.queue.push(Time(self.now.0 + pause), Event::Dial(process));
        }
    }

    /// Bytes arrive at the end of a link; returns whether they do, and are not lost with a reset link.
    fn arrives(&mut self, link: LinkId, way: Way) -> bool {
        let state = self.network.link_mut(link);
        if state.is_dead {
            self.sometimes.hit("a message was lost with a link that was reset");
            return false;
        }
        match way {
            Way::Up => state.heard = self.now,
            Way::Down => state.heard_by_host = self.now,
        }
        true
    }

    fn opened(&mut self, process: ProcessIndex, link: LinkId) {
        if !self.network.link(link).open_at_coordinator {
            self.queue.push(self.now, Event::Dial(process));
            return;
        }
        let state = self.network.link_mut(link);
        state.open_at_host = true;
        state.heard_by_host = self.now;
        let state = &mut self.processes[process as usize];
        state.link = Some(link);
        state.backoff_ns = BACKOFF_MIN_NS;
        state.host.handle_connected(state.clock.read(self.now));
        self.settle_host(process);
    }
}

/// The process that an event is for, if any.
fn target(event: &Event) -> Option<ProcessIndex> {
    match event {
        Event::Worker { process, .. }
        | Event::HostTimer(process)
        | Event::ToHost(process, ..)
        | Event::Peer(process, ..)
        | Event::Dial(process)
        | Event::Opened(process, _)
        | Event::HostClosed(process, _)
        | Event::RouteLost(process, _)
        | Event::Loaded(process, _) => Some(*process),
        _ => None,
    }
}

/// Replaces a runtime by an empty one.
pub(crate) fn retire(runtime: &mut Runtime, now: Time) {
    let runs: Vec<RunId> = runtime.portions.keys().copied().collect();
    for run in runs {
        runtime.stop(now, run);
    }
}
